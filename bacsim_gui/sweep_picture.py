# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of a sweep: maps over two parameters, curves over one, and named states."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.storage.atomic import whole_file

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from engine.study.sweep.spec import Spec

# Okabe & Ito (2008), for eyes of all kinds; shapes tell states apart without any colour.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#666666")
MARKS = ("o", "s", "^", "D", "v", "P", "*", "h")
# Even steps of lightness, also in grey and for colour-blind eyes.
MAP = "cividis"
PANEL = (4.6, 3.9)


class _Axis(NamedTuple):
    """One axis: its label, where points stand on it, and the words of those that are no numbers."""

    label: str
    at: np.ndarray
    words: tuple[str, ...] = ()


def draw(found: "xarray.Dataset", spec: "Spec", path: Path) -> bool:
    """Draw `found` to `path`, PNG; what is there is replaced. False where more than two vary.

    Raises `StorageError` where it cannot be written.
    """
    if len(spec.varied) > 2:
        return False
    figure = diagram(found, spec)
    with whole_file(path, "picture", overwrite=True) as part:
        figure.savefig(part, format="png", dpi=150)
    return True


def diagram(found: "xarray.Dataset", spec: "Spec") -> "Figure":
    """The picture, with a panel for each observable that is to be shown, and one for the states."""
    from matplotlib.figure import Figure

    show = spec.diagram.show
    panels = len(show) + bool(spec.states)
    columns = min(panels, 3 if panels != 4 else 2)
    rows = math.ceil(panels / columns)
    figure = Figure((PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
    grid = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for unused in grid[panels:]:
        unused.set_axis_off()
    figure.suptitle(spec.title)
    x, y = _axes(found, spec)
    bad = _flat(found["failed"].astype(bool).mean("replicate"), spec)
    for panel, name in zip(grid, show, strict=False):
        mean, error = _means(found[name], spec)
        if y is None:
            _curve(panel, x, mean, error, bad)
            panel.set_ylabel(_label(found[name]))
        else:
            _map(figure, panel, x, y, mean, bad, spec.grid is not None, _label(found[name]))
        panel.set_title(_title(found[name]), fontsize=9, wrap=True)
    if spec.states:
        _states(grid[panels - 1], x, y, _named(found, spec), spec)
        _failed(grid[panels - 1], x, y, bad)
    for panel in grid[:panels]:
        _frame(panel, x, y)
    return figure


def _axes(found: "xarray.Dataset", spec: "Spec") -> tuple[_Axis, _Axis | None]:
    """Axes x and y, None where one parameter varies; a place for each point."""
    names = _order(spec)
    axes = []
    for name in names:
        values = [point[name] for point in spec.points]
        label = _label(found[name])
        if any(isinstance(value, str) for value in values):
            words = tuple(str(value) for value in dict.fromkeys(values))
            axes.append(_Axis(label, np.array([words.index(str(v)) for v in values], float), words))
        else:
            axes.append(_Axis(label, np.array(values, float)))
    return axes[0], axes[1] if len(axes) > 1 else None


def _order(spec: "Spec") -> tuple[str, ...]:
    names = list(spec.varied)
    x = spec.diagram.x or next(name for name in names if name != spec.diagram.y or len(names) == 1)
    return (x, *(name for name in names if name != x))


def _flat(values: "xarray.DataArray", spec: "Spec") -> np.ndarray:
    """A number for each point, in the order of the points."""
    return values.transpose(*(spec.varied if spec.grid is not None else ("point",))).values.ravel()


def _means(values: "xarray.DataArray", spec: "Spec") -> tuple[np.ndarray, np.ndarray]:
    """Mean over samples and seeds, and the standard error from the scatter of the seeds.

    Systems that failed count for nothing.
    """
    of_systems = values.mean("sample", skipna=False)
    count = of_systems.notnull().sum("replicate")
    spread = of_systems.std("replicate", ddof=0)
    error = (spread / np.sqrt((count - 1).clip(min=1))).where(count > 1, 0.0)
    return _flat(of_systems.mean("replicate"), spec), _flat(error, spec)


def _named(found: "xarray.Dataset", spec: "Spec") -> list[int]:
    """Which of the states each point is in, the first that holds; -1 for none."""
    means = {name: _means(found[name], spec)[0] for name in spec.observe}
    return [
        next(
            (
                k
                for k, state in enumerate(spec.states)
                if state.holds({name: float(of[at]) for name, of in means.items()})
            ),
            -1,
        )
        for at in range(len(spec.points))
    ]


def _curve(panel: "Axes", x: _Axis, mean: np.ndarray, error: np.ndarray, bad: np.ndarray) -> None:
    order = np.argsort(x.at)
    panel.errorbar(
        x.at[order], mean[order], yerr=error[order], marker="o", color=COLORS[0], capsize=3
    )
    for at in x.at[bad == 1]:
        panel.axvline(at, color=COLORS[5], linestyle=":", linewidth=1)
    _legend_of_failed(panel, bad, "every seed failed" if (bad == 1).any() else "")


def _map(
    figure: "Figure", panel: "Axes", x: _Axis, y: _Axis, mean: np.ndarray, bad: np.ndarray,
    cells: bool, label: str,
) -> None:  # fmt: skip
    low, high = _range(mean)
    look: dict[str, Any] = {"cmap": MAP, "vmin": low, "vmax": high}
    if cells:
        columns, rows = np.unique(x.at), np.unique(y.at)
        table = np.full((len(rows), len(columns)), np.nan)
        table[np.searchsorted(rows, y.at), np.searchsorted(columns, x.at)] = mean
        panel.set_facecolor("#dddddd")
        drawn = panel.pcolormesh(_edges(columns), _edges(rows), table, **look)
    else:
        drawn = panel.scatter(x.at, y.at, c=mean, s=90, edgecolors="black", linewidths=0.5, **look)
    figure.colorbar(drawn, ax=panel, label=label)
    _failed(panel, x, y, bad)


def _range(values: np.ndarray) -> tuple[float, float]:
    """Of colours: from 0 to 1 for what is a share, else from 0 to the largest value."""
    good = values[np.isfinite(values)]
    if not len(good):
        return 0.0, 1.0
    low, high = min(0.0, float(good.min())), float(good.max())
    return low, high if high > low else low + 1.0


def _edges(values: np.ndarray) -> np.ndarray:
    """The edges of cells about `values`, half way between them."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


def _failed(panel: "Axes", x: _Axis, y: _Axis | None, bad: np.ndarray) -> None:
    """A cross on each point of which a system failed."""
    if y is None or not (bad > 0).any():
        return
    panel.scatter(x.at[bad > 0], y.at[bad > 0], marker="x", color="white", s=70, linewidths=4)
    panel.scatter(x.at[bad > 0], y.at[bad > 0], marker="x", color=COLORS[5], s=60, linewidths=2)
    _legend_of_failed(panel, bad, "× a system failed")


def _legend_of_failed(panel: "Axes", bad: np.ndarray, text: str) -> None:
    if text and (bad > 0).any():
        panel.annotate(
            text, (1, 1.0), xycoords="axes fraction", ha="right", va="bottom", fontsize=8,
            color=COLORS[5],
        )  # fmt: skip


def _states(panel: "Axes", x: _Axis, y: _Axis | None, which: list[int], spec: "Spec") -> None:
    rows = np.zeros_like(x.at) if y is None else y.at
    at = np.array(which)
    for k, state in enumerate(spec.states):
        here = at == k
        if here.any():
            panel.scatter(
                x.at[here], rows[here], marker=MARKS[k % len(MARKS)], s=80, label=state.name,
                color=COLORS[k % len(COLORS)], edgecolors="black", linewidths=0.5,
            )  # fmt: skip
    if (at == -1).any():
        panel.scatter(
            x.at[at == -1], rows[at == -1], marker=".", s=20, color="black", label="other"
        )
    if y is None:
        panel.set_yticks([])
    panel.margins(0.12)
    # Below the axis: over the panel it would hide points.
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8)
    panel.set_title("States, by the thresholds of the spec", fontsize=9)


def _frame(panel: "Axes", x: _Axis, y: _Axis | None) -> None:
    panel.set_xlabel(x.label)
    if x.words:
        panel.set_xticks(range(len(x.words)), x.words)
    if y is not None:
        panel.set_ylabel(y.label)
        if y.words:
            panel.set_yticks(range(len(y.words)), y.words)


def _title(values: "xarray.DataArray") -> str:
    """What it is, as far as that fits above a panel."""
    return str(values.attrs["comment"]).split(";")[0].rstrip(".")


def _label(values: "xarray.DataArray") -> str:
    """Name, symbol and unit, for an axis."""
    about, name = values.attrs, str(values.name)
    words = name if name in about.get("symbol", "") else name.replace("_", " ")
    symbol = about.get("symbol", "")
    unit = about.get("units")
    text = f"{words}, {symbol}" if symbol and symbol != name else words
    return f"{text} / {unit}" if unit else text
