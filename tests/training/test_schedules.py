"""Learning rate by optimiser step and by progress."""

import pytest

from seq2seq.errors import UserError
from seq2seq.training.schedules import SCHEDULES, check_schedule, learning_rate_factor


@pytest.mark.parametrize("name", SCHEDULES)
def test_warm_up_rises_by_equal_steps_to_the_peak(name):
    rise = [learning_rate_factor(name, step, 4, 0.0) for step in range(4)]
    assert rise == pytest.approx([0.25, 0.5, 0.75, 1.0])


def test_after_warm_up_each_follows_its_formula():
    assert learning_rate_factor("constant", 500, 4, 0.9) == 1
    assert learning_rate_factor("inverse_sqrt", 400, 100, 0.9) == pytest.approx(0.5)
    assert learning_rate_factor("linear", 500, 4, 0.25) == pytest.approx(0.75)
    assert learning_rate_factor("cosine", 500, 4, 0.5) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_a_run_over_its_limit_never_climbs_again(name):
    assert learning_rate_factor(name, 500, 4, 1.3) == pytest.approx(0.0)


def test_a_name_that_is_not_there_is_refused_with_the_names_that_are():
    with pytest.raises(UserError, match="inverse_sqrt"):
        check_schedule("noam")
