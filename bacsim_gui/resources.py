# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files that are no code lie: shaders, the font, presets, icons."""

from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def assets_dir() -> Path:
    """The assets folder: inside the installed package, or beside it in a checkout.

    Raises:
        FileNotFoundError: neither is there, so the installation is incomplete.
    """
    package = Path(__file__).parent
    for folder in (package / "assets", package.parent / "assets"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"The folder 'assets' of bacsim is missing (looked beside and inside {package}). "
        "Install bacsim again."
    )


def asset_text(*parts: str) -> str:
    """The text of one asset, for example `asset_text("shaders", "rod.vert")`."""
    return assets_dir().joinpath(*parts).read_text(encoding="utf-8")
