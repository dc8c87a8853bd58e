import logging
import random

import numpy as np
import pytest

from seq2seq.errors import UserError
from seq2seq.evaluation.links import (
    SYMMETRISATIONS,
    Gold,
    agreement,
    alignment_error_rate,
    diagonal,
    links_from_weights,
    read_pharaoh,
    symmetrise,
    transposed,
    write_pharaoh,
)


def links(text):
    return frozenset(tuple(map(int, link.split("-"))) for link in text.split())


def gold(sure, possible=""):
    return Gold(links(sure), links(sure) | links(possible))


class TestErrorRate:
    def test_by_hand_over_two_pairs(self):
        predicted, golden = [links("0-0 1-2 2-2"), links("")], [gold("0-0 1-1", "1-2"), gold("0-0")]
        first = alignment_error_rate(predicted[:1], golden[:1])  # A 3, S 2, A∩S 1, A∩P 2
        assert (first.precision, first.recall, first.aer) == pytest.approx((2 / 3, 1 / 2, 1 - 3 / 5))
        both = alignment_error_rate(predicted, golden)  # sums of the corpus, not the mean of pairs
        assert (both.precision, both.recall, both.aer, both.sentences) == pytest.approx((2 / 3, 1 / 3, 1 - 3 / 6, 2))

    def test_the_sure_links_alone_or_with_possible_ones_are_perfect(self):
        golden = [gold("0-0 2-1", "1-1 2-2"), gold("3-3")]
        for predicted in ([one.sure for one in golden], [one.possible for one in golden]):
            scores = alignment_error_rate(predicted, golden)
            assert (scores.precision, scores.recall, scores.aer) == (1, 1, 0)

    def test_nothing_is_a_number_too(self):
        assert alignment_error_rate([], []).aer == 0
        empty = alignment_error_rate([links(""), links("")], [gold(""), gold("0-0")])
        assert (empty.precision, empty.recall, empty.aer) == (1, 0, 1)
        assert alignment_error_rate([links("0-0")], [gold("")]).as_dict() == {
            **{"precision": 0, "recall": 1, "aer": 1},
            "sentences": 1,
        }

    def test_other_numbers_of_pairs_are_an_error(self):
        with pytest.raises(ValueError, match="argument 2"):
            alignment_error_rate([links("0-0")], [])

    def test_agreement_is_the_f1_of_two_sets(self):
        assert agreement([links("0-0 1-1"), links("")], [links("0-0"), links("1-1")]) == pytest.approx(2 * 1 / 4)
        assert agreement([links("0-0")], [links("0-0")]) == agreement([links("")], [links("")]) == 1


class TestExtraction:
    WEIGHTS = np.array([[0.1, 0.7, 0.2], [0.0, 0.0, 0.0], [0.4, 0.2, 0.4]])

    def test_argmax_links_each_target_word_once_but_for_one_that_looks_nowhere(self):
        assert links_from_weights(self.WEIGHTS) == links("1-0 0-2")

    def test_threshold_takes_all_that_reach_it(self):
        assert links_from_weights(self.WEIGHTS, "threshold", 0.2) == links("1-0 2-0 0-2 1-2 2-2")
        assert links_from_weights(self.WEIGHTS, "threshold", 0.5) == links("1-0")

    @pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
    @pytest.mark.parametrize("method", ["argmax", "threshold"])
    def test_an_empty_side_has_no_link(self, shape, method):
        assert links_from_weights(np.zeros(shape), method) == links("")


def test_the_diagonal_is_one_link_a_target_word():
    assert diagonal(3, 3) == links("0-0 1-1 2-2")
    assert diagonal(2, 4) == links("0-0 0-1 1-2 1-3")
    assert diagonal(4, 2) == links("1-0 3-1")
    assert diagonal(0, 2) == diagonal(2, 0) == links("")


def literal(forward, backward, method, size):
    """Koehn's pseudo-code, cell by cell of the whole table, asking every link for every question."""
    if method == "union":
        return forward | backward
    found = set(forward & backward)

    def free(i, j):
        return all(one != i for one, _ in found), all(other != j for _, other in found)

    if "grow" in method:
        added = True
        while added:
            added = False
            for i in range(size):
                for j in range(size):
                    for down, right in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                        near = i + down, j + right
                        if (i, j) in found and near not in found and any(free(*near)) and near in forward | backward:
                            found.add(near)
                            added = True
    for direction in (forward, backward) if "final" in method else ():
        for i in range(size):
            for j in range(size):
                if (i, j) in direction and (all if "and" in method else any)(free(i, j)):
                    found.add((i, j))
    return found


class TestSymmetrisation:
    @pytest.mark.parametrize(
        ("method", "expected"),
        [
            ("intersection", "0-0"),
            ("union", "0-0 1-1 2-1 4-4 3-4"),
            ("grow-diag", "0-0 1-1 2-1"),  # 1-1 is a corner of 0-0, 2-1 a side of 1-1; 4-4 is nobody's neighbour
            ("grow-diag-final", "0-0 1-1 2-1 4-4 3-4"),
            ("grow-diag-final-and", "0-0 1-1 2-1 4-4"),  # with 4-4 there, target word 4 is not free for 3-4
        ],
    )
    def test_by_hand(self, method, expected):
        assert symmetrise(links("0-0 2-1 4-4"), links("0-0 1-1 3-4"), method) == links(expected)

    @pytest.mark.parametrize("method", SYMMETRISATIONS)
    def test_it_is_the_literal_algorithm_on_any_links(self, method):
        chance = random.Random(0)
        for _ in range(400):
            size, count = chance.randint(1, 8), chance.randint(0, 20)
            forward, backward = (
                frozenset((chance.randrange(size), chance.randrange(size)) for _ in range(count)) for _ in range(2)
            )
            assert symmetrise(forward, backward, method) == literal(forward, backward, method, size)

    @pytest.mark.parametrize("method", SYMMETRISATIONS)
    def test_two_that_agree_stay_as_they_are(self, method):
        for text in ("", "0-0", "0-3 2-1 2-2 7-0"):
            assert symmetrise(links(text), links(text), method) == links(text)
        assert symmetrise(links("0-0"), links(""), "intersection") == links("")

    def test_an_unknown_method_is_named(self):
        with pytest.raises(UserError, match="method=grow: choose one of intersection"):
            symmetrise(links(""), links(""), "grow")

    def test_turning_round_twice_changes_nothing(self):
        assert transposed(links("0-2 1-0")) == links("2-0 0-1")


SIZES = [(3, 4), (2, 2)]


class TestPharaoh:
    def test_sure_and_possible_are_read_and_written(self):
        found = read_pharaoh(["0-0 2p3  1-1", ""], SIZES)
        assert found == [gold("0-0 1-1", "2-3"), gold("")]
        assert [write_pharaoh(one.sure, one.possible) for one in found] == ["0-0 1-1 2p3", ""]

    @pytest.mark.parametrize(
        ("lines", "base"),
        [(["1-1", "0-1"], 0), (["1-1", "2p1"], 1), (["1-4", "1-1"], 1), (["3-1", ""], 1)],
    )
    def test_the_numbers_show_where_counting_begins(self, lines, base, caplog):
        with caplog.at_level(logging.WARNING):
            assert read_pharaoh(lines, SIZES) == read_pharaoh(lines, SIZES, base=base)
        assert not caplog.records

    def test_where_no_number_shows_it_a_warning_does(self, caplog):
        assert read_pharaoh(["1-1 2-3", ""], SIZES, name="g") == [gold("1-1 2-3"), gold("")]
        expected = "g: no number shows whether words are counted from 0 or from 1; taken as from 0"
        assert [record.message for record in caplog.records] == [expected]
        assert read_pharaoh(["1-1 2-3", ""], SIZES, base=1) == [gold("0-0 1-2"), gold("")]
        read_pharaoh(["", ""], SIZES)
        assert len(caplog.records) == 1

    @pytest.mark.parametrize(
        ("lines", "base", "message"),
        [
            (["0-0", "0-0 1_1"], None, "g, line 2: '1_1' is no link; write i-j"),
            (["0-0", "0-²"], None, "g, line 2: '0-²' is no link"),
            (["-1-0", ""], None, "line 1: '-1-0' is no link"),
            (["0-0", "1p2"], None, "g, line 2: 1p2 names a word that is not there: the pair has 2 source and 2 target"),
            (["0-0", "1p2"], 1, "g, line 1: 0-0 names a word that is not there"),
            (["0-0"], None, "g has 1 lines for 2 sentence pairs"),
            (["", ""], 2, "words of gold are counted from 0 or from 1, not from 2"),
        ],
    )
    def test_a_bad_line_is_named(self, lines, base, message):
        with pytest.raises(UserError) as error:
            read_pharaoh(lines, SIZES, base=base, name="g")
        assert message in str(error.value)
