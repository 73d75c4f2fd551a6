"""The learning rate rises, falls to zero, and follows the clock where it is told to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpa.train.schedule import Schedule


@given(num_steps=st.integers(2, 500), num_warmup_steps=st.integers(1, 100))
def test_warms_up_then_decays_to_zero(num_steps: int, num_warmup_steps: int) -> None:
    schedule = Schedule(learning_rate=1.0, num_steps=num_steps, num_warmup_steps=num_warmup_steps)
    rates = [schedule.learning_rate_at(step, elapsed_s=0.0) for step in range(num_steps + 1)]
    assert all(0 <= rate <= 1 for rate in rates)
    assert rates[0] == pytest.approx(1 / num_warmup_steps)
    assert all(a >= b for a, b in pairwise(rates[num_warmup_steps:]))
    assert rates[num_steps] == pytest.approx(0, abs=1e-9)
    assert schedule.progress(num_steps, 0.0) == 1


def test_the_highest_rate_is_nearly_reached() -> None:
    schedule = Schedule(learning_rate=1.0, num_steps=100, num_warmup_steps=10)
    assert schedule.learning_rate_at(9, 0.0) == pytest.approx(1, rel=0.03)


def test_the_clock_ends_the_schedule() -> None:
    schedule = Schedule(learning_rate=1.0, num_steps=None, num_minutes=2)
    assert schedule.progress(step=10**6, elapsed_s=60) == 0.5
    assert schedule.learning_rate_at(10**6, 60) == pytest.approx(0.5)
    assert schedule.progress(step=1, elapsed_s=120) == 1


def test_whichever_comes_first() -> None:
    both = Schedule(num_steps=10, num_minutes=2)
    assert both.progress(step=10, elapsed_s=1) == 1
    assert both.progress(step=1, elapsed_s=120) == 1
