# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of a sweep in other processes, of this machine or others, through Dask distributed.

It stands here and not in the engine, which knows no threads. Workers import the engine alone. A job
whose worker dies is begun anew by another one; the third time it counts as failed.
"""

import logging
import queue
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bacsim_gui import __version__
from bacsim_gui.command import RunError, in_one_line

if TYPE_CHECKING:
    from distributed import Client

    from engine.study.sweep.job import Done
    from engine.study.sweep.plan import Job

TOPIC = "bacsim-sweep"
# Nobody but this machine may reach what runs whatever it is sent.
LOOPBACK = "127.0.0.1"
OWN_CLUSTER: dict[str, Any] = {
    "host": LOOPBACK,
    # Any port, so that two sweeps do not want the same one for telling whether they are well.
    "dashboard_address": f"{LOOPBACK}:0",
    "scheduler_kwargs": {"dashboard": False},
    "worker_dashboard_address": None,
    "scheduler_port": 0,
    "processes": True,
    "threads_per_worker": 1,
    "memory_limit": 0,
    "silence_logs": logging.CRITICAL,
}
CONNECT_SECONDS = 15
# How often the progress is told of while no job ends.
LOOK_SECONDS = 0.5


def run_on_workers(
    jobs: Sequence["Job"],
    workers: int,
    scheduler: str | None,
    keep: Callable[["Done"], None],
    tell: Callable[[dict[int, float]], None],
) -> list[str]:
    """Run `jobs` and give each result to `keep` as it comes; returns what went wrong with jobs.

    On `workers` processes of this machine, or on those of the Dask `scheduler`. `tell` is given the
    shares of jobs under way, by number, twice a second. Raises `RunError` where there is no such
    scheduler.
    """
    ended: queue.Queue[Any] = queue.Queue()
    shares: dict[int, float] = {}
    problems: list[str] = []

    def note(event: tuple[Any, tuple[int, float]]) -> None:
        number, share = event[1]
        shares[number] = share

    with _client(workers, scheduler) as client:
        client.subscribe_topic(TOPIC, note)
        waiting = {}
        for job in jobs:
            future = client.submit(
                _run, job, __version__, key=f"bacsim-sweep-{id(jobs)}-{job.number}", pure=False
            )
            future.add_done_callback(ended.put)
            waiting[future.key] = future
        while waiting:
            try:
                future = ended.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                tell(dict(shares))
                continue
            waiting.pop(future.key)
            try:
                done = future.result()
            except Exception as error:  # whatever the worker met, the other jobs go on
                problems.append(_in_words(error))
                continue
            shares.pop(done.number, None)
            keep(done)
            future.release()
            tell(dict(shares))
    return problems


def _run(job: "Job", version: str) -> "Done":
    """What a worker does."""
    from distributed import get_worker

    from bacsim_gui.bootstrap import prepare_headless

    if version != __version__:
        raise RuntimeError(
            f"a worker has bacsim {__version__}, and the sweep was begun with {version}: install "
            "the same on all machines."
        )
    prepare_headless()
    from engine.study.sweep.job import run_job

    worker = get_worker()
    told = -1.0

    def tell(share: float) -> None:
        nonlocal told
        if share >= told + 0.02:
            told = share
            worker.log_event(TOPIC, (job.number, share))

    return run_job(job, tell)


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator["Client"]:
    """A client of `scheduler`, or of a cluster of its own that only this machine can reach."""
    from dask import config
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise RunError(
                f"There is no Dask scheduler at {scheduler} ({in_one_line(error)}). Start one with "
                "'dask scheduler', and workers with 'dask worker', or leave --scheduler out."
            ) from error
        with client:
            yield client
        return
    # Settings of the user's Dask must not open it to others, nor a user's plugins slow it down.
    settings = {"distributed.scheduler.preload": [], "distributed.worker.preload": []}
    with config.set(settings), _deaf_to_ctrl_c():
        cluster = LocalCluster(n_workers=workers, **OWN_CLUSTER)
    try:
        with Client(cluster, set_as_default=False) as client:
            yield client
    finally:
        # An impatient second Ctrl-C ends the workers with this process.
        with suppress(TimeoutError):
            cluster.close(timeout=10)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let threads and processes that begin meanwhile not see Ctrl-C, which comes here later.

    A terminal sends it to workers too, and they would all print where it met them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # It comes with the first process, and would lift what is set here.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_words(error: Exception) -> str:
    kind = type(error).__name__
    if kind == "KilledWorker":
        return "the worker of a job died again and again; there may be too little memory for it"
    if kind in ("CancelledError", "FutureCancelledError"):
        return "the Dask scheduler is gone"
    if isinstance(error, ModuleNotFoundError):
        return f"a worker lacks bacsim ({error}): install the same on all machines"
    return f"{kind}: {in_one_line(error)}"
