"""From lines of text to lines of text: tokenizer, batches, search and back, around any model.

Legend: B sentences of a batch, S source pieces + EOS, T target pieces (+ EOS where the sentence was finished),
L layers of the decoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.batching import plan_batches, source_batch
from seq2seq.data.text import normalise
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.decoding.scoring import forced_attention
from seq2seq.decoding.search import Hypothesis, search
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import END, caption, merge_pieces
from seq2seq.models.interface import Seq2Seq, reduce_attention
from seq2seq.symbols import EOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Translation:
    """One line and what became of it.

    source: the normalised line. text: its best translation; both are empty for an empty line.
    source_tokens: S pieces, the last is ``</s>``. tokens: T pieces, the last is ``</s>`` where ``finished``.
    score: what search ranks by, a log-probability over its length penalty; 0 for an empty line.
    finished: False where the length limit cut the translation off.
    nbest: texts and scores, best first; the first is ``text``.
    weights: (L, heads, T, S) cross-attention, float32; None where it was not asked for, where the model has no
    attention, and for an empty line.
    """

    source: str
    text: str
    source_tokens: list[str]
    tokens: list[str]
    score: float
    finished: bool
    nbest: list[tuple[str, float]]
    weights: np.ndarray | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain types for JSON. ``attention`` is nested [layer][head][target token][source token], or None."""
        weights = None if self.weights is None else np.round(self.weights.astype(np.float64), 6).tolist()
        return {
            "source": self.source,
            "translation": self.text,
            "score": self.score,
            "finished": self.finished,
            "source_tokens": self.source_tokens,
            "tokens": self.tokens,
            "nbest": [{"text": text, "score": score} for text, score in self.nbest],
            "attention": weights,
        }


class Translator:
    """A model with its tokenizers. It works on a model in training too: call ``model.eval()`` first."""

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: TokenizerPair,
        device: str | torch.device | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """device: where to move the model; None: it stays, and is followed, wherever it is. settings: the run's."""
        self.model = model if device is None else model.to(device)
        self.tokenizers = tokenizers
        self.settings = settings or {}

    @classmethod
    def from_checkpoint(cls, path: str | Path, device: str = "auto") -> Self:
        """From a checkpoint file or a run's folder. device: ``auto`` (a GPU where there is one), ``cpu``, ``cuda:1``…

        Raises UserError where the file cannot be read or the device is not there.
        """
        chosen = find_device(device)
        loaded = load_checkpoint(path)
        return cls(loaded.model, loaded.tokenizers, chosen, loaded.settings)

    def translate(
        self,
        lines: Sequence[str],
        *,
        beam: int = 5,
        alpha: float = 0.6,
        max_length: int = 200,
        nbest: int = 1,
        batch_tokens: int = 8192,
        attention: bool = False,
    ) -> list[Translation]:
        """One translation for each line, in their order; an empty line gives an empty one without the model.

        beam, alpha, max_length, nbest: as ``search`` takes them. batch_tokens: most padded source positions x beam of
        a batch; a longer line is a batch by itself. attention: also the weights of the best translation, by one
        teacher-forced pass. Raises UserError for settings that make no sense.
        """
        if self.model.training:
            raise RuntimeError("the model is in training mode, with dropout on: call model.eval() first")
        _check_whole(beam=beam, max_length=max_length, nbest=nbest, batch_tokens=batch_tokens)
        sources = [normalise(line) for line in lines]
        found = [Translation(source, "", [END], [END], 0.0, True, [("", 0.0)]) for source in sources]
        full = [row for row, source in enumerate(sources) if source]
        ids = self.tokenizers.source.encode([sources[row] for row in full])
        lengths = np.array([len(row) for row in ids], dtype=np.int64)
        budget = max(1, batch_tokens // max(beam, 1))
        plan = plan_batches(lengths, np.zeros_like(lengths), batch_tokens=budget, seed=0, epoch=0, shuffle=False)
        for planned in reversed(plan):  # longest first: what does not fit into memory fails at once
            batch = [ids[number] for number in planned.rows]
            source, source_lengths = (tensor.to(self.device) for tensor in source_batch(batch))  # (B, S), (B,)
            results = search(
                self.model, source, source_lengths, beam=beam, alpha=alpha, max_length=max_length, nbest=nbest
            )
            weights = self._weights(source, source_lengths, results) if attention else [None] * len(batch)
            for number, row_ids, hypotheses, matrix in zip(planned.rows, batch, results, weights, strict=True):
                row = full[number]
                found[row] = self._translation(sources[row], row_ids, hypotheses, matrix)
        return found

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def _weights(
        self, source: torch.Tensor, lengths: torch.Tensor, results: list[list[Hypothesis]]
    ) -> list[np.ndarray | None]:
        """Cross-attention of each sentence's best hypothesis, (L, heads, T, S) without padding."""
        best = [hypotheses[0] for hypotheses in results]
        cross = forced_attention(self.model, source, lengths, [one.tokens for one in best]).cross
        if cross is None:
            return [None] * len(best)
        table = cross.float().cpu().numpy()  # (B, L, heads, T, S)
        steps = [len(one.tokens) + one.finished for one in best]  # a cut-off hypothesis has no step for EOS
        return [
            table[row, :, :, :step, :length].copy()  # a view would keep the whole batch alive
            for row, (step, length) in enumerate(zip(steps, lengths.tolist(), strict=True))
        ]

    def _translation(
        self, source: str, ids: list[int], hypotheses: list[Hypothesis], weights: np.ndarray | None
    ) -> Translation:
        best, target = hypotheses[0], self.tokenizers.target
        texts = target.decode([one.tokens for one in hypotheses])
        return Translation(
            source=source,
            text=texts[0],
            source_tokens=self.tokenizers.source.pieces([*ids, EOS]),
            tokens=target.pieces([*best.tokens, EOS] if best.finished else best.tokens),
            score=best.score,
            finished=best.finished,
            nbest=[(text, one.score) for text, one in zip(texts, hypotheses, strict=True)],
            weights=weights,
        )


def find_device(name: str) -> torch.device:
    """A device by name; ``auto`` is the first GPU, else the CPU. Raises UserError where there is no such device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except Exception as error:  # torch's own differ with the device and the build
        raise UserError(f"device={name}: this machine or this build of PyTorch has none; use auto or cpu") from error
    return device


def draw_attention(translation: Translation, model: str, layer: int | str = -1, head: int | str = "mean") -> "Figure":
    """``attention_heatmap`` of one translation. Raises ValueError for a translation without weights."""
    if translation.weights is None:
        raise ValueError("this translation has no attention weights")
    return attention_heatmap(translation.weights, translation.source_tokens, translation.tokens, model, layer, head)


def attention_heatmap(
    weights: np.ndarray,
    source_tokens: Sequence[str],
    tokens: Sequence[str],
    model: str,
    layer: int | str = -1,
    head: int | str = "mean",
) -> "Figure":
    """Source words along the top, target words down the side; row t is the step that generates word t.

    weights: (L, heads, T, S) between pieces. model: its name, for the title. layer: a number from 0 (-1 is the last)
    or ``mean``; head: a number, ``mean`` or ``max``. Raises UserError for a layer or head that is not there.
    """
    from seq2seq.evaluation.figures import alignment_figure  # matplotlib is slow to import and seldom needed

    layers, heads, *_ = weights.shape
    _check_place("layer", layer, layers, ("mean",))
    _check_place("head", head, heads, ("mean", "max"))
    matrix = reduce_attention(torch.from_numpy(weights)[None], layer, head)[0].numpy()  # (T, S)
    merged, source_words, words = merge_pieces(matrix, source_tokens, tokens)
    title = caption(model, layer, head, end_shown=True, layers=layers, heads=heads)
    return alignment_figure(merged, source_words, words, title)


def check_places(translator: Translator, layer: int | str, head: int | str) -> None:
    """Raises UserError for a layer or head that the model does not have; without attention there is none to miss."""
    weights = translator.translate(["a"], beam=1, max_length=2, attention=True)[0].weights
    if weights is not None:
        _check_place("layer", layer, weights.shape[0], ("mean",))
        _check_place("head", head, weights.shape[1], ("mean", "max"))


def _check_place(name: str, value: int | str, count: int, rules: tuple[str, ...]) -> None:
    if value in rules or (type(value) is int and -count <= value < count):
        return
    there = f"{name}s 0 to {count - 1}" if count > 1 else f"{name} 0 alone"
    raise UserError(f"{name}={value}: this model has {there}; or give {' or '.join(rules)}")


def _check_whole(**settings: int) -> None:
    for name, value in settings.items():
        if type(value) is not int or value < 1:
            raise UserError(f"{name} is {value}: give a whole number, at least 1")
