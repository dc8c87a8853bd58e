"""Word alignments of a trained model: its attention over given pairs, by teacher forcing, as links between words.

Whose word is a row of the weights? Step t reads word t − 1 and predicts word t, so there are two answers:
``generated``: row t is of the word that step t predicts. So Bahdanau et al. 2014 (arXiv 1409.0473), who look at the
source before the step reads anything, and so the plots of most toolkits.
``shifted``: row t + 1, of the step that reads word t, is of word t, which is known by then. So Luong et al. 2015
(arXiv 1508.04025, footnote 14) for scores by content, and Chen et al. 2020 (arXiv 2004.14837) for a Transformer.
Both can be had of every model. ``generated`` is the default because gold says so: docs/comparison.md has the figures.

Legend: L layers, T target pieces + EOS, S source pieces + EOS, T_w target words, S_w source words.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset

from seq2seq.data.batching import LONGEST
from seq2seq.data.readers import read_lines
from seq2seq.data.text import normalise, words
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import merge_pieces
from seq2seq.evaluation.links import Gold, Links, check_extraction, links_from_weights, read_pharaoh
from seq2seq.heatmaps import check_places
from seq2seq.models.interface import reduce_attention
from seq2seq.translator import Faults, Translation, Translator

GENERATED, SHIFTED = CONVENTIONS = ("generated", "shifted")
PAIRS_AT_ONCE = 64
AREA_AT_ONCE = 2**20  # characters of source x target: bounds the memory that the weights of these pairs take


def align(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    convention: str = GENERATED,
    layer: int | str = "mean",
    head: int | str = "mean",
    method: str = "argmax",
    threshold: float = 0.25,
) -> list[Links] | None:
    """Links of each pair, between the words of its normalised lines; None for a model without attention.

    convention: see above. layer, head: as ``reduce_attention`` takes them. method, threshold: as
    ``links_from_weights`` does. Raises UserError as ``forced_pairs`` does, and for a
    layer or head that is not there.
    """
    options = {"layer": layer, "head": head, "method": method, "threshold": threshold}
    found = align_by_each(translator, sources, targets, (convention,), **options)
    return found and found[convention]


def align_by_each(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    conventions: Sequence[str] = CONVENTIONS,
    *,
    layer: int | str = "mean",
    head: int | str = "mean",
    method: str = "argmax",
    threshold: float = 0.25,
) -> dict[str, list[Links]] | None:
    """``align`` by several conventions, from one pass over the pairs."""
    check_extraction(method, threshold)
    if not check_places(translator, layer, head):
        return None
    found: dict[str, list[Links]] = {convention: [] for convention in conventions}
    for one, size in forced_pairs(translator, sources, targets):
        for convention, links in found.items():
            links.append(links_from_weights(to_words(one, size, convention, layer, head), method, threshold))
    return found


def word_weights(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    convention: str = GENERATED,
    layer: int | str = "mean",
    head: int | str = "mean",
) -> Iterator[np.ndarray]:
    """The attention between the words of each pair, (T_w, S_w) float64, in turn; see ``to_words``.

    Raises UserError for a model without attention, and as ``forced_pairs`` does.
    """
    if not check_places(translator, layer, head):
        raise UserError(f"model {translator.settings['model']['name']} has no attention: there is nothing to align by")
    for one, size in forced_pairs(translator, sources, targets):
        yield to_words(one, size, convention, layer, head)


def forced_pairs(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[Translation, tuple[int, int]]]:
    """Each pair under the model, and its (T_w, S_w). Few are in memory at once.

    Warns of pairs of more than ``LONGEST`` pieces, which have no weights, as empty lines have none. Raises UserError
    where a pair's pieces make up other words than its text.
    """
    sources, targets = [[normalise(line) for line in lines] for lines in (sources, targets)]
    faults = Faults("alignment")
    for rows in _chunks(sources, targets):
        for number, one in enumerate(translator.force(sources[rows], targets[rows], max_source=LONGEST), rows.start):
            size = len(words(targets[number])), len(words(sources[number]))
            if not one.parts:
                faults.add(number + 1, f"more than {LONGEST} subwords: it is left without a link")
            elif one.weights is not None:
                _check_words(one, size, number + 1)
            yield one, size
    faults.finish()


def _chunks(sources: list[str], targets: list[str]) -> Iterator[slice]:
    """Rows that are forced at once."""
    start, area = 0, 0
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        area += len(source) * len(target)
        if row > start and (row - start == PAIRS_AT_ONCE or area > AREA_AT_ONCE):
            yield slice(start, row)
            start, area = row, len(source) * len(target)
    if start < len(sources):
        yield slice(start, len(sources))


def _check_words(one: Translation, size: tuple[int, int], number: int) -> None:
    """Links count the words of the text; they would point elsewhere where the tokenizer sees others."""
    _, source_words, target_words = merge_pieces(
        np.zeros((len(one.tokens), len(one.source_tokens))), one.source_tokens, one.tokens
    )
    made = len(target_words) - 1, len(source_words) - 1  # </s> is no word
    for side, ours, theirs in zip(("target", "source"), made, size, strict=True):
        if ours != theirs:
            raise UserError(
                f"line {number}: its {side} has {theirs} words, but the pieces of this model's tokenizer make up "
                f"{ours}: their links could not be told apart; leave the line out"
            )


def to_words(
    one: Translation, size: tuple[int, int], convention: str, layer: int | str = "mean", head: int | str = "mean"
) -> np.ndarray:
    """A pair's weights between words, (T_w, S_w) float64, each row of sum 1.

    one: from ``Translator.force``. size: (T_w, S_w). The source's end is left out, and each row divided by what
    remains; one that has nothing left, and a pair without weights, is 0.
    """
    if one.weights is None:
        return np.zeros(size)
    matrix = reduce_attention(torch.from_numpy(one.weights)[None], layer, head)[0].numpy()  # (T, S)
    first = {GENERATED: 0, SHIFTED: 1}[convention]
    rows = matrix[first : first + len(one.tokens) - 1]  # (T - 1, S): one for each piece, </s> is no word
    kept = rows[:, :-1]  # (T - 1, S - 1)
    if not kept.size:
        return np.zeros(size)
    merged, _, _ = merge_pieces(kept, one.source_tokens[:-1], one.tokens[:-1])  # (T_w, S_w)
    total = merged.sum(1, keepdims=True)  # (T_w, 1)
    return np.divide(merged, total, out=np.zeros_like(merged), where=total > 1e-9)


def gold_alignments(
    given: Dataset | str | Path,
    sources: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    base: int | None = None,
) -> list[Gold] | None:
    """Gold of each pair: from a split of the built-in corpus, or from a file in Pharaoh's format.

    sources, targets: the pairs that a file is about. base: see ``read_pharaoh``. None for a split of another corpus,
    which has none. Raises UserError for a file that cannot be read or does not fit the pairs.
    """
    if isinstance(given, Dataset):
        if "alignment" not in given.column_names:
            return None
        sources, targets, lines, base, name = given["source"], given["target"], given["alignment"], 0, "the corpus"
    else:
        name = str(given)
        try:
            lines = list(read_lines(name))
        except OSError as error:
            raise UserError(f"{name}: the gold alignments cannot be read ({error.strerror})") from error
    texts = zip(sources, targets, strict=True)
    lengths = [(len(words(normalise(source))), len(words(normalise(target)))) for source, target in texts]
    return read_pharaoh(lines, lengths, base=base, name=name)
