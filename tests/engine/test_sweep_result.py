# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of a sweep: what a full disk and damage come to."""

import pytest
import xarray

from engine.storage.errors import StorageError
from engine.study.sweep import result


@pytest.fixture
def found() -> xarray.Dataset:
    return xarray.Dataset({"polar_order": ("sample", [0.5, 0.25])}, attrs={"digest": "abc"})


def test_a_disk_that_is_full_when_hdf5_comes_to_write_is_told(found, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("flush failed (errno = 28,\n error message = 'No space left on device')")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", full)
    with pytest.raises(StorageError, match=r"cannot be written.*No space left.*make room"):
        result.write(found, tmp_path / "r.nc")
    assert not list(tmp_path.iterdir())


def test_damage_further_in_is_told_as_such(found, tmp_path, monkeypatch):
    path = tmp_path / "r.nc"
    result.write(found, path)
    assert result.read(path).equals(found)

    def damaged(*_: object, **__: object) -> None:
        raise RuntimeError("incorrect metadata checksum after all read attempts")

    monkeypatch.setattr(xarray, "open_dataset", damaged)
    with pytest.raises(StorageError, match=r"r\.nc .*damaged.*checksum.*-o"):
        result.read(path)
