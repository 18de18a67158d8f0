# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as a short text: it comes back as it was, also from a command line, or is refused."""

import shlex
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bacsim_gui import run_text
from bacsim_gui.__main__ import parser
from bacsim_gui.changes import changes
from bacsim_gui.flags import make_run
from bacsim_gui.presets import load_preset, preset_names
from engine.obstacle import Obstacle
from engine.schema import FIELDS, ParameterError


@st.composite
def values(draw):
    """Some parameters with values of their range, in any notation."""
    found = {}
    told = [f for f in FIELDS if f.group != "hand"]
    for f in draw(st.lists(st.sampled_from(told), max_size=6, unique_by=lambda f: f.name)):
        if f.kind == "choice":
            found[f.name] = draw(st.sampled_from(f.choices))
        elif f.kind == "int":
            found[f.name] = draw(st.integers(int(f.low) or 1, int(f.high)))
        else:
            found[f.name] = draw(st.floats(f.low, f.high))
    return found


@settings(max_examples=30)
@given(st.sampled_from(preset_names()), values(), st.none() | st.integers(0, 2**31 - 1), st.data())
def test_a_run_comes_back_from_its_text_and_from_the_command_line(preset, values, seed, data):
    try:
        run = load_preset(preset).with_values(**values)
    except ParameterError:
        assume(False)
    if seed is not None:
        run = replace(run, seed=seed, start=None)
    run = replace(run, K=data.draw(st.sampled_from([run.K, 1, 4000])))
    for told in (preset, ""):
        text = run_text.write(run, told)
        again = run_text.read(text)
        for found in (again.run, make_run(parser().parse_args(shlex.split(text)[1:]))):
            assert changes(run, found) == ()
            assert (found.setup, found.params) == (run.setup, run.params)
            assert (found.start is None) == (run.start is None)
        assert not told or again.preset == preset
        assert again.base.params == load_preset(again.preset).params
        assert run_text.tells_rods(run, text)


def test_a_preset_is_told_by_its_name_and_a_change_by_its_value():
    run = load_preset("swarming")
    assert run_text.write(run, "swarming") == "bacsim-gui --preset=swarming"
    other = replace(run.with_values(F_prop=12, rods=3000), seed=3)
    text = run_text.write(other, "swarming")
    # The box follows from the number of rods, at the same packing fraction.
    assert text == "bacsim-gui --preset=swarming --rods=3000 --F_prop=12 --seed=3"


def test_an_own_run_is_told_by_the_nearest_preset():
    run = load_preset("contagion").with_values(tau_a=7)
    assert run_text.write(run) == "bacsim-gui --preset=contagion --tau_a=7"


def test_rods_that_are_no_preset_s_are_not_told():
    run = load_preset("dilute")
    assert run.start is not None
    moved = replace(run.start, pos=np.roll(run.start.pos, 1, 0))
    text = run_text.write(replace(run, start=moved), "dilute")
    assert not run_text.tells_rods(replace(run, start=moved), text)
    assert run_text.read(text).run.start is None
    assert "--seed=1" in text


@pytest.mark.parametrize(
    "text",
    [
        "bacsim: swarming seed=3 F_prop=12",
        "  $ bacsim-gui --preset swarming --seed 3 --F_prop 12\n",
        "swarming --seed=3 \\\n  --F-prop=12.0",
        "python -m bacsim_gui –preset=swarming —seed=3 --F_prop=12",
        "```\nbacsim-gui --preset=swarming --seed=3 --F_prop=12\n```",
        "`bacsim-gui --preset=swarming --seed=3 --F_prop=12`\n",
        "“bacsim-gui --preset=swarming --seed=3 --F_prop=12”",
        "\ufeffbacsim-gui\N{NO-BREAK SPACE}--preset=swarming --seed=3 \u200b--F_prop=12",
    ],
)
def test_what_people_make_of_it_is_read_as_well(text):
    shared = run_text.read(text)
    assert shared.preset == "swarming"
    assert (shared.run.seed, shared.run.params.F_prop) == (3, 12.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["names no preset", "--preset=swarming"]),
        ("Dear all, look at this swarm!", ["Dear", "all"]),
        ("swarmin", ["swarmin", "Did you mean swarming?"]),
        ("swarming F_pro=3", ["F_pro", "Did you mean F_prop?"]),
        ("swarming F_prop=fast", ["F_prop", "fast"]),
        ("swarming --radius=-1", ["radius", "-1", "above 0"]),
        ("swarming --seed=-4", ["seed", "-4"]),
        ("swarming --K", ["K", "no value"]),
        ("swarming --sead=4", ["sead", "Did you mean seed?"]),
        ("swarming space_size=5", ["space_size", "too small"]),
        ("swarming 'F_prop=3", ["quote"]),
        ("x" * 100_000, ["is no run"]),
        ("hello world", ["'hello world'", "is no run"]),
    ],
)
def test_a_text_that_is_none_is_refused_by_name(text, words):
    with pytest.raises(ParameterError) as caught:
        run_text.read(text)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 400


def test_obstacles_come_back():
    run = load_preset("swarming")
    obstacles = (
        Obstacle(30.0, 30.25, radius=9.0), Obstacle(50.1, 5.0, 1000.0, 3.0),
        Obstacle(1e-7, 5.0, 0.0, 3.0, 0.5), Obstacle(0.1 + 0.2, 0.0, 1e20, 0.0, 1.0),
    )  # fmt: skip
    text = run_text.write(replace(run, obstacles=obstacles), "swarming")
    assert "--obstacle=30,30.25,9 --obstacle=50.1,5,1000x3 " in text
    assert run_text.read(text).run.obstacles == obstacles
    command = make_run(parser().parse_args(shlex.split(text)[1:]))
    assert command.obstacles == obstacles
    assert run_text.read("swarming --obstacle 30,30,9").run.obstacles[0].radius == 9


@pytest.mark.parametrize(
    "place",
    ["", "3", "30,30", "30,30,0", "30,30,-2", "30,30,nan", "30,30,4,5,6", "30,30,4,5", "a,b,c",
     "30,30,4x", "30,30,4x5x6", "30,30,4x5,6,7", "x,x,x"],
)  # fmt: skip
def test_what_is_no_obstacle_is_refused(place):
    with pytest.raises(ParameterError, match="obstacle"):
        run_text.read(f"swarming --obstacle={place}")
