# SPDX-License-Identifier: GPL-3.0-or-later
"""An analysis as text and tables: report.md, averages.csv, series.csv, curves.csv."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from engine import schema
from engine.params import Setup
from engine.schema import PARAM_FIELDS
from engine.storage.atomic import whole_file
from engine.study.analyse.collect import BLOCKS, Exponent, Results
from engine.study.analyse.quantities import QUANTITIES
from engine.study.blocking import Average

# What x and y of each curve are, with their units.
CURVES = {
    "clusters": ("cluster size m", "share of rods in clusters of m, m n(m)/N"),
    "fluctuations": ("mean number of rods in a part of the box", "its standard deviation"),
    "pair_correlation": ("distance of centres, l", "g(r)"),
    "velocity_correlation": ("distance of centres, l", "⟨v·v'⟩/⟨v²⟩"),
    "energy_spectrum": ("wave number, 1/l", "E(k), l³/t²"),
    "msd": ("lag, t", "mean square displacement, l²"),
    "orientation": ("lag, t", "⟨û(t + τ)·û(t)⟩"),
}
# A drift of more standard errors than this is told.
_DRIFT = 3.0


def write_tables(results: Results, folder: Path) -> None:
    """Write the three tables. Raises `StorageError`."""
    _write(folder / "averages.csv", _averages(results))
    _write(folder / "series.csv", _series(results))
    _write(folder / "curves.csv", _curves(results))


def write_report(
    results: Results, folder: Path, about: Mapping[str, str], figures: Sequence[str]
) -> None:
    """Write report.md, which says what was run and what came out. Raises `StorageError`.

    `about` are lines on the file and the program; `figures` names of pictures in `folder`.
    """
    text = "\n".join(_lines(results, about, figures)) + "\n"
    with whole_file(folder / "report.md", "report") as part:
        part.write_text(text, encoding="utf-8")


def rounded(average: Average) -> tuple[str, str]:
    """Mean and error in words, the error with two digits and the mean with as many places.

    The error begins with ≥ where it is a lower bound.
    """
    mean, error = average.mean, average.error
    if not math.isfinite(mean):
        return "–", "–"
    if not math.isfinite(error) or error <= 0:
        return f"{mean:.6g}", "constant" if error == 0 else "–"
    places, sign = 1 - math.floor(math.log10(error)), "" if average.trusted else "≥ "
    if 0 <= places <= 8 and abs(mean) < 1e7:
        return f"{mean:.{places}f}", f"{sign}{error:.{places}f}"
    if -6 < places < 0:
        return f"{round(mean, places):.0f}", f"{sign}{round(error, places):.0f}"
    return f"{mean:.4e}", f"{sign}{error:.1e}"


def rounded_exponent(fit: Exponent) -> tuple[str, str]:
    """The exponent and its error in words, as `rounded`."""
    return rounded(Average(fit.value, fit.error, BLOCKS, 1, fit.trusted, BLOCKS, math.nan))


def remarks(results: Results) -> list[str]:
    """What a reader must know before using the averages, in plain sentences."""
    told = list(results.notes)
    short = [name for name, one in results.averages.items() if not one.trusted and one.error]
    if short:
        varying = [name for name, one in results.averages.items() if one.error]
        which = "any quantity" if len(short) == len(varying) else _words(short)
        longer = max(results.averages[name].needed / results.averages[name].values
                     for name in short)  # fmt: skip
        told.append(
            f"The run is too short to tell the error of {which}: blocking finds no plateau, and "
            "what is given (≥) is a lower bound, as are errors of curves. Average over a run that "
            f"is {max(2, math.ceil(longer))} times as long, or longer."
        )
    drifting = [
        name for name, one in results.averages.items()
        if math.isfinite(one.drift) and abs(one.drift) > _DRIFT
    ]  # fmt: skip
    if drifting:
        told.append(
            f"The second half differs from the first by more than {_DRIFT:g} standard errors in "
            f"{_words(drifting)}: the run had not settled. Give a later --from, or record longer."
        )
    if results.one_rod_in > 1:
        told.append(
            f"The file holds one rod in {results.one_rod_in}. Of all rods it has what the run "
            "noted; clusters, densities, fields and correlations need all of them and are left "
            "out. Paths are those of the rods kept."
        )
    return told


def _lines(results: Results, about: Mapping[str, str], figures: Sequence[str]) -> Iterable[str]:
    span, params = results.span, results.span.params
    low, high = span.rods
    yield "# Analysis of a run\n"
    yield from _table(("", ""), [(name, f"`{text}`") for name, text in about.items()])
    count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    laws = asdict(span.laws)
    setup = Setup(rods=high * results.one_rod_in, **laws)
    yield "\n## What was averaged over\n"
    yield f"* {len(span.frames):,} frames, every {span.spacing:.6g} t, from t = {span.times[0]:.6g}"
    yield f"  to {span.times[-1]:.6g} (steps {span.steps[0]:,} to {span.steps[-1]:,})."
    kept = f", one in {results.one_rod_in} of the run's" if results.one_rod_in > 1 else ""
    most = "" if low == high else " at most"
    yield f"* Rods in a frame: {count}{kept}. Packing fraction{most}"
    yield f"  {schema.packing_fraction(setup, params):.3f}."
    yield f"* Obstacles: {len(span.obstacles) or 'none'}."
    for text in remarks(results):
        yield f"* **Note.** {text}"
    yield "\n## Averages over time\n"
    yield "Units: l a length, t a time. ± is one standard error, by blocking (Flyvbjerg & Petersen"
    yield "1989): the error from the shortest blocks that no longer remember each other (Wolff"
    yield "2004), which are as long as told. ≥: no plateau, a lower bound.\n"
    yield from _table(
        ("quantity", "mean", "± error", "unit", "block, t", "blocks", "formula"),
        [_row(name, one, span.spacing) for name, one in results.averages.items()],
    )
    if (fit := results.exponent) is not None:
        value, error = rounded_exponent(fit)
        yield f"\nNumber fluctuations: σ_N ∝ N̄^α with α = {value}, its error {error}, in parts of"
        yield "the box from one body length to a quarter of its side; ½ where rods are independent."
    if len(span.frames) >= 2 * BLOCKS:
        yield f"\nErrors of curves come from the scatter of {BLOCKS} blocks of time, each "
        yield f"{(span.times[-1] - span.times[0]) / BLOCKS:.4g} t long. They hold where blocks are"
        yield "longer than what the curve remembers, and are lower bounds elsewhere."
    else:
        yield f"\nCurves have no errors: these take {2 * BLOCKS} frames at least."
    if results.scales is not None and "enstrophy" in results.averages:
        yield "Fields are means by a Gaussian of standard deviation σ = "
        yield f"{results.scales.smoothing.sigma:.4g} l on {results.scales.smoothing.cells}² cells."
    yield "\n## Parameters\n"
    yield from _table(
        ("parameter", "value", "unit"),
        [(f"`{f.name}`", f"{getattr(params, f.name):.8g}", f.unit) for f in PARAM_FIELDS]
        + [(f"`{name}`", str(word), "") for name, word in laws.items()],
    )
    yield "\nDerived:\n"
    yield from _table(
        ("figure", "value", "unit", "formula"),
        [(d.name, f"{d.value:.6g}", d.unit, d.doc) for d in schema.derived(setup, params)],
    )
    yield "\n## Figures\n"
    yield "Each also as PDF; the numbers are in curves.csv and series.csv.\n"
    for name in figures:
        yield f"![{name.replace('_', ' ')}]({name}.png)\n"


def _row(name: str, average: Average, spacing: float) -> tuple[str, ...]:
    quantity, (mean, error) = QUANTITIES[name], rounded(average)
    return (
        quantity.label, mean, error, quantity.unit, f"{average.block * spacing:.4g}",
        str(average.blocks), quantity.formula,
    )  # fmt: skip


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"


def _averages(results: Results) -> Iterable[Sequence[object]]:
    yield ("quantity", "unit", "mean", "error", "trusted", "block_t", "blocks", "frames", "drift",
           "formula", "source")  # fmt: skip
    for name, one in results.averages.items():
        what = QUANTITIES[name]
        yield (name, what.unit, one.mean, one.error, int(one.trusted),
               one.block * results.span.spacing, one.blocks, one.values, one.drift, what.formula,
               what.source)  # fmt: skip
    if (fit := results.exponent) is not None:
        yield ("fluctuation_exponent", "", fit.value, fit.error, int(fit.trusted), "", BLOCKS,
               len(results.span.frames), "", "α of σ_N ∝ N̄^α", "Zhang 2010")  # fmt: skip


def _series(results: Results) -> Iterable[Sequence[object]]:
    yield ("step", "time", *results.series)
    columns = results.series.values()
    for k, (step, time) in enumerate(zip(results.span.steps, results.span.times, strict=True)):
        yield (step, float(time), *(float(column[k]) for column in columns))


def _curves(results: Results) -> Iterable[Sequence[object]]:
    yield ("curve", "x", "y", "error", "x_is", "y_is")
    for name, curve in results.curves.items():
        for x, y, error in zip(curve.x, curve.y, curve.error, strict=True):
            # A size that no cluster has is not worth a line: there are as many as rods.
            if name != "clusters" or y > 0:
                yield (name, float(x), float(y), float(error), *CURVES[name])


def _write(path: Path, rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with whole_file(path, "table") as part:
        part.write_text(text.getvalue(), encoding="utf-8")


def _words(names: Sequence[str]) -> str:
    told = [QUANTITIES[name].label for name in names]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
