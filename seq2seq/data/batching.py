"""Batches by token budget: sentences of like length together, padding little, never more area than agreed.

A recurrent net or a Transformer computes every position of a batch, padding too, so a batch's cost is
``rows x longest sentence``. Batches are cut at that cost and not at a number of sentences.

Legend: B sentences of a batch, S source pieces + EOS, T target pieces + EOS (or BOS + pieces), n pairs of a split.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from seq2seq.symbols import BOS, EOS, PAD

LONGEST = 1024  # pieces: no sentence is longer, and what is takes memory and time without bound
BLUR = 0.2  # share by which source lengths are blurred in sorting, so that neighbours differ by epoch


@dataclass(frozen=True)
class Batch:
    """One padded batch.

    rows: (B,) int64, row numbers in the split.
    source: (B, S) int64, pieces and EOS, padded right; source_lengths: (B,), EOS included.
    target_input: (B, T) int64, BOS and pieces; target_output: (B, T), pieces and EOS.
    tokens: real tokens of ``target_output``; step_tokens: the same for the whole optimiser step, that is for all
    batches of all ranks whose gradients are added up before the weights move.
    """

    rows: Tensor
    source: Tensor
    source_lengths: Tensor
    target_input: Tensor
    target_output: Tensor
    tokens: int
    step_tokens: int

    def _each(self, method: str, *arguments: object, **options: object) -> Self:
        tensors = {f.name: getattr(self, f.name) for f in fields(self) if f.type is Tensor}
        return replace(self, **{name: getattr(t, method)(*arguments, **options) for name, t in tensors.items()})

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """The same batch on another device."""
        return self._each("to", device, non_blocking=non_blocking)

    def pin_memory(self) -> Self:
        """The same batch in page-locked memory, from which copies to a GPU are faster."""
        return self._each("pin_memory")


class PlannedBatch(NamedTuple):
    """Which rows make a batch, before anything is padded."""

    rows: np.ndarray  # (B,) int32: plans of large corpora stay in memory
    step_tokens: int


@dataclass(frozen=True)
class Ragged:
    """Rows of different length in one flat array: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: np.ndarray  # (all pieces,) int32
    offsets: np.ndarray  # (n + 1,) int64
    folder: Path | None = None  # where both lie as files, if they are read from there

    @staticmethod
    def write(folder: Path, blocks: Iterable[list[list[int]]]) -> None:
        """Write rows, which come in blocks, to a new folder; no more than a block is in memory."""
        folder.mkdir()
        with (folder / "values").open("wb") as values, (folder / "offsets").open("wb") as offsets:
            end = np.zeros(1, np.int64)
            end.tofile(offsets)
            for rows in blocks:
                np.fromiter(chain.from_iterable(rows), np.int32).tofile(values)
                ends = end + np.cumsum([len(row) for row in rows])  # (rows of the block,)
                ends.tofile(offsets)
                end = ends[-1:]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``write`` wrote, mapped into memory: the system reads what is in use and drops it where it must."""
        return cls(_mapped(folder / "values", np.int32), _mapped(folder / "offsets", np.int64), folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, for a worker that is spawned, files are mapped again and not copied."""
        return (Ragged.load, (self.folder,)) if self.folder else (Ragged, (self.values, self.offsets))

    @property
    def lengths(self) -> np.ndarray:
        """(n,) int32, pieces of each row."""
        begins, ends = self.offsets[:-1], self.offsets[1:]
        return np.subtract(ends, begins, out=np.empty(len(ends), np.int32), casting="unsafe")

    def padded(self, rows: np.ndarray, before: int | None = None, after: int | None = None) -> tuple[Tensor, Tensor]:
        """The given rows as (B, L) int64 padded right, and their (B,) lengths.

        before, after: a token put in front of, or behind, every row; it counts in the lengths.
        """
        starts = self.offsets[rows]  # (B,)
        pieces = self.offsets[rows + 1] - starts  # (B,)
        first = int(before is not None)
        lengths = pieces + first + int(after is not None)  # (B,)
        table = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)  # (B, L)
        columns = np.arange(table.shape[1])  # (L,)
        real = (columns >= first) & (columns < first + pieces[:, None])  # (B, L)
        table[real] = self.values[(starts[:, None] + columns - first)[real]]
        if before is not None:
            table[:, 0] = before
        if after is not None:
            table[np.arange(len(rows)), lengths - 1] = after
        return torch.from_numpy(table), torch.from_numpy(lengths.astype(np.int64))


def _mapped(path: Path, kind: type) -> np.ndarray:
    """The numbers in a file, read as they are needed. An empty file cannot be mapped."""
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.empty(0, kind)


def make_batch(source: Ragged, target: Ragged, planned: PlannedBatch) -> Batch:
    """Pad the planned rows into a batch."""
    rows = planned.rows.astype(np.int64)
    source_ids, source_lengths = source.padded(rows, after=EOS)  # (B, S), (B,)
    target_input, _ = target.padded(rows, before=BOS)  # (B, T)
    target_output, target_lengths = target.padded(rows, after=EOS)  # (B, T), (B,)
    return Batch(
        rows=torch.from_numpy(rows),
        source=source_ids,
        source_lengths=source_lengths,
        target_input=target_input,
        target_output=target_output,
        tokens=int(target_lengths.sum()),
        step_tokens=planned.step_tokens,
    )


def source_batch(ids: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Piece ids of sentences to (B, S) int64 with EOS, padded right, and (B,) lengths. An empty row is EOS alone."""
    lengths = torch.tensor([len(row) + 1 for row in ids], dtype=torch.int64)  # (B,)
    source = torch.full((len(ids), max(map(len, ids), default=-1) + 1), PAD, dtype=torch.int64)  # (B, S)
    for number, row in enumerate(ids):
        source[number, : len(row) + 1] = torch.tensor([*row, EOS])
    return source, lengths


def plan_batches(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
    shuffle: bool = True,
    world_size: int = 1,
    accumulate: int = 1,
) -> list[PlannedBatch]:
    """One global list of batches that holds every row; rank r takes ``plan[r::world_size]``.

    source_lengths, target_lengths: (n,) pieces without BOS and EOS. No batch has
    ``B x max(S, T) > batch_tokens``, but for a single pair that is longer than that alone: it is a batch by itself.
    An optimiser step is ``world_size x accumulate`` neighbours in the list, and the list is a multiple of that: the
    batches with most rows are halved until it is. Nothing is dropped or repeated. Where the rows are too few to be
    halved that far, the last step is shorter but equal on all ranks; and where even that needs more batches than
    there are rows, the last batch is repeated if shuffled (training), and ranks differ by one batch if not.
    The number of batches is the same in every epoch (Lightning asks once); the order and the neighbours depend on
    ``seed`` and ``epoch`` alone. Without ``shuffle`` the list goes by length.
    """
    source_lengths, target_lengths = np.asarray(source_lengths), np.asarray(target_lengths)
    widths = np.maximum(source_lengths, target_lengths) + 1  # (n,)
    if len(widths) == 0:
        return []
    random = np.random.Generator(np.random.PCG64([seed, epoch]))
    order = _by_length(widths, source_lengths, target_lengths, random if shuffle else None)  # (n,)
    widths = widths[order]  # (n,), the same numbers in every epoch
    cuts = _cut(widths, batch_tokens)
    count = len(cuts)
    if shuffle and count > 1:
        first = int(random.integers(1, cuts[1] + 1))  # so that the borders move too
        cuts = [0, *(first + _cut(widths[first:], batch_tokens))]
        count = min(count + 1, len(order))  # at most one more than without the move
    batches = np.split(order, cuts[1:])
    batches = _split_to(batches, _round_up(count, len(order), world_size, accumulate))
    if shuffle:
        batches = [batches[number] for number in random.permutation(len(batches))]
        while len(batches) % world_size:
            batches.append(batches[-1])
    return _with_step_tokens(batches, target_lengths + 1, world_size * accumulate)


def _by_length(
    widths: np.ndarray, source_lengths: np.ndarray, target_lengths: np.ndarray, random: np.random.Generator | None
) -> np.ndarray:
    """Row numbers, (n,) int32, by the longer side, then by the source: blurred and ties mixed if ``random`` is given.

    In place and in 32 bits, because this is where a large corpus takes most memory.
    """
    if random is None:
        return np.lexsort((target_lengths, source_lengths, widths)).astype(np.int32)
    blurred = random.random(len(widths))  # (n,)
    blurred *= BLUR
    blurred += 1
    blurred *= source_lengths
    blurred = blurred.astype(np.int32)
    return np.lexsort((random.random(len(widths)), blurred, widths)).astype(np.int32)


def _cut(widths: np.ndarray, batch_tokens: int) -> np.ndarray:
    """Where batches begin if rows of these widths, (n,) ascending, are taken in order, as many as the budget allows."""
    cuts, start = [], 0
    while start < len(widths):
        cuts.append(start)
        window = widths[start : start + max(1, batch_tokens // int(widths[start]))]  # no more rows can fit
        area = np.arange(1, len(window) + 1) * window
        start += max(1, int(np.searchsorted(area, batch_tokens, side="right")))
    return np.array(cuts, dtype=np.int64)


def _round_up(count: int, rows: int, world_size: int, accumulate: int) -> int:
    """The number of batches to reach: whole steps, else whole rounds of the ranks, else what there is."""
    for group in (world_size * accumulate, world_size):
        wanted = -(-count // group) * group
        if wanted <= rows:
            return wanted
    return count


def _split_to(batches: list[np.ndarray], count: int) -> list[np.ndarray]:
    """Halve the batch with most rows until there are ``count``; the halves stand where the whole stood."""
    heap = [(-len(rows), number, 0, rows) for number, rows in enumerate(batches)]
    serial = 0
    heapq.heapify(heap)
    while len(heap) < count:
        size, number, _, rows = heapq.heappop(heap)
        middle = (1 - size) // 2
        for half in (rows[:middle], rows[middle:]):
            serial += 1
            heapq.heappush(heap, (-len(half), number, serial, half))
    return [rows for *_, rows in sorted(heap, key=lambda item: item[1:3])]


def _with_step_tokens(batches: list[np.ndarray], tokens: np.ndarray, group: int) -> list[PlannedBatch]:
    """Add to each batch the target tokens of its whole step. tokens: (n,), EOS included."""
    each = np.array([tokens[rows].sum() for rows in batches])
    steps = np.arange(len(batches)) // group
    totals = np.bincount(steps, weights=each).astype(np.int64)
    return [PlannedBatch(rows, int(totals[step])) for rows, step in zip(batches, steps, strict=True)]
