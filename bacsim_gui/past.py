# SPDX-License-Identifier: GPL-3.0-or-later
"""The states that a run has passed through, as many as memory is given for. Pure."""

from bisect import bisect_left
from collections import deque

from engine.snapshot import Snapshot

LIMIT_BYTES = 256 << 20
# What a state takes beside its rods: its parameters, its observables and itself.
_SPARE_BYTES = 2048


class Past:
    """The latest states of one run in order of their steps; the oldest make room for new ones.

    There is always room for one. Nothing is copied: a state must stay as it is. `run` counts how
    often another run has begun.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._kept: deque[Snapshot] = deque()
        self.bytes = self.run = 0

    def __len__(self) -> int:
        return len(self._kept)

    def at(self, i: int) -> Snapshot:
        """State `i`, 0 being the oldest. Raises `IndexError`."""
        return self._kept[i]

    def find(self, step: int) -> int:
        """Where the first state of that step or a later one is; the number of states for none."""
        return bisect_left(self._kept, step, key=lambda snapshot: snapshot.step)

    def before(self, step: int, since: float) -> list[Snapshot]:
        """The states before that step whose simulated time is `since` or later, oldest first."""
        found, at = [], self.find(step)
        while at > 0 and self._kept[at - 1].time >= since:
            at -= 1
            found.append(self._kept[at])
        return found[::-1]

    def add(self, snapshot: Snapshot) -> None:
        """Take the newest state; it replaces those of its own step and of later ones."""
        self.drop_from(snapshot.step)
        self._kept.append(snapshot)
        self.bytes += _size(snapshot)
        while self.bytes > self._limit and len(self._kept) > 1:
            self.bytes -= _size(self._kept.popleft())

    def drop_from(self, step: int) -> None:
        """Forget the states of that step and of later ones."""
        while self._kept and self._kept[-1].step >= step:
            self.bytes -= _size(self._kept.pop())

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self.bytes = 0
        self.run += 1


def _size(snapshot: Snapshot) -> int:
    names = 0 if snapshot.ids is None else snapshot.ids.nbytes
    measured = sum(values.nbytes for values in snapshot.measures.values())
    return snapshot.rods.nbytes + names + measured + _SPARE_BYTES
