# SPDX-License-Identifier: GPL-3.0-or-later
"""How a peer is asked: `python PEER.py STATE.npz`, then one line in, one line out.

STATE.npz holds pos (N, 2), theta (N,), activity (N,), and each parameter by its name. The peer says
`ready {...}` once it has compiled and warmed up, or `refused WHY` where it cannot run here. Then

    run K        takes K steps, list rebuilds included, and says `SECONDS REBUILDS`;
    save FILE    writes its state and the sums that its next step would use, and says `saved`;
    quit         ends it.

It keeps its state from line to line. Only NumPy and the standard library are needed here, since
peers live in environments of their own.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

# What a library prints must not end up among the answers.
_answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

WARM_STEPS = 3
# The standard benchmark has none of these, and no peer computes them.
_ABSENT = ("T_prop", "tau_a", "D_r", "D_t", "tumble_rate")


class Saved(NamedTuple):
    """A state and its pair sums, in one order of rods.

    pos (N, 2), theta (N,), activity (N,); force (N, 2), torque (N,), sensed (N,).
    """

    pos: Any
    theta: Any
    activity: Any
    force: Any
    torque: Any
    sensed: Any


class Peer(Protocol):
    """What a script hands to `serve`."""

    def run(self, K: int) -> int:
        """Take K steps, wait for them, and return how often the list was rebuilt."""
        ...

    def save(self) -> Saved:
        """The present state and its sums."""
        ...


def load(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, SimpleNamespace]:
    """The state in float32 and the parameters, rounded to float32 as the engine rounds them."""
    with np.load(path) as file:
        arrays = [np.asarray(file[name], np.float32) for name in ("pos", "theta", "activity")]
        values = {name: float(np.float32(file[name])) for name in file.files if not file[name].ndim}
    params = SimpleNamespace(**values)
    wrong = [name for name in _ABSENT if getattr(params, name) != 0]
    if wrong or params.activity_width <= 0:
        sys.exit(f"The peers know no {', '.join(wrong) or 'hard threshold (activity_width 0)'}.")
    return arrays[0], arrays[1], arrays[2], params


def serve(
    peer: Peer,
    what: str,
    begin: float,
    extra: dict[str, Callable[[str], str]] | None = None,
    **facts: Any,
) -> None:
    """Warm `peer` up, say what it is, and answer until `quit` or the end of the input.

    `begin` is `time.perf_counter()` before anything was compiled. `extra` holds further commands,
    which take the rest of their line and return the answer. `facts` are added to `ready`; a
    `compile_s` among them replaces the seconds since `begin`.
    """
    extra = extra or {}
    peer.run(WARM_STEPS)
    seconds = time.perf_counter() - begin
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    about = {"what": what, "compile_s": seconds, "threads": threads, "versions": _versions()}
    _say("ready " + json.dumps(about | facts))
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "run":
            begin = time.perf_counter()
            rebuilds = peer.run(int(rest))
            _say(f"{time.perf_counter() - begin!r} {rebuilds}")
        elif word == "save":
            saved: dict[str, Any] = {k: np.asarray(v) for k, v in peer.save()._asdict().items()}
            np.savez(rest, **saved)
            _say("saved")
        elif word in extra:
            _say(extra[word](rest))
        elif word == "quit":
            break
        else:
            known = ", ".join(["run", "save", *extra, "quit"])
            sys.exit(f"Not a command of this peer: {line!r}. It knows {known}.")


def report(**facts: Any) -> None:
    """Say `ready` with `facts` alone: for a script that measures once and ends."""
    _say("ready " + json.dumps(facts | {"versions": _versions()}))


def refuse(why: str) -> NoReturn:
    """Say why this peer cannot run here, and end it."""
    _say(f"refused {why}")
    sys.exit()


def _say(line: str) -> None:
    print(line, file=_answers, flush=True)


def _versions() -> dict[str, str]:
    named = {name: sys.modules.get(name) for name in ("numpy", "numba", "jax", "jax_md")}
    found = {name: str(getattr(m, "__version__", "")) for name, m in named.items() if m}
    if "jax_md" in found:
        from importlib.metadata import version

        found["jax_md"] = version("jax-md")
    return {"python": platform.python_version(), **found}
