# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate for values, and the figures derived from them."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.params import Params, Setup
from engine.schema import (
    FIELDS,
    PARAM_FIELDS,
    ParameterError,
    check,
    coerce,
    derived,
    from_mapping,
    largest_safe_dt,
    packing_fraction,
    space_size_for,
    to_mapping,
    warnings_for,
    with_values,
)

MODEL_NAMES = [
    "space_size",
    "length",
    "radius",
    "w_a",
    "w_d",
    "k_cc",
    "F_prop",
    "T_prop",
    "activity_thresh",
    "activity_width",
    "sensing_range",
    "tau_a",
    "push_x",
    "push_y",
    "push_range",
    "push_force",
    "D_r",
    "D_t",
    "tumble_rate",
    "dt",
    "gamma",
]


def figure(name: str, setup: Setup, params: Params) -> float:
    return next(d.value for d in derived(setup, params) if d.name == name)


def test_every_parameter_of_the_model_is_declared():
    assert sorted(f.name for f in PARAM_FIELDS) == sorted(MODEL_NAMES)


@pytest.mark.parametrize("f", FIELDS, ids=lambda f: f.name)
def test_a_declaration_is_usable_by_a_widget(f):
    assert f.doc
    assert coerce(f.name, f.default) == f.default
    if f.kind == "choice":
        assert f.default in f.choices
        return
    assert f.low < f.high
    assert f.low <= f.default <= f.high
    assert 0 < f.step <= f.high - f.low
    assert not f.log or f.low > 0
    # The slider's own ends must pass the gate.
    coerce(f.name, f.low)
    coerce(f.name, f.high)


@pytest.mark.parametrize("f", PARAM_FIELDS, ids=lambda f: f.name)
@pytest.mark.parametrize(
    "value", [3, 3.0, "3", np.float32(3), np.float64(3), np.int64(3), np.array(3.0)]
)
def test_every_kind_of_number_becomes_the_same_python_float(f, value):
    got = coerce(f.name, value)
    assert type(got) is float
    assert got == 3.0


@pytest.mark.parametrize("f", [f for f in FIELDS if f.kind != "choice"], ids=lambda f: f.name)
@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 1e39, "", "four", None, True, [1.0], {"a": 1}, 1j],
    ids=repr,
)
def test_what_is_no_finite_number_is_refused_by_name(f, value):
    with pytest.raises(ParameterError) as caught:
        coerce(f.name, value)
    assert caught.value.name == f.name
    assert caught.value.remedy
    assert f.name in str(caught.value)
    assert caught.value.remedy in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("space_size", 0),
        ("length", -1),
        ("length", 1e-50),  # zero in float32
        ("radius", 0.0),
        ("dt", 0),
        ("dt", -0.001),
        ("gamma", 0),
        ("k_cc", -1),
        ("sensing_range", -0.1),
        ("activity_width", -1),
        ("tau_a", -1),
        ("D_r", -0.1),
        ("D_t", -1e-9),
        ("rods", 0),
        ("rods", 2.5),
        ("rods", 2**31),
        ("kernel", "fastest"),
        ("kernel", 1),
        ("start_activity", ""),
    ],
)
def test_physically_meaningless_values_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        coerce(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("activity_thresh", -5), ("w_d", -1), ("F_prop", -8), ("T_prop", -2), ("length", 100)],
)
def test_unusual_but_meaningful_values_pass(name, value):
    assert coerce(name, value) == value


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_any_positive_finite_length_passes_unchanged(value):
    assert coerce("length", value) == value


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(ParameterError, match="activity_thresh"):
        coerce("activity_tresh", 3)
    with pytest.raises(ParameterError):
        with_values(Params(), nonsense=3)


def test_with_values_changes_only_what_is_named_and_refuses_the_other_kind():
    assert with_values(Params(), dt="0.001") == dataclasses.replace(Params(), dt=0.001)
    assert with_values(Setup(), rods=7.0) == dataclasses.replace(Setup(), rods=7)
    with pytest.raises(ParameterError, match="rods"):
        with_values(Params(), rods=7)
    with pytest.raises(ParameterError, match="dt"):
        with_values(Setup(), dt=0.1)


def test_mapping_round_trip_and_its_errors():
    setup, params = Setup(rods=12, kernel="naive"), Params(T_prop=-0.25, dt=1e-4)
    assert from_mapping(to_mapping(setup, params)) == (setup, params)
    assert from_mapping({}) == (Setup(), Params())
    with pytest.raises(ParameterError, match="dt = 'soon'"):
        from_mapping({"params": {"dt": "soon"}})
    with pytest.raises(ParameterError, match=r"\[params\]"):
        from_mapping({"params": 3})


@pytest.mark.parametrize("f", [f for f in FIELDS if f.kind != "choice"], ids=lambda f: f.name)
def test_a_number_of_another_type_is_refused_where_nobody_has_converted_it(f):
    """`Setup(rods=100.0)` and `Params(space_size="70")` pass no gate but this one."""
    for wrong in (str(f.default), np.array(f.default), *([600.0] if f.kind == "int" else [])):
        setup, params = Setup(), Params()
        if f.live:
            params = dataclasses.replace(params, **{f.name: wrong})
        else:
            setup = dataclasses.replace(setup, **{f.name: wrong})
        with pytest.raises(ParameterError) as caught:
            check(setup, params)
        assert caught.value.name == f.name
        assert repr(coerce(f.name, wrong)) in caught.value.remedy
    check(Setup(rods=np.int64(600)), Params(F_prop=8, length=np.float64(4)))


def test_the_box_must_hold_a_unique_image():
    setup, params = Setup(rods=1), Params(length=4.0, radius=0.5, sensing_range=2.0)
    check(setup, dataclasses.replace(params, space_size=12.0))
    with pytest.raises(ParameterError) as caught:
        check(setup, dataclasses.replace(params, space_size=11.99))
    assert caught.value.name == "space_size"
    assert "12" in caught.value.remedy
    # Twice the radius counts where it is larger than what a rod senses.
    with pytest.raises(ParameterError):
        check(setup, dataclasses.replace(params, space_size=12.0, radius=1.01))


def test_a_whole_number_that_no_array_can_have_is_not_said_to_be_none():
    with pytest.raises(ParameterError, match="out of range"):
        coerce("rods", "999999999999")
    with pytest.raises(ParameterError, match="not a whole number"):
        coerce("rods", 2.5)


def test_rods_that_cannot_fit_are_refused():
    with pytest.raises(ParameterError) as caught:
        check(Setup(rods=100_000), Params(space_size=50.0))
    assert caught.value.name == "rods"


def test_derived_figures():
    setup = Setup(rods=100)
    params = Params(
        space_size=50.0, length=4.0, radius=0.5, k_cc=60.0, F_prop=8.0, T_prop=0.5, gamma=1.0
    )
    area = 4.0 + math.pi / 4
    assert packing_fraction(setup, params) == pytest.approx(100 * area / 2500)
    assert figure("packing_fraction", setup, params) == pytest.approx(100 * area / 2500)
    assert figure("aspect_ratio", setup, params) == 5.0
    assert figure("free_speed", setup, params) == 1.0
    assert figure("effective_force", setup, params) == 4.0
    assert figure("softness", setup, params) == pytest.approx(4 / 60)
    # The presets' table: 2.67 l for T_prop = 0.5.
    assert figure("circle_radius", setup, params) == pytest.approx(64 / 12 / 0.5)
    assert figure("largest_safe_dt", setup, params) == pytest.approx(0.05 * 4 / 60)
    # "A rod needs 20/q steps for one body width" at the largest safe step.
    at_bound = dataclasses.replace(params, dt=largest_safe_dt(setup, params))
    assert figure("body_width_steps", setup, at_bound) == pytest.approx(20 / (4 / 60))


@pytest.mark.parametrize("rods", [1, 600, 20_000])
def test_space_size_for_inverts_the_packing_fraction(rods):
    params = Params()
    side = space_size_for(rods, 0.3, params)
    assert packing_fraction(
        Setup(rods=rods), dataclasses.replace(params, space_size=side)
    ) == pytest.approx(0.3)


def test_derived_figures_survive_zero_thrust_and_zero_stiffness():
    params = Params(F_prop=0.0, T_prop=0.0, k_cc=0.0)
    assert all(not math.isnan(d.value) for d in derived(Setup(), params))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"dt": 0.004}, "dt"),
        ({"F_prop": 40.0}, "q"),
        ({"D_r": 1.0}, "D_r"),
        ({"D_t": 0.5}, "D_t"),
        ({"space_size": 20_000.0}, "space_size"),
    ],
)
def test_untrustworthy_values_are_warned_of(values, word):
    quiet = Params()
    assert warnings_for(Setup(), quiet) == ()
    found = warnings_for(Setup(), dataclasses.replace(quiet, **values))
    assert any(word in sentence for sentence in found)


@pytest.mark.parametrize("noise", [{"D_r": 0.05}, {"D_r": 123.4}, {"D_t": 0.2}])
def test_the_step_that_a_warning_of_noise_names_ends_it(noise):
    (found,) = warnings_for(Setup(), Params(**noise))
    dt = float(found.split("take dt = ")[1].split()[0])
    assert dt < Params().dt
    assert warnings_for(Setup(), Params(**noise, dt=dt)) == ()
    # And no lower than two digits of it allow.
    assert warnings_for(Setup(), Params(**noise, dt=1.11 * dt))


def test_crowds_of_long_rods_are_warned_of_from_half_the_largest_safe_step_on():
    setup, long = Setup(rods=300), Params(length=9.0)
    for phi, share, warns in ((0.8, 0.6, True), (0.8, 0.5, False), (0.76, 0.9, False)):
        params = dataclasses.replace(
            long, space_size=space_size_for(300, phi, long),
            dt=share * largest_safe_dt(setup, long),
        )  # fmt: skip
        found = warnings_for(setup, params)
        assert any("too long for a crowd" in sentence for sentence in found) == warns
        assert len(found) == warns
