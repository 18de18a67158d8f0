# SPDX-License-Identifier: GPL-3.0-or-later
"""Which movies there are: endings, qualities, and the text that each of them carries. Pure."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

# share plays everywhere; high keeps the colour of every pixel; lossless is exact.
Quality = Literal["share", "high", "lossless"]
QUALITIES: tuple[Quality, ...] = ("share", "high", "lossless")
# A picture of the first state, and, with no ending, a folder of pictures.
PICTURE, FOLDER = ".png", ""
MOVIES = (".mp4", ".webm", ".gif")
ENDINGS = (*MOVIES, PICTURE, FOLDER)

# Browsers play a GIF of more frames a second slowly, and one of more pixels is of no use.
GIF_FPS, GIF_SIDE = 50, 1920


def ending(path: Path) -> str:
    """The ending that decides what is recorded, one of `ENDINGS`.

    Raises:
        ValueError: it is another one; the message names those that can be recorded.
    """
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise ValueError(
            f"{path} does not end in {', '.join(MOVIES)} or {PICTURE}, and a folder of pictures "
            "has no ending: choose one of these."
        )
    return suffix


def supersample(quality: str) -> Literal[1, 2]:
    """How many times as large the rods are drawn before they are halved."""
    return 2 if quality == "share" else 1


def comment_of(metadata: Mapping[str, str]) -> str:
    """Everything about a movie as one line of JSON; texts that are JSON themselves are nested."""
    comment = {name: _readable(text) for name, text in metadata.items()}
    return json.dumps(comment, ensure_ascii=False, sort_keys=True)


def metadata_of(title: str | None, comment: str | None) -> dict[str, str]:
    """What `comment_of` was given; a comment of others is returned whole, as `comment`."""
    found = {} if title is None else {"title": title}
    if comment is not None:
        try:
            found.update((key, _text(value)) for key, value in json.loads(comment).items())
        except (ValueError, AttributeError):
            found["comment"] = comment
    return found


def _readable(text: str) -> object:
    """A text that is JSON itself is written as such, and not as one quoted string."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
