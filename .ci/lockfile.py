# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock: one requirements file in sections, one section for each thing that set-up can install.

Every line is an ordinary pip requirement with its hashes and environment markers. A section holds
what its extra needs beyond the base, so that a machine without a card never downloads CUDA. Run as
a program (`make lock`) this file writes the lock anew with uv.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
PYPROJECT = ROOT / "pyproject.toml"

# Section name -> how uv is told to resolve it.
SECTIONS = {
    "build": ["--group", "build"],
    "base": [],
    "dev": ["--extra", "dev"],
    "cuda12": ["--extra", "cuda12"],
    "cuda13": ["--extra", "cuda13"],
    "lock": ["--group", "lock"],
}
# Sections that stand alone; the others hold only what comes on top of base.
ALONE = ("build", "base", "lock")

HEADER = """\
# SPDX-License-Identifier: GPL-3.0-or-later
# Written by `make lock`; do not edit. `make setup` installs the sections that a machine needs.
# declared: sha256:{digest}
"""


def parse(text: str) -> dict[str, dict[str, str]]:
    """Split a lock into {section: {"name==version": requirement text with its hashes}}."""
    sections: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        title = re.fullmatch(r"# \[(\w+)\]", line)
        if title:
            current = sections.setdefault(title[1], {})
        elif line[:1].isalnum():
            key = line.split()[0]
            current[key] = line
        elif line.startswith("    --hash="):
            current[key] += "\n" + line
    return sections


def select(sections: dict[str, dict[str, str]], names: list[str]) -> str:
    """Join the named sections to a requirements file; a later section's markers win."""
    chosen: dict[str, str] = {}
    for name in names:
        chosen.update(sections[name])
    return "\n".join(chosen[key] for key in sorted(chosen)) + "\n"


def package_names(sections: dict[str, dict[str, str]], names: list[str]) -> set[str]:
    """Return the distribution names (without versions) that the named sections hold."""
    return {key.partition("==")[0] for name in names for key in sections[name]}


def declared_digest(pyproject: str) -> str:
    """Return a digest of what pyproject.toml declares to need; comments and tools do not count."""
    import tomllib  # not at the top: set-up must be able to tell an old Python that it is too old

    data = tomllib.loads(pyproject)
    project = data["project"]
    needs = {
        "python": project["requires-python"],
        "dependencies": project["dependencies"],
        "extras": project["optional-dependencies"],
        "groups": data["dependency-groups"],
        "build": data["build-system"]["requires"],
    }
    return hashlib.sha256(json.dumps(needs, sort_keys=True).encode()).hexdigest()


def _resolve(options: list[str], known: str, *, upgrade: bool) -> dict[str, str]:
    """Let uv resolve pyproject.toml for every platform, keeping the versions in `known`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "requirements.txt"
        out.write_text(known)
        subprocess.run(
            [
                *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"),
                *("--python-version", "3.11", "--generate-hashes", "--no-annotate"),
                *("--no-header", "--no-emit-index-url", "--no-emit-find-links"),
                *(["--upgrade"] if upgrade else []),
                *("--output-file", str(out)),
                *options,
            ],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return parse("# [all]\n" + out.read_text())["all"]


def write(*, upgrade: bool) -> None:
    """Resolve everything at once, then write which part of it each section needs."""
    old = LOCK.read_text() if LOCK.exists() else ""
    project = "pyproject.toml"
    groups = ["--group", "build", "--group", "lock"]
    whole = _resolve([project, "--all-extras", *groups], old, upgrade=upgrade)
    known = "\n".join(whole.values()) + "\n"
    parts = [HEADER.format(digest=declared_digest(PYPROJECT.read_text()))]
    base: dict[str, str] = {}
    for name, options in SECTIONS.items():
        source = [] if options[:1] == ["--group"] else [project]
        found = _resolve([*source, *options], known, upgrade=False)
        strays = sorted(set(found) - set(whole))
        if strays:
            sys.exit(f"section {name} resolved to other versions than the whole: {strays}")
        if name == "base":
            base = found
        if name not in ALONE:
            found = {key: text for key, text in found.items() if base.get(key) != text}
        parts.append(f"\n# [{name}]\n" + "".join(f"{text}\n" for text in found.values()))
    LOCK.write_text("".join(parts))
    print(f"{LOCK.name}: {len(whole)} packages in {len(SECTIONS)} sections")


if __name__ == "__main__":
    write(upgrade="--upgrade" in sys.argv[1:])
