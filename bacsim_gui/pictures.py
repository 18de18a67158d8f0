# SPDX-License-Identifier: GPL-3.0-or-later
"""PNG pictures, with what made them written inside, and the comment of a GIF."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bacsim_gui.movie_formats import comment_of, metadata_of

# Beyond this level a picture of rods shrinks by a twentieth and takes a third longer.
_COMPRESSION = 3


def write_picture(path: Path, picture: np.ndarray, metadata: Mapping[str, str]) -> None:
    """Write (height, width, 4) uint8, of which the fourth channel is ignored, as a PNG.

    The file is complete or not there; one of that name is replaced.

    Raises:
        OSError: it could not be written.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    if "title" in metadata:
        texts.add_text("Title", metadata["title"])
    if "bacsim" in metadata:
        texts.add_text("Software", f"bacsim {metadata['bacsim']}")
    texts.add_text("Comment", comment_of(metadata))
    image = Image.fromarray(np.ascontiguousarray(picture[..., :3]))
    new = path.with_name(f"{path.name}.part")
    try:
        image.save(new, "PNG", pnginfo=texts, compress_level=_COMPRESSION)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def picture_metadata(path: Path) -> dict[str, str]:
    """What was written into a PNG or a GIF about it; nothing if it is no such picture.

    Raises:
        OSError: it cannot be read.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=("PNG", "GIF")) as image:
            about = dict(image.info)
    except (UnidentifiedImageError, SyntaxError, ValueError):
        return {}
    comment = about.get("Comment", about.get("comment"))
    if isinstance(comment, bytes):
        comment = comment.decode("utf-8", "replace")
    return metadata_of(about.get("Title"), comment)


def add_comment(gif: Path, commented: Path, metadata: Mapping[str, str]) -> None:
    """Copy a GIF with a comment after its head, which ffmpeg does not write.

    Raises:
        OSError: it could not be written.
    """
    comment = comment_of(metadata).encode("utf-8")
    with gif.open("rb") as source, commented.open("wb") as copy:
        head = source.read(13)
        # The lowest bits of the eleventh byte tell the length of the table of colours.
        table = 3 << ((head[10] & 7) + 1) if head[10] & 0x80 else 0
        copy.write(head + source.read(table) + b"\x21\xfe")
        for at in range(0, len(comment), 255):
            part = comment[at : at + 255]
            copy.write(bytes([len(part)]) + part)
        copy.write(b"\0")
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
