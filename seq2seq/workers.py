"""Translation by several processes: a search is many small steps, which one process cannot spread over many cores."""

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy
    from seq2seq.translator import Translation, Translator

AHEAD = 2  # chunks a worker that are read before they are asked for: none waits, and no input is read whole

_translator: "Translator | None" = None  # of this process, where it is a worker


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def translate_chunks(
    chunks: Iterable[list[str]], checkpoint: str, device: str, workers: int, options: dict[str, Any]
) -> Iterator[list["Translation"]]:
    """The translations of each chunk of lines, in order, by so many processes; they share the cores.

    checkpoint and device: as ``Translator.from_checkpoint`` takes them. options: of ``Translator.translate``, which
    says what it raises. Raises UserError where a process dies, which is mostly for want of memory.
    """
    threads = max(1, cores() // workers)
    started = (checkpoint, device, threads)
    # Not forked: threads of the libraries below PyTorch do not survive that.
    with ProcessPoolExecutor(workers, get_context("spawn"), _start, started) as pool:
        chunks = iter(chunks)
        waiting: deque[Future[list[Translation]]] = deque()
        try:
            while True:
                for chunk in islice(chunks, workers * AHEAD - len(waiting)):
                    waiting.append(pool.submit(_translate, chunk, options))
                if not waiting:
                    return
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                f"workers={workers}: one of them died, perhaps for want of memory; take fewer, or a smaller chunk"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _start(checkpoint: str, device: str, threads: int) -> None:
    global _translator
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process gets it too, and ends the others
    import torch

    from seq2seq.translator import Translator

    torch.set_num_threads(threads)
    _translator = Translator.from_checkpoint(checkpoint, device)


def _translate(lines: list[str], options: dict[str, Any]) -> list["Translation"]:
    return _translator.translate(lines, **options)
