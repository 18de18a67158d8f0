# SPDX-License-Identifier: GPL-3.0-or-later
"""Files written by ffmpeg directly, so that our reading is not tested against our writing."""

import subprocess
from pathlib import Path

import pytest

from bacsim_gui.encoder import ffmpeg_program
from bacsim_gui.mp4 import frame_count, metadata

PIECES = ["-movflags", "+frag_keyframe+empty_moov", "-g", "5"]
WHOLE = ["-movflags", "+faststart"]


def write(path: Path, frames: int, *options: str) -> Path:
    source = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25", "-frames:v", str(frames)]
    command = [ffmpeg_program(), "-loglevel", "error", *source, "-pix_fmt", "yuv420p"]
    subprocess.run([*command, "-tune", "zerolatency", *options, str(path)], check=True)
    return path


@pytest.mark.parametrize("kind", [PIECES, WHOLE, []])
@pytest.mark.parametrize("frames", [1, 37])
def test_frames_are_counted(kind: list[str], frames: int, tmp_path: Path) -> None:
    assert frame_count(write(tmp_path / "movie.mp4", frames, *kind)) == frames


def test_a_cut_off_recording_counts_its_whole_pieces(tmp_path: Path) -> None:
    path = write(tmp_path / "movie.mp4", 37, *PIECES)
    content, counts = path.read_bytes(), set()
    for length in range(0, len(content), 11):
        path.write_bytes(content[:length])
        counts.add(frame_count(path))
    assert counts == {0, 5, 10, 15, 20, 25, 30, 35, 37}


@pytest.mark.parametrize("kind", [PIECES, WHOLE])
def test_title_and_comment_are_read(kind: list[str], tmp_path: Path) -> None:
    about = ["-metadata", "title=Ein Schwärm", "-metadata", 'comment={"seed": "7", "φ": {"a": 1}}']
    path = write(tmp_path / "movie.mp4", 3, *kind, *about)
    assert metadata(path) == {"title": "Ein Schwärm", "seed": "7", "φ": '{"a": 1}'}


def test_a_comment_of_others_is_kept_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "movie.mp4", 3, "-metadata", "comment=made by hand; 50% = half")
    assert metadata(path) == {"comment": "made by hand; 50% = half"}


def test_a_file_that_is_no_movie_has_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none.mp4"
    for content in (b"", b"abc", b"\x00" * 64, b"not a movie, but text of some length"):
        path.write_bytes(content)
        assert frame_count(path) == 0
        assert metadata(path) == {}
