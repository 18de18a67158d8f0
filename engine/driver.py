# SPDX-License-Identifier: GPL-3.0-or-later
"""The one mutable object of the engine: it owns the state, the compiled program and the figures."""

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import SupportsIndex

import jax
import numpy as np
from jaxtyping import Int32
from numpy.typing import ArrayLike

from engine import schema
from engine.kernels import resolve
from engine.native.library import default_threads
from engine.params import Params, Setup
from engine.program import Program, check_memory, device_name
from engine.runner import Ran, Runner
from engine.schema import ParameterError
from engine.snapshot import Snapshot, Start
from engine.state import checked, random_start, start_activity, start_from
from engine.stats import Stats
from engine.step import RELAX_MOVE, Packed, Report, pack
from engine.timing import BatchTimes

# Relaxation runs in batches until the fastest rod moves by less than this share of a body width a
# step (an overlap of some 4 %), or the batches are used up: soft rods in a crowd stay pressed.
RELAXED_MOVE, RELAX_BATCH, RELAX_BATCHES = 0.002, 10, 80


class SimulationError(RuntimeError):
    """A step that cannot be trusted was refused; the state is still the last good one.

    Attributes: `step` that was refused, `remedy`, and `snapshot` of the last good state.
    """

    def __init__(self, problem: str, remedy: str, snapshot: Snapshot) -> None:
        super().__init__(f"{problem} {remedy}")
        self.step = snapshot.step
        self.remedy = remedy
        self.snapshot = snapshot


class Driver:
    """A running simulation.

    Building one compiles its program (seconds) and, unless `start` gives arrays, relaxes a random
    placement. The Driver knows no thread and no clock decides anything: the same setup, seed and
    edits at the same steps give the same bits on one device and version, whatever K was.

    `while_relaxing` is called now and then while overlaps relax, which may take long; true ends
    the relaxation there, for a program that is about to end. `on_compile` is called with the reason
    before each compile, also in the midst of steps: an array may be outgrown at any time.
    `threads` is how many native code uses, by default one less than there are cores; it changes no
    bit.

    Raises `ParameterError` for a setup that cannot be simulated.
    """

    def __init__(
        self,
        setup: Setup,
        params: Params,
        seed: int = 0,
        start: Start | None = None,
        while_relaxing: Callable[[], bool] = lambda: False,
        on_compile: Callable[[str], None] = lambda _: None,
        threads: int | None = None,
    ) -> None:
        self._while_relaxing = while_relaxing
        self._runner = Runner(on_compile, threads or default_threads())
        self._build(setup, params, seed, start, params)

    @property
    def setup(self) -> Setup:
        """The setup in force."""
        return self._setup

    @property
    def params(self) -> Params:
        """The live parameters in force."""
        return self._params

    @property
    def seed(self) -> int:
        """The seed of the placement and of the noise."""
        return self._seed

    @property
    def ids(self) -> Int32[np.ndarray, "rods"]:
        """The names of the rods (N,), rising: rows of a snapshot are in this order."""
        return self._ids

    @property
    def step(self) -> int:
        """Steps taken since the start."""
        return self._snapshot.step

    @property
    def time(self) -> float:
        """Simulated time, Σ n·dt in float64, so that it does not depend on K."""
        return self._snapshot.time

    @property
    def warnings(self) -> tuple[str, ...]:
        """Plain sentences about values that run but should not be trusted."""
        return schema.warnings_for(self._setup, self._params)

    @property
    def program(self) -> Program:
        """The compiled program in use."""
        return self._runner.program

    @property
    def stats(self) -> Stats:
        """The figures of now."""
        runner, times = self._runner, self._times
        every = runner.compiles + runner.growths
        return Stats(
            compiles=len(runner.compiles),
            growths=len(runner.growths),
            trace_seconds=sum(record.trace_s for record in every),
            lower_seconds=sum(record.lower_s for record in every),
            backend_seconds=sum(record.compile_s for record in every),
            last=runner.latest,
            step_seconds=times.median,
            step_seconds_p95=times.p95,
            rod_steps_per_second=self._setup.rods / times.median,
            temp_bytes=self.program.temp_bytes,
            device=device_name(),
            kernel=self._choice.name,
            kernel_reason=self._choice.reason,
            code=self._choice.code,
            threads=self._runner.threads if self._choice.kernel == "native" else None,
            rods=self._setup.rods,
            capacity=self.program.capacity.rods,
            neighbours=runner.list_stats,
        )

    def snapshot(self) -> Snapshot:
        """The current state; costs nothing."""
        return self._snapshot

    def set(self, **values: object) -> None:
        """Change live parameters; they act on the next step and compile nothing.

        A new `space_size` scales the positions; a longer `length` or larger `radius` may make
        overlaps, which are relaxed at once. Raises `ParameterError` and changes nothing where a
        value is refused.
        """
        old, now = self._params, schema.with_values(self._params, **values)
        schema.check(self._setup, now)
        if now.dt != old.dt:
            self._origin = (self.step, self.time)
        self._use(now)
        grown = _grown(old, now)
        if now.space_size != old.space_size or grown:
            last = self._snapshot
            self._place(_scaled(_start_of(last), old, now), last.step)
            if grown:
                self._relax(last.activity)
            self._snapshot = _with_speed_of(self._taken(self._run(0).report, last.step), last)
        self._snapshot = replace(self._snapshot, params=now)

    def advance(self, K: SupportsIndex) -> Snapshot:
        """Take K fused steps and return what came of them.

        Raises `SimulationError` where a step is not finite or unstable: the steps before it are
        kept. `TypeError` for a K that is no whole number.
        """
        K = operator.index(K)
        if not 0 <= K < 2**31:
            raise ParameterError("K", K, "is not possible", "Give a number of steps, at least 0.")
        if K == 0:
            return self._snapshot
        ran = self._run(K)
        done = int(ran.report.steps_done)
        self._times.add(done, ran.seconds)
        self._snapshot = self._taken(ran.report, self.step + done)
        if ran.problem:
            remedy = ran.problem.remedy
            problem = str(ran.problem).removesuffix(remedy).strip()
            raise SimulationError(
                f"Step {self.step + 1} was not taken: {problem}", remedy, self._snapshot
            )
        if not ran.report.ok:
            raise self._refusal(ran.report)
        return self._snapshot

    def add(
        self, pos: ArrayLike, theta: ArrayLike, activity: ArrayLike = 0.0
    ) -> Int32[np.ndarray, "added"]:
        """Add rods at `pos` (M, 2) with angles `theta` (M,); returns their ids (M,).

        `activity` is one number or (M,). Compiles only where the arrays have no room for them.
        Raises `ParameterError`, and changes nothing, for arrays that are no rods and for more rods
        than fit.
        """
        new = start_from(pos, theta, activity, self._params)
        ids = np.arange(self._next_id, self._next_id + len(new.theta), dtype=np.int32)
        old = _start_of(self._snapshot)
        together = Start(
            *[np.concatenate(pair) for pair in zip(_arrays(old), _arrays(new), strict=True)]
        )
        self._resize(together, np.concatenate([self.ids, ids]))
        return ids

    def remove(self, ids: ArrayLike) -> None:
        """Take the rods with these `ids` away; the others keep theirs. Compiles nothing.

        Raises `ParameterError`, and changes nothing, for an id that no rod has, and where no rod
        would be left.
        """
        unwanted = np.atleast_1d(np.asarray(ids))
        # A mask of rods is not their ids, though True equals 1.
        whole = unwanted.dtype.kind in "iu"
        unknown = np.setdiff1d(unwanted, self.ids) if whole else unwanted
        if unknown.size:
            raise ParameterError(
                "ids", unknown[:5].tolist(), "are no rods of this run", "Give ids from Driver.ids."
            )
        keep = ~np.isin(self.ids, unwanted)
        if not keep.any():
            raise ParameterError(
                "ids", unwanted[:5].tolist(), "are all the rods there are", "Keep at least one."
            )
        old = _arrays(_start_of(self._snapshot))
        self._resize(Start(*[array[keep] for array in old]), self.ids[keep])

    def rebuild(
        self,
        setup: Setup | None = None,
        params: Params | None = None,
        seed: int | None = None,
        start: Start | None = None,
    ) -> None:
        """Start anew with what is given, and the setup, parameters and seed as they are otherwise.

        Compiles only where `rods` or `kernel` differ from the program in use. Raises
        `ParameterError` and keeps the present run where the new one cannot be simulated.
        """
        seed, params = self._seed if seed is None else seed, params or self._params
        self._build(setup or self._setup, params, seed, start, params)

    def reset(self) -> None:
        """Start anew from the same seed, or from the same arrays with the parameters of now.

        Where the box or the rods have changed since, the arrays follow as they do in `set`.
        """
        self._build(self._start_setup, self._params, self._seed, self._start, self._start_params)

    def _build(
        self, setup: Setup, params: Params, seed: int, start: Start | None, start_params: Params
    ) -> None:
        """Compile if need be, then place the rods. Refusals come before anything is changed.

        `start_params` are those that the arrays of `start` were made for.
        """
        schema.check(setup, params)
        seed = schema.seed_from(seed)
        choice = resolve(setup)
        check_memory(setup, choice.kernel)
        if start is None:
            begin = random_start(setup, params, seed)
        else:
            start = checked(start, start_params)
            begin = _scaled(start, start_params, params)
            if len(begin.theta) != setup.rods:
                raise ParameterError(
                    "rods", setup.rods, f"does not match a start of {len(begin.theta)} rods",
                    f"Set rods to {len(begin.theta)}, or start from random places.",
                )  # fmt: skip
        program = self._runner.program_for(setup, params, choice.kernel)
        self._runner.place(program, begin, params, step=0, seed=seed, ids=None)
        self._setup, self._seed, self._choice = setup, seed, choice
        self._ids, self._next_id = np.arange(setup.rods, dtype=np.int32), setup.rods
        self._start, self._start_params, self._start_setup = start, start_params, setup
        self._times = BatchTimes()
        self._origin = (0, 0.0)
        self._use(params)
        self._snapshot = self._taken(self._run(0).report, 0)
        if start is None or _grown(start_params, params):
            self._relax(None if start is None else begin.activity)
            self._snapshot = self._taken(self._run(0).report, 0)

    def _resize(self, start: Start, ids: np.ndarray) -> None:
        """Go on with the rods of `start`, whose ids are `ids`."""
        setup, last = replace(self._setup, rods=len(ids)), self._snapshot
        schema.check(setup, self._params)
        program = self._runner.program_with_room(setup, self._params)
        self._setup, self._ids = setup, ids
        self._next_id = max(self._next_id, int(ids[-1]) + 1)
        self._place(start, last.step, program)
        taken = self._taken(self._run(0).report, last.step)
        self._snapshot = _with_speed_of(taken, last)

    def _use(self, params: Params) -> None:
        self._params = params
        self._packed = jax.device_put(pack(params))

    def _place(self, start: Start, step: int, program: Program | None = None) -> None:
        self._runner.place(
            program or self.program, start, self._params,
            step=step, seed=self._seed, ids=self._ids,
        )  # fmt: skip

    def _relax(self, activity: np.ndarray | None) -> None:
        """Let overlaps push rods apart, without thrust, noise or clock, then give them `activity`.

        None stands for the start activity of the setup, which may depend on where rods are.
        """
        params, step = self._params, self.step
        rods = self._snapshot.rods
        if params.k_cc > 0:
            # Without thrust and noise only k_cc · dt matters, and the largest safe dt is the
            # fastest.
            dt = schema.largest_safe_dt(params)
            quiet = replace(params, F_prop=0.0, T_prop=0.0, D_r=0.0, D_t=0.0, dt=dt)
            packed, width = jax.device_put(pack(quiet)), 2 * params.radius
            for _ in range(RELAX_BATCHES):
                report, _, problem = self._run(RELAX_BATCH, packed, RELAX_MOVE * width)
                rods = self._rods(report)
                if problem:
                    raise problem
                if report.largest_move < RELAXED_MOVE * width or self._while_relaxing():
                    break
        pos, theta = rods[:, :2], rods[:, 2]
        if activity is None:
            activity = start_activity(self._setup, params, pos)
        self._place(Start(pos, theta, activity), step)

    def _run(self, K: int, packed: Packed | None = None, most_move: float = math.inf) -> Ran:
        """Run the compiled program and wait for it. Survives a failing device."""
        given = self._packed if packed is None else packed
        try:
            return self._runner.run(self._setup, given, K, most_move)
        except Exception:
            # The state was donated; the last snapshot is its copy.
            self._place(_start_of(self._snapshot), self._snapshot.step)
            raise

    def _rods(self, report: Report) -> np.ndarray:
        return np.asarray(report.rods)[: self._setup.rods]

    def _taken(self, report: Report, step: int) -> Snapshot:
        origin_step, origin_time = self._origin
        # The compiled program knows dt in float32, and so does simulated time.
        now = origin_time + (step - origin_step) * float(np.float32(self._params.dt))
        observables = {name: float(v) for name, v in report.observables._asdict().items()}
        ids = None if self._next_id == self._setup.rods else self._ids
        return Snapshot(self._rods(report), step, now, self._params, observables, ids)

    def _refusal(self, report: Report) -> SimulationError:
        snapshot, bound, dt = self._snapshot, schema.largest_safe_dt(self._params), self._params.dt
        widths = float(report.largest_move) / (2 * self._params.radius)
        rod = int(self._ids[int(report.worst_row)])
        if 1 < widths < math.inf:
            what = f"rod {rod} would have moved {widths:.3g} body widths"
            remedy = f"Lower F_prop, T_prop or k_cc, or dt below {dt:g}."
        else:
            what = "a place, an angle or an activity would not have been a finite number"
            remedy = "Lower what is largest of F_prop, T_prop, k_cc, D_r, D_t, w_d and w_a."
        if dt > bound:
            remedy = f"Lower dt: {dt:g} is above the largest safe step {bound:.4g}."
        return SimulationError(f"Step {snapshot.step + 1} was not taken: {what}.", remedy, snapshot)


def _with_speed_of(taken: Snapshot, last: Snapshot) -> Snapshot:
    """`taken`, which took no step, with the speed of the last one."""
    speed = {"mean_speed": last.observables["mean_speed"]}
    return replace(taken, observables={**taken.observables, **speed})


def _arrays(start: Start) -> tuple[np.ndarray, ...]:
    return start.pos, start.theta, start.activity


def _start_of(snapshot: Snapshot) -> Start:
    return Start(snapshot.pos, snapshot.theta, snapshot.activity)


def _scaled(start: Start, old: Params, now: Params) -> Start:
    return replace(start, pos=start.pos * (now.space_size / old.space_size))


def _grown(old: Params, now: Params) -> bool:
    return now.length > old.length or now.radius > old.radius
