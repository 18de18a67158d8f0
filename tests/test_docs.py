# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation is true: generated pages are current, links lead somewhere, code runs."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


def test_the_table_of_parameters_follows_the_declaration():
    made = runpy.run_path(str(ROOT / "docs" / "make_parameters.py"))
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert made["page"]() == page, "run: python docs/make_parameters.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_library_example_of_the_readme_runs(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 21
    # One compile, although a live parameter was changed.
    assert lines[-1].endswith(" 1")
