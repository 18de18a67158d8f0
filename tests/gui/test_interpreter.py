# SPDX-License-Identifier: GPL-3.0-or-later
"""Garbage while an engine runs: what a start leaves is kept, what comes later is collected."""

import gc
import sys
import weakref

from bacsim_gui.interpreter import SWITCH_SECONDS, Interpreter
from tests.gui.events import live, until


class Ring:
    """Refers to itself, so that only a collection ends it; and is large enough to ask for one."""

    def __init__(self):
        self.itself = self
        self.more = [[] for _ in range(2 * gc.get_threshold()[0])]


def test_a_start_is_not_looked_through_and_later_garbage_is(qapp):
    before, starting = sys.getswitchinterval(), [True]
    kept = Interpreter(qapp, lambda: starting[0])
    kept.start()
    try:
        assert not gc.isenabled()
        assert sys.getswitchinterval() == SWITCH_SECONDS < before
        first = weakref.ref(Ring())
        live(0.6)
        assert first() is not None
        starting[0] = False
        until(lambda: gc.get_freeze_count() > 0)
        assert first() is not None
        second = weakref.ref(Ring())
        until(lambda: second() is None)
        # Another compile: what it makes is no garbage yet.
        starting[0] = True
        third = weakref.ref(Ring())
        live(0.6)
        assert third() is not None
        frozen = gc.get_freeze_count()
        starting[0] = False
        until(lambda: third() is None)
        assert gc.get_freeze_count() <= frozen
    finally:
        kept.stop()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert sys.getswitchinterval() == before
    gc.collect()
    assert first() is None
