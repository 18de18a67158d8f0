# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of an analysis, one column of a journal wide, in colours for the colour-blind too.

Drawn by matplotlib without a display. Bands are standard errors.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.observables import defects, fields
from engine.schema import free_speed
from engine.storage.atomic import whole_file
from engine.study.analyse.collect import Curve, Results, fitted
from engine.study.analyse.frame import NEAR_DEFECT
from engine.study.blocking import errors_by_block

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# One column of most journals, in inches.
_WIDE = 86 / 25.4
_DOTS = 300
# Okabe & Ito's colours, which differ for every kind of colour vision, dark ones first.
BLUE, VERMILION, GREEN, PURPLE, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
_GREY = "#666666"
_STYLE: Any = {
    "font.size": 8, "axes.labelsize": 8, "legend.fontsize": 7, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "legend.frameon": False,
    "xtick.direction": "in", "ytick.direction": "in", "xtick.top": True, "ytick.right": True,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4, "legend.handlelength": 1.6, "mathtext.default": "regular",
    "pdf.fonttype": 42, "axes.formatter.limits": (-3, 4), "axes.formatter.use_mathtext": True,
}  # fmt: skip

Draw = Callable[["Figure", Results], None]


def draw_all(results: Results, folder: Path) -> Iterator[tuple[str, int, int]]:
    """Draw what is known into new files of `folder`, NAME.png and NAME.pdf.

    Gives, before each, its name, its number and how many there will be. Raises `StorageError` where
    one cannot be written.
    """
    names = wanted(results)
    for number, name in enumerate(names):
        yield name, number, len(names)
        with _styled() as figure:
            _FIGURES[name][1](figure, results)
            for ending in ("png", "pdf"):
                with whole_file(folder / f"{name}.{ending}", "figure") as part:
                    # Not the time of drawing, so that the same run gives the same file.
                    about = {"CreationDate": None} if ending == "pdf" else {}
                    figure.savefig(part, format=ending, dpi=_DOTS, metadata=about)


def wanted(results: Results) -> list[str]:
    """The names of the figures that can be drawn."""
    return [name for name, (needs, _) in _FIGURES.items() if needs(results)]


@contextmanager
def _styled() -> Iterator["Figure"]:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A curve without a positive value has no place on a logarithmic axis: it stays empty.
        warnings.filterwarnings("ignore", message=".*log-scal.*")
        figure = Figure(figsize=(_WIDE, 0.75 * _WIDE), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def _series(figure: "Figure", results: Results) -> None:
    """Order, speed and clusters over time, each where it is known."""
    speed = free_speed(results.span.laws, results.span.params)
    panels = [
        ("order", {
            "polar_order": ("polar", BLUE), "nematic_order": ("nematic", VERMILION),
            "active_fraction": ("active fraction", GREEN),
        }),
        ("speed over $v_0$", {
            "mean_speed": (r"$\langle|v|\rangle/v_0$", BLUE),
            "progress": (r"$\langle v\cdot\hat{u}\rangle/v_0$", VERMILION),
        }),
        ("cluster size", {"cluster_size": ("weighted mean", BLUE)}),
    ]  # fmt: skip
    shown = [
        (label, lines) for label, lines in panels
        if any(name in results.series for name in lines) and (speed or "v_0" not in label)
    ]  # fmt: skip
    figure.set_size_inches(_WIDE, (0.3 + 0.36 * len(shown)) * _WIDE)
    axes = figure.subplots(len(shown), sharex=True, squeeze=False)[:, 0]
    times = results.span.times
    for place, (label, lines) in zip(axes, shown, strict=True):
        for name, (word, color) in lines.items():
            if name in results.series:
                scale = abs(speed) if name == "mean_speed" else 1
                place.plot(times, results.series[name] / scale, color=color, label=word)
                mean = results.averages[name].mean / scale
                place.axhline(mean, color=color, lw=0.6, ls=(0, (4, 2)))
        place.set_ylabel(label)
        if label == "cluster size":
            place.set_ylabel("weighted mean\ncluster size (rods)")
        else:
            place.set_ylim(0, max(1.0, 1.05 * place.get_ylim()[1]))
            place.legend(
                ncols=len(lines), loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2
            )
    axes[-1].set_xlabel("time (t)")
    axes[-1].set_xlim(times[0], times[-1])


def _msd(figure: "Figure", results: Results) -> None:
    axes, curve = figure.subplots(), results.curves["msd"]
    _band(axes, curve, BLUE, "o")
    axes.set(xlabel=r"lag $\tau$ (t)", ylabel=r"MSD (l$^2$)")
    _log(axes, "x", "y")
    tau = curve.x[curve.x > 0]
    if speed := free_speed(results.span.laws, results.span.params):
        axes.plot(tau, (speed * tau) ** 2, color=_GREY, ls="--", lw=0.8, label=r"$(v_0\tau)^2$")
    if len(tau) > 1 and curve.y[-1] > 0 and _slope(tau[-2:], curve.y[-2:]) < 1.5:
        axes.plot(
            tau, curve.y[-1] * tau / tau[-1], color=_GREY, ls=":", lw=1, label=r"$\propto\tau$"
        )
    _legend(axes)


def _orientation(figure: "Figure", results: Results) -> None:
    axes, curve = figure.subplots(), results.curves["orientation"]
    _band(axes, curve, BLUE, "o")
    axes.axhline(0, color=_GREY, lw=0.6)
    axes.set(
        xlabel=r"lag $\tau$ (t)", xlim=(0, None),
        ylabel=r"$\langle\hat{u}(t+\tau)\cdot\hat{u}(t)\rangle$",
    )  # fmt: skip
    if (rate := results.span.params.D_r) > 0:
        axes.plot(
            curve.x, np.exp(-rate * curve.x), color=_GREY, ls="--", lw=0.8, label=r"$e^{-D_r\tau}$"
        )
        axes.legend()


def _clusters(figure: "Figure", results: Results) -> None:
    axes, curve = figure.subplots(), results.curves["clusters"]
    m, share, error = log_bins(curve)
    good = share > 0
    axes.errorbar(
        m[good], share[good], error[good], fmt="o-", color=BLUE, ms=3, lw=0.8, capsize=1.5
    )
    axes.set(xlabel="cluster size $m$ (rods)",
             ylabel="share of rods per unit of $m$,\n$p(m)=m\\,n(m)/N$")  # fmt: skip
    _log(axes, "x", "y")


def _fluctuations(figure: "Figure", results: Results) -> None:
    axes, curve = figure.subplots(), results.curves["fluctuations"]
    axes.errorbar(curve.x, curve.y, curve.error, fmt="o", color=BLUE, ms=3, capsize=1.5)
    axes.set(xlabel=r"mean number of rods $\bar{N}$", ylabel=r"$\sigma_N$")
    _log(axes, "x", "y")
    line = np.array([curve.x.min(), curve.x.max()])
    axes.plot(
        line, np.sqrt(line), color=_GREY, ls="--", lw=0.8, label=r"independent, $\bar{N}^{1/2}$"
    )
    if (fit := results.exponent) is not None:
        words = " ± {:.2f}" if fit.trusted else " (error ≥ {:.2f})"
        error = words.format(fit.error) if math.isfinite(fit.error) else ""
        told = rf"$\bar{{N}}^\alpha$, $\alpha$ = {fit.value:.2f}{error}"
        # Where it was fitted; in larger parts of the box the number varies less.
        line = curve.x[fitted(results)]
        axes.plot(line, fit.factor * line**fit.value, color=VERMILION, lw=0.8, label=told)
    axes.legend()


def _pair_correlation(figure: "Figure", results: Results) -> None:
    axes, curve = figure.subplots(), results.curves["pair_correlation"]
    width = 2 * results.span.params.radius
    _band(axes, Curve(curve.x / width, curve.y, curve.error), BLUE)
    axes.axhline(1, color=_GREY, lw=0.6, ls="--")
    axes.set(xlabel="distance of centres $r/d$", ylabel="$g(r)$", xlim=(0, None), ylim=(0, None))


def _velocity_correlation(figure: "Figure", results: Results) -> None:
    axes, curve = figure.subplots(), results.curves["velocity_correlation"]
    width = 2 * results.span.params.radius
    _band(axes, Curve(curve.x / width, curve.y, curve.error), BLUE)
    axes.axhline(0, color=_GREY, lw=0.6)
    axes.axhline(math.exp(-1), color=_GREY, lw=0.6, ls=":")
    axes.annotate("1/e", (0.985, math.exp(-1)), xycoords=("axes fraction", "data"), ha="right",
                  va="bottom", fontsize=7, color=_GREY)  # fmt: skip
    axes.set(
        xlabel="distance of centres $r/d$", xlim=(0, None),
        ylabel=r"$\langle v_i\cdot v_j\rangle/\langle v^2\rangle$",
    )  # fmt: skip


def _spectrum(figure: "Figure", results: Results) -> None:
    assert results.scales is not None
    axes, curve = figure.subplots(), results.curves["energy_spectrum"]
    shown = _shown_waves(results, curve)
    width = 2 * results.span.params.radius
    _band(axes, Curve(*(part[shown] for part in curve_parts(curve, width))), BLUE, "o")
    axes.axvline(width / results.scales.smoothing.sigma, color=_GREY, lw=0.6, ls=":")
    axes.annotate(
        r"$1/\sigma$", (width / results.scales.smoothing.sigma, 0.98), fontsize=7, color=_GREY,
        xycoords=("data", "axes fraction"), va="top", xytext=(2, 0), textcoords="offset points",
    )  # fmt: skip
    axes.set(xlabel="wave number $kd$", ylabel=r"$E(k)$ (l$^3$/t$^2$)")
    _log(axes, "x", "y")


def _shown_waves(results: Results, curve: Curve) -> np.ndarray:
    """Which waves of a spectrum are drawn; none where a box is hardly larger than its rods."""
    assert results.scales is not None
    # The Gaussian leaves e^{-k²σ²} of the energy: beyond 2/σ little but that is seen.
    return (curve.x > 0) & (curve.x < 2.5 / results.scales.smoothing.sigma)


def _field(figure: "Figure", results: Results) -> None:
    """The last frame: vorticity, and the defects of the axes."""
    from matplotlib.ticker import MaxNLocator

    assert results.scales is not None
    assert results.velocity is not None
    last, how = results.last, results.scales.smoothing
    side = last.params.space_size
    pos, theta = np.asarray(last.pos, np.float64), np.asarray(last.theta, np.float64)
    omega = fields.vorticity(fields.velocity_field(pos, results.velocity, side, how), side)
    figure.set_size_inches(_WIDE, 0.98 * _WIDE)
    axes = figure.subplots()
    far = float(np.abs(omega).max()) or 1.0
    half = side / how.cells / 2
    # The first row and column once more, which the edge of the box cuts.
    omega = np.pad(omega, (0, 1), mode="wrap")
    shown = axes.imshow(
        omega, origin="lower", extent=(-half, side + half, -half, side + half), cmap="PuOr",
        vmin=-far, vmax=far, interpolation="bicubic", rasterized=True,
    )  # fmt: skip
    found = defects.defects(pos, theta, side, how)
    near = found.rods >= NEAR_DEFECT
    size = max(4.0, min(22.0, 3000 / max(near.sum(), 1)))
    for charge, marker, color, word in (
        (0.5, "o", BLUE, "defects +½"), (-0.5, "^", GREEN, "−½"),
    ):  # fmt: skip
        at = found.pos[near & (found.charge == charge)]
        axes.scatter(*at.T, s=size, marker=marker, color=color, ec="white", lw=0.4, label=word)
    axes.set(xlim=(0, side), ylim=(0, side), xlabel="x (l)", ylabel="y (l)", aspect="equal")
    axes.legend(ncols=2, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    axes.set_title(f"t = {last.time:.5g}", loc="right", fontsize=7)
    bar = figure.colorbar(shown, ax=axes, label=r"vorticity $\omega$ (1/t)", fraction=0.05)
    bar.ax.yaxis.set_major_locator(MaxNLocator(5))


def _blocking(figure: "Figure", results: Results) -> None:
    """Error against the length of blocks, with the plateau that was chosen."""
    axes, gap = figure.subplots(), results.span.spacing
    styles = {
        "polar_order": (BLUE, "o"), "active_fraction": (GREEN, "s"), "mean_speed": (VERMILION, "^"),
        "cluster_size": (PURPLE, "D"),
    }  # fmt: skip
    for name, (color, marker) in styles.items():
        if name not in results.averages or not results.averages[name].error > 0:
            continue
        values = results.series[name]
        values = values[np.isfinite(values)]
        lengths, errors = errors_by_block(values)
        blocks = np.array([len(values) // length for length in lengths])
        # The error of an error, equation (28) of Flyvbjerg & Petersen.
        spread = errors / np.sqrt(2 * np.maximum(blocks - 1, 1))
        relative, used = errors[0], blocks >= 2
        x = np.array(lengths) * gap
        axes.errorbar(
            x[used], errors[used] / relative, spread[used] / relative, fmt=f"{marker}-", ms=3,
            color=color, lw=0.8, capsize=1.5, label=name.replace("_", " "), mfc="white",
        )  # fmt: skip
        chosen = results.averages[name]
        if chosen.trusted:
            at = lengths.index(chosen.block)
            axes.plot(x[at], errors[at] / relative, marker, color=color, ms=5)
    axes.set(xlabel="length of a block (t)", ylabel="standard error over\nthat of single frames",
             ylim=(0, None))  # fmt: skip
    _log(axes, "x")
    _legend(axes)


def log_bins(curve: Curve, each_octave: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middles, means and errors of a curve over whole numbers, in bins that grow with them.

    The error of a bin is that of independent entries.
    """
    most = curve.x.max()
    octaves = max(1, math.ceil(math.log2(most + 1)))
    edges = np.unique(np.rint(2 ** (np.arange(each_octave * octaves + 1) / each_octave)))
    place = np.searchsorted(edges, curve.x, side="right") - 1
    count = np.bincount(place)
    good = count > 0
    middle = np.exp(np.bincount(place, np.log(curve.x))[good] / count[good])
    mean = np.bincount(place, curve.y)[good] / count[good]
    square = np.bincount(place, np.nan_to_num(curve.error) ** 2)[good]
    return middle, mean, np.sqrt(square) / count[good]


def curve_parts(curve: Curve, times: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parts of a curve with x times `times`."""
    return curve.x * times, curve.y, curve.error


def _legend(axes: "Axes") -> None:
    """A legend, where something has a label."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _log(axes: "Axes", *which: str) -> None:
    """Logarithmic axes with plain numbers where these are short."""
    from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator

    for name in which:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        axis.set_minor_locator(LogLocator(subs=range(2, 10)))

        def told(value: float, _at: int | None = None, axis: Any = axis) -> str:
            low, high = sorted(axis.get_view_interval())
            exponent = math.floor(math.log10(value) + 1e-9)
            first = round(value / 10**exponent)
            # In between, 2 and 5 where there is little else.
            if first != 1 and (first not in (2, 5) or high / low > 100):
                return ""
            if low > 5e-4 and high < 2e4:
                return f"{value:g}"
            return LogFormatterSciNotation()(value)

        axis.set_major_formatter(FuncFormatter(told))
        axis.set_minor_formatter(FuncFormatter(told))


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """The exponent between two points."""
    return float(np.diff(np.log(y))[0] / np.diff(np.log(x))[0])


def _band(axes: "Axes", curve: Curve, color: str, marker: str | None = None) -> None:
    axes.plot(curve.x, curve.y, color=color, marker=marker, ms=2.5)
    axes.fill_between(
        curve.x, curve.y - curve.error, curve.y + curve.error, color=color, alpha=0.25, lw=0
    )


def _has(name: str) -> Callable[[Results], bool]:
    return lambda results: name in results.curves and len(results.curves[name].x) > 1


_FIGURES: dict[str, tuple[Callable[[Results], bool], Draw]] = {
    "series": (lambda _: True, _series),
    "blocking": (
        lambda results: any(one.error > 0 for one in results.averages.values()),
        _blocking,
    ),
    "clusters": (_has("clusters"), _clusters),
    "fluctuations": (_has("fluctuations"), _fluctuations),
    "pair_correlation": (_has("pair_correlation"), _pair_correlation),
    "velocity_correlation": (_has("velocity_correlation"), _velocity_correlation),
    "spectrum": (
        lambda results: (
            (curve := results.curves.get("energy_spectrum")) is not None
            and bool(_shown_waves(results, curve).any())
        ),
        _spectrum,
    ),
    "msd": (_has("msd"), _msd),
    "orientation": (_has("orientation"), _orientation),
    "field": (
        lambda results: results.velocity is not None and results.span.laws.periodic,
        _field,
    ),
}
