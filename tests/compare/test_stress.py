"""Joined sentences."""

import pytest
import tiny
from sacrebleu.metrics import BLEU
from written import TEST, run

from seq2seq.compare.scores import score_run
from seq2seq.compare.stress import groups_of, joined, stress, stress_sets, stress_words


def test_groups_are_consecutive_and_nobody_is_in_two():
    assert groups_of(7, 2, 100) == [[0, 1], [2, 3], [4, 5]]
    assert groups_of(1000, 4, 100) == groups_of(1000, 4, 100)
    few = groups_of(1000, 4, 100)
    assert len(few) == 100
    assert len({number for group in few for number in group}) == 400
    assert few[0] == [0, 1, 2, 3]
    assert few[-1][0] > 950  # over the whole set
    assert groups_of(3, 4, 5) == []


def test_joined_lines_have_one_space_between_them_also_around_an_empty_one():
    assert joined(["a b", "", "c"], [[0, 1, 2]]) == ["a b c"]


def test_too_few_groups_are_none():
    assert list(stress_sets(TEST, 100, 1)) == [2, 3, 4]
    assert list(stress_sets(TEST, 100, 2)) == [2]
    assert stress_sets(TEST, 0, 1) == {}


def test_words_of_groups_stand_beside_the_longest_training_sentence():
    assert stress_words(TEST, [[0, 1], [2, 3]]) == {"groups": 2, "mean_words": 9.5, "most_words": 11, "longer": 2}


def test_joined_sentences_are_scored_as_one_and_apart(tmp_path):
    one = run(tiny.write_run(tmp_path / "run", "bahdanau"), "bahdanau", hypotheses=tiny.VIETNAMESE)
    groups = [[0, 1], [2, 3]]
    found = stress([score_run(one, TEST)], TEST, groups)
    references = [" ".join(tiny.VIETNAMESE[:2]), " ".join(tiny.VIETNAMESE[2:])]
    sources = [" ".join(tiny.ENGLISH[:2]), " ".join(tiny.ENGLISH[2:])]
    longer = one.settings["decoding"] | {"max_length": 30}  # twice the room for two sentences
    whole = [line.text for line in one.translator.translate(sources, **longer)]
    assert found["whole"]["mean"] == pytest.approx(BLEU().corpus_score(whole, [references]).score)
    assert found["apart"]["mean"] == pytest.approx(100)
    assert found["interval"][0] <= found["whole"]["mean"] <= found["interval"][1] + 1e-9


def test_joined_sentences_have_as_much_more_room(tmp_path, monkeypatch):
    one, asked = run(tmp_path), []

    def translate(lines, factor=1):
        asked.append((len(lines), factor))
        return lines, 1.0

    monkeypatch.setattr(one, "translate", translate)
    for groups in stress_sets(TEST, 100, 1).values():
        stress([score_run(one, TEST)], TEST, groups)
    assert asked == [(2, 2), (1, 3), (1, 4)]


def test_the_interval_of_several_seeds_reaches_from_lowest_to_highest(tmp_path):
    runs = [run(tiny.write_run(tmp_path / name, name), name, seed) for seed, name in enumerate(("luong", "rnn"))]
    found = stress([score_run(one, TEST) for one in runs], TEST, [[0, 1], [2, 3]])
    assert found["interval"] == [min(found["whole"]["values"]), max(found["whole"]["values"])]
