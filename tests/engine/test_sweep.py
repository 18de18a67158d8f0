# SPDX-License-Identifier: GPL-3.0-or-later
"""What a spec comes to: points, systems, seeds, jobs; and what it refuses. No JAX."""

import copy
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from engine import schema
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.study.sweep.names import FIGURES, applied
from engine.study.sweep.plan import plan
from engine.study.sweep.seeds import seeds_of
from engine.study.sweep.spec import Spec, read

TABLE = {
    "seeds": 3,
    "batch": 4,
    "fixed": {"rods": 64, "dt_share": 0.9},
    "grid": {
        "packing_fraction": [0.1, 0.4],
        "aspect_ratio": {"from": 3, "to": 9, "points": 3},
    },
    "time": {"warm_up": 2.0, "every": 0.5, "samples": 4},
    "observe": ["polar_order", "mean_speed"],
}
TABLE_POINTS = [(phi, a) for phi in (0.1, 0.4) for a in (3.0, 6.0, 9.0)]


def a_spec(**changes: object) -> Spec:
    return read({**copy.deepcopy(TABLE), **changes}, (Setup(), Params()))


def test_a_grid_is_all_combinations_and_every_system_its_own_seed():
    made = plan(a_spec(), "1")
    assert [dict(point) for point in made.spec.points] == [
        {"packing_fraction": phi, "aspect_ratio": a} for phi in (0.1, 0.4) for a in (3.0, 6.0, 9.0)
    ]
    assert [system.point for system in made.systems] == [at for at in range(6) for _ in range(3)]
    assert len({system.seed for system in made.systems}) == 18
    assert [len(job.systems) for job in made.jobs] == [4, 4, 4, 4, 2]
    assert [s.number for job in made.jobs for s in job.systems] == list(range(18))


def test_systems_have_the_figures_that_were_asked_for():
    for system in plan(a_spec(), "1").systems:
        point = TABLE_POINTS[system.point]
        found = {one.name: one.value for one in schema.derived(system.setup, system.params)}
        assert found["packing_fraction"] == pytest.approx(point[0])
        assert found["aspect_ratio"] == pytest.approx(point[1])
        assert system.params.dt == pytest.approx(0.9 * found["largest_safe_dt"])


def test_each_figure_decides_its_parameter_and_comes_back_as_derived():
    setup, params = applied(
        (Setup(), Params()),
        {"aspect_ratio": 7.0, "free_speed": 0.5, "softness": 0.02, "packing_fraction": 0.25},
    )
    found = {one.name: one.value for one in schema.derived(setup, params)}
    assert found["free_speed"] == pytest.approx(0.5)
    assert found["softness"] == pytest.approx(0.02)
    assert found["packing_fraction"] == pytest.approx(0.25)
    for figure in FIGURES.values():
        assert figure.decides in {field.name for field in schema.PARAM_FIELDS}


def test_another_number_of_rods_keeps_the_packing_fraction():
    base = Setup(rods=600), Params()
    setup, params = applied(base, {"rods": 100})
    assert schema.packing_fraction(setup, params) == pytest.approx(schema.packing_fraction(*base))
    _, params = applied(base, {"rods": 100, "space_size": 70.0})
    assert params.space_size == 70.0


def test_samples_are_as_far_apart_as_asked_whatever_dt_is():
    times = a_spec().times
    for system in plan(a_spec(), "1").systems:
        steps = system.steps(times)
        assert len(steps) == 5
        assert all(a < b for a, b in itertools.pairwise(steps))
        for k, step in enumerate(steps):
            assert step * system.params.dt == pytest.approx(2.0 + 0.5 * k, abs=system.params.dt)


def test_halves_of_a_step_do_not_fall_together():
    made = plan(
        a_spec(fixed={"rods": 64, "dt": 0.5}, grid={"F_prop": [0.01]},
               time={"warm_up": 0.25, "every": 0.5, "samples": 9}), "1",
    )  # fmt: skip
    assert made.systems[0].steps(made.spec.times) == tuple(range(1, 11))


def test_a_list_of_points():
    made = read(
        {k: v for k, v in TABLE.items() if k != "grid"}
        | {"points": [{"w_a": 1.0, "w_d": 0.0}, {"w_d": 1.0, "w_a": 2.0}]},
        (Setup(), Params()),
    )  # fmt: skip
    assert made.grid is None
    assert made.varied == ("w_a", "w_d")
    assert [s.params.w_a for s in plan(made, "1").systems] == [1, 1, 1, 2, 2, 2]


def test_no_seed_comes_twice():
    # Of as many random draws five would be twice.
    for base in (0, 1, 2**40):
        seeds = seeds_of(base, 200_000)
        assert len(np.unique(seeds)) == len(seeds)
    assert len(np.intersect1d(seeds_of(1, 1000), seeds_of(2, 1000))) < 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid": {"lenght": [1, 2]}}, ("lenght", "Did you mean length?")),
        ({"grid": {"aspect_ration": [2]}}, ("aspect_ration", "Did you mean aspect_ratio?")),
        ({"grid": {"w_a": [1, -math.inf]}}, ("w_a", "not a finite number")),
        ({"grid": {"gamma": [0.0, 1.0]}}, ("gamma = 0.0", "above 0")),
        ({"grid": {"aspect_ratio": [1.0]}}, ("aspect_ratio = 1.0", "above 1")),
        ({"grid": {"packing_fraction": [5]}}, ("packing_fraction = 5", "at most 1.2")),
        ({"grid": {"w_a": 1.0}}, ("w_a = 1.0", "[fixed]")),
        ({"grid": {"w_a": [1, 1.0]}}, ("w_a", "twice")),
        ({"grid": {}}, ("grid", "empty")),
        ({"grid": {"w_a": {"from": 0, "to": 1, "points": 3, "log": True}}}, ("logarithm",)),
        ({"points": [{"w_a": 1}]}, ("either",)),
        ({"grid": {"w_a": [1.0, 2.0, 3.0, 2.0]}}, ("w_a = 2.0", "twice")),
        ({"fixed": {"length": 3.0}}, ("aspect_ratio", "decides length", "length")),
        ({"fixed": {"aspect_ratio": 3.0}}, ("aspect_ratio", "fixed as well")),
        ({"time": {"warm_up": -1, "every": 1, "samples": 3}}, ("warm_up = -1", "at least 0")),
        ({"time": {"warm_up": 1, "samples": 3}}, ("every", "missing")),
        ({"time": {"warm_up": 1, "every": 1, "samples": 0}}, ("samples = 0", "from 1")),
        ({"time": 3}, ("time = 3", "[time]")),
        ({"seeds": 0}, ("seeds = 0",)),
        ({"seeds": True}, ("seeds = True",)),
        ({"seed": -3}, ("seed = -3",)),
        ({"observe": ["polar_ordr"]}, ("polar_ordr", "Did you mean polar_order?")),
        ({"observe": []}, ("observe",)),
        ({"sedes": 2}, ("sedes", "Did you mean seed")),
        ({"diagram": {"x": "gamma"}}, ("gamma", "does not vary")),
        ({"diagram": {"show": ["nematic_order"]}}, ("nematic_order", "not observed")),
        ({"states": [{"name": "a", "polar_order": {"over": 1}}]}, ("over",)),
        ({"states": [{"polar_order": {"above": 1}}]}, ("name",)),
        ({"states": 5}, ("states = 5", "[[states]]")),
        (
            {"states": [{"name": "a", "polar_order": {"above": 0.5, "below": 0.5}}]},
            ("polar_order", "no value", "less than"),
        ),
        ({"diagram": {"show": "polar_order"}}, ("show = 'polar_order'", "list of names")),
        ({"seeds": 10_000, "grid": {"w_a": {"from": 0, "to": 1, "points": 999}}}, ("too many",)),
        (
            {"grid": {name: {"from": 1, "to": 2, "points": 10**6} for name in ("k_cc", "gamma")}},
            ("grid = 1000000000000", "points are too many"),
        ),
    ],
)
def test_what_cannot_be_is_refused_with_name_value_and_remedy(changes, words):
    with pytest.raises(ParameterError) as error:
        a_spec(**changes)
    for word in words:
        assert word in str(error.value)


def test_a_point_that_cannot_be_simulated_is_told_and_the_others_stay():
    made = plan(a_spec(grid={"packing_fraction": [0.1, 1.1], "aspect_ratio": [3.0, 40.0]}), "1")
    assert [bool(s.problem) for s in made.systems[::3]] == [False, False, False, True]
    assert "space_size" in made.systems[-1].problem
    assert sum(len(job.systems) for job in made.jobs) == 9


def test_a_sweep_of_which_nothing_can_be_simulated_is_refused():
    with pytest.raises(ParameterError, match="none can be simulated"):
        plan(a_spec(fixed={"rods": 2}, grid={"aspect_ratio": [90.0, 95.0]}), "1")


def test_plans_differ_where_what_comes_out_may():
    same = plan(a_spec(), "1").digest
    assert plan(a_spec(title="Other words", diagram={"x": "aspect_ratio"}), "1").digest == same
    others = [
        plan(a_spec(), "2"),
        plan(a_spec(seed=2), "1"),
        plan(a_spec(batch=5), "1"),
        plan(a_spec(fixed={"rods": 64, "dt_share": 0.8}), "1"),
        plan(a_spec(time={"warm_up": 2.0, "every": 0.5, "samples": 5}), "1"),
        plan(a_spec(observe=["polar_order"]), "1"),
    ]
    assert len({one.digest for one in others} | {same}) == 7


def test_different_setups_are_in_different_jobs():
    made = plan(a_spec(grid={"rods": [64, 100], "start_activity": ["all", "none"]},
                       fixed={"dt_share": 0.9}), "1")  # fmt: skip
    assert [{s.setup.rods for s in job.systems} for job in made.jobs] == [{64}, {64}, {100}, {100}]
    assert replace(made.systems[0].setup, start_activity="none") == made.systems[3].setup


@pytest.mark.parametrize(("systems", "jobs"), [(1, 1), (7, 7), (18, 9), (127, 9), (200, 13)])
def test_there_are_jobs_enough_for_several_processes(systems, jobs):
    at = {"from": 0, "to": 1, "points": systems}
    table = {**TABLE, "seeds": 1, "grid": {"w_a": at if systems > 1 else [0.5]}}
    del table["batch"]
    made = plan(read(table, (Setup(), Params())), "1").jobs
    assert len(made) == jobs
    assert sum(len(job.systems) for job in made) == systems
    assert max(job.batch for job in made) <= 16
