# SPDX-License-Identifier: GPL-3.0-or-later
"""The one mutable object of the engine: it owns the state, the compiled program and the figures."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import SupportsFloat, SupportsIndex

import numpy as np
from jaxtyping import Bool, Float32, Int32
from numpy.typing import ArrayLike

from engine import schema
from engine.capacity import Capacity
from engine.checkpoint import arrays_of, state_from
from engine.current import Begun, Current, names, uploaded
from engine.kernels import Choice, check_runs_here, is_listed, reason_now, resolve
from engine.measures import Meter, list_kernel
from engine.native.library import default_threads
from engine.obstacle import Obstacle, checked_obstacles
from engine.params import Laws, Params, Setup
from engine.program import Program, check_memory, device_name
from engine.runner import Held, Runner, place
from engine.schema import ParameterError
from engine.snapshot import Checkpoint, Snapshot, Start, Trust
from engine.state import checked, random_start, remainders, start_activity, start_from
from engine.stats import Stats
from engine.step import RELAX_MOVE, Report
from engine.timing import BatchTimes

# Relaxation runs in batches until the fastest rod moves by less in a step than this overlap, in
# body widths, would move it, or the batches are used up: soft rods in a crowd stay pressed.
RELAXED_OVERLAP, RELAX_BATCH, RELAX_BATCHES = 0.04, 10, 80


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

    Whatever ends one of its methods early, Ctrl-C too, leaves it as it was before, and it can go
    on. Only where that ends steps under way the rods are those of the last snapshot again, without
    what its rounding left, so that later bits may differ.

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
        obstacles: Iterable[Obstacle] = (),
    ) -> None:
        self._listen(while_relaxing, on_compile, threads)
        self._now = self._built(None, Begun(setup, params, start), params, seed, obstacles)

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        setup: Setup | None = None,
        *,
        seed: int = 0,
        threads: int | None = None,
    ) -> "Driver":
        """A new run that begins with the rods of `snapshot`, its parameters and obstacles.

        At its step and time, by the names that its rods have. `setup` chooses the kernel and the
        laws; by default it is `Setup` with as many rods and the laws of the snapshot. Change
        parameters afterwards, by `set`, which lets the rods follow. For the bits of the run that
        the snapshot is of take a checkpoint.

        Raises `ParameterError` for a setup of another number of rods.
        """
        setup = setup or Setup(rods=snapshot.n, **asdict(snapshot.laws))
        return cls(
            setup, snapshot.params, seed, Start.of(snapshot), threads=threads,
            obstacles=snapshot.obstacles,
        )  # fmt: skip

    @classmethod
    def resumed(
        cls,
        kept: Checkpoint,
        while_relaxing: Callable[[], bool] = lambda: False,
        on_compile: Callable[[str], None] = lambda _: None,
        threads: int | None = None,
    ) -> "Driver":
        """A Driver that goes on where `checkpoint` was taken, with the same bits.

        Raises `ParameterError` where this machine cannot go on so, and `CheckpointError`.
        """
        driver = cls.__new__(cls)
        driver._listen(while_relaxing, on_compile, threads)
        driver._now = driver._restored(None, kept)
        return driver

    def _listen(
        self,
        while_relaxing: Callable[[], bool],
        on_compile: Callable[[str], None],
        threads: int | None,
    ) -> None:
        self._while_relaxing = while_relaxing
        self._runner = Runner(on_compile, threads or default_threads())
        self._on_compile = on_compile
        self._meter: Meter | None = None

    @property
    def setup(self) -> Setup:
        """The setup in force."""
        return self._now.setup

    @property
    def params(self) -> Params:
        """The live parameters in force."""
        return self._now.params

    @property
    def seed(self) -> int:
        """The seed of the placement and of the noise."""
        return self._now.seed

    @property
    def start(self) -> Start | None:
        """The arrays, in float32, that the run began with; None for random places."""
        return self._now.begun.start

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles of now."""
        return self._now.obstacles

    @property
    def ids(self) -> Int32[np.ndarray, "rods"]:
        """The names of the rods (N,), rising, read-only: rows of a snapshot are in this order."""
        return self._now.ids

    @property
    def step(self) -> int:
        """Steps taken since the start."""
        return self._now.snapshot.step

    @property
    def time(self) -> float:
        """Simulated time, Σ n·dt in float64, so that it does not depend on K."""
        return self._now.snapshot.time

    @property
    def warnings(self) -> tuple[str, ...]:
        """Plain sentences about values that run but should not be trusted."""
        return schema.warnings_for(self.setup, self.params)

    @property
    def program(self) -> Program:
        """The compiled program in use."""
        return self._now.held.program

    @property
    def stats(self) -> Stats:
        """The figures of now."""
        runner, now = self._runner, self._now
        every = runner.compiles + runner.growths
        return Stats(
            compiles=len(runner.compiles),
            growths=len(runner.growths),
            trace_seconds=sum(record.trace_s for record in every),
            lower_seconds=sum(record.lower_s for record in every),
            backend_seconds=sum(record.compile_s for record in every),
            last=runner.latest,
            step_seconds=now.times.median,
            step_seconds_p95=now.times.p95,
            rod_steps_per_second=now.setup.rods / now.times.median,
            temp_bytes=self.program.temp_bytes,
            device=device_name(),
            kernel=now.choice.name,
            kernel_reason=reason_now(now.choice, now.setup),
            code=now.choice.code,
            threads=runner.threads if now.choice.kernel == "native" else None,
            rods=now.setup.rods,
            capacity=self.program.capacity.rods,
            neighbours=now.held.list_stats,
        )

    def snapshot(self) -> Snapshot:
        """The current state; costs nothing."""
        return self._now.snapshot

    def measure(
        self, names: str | Iterable[str], of: Snapshot | None = None
    ) -> Mapping[str, Float32[np.ndarray, "rods"]]:
        """Measures of every rod (N,), by name: some of `engine.snapshot.MEASURES`, or one.

        Of the present state, or of the rods of another snapshot under its parameters. Compiles at
        the first time only, and where rods are so many, or lists so long, that arrays are outgrown.
        Raises `ParameterError` for an unknown name, and where there is no memory.
        """
        now = self._whole() if of is None else self._now
        meter = self._meter_for(now, now.setup.laws if of is None else of.laws)
        if of is None and is_listed(now.choice.kernel):
            return meter.of_run(now.held.state, now.held.program.capacity, now.packed, names)
        return meter.of_snapshot(of or now.snapshot, names)

    def trust(self) -> Trust:
        """The deepest overlap and the number of crossed pairs at this moment.

        Compiles at the first time only, as `measure` does, and raises as that does.
        """
        now = self._whole()
        meter = self._meter_for(now, now.setup.laws)
        if is_listed(now.choice.kernel):
            room = now.held.program.capacity
            return meter.trust_of(now.held.state, room, now.packed, now.snapshot.step)
        return meter.trust_of_snapshot(now.snapshot)

    def _meter_for(self, now: Current, laws: Laws) -> Meter:
        kernel = now.choice.kernel if is_listed(now.choice.kernel) else list_kernel(now.setup)
        if self._meter is None or (self._meter.kernel, self._meter.laws) != (kernel, laws):
            runner = self._runner
            self._meter = Meter(kernel, runner.threads, self._on_compile, runner.note, laws)
        return self._meter

    def set(self, **values: object) -> None:
        """Change live parameters; they act on the next step and compile nothing.

        A new `space_size` scales the positions, those of obstacles too; a longer `length` or larger
        `radius` may make overlaps, which are relaxed at once. Raises `ParameterError` and changes
        nothing where a value is refused.
        """
        old = self._whole()
        params = schema.with_values(old.params, **values)
        schema.check(old.setup, params)
        now, grown = old.with_params(params), _grown(old.params, params)
        if params.space_size != old.params.space_size and now.obstacles:
            factor = params.space_size / old.params.space_size
            moved = [one.scaled(factor) for one in now.obstacles]
            now = now.with_obstacles(
                checked_obstacles(moved, params.space_size, old.setup.boundary)
            )
        if params.space_size != old.params.space_size or grown:
            start, rest = Start.of(old.snapshot), remainders(old.held.state)
            now = self._seen(now.placed(*_scaled(start, rest, old.params, params)))
            if grown:
                now = self._relaxed(now, old.snapshot.activity)
        self._now = now

    def set_obstacles(self, obstacles: Iterable[Obstacle]) -> None:
        """Replace all obstacles; they act on the next step and compile nothing.

        Rods on which one is put are pushed out. Raises `ParameterError`, and changes nothing, for
        what is no obstacle and for too many.
        """
        old = self._whole()
        self._now = old.with_obstacles(
            checked_obstacles(obstacles, old.params.space_size, old.setup.boundary)
        )

    def advance(self, K: SupportsIndex) -> Snapshot:
        """Take K fused steps and return what came of them.

        Raises `SimulationError` where a step is not finite or unstable: the steps before it are
        kept. `TypeError` for a K that is no whole number.
        """
        K = operator.index(K)
        if not 0 <= K < 2**31:
            raise ParameterError("K", K, "is not possible", "Give a number of steps, at least 0.")
        if K == 0:
            return self.snapshot()
        old = self._whole()
        ran = self._runner.run(old.held, old.setup, old.packed, K, math.inf)
        done = int(ran.report.steps_done)
        self._now = now = old.after(ran, done)
        now.times.add(done, ran.seconds)
        if ran.problem:
            remedy = ran.problem.remedy
            problem = str(ran.problem).removesuffix(remedy).strip()
            raise SimulationError(
                f"Step {self.step + 1} was not taken: {problem}", remedy, now.snapshot
            )
        if not ran.report.ok:
            raise _refusal(now, ran.report)
        return now.snapshot

    def frames(self, steps: SupportsIndex, *, every: SupportsIndex) -> Iterator[Snapshot]:
        """Take `steps` steps, and give the state every so many of them, to a `for` loop.

        The present state comes first, then one after each `every` steps, and one after the last:
        of 1,000 steps every 100 there are 11. What the loop does in between is done at just that
        step: it may measure, `set` parameters, add rods, write files, or end early by `break` or an
        error, and the Driver stands at the step of the latest snapshot. Nothing is computed ahead.

        Raises `ParameterError` for numbers of steps that are none, at once, and `SimulationError`
        as `advance` does.
        """
        steps, every = operator.index(steps), operator.index(every)
        if steps < 0:
            raise ParameterError("steps", steps, "is not possible", "Give at least 0.")
        if every < 1:
            raise ParameterError("every", every, "is not possible", "Give at least 1.")
        return self._frames(steps, every)

    def _frames(self, steps: int, every: int) -> Iterator[Snapshot]:
        yield self.snapshot()
        for done in range(0, steps, every):
            yield self.advance(min(every, steps - done))

    def add(
        self, pos: ArrayLike, theta: ArrayLike, activity: ArrayLike = 0.0
    ) -> Int32[np.ndarray, "added"]:
        """Add rods at `pos` (M, 2) with angles `theta` (M,); returns their ids (M,).

        `activity` is one number or (M,). Overlaps are not relaxed: they push rods apart in the next
        steps, and a step in which a rod would jump is refused. Compiles only where the arrays have
        no room for the rods, and chooses the kernel anew then. Raises `ParameterError`, and changes
        nothing, for arrays that are no rods, for centres beyond a wall and for more rods than fit.
        """
        old = self._whole()
        new = start_from(pos, theta, activity, old.params, old.setup.boundary)
        ids = np.arange(old.next_id, old.next_id + len(new.theta), dtype=np.int32)
        if ids.size:
            last = old.snapshot
            together = Start(
                np.concatenate([last.pos, new.pos]), np.concatenate([last.theta, new.theta]),
                np.concatenate([last.activity, new.activity]),
            )  # fmt: skip
            rest = np.pad(remainders(old.held.state), ((0, ids.size), (0, 0)))
            self._now = self._resized(old, together, rest, np.concatenate([old.ids, ids]))
        return ids

    def set_activity(self, ids: ArrayLike, activity: float) -> None:
        """Give the rods with these `ids` another activity, in [0, 1]. Compiles nothing.

        Without memory (`tau_a` = 0) what they sense decides again in the next step. Raises
        `ParameterError`, and changes nothing, for an id that no rod has or another activity.
        """
        chosen = self._having(ids)
        if not chosen.any():
            return
        old = self._whole()
        last = old.snapshot
        values = np.where(chosen, np.float64(activity), last.activity)
        start = start_from(last.pos, last.theta, values, old.params, old.setup.boundary)
        self._now = self._seen(old.placed(start, remainders(old.held.state)))

    def remove(self, ids: ArrayLike) -> None:
        """Take the rods with these `ids` away; the others keep theirs. Compiles nothing.

        Raises `ParameterError`, and changes nothing, for an id that no rod has, and where no rod
        would be left.
        """
        keep = ~self._having(ids)
        if keep.all():
            return
        if not keep.any():
            raise ParameterError(
                "ids", np.ravel(ids)[:5].tolist(), "are all the rods there are",
                "Keep at least one.",
            )  # fmt: skip
        old = self._whole()
        last = old.snapshot
        kept = Start(last.pos[keep], last.theta[keep], last.activity[keep])
        self._now = self._resized(old, kept, remainders(old.held.state)[keep], old.ids[keep])

    def _having(self, ids: ArrayLike) -> Bool[np.ndarray, "rods"]:
        """Which rods have these `ids`. Raises `ParameterError` for an id that no rod has."""
        wanted = np.atleast_1d(np.asarray(ids))
        # A mask of rods is not their ids, though True equals 1.
        whole = wanted.dtype.kind in "iu" or not wanted.size
        unknown = np.setdiff1d(wanted, self.ids) if whole else wanted
        if unknown.size:
            raise ParameterError(
                "ids", unknown[:5].tolist(), "are no rods of this run", "Give ids from Driver.ids."
            )
        return np.isin(self.ids, wanted)

    def rebuild(
        self,
        setup: Setup | None = None,
        params: Params | None = None,
        seed: int | None = None,
        start: Start | None = None,
        obstacles: Iterable[Obstacle] | None = None,
    ) -> None:
        """Start anew with what is given; setup, parameters, seed and obstacles are kept otherwise.

        Compiles only where `rods`, `kernel` or a law differ from the program in use. Raises
        `ParameterError` and keeps the present run where the new one cannot be simulated.
        """
        seed, params = self.seed if seed is None else seed, params or self.params
        begun = Begun(setup or self.setup, params, start)
        if obstacles is None:
            obstacles = self.obstacles
        self._now = self._built(self.program, begun, params, seed, obstacles)

    def checkpoint(self) -> Checkpoint:
        """All that decides the bits of what follows, copied from the device."""
        now = self._whole()
        last, choice, program = now.snapshot, now.choice, now.held.program
        return Checkpoint(
            now.setup, now.params, now.seed, choice.kernel, choice.reason, choice.code,
            device_name(), program.capacity, last.step, last.time, now.origin, now.next_id,
            now.ids, dict(last.observables), arrays_of(now.held.state), now.begun,
            now.obstacles,
        )  # fmt: skip

    def resume(self, kept: Checkpoint) -> None:
        """Go on where `kept` was taken; compiles only where the program in use does not fit.

        Raises as `resumed` does, and keeps the present run then.
        """
        self._now = self._restored(self.program, kept)

    def reset(self) -> None:
        """Start anew from the same seed, or from the same arrays with the parameters of now.

        Where the box or the rods have changed since, the arrays follow as they do in `set`.
        """
        now = self._now
        self._now = self._built(self.program, now.begun, now.params, now.seed, now.obstacles)

    def _built(
        self, old: Program | None, begun: Begun, params: Params, seed: int,
        obstacles: Iterable[Obstacle],
    ) -> Current:  # fmt: skip
        """A run that begins as `begun` says, under `params`, in the program `old` if it fits."""
        setup, start = begun.setup, begun.start
        schema.check(setup, params)
        obstacles = checked_obstacles(obstacles, params.space_size, setup.boundary)
        seed, choice = schema.seed_from(seed), resolve(setup)
        check_memory(setup, choice.kernel)
        if start is None:
            begin = random_start(setup, params, seed)
        else:
            start = checked(start, begun.params, setup.boundary)
            begun = begun._replace(start=start)
            begin, _ = _scaled(start, np.zeros((len(start.theta), 3)), begun.params, params)
            if len(begin.theta) != setup.rods:
                raise ParameterError(
                    "rods", setup.rods, f"does not match a start of {len(begin.theta)} rods",
                    f"Set rods to {len(begin.theta)}, or start from random places.",
                )  # fmt: skip
        ids = names(np.arange(setup.rods) if begin.ids is None else begin.ids)
        program = self._runner.program_for(old, setup, params, choice.kernel)
        nothing = Snapshot(np.zeros((setup.rods, 4), np.float32), begin.step, begin.time, params)
        held = place(
            program, begin, params, step=begin.step, seed=seed, ids=ids, obstacles=obstacles
        )
        now = Current(
            setup, params, uploaded(params), seed, choice, ids, _after(ids), begun,
            (begin.step, begin.time), BatchTimes(), nothing, held, obstacles,
        )  # fmt: skip
        now = self._seen(now)
        if start is None or _grown(begun.params, params):
            now = self._relaxed(now, None if start is None else begin.activity)
        return now

    def _restored(self, old: Program | None, kept: Checkpoint) -> Current:
        """The run that `kept` is of, in the program `old` if it fits."""
        schema.check(kept.setup, kept.params)
        check_runs_here(kept.kernel)
        state = state_from(kept)
        program = self._runner.program_with(old, kept.setup, kept.kernel, Capacity(*kept.capacity))
        nothing = Snapshot(
            np.zeros((kept.setup.rods, 4), np.float32), kept.step, kept.time, kept.params,
            kept.observables,
        )  # fmt: skip
        return self._seen(
            Current(
                kept.setup, kept.params, uploaded(kept.params), kept.seed,
                Choice(kept.kernel, kept.reason), names(kept.ids), kept.next_id,
                Begun(*kept.began), kept.origin, BatchTimes(), nothing, Held(program, state),
                kept.obstacles,
            )
        )  # fmt: skip

    def _resized(self, old: Current, start: Start, rest: np.ndarray, ids: np.ndarray) -> Current:
        """With the rods of `start`, whose ids are `ids`."""
        setup = replace(old.setup, rods=len(ids))
        schema.check(setup, old.params)
        program, choice = old.held.program, old.choice
        if setup.rods > program.capacity.rods:
            choice = resolve(setup)
            program = self._runner.larger_for(program, setup, old.params, choice.kernel)
        # Times of steps are those of as many rods as there are.
        now = replace(
            old, setup=setup, choice=choice, ids=names(ids), times=BatchTimes(),
            next_id=max(old.next_id, _after(ids)), held=old.held._replace(program=program),
        )  # fmt: skip
        return self._seen(now.placed(start, rest))

    def _whole(self) -> Current:
        """What is held, with its rods on the device also where steps were ended early."""
        if self._now.held.lost:
            self._now = self._now.placed(Start.of(self._now.snapshot))
        return self._now

    def _seen(self, now: Current) -> Current:
        """`now` with a snapshot of what it holds."""
        return now.after(self._runner.run(now.held, now.setup, now.packed, 0, math.inf), 0)

    def _relaxed(self, now: Current, activity: np.ndarray | None) -> Current:
        """Let overlaps push rods apart, without thrust, noise or clock, then give them `activity`.

        None stands for the start activity of the setup, which may depend on where rods are. Raises
        `ParameterError` where there is no memory for a list.
        """
        params, rods, held = now.params, now.snapshot.rods, now.held
        if params.k_cc > 0:
            packed = uploaded(schema.quiet(now.setup, params))
            width, relaxed = 2 * params.radius, relaxed_move(now.setup, params)
            for _ in range(RELAX_BATCHES):
                ran = self._runner.run(held, now.setup, packed, RELAX_BATCH, RELAX_MOVE * width)
                held, rods = ran.held, np.asarray(ran.report.rods)[: now.setup.rods]
                if ran.problem:
                    raise ran.problem
                if ran.report.largest_move < relaxed or self._while_relaxing():
                    break
        pos, theta = rods[:, :2], rods[:, 2]
        if activity is None:
            activity = start_activity(now.setup, params, pos)
        relaxed = replace(now, held=held)
        return self._seen(relaxed.placed(Start(pos, theta, activity), remainders(held.state)))


def _refusal(now: Current, report: Report) -> SimulationError:
    snapshot, rod = now.snapshot, int(now.ids[int(report.worst_row)])
    what, remedy = why_refused(now.setup, now.params, rod, report.largest_move)
    return SimulationError(f"Step {snapshot.step + 1} was not taken: {what}.", remedy, snapshot)


def relaxed_move(setup: Setup, params: Params) -> float:
    """How far the fastest rod moves in a step of relaxation when overlaps have relaxed, l."""
    # At the largest safe dt a contact moves a rod by a twentieth of its overlap at first; after
    # Hertz by √(δ/2R) of that.
    share = RELAXED_OVERLAP / 20
    if setup.contact == "hertz":
        share *= math.sqrt(RELAXED_OVERLAP)
    return share * 2 * params.radius


def why_refused(
    laws: Laws, params: Params, rod: int, largest_move: SupportsFloat
) -> tuple[str, str]:
    """Why a step was refused in which that `rod` would have moved farthest, and what to do."""
    bound, dt = schema.largest_safe_dt(laws, params), params.dt
    widths = float(largest_move) / (2 * params.radius)
    if 1 < widths < math.inf:
        what = f"rod {rod} would have moved {widths:.3g} body widths"
        remedy = f"Lower F_prop, T_prop or k_cc, or dt below {dt:g}."
    else:
        what = "a place, an angle or an activity would not have been a finite number"
        remedy = "Lower what is largest of F_prop, T_prop, k_cc, D_r, D_t, w_d and w_a."
    if dt > bound:
        remedy = f"Lower dt: {dt:g} is above the largest safe step {bound:.4g}."
    return what, remedy


def _scaled(start: Start, rest: np.ndarray, old: Params, now: Params) -> tuple[Start, np.ndarray]:
    """The places of `start`, and what rounding left of them, in the box of `now`."""
    factor = now.space_size / old.space_size
    if factor == 1:
        return start, rest
    exact = factor * (np.float64(start.pos) + rest[:, :2])
    pos = exact.astype(np.float32)
    return replace(start, pos=pos), np.concatenate([exact - pos, rest[:, 2:]], axis=1)


def _after(ids: np.ndarray) -> int:
    """The first id that comes after all of these."""
    return int(ids[-1]) + 1


def _grown(old: Params, now: Params) -> bool:
    return now.length > old.length or now.radius > old.radius
