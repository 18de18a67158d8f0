# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all."""

import os

import pytest

from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError


def write(path, text: str, *, overwrite: bool) -> None:
    with whole_file(path, "text", overwrite=overwrite) as part:
        part.write_text(text)


def test_what_a_link_leads_to_is_overwritten_and_the_link_stays(tmp_path):
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link", tmp_path / "far" / "file"
    link.symlink_to(target)
    for text in ("new", "newer"):  # one that leads nowhere yet, and one to a file
        write(link, text, overwrite=True)
        assert link.is_symlink()
        assert target.read_text() == text
    with pytest.raises(StorageError, match="exists already"):
        write(link, "newest", overwrite=False)
    assert target.read_text() == "newer"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["far", "file", "link"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_file_stays_as_it_is(overwrite, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StorageError, match=r"no file|exists already"):
        write(pipe, "text", overwrite=overwrite)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
