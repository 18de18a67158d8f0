# SPDX-License-Identifier: GPL-3.0-or-later
"""What bacsim does on this machine's card, in minutes: `python -m benchmarks.gpu > gpu.json`.

Steps of every kernel over the number of rods, their memory and compile times, calls of few steps,
frames drawn off screen, and how near a step comes to the card's limits; all of the standard
benchmark. What does not fit into the time is named under `skipped`. It also runs without a card.

One process measures everything with an empty compile cache; a second one starts again with the
cache that it left. Standard output is the JSON, progress goes to standard error.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bacsim_gui.bootstrap import child_environment
from bacsim_gui.flags import PlainParser, number
from benchmarks.checks import LONGEST, writable
from benchmarks.limits import with_limits
from benchmarks.rounds import DEVELOPED, describe_machine
from engine.schema import ParameterError
from engine.study import standard

ROOT = Path(__file__).resolve().parents[1]

# `base` rods are relaxed and developed; larger states are copies of theirs. `most` bounds the
# kernels that do not scale; `again` is the largest size that a second start compiles again.
FULL: dict[str, Any] = {
    "base": 1024, "copies": (1, 2, 4, 8, 16, 32), "most": {"naive": 4096, "rowsum": 65536},
    "calls": (4096, 65536), "K": (1, 8, 64), "frames": (4096, 65536, 1048576),
    "picture": (1280, 720), "again": 4096, "rounds": 5, "round_seconds": 0.3,
    "developed": DEVELOPED, "copied_bytes": 2**28, "matrix": 8192,
}  # fmt: skip
SMALL = FULL | {
    "base": 64, "copies": (1, 2), "most": {"naive": 64, "rowsum": 64}, "calls": (256,),
    "K": (1, 4), "frames": (256,), "picture": (160, 90), "again": 64, "round_seconds": 0.02,
    "developed": 50, "copied_bytes": 2**20, "matrix": 128,
}  # fmt: skip

# The share of the time that the second start may count on.
SHARE_OF_AGAIN = 0.15


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write what was found."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        seconds = number("seconds", chosen.seconds, 0, LONGEST)
        writable("json", chosen.json)
    except ParameterError as error:
        parser.error(str(error))
    found = measure(SMALL if chosen.small else FULL, seconds)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if chosen.json:
        chosen.json.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def measure(plan: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Everything that `plan` asks for and that fits into `seconds`."""
    begin, params = time.monotonic(), asdict(standard.PARAMS)
    del params["space_size"]
    found: dict[str, Any] = {
        "machine": describe_machine(),
        "benchmark": {
            "packing_fraction": standard.PACKING_FRACTION, "developed_steps": plan["developed"],
            "params": params,
        },
        "steps": [], "calls": [], "frames": [], "skipped": [],
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="bacsim-gpu-") as folder:
        for part, until in (("measure", seconds * (1 - SHARE_OF_AGAIN)), ("again", seconds)):
            left = until - (time.monotonic() - begin)
            measured = [(row["kernel"], row["rods"]) for row in found["steps"]]
            job = {"part": part, "measured": measured, **plan}
            for message in _messages(job, Path(folder), left):
                _take(message, found)
    found["steps"] = with_limits(found["steps"], found.get("cost"), found.get("limits"))
    found["seconds"] = {"given": seconds, "used": round(time.monotonic() - begin, 1)}
    return found


def _take(message: dict[str, Any], found: dict[str, Any]) -> None:
    """Put what a process said where it belongs."""
    for kind, content in message.items():
        if kind == "doing":
            print(f"… {content}", file=sys.stderr, flush=True)
        elif kind == "warm":
            for row in found["steps"]:
                if (row["kernel"], row["rods"]) == (content["kernel"], content["rods"]):
                    row["warm"] = content["start"]
        elif isinstance(found.get(kind), list):
            found[kind].append(content)
        else:
            found[kind] = {**found.get(kind, {}), **content}


def _messages(job: dict[str, Any], folder: Path, seconds: float) -> Iterator[dict[str, Any]]:
    """What a measuring process says, one JSON object a line; it is ended after `seconds`.

    What it had planned and did not come to is told as skipped.
    """
    command = [sys.executable, "-P", "-m", "benchmarks.gpu_process"]
    command.append(json.dumps({**job, "seconds": seconds, "folder": str(folder)}))
    planned: list[str] = []
    with (
        (folder / "errors.txt").open("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(
            command, env=_environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=log, encoding="utf-8",
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        over = threading.Event()
        timer = threading.Timer(max(seconds, 0), lambda: (over.set(), process.kill()))
        timer.start()
        try:
            for line in process.stdout:
                message = json.loads(line)
                planned += message.pop("planned", [])
                if "done" in message:
                    planned.remove(message.pop("done"))
                yield message
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
        log.seek(0)
        why = _why(status, log.read(), over=over.is_set())
    if status:
        for what in planned or [f"everything of the part {job['part']}"]:
            yield {"skipped": {"what": what, "why": why}}


def _why(status: int, said: str, *, over: bool) -> str:
    if over:
        return "the time was over"
    last = [line.strip() for line in said.splitlines() if line.strip()]
    return f"the process ended: {last[-1] if last and status > 0 else f'status {status}'}"


def _environment(folder: Path) -> dict[str, str]:
    """The user's environment with a compile cache of its own, and drawing without a window."""
    of_caches = ("JAX_COMPILATION", "JAX_PERSISTENT", "JAX_ENABLE_COMPILATION")
    kept = {k: v for k, v in child_environment().items() if not k.startswith(of_caches)}
    kept.pop("DISPLAY", None)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    own = {"BACSIM_CACHE": str(folder / "cache"), "PYTHONPATH": path}
    if sys.platform == "linux":
        own["PYOPENGL_PLATFORM"] = "egl"
    return kept | own


def _parser() -> PlainParser:
    parser = PlainParser(prog="benchmarks.gpu", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--seconds", default="280", help="the time it may take; default %(default)s"
    )
    parser.add_argument("--small", action="store_true", help="few rods, to see whether it works")
    parser.add_argument("--json", type=Path, help="write the JSON there instead of printing it")
    return parser


if __name__ == "__main__":
    main()
