"""Memory of the data path: what stays for each pair, and the most there ever is.

What is mapped from files is the system's to drop, so anonymous memory is what counts. As a script, this prints the
curve: ``python tests/data/test_memory.py 10000 100000 1000000``.
"""

import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow
import pytest

from seq2seq.data import tokenizer as tokenizers
from seq2seq.data.batching import Ragged
from seq2seq.data.corpora import lines, load_corpus
from seq2seq.data.datamodule import Split, TranslationData, _usable
from seq2seq.data.tokenizer import TokenizerPair

MB = 2**20
STEADY = 32  # bytes a pair that may stay
PEAK = 128 * MB  # at any time, above what the imports take; most of it is SentencePiece's
BLOCK = 10_000  # pairs; larger corpora repeat them, for made-up words are slow to make and use memory all the same


def test_no_more_lines_are_held_than_the_tokenizer_sees(monkeypatch):
    monkeypatch.setattr(tokenizers, "SAMPLE", 100)
    with traced() as most:
        sample = tokenizers._sample(f"{number:0200}" for number in range(5000))
        assert most() < 100 * 1000  # all of them would be 1.2 MB
    assert len(sample) == 100


def test_choosing_and_planning_take_a_few_bytes_a_pair(tmp_path):
    count, random = 40_000, np.random.default_rng(0)
    for side in ("source", "target"):
        lengths = random.integers(1, 60, count)
        Ragged.write(tmp_path / side, ([[9] * length for length in block] for block in np.split(lengths, 100)))
    source, target = (Ragged.load(tmp_path / side) for side in ("source", "target"))
    with traced() as most:
        rows, _ = _usable(source.lengths, target.lengths, 128, 99.0, 4096)
        assert most() < 32 * count
        split = Split(rows, source, target)
        plan = split.plan(batch_tokens=4096, seed=0, epoch=0)
        assert most() < 40 * count
        stays, _ = tracemalloc.get_traced_memory()
    assert sum(len(batch.rows) for batch in plan) == count == len(rows)
    assert stays < 12 * count


class traced:  # noqa: N801
    """Traces what Python and NumPy take; gives a function for the most of it so far."""

    def __enter__(self):
        tracemalloc.start()
        return lambda: tracemalloc.get_traced_memory()[1]

    def __exit__(self, *_):
        tracemalloc.stop()


class Taken(NamedTuple):
    """Of preparing a corpus and one pass: seconds; the most memory and what stays, in bytes above an idle process."""

    seconds: float
    peak: int
    steady: int


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured as Linux reports it")
def test_a_million_pairs_are_prepared_in_bounded_memory(tmp_path):
    pairs = 1_000_000
    taken = measure(pairs, tmp_path)
    assert taken.steady < STEADY * pairs, taken
    assert taken.peak < PEAK, taken


def measure(pairs: int, folder: Path) -> Taken:
    """Prepare that many pairs in a process of its own, and watch it."""
    write_corpus(folder / "small", 300)
    write_corpus(folder / "large", pairs)
    command = [sys.executable, __file__, "prepare", str(folder / "small"), str(folder / "large")]
    settings = {"HF_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    # What is freed shall go back to the system: Python's own allocator keeps a megabyte for one living object in it,
    # the C library what lies on top in the part of each thread, and the kernel a huge page for a part of it in use.
    settings |= {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1", "NUMPY_MADVISE_HUGEPAGE": "0"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | settings) as process:
        idle, peak = int(process.stdout.readline()), 0
        while process.poll() is None:
            peak = max(peak, anonymous_memory(process.pid))
            time.sleep(0.005)
        seconds, steady = process.stdout.read().split()
    return Taken(float(seconds), peak - idle, int(steady) - idle)


def anonymous_memory(process: int | str = "self") -> int:
    """Resident bytes of a process that no file backs; 0 where it has ended."""
    status = Path(f"/proc/{process}/status").read_text()
    return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")), 0)


def write_corpus(folder: Path, pairs: int) -> None:
    """Plain files of made-up words: Zipf's law over a large vocabulary, about 11 words a sentence."""
    folder.mkdir()
    random = np.random.default_rng(0)
    words = np.array(
        ["".join(random.choice(list("abcdeghiklmnopqrstuvxyàáâãèéêìíòóôõùúăđĩũơư"), 5)) for _ in range(20_000)]
    )
    for side in ("en", "vi"):
        sizes = np.clip(random.lognormal(2.3, 0.5, min(pairs, BLOCK)), 1, 60).astype(int)
        text = words[random.zipf(1.2, sizes.sum()) % len(words)]
        block = [" ".join(sentence) for sentence in np.split(text, np.cumsum(sizes)[:-1])]
        for stem, count in (("train", pairs), ("dev", 100), ("test", 100)):
            with (folder / f"{stem}.{side}").open("w", encoding="utf-8") as file:
                for start in range(0, count, BLOCK):
                    file.write("".join(f"{line}\n" for line in block[: count - start]))


def prepare(folder: Path):
    """All that happens to a corpus before and in one epoch; gives what a training holds on to."""
    corpus = load_corpus("files", dir=str(folder))
    sides = (lines(corpus["train"], side) for side in ("source", "target"))
    pair = TokenizerPair.train(*sides, 8000, cache_dir=folder / "tokenizers")
    data = TranslationData(corpus, pair, batch_tokens=4096, max_length=128, max_ratio=3.0, seed=0)
    loader = data.train_dataloader()
    loader.sampler.set_epoch(1)
    assert sum(1 for _ in loader) == len(loader)
    data.texts("validation")
    return data, loader


def in_use() -> int:
    """Anonymous memory without what the allocators keep for later."""
    gc.collect()
    pyarrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    return anonymous_memory()


def main(arguments: list[str]) -> None:
    if arguments[0] == "prepare":
        prepare(Path(arguments[1]))
        print(in_use(), flush=True)
        start = time.perf_counter()
        held = prepare(Path(arguments[2]))
        print(time.perf_counter() - start, in_use())
        del held
        return
    print("    pairs   seconds   peak MB   steady MB")
    for pairs in map(int, arguments):
        with tempfile.TemporaryDirectory() as folder:
            seconds, peak, steady = measure(pairs, Path(folder))
        print(f"{pairs:9d} {seconds:9.1f} {peak / MB:9.1f} {steady / MB:11.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
