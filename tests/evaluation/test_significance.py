"""Both tests are sacreBLEU's; what is ours is that equal output is never different."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from seq2seq.errors import UserError
from seq2seq.evaluation.significance import paired_tests

WORDS = ["the", "cat", "sees", "a", "dog", "in", "old", "house", "and", "sings", "of", "rain", "at", "night", "joy"]
TRIALS = (200, 300)


def sentences(count=60, seed=0):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, 12)) for _ in range(count)]


def worse(lines, share, seed=1):
    """The same lines with a share of the words replaced."""
    generator = np.random.default_rng(seed)
    return [" ".join(word if generator.random() > share else "zzz" for word in line.split()) for line in lines]


def test_a_system_compared_with_itself_is_not_significant():
    references = sentences()
    system = worse(references, 0.2)
    found = paired_tests(system, list(system), references, TRIALS)
    assert (found.bootstrap, found.randomisation, found.identical) == (1.0, 1.0, True)
    assert found.bleu == found.baseline == pytest.approx(BLEU().corpus_score(system, [references]).score)


def test_output_that_differs_only_where_no_score_sees_it_counts_as_the_same():
    references = sentences()
    system = worse(references, 0.2)
    assert paired_tests([f"{line} " for line in system], system, references, TRIALS).identical


def test_two_systems_without_a_right_word_are_not_different():
    references = sentences()
    found = paired_tests(["xxx"] * 60, ["yyy yyy"] * 60, references, TRIALS)
    assert (found.bleu, found.bootstrap, found.randomisation, found.identical) == (0.0, 1.0, 1.0, False)


def test_two_clearly_different_systems_are_significantly_different():
    references = sentences()
    found = paired_tests(worse(references, 0.1), worse(references, 0.5, 2), references, TRIALS)
    assert found.bleu > found.baseline
    assert found.bootstrap == pytest.approx(1 / 201)
    assert found.randomisation == pytest.approx(1 / 301)
    assert not found.identical


def test_two_systems_that_differ_by_chance_alone_are_not():
    references = sentences()
    found = paired_tests(worse(references, 0.3, 3), worse(references, 0.3, 4), references, TRIALS)
    assert min(found.bootstrap, found.randomisation) > 0.05


def test_the_values_are_sacrebleus():
    references = sentences()
    first, second = worse(references, 0.25), worse(references, 0.3, 2)
    found = paired_tests(second, first, references, TRIALS)
    for kind, count, p in (("bs", TRIALS[0], found.bootstrap), ("ar", TRIALS[1], found.randomisation)):
        test = PairedTest([("a", first), ("b", second)], {"BLEU": BLEU()}, [references], kind, n_samples=count)
        assert test()[1]["BLEU"][1].p_value == p


def test_sentences_must_be_equally_many():
    with pytest.raises(UserError, match="2 hypotheses"):
        paired_tests(["a", "b", "c"], ["a", "b"], ["a", "b", "c"])
