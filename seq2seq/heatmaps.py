"""Attention of one translation as a picture: a layer, a rule for its heads, words on both axes.

Legend: L layers of the decoder, T target pieces + EOS, S source pieces + EOS.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import caption, merge_pieces
from seq2seq.models.interface import reduce_attention
from seq2seq.translator import Translation, Translator

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_attention(
    translation: Translation, model: str, layer: int | str = -1, head: int | str = "mean", end_shown: bool = True
) -> "Figure":
    """``attention_heatmap`` of one translation. Raises ValueError for a translation without weights."""
    if translation.weights is None:
        raise ValueError("this translation has no attention weights")
    tokens = translation.source_tokens, translation.tokens
    return attention_heatmap(translation.weights, *tokens, model, layer, head, end_shown)


def attention_heatmap(
    weights: np.ndarray,
    source_tokens: Sequence[str],
    tokens: Sequence[str],
    model: str,
    layer: int | str = -1,
    head: int | str = "mean",
    end_shown: bool = True,
) -> "Figure":
    """Source words along the top, target words down the side; row t is the step that generates word t.

    weights: (L, heads, T, S) between pieces. model: its name, for the title. layer: a number from 0 (-1 is the last)
    or ``mean``; head: a number, ``mean`` or ``max``. end_shown: False leaves the last column, the source's ``</s>``,
    out, and divides each row by what remains. Raises UserError for a layer or head that is not there.
    """
    from seq2seq.evaluation.figures import alignment_figure  # matplotlib is slow to import and seldom needed

    layers, heads, *_, columns = weights.shape
    _check_place("layer", layer, layers, ("mean",))
    _check_place("head", head, heads, ("mean", "max"))
    lengths = None if end_shown else torch.tensor([columns])
    matrix = reduce_attention(torch.from_numpy(weights)[None], layer, head, lengths)[0].numpy()  # (T, S)
    kept = columns if end_shown else columns - 1
    merged, source_words, words = merge_pieces(matrix[:, :kept], source_tokens[:kept], tokens)
    title = caption(model, layer, head, end_shown=end_shown, layers=layers, heads=heads)
    return alignment_figure(merged, source_words, words, title)


def check_places(translator: Translator, layer: int | str, head: int | str) -> bool:
    """Whether the model has attention. Raises UserError for a layer or head that it does not have.

    Without attention there is none to miss.
    """
    weights = translator.translate(["a"], beam=1, max_length=2, attention=True)[0].weights
    if weights is None:
        return False
    _check_place("layer", layer, weights.shape[0], ("mean",))
    _check_place("head", head, weights.shape[1], ("mean", "max"))
    return True


def _check_place(name: str, value: int | str, count: int, rules: tuple[str, ...]) -> None:
    if value in rules or (type(value) is int and -count <= value < count):
        return
    there = f"{name}s 0 to {count - 1}" if count > 1 else f"{name} 0 alone"
    raise UserError(f"{name}={value}: this model has {there}; or give {' or '.join(rules)}")
