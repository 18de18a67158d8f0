# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation is true: generated pages are current, links lead somewhere, code runs."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from PIL import Image

from engine.schema import FIELDS
from engine.study.validate.table import CHECKS

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


def python_of(page: str) -> list[str]:
    """The examples of a page, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Iterator[Path]:
    """Examples write into the folder that they run in, and their plots show no window."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    yield tmp_path
    plt.close("all")


def test_the_script_of_the_readme_plots_an_order_parameter(elsewhere):
    (code,) = python_of("README.md")
    assert len([line for line in code.splitlines() if line]) <= 10
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    with Image.open(elsewhere / "order.png") as picture:
        assert picture.size == (640, 480)
    assert names["frames"][-1].step == 6000
    assert names["driver"].stats.compiles == 1


@pytest.fixture
def quickly_compiled() -> Iterator[None]:
    """Gradients compile for long; examples need not be fast."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def test_the_examples_of_the_library_page_run(elsewhere, quickly_compiled, capsys):
    names: dict[str, Any] = {}
    for code in python_of("docs/library.md"):
        exec(compile(code, "docs/library.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:2]] == ["0.00", "0.33"]
    assert names["way"].pos.shape == (21, 64, 2)
    assert 0 < abs(names["slope"].F_prop) < 1
    assert np.isfinite(names["by_rod"].pos).all()
    assert {path.name for path in elsewhere.iterdir()} == {"run.gsd", "run.csv", "run.bacsim"}


def test_the_notebook_runs_and_keeps_its_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    page = runpy.run_path(str(ROOT / "docs" / "make_notebook.py"))
    kept = nbformat.read(page["PAGE"], as_version=4)
    nbformat.validate(kept)
    shown = {kind for cell in kept.cells for kind in kinds(cell)}
    assert shown == {"stream", "image/png"}, "run: python docs/make_notebook.py"
    assert page["PAGE"].stat().st_size < 300_000
    ran = page["executed"](tmp_path)
    assert [kinds(cell) for cell in ran.cells] == [kinds(cell) for cell in kept.cells]


def kinds(cell: Any) -> list[str]:
    """What a cell shows: text, or a picture."""
    outputs = cell.get("outputs", ())
    return ["image/png" if "data" in one else one.output_type for one in outputs]


# "Vega & Lago 1994", "Salmon 2011"
CITED = re.compile(r"([A-Z]\w+)[^|:;,()]*? ((?:18|19|20)\d\d)\b")
LITERATURE = (ROOT / "docs" / "model.md").read_text(encoding="utf-8").split("## Literature")[-1]


def says_where_from(source: str) -> bool:
    """Whether `source` owns to be ours or names what it comes from: a work that is listed."""
    works = CITED.findall(source)
    listed = [
        any(name in line and year in line for line in LITERATURE.splitlines())
        for name, year in works
    ]
    words = re.findall(r"\b(ours|given|standard|mechanics|mean field)\b", source)
    return all(listed) and bool(words or works)


def test_every_equation_says_where_it_comes_from():
    page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8").replace("\\|", "")
    rows = re.findall(r"^\| \((\d+)\) \|(.*)\|(.*)\|$", page, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 13
    for number, equation, source in rows:
        assert equation.strip()
        assert says_where_from(source), f"equation ({number}): {source}"


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_default_says_where_it_comes_from(field):
    assert says_where_from(field.source), f"{field.name}: {field.source!r}"


def test_a_source_that_is_no_source_is_found():
    assert says_where_from("ours; for ε = 0: Vega & Lago 1994")
    assert says_where_from("Onsager 1949, averaged over angles")
    assert not says_where_from("ours, after Somebody & Lago 1996")
    assert not says_where_from("it is well known")
    assert not says_where_from("")


def test_the_page_of_validation_has_every_check_and_all_passed():
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"^\| \*\*(\S+)\*\* \|.*\| ([\w ]+) \|$", page, re.MULTILINE))
    assert list(found) == [check.name for check in CHECKS], (
        "run: bacsim validate --write docs/validation.md"
    )
    assert set(found.values()) <= {"pass", "not here"}
    for check in CHECKS:
        cited = CITED.findall(check.source)
        assert not cited or says_where_from(check.source), check.source


def test_the_example_of_observables_runs(capsys):
    text = (ROOT / "docs" / "analyse.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "analyse.md", "exec"), {})
    assert re.fullmatch(r"\d+ clusters, .* \d\.\d\d\npolar .* 0\.063\n", capsys.readouterr().out)
