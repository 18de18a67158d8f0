# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers as child processes: each waits on its standard input while another one is being timed."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "benchmarks" / "peers"
# Where `make peers` puts the packages that bacsim itself does not need.
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"

# Every library sizes its pool of threads by one of these, or by the CPUs that it may use.
_THREADS = (
    *("NPROC", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    "BACSIM_THREADS",
)


class PeerError(Exception):
    """A peer did not start or ended too soon; the message says why and what to do."""


def available_cpus() -> list[int]:
    """The CPUs that this process may use; on systems without affinity all of them."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextmanager
def bound(cpus: Iterable[int]) -> Iterator[None]:
    """Processes that are started inside may use only `cpus`, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def environment(threads: int, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a peer: so many threads, the CPU, and no setting of JAX from outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    own = dict.fromkeys(_THREADS, str(threads)) | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
    return kept | own | dict(more)


class PeerProcess:
    """A running peer; `ready` is what it said of itself once it had compiled and warmed up."""

    def __init__(
        self,
        command: list[str],
        log: Path,
        threads: int = 1,
        more: Mapping[str, str] = {},
    ) -> None:
        """Start `command`, a Python, a script in benchmarks/peers and its arguments."""
        self._log, self._python = log, command[0]
        with log.open("w", encoding="utf-8") as errors, bound(available_cpus()[-threads:]):
            self._process = subprocess.Popen(
                [command[0], str(SCRIPTS / command[1]), *command[2:]],
                env=environment(threads, more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, encoding="utf-8",
            )  # fmt: skip
        try:
            self.ready: dict[str, Any] = json.loads(self._answer().removeprefix("ready "))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, line: str) -> str:
        """Send one line and wait for the answer. Raises `PeerError` where the peer ends instead."""
        assert self._process.stdin is not None
        # What it said before it ended is the better message.
        with suppress(BrokenPipeError):
            print(line, file=self._process.stdin, flush=True)
        return self._answer()

    def run(self, K: int) -> tuple[float, int]:
        """Seconds that K steps took, and how often the list was rebuilt."""
        seconds, rebuilds = self.ask(f"run {K}").split()
        return float(seconds), int(rebuilds)

    def cpu_seconds(self) -> float:
        """CPU time that it has used so far."""
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return times.user + times.system

    def close(self) -> None:
        """End it and wait."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.startswith("refused "):
            raise PeerError(line.removeprefix("refused ").strip())
        if line:
            return line.strip()
        status = self._process.wait()
        said = [text for text in self._log.read_text(encoding="utf-8").splitlines() if text.strip()]
        # JAX adds lines after the exception.
        raised = [text for text in said if re.match(r"[\w.]*(Error|Exception): ", text)]
        last = (raised or said or [f"exit {status}"])[-1]
        missing = re.fullmatch(r"ModuleNotFoundError: No module named '(\w+).*'", last)
        if missing:
            name = missing[1].replace("_", "-")
            raise PeerError(f"{name} is not installed for {self._python}; run: make peers")
        if status < 0:
            last = f"it was ended by signal {-status}, perhaps for want of memory"
        raise PeerError(f"ended too soon: {last}")


class Busy:
    """How many CPUs other programs have kept busy since this was made."""

    def __init__(self, ours: Iterable[PeerProcess]) -> None:
        self._ours = tuple(ours)
        self._begin = self._seconds()

    def cpus(self) -> float:
        """CPUs on the mean."""
        total, other = (now - then for now, then in zip(self._seconds(), self._begin, strict=True))
        return max(0.0, other) * (psutil.cpu_count() or 1) / max(total, 1e-9)

    def _seconds(self) -> tuple[float, float]:
        """CPU seconds that have passed on all CPUs, and those that others have used of them."""
        every, own = psutil.cpu_times(), psutil.Process().cpu_times()
        names = ("user", "nice", "system", "irq", "softirq", "steal")
        used = sum(getattr(every, name, 0.0) for name in names)
        idle = sum(getattr(every, name, 0.0) for name in ("idle", "iowait"))
        mine = sum(getattr(own, name, 0.0) for name in ("user", "system", "children_user"))
        mine += getattr(own, "children_system", 0.0)
        return used + idle, used - mine - sum(peer.cpu_seconds() for peer in self._ours)
