"""Attention weights made ready to be looked at: from subword pieces to words, and a caption that hides nothing.

Legend: T target pieces, S source pieces, T_w target words, S_w source words.
"""

from collections.abc import Sequence

import numpy as np

WORD_START = "▁"
END = "</s>"


def merge_pieces(
    weights: np.ndarray, source_pieces: Sequence[str], target_pieces: Sequence[str]
) -> tuple[np.ndarray, list[str], list[str]]:
    """Weights between words from weights between pieces.

    weights: (T, S), one column for each source piece and one row for each target piece.
    Gives ((T_w, S_w), source words, target words). What a word receives is the sum over its pieces (columns);
    what a word gives out is the mean over its pieces (rows), so that rows still sum to 1.
    ``▁`` begins a word, ``</s>`` is a word of its own. Raises ValueError where shape and pieces disagree.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(target_pieces), len(source_pieces)):
        raise ValueError(
            f"weights {weights.shape} are not {len(target_pieces)} target rows x {len(source_pieces)} source columns"
        )
    source_words, source_of = _words(source_pieces)
    target_words, target_of = _words(target_pieces)
    columns = np.eye(len(source_words))[source_of]  # (S, S_w), one 1 a row
    rows = np.eye(len(target_words))[target_of]  # (T, T_w)
    merged = rows.T @ weights @ columns  # (T_w, S_w), summed over both
    return merged / rows.sum(0)[:, None], source_words, target_words


def _words(pieces: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The words that pieces make up, and for each piece the number of its word, (P,) int64."""
    groups: list[list[str]] = []
    word_of = []
    for piece in pieces:
        after_end = bool(groups) and groups[-1] == [END]
        # A lone "▁" has no letter yet, so that the next piece still belongs to the word it begins.
        starts = piece.startswith(WORD_START) and not (groups and groups[-1] == [WORD_START])
        if not groups or piece == END or after_end or starts:
            groups.append([])
        groups[-1].append(piece)
        word_of.append(len(groups) - 1)
    return [_text(group) for group in groups], np.array(word_of, dtype=np.int64)


def _text(group: list[str]) -> str:
    """Pieces of one word as text, with byte pieces such as ``<0xE1>`` put back into letters."""
    raw = bytearray()
    for piece in group:
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            raw.append(int(piece[3:5], 16))
        else:
            raw += piece.replace(WORD_START, "").encode()
    return raw.decode("utf-8", errors="replace") or WORD_START


def caption(
    model: str,
    layer: int | str = -1,
    head: int | str = "mean",
    *,
    end_shown: bool,
    layers: int = 1,
    heads: int = 1,
) -> str:
    """One line that says which weights a picture shows.

    layer, head: as they were given to ``reduce_attention`` (numbers from 0, ``mean``, ``max``).
    layers, heads: how many the model has. end_shown: whether the end-of-sentence column is in the picture;
    if not, the rows were divided by what remained.
    """
    if layers == 1:
        layer_text = "one layer"
    elif layer == "mean":
        layer_text = f"mean of {layers} layers"
    else:
        layer_text = f"layer {int(layer) % layers} of 0–{layers - 1}"
    if heads == 1:
        head_text = "one head"
    elif isinstance(head, str):
        head_text = f"{'maximum' if head == 'max' else head} of {heads} heads"
    else:
        head_text = f"head {head % heads} of 0–{heads - 1}"
    end_text = f"{END} shown" if end_shown else f"{END} column left out, rows rescaled"
    return f"{model} · {layer_text} · {head_text} · {end_text}"
