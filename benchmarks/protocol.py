"""What all workers share: the sizes, the work, one training step, and answers to commands.

Every toolkit's own environment imports this file, so it needs the standard library, NumPy and PyTorch alone.
A worker is a process that has one model of one toolkit. It sleeps on standard input; a line there is a command, and
its answer is one line of JSON on standard output:

| command               | answer                                                             |
|-----------------------|--------------------------------------------------------------------|
| ``train bf16 3``      | seconds, units (real source and target pieces), peak memory in MiB |
| ``greedy fp32``       | seconds, units (sentences), peak memory in MiB                     |
| ``beam bf16``         | the same, with a beam of five                                      |
| ``check``             | losses that show that the model learns and that padding is masked  |

Legend: B sentences, S source length, T target length, N real target tokens.
"""

import argparse
import json
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

PAD, UNK, BOS, EOS = 0, 1, 2, 3  # as in seq2seq/symbols.py
EMBEDDING, HIDDEN = 256, 512  # recurrent models: word vectors; decoder, and both directions of the encoder together
SIZE, HEADS, INNER, LAYERS = 256, 4, 1024, 3  # Transformer
DROPOUT, SMOOTHING, CLIP, LEARNING_RATE = 0.1, 0.1, 1.0, 1e-3
BEAM, STEPS = 5, 30  # every translation has so many tokens: the end of sentence is blocked
CHECK_STEPS, CHECK_ROWS = 30, 16


@dataclass(frozen=True)
class Batch:
    """source: (B, S) int64, each row ends in EOS, longest first; target: (B, 1 + T), BOS, pieces, EOS; padded right."""

    source: Tensor
    target: Tensor

    @cached_property
    def lengths(self) -> Tensor:
        """(B,) of the sources, EOS among them."""
        return self.source.ne(PAD).sum(1)

    @cached_property
    def target_input(self) -> Tensor:
        """(B, T): BOS and pieces, without EOS."""
        return self.target[:, :-1].masked_fill(self.target[:, :-1] == EOS, PAD)

    @cached_property
    def target_output(self) -> Tensor:
        """(B, T): pieces and EOS."""
        return self.target[:, 1:].contiguous()

    @cached_property
    def tokens(self) -> int:
        """N, real tokens of ``target_output``."""
        return int(self.target_output.ne(PAD).sum())

    @property
    def pieces(self) -> int:
        """Real source and target pieces, with an EOS on each side: what speed is counted in."""
        return int(self.lengths.sum()) + self.tokens

    def alone(self, row: int) -> "Batch":
        """One sentence pair without padding."""
        return Batch(*(ids[row : row + 1, : int(ids[row].ne(PAD).sum())] for ids in (self.source, self.target)))


def joined(pairs: list[Batch]) -> Batch:
    """Single sentence pairs in one batch, whatever their lengths."""
    pairs = sorted(pairs, key=lambda pair: -pair.source.shape[1])
    sides = ([pair.source[0] for pair in pairs], [pair.target[0] for pair in pairs])
    return Batch(*(nn.utils.rnn.pad_sequence(side, batch_first=True, padding_value=PAD) for side in sides))


@dataclass(frozen=True)
class Workload:
    """vocabulary: its size. train: batches in the order they are trained on. decode: (B, S) sources by length."""

    vocabulary: int
    train: list[Batch]
    decode: list[Tensor]

    def save(self, path: Path) -> None:
        """To one .npz file."""
        arrays = {"vocabulary": np.array(self.vocabulary)}
        for number, batch in enumerate(self.train):
            arrays |= {f"source {number}": batch.source.numpy(), f"target {number}": batch.target.numpy()}
        arrays |= {f"decode {number}": source.numpy() for number, source in enumerate(self.decode)}
        with path.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Workload":
        """What ``save`` wrote."""
        with np.load(path) as stored:
            arrays = {name: torch.from_numpy(stored[name]) for name in stored.files}

        def numbered(name: str) -> list[Tensor]:
            return [arrays[f"{name} {number}"] for number in range(sum(key.startswith(name) for key in arrays))]

        pairs = zip(numbered("source"), numbered("target"), strict=True)
        return cls(int(arrays["vocabulary"]), [Batch(*pair) for pair in pairs], numbered("decode"))


class Contender:
    """One model of one toolkit: what a worker fills in with the toolkit's own code.

    ``model`` is what is trained. Precisions other than fp32 and bf16 are the toolkit's own business.
    """

    package: str  # as it is installed
    models: tuple[str, ...] = ()  # names that the constructor knows
    tasks: tuple[str, ...] = ("train", "greedy", "beam")
    precisions: tuple[str, ...] = ("fp32", "bf16")
    model: nn.Module

    def __init__(self, name: str, vocabulary: int, threads: int) -> None:
        """Build the model with random weights."""
        raise NotImplementedError

    def prepare(self, batch: Batch) -> Any:
        """The batch as ``loss`` takes it. Not timed: loading data is not what is compared."""
        return batch

    def loss(self, prepared: Any) -> Tensor:
        """The training loss, summed over the N real target tokens."""
        raise NotImplementedError

    def block_end(self) -> None:
        """Make EOS impossible, for a toolkit that cannot be told a least length."""

    def translate(self, sources: list[Tensor], beam: int, precision: str) -> list[list[int]]:
        """The best translation of each sentence, ``STEPS`` tokens. beam 1 is greedy search."""
        with torch.no_grad(), autocast(precision):
            return [row for source in sources for row in self.translate_batch(source, source.ne(PAD).sum(1), beam)]

    def translate_batch(self, source: Tensor, lengths: Tensor, beam: int) -> list[list[int]]:
        """source: (B, S), lengths: (B,). Called without gradients and inside autocast, where that is wanted."""
        raise NotImplementedError

    def parameters(self) -> int:
        """Trainable numbers."""
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    def answer(self, command: str, *arguments: str) -> dict[str, Any]:
        """Answer a command of this contender alone."""
        raise ValueError(f"no such command: {command}")


def autocast(precision: str) -> torch.autocast:
    """bf16 mixed precision, or nothing."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")


class Runner:
    """Runs a contender on the workload and measures it."""

    def __init__(self, contender: Contender, workload: Workload, per_slice: int) -> None:
        """per_slice: batches of a training slice."""
        self.contender, self.workload, self.per_slice = contender, workload, per_slice
        if "train" in contender.tasks:
            # the same optimiser for all, PyTorch's fastest: what differs is the toolkits' models
            self.optimizer = torch.optim.AdamW(contender.model.parameters(), lr=LEARNING_RATE, fused=True)

    def step(self, prepared: Any, tokens: int, precision: str) -> Tensor:
        """Forward, loss, backward, clip, update; gives the loss a token."""
        with autocast(precision):
            loss = self.contender.loss(prepared) / tokens
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.contender.model.parameters(), CLIP)
        self.optimizer.step()
        return loss.detach()

    def train(self, precision: str, number: int) -> dict[str, float]:
        """Train on slice ``number`` of the batches, counted around the list's end."""
        first = number * self.per_slice
        batches = [self.workload.train[i % len(self.workload.train)] for i in range(first, first + self.per_slice)]
        prepared = [self.contender.prepare(batch) for batch in batches]
        tokens = [batch.tokens for batch in batches]
        self.contender.model.train()
        with measured() as result:
            for one, count in zip(prepared, tokens, strict=True):
                self.step(one, count, precision)
        return result | {"units": sum(batch.pieces for batch in batches)}

    def decode(self, beam: int, precision: str) -> dict[str, float]:
        """Translate all sentences of the workload."""
        if "train" in self.contender.tasks:
            self.contender.model.eval()
        self.contender.block_end()
        with measured() as result:
            rows = self.contender.translate(self.workload.decode, beam, precision)
        wrong = sorted({len(row) for row in rows} - {STEPS})
        if wrong or len(rows) != sum(map(len, self.workload.decode)):
            raise RuntimeError(f"{len(rows)} translations, some of {wrong} tokens: all should have {STEPS}")
        return result | {"units": len(rows)}

    def check(self) -> dict[str, float]:
        """Losses a token: of some sentences in one batch and of each alone, and before and after learning them."""
        if "train" not in self.contender.tasks:
            return {}
        rows = range(max(len(batch.source) for batch in self.workload.train))
        spread = (batch.alone(row) for row in rows for batch in self.workload.train if row < len(batch.source))
        pairs = list(islice(spread, CHECK_ROWS))  # of many lengths
        together = joined(pairs)
        prepared = self.contender.prepare(together)
        self.contender.model.eval()
        with torch.no_grad():
            loss = float(self.contender.loss(prepared))
            alone = sum(float(self.contender.loss(self.contender.prepare(pair))) for pair in pairs)
        self.contender.model.train()
        losses = [float(self.step(prepared, together.tokens, "fp32")) for _ in range(CHECK_STEPS)]
        tokens = together.tokens
        return {"together": loss / tokens, "alone": alone / tokens, "first": losses[0], "last": losses[-1]}

    def answer(self, command: str, *arguments: str) -> dict[str, Any]:
        """Carry out one command of the table above."""
        if command == "train":
            return self.train(arguments[0], int(arguments[1]))
        if command in ("greedy", "beam"):
            return self.decode(BEAM if command == "beam" else 1, arguments[0])
        if command == "check":
            return self.check()
        return self.contender.answer(command, *arguments)


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Fills a dict with the seconds that the block took and the most memory that the process had meanwhile."""
    result: dict[str, float] = {}
    with suppress(OSError):  # elsewhere than on Linux the peak is that of the process so far
        Path("/proc/self/clear_refs").write_text("5", "utf-8")  # begins it anew
    started = time.perf_counter()
    yield result
    result["seconds"] = time.perf_counter() - started
    result["peak_mib"] = peak_memory()


def peak_memory() -> float:
    """Most resident memory, in MiB."""
    try:
        return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8"))[1]) / 1024
    except OSError:
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(kind: type[Contender]) -> None:
    """The worker's program: say what there is to compare, then answer commands until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", type=Path)
    parser.add_argument("model", choices=kind.models)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--per-slice", type=int, required=True)
    options = parser.parse_args()
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may print: only answers go to the orchestrator
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    workload = Workload.load(options.workload)
    contender = kind(options.model, workload.vocabulary, options.threads)
    runner = Runner(contender, workload, options.per_slice)
    versions = {package: version(package) for package in (kind.package, "torch")}
    hello = {"parameters": contender.parameters(), "tasks": contender.tasks, "precisions": contender.precisions}
    print(json.dumps(hello | {"versions": versions}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(runner.answer(*line.split())), file=answers, flush=True)
