"""Several processes: order, how far ahead is read, and what happens when one dies."""

import multiprocessing

import pytest
from tiny import ENGLISH, write_run

from seq2seq.errors import UserError
from seq2seq.translator import Translator
from seq2seq.workers import AHEAD, translate_chunks

OPTIONS = {"beam": 2, "max_length": 10}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return str(write_run(tmp_path_factory.mktemp("workers") / "run", "luong"))


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


def test_who_stops_early_leaves_nobody_behind(run):
    found = translate_chunks(([line] for line in ENGLISH * 10), run, "cpu", 2, OPTIONS)
    next(found)
    assert multiprocessing.active_children()
    found.close()
    assert not multiprocessing.active_children()
