"""Translation by several processes: a search is many small steps, which one process cannot spread over many cores."""

import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy
    from seq2seq.translator import Translation, Translator

AHEAD = 2  # chunks a worker that are read before they are asked for: none waits, and no input is read whole

_outside = threading.Lock()  # in a worker: held while no chunk is translated, and what is done may be on its way back


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def translate_chunks(
    chunks: Iterable[list[str]], checkpoint: Path, device: str, workers: int, options: dict[str, Any]
) -> Iterator[list["Translation"]]:
    """The translations of each chunk of lines, in order, by so many processes; they share the cores.

    checkpoint: a file. device: as ``Translator.from_checkpoint`` takes it. options: of ``Translator.translate``, which
    says what it raises. Raises UserError where a process dies, which is mostly for want of memory. The processes end
    with this iterator, whether it is exhausted or closed, and with the process that it belongs to.
    """
    context = get_context("spawn")  # not forked: threads of the libraries below PyTorch do not survive that
    parents_end, ours = context.Pipe(duplex=False)  # nothing is sent; that it closes says that nobody waits any more
    started = (parents_end, max(1, cores() // workers))
    pool = ProcessPoolExecutor(workers, context, _start, started)
    chunks = iter(chunks)
    waiting: deque[Future[list[Translation]]] = deque()
    try:
        while True:
            for chunk in islice(chunks, workers * AHEAD - len(waiting)):
                waiting.append(pool.submit(_translate, checkpoint, device, chunk, options))
            if not waiting:
                return
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise UserError(
            f"workers={workers}: one of them died, perhaps for want of memory; take fewer, or a smaller chunk"
        ) from error
    finally:
        ours.close()
        pool.shutdown(cancel_futures=True)
        parents_end.close()


def _start(parents_end: Connection, threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process gets it too, and ends the others
    threading.Thread(target=_end_with, args=(parents_end,), daemon=True).start()
    import torch

    torch.set_num_threads(min(threads, torch.get_num_threads()))  # fewer where the environment says so


def _end_with(parents_end: Connection) -> None:
    """Wait until nobody waits for this worker, then end: in the middle of a chunk, but not of an answer.

    Half an answer would keep the first process waiting for the rest. A worker that is outside is ended by the pool,
    unless there is none any more.
    """
    try:
        parents_end.poll(None)
        while not _outside.acquire(timeout=1) and parent_process().is_alive():
            pass
    finally:
        os._exit(1)


@cache
def _loaded(checkpoint: Path, device: str) -> "Translator":
    from seq2seq.translator import Translator

    return Translator.from_checkpoint(checkpoint, device)


def _translate(checkpoint: Path, device: str, lines: list[str], options: dict[str, Any]) -> list["Translation"]:
    if _outside.locked():
        _outside.release()
    try:
        return _loaded(checkpoint, device).translate(lines, **options)
    finally:
        _outside.acquire()
