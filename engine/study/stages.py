# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of traced frames went, by stage of the step. Pure: text and events in, times out.

A profiler names what ran by operations of the compiled program (`add_divide_fusion`); the program's
text tells which `jax.named_scope` of `engine.step` each of them comes from.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

# The scopes of engine.step, in the order in which a step takes them.
STAGES = (
    "pair_sums", "surroundings", "propulsion", "velocity", "limit", "time_step", "noise",
    "activity", "position", "directions", "native_steps", "list_check", "neighbour_list", "check",
    "snapshot",
)  # fmt: skip
# An operation ran, but its stage is not in the program's text: mostly the loop over K itself.
UNKNOWN = "unknown"
# No operation of the program ran: the call itself, copies to the host, waiting.
IDLE = "no operation"
# The annotation around a traced frame.
FRAME = "frame"
# What a CPU's thread writes when it takes up a task.
TASK = "ThreadpoolListener::StartRegion"

_COMPUTATION = re.compile(r"^(?:ENTRY )?%(\S+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%(\S+) = (?:\(.*?\)|\S+) ([\w-]+)\(")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_CALLED = re.compile(
    r"(?:calls|body|condition|to_apply|true_computation|false_computation)=%([\w.-]+)"
    r"|branch_computations=\{([^}]*)\}"
)
_CONTROL = ("while", "conditional", "call")


@dataclass(frozen=True)
class Operations:
    """What a program's text tells: the stage of each operation, which ones run others, and inside.

    `stage` has no entry for an operation of unknown stage; `control` are loops, branches and calls;
    `inside` lists the stages that a fused operation computes besides its own; `caller` names the
    operation that runs another one, where that is not the program itself.
    """

    module: str
    stage: Mapping[str, str]
    control: frozenset[str]
    inside: Mapping[str, frozenset[str]]
    caller: Mapping[str, str]

    def is_part(self, name: str, of: str) -> bool:
        """Whether operation `name` is `of`, or is run by it or by what it runs."""
        current: str | None = name
        while current and current != of:
            current = self.caller.get(current)
        return current == of


@dataclass
class StageTimes:
    """Seconds of the traced frames by operation, and what the program's text says of these.

    The times of all operations, `UNKNOWN` included, and of `IDLE` add up to `frame_seconds`.
    """

    frames: int
    frame_seconds: float
    idle_seconds: float
    seconds: Mapping[str, float] = field(default_factory=dict)
    stage: Mapping[str, str] = field(default_factory=dict)

    def of_stage(self, stage: str) -> float:
        """Seconds of one stage, `UNKNOWN` or `IDLE`."""
        if stage == IDLE:
            return self.idle_seconds
        return sum(s for name, s in self.seconds.items() if self.stage.get(name, UNKNOWN) == stage)

    def operations(self, stage: str) -> list[tuple[str, float]]:
        """The operations of one stage with their seconds, the longest first."""
        own = [item for item in self.seconds.items() if self.stage.get(item[0], UNKNOWN) == stage]
        return sorted(own, key=lambda item: -item[1])


@dataclass(frozen=True)
class _Instruction:
    """One line of the program: where it stands, its stage if it says so, what it calls."""

    computation: str
    opcode: str
    scope: str | None
    calls: tuple[str, ...]


def read_operations(text: str) -> Operations:
    """What the optimised program's HLO text tells about its operations."""
    module = text.partition("HloModule ")[2].partition(",")[0].strip()
    instructions = _instructions(text)
    control = frozenset(name for name, i in instructions.items() if i.opcode in _CONTROL)
    scopes_of: defaultdict[str, set[str]] = defaultdict(set)
    for i in instructions.values():
        scopes_of[i.computation] |= {i.scope} if i.scope else set()
    inside = {
        name: frozenset().union(*(scopes_of[called] for called in i.calls))
        for name, i in instructions.items()
        if i.calls and name not in control
    }
    calls = {called: name for name, i in instructions.items() for called in i.calls}
    caller = {
        name: calls[i.computation] for name, i in instructions.items() if i.computation in calls
    }

    def stage_of(name: str) -> str | None:
        """Its own scope; else the only one that it computes; else that of what calls it."""
        own = instructions[name]
        if own.scope:
            return own.scope
        if len(inside.get(name, ())) == 1:
            return next(iter(inside[name]))
        outer = caller.get(name)
        return stage_of(outer) if outer else None

    stage = {name: found for name in instructions if (found := stage_of(name))}
    inside = {name: scopes - {stage.get(name)} for name, scopes in inside.items()}
    return Operations(module, stage, control, inside, caller)


def _instructions(text: str) -> dict[str, _Instruction]:
    """Every instruction of the HLO text by its name."""
    found, computation = {}, ""
    for line in text.splitlines():
        if opening := _COMPUTATION.match(line):
            computation = opening[1]
        elif head := _INSTRUCTION.match(line):
            op_name = _OP_NAME.search(line)
            path = op_name[1].split("/") if op_name else []
            scope = next((part for part in path if part in STAGES), None)
            calls = tuple(
                part.strip().lstrip("%")
                for one, several in _CALLED.findall(line)
                for part in (several.split(",") if several else [one])
            )
            found[head[1]] = _Instruction(computation, head[2], scope, calls)
    return found


def stage_times(events: Iterable[Mapping[str, Any]], operations: Operations) -> StageTimes:
    """Divide the time of the traced frames among the operations that ran in them.

    Each moment belongs to the operations that run then, in equal parts where several do; a loop or
    branch has the moments in which none of its operations runs.
    """
    spans, frames = operation_spans(events, operations)
    marks = [(at, 0, 1, FRAME) for at, _ in frames] + [(end, 1, -1, FRAME) for _, end in frames]
    for name, begin, end in spans:
        marks += [(begin, 0, 1, name), (end, 1, -1, name)]
    marks.sort(key=lambda mark: mark[:2])
    seconds: defaultdict[str, float] = defaultdict(float)
    running: defaultdict[str, int] = defaultdict(int)
    nested: list[str] = []  # loops and branches that run, the innermost last
    idle, in_frame, last = 0.0, 0, 0.0
    for at, _, change, name in marks:
        if in_frame and at > last:
            owners = list(running) or nested[-1:]
            for owner in owners:
                seconds[owner] += (at - last) / len(owners)
            idle += (at - last) * (not owners)
        last = at
        if name == FRAME:
            in_frame += change
        elif name not in operations.control:
            running[name] += change
            if not running[name]:
                del running[name]
        elif change > 0:
            nested.append(name)
        else:
            nested.remove(name)
    total = sum(end - begin for begin, end in frames)
    return StageTimes(len(frames), total, idle, dict(seconds), operations.stage)


Thread = tuple[Any, Any]  # process, thread
Item = TypeVar("Item")


class _Event(NamedTuple):
    """An event of the profiler; seconds."""

    begin: float
    end: float
    thread: Thread


@dataclass
class _Threads:
    """What began on each thread, in order of time: its tasks, and (when, which) operations."""

    tasks: defaultdict[Thread, list[float]]
    operations: defaultdict[Thread, list[tuple[float, str]]]

    def done(self, name: str, run: _Event, told: _Event, of: Operations) -> float:
        """When `run` of `name` was done that was handed over, and whose end was `told`.

        The thread that does the last of it goes on with what waited for it, in the same task, and
        tells the end only then. So it was done when something else than its parts began there.
        """
        tasks, begun = self.tasks[told.thread], self.operations[told.thread]
        i = bisect_right(tasks, told.begin)
        since = max(run.end, tasks[i - 1] if i else run.end)
        later = _from(begun, bisect_left(begun, (since, "")))
        before = takewhile(lambda start: start[0] <= told.begin, later)
        return next((at for at, other in before if not of.is_part(other, name)), told.end)


def operation_spans(
    events: Iterable[Mapping[str, Any]], operations: Operations
) -> tuple[list[tuple[str, float, float]], list[tuple[float, float]]]:
    """The runs of every operation as (name, begin, end), and the frames as (begin, end); seconds.

    On a CPU an operation may be handed to other threads; the event of its own name ends when it was
    handed over, and a second one, "end: name", comes some time after it is done.
    """
    runs: defaultdict[str, list[_Event]] = defaultdict(list)
    ends: defaultdict[str, list[_Event]] = defaultdict(list)
    threads = _Threads(defaultdict(list), defaultdict(list))
    frames = []
    for event in events:
        if event.get("ph") != "X":
            continue
        name, begin = event["name"], event["ts"] * 1e-6
        seen = _Event(begin, begin + event["dur"] * 1e-6, (event.get("pid"), event.get("tid")))
        arguments = event.get("args", {})
        if arguments.get("hlo_module") == operations.module and "hlo_op" in arguments:
            runs[arguments["hlo_op"]].append(seen)
            threads.operations[seen.thread].append((begin, arguments["hlo_op"]))
        elif name.startswith("end: "):
            ends[name.removeprefix("end: ")].append(seen)
        elif name == TASK:
            threads.tasks[seen.thread].append(begin)
        elif name == FRAME:
            frames.append((begin, seen.end))
    for began in (*threads.tasks.values(), *threads.operations.values()):
        began.sort()
    spans = [
        (name, run.begin, threads.done(name, run, told, operations) if told else run.end)
        for name, of_name in runs.items()
        for run, told in _with_ends(of_name, ends[name])
    ]
    return spans, frames


def _with_ends(
    runs: Iterable[_Event], ends: Iterable[_Event]
) -> Iterator[tuple[_Event, _Event | None]]:
    """The runs of one operation, each with the event that told its end if it was handed over.

    None for a run that lasted until its end was told, and where events are missing.
    """
    ends, handed_over = sorted(ends), []
    told_within: set[_Event] = set()
    for run in sorted(runs):
        nearby = _from(ends, bisect_left(ends, run.begin, key=_begin))
        within = takewhile(lambda end, run=run: end.begin <= run.end, nearby)
        told = next((end for end in within if end.thread == run.thread), None)
        if told:
            told_within.add(told)
            yield run, None
        else:
            handed_over.append(run)
    later = [end for end in ends if end not in told_within]
    if len(later) == len(handed_over):
        yield from zip(handed_over, later, strict=True)
    else:
        yield from ((run, None) for run in handed_over)


def _begin(event: _Event) -> float:
    return event.begin


def _from(items: Sequence[Item], first: int) -> Iterator[Item]:
    """The items from number `first` on, without a copy of them."""
    return (items[i] for i in range(first, len(items)))
