# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a sweep: one NetCDF file with all values, parameters, units and the spec."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import schema
from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError
from engine.study.sweep.job import Done
from engine.study.sweep.names import described
from engine.study.sweep.observing import OBSERVED
from engine.study.sweep.plan import Plan

if TYPE_CHECKING:
    import xarray

SUFFIX = ".nc"


def dataset(
    plan: Plan, done: Mapping[int, Done], text: str, versions: Mapping[str, str]
) -> "xarray.Dataset":
    """All that came of the jobs of `plan`, with the dimensions of its grid, replicate and sample.

    The dimension is `point` where points are a list. `text` is that of the spec.
    """
    import xarray

    spec, times = plan.spec, plan.spec.times
    values, failed, code, device = _collected(plan, done)
    dims = spec.varied if spec.grid is not None else ("point",)
    shape = tuple(map(len, spec.grid)) if spec.grid is not None else (len(spec.points),)
    each, sampled = (*dims, "replicate"), (*dims, "replicate", "sample")

    def of_systems(array: np.ndarray) -> np.ndarray:
        return array.reshape(*shape, spec.replicates, *array.shape[1:])

    found: dict[str, Any] = {}
    for k, name in enumerate(spec.observe):
        about = OBSERVED[name]
        found[name] = (sampled, of_systems(values)[..., k], _about(name, *about[:3]))
    seeds = np.array([system.seed for system in plan.systems], np.int64)
    found |= {
        "seed": (each, of_systems(seeds), {"long_name": "seed of the start and of the noise"}),
        "failed": (each, of_systems(failed), {"long_name": "why a system failed, or nothing"}),
        "code": (each, of_systems(code), {"long_name": "whose code the steps were"}),
        "device": (each, of_systems(device), {"long_name": "what the steps ran on"}),
    }
    found |= _parameters(plan, dims, shape)
    time = times.warm_up + times.every * np.arange(1, times.samples + 1)
    coords: dict[str, Any] = {
        "time": ("sample", time, {"units": "t", "long_name": "simulated time, to half a dt"})
    }
    if spec.grid is not None:
        for name, axis in zip(spec.varied, spec.grid, strict=True):
            coords[name] = (name, np.array(axis), _about(name, *described(name)))
    else:
        for name in spec.varied:
            listed = np.array([point[name] for point in spec.points])
            coords[name] = ("point", listed, _about(name, *described(name)))
    about = {
        "title": spec.title, "spec": text, "digest": plan.digest, **versions,
        "units": "reduced: l a length, t a time, f a force; see docs/parameters.md",
    }  # fmt: skip
    return xarray.Dataset({n: v for n, v in found.items() if n not in coords}, coords, about)


def write(found: "xarray.Dataset", path: Path, *, overwrite: bool = False) -> None:
    """Write `found` as NetCDF-4, whole or not at all. Raises `StorageError`."""
    packed = {
        name: {"zlib": True} for name, var in found.data_vars.items() if var.dtype.kind in "fi"
    }
    with whole_file(path, "result", overwrite=overwrite) as part:
        try:
            found.to_netcdf(part, engine="h5netcdf", encoding=packed)
        except RuntimeError as problem:
            # So HDF5 tells of a disk that was full when it wrote what it had put off.
            raise OSError(" ".join(str(problem).split())) from problem


def read(path: Path) -> "xarray.Dataset":
    """The result in a file. Raises `StorageError` where it is none."""
    import xarray

    try:
        with xarray.open_dataset(path, engine="h5netcdf") as kept:
            found = kept.load()
        found.attrs["digest"]
    except (OSError, RuntimeError, ValueError, KeyError) as problem:
        # HDF5 has errors of its own for what is damaged further in.
        raise StorageError(
            f"{path} is no result of a sweep, or is damaged: {problem}. Give another name with -o, "
            "or remove it."
        ) from problem
    return found


def _about(name: str, symbol: str, unit: str, doc: str) -> dict[str, str]:
    """What labels a plot, and the meaning as a comment (CF conventions)."""
    about = {"long_name": name.replace("_", " "), "symbol": symbol, "comment": doc}
    return about | ({"units": unit} if unit else {})


def _collected(
    plan: Plan, done: Mapping[int, Done]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values (systems, samples, observables), and why failed, code and device (systems,)."""
    count, times = len(plan.systems), plan.spec.times
    values = np.full((count, times.samples, len(plan.spec.observe)), np.nan)
    failed = np.array([system.problem for system in plan.systems], object)
    code, device = np.full(count, "", object), np.full(count, "", object)
    for job in plan.jobs:
        at, one = [system.number for system in job.systems], done[job.number]
        values[at], failed[at] = one.values, one.failed
        code[at], device[at] = one.code, one.device
    return values, failed.astype(str), code.astype(str), device.astype(str)


def _parameters(plan: Plan, dims: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    """Every declared parameter: one value, or one for each point where they differ."""
    firsts = plan.systems[:: plan.spec.replicates]
    found = {}
    for field in schema.FIELDS:
        values = [getattr(s.params if field.live else s.setup, field.name) for s in firsts]
        about = _about(field.name, field.symbol, field.unit, field.doc)
        if len(set(values)) == 1:
            found[field.name] = ((), values[0], about)
        else:
            found[field.name] = (dims, np.array(values).reshape(shape), about)
    return found
