# SPDX-License-Identifier: GPL-3.0-or-later
"""Set-up for `make setup`, `make run` and `make test`; only the standard library, any python3.

It makes `.venv` in the project's root, installs the locked dependencies into it by their hashes,
then the project itself with its native code, and writes a stamp, so that the next call finds
nothing to do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import lockfile
import machine
from steps import Progress, SetupError, child_environment, stream

ROOT = lockfile.ROOT
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "bacsim-stamp.json"
# The program reads this note to say in its status bar that a card is there but unused, and why.
DEVICE_NOTE = VENV / "bacsim-device.json"
# The C++ sources, and after the installation what was built from them.
NATIVE = ROOT / "engine" / "native"
LIBRARY = "bacsim_native.*"
OLDEST = (3, 11)
ROOM = {"base": 2.5, "dev": 0.5, "cuda12": 8.0, "cuda13": 8.0}  # GB on disk, with some to spare

DEVICE_CHECK = """
import jax, jax.numpy as jnp
card = jax.devices("gpu")[0]
ones = jax.device_put(jnp.ones((256, 256)), card)
assert float((ones @ ones)[0, 0]) == 256.0, "the card computed a wrong product"
print(card.device_kind)
"""


def check_python(version: tuple[int, ...], executable: str) -> None:
    """Raise SetupError where `version` is too old for the program."""
    if version[:2] < OLDEST:
        raise SetupError(
            "bacsim needs Python {}.{} or newer, and {} is {}.{}.\n".format(
                *OLDEST, executable, *version[:2]
            )
            + "Name a newer one, for example: make setup PYTHON=python3.12"
        )


def install_system_packages(*, tests: bool, native: bool) -> None:
    """Install the system packages that are missing, or raise with the one line to run.

    With `native` a C++ compiler is one of them. Where nothing else is missing and there are no
    tests to run, set-up can go on without: `tell_of_native_code` says then what is lost.
    """
    if sys.platform != "linux":
        return
    release = Path("/etc/os-release")
    if not (release.exists() and machine.is_debian(release.read_text())):
        if not machine.has_venv():
            raise SetupError("This Python has no venv module; install it, then run make again.")
        return
    missing = machine.missing_packages(tests=tests, native=native)
    if not missing:
        return
    optional = missing == [machine.COMPILER_PACKAGE] and not tests
    prefix = machine.may_install()
    if prefix is None:
        if optional:
            return
        line = machine.install_line(missing, sudo=bool(shutil.which("sudo")))
        raise SetupError(
            "System packages are missing, and installing them needs root. "
            f"Run this line, then make again:\n\n{line}\n"
        )
    try:
        apt_install(missing, prefix)
        if machine.COMPILER_PACKAGE in missing and not machine.compiler():
            raise SetupError("\napt-get reported no error, but there is no C++ compiler now either")
    except SetupError as error:
        if optional:
            failure = machine.apt_failure(str(error))
            print(f"{machine.COMPILER_PACKAGE} could not be installed: {failure}", flush=True)
            return
        line = machine.install_line(missing, sudo=bool(prefix))
        raise SetupError(
            f"apt-get could not install the system packages:{error}\n"
            f"Run this line to see more, then make again:\n\n{line}\n"
        ) from None


def apt_install(missing: list[str], prefix: list[str]) -> None:
    """Install Debian packages, with `prefix` before the commands, and show how it goes.

    Raises SetupError with apt-get's last lines.
    """
    print(f"System packages to install: {' '.join(missing)}", flush=True)
    progress = Progress()
    total = 0

    def on_line(line: str) -> None:
        nonlocal total
        counted = re.search(r"(\d+) newly installed", line)
        if counted:
            total = int(counted[1])
            progress.show(f"  {total} packages, with what they need in turn", keep=True)
        elif line.startswith(("Get:", "Unpacking ", "Setting up ")):
            progress.show("  " + line)

    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    install = ["-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends"]
    with progress:
        stream([*apt, "update"], on_line)
        stream([*apt, *install, *map(machine.apt_name, missing)], on_line)
    print(f"  {total} system packages are installed", flush=True)


def digest() -> str:
    """Return a digest of all that decides what `.venv` holds, apart from the sections chosen."""
    sources = sorted([*NATIVE.glob("*.cpp"), *NATIVE.glob("*.h"), NATIVE / "CMakeLists.txt"])
    parts = [
        lockfile.LOCK.read_bytes(),
        lockfile.PYPROJECT.read_bytes(),
        sys.version.encode(),
        str(ROOT).encode(),
        str(bool(machine.compiler())).encode(),
        *(part for file in sources for part in (file.name.encode(), file.read_bytes())),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def read_stamp() -> dict:
    """Return what the last finished set-up wrote, or an empty dict."""
    try:
        return json.loads(STAMP.read_text()) if PYTHON.exists() else {}
    except (OSError, ValueError):
        return {}


def up_to_date(stamp: dict, wanted: set[str], now: str, card: str) -> bool:
    """Tell whether the environment that `stamp` describes has all that is wanted."""
    return (
        stamp.get("digest") == now
        and stamp.get("card") == card
        and wanted <= set(stamp.get("sections", ()))
    )


def make_venv() -> None:
    """Make `.venv`, or clean up what an interrupted set-up left in it."""
    if VENV.exists() and not os.access(VENV, os.W_OK):
        raise SetupError(f"{VENV} belongs to another user. Remove it, then run make again.")
    usable = PYTHON.exists() and (
        subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False)
    ).stdout.startswith(b"pip ")
    same = (
        usable
        and subprocess.run(
            [PYTHON, "-c", "import sys; print(sys.version, sys.prefix)"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        == f"{sys.version} {VENV}\n"
    )
    if same:
        clean_up(VENV)
        return
    print(f"Making .venv with Python {sys.version.split()[0]}", flush=True)
    stream([sys.executable, "-m", "venv", "--clear", "--prompt", "bacsim", str(VENV)], print)


def clean_up(venv: Path) -> None:
    """Remove packages that an interrupted pip left half installed in `venv`.

    Pip writes INSTALLER after a package's files, and renames to ~NAME what it is about to remove.
    """
    for packages in venv.glob("lib/python*/site-packages"):
        for info in packages.glob("*.dist-info"):
            if not (info / "INSTALLER").exists():
                shutil.rmtree(info)
        for left in packages.glob("~*"):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def pip_install(names: list[str]) -> None:
    """Install the named sections of the lock into `.venv`, by their hashes."""
    sections = lockfile.parse(lockfile.LOCK.read_text())
    chosen = lockfile.select(sections, names)
    total = chosen.count("==")
    selected = VENV / "selected.txt"
    selected.write_text(chosen)
    progress = Progress()
    begun = time.monotonic()
    seen = 0

    def on_line(line: str) -> None:
        nonlocal seen, total
        if line.startswith("Ignoring "):
            total -= 1
        elif line.startswith(("Collecting ", "Requirement already satisfied: ")):
            seen += 1
            name = line.partition("==")[0].rpartition(" ")[2]
            progress.show(f"  [{seen}/{total}] {name}")
        elif line.lstrip().startswith("Downloading "):
            size = re.search(r"\(([\d.]+) MB\)", line)
            file = line.split()[1].rpartition("/")[2]
            text = f"  [{seen}/{total}] downloading {file}" + (f", {size[1]} MB" if size else "")
            progress.show(text, keep=bool(size) and float(size[1]) >= 5)
        elif line.startswith("Installing collected packages"):
            progress.show("  unpacking and installing", keep=True)

    pip = [str(PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    how = ["--require-hashes", "--only-binary", ":all:", "--no-deps", "-r", str(selected)]
    try:
        with progress:
            stream([*pip, *how], on_line)
    except SetupError as error:
        raise SetupError(
            f"pip could not install the dependencies:{error}\n\n"
            "If the network was the cause, run make again: it goes on from here."
        ) from None
    print(f"  {total} packages in place after {time.monotonic() - begun:.0f} s", flush=True)


def prune(names: list[str]) -> None:
    """Uninstall packages that come from the lock but from none of the sections in `names`."""
    sections = lockfile.parse(lockfile.LOCK.read_text())
    spare = lockfile.package_names(sections, list(sections))
    spare -= lockfile.package_names(sections, names)
    code = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"
    answer = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    installed = {re.sub(r"[-_.]+", "-", name).lower() for name in answer.stdout.split()}
    unwanted = sorted(spare & installed)
    if unwanted:
        print(f"Removing what is no longer needed: {' '.join(unwanted)}", flush=True)
        stream([str(PYTHON), "-m", "pip", "uninstall", "-y", "-q", *unwanted], lambda line: None)


def install_project() -> None:
    """Install bacsim itself, editable, so that the checkout is what runs; build its native code.

    That is built from the beginning, so none is left that belongs to other sources.
    """
    for old in NATIVE.glob(LIBRARY):
        old.unlink()
    if machine.compiler():
        print("Building the native code", flush=True)
    how = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-q"]
    try:
        stream(
            [str(PYTHON), "-m", "pip", "install", *how, "-e", str(ROOT)],
            lambda line: None,
            machine.compiler_settings(),
        )
    except SetupError as error:
        raise SetupError(f"pip could not install bacsim itself:{error}") from None


def native_is_built() -> bool:
    """Tell whether the native code lies beside its sources."""
    return any(NATIVE.glob(LIBRARY))


def tell_of_native_code(*, tests: bool) -> None:
    """Say what is lost where the native code is not there; with `tests` raise SetupError."""
    if native_is_built():
        return
    compiler, asked = machine.compiler(), machine.asked_compiler()
    reason = "needs a C++ compiler, and there is none"
    if compiler:
        reason = "could not be built"
        settings = [f"{name}={value}" for name, value in machine.compiler_settings().items()]
        pip = [str(PYTHON), "-m", "pip", "install", "-v", "--no-deps", "--no-build-isolation"]
        command = shlex.join(["env", *settings, *pip, "-e", str(ROOT)])
        remedy = f"To see what {compiler} says: {command}"
    elif asked:
        reason = f"needs a C++ compiler, and there is no {asked}, which CXX names"
        remedy = "Name another one or unset CXX, then run make again."
    elif shutil.which("apt-get"):
        line = machine.install_line([machine.COMPILER_PACKAGE], sudo=bool(shutil.which("sudo")))
        remedy = f"To get it run this, then make again: {line}"
    else:
        remedy = "To get it install a C++ compiler, GCC or Clang, then run make again."
    if tests:
        raise SetupError(f"The native code {reason}, and the tests need it. {remedy}")
    lost = "without it bacsim runs 4 to 6 times slower on the CPU"
    print(f"The native code {reason}: {lost}. {remedy}", flush=True)


def check_room(names: list[str]) -> None:
    """Raise SetupError where the disk has too little room for the named sections."""
    needed = sum(ROOM.get(name, 0.0) for name in names)
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < needed:
        raise SetupError(
            f"{needed:.1f} GB of disk are needed at {ROOT}, and {free:.1f} GB are free."
        )


def set_up_card(sections: list[str]) -> tuple[list[str], dict]:
    """Install CUDA for a card that is found and check it; fall back to the CPU with a reason.

    Returns the sections that are then in place, and the note for the program.
    """
    card = machine.find_card()
    if card is None:
        print("No NVIDIA card was found: bacsim runs on the CPU.", flush=True)
        return sections, {"device": "cpu", "card": None}
    note = {"device": "cpu", "card": card.name, "driver": card.driver}
    if os.environ.get("BACSIM_CUDA") == "off":
        choice = machine.CudaChoice("", "BACSIM_CUDA=off was set", "run make without that setting")
    else:
        choice = machine.choose_cuda(card)
    reason, remedy = choice.reason, choice.remedy
    if choice.extra:
        print(f"{card.name}, driver {card.driver}: installing {choice.extra}, 2.5 GB", flush=True)
        try:
            check_room([choice.extra])
            pip_install([*sections, choice.extra])
            prune([*sections, choice.extra])
            print("Checking the card (this can take a minute)", flush=True)
            kind = check_device()
            print(f"  {kind} computes: bacsim runs on the card.", flush=True)
            return [*sections, choice.extra], {**note, "device": "gpu", "extra": choice.extra}
        except SetupError as error:
            reason = str(error).strip()
            remedy = "see what nvidia-smi says, put that right, then run: make gpu"
            prune(sections)
    print(
        f"The NVIDIA card is not used: {reason}\nbacsim runs on the CPU. To use it, {remedy}",
        flush=True,
    )
    return sections, {**note, "reason": reason.splitlines()[-1].rstrip("."), "remedy": remedy}


def check_device() -> str:
    """Compute one product on the card; return the card's name, or raise with JAX's own reason."""
    environment = {**child_environment(), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    environment.pop("JAX_PLATFORMS", None)
    try:
        answer = subprocess.run(
            [PYTHON, "-c", DEVICE_CHECK],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SetupError("the card did not finish one small product in 5 minutes") from None
    if answer.returncode:
        raise SetupError("JAX could not use the card: " + machine.card_failure(answer.stderr))
    return answer.stdout.strip()


def setup(extras: set[str], *, retry_card: bool = False, quiet: bool = False) -> None:
    """Bring `.venv` up to date with the lock and with `extras`; do nothing where it is."""
    check_python(sys.version_info[:2], sys.executable)
    if sys.platform == "win32":
        raise SetupError("make works on Linux and macOS. On Windows use WSL2, or: pip install .")
    stamp, card, tests = read_stamp(), machine.card_fingerprint(), "dev" in extras

    def current() -> bool:
        complete = native_is_built() or not stamp.get("native")
        return complete and up_to_date(stamp, extras, digest(), card) and not retry_card

    # What is called often, such as make run, does not try to get a compiler each time.
    install_system_packages(tests=tests, native=tests or not quiet or not current())
    if current():  # also with the compiler that may have come
        if not quiet:
            print(".venv is up to date.")
        if tests or not quiet:
            tell_of_native_code(tests=tests)
        return
    now = digest()
    # What was installed once stays: `make run` after `make test` does not remove the test tools.
    known = set(stamp.get("sections", ()))
    optional = [name for name in ("dev", "lock") if name in extras | known]
    begun = time.monotonic()
    if not PYTHON.exists():
        check_room(["base", *optional])
    make_venv()
    # From here to the end nothing counts as up to date, but what was wanted is still known.
    STAMP.write_text(json.dumps({"sections": sorted(known | {*optional})}) + "\n")
    print("Installing Python packages by the hashes in requirements.lock", flush=True)
    pip_install(["build"])
    sections = ["build", "base", *optional]
    pip_install(sections)
    install_project()
    tell_of_native_code(tests=tests)
    same_card = stamp.get("digest") == now and stamp.get("card") == card and not retry_card
    if same_card and DEVICE_NOTE.exists():
        sections += [name for name in ("cuda12", "cuda13") if name in known]
    else:
        sections, note = set_up_card(sections)
        DEVICE_NOTE.write_text(json.dumps(note, indent=1) + "\n")
    prune(sections)
    stamp = {"digest": now, "card": card, "sections": sections, "native": native_is_built()}
    STAMP.write_text(json.dumps(stamp) + "\n")
    print(f"Set-up is done after {time.monotonic() - begun:.0f} s.", flush=True)


def no_window_reason() -> str:
    """Return what keeps a window from opening here, as the program tells it; empty if nothing."""
    code = (
        "from bacsim_gui import bootstrap as b; b.prepare_window(); print(b.window_problem() or '')"
    )
    asked = [PYTHON, "-c", code]
    answer = subprocess.run(asked, env=child_environment(), stdout=subprocess.PIPE, check=True)
    return answer.stdout.decode().strip()


def run(arguments: list[str]) -> None:
    """Open the window, which begins with the swarming preset; without a display render a movie.

    `arguments` go to either: a flag that a movie does not know is refused there, not left out.
    """
    reason = no_window_reason()
    if not reason:
        program = str(VENV / "bin" / "bacsim-gui")
        os.execve(program, [program, *arguments], child_environment())
    movie = ROOT / "swarm.mp4"
    print(f"{reason}\nA movie is rendered instead.", flush=True)
    program = str(VENV / "bin" / "bacsim")
    what = ["movie", "--seconds", "10", "--out", str(movie), *arguments]
    sys.exit(subprocess.run([program, *what], env=child_environment(), check=False).returncode)


def main() -> None:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("setup", "run"))
    parser.add_argument("--tests", action="store_true", help="also what the tests need")
    parser.add_argument("--lock", action="store_true", help="also what writes the lock")
    parser.add_argument("--retry-card", action="store_true", help="try an NVIDIA card again")
    parser.add_argument("--quiet", action="store_true", help="say nothing where nothing is to do")
    options, arguments = parser.parse_known_args()
    wanted = (("dev", options.tests), ("lock", options.lock))
    extras = {name for name, on in wanted if on}
    try:
        setup(extras, retry_card=options.retry_card, quiet=options.quiet or options.task == "run")
        if options.task == "run":
            run(arguments)
    except SetupError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run make again: it goes on from here.")


if __name__ == "__main__":
    main()
