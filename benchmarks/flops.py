"""Floating-point operations that a training step of our models needs, counted from their equations.

Matrix products alone, two operations a multiplication and addition; a backward pass takes two products for each of
the forward pass. Real tokens only: computing padding is no use of a machine. Sizes are those of ``protocol``.
"""

import numpy as np
from protocol import EMBEDDING, HIDDEN, INNER, LAYERS, SIZE


def training_flops(name: str, source_lengths: np.ndarray, target_lengths: np.ndarray, vocabulary: int) -> float:
    """name: a key of ``ours.SETTINGS``. source_lengths, target_lengths: (B,), each with one special token."""
    lengths = np.asarray(source_lengths, np.float64), np.asarray(target_lengths, np.float64)
    return (
        3
        * 2
        * (_transformer(*lengths, vocabulary) if name == "transformer" else _recurrent(name, *lengths, vocabulary))
    )


def _transformer(source: np.ndarray, target: np.ndarray, vocabulary: int) -> float:
    """Multiplications of a forward pass. Causal self-attention counts as if it saw everything, as is usual."""
    each_source = 4 * SIZE**2 + 2 * SIZE * INNER + 2 * SIZE**2  # own projections, feed-forward, keys and values
    each_target = 4 * SIZE**2 + 2 * SIZE**2 + 2 * SIZE * INNER  # the same, and of cross-attention queries and output
    pairs = source**2 + target**2 + source * target  # each costs an energy and a weighted value
    layer = each_source * source.sum() + each_target * target.sum() + 2 * SIZE * pairs.sum()
    return LAYERS * layer + SIZE * vocabulary * target.sum()


def _recurrent(name: str, source: np.ndarray, target: np.ndarray, vocabulary: int) -> float:
    """Multiplications of a forward pass."""
    one_way = HIDDEN // 2
    fed = 0 if name == "luong_free" else HIDDEN
    each_sentence = HIDDEN * 2 * HIDDEN  # the decoder's first state and cell
    each_source = 2 * 4 * one_way * (EMBEDDING + one_way)
    each_target = 4 * HIDDEN * (EMBEDDING + fed + HIDDEN) + HIDDEN * EMBEDDING + EMBEDDING * vocabulary
    each_pair = 0
    if name == "rnn":
        each_target += HIDDEN * HIDDEN  # the layer before the output
    elif name == "bahdanau":
        score = HIDDEN // 2
        each_source += HIDDEN * score
        each_target += HIDDEN * score + (2 * HIDDEN + EMBEDDING) * HIDDEN  # query, deep output
        each_pair = score + HIDDEN  # energy, context
    else:
        each_source += HIDDEN * HIDDEN
        each_target += 2 * HIDDEN * HIDDEN  # attentional vector
        each_pair = HIDDEN + HIDDEN
    return (
        each_sentence * len(source)
        + each_source * source.sum()
        + each_target * target.sum()
        + each_pair * (source * target).sum()
    )
