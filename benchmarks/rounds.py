# SPDX-License-Identifier: GPL-3.0-or-later
"""The rounds: all processes compile, are checked, and then take turns."""

import argparse
import functools
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import agreement
from benchmarks.cases import CASES, SMALL, Case
from benchmarks.figures import Figure, Fresh, Measured, cases_for
from benchmarks.process import Busy, PeerError, PeerProcess, available_cpus
from engine.snapshot import Start
from engine.study import standard

# A turn has no more steps than these, some ten lives of a list, so that all cases see much the same
# states; and as many where they fit into its time, so that quick ones are timed for long enough.
MOST_STEPS = 1000
# Steps from the relaxed state on, after which rods have met.
DEVELOPED = 2000


class Bench:
    """The processes of a run and what they measure."""

    def __init__(self, chosen: argparse.Namespace, folder: Path, open_peers: ExitStack) -> None:
        self.chosen, self.folder, self.open_peers = chosen, folder, open_peers
        self.measured = Measured(chosen.rods)
        self.peers: dict[str, PeerProcess] = {}
        self.machine = describe_machine()

    def measure(self, figures: Sequence[Figure]) -> Measured:
        """Start what `figures` need, check it, and take the rounds."""
        fresh = list(dict.fromkeys(figure.fresh for figure in figures if figure.fresh))
        builds = [name for figure in figures if figure.builds for name in figure.needs]
        for name, case in cases_for(figures).items():
            _say(f"preparing {name}")
            self._attempt(name, lambda name=name, case=case: self._prepare(name, case))
        for kind in (kind for kind in fresh if kind.cache):
            _say(f"filling the persistent cache, {kind.code}")
            self._attempt(kind.name, lambda kind=kind: self._first_frame(kind))
        busy = Busy(self.peers.values())
        for i in range(self.chosen.rounds):
            _say(f"round {i + 1} of {self.chosen.rounds}")
            for name in list(self.peers):
                self._attempt(name, lambda name=name: self._turn(name))
            for name in builds:
                if name in self.peers:
                    self._attempt(name, lambda name=name: self._rebuild(name))
            for kind in fresh:
                if kind.name not in self.measured.refused:
                    self._attempt(kind.name, lambda kind=kind: self._fresh_start(kind))
        self.machine |= {"load_after": _load(), "busy_cpus": round(busy.cpus(), 2)}
        for name in list(self.peers):
            _say(f"checking {name} again")
            self._attempt(name, lambda name=name: self._check(name))
        return self.measured

    def _attempt(self, name: str, what: Callable[[], object]) -> None:
        """Do it; where the peer fails or disagrees, it has no figures."""
        try:
            what()
        except (PeerError, agreement.Disagreement) as error:
            self.measured.refused[name] = str(error)
            peer = self.peers.pop(name, None)
            if peer:
                peer.close()

    def _state(self, size: int) -> Path:
        """A file with a state and its parameters, made where it does not exist."""
        n = self.chosen.rods[size]
        folder = self.chosen.states or self.folder
        path = folder / f"{n}.npz"
        if not path.exists():
            _say(f"making a state of {n:,} rods")
            folder.mkdir(parents=True, exist_ok=True)
            start, params = developed_start(n), asdict(standard.standard_params(n))
            np.savez(path, pos=start.pos, theta=start.theta, activity=start.activity, **params)
        return path

    def _prepare(self, name: str, case: Case) -> None:
        if case.threads > len(available_cpus()):
            raise PeerError(f"needs {case.threads} CPUs, and {len(available_cpus())} may be used")
        python = sys.executable if case.own else self.chosen.peers_python
        peer = PeerProcess(
            [python, case.script, str(self._state(case.size)), *case.options],
            self.folder / f"{name}.log", case.threads, {"JAX_ENABLE_COMPILATION_CACHE": "false"},
        )  # fmt: skip
        self.open_peers.callback(peer.close)
        self.peers[name], self.measured.ready[name] = peer, peer.ready
        self._check(name)
        K, seconds = 1, peer.run(1)[0]
        while seconds < self.chosen.seconds / 4 and K < MOST_STEPS:
            K *= 4
            seconds = peer.run(K)[0]
        steps = round(K * self.chosen.seconds / seconds)
        self.measured.steps[name] = min(max(steps, 1), MOST_STEPS)
        self.measured.step_s[name], self.measured.rebuilds[name] = [], 0

    def _check(self, name: str) -> None:
        """Raise `Disagreement` where what a peer computes now is not the model, or near it."""
        before = self._save(name)
        self.peers[name].run(1)
        after = self._save(name)
        params = agreement.single(standard.standard_params(len(before.rods.theta)))
        if CASES[name].alike:
            agreement.check_alike(before, params)
        else:
            agreement.check(before, after, params)

    def _save(self, name: str) -> agreement.Save:
        path = self.folder / "save.npz"
        self.peers[name].ask(f"save {path}")
        return agreement.Save(path)

    def _turn(self, name: str) -> None:
        steps = self.measured.steps[name]
        seconds, rebuilds = self.peers[name].run(steps)
        self.measured.step_s[name].append(seconds / steps)
        self.measured.rebuilds[name] += rebuilds

    def _rebuild(self, name: str) -> None:
        build, step = self.peers[name].ask("rebuild").split()
        self.measured.rebuild_s.setdefault(name, []).append((float(build), float(step)))

    def _first_frame(self, kind: Fresh) -> dict[str, Any]:
        cache = {"BACSIM_CACHE": str(self.folder / "cache") if kind.cache else "off"}
        command = [sys.executable, "first_frame.py", str(self._state(SMALL)), "--code", kind.code]
        threads = len(available_cpus()) if kind.every else 1
        with PeerProcess(command, self.folder / "first.log", threads, cache) as fresh:
            return fresh.ready

    def _fresh_start(self, kind: Fresh) -> None:
        said = self._first_frame(kind)
        if kind.cache and said["cache"] != "hit":
            raise PeerError("the compiled program was not in the persistent cache")
        self.measured.fresh.setdefault(kind, []).append(said)


def developed_start(n: int) -> Start:
    """The standard benchmark's relaxed state of `n` rods, developed for `DEVELOPED` steps.

    A state of copies is developed before it is copied: copies would stay copies anyway.
    """
    m = standard.copies_for(n)
    base = n // m**2
    return standard.copied(_developed(base), standard.standard_params(base).space_size, m)


@functools.cache
def _developed(n: int) -> Start:
    from engine.driver import Driver
    from engine.params import Setup

    start = standard.relaxed_start(n)
    last = Driver(Setup(rods=n), standard.standard_params(n), start=start).advance(DEVELOPED)
    return Start(last.pos, last.theta, last.activity)


def describe_machine() -> dict[str, Any]:
    """The machine, and its load now."""
    cpu = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if "model name" in line), cpu)
    return {
        "cpu": cpu, "cpus": len(available_cpus()), "system": platform.system(),
        "date": time.strftime("%Y-%m-%d"), "load_before": _load(),
    }  # fmt: skip


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)
