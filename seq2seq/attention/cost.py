"""What attention costs, counted: multiply-adds, bytes, and the longest way between two positions.

| mechanism        | multiply-adds a layer | bytes beside queries, keys, values, result | longest path        |
|------------------|-----------------------|--------------------------------------------|---------------------|
| explicit         | 2·n·m·D               | energies and weights, 2·h·n·m              | 1                   |
| fused            | 2·n·m·D               | one number a query and head, h·n           | 1                   |
| window           | 2·n·r·D               | gathered keys and values, mask             | ⌈(n−1)/(w−1)⌉       |
| global           | 2·n·R·D               | gathered keys and values, mask             | 2; causal as window |
| strided          | 2·n·(r + n/s)·D       | energies and weights, 2·h·n·(r + n/s)      | 2 where w ≥ s       |
| recurrent (LSTM) | 8·n·D²                | what the gates take from the input, 4·n·D  | n − 1               |

The first column and the last are table 1 of "Attention Is All You Need" (arXiv 1706.03762), with constants. Attention
is counted without the projections, which cost 4·n·D² for each mechanism; a causal mask is not counted as a saving, and
a dense mask costs the explicit path about half its bytes again.
Legend: n queries, m keys, D model size, h heads, k heads of keys and values, d = D/h, w window, s stride, g global
positions, r = 2w keys that a block reaches (3w unless causal; a window's blocks are 2 at least), R = r + g.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What a cost depends on. item: bytes of a number (2 for fp16 and bf16, 4 for fp32). m: None for self-attention."""

    n: int
    size: int
    heads: int
    kv_heads: int
    m: int | None = None
    window: int = 64
    global_positions: int = 0
    stride: int = 64
    causal: bool = True
    item: int = 4

    @property
    def keys(self) -> int:
        """m."""
        return self.n if self.m is None else self.m

    def reach(self, block: int) -> int:
        """r of blocks of so many queries."""
        return (2 if self.causal else 3) * block


@dataclass(frozen=True)
class Cost:
    """multiply_adds: of one layer, forward. bytes: held at once beside queries, keys, values and the result.

    path: layers (recurrent: steps) that a word's influence needs to the position farthest away; inf: never.
    """

    multiply_adds: int
    bytes: int
    path: float


def _hops(distance: int, window: int) -> float:
    """Windows from one position to another."""
    if distance == 0:
        return 0
    return math.ceil(distance / (window - 1)) if window > 1 else math.inf


def score_matrix(s: Sizes) -> int:
    """Bytes of the scores of one layer, h·n·m."""
    return s.heads * s.n * s.keys * s.item


def explicit(s: Sizes) -> Cost:
    """``dot_product.scaled_dot_product``."""
    return Cost(2 * s.n * s.keys * s.size, 2 * score_matrix(s), 1)


def fused(s: Sizes) -> Cost:
    """PyTorch's kernel without a mask: FlashAttention (Dao 2022, arXiv 2205.14135, §3.1) keeps sums in fp32.

    It is what ``dot_product.fused`` calls, but for what is small on a CPU, where it costs what ``explicit`` does.
    """
    return Cost(2 * s.n * s.keys * s.size, 4 * s.heads * s.n, 1)


def banded(s: Sizes) -> Cost:
    """``banded.banded``; with ``global_positions`` its global form. The mask is kept as bool, and for the kernel as
    numbers.
    """
    block = max(2, s.window)
    blocks = math.ceil(s.n / block)
    rows, width = blocks * block, s.reach(block) + s.global_positions
    multiply_adds = 2 * rows * width * s.size
    if s.global_positions and not s.causal:
        multiply_adds += 2 * s.global_positions * s.n * s.size
    gathered = 2 * blocks * width * s.kv_heads * (s.size // s.heads) * s.item
    path = _hops(s.n - 1, s.window)
    if s.global_positions and s.causal:  # the first positions see nothing later: they carry only themselves
        path = max(1, _hops(max(0, s.n - 1 - s.global_positions), s.window))
    elif s.global_positions:
        path = min(path, 2)
    return Cost(multiply_adds, gathered + rows * width * (2 + s.item), path)


def strided(s: Sizes) -> Cost:
    """``strided.strided``."""
    rows, columns = math.ceil(s.n / s.window) * s.window, math.ceil(s.n / s.stride)
    multiply_adds = 2 * (rows * s.reach(s.window) + columns * s.stride * columns) * s.size
    rest = [  # a stride, then what is left over; or, unless causal, a stride too far and back from the next
        min(1 + _hops(left, s.window), math.inf if s.causal else 2 + _hops(s.stride - left, s.window))
        for left in range(s.stride)
    ]
    path = min(_hops(s.n - 1, s.window), max(rest))
    return Cost(multiply_adds, 2 * s.heads * s.n * (s.reach(s.window) + columns) * s.item, path)


def recurrent(s: Sizes) -> Cost:
    """An LSTM of the same size: four gates that read input and state."""
    return Cost(8 * s.n * s.size**2, 4 * s.n * s.size * s.item, s.n - 1)


MECHANISMS: dict[str, Callable[[Sizes], Cost]] = {
    "explicit": explicit,
    "fused": fused,
    "window": banded,
    "global": banded,
    "strided": strided,
    "recurrent": recurrent,
}


def cache_bytes(s: Sizes, layers: int, window: int | None = None) -> int:
    """Keys and values of n decoded positions of one sentence, 2·layers·k·d·n; a window keeps only so many."""
    kept = s.n if window is None else min(s.n, window + s.global_positions)
    return 2 * layers * s.kv_heads * (s.size // s.heads) * kept * s.item
