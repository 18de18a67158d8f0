# SPDX-License-Identifier: GPL-3.0-or-later
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bacsim_gui
from bacsim_gui import bootstrap

ROOT = Path(__file__).parents[2]
NAMES = ("QT_", "PYOPENGL", "EGL_", "XLA_", "JAX_", "BACSIM_", "DISPLAY", "WAYLAND")


def run(code: str, **settings: str) -> str:
    """What the code prints in a fresh Python in which none of our variables is set."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(NAMES)}
    environment |= {"PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import json, os, sys\n{code}"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def environment_after(call: str, **settings: str) -> dict[str, str]:
    code = (
        f"from bacsim_gui import bootstrap\nbootstrap.{call}()\nprint(json.dumps(dict(os.environ)))"
    )
    return json.loads(run(code, **settings))


def test_importing_it_imports_nothing_heavy() -> None:
    loaded = set(json.loads(run("import bacsim_gui.bootstrap\nprint(json.dumps([*sys.modules]))")))
    assert "bacsim_gui.bootstrap" in loaded
    assert not loaded & {"PyQt6", "vispy", "OpenGL", "jax", "numpy", "engine"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the choice")
def test_a_window_uses_x_and_a_headless_program_egl() -> None:
    window = environment_after("prepare_window")
    assert (window["QT_QPA_PLATFORM"], window["PYOPENGL_PLATFORM"]) == ("xcb", "glx")
    assert environment_after("prepare_headless")["PYOPENGL_PLATFORM"] == "egl"


def test_what_the_user_has_set_stays() -> None:
    theirs = {
        "QT_QPA_PLATFORM": "wayland",
        "PYOPENGL_PLATFORM": "osmesa",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
        "NPROC": "3",
        "JAX_COMPILATION_CACHE_DIR": "/elsewhere",
    }
    for call in ("prepare_window", "prepare_headless"):
        after = environment_after(call, **theirs)
        assert {name: after[name] for name in theirs} == theirs


def test_jax_shares_the_card_and_keeps_small_programs(tmp_path: Path) -> None:
    after = environment_after("prepare_headless", XDG_CACHE_HOME=str(tmp_path))
    assert after["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert after["NPROC"] == "1"
    assert after["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] == "0"
    assert after["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] == "-1"
    if sys.platform == "linux":
        assert after["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "bacsim" / "compiled")


def test_the_compile_cache_can_be_moved_and_turned_off(tmp_path: Path) -> None:
    moved = environment_after("prepare_window", BACSIM_CACHE=str(tmp_path / "mine"))
    assert moved["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "mine")
    off = environment_after("prepare_window", BACSIM_CACHE="off")
    assert "JAX_COMPILATION_CACHE_DIR" not in off
    assert off["JAX_ENABLE_COMPILATION_CACHE"] == "false"


def test_a_child_gets_the_environment_as_the_user_gave_it() -> None:
    child = json.loads(
        run(
            "from bacsim_gui import bootstrap\nbootstrap.prepare_window()\n"
            "print(json.dumps(bootstrap.child_environment()))",
            QT_QPA_PLATFORM="xcb",
        )
    )
    assert child["QT_QPA_PLATFORM"] == "xcb"
    assert "PYOPENGL_PLATFORM" not in child
    assert "JAX_COMPILATION_CACHE_DIR" not in child


PROBLEM = """
from bacsim_gui import bootstrap
bootstrap.prepare_window()
print(bootstrap.window_problem())
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="X is for Linux")


@linux
def test_without_a_display_the_remedies_are_named() -> None:
    said = run(PROBLEM)
    assert "DISPLAY is not set" in said
    assert "ssh -X" in said
    assert "bacsim movie" in said


@linux
def test_a_display_that_does_not_answer_is_named() -> None:
    assert "The display ':987' (from DISPLAY) does not answer" in run(PROBLEM, DISPLAY=":987")


@linux
def test_wayland_without_x_is_told_to_install_xwayland() -> None:
    assert "apt-get install -y xwayland" in run(PROBLEM, WAYLAND_DISPLAY="wayland-0")


@linux
@pytest.mark.gl
def test_with_a_display_there_is_no_problem() -> None:
    assert run(PROBLEM, DISPLAY=os.environ["DISPLAY"]) == "None"


@linux
def test_a_platform_of_the_users_choice_is_not_judged() -> None:
    assert run(PROBLEM, QT_QPA_PLATFORM="offscreen") == "None"


def test_here_nothing_is_missing() -> None:
    assert bootstrap.missing_system_libraries() == {}
    assert bootstrap.missing_system_libraries(headless=True) == {}


@linux
def test_a_missing_library_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"libxcb-cursor.so.99": "libxcb-cursor0", "libEGL.so.1": "libegl1"}
    monkeypatch.setattr(bootstrap, "_WINDOW_LIBRARIES", known)
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    assert bootstrap.missing_system_libraries() == {"libxcb-cursor.so.99": "libxcb-cursor0"}
    said = bootstrap.window_problem()
    assert said is not None
    assert "libxcb-cursor.so.99" in said
    assert said.endswith("sudo apt-get install -y libxcb-cursor0")


def test_the_version_is_that_of_the_distribution() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert bacsim_gui.__version__ == declared
