"""Several processes: order, how far ahead is read, and what happens when one dies or nobody waits any more."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tiny import ENGLISH, write_run

from seq2seq import workers
from seq2seq.checkpoint import find_checkpoint
from seq2seq.errors import UserError
from seq2seq.translator import Translator
from seq2seq.workers import AHEAD, translate_chunks

OPTIONS = {"beam": 2, "max_length": 10}
TRANSLATE = Path(__file__).resolve().parents[1] / "scripts" / "translate.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return find_checkpoint(write_run(tmp_path_factory.mktemp("workers") / "run", "luong"))


def test_chunks_come_in_their_order_and_are_not_read_far_ahead(run):
    read = []

    def chunks():
        for number in range(20):
            read.append(number)
            yield [ENGLISH[number % 4]] * (1 + number % 3)

    translator = Translator.from_checkpoint(run, "cpu")
    for number, found in enumerate(translate_chunks(chunks(), run, "cpu", 2, OPTIONS)):
        expected = translator.translate([ENGLISH[number % 4]] * (1 + number % 3), **OPTIONS)
        assert [one.text for one in found] == [one.text for one in expected]
        assert len(read) <= number + 2 * AHEAD
    assert number == 19


def test_a_worker_that_dies_is_one_clear_line(run):
    found = translate_chunks(([line] for line in ENGLISH * 10), run, "cpu", 2, OPTIONS)
    next(found)
    for process in multiprocessing.active_children():
        process.kill()
    with pytest.raises(UserError, match="workers=2: one of them died"):
        list(found)


def test_what_is_wrong_in_a_worker_is_said_as_it_is(run):
    with pytest.raises(UserError, match=r"gone\.ckpt: no such file"):
        list(translate_chunks([ENGLISH], run.with_name("gone.ckpt"), "cpu", 2, OPTIONS))
    with pytest.raises(UserError, match="beam"):
        list(translate_chunks([ENGLISH], run, "cpu", 2, OPTIONS | {"beam": 0}))
    assert not multiprocessing.active_children()


def test_who_stops_early_waits_for_nobody_and_leaves_nobody_behind(run):
    endless = ENGLISH * 1000
    found = translate_chunks(itertools.chain([ENGLISH], itertools.repeat(endless)), run, "cpu", 2, OPTIONS)
    next(found)
    children = multiprocessing.active_children()
    found.close()
    assert children
    assert not multiprocessing.active_children()
    assert all(child.exitcode != 0 for child in children)  # in the middle of their work


def _answer_when_told(parents_end, pipe):
    threading.Thread(target=workers._end_with, args=(parents_end,), daemon=True).start()
    workers._outside.acquire()  # a chunk is done
    pipe.send("ready")
    pipe.recv()
    pipe.send(b"answer" * 10**6)
    pipe.recv()


def test_an_answer_on_its_way_arrives_whole_though_nobody_waits():
    """It may be larger than a pipe: half of it would keep the first process waiting for ever."""
    context = multiprocessing.get_context("spawn")
    (parents_end, ours), (here, there) = context.Pipe(duplex=False), context.Pipe()
    process = context.Process(target=_answer_when_told, args=(parents_end, there))
    process.start()
    assert here.recv() == "ready"
    ours.close()
    process.join(timeout=3)
    assert process.is_alive()
    here.send("go on")
    assert len(here.recv()) == 6 * 10**6
    process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_with_the_first_process_end_the_others(run, number):
    """Ctrl-C reaches all of them, the other signals the first alone; the pipes close when the last has ended."""
    command = [sys.executable, TRANSLATE, f"checkpoint={run}", "workers=2", "chunk=4", "decoding.beam=2", "device=cpu"]
    options = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # a script's background command, as this test may be, starts with Ctrl-C ignored
    options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, **options, text=True, start_new_session=True) as process:
        process.stdin.write("\n".join(ENGLISH * 10))
        process.stdin.flush()  # and it stays open: there is more to wait for
        process.stdout.readline()
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert errors.endswith("error: stopped\n")
    else:
        assert process.returncode == -number
