# SPDX-License-Identifier: GPL-3.0-or-later
"""The measuring process of `bench`: sets its affinity, then imports JAX and measures.

Its one argument is the job as JSON; each line it prints is a JSON object.
"""

import json
import os
import sys
from typing import Any


def main() -> None:
    """Do the job; the process's standard output is for messages only."""
    job = json.loads(sys.argv[1])
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not end up among the messages

    def say(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=messages, flush=True)

    notes = bind(job["threads"])
    from engine.study.measure import measure

    measure(job, notes, say)


def bind(threads: int) -> list[str]:
    """Let this process use `threads` CPUs; returns what there is to say about it.

    XLA and its libraries count the CPUs that they may use when they are loaded.
    """
    if "jax" in sys.modules:
        raise RuntimeError("JAX was imported before the affinity was set.")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        return []
    return [
        f"The affinity cannot be set on this system ({sys.platform}): XLA used all "
        f"{os.cpu_count()} CPUs, whatever the number of threads says."
    ]


if __name__ == "__main__":
    main()
