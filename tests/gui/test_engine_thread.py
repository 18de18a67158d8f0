# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam with the real engine, at few rods and without a window."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QCoreApplication

from bacsim_gui.engine_thread import EngineThread
from bacsim_gui.order import Order
from bacsim_gui.seam import Build, Movie, Save, Wanted
from bacsim_gui.view import View
from engine import schema
from engine.params import Params, Setup
from engine.snapshot import Start
from engine.storage import checkpoint

# As many as lists are made for, whose native code compiles in a tenth of the time.
SETUP = Setup(rods=64)
PARAMS = replace(Params(), space_size=schema.space_size_for(64, 0.2, Params()))


@dataclass
class Reel:
    """A recorder that keeps its frames in memory, for what the seam has to give a recorder."""

    order: Movie
    steps: list[int] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    finished: bool = False
    error: str | None = None
    finishing: float | None = None
    cancelled: bool = False

    @property
    def frames_written(self) -> int:
        return len(self.steps)

    @property
    def path(self) -> Path:
        return self.order.order.path

    def put(self, snapshot, view=None) -> None:
        self.steps.append(snapshot.step)
        self.views.append(view)

    def finish(self) -> Path:
        self.finished = True
        return self.path

    def cancel(self) -> None:
        self.cancelled = True


def movie_of(serial: int, name: str, steps: int, **more) -> Movie:
    return Movie(serial, Order(Path(name), (64, 64), steps=steps), **more)


class Table:
    """A window's side of the seam: what it asked for last, and what came back."""

    def __init__(self):
        self.reels: list[Reel] = []
        self.frames = []
        self.problems = []
        self.expected = 0
        self.paints = True
        self.engine = EngineThread(self.open_recording)
        self.engine.frame_ready.connect(self.take)
        self.engine.failed.connect(self.problems.append)
        self.wanted = Wanted(build=Build(1, SETUP, PARAMS, 3, None, "first start"), params=PARAMS)
        self.engine.request(self.wanted)

    def open_recording(self, movie, timeline, step, kept):
        self.timeline = timeline
        self.reels.append(Reel(movie))
        return self.reels[-1]

    def take(self):
        frame = self.engine.take()
        if frame is not None:
            self.frames.append(frame)
            if self.paints:
                self.engine.painted(frame.number)

    def ask(self, **values):
        self.wanted = replace(self.wanted, **values)
        self.engine.request(self.wanted)

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"still not so after {seconds} s"
            self.wait(0.005)

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            QCoreApplication.processEvents()
            time.sleep(0.002)
            assert len(self.problems) <= self.expected, self.problems[-1].message

    @property
    def step(self):
        return self.frames[-1].snapshot.step if self.frames else -1

    def rebuilt(self, reason, **values):
        """Order another build and wait for its first frame."""
        build = replace(self.wanted.build, serial=self.wanted.build.serial + 1, reason=reason)
        self.ask(build=replace(build, **values), params=values.get("params", self.wanted.params))
        self.until(lambda: self.frames and self.frames[-1].build == self.wanted.build.serial)

    def paused(self):
        self.ask(running=False)
        self.until(lambda: self.engine.status.phase == "paused")
        self.wait(0.05)


@pytest.fixture(scope="module")
def one_table(qapp):
    """One engine for all tests that leave it usable: its program is compiled once."""
    made = Table()
    made.engine.start()
    yield made
    made.engine.stop()
    assert made.engine.join(60)


@pytest.fixture
def table(one_table):
    """The shared engine, paused at the start of a fresh build."""
    one_table.paints = True
    one_table.expected = len(one_table.problems)
    one_table.paused()
    one_table.rebuilt("reset", setup=SETUP, params=PARAMS)
    one_table.paused()
    one_table.frames = one_table.frames[-1:]
    return one_table


def compiles(table):
    return table.engine.status.stats.compiles


def test_the_seam_runs_steps_edits_resets_and_records(table):
    """One story with one compile: to build an engine for each sentence would take minutes."""
    # It begins paused, at the start.
    assert table.step == 0
    before_all = compiles(table)
    assert before_all >= 1

    # Single steps are exact, and none is lost when orders overwrite one another.
    for _ in range(5):
        table.ask(extra_steps=table.wanted.extra_steps + 1)
    table.until(lambda: table.step == 5)
    table.ask(extra_steps=table.wanted.extra_steps + 40)
    table.until(lambda: table.step == 45)
    five_and_forty = table.frames[-1].snapshot.rods

    # Running shows every K-th step.
    table.ask(running=True, K=7)
    table.until(lambda: table.step > 45 + 70)
    running = [f.snapshot.step for f in table.frames if f.snapshot.step > 45]
    table.paused()
    assert set(np.diff(running)) == {7}
    assert all(f.K == 7 for f in table.frames if f.snapshot.step > 45)

    # A live edit reaches the picture of a paused engine, and compiles nothing.
    wider = replace(PARAMS, space_size=PARAMS.space_size * 1.5, activity_thresh=-3.0)
    before = table.frames[-1].snapshot
    table.ask(params=wider)
    table.until(lambda: table.frames[-1].snapshot.params == wider)
    np.testing.assert_allclose(table.frames[-1].snapshot.pos, before.pos * 1.5, rtol=1e-5)
    table.ask(extra_steps=table.wanted.extra_steps + 1)
    table.until(lambda: table.step == before.step + 1)
    assert table.frames[-1].snapshot.activity.min() > 0.9

    # The same seed gives the same bits, however the steps were cut.
    table.rebuilt("reset", params=PARAMS)
    assert table.step == 0
    table.ask(extra_steps=table.wanted.extra_steps + 45)
    table.until(lambda: table.step == 45)
    assert np.array_equal(table.frames[-1].snapshot.rods, five_and_forty)
    assert compiles(table) == before_all

    # A movie holds every so-manieth step from the first on, whatever the window's K is.
    movie = movie_of(101, "a.mp4", 10)
    table.ask(movie=movie, running=True, K=7)
    table.until(lambda: table.reels and len(table.reels[-1].steps) > 8)
    table.ask(movie=None)
    table.until(lambda: table.reels[-1].finished)
    table.paused()
    assert table.reels[-1].steps[0] >= 45
    assert set(np.diff(table.reels[-1].steps)) == {10}
    assert table.engine.status.saved == Path("a.mp4")

    # Half the time step, twice the steps: a frame spans the same simulated time.
    table.ask(movie=replace(movie, serial=102), running=True)
    table.until(lambda: len(table.reels) == 2 and len(table.reels[-1].steps) > 3)
    table.ask(params=replace(table.wanted.params, dt=table.wanted.params.dt / 2))
    before = len(table.reels[-1].steps)
    table.until(lambda: len(table.reels[-1].steps) > before + 4)
    table.ask(movie=None, params=PARAMS)
    table.until(lambda: table.reels[-1].finished)
    table.paused()
    gaps = list(np.diff(table.reels[-1].steps))
    assert gaps[:2] == [10, 10]
    assert gaps[-1] == 20
    assert all(10 <= gap <= 20 for gap in gaps)

    # Another number of rods compiles once, and says why.
    table.rebuilt("setup applied", setup=replace(SETUP, rods=80))
    table.until(lambda: table.engine.status.stats.rods == 80)
    assert table.frames[-1].snapshot.n == 80
    assert compiles(table) == before_all + 1
    assert "rods" in table.engine.status.stats.last.reason


def test_a_refusal_and_a_blow_up_are_reported_and_the_run_goes_on(table):
    good = table.frames[-1].snapshot
    had = len(table.problems)
    table.expected = had + 2

    # A value that the engine refuses changes nothing.
    table.ask(params=replace(PARAMS, space_size=3.0))
    table.until(lambda: len(table.problems) == had + 1)
    assert table.problems[-1].parameter == "space_size"
    assert table.problems[-1].params == PARAMS
    assert "space_size" in table.problems[-1].message

    # Until that was seen, nothing moves; afterwards it does.
    table.ask(running=True, params=PARAMS)
    table.wait(0.2)
    assert table.step == good.step
    table.ask(failures=had + 1, running=False)

    # A step that blows up is refused; the last good state stays, and the run can be resumed.
    table.ask(params=replace(PARAMS, dt=1e30), running=True)
    table.until(lambda: len(table.problems) == had + 2)
    assert "dt" in table.problems[-1].message
    assert np.isfinite(table.frames[-1].snapshot.rods).all()
    stood = table.step
    table.ask(failures=had + 2, params=PARAMS, running=True)
    table.until(lambda: table.step > stood)


def test_auto_speed_follows_the_frame_budget_and_a_hidden_window_does_not_stop_it(table):
    table.ask(running=True, auto=True, K=1, fps=20)
    table.until(lambda: table.frames[-1].K > 4)
    table.ask(auto=False, K=3)
    table.until(lambda: table.frames[-1].K == 3)

    # A window that is hidden paints nothing.
    table.paints = False
    step = table.step
    table.until(lambda: table.step > step)


def test_a_recorder_that_fails_ends_the_movie_and_nothing_else(table):
    reels, table.expected = len(table.reels), len(table.problems) + 1
    table.ask(movie=movie_of(103, "c.mp4", 5), running=True)
    table.until(lambda: len(table.reels) > reels)
    table.reels[-1].error = "The disk is full."
    table.until(lambda: len(table.problems) == table.expected)
    assert table.problems[-1].movie
    assert "disk is full" in table.problems[-1].message
    assert table.engine.status.movie is None
    stood = table.step
    table.ask(movie=None, failures=len(table.problems), running=True)
    table.until(lambda: table.step > stood)


def test_a_movie_may_begin_later_end_by_itself_and_follow_the_view(table):
    reels, close = len(table.reels), View(zoom=4.0)
    later = movie_of(104, "d.mp4", 10, until=table.step + 60, begin_at=time.monotonic() + 1.5)
    table.ask(movie=later, view=close, running=False)
    table.wait(0.1)
    assert len(table.reels) == reels
    table.until(lambda: len(table.reels) > reels)
    table.ask(running=True, K=7)
    table.until(lambda: table.engine.status.ended == 104)
    reel = table.reels[-1]
    assert reel.finished
    assert reel.steps == list(range(reel.steps[0], reel.steps[0] + 61, 10))
    assert set(reel.views[1:]) == {close}
    assert table.engine.status.saved == Path("d.mp4")


def test_what_is_edited_while_it_runs_is_in_the_timeline_with_its_step(table):
    table.ask(movie=movie_of(105, "e.mp4", 10), running=True, K=5)
    table.until(lambda: table.reels and table.reels[-1].order.serial == 105)
    stood = table.step
    table.ask(params=replace(PARAMS, F_prop=9.5))
    table.until(lambda: len(table.timeline.events) == 1)
    (event,) = table.timeline.events
    assert event.step >= stood
    assert event.value == {"F_prop": 9.5}
    assert table.timeline.head.params == PARAMS
    assert table.timeline.params.F_prop == 9.5
    table.ask(movie=None, params=PARAMS)


def test_a_checkpoint_goes_on_where_it_was_saved(table, tmp_path):
    path = tmp_path / "kept.bacsim"
    table.ask(extra_steps=table.wanted.extra_steps + 30)
    table.until(lambda: table.step == 30)
    table.ask(save=Save(106, path, {"title": "a run"}))
    table.until(lambda: table.engine.status.kept == path)
    table.ask(extra_steps=table.wanted.extra_steps + 20)
    table.until(lambda: table.step == 50)
    wanted = table.frames[-1].snapshot.rods
    kept = checkpoint.load(path)
    table.rebuilt("checkpoint", kept=kept.checkpoint)
    assert table.step == 30
    table.ask(extra_steps=table.wanted.extra_steps + 20)
    table.until(lambda: table.step == 50)
    assert np.array_equal(table.frames[-1].snapshot.rods, wanted)
    assert kept.notes == {"title": "a run", "timeline": []}
    table.rebuilt("reset", kept=None)


def test_an_earlier_state_becomes_a_branch(table):
    table.ask(extra_steps=table.wanted.extra_steps + 25)
    table.until(lambda: table.step == 25)
    earlier = table.frames[-1].snapshot
    table.ask(extra_steps=table.wanted.extra_steps + 25)
    table.until(lambda: table.step == 50)
    table.rebuilt("earlier state", start=Start.of(earlier))
    assert table.step == 25
    assert np.array_equal(table.frames[-1].snapshot.rods, earlier.rods)
    table.rebuilt("reset", start=None)


def test_lists_that_are_outgrown_in_a_run_are_told_and_the_run_goes_on(cold_compiles, table):
    table.rebuilt("setup applied", setup=replace(SETUP, kernel="neighbours"))
    table.ask(running=True, K=5)
    table.until(lambda: table.step > 0)
    before = compiles(table)
    table.ask(params=replace(PARAMS, sensing_range=14.0))
    table.until(lambda: table.engine.status.phase == "compiling")
    assert table.engine.status.reason == "growth: longer neighbour lists"
    stood = table.step
    table.until(lambda: table.step > stood)
    table.until(lambda: table.engine.status.phase == "running")
    table.until(lambda: table.engine.status.stats.growths >= 1)
    assert compiles(table) == before


@pytest.fixture
def own_table(qapp):
    """An engine of its own that records from the start, for tests that end it."""
    made = Table()
    made.ask(running=True, movie=movie_of(1, "b.mp4", 5))
    made.engine.start()
    yield made
    made.engine.stop()
    assert made.engine.join(60)


def test_it_can_be_stopped_while_it_compiles(cold_compiles, own_table):
    own_table.until(lambda: own_table.engine.status.phase == "compiling")
    own_table.engine.stop()
    assert own_table.engine.join(60)
    assert not own_table.reels
    assert not own_table.engine.is_alive()


def test_stopping_finishes_a_movie(own_table, qtbot):
    own_table.until(lambda: own_table.reels and len(own_table.reels[0].steps) > 2)
    with qtbot.waitSignal(own_table.engine.finished, timeout=60_000):
        own_table.engine.stop()
    assert own_table.reels[0].finished
