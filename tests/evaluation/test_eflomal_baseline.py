import sys
from types import SimpleNamespace

import pytest
from tiny import Aligner

from seq2seq.evaluation.eflomal_baseline import eflomal_links


def test_it_learns_from_all_pairs_and_the_links_are_those_of_the_ones_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", SimpleNamespace(Aligner=Aligner))
    found = eflomal_links((["a b", ""], ["c", "d"]), (["e f g", " ", "h"], ["i j", "k", "l m"]))
    assert Aligner.asked == (["a b\n", "e f g\n", "h\n"], ["c\n", "i j\n", "l m\n"])  # an empty side tells nothing
    assert found == [frozenset({(0, 0), (2, 1)}), frozenset(), frozenset({(0, 0)})]


def test_without_it_nothing_is_imported_silently(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(ImportError):
        eflomal_links((["a"], ["b"]), (["a"], ["b"]))
