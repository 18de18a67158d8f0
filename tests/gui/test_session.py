# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the window, without a window."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bacsim_gui.presets import load_preset
from bacsim_gui.seam import Problem
from bacsim_gui.session import Session
from bacsim_gui.session_values import REFUSED_SECONDS
from bacsim_gui.view import View
from engine import schema
from engine.obstacle import Obstacle
from engine.params import Setup
from engine.snapshot import Snapshot


@pytest.fixture
def session(qapp):
    made = Session(load_preset("swarming", rods=300), Path("movies"), "swarming")
    made.begin()
    return made


def heard(session):
    calls = []
    session.changed.connect(lambda: calls.append(session.wanted))
    return calls


def test_an_edit_is_taken_told_once_and_asked_of_the_engine(session):
    calls = heard(session)
    session.edit("F_prop", "9.5")
    assert [wanted.params.F_prop for wanted in calls] == [9.5]
    assert session.value("F_prop") == 9.5
    session.restore("F_prop")
    assert session.params == session.run.params


@pytest.mark.parametrize(
    ("name", "value"),
    [("radius", "0"), ("length", "long"), ("space_size", 3), ("gamma", "nan"), ("rods", "1.5")],
)
def test_an_impossible_value_is_refused_by_name_and_changes_nothing(session, name, value):
    before, pending = session.params, session.pending
    session.edit(name, value)
    assert name in session.refused[name]
    assert (session.params, session.pending) == (before, pending)
    session.edit("w_a", 2)
    assert not session.refused


def test_a_setup_change_waits_until_it_is_applied(session):
    build = session.wanted.build
    session.edit("kernel", "naive")
    assert session.is_pending("kernel")
    assert session.needs_apply
    assert session.wanted.build == build
    session.apply_setup()
    assert not session.needs_apply
    assert session.wanted.build.serial > build.serial
    assert session.wanted.build.setup.kernel == "naive"


def test_another_number_of_rods_keeps_the_packing_fraction(session):
    phi = schema.packing_fraction(session.setup, session.params)
    session.edit("rods", 900)
    session.apply_setup()
    assert schema.packing_fraction(session.setup, session.params) == pytest.approx(phi)
    assert session.wanted.build.start is None


def test_few_rods_get_the_smallest_box_that_is_possible(session):
    session.edit("rods", 1)
    session.apply_setup()
    assert session.setup.rods == session.wanted.build.setup.rods == 1
    assert session.params.space_size == schema.smallest_space_size(session.params)


def test_reset_keeps_the_arrays_of_a_preset_and_a_new_seed_drops_them(qapp):
    session = Session(load_preset("swarming"), Path("movies"), "swarming")
    session.begin()
    start = session.wanted.build.start
    assert start is not None
    session.edit("w_a", 1.5)
    session.reset()
    assert session.wanted.build.start is start
    assert session.wanted.build.params.w_a == 1.5
    session.new_seed()
    assert session.wanted.build.start is None


def test_another_kernel_keeps_the_arrays_of_a_preset_and_another_start_drops_them(qapp):
    session = Session(load_preset("swarming"), Path("movies"), "swarming")
    session.edit("kernel", "naive")
    session.apply_setup()
    assert session.wanted.build.start is not None
    session.edit("start_activity", "none")
    session.apply_setup()
    assert session.wanted.build.start is None


def test_reset_after_a_change_of_the_box_drops_arrays_that_no_longer_fit(qapp):
    session = Session(load_preset("swarming"), Path("movies"), "swarming")
    session.edit("space_size", session.params.space_size * 1.1)
    session.reset()
    assert session.wanted.build.start is None


def test_single_steps_add_up_and_stop_the_run(session):
    session.set_running(True)
    session.step(1)
    session.step(5)
    assert session.wanted.extra_steps == 6
    assert not session.wanted.running


def test_K_and_seed_take_whole_numbers_only(session):
    session.set_speed("0")
    session.set_seed("-1")
    assert set(session.refused) == {"K", "seed"}
    session.set_speed("40")
    session.set_seed("12")
    assert (session.wanted.K, session.wanted.build.seed) == (40, 12)


def test_auto_begins_at_the_speed_that_was_and_leaves_at_the_one_it_found(session):
    session.set_auto(True, 25)
    assert (session.wanted.auto, session.wanted.K) == (True, 25)
    session.set_auto(False, 180)
    assert (session.wanted.auto, session.wanted.K) == (False, 180)


def test_a_movie_runs_at_the_pace_of_the_window_and_knows_what_it_shows(session):
    session.set_movie("fps", "30")
    session.start_movie(View(), 25)
    order = session.wanted.movie.order
    assert order.steps == 50
    assert order.path.suffix == ".mp4"
    session.set_movie("time_a_frame", str(20 * session.params.dt))
    assert session.movie_steps(25) == 20
    session.set_movie("time_a_frame", "")
    assert session.movie_steps(25) == 50
    session.stop_movie()
    assert session.wanted.movie is None


@pytest.mark.parametrize(
    ("title", "name"),
    [("../../up/x", "up-x"), ("Größe = 3", "größe-3"), ("?", "run"), ("a" * 300, "a" * 60)],
)
def test_a_title_of_any_kind_makes_a_file_in_the_folder_for_movies(session, title, name):
    session.load_run(replace(session.run, title=title))
    session.start_movie(View(), 25)
    path = session.wanted.movie.order.path
    assert path.parent == Path("movies")
    assert path.name.startswith(f"bacsim-{name}-2")


def test_a_rebuild_ends_a_recording(session):
    session.start_movie(View(), 25)
    session.reset()
    assert session.wanted.movie is None


def test_no_trace_takes_steps_that_a_movie_would_lack(session):
    session.start_movie(View(), 25)
    session.trace(Path("trace"))
    assert session.wanted.trace is None
    assert "Finish the movie" in session.problem.message
    session.stop_movie()
    session.trace(Path("trace"))
    assert session.wanted.trace.folder == Path("trace")


@pytest.mark.parametrize(("name", "value"), [("width", "321"), ("height", "9"), ("width", "wide")])
def test_a_movie_size_that_cannot_be_encoded_is_refused(session, name, value):
    before = session.movie_settings
    session.set_movie(name, value)
    assert name in session.refused[name]
    assert session.movie_settings == before


def test_a_failure_pauses_and_brings_back_what_the_engine_has(session):
    had = session.setup, session.params, session.seed
    session.set_running(True)
    session.edit("rods", 5000)
    session.apply_setup()
    session.engine_failed(
        Problem("rods = 5000 do not fit. Take fewer.", "rods", 1, False, had[0], had[1], had[2])
    )
    assert not session.wanted.running
    assert session.wanted.failures == 1
    assert (session.setup, session.params, session.seed) == had
    assert session.pending.rods == 5000
    assert session.needs_apply
    assert "rods" in session.refused
    session.set_running(True)
    assert session.problem is None


def test_what_was_edited_after_the_engine_had_failed_stands(session):
    had = session.setup, session.params, session.seed
    session.edit("rods", 5000)
    session.apply_setup()
    followed = session.wanted
    session.edit("F_prop", 3)
    session.engine_failed(Problem("No memory.", None, 1, False, *had, followed))
    assert session.setup == had[0]
    assert session.params == replace(had[1], F_prop=3.0)


def test_an_obstacle_that_was_set_after_the_engine_had_failed_stands(session):
    session.begin()
    followed, had = session.wanted, (session.setup, session.params, session.seed)
    session.set_obstacles([Obstacle(3.0, 4.0, radius=1.0)])
    session.engine_failed(Problem("It failed.", None, 1, False, *had, followed))
    assert session.obstacles == (Obstacle(3.0, 4.0, radius=1.0),)
    session.engine_failed(Problem("It failed.", None, 2, False, *had, session.wanted))
    assert session.obstacles == ()


def test_a_failure_of_what_was_replaced_meanwhile_takes_nothing_back(session):
    had = session.setup, session.params, session.seed
    session.edit("rods", 5000)
    session.apply_setup()
    followed = session.wanted
    session.load_run(load_preset("dilute"), "dilute")
    session.set_running(True)
    now = session.wanted
    session.engine_failed(Problem("No memory.", None, 1, False, *had, followed))
    assert session.wanted == replace(now, failures=1)
    assert session.setup == load_preset("dilute").setup
    assert session.problem is None
    # A lost movie is told all the same.
    session.engine_failed(Problem("The disk is full.", None, 2, True, *had, followed))
    assert session.problem is not None
    assert session.params == now.params


def test_a_first_build_that_fails_can_be_ordered_again(session):
    session.engine_failed(Problem("No memory.", None, 1, False, None, None, None))
    assert session.needs_apply
    serial = session.wanted.build.serial
    session.apply_setup()
    assert session.wanted.build.serial > serial


def test_what_is_set_can_be_saved_and_found_again(session, tmp_path):
    from bacsim_gui.presets import load_config, save_config

    session.edit("w_a", 1.25)
    session.set_speed("12")
    save_config(tmp_path / "mine.toml", session.current_run())
    again = load_config(tmp_path / "mine.toml")
    assert (again.params, again.setup, again.K) == (session.params, session.setup, 12)


def test_the_largest_safe_dt_is_free_of_warnings(session):
    session.edit("dt", 0.02)
    assert any("dt" in warning for warning in session.warnings)
    session.use_largest_safe_dt()
    assert not session.warnings


def test_no_two_orders_share_a_serial(session):
    session.reset()
    first = session.wanted.build.serial
    session.trace(Path("t"))
    session.start_movie(View(), 5)
    wanted = session.wanted
    assert len({first, wanted.movie.serial, wanted.trace.serial}) == 3
    assert replace(wanted) == wanted


def earlier(session, step=100, **values):
    """A state that the run may have passed through."""
    rods = np.full((session.setup.rods, 4), 0.5, np.float32)
    return Snapshot(rods, step, 0.01 * step, replace(session.params, **values))


def test_looking_back_shows_the_past_and_leaves_the_present_alone(session):
    session.set_running(True)
    session.edit("F_prop", 9)
    now = session.wanted
    session.look_back(earlier(session, F_prop=4.0))
    assert session.value("F_prop") == 4
    session.edit("F_prop", 12)
    assert session.value("F_prop") == 12
    assert session.wanted == replace(now, running=False)
    session.look_back(earlier(session, step=50, F_prop=3.0))
    assert session.value("F_prop") == 3
    session.look_at_now()
    assert session.looking is None
    assert session.wanted == now


def test_a_branch_begins_as_the_state_was_and_takes_what_was_edited(session):
    session.set_running(True)
    session.look_back(earlier(session, F_prop=4.0))
    session.edit("F_prop", 12)
    session.go_on_from_here()
    build = session.wanted.build
    assert (build.reason, build.start.step, build.params.F_prop) == ("earlier state", 100, 4)
    assert session.wanted.params.F_prop == 12
    assert session.wanted.running
    assert session.looking is None
    session.reset()
    assert session.wanted.build.start.step == 100


def test_rods_that_are_taken_back_leave_the_beginning_as_it_was(session):
    begun = session._start
    session.set_running(True)
    session.edit("F_prop", 12)
    before = earlier(session, F_prop=4.0)
    session.take_back_rods(replace(before, rods=before.rods[:-3]))
    build = session.wanted.build
    assert (build.start.step, build.params.F_prop, build.setup.rods) == (100, 4, before.n - 3)
    assert (build.branch, build.began_with) == (True, before.n)
    assert session.wanted.params.F_prop == 12
    assert session.running
    session.reset()
    assert session.wanted.build.start is begun
    assert session.wanted.build.setup.rods == before.n


def test_arrays_of_a_branch_are_dropped_once_they_no_longer_fit(session):
    wide = session.params.space_size * 1.5
    session.look_back(earlier(session, space_size=wide))
    session.go_on_from_here()
    assert session.wanted.build.start is not None
    session.reset()
    assert session.wanted.build.start is not None
    session.edit("space_size", wide * 1.1)
    session.reset()
    assert session.wanted.build.start is None


def test_a_state_of_a_file_shows_its_own_run_until_it_is_left(session):
    had = session.setup, session.seed, session.run
    other = replace(load_preset("dilute"), setup=Setup(rods=10), seed=99)
    rods = np.full((10, 4), 0.5, np.float32)
    session.look_back(Snapshot(rods, 5, 0.05, other.params), other)
    assert (session.value("rods"), session.seed, session.run.title) == (10, 99, "Dilute")
    session.look_at_now()
    assert (session.setup, session.seed, session.run) == had
    session.look_back(Snapshot(rods, 5, 0.05, other.params), other)
    session.go_on_from_here()
    assert session.wanted.build.setup.rods == 10
    assert session.wanted.build.seed == 99


@pytest.mark.parametrize(
    "act",
    [
        lambda session: session.set_running(True), lambda session: session.step(1),
        lambda session: session.reset(), lambda session: session.set_seed("5"),
        lambda session: session.start_movie(View(), 1),
        lambda session: session.load_run(load_preset("dilute"), "dilute"),
    ],
)  # fmt: skip
def test_what_concerns_the_present_ends_looking_back(session, act):
    F_prop = session.params.F_prop
    session.look_back(earlier(session, F_prop=F_prop + 1))
    act(session)
    assert session.looking is None
    assert session.wanted.params == session.params
    assert session.params.F_prop != F_prop + 1


def test_nobody_looks_back_while_recording(session):
    session.start_movie(View(), 25)
    session.look_back(earlier(session))
    assert session.looking is None


def test_a_failure_ends_looking_back_and_keeps_what_the_engine_has(session):
    had = session.setup, session.params, session.seed
    session.look_back(earlier(session, F_prop=1.0))
    session.engine_failed(Problem("No room.", None, 1, True, *had, session.wanted))
    assert session.looking is None
    assert session.params == had[1]


def test_a_file_that_was_not_finished_does_not_stop_the_run(session):
    had = session.setup, session.params, session.seed
    session.set_running(True)
    session.engine_failed(Problem("It was cancelled.", None, 1, True, *had, session.wanted))
    assert session.running
    session.start_movie(View(), 25)
    session.engine_failed(Problem("The disk is full.", None, 2, True, *had, session.wanted))
    assert not session.running
    assert session.movie is None


def test_a_trajectory_follows_the_frames_of_the_window_unless_a_time_is_chosen(session):
    session.set_movie("kind", ".gsd")
    session.set_movie("keep", "50")
    session.start_movie(View(), 25)
    order = session.wanted.movie.order
    assert (order.path.suffix, order.steps, order.rods) == (".gsd", 25, 50)


@pytest.mark.parametrize(
    ("name", "value"),
    [("fps", "0"), ("time_a_frame", "-1"), ("delay", "nan"), ("until", "1.5"), ("keep", "0")],
)
def test_a_setting_of_a_recording_that_cannot_be_is_refused_by_name(session, name, value):
    before = session.movie_settings
    session.set_movie(name, value)
    assert name in session.refused[name]
    assert session.movie_settings == before


def test_a_view_that_cannot_be_shown_is_refused(session):
    session.set_view(title="two\nlines")
    assert session.view.title == ""
    assert "title" in session.problem.message


def test_a_recording_that_would_have_ended_before_it_begins_is_refused(session):
    session.set_movie("until", "10")
    session.start_movie(View(), 25, step=8300)
    assert session.movie is None
    assert "the run is at step 8,300" in session.refused["until"]
    session.start_movie(View(), 25, step=9)
    assert session.movie is not None


def test_a_refusal_goes_when_it_has_been_seen(session, monkeypatch):
    session.edit("w_a", "1x")
    session.forget_refusals()
    assert "w_a" in session.refused
    later = time.monotonic() + REFUSED_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    session.forget_refusals()
    assert not session.refused


def within_walls(session):
    """A session within walls, where an obstacle may stand on the very edge."""
    session.edit("boundary", "walls")
    session.apply_setup()
    side = session.params.space_size
    session.set_obstacles([Obstacle(side, side / 3, radius=4.0)])
    return side


def test_an_obstacle_at_a_wall_stays_there_in_a_box_of_any_size(session):
    within_walls(session)
    for side in np.linspace(50, 130, 100):
        session.edit("space_size", side)
        assert session.refused == {}
        assert session.obstacles[0].x == pytest.approx(side)


def test_an_obstacle_at_a_wall_is_there_again_after_undo(session):
    side = within_walls(session)
    before = session.obstacles
    session.set_obstacles(())
    session.put_back({"obstacles": before}, side)
    assert session.obstacles == before


def test_an_obstacle_at_a_wall_is_the_engines_own_where_walls_are_taken_away(session):
    """It is at 0 and at the side of a periodic box at once, and the engine says 0."""
    side = within_walls(session)
    session.edit("boundary", "periodic")
    session.apply_setup()
    assert session.obstacles == (Obstacle(0.0, side / 3, radius=4.0),)
    assert session.wanted.obstacles == session.wanted.build.obstacles


@pytest.mark.parametrize("movie", [False, True])
def test_undo_takes_back_what_was_said_of_values_that_are_no_more(session, movie):
    before = session.params.dt
    session.edit("dt", 1.0)
    had = session.setup, session.params, session.seed
    session.engine_failed(Problem("Lower dt.", "dt", 1, movie, *had, session.wanted))
    session.put_back({"dt": before}, session.params.space_size)
    assert session.params.dt == before
    assert (session.problem is not None) == movie
