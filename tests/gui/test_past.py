# SPDX-License-Identifier: GPL-3.0-or-later
"""The states that are kept in memory, within their limit."""

import numpy as np
import pytest

from bacsim_gui.past import Past
from engine.params import Params
from engine.snapshot import Snapshot

RODS = 1000


def state(step, rods=RODS, ids=None):
    return Snapshot(np.zeros((rods, 4), np.float32), step, 0.01 * step, Params(), {}, ids)


def steps(past):
    return [past.at(i).step for i in range(len(past))]


def test_the_oldest_make_room_for_the_newest():
    past = Past(limit=10 * 16 * RODS)
    for step in range(0, 500, 5):
        past.add(state(step))
        assert past.bytes <= 10 * 16 * RODS
    assert 5 < len(past) < 10
    assert steps(past) == list(range(500 - 5 * len(past), 500, 5))


def test_names_of_rods_count_as_well():
    past, named = Past(limit=20 * 16 * RODS), Past(limit=20 * 16 * RODS)
    for step in range(40):
        past.add(state(step))
        named.add(state(step, ids=np.arange(RODS, dtype=np.int32)))
    assert len(named) < len(past)


def test_there_is_room_for_one_state_of_any_size():
    past = Past(limit=1000)
    for step in range(3):
        past.add(state(step))
    assert steps(past) == [2]


def test_a_state_of_the_same_step_is_replaced_and_an_earlier_one_begins_a_branch():
    past = Past()
    for step in (0, 5, 10, 10, 15, 20):
        past.add(state(step))
    assert steps(past) == [0, 5, 10, 15, 20]
    past.add(state(12))
    assert steps(past) == [0, 5, 10, 12]
    taken = past.bytes
    assert [one.step for one in past.before(12, 0.05)] == [5, 10]
    assert [one.step for one in past.before(11, 0.0)] == [0, 5, 10]
    assert past.before(0, 0.0) == past.before(12, 0.11) == []
    past.drop_from(10)
    assert steps(past) == [0, 5]
    assert past.bytes == taken / 2
    past.clear()
    assert (len(past), past.bytes) == (0, 0)


@pytest.mark.parametrize(("step", "at"), [(0, 0), (5, 1), (7, 2), (20, 3), (21, 4)])
def test_a_state_is_found_by_its_step(step, at):
    past = Past()
    for kept in (0, 5, 10, 20):
        past.add(state(kept))
    assert past.find(step) == at
