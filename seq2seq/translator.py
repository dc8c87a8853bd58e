"""From lines of text to lines of text: tokenizer, batches, search and back, around any model.

A line longer than the model was trained for is cut into parts, which are translated one by one.

Legend: B sentences of a batch, S source pieces + EOS, T target pieces (+ EOS where the sentence was finished),
L layers of the decoder.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.batching import plan_batches, source_batch
from seq2seq.data.text import cut_line, normalise, words
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.decoding.products import FP32, products
from seq2seq.decoding.scoring import forced_attention
from seq2seq.decoding.search import Hypothesis, search
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import END
from seq2seq.models.interface import Seq2Seq
from seq2seq.symbols import EOS

log = logging.getLogger(__name__)

MAX_SOURCE = 128  # pieces of a line, for a model whose settings do not say what it was trained on (data.max_length)
WEIGHTS_AT_ONCE = 2**18  # T x S x sentences: bounds the memory that attention takes, of each layer and head
REPORTED = 5  # lines with the same fault that are named one by one
SPLIT, REFUSE = TOO_LONG = "split", "refuse"


@dataclass(frozen=True)
class Translation:
    """One line and what became of it.

    source: the normalised line. text: its best translation; both are empty for an empty line.
    source_tokens: S pieces, the last is ``</s>``. tokens: T pieces, the last is ``</s>`` where ``finished``.
    score: what search ranks by, a log-probability over its length penalty; 0 for an empty line.
    finished: False where the length limit cut the translation off.
    nbest: texts and scores, best first; the first is ``text``.
    weights: (L, heads, T, S) cross-attention, float32; None where it was not asked for, where the model has no
    attention, for an empty line, and where ``parts`` is not 1.
    decoder_self: (L, heads, T, T) self-attention; row t generates token t, its keys are ``<s>`` and the tokens before
    it. encoder_self: (L, heads, S, S). Both are None where ``weights`` are and in models without self-attention.
    parts: 1; more where the line was too long and was translated in so many parts: texts are then joined by spaces,
    tokens put together (each part's with its ``</s>``), scores added, and the k-th of ``nbest`` made of each part's
    k-th. 0 where it was too long and refused: the text is empty, whatever the source.
    """

    source: str
    text: str
    source_tokens: list[str]
    tokens: list[str]
    score: float
    finished: bool
    nbest: list[tuple[str, float]]
    weights: np.ndarray | None = None
    parts: int = 1
    decoder_self: np.ndarray | None = None
    encoder_self: np.ndarray | None = None

    def as_dict(self, self_attention: bool = False) -> dict[str, Any]:
        """Plain types for JSON. ``attention`` is nested [layer][head][target token][source token], or None.

        self_attention: with ``decoder_self`` and ``encoder_self``, nested alike.
        """
        own = {"decoder_self": self.decoder_self, "encoder_self": self.encoder_self} if self_attention else {}
        tables = {"attention": self.weights} | own
        return {
            "source": self.source,
            "translation": self.text,
            "score": self.score,
            "finished": self.finished,
            "parts": self.parts,
            "source_tokens": self.source_tokens,
            "tokens": self.tokens,
            "nbest": [{"text": text, "score": score} for text, score in self.nbest],
            **{
                name: None if table is None else np.round(table.astype(np.float64), 6).tolist()
                for name, table in tables.items()
            },
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
        max_source: int | None = None,
        too_long: str = SPLIT,
        coverage: float = 0.0,
        precision: str = FP32,
    ) -> list[Translation]:
        """One translation for each line, in their order; an empty line gives an empty one without the model.

        beam, alpha, max_length, nbest, coverage: as ``search`` takes them. batch_tokens: most padded source positions
        x beam of a batch; a longer line is a batch by itself. attention: also all weights of the best translation, by
        one teacher-forced pass. max_source: pieces beyond which a line is too long; None: what the model was trained
        on. too_long: ``split`` (translate it in parts, see ``cut_line``) or ``refuse`` (give an empty translation).
        precision: of matrix products, ``fp32`` or ``bf16``; in bf16 a translation can differ, also with its batch.
        Raises UserError for settings that make no sense.
        """
        self._check_mode()
        _check_whole(beam=beam, max_length=max_length, nbest=nbest, batch_tokens=batch_tokens)
        check_too_long(max_source, too_long)
        sources = [normalise(line) for line in lines]
        parts = self._parts(sources, max_source or self.max_source, too_long)
        options = {"beam": beam, "alpha": alpha, "max_length": max_length, "nbest": nbest, "coverage": coverage}

        def searched(source: torch.Tensor, lengths: torch.Tensor, numbers: Sequence[int]) -> list[list[Hypothesis]]:
            return search(self.model, source, lengths, **options)

        with products(self.model, precision):
            return self._in_batches(sources, parts, searched, max(1, batch_tokens // max(beam, 1)), attention)

    def force(
        self,
        lines: Sequence[str],
        references: Sequence[str],
        *,
        batch_tokens: int = 8192,
        max_source: int | None = None,
    ) -> list[Translation]:
        """The attention over given translations, one for each line: a teacher-forced pass in place of a search.

        Each text is its reference's, each score 0. max_source: pieces beyond which a line, or its reference, is
        refused (``parts`` is 0). Other arguments as those of ``translate``.
        """
        self._check_mode()
        sources, most = [normalise(line) for line in lines], max_source or self.max_source
        parts = self._parts(sources, most, REFUSE)
        targets = self.tokenizers.target.encode(list(references))
        parts = [line if len(target) <= most else [] for line, target in zip(parts, targets, strict=True)]
        kept = [target for line, target in zip(parts, targets, strict=True) if line]

        def given(source: torch.Tensor, lengths: torch.Tensor, numbers: Sequence[int]) -> list[list[Hypothesis]]:
            return [[Hypothesis(kept[number], 0.0, 0.0, True)] for number in numbers]

        return self._in_batches(sources, parts, given, batch_tokens, attention=True)

    def _in_batches(
        self,
        sources: list[str],
        parts: list[list[list[int]]],
        find: Callable[[torch.Tensor, torch.Tensor, Sequence[int]], list[list[Hypothesis]]],
        budget: int,
        attention: bool,
    ) -> list[Translation]:
        """A translation for each source, put together from those of its parts.

        find: source (B, S), lengths (B,) and the numbers of these parts to the hypotheses of each. budget: padded
        source positions of a batch.
        """
        ids = [part for line in parts for part in line]
        whole = [len(line) == 1 for line in parts for _ in line]
        lengths = np.array([len(part) for part in ids], dtype=np.int64)
        plan = plan_batches(lengths, np.zeros_like(lengths), batch_tokens=budget, seed=0, epoch=0, shuffle=False)
        found: dict[int, Translation] = {}
        for planned in reversed(plan):  # longest first: what does not fit into memory fails at once
            batch = [ids[number] for number in planned.rows]
            source, source_lengths = (tensor.to(self.device) for tensor in source_batch(batch))  # (B, S), (B,)
            results = find(source, source_lengths, planned.rows)
            wanted = [row for row, number in enumerate(planned.rows) if attention and whole[number]]
            weights = self._weights(source, source_lengths, results, wanted)
            for row, number in enumerate(planned.rows):
                found[number] = self._translation(batch[row], results[row], weights.get(row, {}))
        ordered = (found[number] for number in range(len(ids)))
        return [_one_line(source, [next(ordered) for _ in line]) for source, line in zip(sources, parts, strict=True)]

    def _check_mode(self) -> None:
        if self.model.training:
            raise RuntimeError("the model is in training mode, with dropout on: call model.eval() first")

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def max_source(self) -> int:
        """Pieces of the longest source that the model was trained on."""
        return self.settings.get("data", {}).get("max_length", MAX_SOURCE)

    def _parts(self, sources: list[str], most: int, too_long: str) -> list[list[list[int]]]:
        """The piece ids of each line: as one part, as several of at most ``most`` pieces, or none."""
        parts = [[ids] if ids else [] for ids in self.tokenizers.source.encode(sources)]
        for row, source in enumerate(sources):
            if parts[row] and len(parts[row][0]) > most:
                parts[row] = self._cut(source, most) if too_long == SPLIT else []
        return parts

    def _cut(self, source: str, most: int) -> list[list[int]]:
        """A line in parts of at most ``most`` pieces; a word that is longer than that (no language's) is chopped."""
        ids = self.tokenizers.source.encode(words(source))  # no piece crosses a space
        parts = (
            [id for word in ids[part] for id in word] for part in cut_line(words(source), list(map(len, ids)), most)
        )
        return [part[start : start + most] for part in parts for start in range(0, len(part), most)]

    def _weights(
        self, source: torch.Tensor, lengths: torch.Tensor, results: list[list[Hypothesis]], wanted: list[int]
    ) -> dict[int, dict[str, np.ndarray]]:
        """All attention of the best hypothesis of each row in ``wanted``, as fields of ``Translation``; no padding."""
        best = {row: results[row][0] for row in wanted}
        steps = {row: len(one.tokens) + one.finished for row, one in best.items()}  # cut off, it has no step for EOS
        longest = max(source.shape[1], 1, *steps.values())
        share = max(1, WEIGHTS_AT_ONCE // longest**2)
        weights: dict[int, dict[str, np.ndarray]] = {row: {} for row in wanted}
        for rows in (wanted[start : start + share] for start in range(0, len(wanted), share)):
            tokens = [best[row].tokens for row in rows]
            attention = forced_attention(self.model, source[rows], lengths[rows], tokens)
            for name, tables, length, width in (
                ("weights", attention.cross, steps, lengths),
                ("decoder_self", attention.decoder_self, steps, steps),
                ("encoder_self", attention.encoder_self, lengths, lengths),
            ):
                if tables is None:
                    continue
                for row, table in zip(rows, tables.float().cpu().numpy(), strict=True):  # (L, heads, T, S)
                    # A view would keep them all alive.
                    weights[row][name] = table[:, :, : length[row], : width[row]].copy()
        return weights

    def _translation(self, ids: list[int], hypotheses: list[Hypothesis], weights: dict[str, np.ndarray]) -> Translation:
        best, target = hypotheses[0], self.tokenizers.target
        texts = target.decode([one.tokens for one in hypotheses])
        return Translation(
            source="",  # of the line, which this may be a part of
            text=texts[0],
            source_tokens=self.tokenizers.source.pieces([*ids, EOS]),
            tokens=target.pieces([*best.tokens, EOS] if best.finished else best.tokens),
            score=best.score,
            finished=best.finished,
            nbest=[(text, one.score) for text, one in zip(texts, hypotheses, strict=True)],
            **weights,
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


def check_too_long(max_source: int | None, too_long: str) -> None:
    """Raises UserError for settings of lines that are too long which make no sense."""
    if max_source is not None:
        _check_whole(max_source=max_source)
    if too_long not in TOO_LONG:
        raise UserError(f"too_long={too_long}: choose {' or '.join(TOO_LONG)}")


class Faults:
    """Warns of lines with a fault: of each kind the first few by their numbers, and in the end how many there were."""

    def __init__(self, name: str) -> None:
        """name: of the text, such as its file."""
        self.name = name
        self._counts: Counter[str] = Counter()

    def add(self, number: int, fault: str) -> None:
        """Line ``number``, from 1, has this fault."""
        self._counts[fault] += 1
        if self._counts[fault] <= REPORTED:
            log.warning("%s, line %d: %s", self.name, number, fault)

    def add_too_long(self, number: int, translation: Translation) -> None:
        """The same where the line was longer than ``max_source``."""
        if translation.parts != 1:
            done = "translated in parts" if translation.parts else "its translation is left empty"
            self.add(number, f"more subwords than max_source allows: {done}")

    def finish(self) -> None:
        """Say the totals."""
        for fault, count in self._counts.items():
            if count > REPORTED:
                log.warning("%s, %d lines in all: %s", self.name, count, fault)


def _one_line(source: str, parts: list[Translation]) -> Translation:
    """The translation of a line from those of its parts; there are none of an empty or a refused line."""
    if not parts:
        return Translation(source, "", [END], [END], 0.0, not source, [("", 0.0)], parts=0 if source else 1)
    if len(parts) == 1:
        return replace(parts[0], source=source)
    return Translation(
        source=source,
        text=_join(part.text for part in parts),
        source_tokens=[token for part in parts for token in part.source_tokens],
        tokens=[token for part in parts for token in part.tokens],
        score=sum(part.score for part in parts),
        finished=all(part.finished for part in parts),
        nbest=[
            (_join(text for text, _ in row), sum(score for _, score in row))
            for row in zip(*(part.nbest for part in parts), strict=False)
        ],
        parts=len(parts),
    )


def _join(texts: Iterable[str]) -> str:
    return " ".join(filter(None, texts))


def _check_whole(**settings: int) -> None:
    for name, value in settings.items():
        if type(value) is not int or value < 1:
            raise UserError(f"{name} is {value}: give a whole number, at least 1")
