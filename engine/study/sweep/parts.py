# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done of a sweep, kept job by job in a folder beside its result, until that is written."""

import json
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError
from engine.study.sweep.job import Done
from engine.study.sweep.plan import Job, Plan

PLAN = "plan.json"
# What numpy, zipfile and zlib raise for files that are cut, altered or not ours.
_DAMAGED = (
    OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, RuntimeError, TypeError,
)  # fmt: skip


class Parts:
    """The folder RESULT.parts of the sweep whose result is to be `result`.

    Raises `StorageError` where it holds parts of another sweep, and where it cannot be made.
    """

    def __init__(self, result: Path, plan: Plan, text: str) -> None:
        self.folder = result.with_name(f"{result.name}.parts")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StorageError(
                f"{self.folder} cannot be made: {problem.strerror}. Choose another place with -o."
            ) from problem
        kept = self.folder / PLAN
        if not kept.exists():
            told = json.dumps({"digest": plan.digest, "spec": text}, indent=1, ensure_ascii=False)
            with whole_file(kept, "plan of the sweep") as part:
                part.write_text(told, encoding="utf-8")
        elif _digest(kept) != plan.digest:
            raise StorageError(
                f"{self.folder} holds what is done of another sweep: the spec, or bacsim, has "
                f"changed since ({PLAN} there has the old spec). Give another result with -o, or "
                "remove that folder."
            )

    def done(self, jobs: Iterable[Job]) -> tuple[dict[int, Done], list[str]]:
        """What is kept of `jobs`, by number, and what is to be told of files that are no good."""
        found, notes = {}, []
        for job in jobs:
            path = self._path(job.number)
            if not path.exists():
                continue
            try:
                found[job.number] = _read(path, job)
            except _DAMAGED as problem:
                notes.append(f"{path} is damaged ({problem}); its systems are run again.")
        return found, notes

    def keep(self, done: Done) -> None:
        """Write what came of a job, whole or not at all. Raises `StorageError`."""
        path = self._path(done.number)
        with whole_file(path, "part of the sweep", overwrite=True) as part, part.open("wb") as file:
            np.savez(
                file, values=done.values, failed=np.array(done.failed, str),
                code=np.array(done.code), device=np.array(done.device),
            )  # fmt: skip

    def remove(self) -> None:
        """Take the folder away, when the result is written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"job-{number:06d}.npz"


def _digest(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise StorageError(
            f"{path} is damaged ({problem}), so it is not known which sweep its folder belongs to. "
            "Give another result with -o, or remove that folder."
        ) from problem


def _read(path: Path, job: Job) -> Done:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
        values, failed = kept["values"], tuple(str(why) for why in kept["failed"])
        code, device = str(kept["code"]), str(kept["device"])
    shape = (len(job.systems), job.times.samples, len(job.observe))
    if values.shape != shape or values.dtype != np.float64 or len(failed) != len(job.systems):
        raise ValueError(f"values of shape {values.shape} in place of {shape}")
    return Done(job.number, values, failed, code, device)
