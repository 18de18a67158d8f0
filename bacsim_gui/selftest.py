# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with the machine: judged from plain facts, with a remedy for each. No Qt."""

from collections.abc import Mapping
from dataclasses import dataclass

# Names by which OpenGL that is drawn by the processor goes.
_SOFTWARE = (
    "llvmpipe", "softpipe", "swrast", "swiftshader", "software rasterizer", "gdi generic",
    "basic render", "apple software",
)  # fmt: skip
# Variables that remote desktops set, and what each is called.
_REMOTE = {
    "XRDP_SESSION": "xrdp", "VNCDESKTOP": "VNC", "X2GO_SESSION": "X2Go", "NXSESSIONID": "NX",
    "CHROME_REMOTE_DESKTOP_SESSION": "Chrome Remote Desktop",
}  # fmt: skip
# Instanced drawing is part of OpenGL from this version on.
NEEDED = (3, 3)


@dataclass(frozen=True)
class Graphics:
    """The OpenGL of a context: who made it, what draws, its version; `es` for OpenGL ES."""

    vendor: str
    renderer: str
    version: str
    number: tuple[int, int]
    es: bool = False
    instanced: bool = True

    def __str__(self) -> str:
        return f"{self.version}, {self.renderer}, {self.vendor}"


@dataclass(frozen=True)
class Advice:
    """One sentence on what is not as it should be, and what to do."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"


def judged(
    graphics: Graphics | None,
    platform: str,
    device: str,
    note: str,
    card: str,
    environment: Mapping[str, str],
) -> list[Advice]:
    """All advice on a machine, the most pressing first.

    Args:
        graphics: the OpenGL of the window; None where that is not known.
        platform: of Qt, such as "xcb"; empty where that is not known.
        device: what JAX computes on, "CPU" or the name of a card; empty while not known.
        note: what set-up says about a card that is not used.
        card: the NVIDIA card that the system sees; empty for none.
        environment: the variables of the process.
    """
    found = list(_of_platform(platform, environment))
    if graphics is not None:
        found += _of_graphics(graphics, environment)
    if device == "CPU" and (note or card):
        what = note or f"{card} is here, but JAX computes on the processor."
        remedy = "" if note else (
            "In a checkout run make gpu; otherwise install the extra for the card's driver: "
            "pip install 'bacsim[cuda12]' or 'bacsim[cuda13]'."
        )  # fmt: skip
        found.append(Advice(what, remedy))
    return found


def _of_graphics(graphics: Graphics, environment: Mapping[str, str]) -> list[Advice]:
    if graphics.es:
        return [Advice(
            f"Only OpenGL ES is offered here ({graphics.renderer}), not the OpenGL of desktops.",
            "Install the desktop driver of the card, or let the processor draw: start with "
            "LIBGL_ALWAYS_SOFTWARE=1.",
        )]  # fmt: skip
    if graphics.number < NEEDED and not graphics.instanced:
        return [Advice(
            f"OpenGL {graphics.version} of {graphics.renderer} is too old: rods need "
            f"{NEEDED[0]}.{NEEDED[1]}.",
            "Install a newer graphics driver, or let the processor draw: start with "
            "LIBGL_ALWAYS_SOFTWARE=1.",
        )]  # fmt: skip
    if not is_software(graphics):
        return []
    remote = remote_desktop(environment)
    if remote:
        remedy = (
            f"Under {remote}, VirtualGL lets the card of that machine draw (vglrun bacsim-gui)."
        )
    elif "SSH_CONNECTION" in environment:
        remedy = "Work at that machine's screen, or make movies there with bacsim movie."
    else:
        remedy = "Install the driver of the graphics card, where there is one."
    return [Advice(
        f"The processor draws the picture ({graphics.renderer}), which is slow from some 10,000 "
        "rods on.",
        remedy,
    )]  # fmt: skip


def _of_platform(platform: str, environment: Mapping[str, str]) -> list[Advice]:
    if platform in ("offscreen", "minimal", "vnc", "linuxfb"):
        return [Advice(
            f"Qt's platform is {platform}, on which there is no OpenGL.",
            "Start without QT_QPA_PLATFORM, on a screen; without one, use bacsim movie.",
        )]  # fmt: skip
    if platform.startswith("wayland"):
        return [Advice(
            "Qt runs on Wayland, as QT_QPA_PLATFORM has it; the picture may stay blank.",
            "Start without QT_QPA_PLATFORM: the window then uses Xwayland.",
        )]  # fmt: skip
    # What ssh -X forwards is a display of this machine with a number from 10 on.
    host, _, number = environment.get("DISPLAY", "").partition(":")
    forwarded = host in ("localhost", "127.0.0.1") and number.split(".")[0].isdigit()
    if platform == "xcb" and "SSH_CONNECTION" in environment and forwarded:
        return [Advice(
            "The window is shown by ssh -X: each picture crosses the network.",
            "A remote desktop with VirtualGL is faster; so is bacsim movie, over there.",
        )]  # fmt: skip
    return []


def is_software(graphics: Graphics) -> bool:
    """Whether the processor draws."""
    return any(name in graphics.renderer.lower() for name in _SOFTWARE)


def remote_desktop(environment: Mapping[str, str]) -> str:
    """The remote desktop that this is, as far as it tells; empty for none."""
    return next((name for key, name in _REMOTE.items() if environment.get(key)), "")
