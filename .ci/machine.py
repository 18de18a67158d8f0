# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine has and lacks: system packages, an NVIDIA card."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Debian's names: what Qt's xcb platform, OpenGL and EGL by Mesa, and text need.
WINDOW_PACKAGES = (
    *("libegl1", "libegl-mesa0", "libgl1", "libgl1-mesa-dri", "libglx-mesa0", "libopengl0"),
    *("libdbus-1-3", "libfontconfig1", "libfreetype6", "libglib2.0-0", "fonts-dejavu-core"),
    *("libwayland-client0", "libwayland-cursor0", "libwayland-egl1"),
    *("libx11-6", "libx11-xcb1", "libxkbcommon0", "libxkbcommon-x11-0"),
    *("libxcb1", "libxcb-cursor0", "libxcb-glx0", "libxcb-icccm4", "libxcb-image0"),
    *("libxcb-keysyms1", "libxcb-randr0", "libxcb-render0", "libxcb-render-util0"),
    *("libxcb-shape0", "libxcb-shm0", "libxcb-sync1", "libxcb-util1", "libxcb-xfixes0"),
    "libxcb-xkb1",
)
TEST_PACKAGES = ("xvfb", "xauth")
# For the native code, without which bacsim runs too, more slowly.
COMPILER_PACKAGE = "g++"

# The oldest driver and compute capability that JAX's wheels for each CUDA take.
CUDA_NEEDS = (("cuda13", 580, 7.5), ("cuda12", 525, 5.2))


class Card(NamedTuple):
    """An NVIDIA card as the system shows it; `trouble` says why it cannot be used as it is."""

    name: str
    driver: str = ""
    capability: float = 0.0
    trouble: str = ""
    remedy: str = ""


class CudaChoice(NamedTuple):
    """The extra to install for a card, or the reason why none fits and what to do about it."""

    extra: str
    reason: str = ""
    remedy: str = ""


def is_debian(os_release: str) -> bool:
    """Tell from the text of /etc/os-release whether apt and Debian's package names apply."""
    ids = re.findall(r"^ID(?:_LIKE)?=(.*)$", os_release, re.MULTILINE)
    words = " ".join(ids).replace('"', "").split()
    return "debian" in words or "ubuntu" in words


def missing_of(wanted: tuple[str, ...], installed: set[str]) -> list[str]:
    """List the packages in `wanted` that are not in `installed`.

    Newer Debian and Ubuntu releases ship some libraries under a name that ends in t64.
    """
    return [name for name in wanted if not {name, name + "t64"} & installed]


def asked_compiler() -> str:
    """Return the compiler that $CXX names, without its flags; empty where it names none."""
    return next(iter(os.environ.get("CXX", "").split()), "")


def compiler() -> str | None:
    """Find the C++ compiler that builds the native code: that of $CXX, or one on the path."""
    asked = asked_compiler()
    names = [asked] if asked else ["c++", "g++", "clang++"]
    return next((found for name in names if (found := shutil.which(name))), None)


def compiler_settings() -> dict[str, str]:
    """Return the environment variable that has the native code built by `compiler()`."""
    found = compiler()
    return {"CXX": os.environ.get("CXX", "").strip() or found} if found else {}


def missing_packages(*, tests: bool, native: bool = False) -> list[str]:
    """List the Debian packages that this machine lacks.

    With `tests` those for the tests too, with `native` a C++ compiler where there is none, unless
    the user has named one: another one would not help.
    """
    wanted = WINDOW_PACKAGES + (TEST_PACKAGES if tests else ())
    names = [spelling for name in wanted for spelling in (name, name + "t64")]
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
        capture_output=True,
        text=True,
        check=False,  # it fails when any of the names is unknown, which is the answer itself
    )
    lines = [line.split() for line in answer.stdout.splitlines()]
    missing = missing_of(wanted, {line[0] for line in lines if line[1:] == ["installed"]})
    if not has_venv():
        missing.insert(0, venv_package(sys.executable, sys.version_info[:2]))
    if native and not compiler() and not asked_compiler():
        missing.append(COMPILER_PACKAGE)
    return missing


def has_venv() -> bool:
    """Tell whether this Python can make environments; Debian splits that part off."""
    try:
        import ensurepip
        import venv
    except ImportError:
        return False
    return bool(ensurepip and venv)


def venv_package(executable: str, version: tuple[int, ...]) -> str:
    """Name the Debian package that lets `executable` make environments."""
    if Path(executable).name in ("python3", "python"):
        return "python3-venv"
    return "python{}.{}-venv".format(*version)


def may_install() -> list[str] | None:
    """Return the words to put before apt-get, or None where only the user can install."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
        if asked.returncode == 0:
            return ["sudo", "-n"]
    return None


def apt_name(package: str) -> str:
    """Return what has apt-get install `package` or fail.

    A name with a + that it does not know, as before its first update, is a regular expression to
    apt-get: g++ fits every package with a g. So it gets one that fits only that name.
    """
    return f"^{re.escape(package)}$" if "+" in package else package


def apt_failure(output: str) -> str:
    """Pick from apt-get's last lines its first error, of which later ones are consequences."""
    lines = output.strip().splitlines() or ["apt-get stopped without a word"]
    errors = [line.removeprefix("E: ") for line in lines if line.startswith("E: ")]
    return (errors or lines[-1:])[0].strip()


def install_line(packages: list[str], *, sudo: bool) -> str:
    """Return the one line that a user runs, in any shell like sh, to install `packages`."""
    # In double quotes, since the line of su is in single ones.
    names = [
        '"' + name.replace("$", r"\$") + '"' if name.startswith("^") else name
        for name in map(apt_name, packages)
    ]
    command = "apt-get update && {}apt-get install -y --no-install-recommends " + " ".join(names)
    if sudo:
        return "sudo " + command.format("sudo ")
    return "su -c '" + command.format("") + "'"


def read_smi(answer: str) -> Card | None:
    """Read the first card from nvidia-smi's `name,driver_version,compute_cap` in CSV."""
    fields = (
        [field.strip() for field in answer.strip().splitlines()[0].split(",")] if answer else []
    )
    if len(fields) != 3 or not re.match(r"\d+\.\d+", fields[1]):
        return None
    capability = float(fields[2]) if re.fullmatch(r"\d+\.\d+", fields[2]) else 0.0
    return Card(fields[0], fields[1], capability)


def find_card() -> Card | None:
    """Find an NVIDIA card and its driver; None where there is no card."""
    if sys.platform != "linux":
        return None
    smi = shutil.which("nvidia-smi") or shutil.which("/usr/lib/wsl/lib/nvidia-smi")
    if smi:
        query = "--query-gpu=name,driver_version,compute_cap"
        answer = subprocess.run(
            [smi, query, "--format=csv,noheader"], capture_output=True, text=True, check=False
        )
        card = read_smi(answer.stdout) if answer.returncode == 0 else None
        if card:
            return card
    if not _pci_card():
        return None
    version = Path("/proc/driver/nvidia/version")
    if not version.exists():
        return Card(
            "NVIDIA card",
            trouble="the card's NVIDIA driver is not loaded",
            remedy="install NVIDIA's driver, restart the computer, then run: make gpu",
        )
    found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", version.read_text())
    return Card(
        "NVIDIA card",
        found[0] if found else "",
        trouble="the driver is loaded, but nvidia-smi is missing or cannot reach the card",
        remedy="make nvidia-smi work (in a container: start it with its GPU), then run: make gpu",
    )


def _pci_card() -> bool:
    """Tell whether a display or compute controller by NVIDIA sits on the PCI bus."""
    for device in Path("/sys/bus/pci/devices").glob("*"):
        try:
            vendor = (device / "vendor").read_text().strip()
            kind = (device / "class").read_text().strip()
        except OSError:
            continue
        if vendor == "0x10de" and kind.startswith("0x03"):
            return True
    return False


def choose_cuda(card: Card, machine: str = platform.machine()) -> CudaChoice:
    """Choose the CUDA extra that `card` and its driver can run."""
    if card.trouble:
        return CudaChoice("", card.trouble, card.remedy)
    if machine not in ("x86_64", "aarch64"):
        return CudaChoice("", f"JAX has no CUDA for {machine} processors", "use another computer")
    driver = int(card.driver.partition(".")[0])
    for extra, oldest, lowest in CUDA_NEEDS:
        if driver >= oldest and (card.capability >= lowest or not card.capability):
            return CudaChoice(extra)
    _, oldest, lowest = CUDA_NEEDS[-1]
    if driver < oldest:
        return CudaChoice(
            "",
            f"the NVIDIA driver is {card.driver}, and JAX needs {oldest} or newer",
            f"update the driver to {oldest} or newer, then run: make gpu",
        )
    return CudaChoice(
        "",
        f"the card's compute capability is {card.capability}, and JAX needs {lowest} or higher",
        "use a newer card",
    )


def card_failure(stderr: str) -> str:
    """Pick the line that says most from what JAX prints when it cannot use a card.

    JAX first prints the exception of its CUDA plugin, then a later one that only says "no gpu".
    """
    lines = stderr.strip().splitlines() or ["JAX stopped without a word"]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return (raised or lines[-1:])[0]


def card_fingerprint() -> str:
    """Describe the card and driver cheaply, so that a later set-up sees that they changed."""
    version = Path("/proc/driver/nvidia/version")
    driver = version.read_text().splitlines()[0] if version.exists() else ""
    wsl = Path("/usr/lib/wsl/lib/nvidia-smi").exists()
    return f"{driver}|{wsl}|{_pci_card()}|{os.environ.get('BACSIM_CUDA', '')}"
