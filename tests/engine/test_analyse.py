# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a trajectory, of swarms whose figures are known."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.obstacle import Obstacle
from engine.params import GIVEN, Params
from engine.schema import free_speed
from engine.snapshot import Snapshot
from engine.storage.errors import StorageError
from engine.storage.trajectory import Trajectory
from engine.study.analyse import collect, figures, report
from engine.study.analyse.quantities import QUANTITIES, RECORDED
from engine.study.analyse.span import AnalysisError, choose
from tests.engine.trajectories import write

PARAMS = Params(space_size=60.0, F_prop=8.0, dt=0.01)
N, GAP = 80, 0.5


def swimmers(frames: int, n: int = N, params: Params = PARAMS) -> list[Snapshot]:
    """Rods that swim straight on at v₀ through each other, every third one at rest."""
    rng = np.random.default_rng(1)
    start, theta = rng.uniform(0, params.space_size, (n, 2)), rng.uniform(-3, 3, n)
    active = np.arange(n) % 3 > 0
    way = (
        free_speed(GIVEN, params)
        * active[:, None]
        * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    )
    made = []
    for k in range(frames):
        pos = (start + k * GAP * way) % params.space_size
        rods = np.column_stack([pos, theta, active]).astype(np.float32)
        rods[rods[:, 0] >= params.space_size, 0] = 0
        rods[rods[:, 1] >= params.space_size, 1] = 0
        seen = dict.fromkeys(RECORDED, 0.25)
        made.append(Snapshot(rods, 50 * k, k * GAP, params, seen))
    return made


def velocities(snapshot: Snapshot) -> np.ndarray:
    heading = np.stack([np.cos(snapshot.theta), np.sin(snapshot.theta)], axis=1)
    return free_speed(GIVEN, snapshot.params) * snapshot.activity[:, None] * heading


def drawn(results: collect.Results, folder: Path) -> list[str]:
    return [name for name, *_ in figures.draw_all(results, folder)]


def analysed(path: Path, **options) -> collect.Results:
    with Trajectory(path) as trajectory:
        return collect.analyse(trajectory, choose(trajectory, **options), velocities)


@pytest.fixture(scope="module")
def swam(tmp_path_factory) -> collect.Results:
    path = tmp_path_factory.mktemp("swam") / "run.gsd"
    return analysed(write(path, swimmers(60)))


def test_straight_swimmers(swam):
    assert set(swam.series) == set(QUANTITIES)
    two_thirds = np.mean(np.arange(N) % 3 > 0)
    for name in ("active_fraction", "mean_activity", "progress"):
        assert swam.averages[name].mean == pytest.approx(two_thirds)
        assert swam.averages[name].error == pytest.approx(0, abs=1e-6)
    assert swam.averages["mean_speed"].mean == pytest.approx(two_thirds * free_speed(GIVEN, PARAMS))
    msd, alike = swam.curves["msd"], swam.curves["orientation"]
    np.testing.assert_allclose(msd.x[:3], [GAP, 2 * GAP, 3 * GAP])
    assert msd.x[-1] == 28 * GAP
    expected = two_thirds * (free_speed(GIVEN, PARAMS) * msd.x) ** 2
    np.testing.assert_allclose(msd.y, expected, rtol=1e-4)
    np.testing.assert_allclose(alike.y, 1, atol=1e-6)
    # Independent places: as many rods as elsewhere, and σ_N = √N̄.
    assert swam.exponent is not None
    assert swam.exponent.value == pytest.approx(0.5, abs=0.1)
    pairs = swam.curves["pair_correlation"]
    assert np.nanmean(pairs.y) == pytest.approx(1, abs=0.1)
    clusters = swam.curves["clusters"]
    assert clusters.y.sum() == pytest.approx(1)
    assert clusters.x[0] == 1
    assert len(clusters.x) == N
    spectrum = swam.curves["energy_spectrum"]
    assert len(spectrum.x) == len(spectrum.y)
    assert swam.averages["crossed_pairs"].mean > 0
    assert np.all(swam.series["largest_overlap"] >= swam.series["mean_overlap"])


def test_averages_are_those_of_single_frames(swam, tmp_path):
    from engine.observables.order import nematic_order
    from engine.observables.pairs import contacts

    frames = swimmers(60)
    crossed = [contacts(f.pos, f.theta, 60.0, 4.0, 0.5).crossed for f in frames]
    np.testing.assert_array_equal(swam.series["crossed_pairs"], crossed)
    assert swam.averages["crossed_pairs"].mean == pytest.approx(np.mean(crossed))
    assert swam.series["nematic_order"][7] == pytest.approx(nematic_order(frames[7].theta))


def test_tables_report_and_figures(swam, tmp_path):
    report.write_tables(swam, tmp_path)
    names = drawn(swam, tmp_path)
    report.write_report(swam, tmp_path, {"trajectory": "run.gsd", "seed": "7"}, names)
    assert names == [
        "series", "blocking", "clusters", "fluctuations", "pair_correlation",
        "velocity_correlation", "spectrum", "msd", "orientation", "field",
    ]  # fmt: skip
    for name in names:
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert picture.width == pytest.approx(86 / 25.4 * 300, abs=2)
            shades = np.asarray(picture.convert("L"))
            # Something is drawn, and nothing is cut off at the edge.
            assert (shades < 128).mean() > 0.001
            edge = np.concatenate([shades[0], shades[-1], shades[:, 0], shades[:, -1]])
            assert edge.min() > 200
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "averages.csv").open(encoding="utf-8") as file:
        rows = {row["quantity"]: row for row in csv.DictReader(file)}
    assert set(rows) == {*QUANTITIES, "fluctuation_exponent"}
    assert float(rows["mean_speed"]["mean"]) == swam.averages["mean_speed"].mean
    with (tmp_path / "series.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["time"]) for line in lines] == [k * GAP for k in range(60)]
    with (tmp_path / "curves.csv").open(encoding="utf-8") as file:
        kinds = {row["curve"] for row in csv.DictReader(file)}
    assert kinds == set(report.CURVES)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    for word in ("60 frames, every 0.5 t", "`space_size` | 60 | l", "`7`", "![msd](msd.png)"):
        assert word in text
    for name in names:
        assert f"({name}.png)" in text
    with pytest.raises(StorageError, match=r"averages\.csv exists already"):
        report.write_tables(swam, tmp_path)


def test_a_share_of_the_rods(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "_DOTS", 40)  # which is faster
    path = write(tmp_path / "run.gsd", swimmers(20), rods=20)
    found = analysed(path)
    assert found.one_rod_in == 4
    assert set(found.series) == set(RECORDED)
    assert found.averages["polar_order"].mean == 0.25
    assert set(found.curves) == {"msd", "orientation"}
    kept = np.mean(np.arange(0, N, 4) % 3 > 0)
    np.testing.assert_allclose(
        found.curves["msd"].y,
        kept * found.curves["msd"].x ** 2 * free_speed(GIVEN, PARAMS) ** 2,
        rtol=1e-4,
    )
    assert any("one rod in 4" in text for text in report.remarks(found))
    assert drawn(found, tmp_path) == [
        "series",
        "msd",
        "orientation",
    ]
    report.write_report(found, tmp_path, {}, [])
    assert "one in 4 of the run's" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_only_frames_of_one_setting_are_averaged_over(tmp_path):
    frames = swimmers(30)
    other = replace(PARAMS, activity_thresh=9.0, sensing_range=3.0)
    frames[10:] = [replace(one, params=other) for one in frames[10:]]
    frames[25:] = [replace(one, obstacles=(Obstacle(3, 3, 1),)) for one in frames[25:]]
    with Trajectory(write(tmp_path / "run.gsd", frames)) as trajectory:
        span = choose(trajectory)
        assert span.frames == tuple(range(10, 25))
        assert span.params == other
        (note,) = span.notes
        for word in ("activity_thresh (4 → 9)", "sensing_range (2 → 3)", "obstacles", "15 of 30",
                     "t = 5 to 12"):  # fmt: skip
            assert word in note
        assert choose(trajectory, last=4.6).frames == tuple(range(10))
        assert choose(trajectory, first=12.5).obstacles == (Obstacle(3, 3, 1),)
        assert choose(trajectory, every=4).frames == (10, 14, 18, 22)


def test_a_hand_that_does_nothing_is_no_change(tmp_path):
    frames = swimmers(6)
    frames[3:] = [replace(one, params=replace(PARAMS, push_x=4.0)) for one in frames[3:]]
    with Trajectory(write(tmp_path / "still.gsd", frames)) as trajectory:
        assert len(choose(trajectory).frames) == 6
    frames[3:] = [replace(one, params=replace(PARAMS, push_force=4.0)) for one in frames[3:]]
    with Trajectory(write(tmp_path / "pushed.gsd", frames)) as trajectory:
        assert len(choose(trajectory).frames) == 3


def test_rods_come_and_go(tmp_path):
    frames = []
    for k, one in enumerate(swimmers(24)):
        kept = np.ones(N, bool)
        kept[k : k + 5] = False
        ids = np.arange(N, dtype=np.int32)[kept]
        frames.append(replace(one, rods=one.rods[kept], ids=ids))
    found = analysed(write(tmp_path / "run.gsd", frames))
    assert found.span.rods == (N - 5, N - 5)
    assert not any("number of rods changes" in text for text in found.notes)
    first = [np.mean(np.setdiff1d(np.arange(N), np.r_[k : k + 6]) % 3 > 0) for k in range(23)]
    expected = np.mean(first) * (free_speed(GIVEN, PARAMS) * GAP) ** 2
    assert found.curves["msd"].y[0] == pytest.approx(expected, rel=1e-4)
    frames[5] = replace(frames[5], rods=frames[5].rods[:40], ids=np.arange(40, dtype=np.int32))
    frames[6] = replace(frames[6], rods=frames[6].rods[:0], ids=np.zeros(0, np.int32))
    found = analysed(write(tmp_path / "few.gsd", frames))
    assert found.span.rods == (0, N - 5)
    assert any("number of rods changes" in text for text in found.notes)
    assert found.curves["clusters"].y.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rods(tmp_path, n):
    found = analysed(write(tmp_path / "run.gsd", swimmers(12, n)))
    assert found.averages["polar_order"].mean <= 1
    assert found.averages["largest_cluster"].mean >= 1 / n
    report.write_tables(found, tmp_path)
    names = [name for name, (needs, _) in figures._FIGURES.items() if needs(found)]
    assert {"series", "spectrum", "field"} <= set(names)
    for name in names:
        with figures._styled() as figure:
            figures._FIGURES[name][1](figure, found)
            figure.draw_without_rendering()  # which takes a fraction of two files
    report.write_report(found, tmp_path, {}, names)


def test_a_box_hardly_larger_than_its_rods_has_no_spectrum_to_draw(tmp_path):
    small = replace(PARAMS, space_size=2 * PARAMS.length + 2 * PARAMS.sensing_range)
    found = analysed(write(tmp_path / "run.gsd", swimmers(12, 4, small)))
    assert len(found.curves["energy_spectrum"].x) > 1
    names = drawn(found, tmp_path)
    assert "spectrum" not in names
    assert {"series", "msd", "field"} <= set(names)


def test_where_nothing_is_driven_the_displacement_is_drawn_without_a_legend(tmp_path):
    still = replace(PARAMS, F_prop=0.0)
    frames = [replace(one, params=still) for one in swimmers(6, 8)]
    found = analysed(write(tmp_path / "run.gsd", frames))
    with figures._styled() as figure:
        figures._msd(figure, found)  # a legend of nothing would warn
        assert figure.axes[0].get_legend() is None


def test_no_rod_at_all_is_refused(tmp_path):
    frames = [replace(one, rods=one.rods[:0], observables={}) for one in swimmers(5)]
    with pytest.raises(AnalysisError, match="no rod in any"):
        analysed(write(tmp_path / "run.gsd", frames))


def test_runs_that_are_too_short_are_refused(tmp_path):
    path = write(tmp_path / "run.gsd", swimmers(10))
    with Trajectory(path) as trajectory:
        with pytest.raises(AnalysisError, match=r"2 of the 10 frames .* 3 are the least"):
            choose(trajectory, every=5)
        with pytest.raises(AnalysisError, match=r"from t = 0 to 4\.5: .* between 99 and inf"):
            choose(trajectory, first=99.0)
        assert len(choose(trajectory, first=0.5, last=1.5).frames) == 3


def test_times_that_go_back_or_are_none_are_refused(tmp_path):
    frames = swimmers(6)
    frames[4] = replace(frames[4], time=0.2)
    with (
        Trajectory(write(tmp_path / "back.gsd", frames)) as trajectory,
        pytest.raises(AnalysisError, match=r"Time goes back at frame 4 .*0\.2"),
    ):
        choose(trajectory)
    frames[4] = replace(frames[4], time=math.nan)
    with (
        Trajectory(write(tmp_path / "nan.gsd", frames)) as trajectory,
        pytest.raises(AnalysisError, match=r"Frame 4 of .* is damaged: its time is nan"),
    ):
        choose(trajectory)


def test_frames_that_are_not_evenly_apart_have_no_msd(tmp_path):
    frames = swimmers(8)
    frames[-1] = replace(frames[-1], time=frames[-1].time + 0.3)
    found = analysed(write(tmp_path / "run.gsd", frames))
    assert "msd" not in found.curves
    assert any("not equally far apart" in text for text in found.notes)
    # A frame that is there twice counts once.
    frames = swimmers(8)
    frames.insert(3, frames[2])
    found = analysed(write(tmp_path / "twice.gsd", frames))
    assert len(found.span.frames) == 8
    assert "msd" in found.curves


def test_steps_across_half_the_box_are_told(tmp_path):
    fast = replace(PARAMS, F_prop=480.0)
    found = analysed(write(tmp_path / "run.gsd", swimmers(8, params=fast)))
    assert any("not to be trusted. Record more often" in text for text in found.notes)


def test_numbers_are_rounded_by_their_errors():
    from engine.study.blocking import Average

    def told(mean: float, error: float, *, trusted: bool = True) -> tuple[str, str]:
        return report.rounded(Average(mean, error, 9, 1, trusted, 9, 0.0))

    assert told(0.123456, 0.0123) == ("0.123", "0.012")
    assert told(1234.5, 23.4) == ("1234", "23")
    assert told(123456.0, 2345.0) == ("123500", "2300")
    assert told(2.5, 0.0) == ("2.5", "constant")
    assert told(1234.5, 23.4, trusted=False) == ("1234", "≥ 23")
    assert told(2.5, math.nan) == ("2.5", "–")
    assert told(math.nan, math.nan) == ("–", "–")
    assert told(1e-12, 2e-14) == ("1.0000e-12", "2.0e-14")


def test_a_block_of_one_frame_gives_a_curve_no_error(tmp_path):
    few = analysed(write(tmp_path / "few.gsd", swimmers(15)))
    enough = analysed(write(tmp_path / "enough.gsd", swimmers(16)))
    for name in ("pair_correlation", "fluctuations", "msd"):
        assert np.isnan(few.curves[name].error).all(), name
        assert np.isfinite(enough.curves[name].error).any(), name
    assert few.exponent is not None
    assert report.rounded_exponent(few.exponent)[1] == "–"
    report.write_report(few, tmp_path, {}, [])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Curves have no errors: these take 16 frames at least." in text


def test_an_exponent_is_trusted_where_the_number_of_rods_in_a_part_forgets(swam, tmp_path):
    assert swam.exponent is not None
    # Rods that swim straight on keep their neighbours: 60 frames see little of it.
    assert not swam.exponent.trusted
    assert report.rounded_exponent(swam.exponent)[1].startswith("≥ 0.")
    rng, frames = np.random.default_rng(5), []
    for k in range(150):
        rods = rng.uniform(0, [60, 60, 3, 1], (N, 4)).astype(np.float32)
        frames.append(Snapshot(rods, 50 * k, k * GAP, PARAMS, {}))
    shuffled = analysed(write(tmp_path / "run.gsd", frames))
    assert shuffled.exponent is not None
    assert shuffled.exponent.trusted
    assert shuffled.exponent.value == pytest.approx(0.5, abs=4 * shuffled.exponent.error)


def test_a_run_that_is_too_short_is_told_how_long_it_should_be(tmp_path):
    found = analysed(write(tmp_path / "run.gsd", swimmers(20)))
    needed = max(one.needed for one in found.averages.values() if not one.trusted)
    assert needed > 20
    (told,) = [text for text in report.remarks(found) if "too short" in text]
    assert f"{math.ceil(needed / 20)} times as long" in told


@pytest.mark.parametrize("boundary", ["periodic", "walls", "circle"])
def test_only_in_a_periodic_box_are_rods_near_across_an_edge(tmp_path, boundary):
    side, up, frames = PARAMS.space_size, math.pi / 2, []
    for k in range(20):
        # Two upright rods at either side, one that goes from side to side, one by itself.
        far = 58.0 if k % 2 else 2.0
        rods = np.array([[0.3, 30, up, 1], [side - 0.3, 30, up, 1], [far, 22, 0, 1],
                         [30, 30, 0, 0]], np.float32)  # fmt: skip
        laws = replace(GIVEN, boundary=boundary)
        frames.append(Snapshot(rods, 50 * k, k * GAP, PARAMS, {}, laws=laws))
    results = analysed(write(tmp_path / "run.gsd", frames))
    mean = {name: one.mean for name, one in results.averages.items()}
    across = boundary == "periodic"
    assert mean["largest_overlap"] == pytest.approx(0.4 if across else 0, abs=1e-5)
    assert mean["cluster_size"] == (1.5 if across else 1)
    assert mean["neighbours"] == (0.5 if across else 0)
    assert results.curves["msd"].y[0] == pytest.approx((4 if across else 56) ** 2 / 4)
    names = figures.wanted(results)
    report.write_report(results, tmp_path, {}, names)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    needs_edges = {"pair_correlation", "fluctuations", "spectrum", "field"}
    assert ("Within walls there is no" in text) == (not across)
    assert ("Fields are means" in text) == across
    assert (set(names) & needs_edges == needs_edges) == across
    assert across or not set(names) & needs_edges
    assert across == ("enstrophy" in mean)


def test_velocities_within_walls_are_compared_as_far_as_the_box_is_wide(tmp_path):
    walled = replace(GIVEN, boundary="walls")
    frames = [replace(one, laws=walled) for one in swimmers(6)]
    results = analysed(write(tmp_path / "run.gsd", frames))
    curve, width = results.curves["velocity_correlation"], 2 * PARAMS.radius
    assert curve.x[-1] == pytest.approx(PARAMS.space_size, abs=width)
    # Against each pair one by one: places are rounded to half a ring.
    sums = np.zeros(len(curve.x))
    counts = np.zeros(len(curve.x))
    for one in frames:
        v, pos = velocities(one), np.float64(one.pos)
        i, j = np.triu_indices(N, 1)
        ring = (np.hypot(*(pos[i] - pos[j]).T) / (curve.x[1] - curve.x[0])).astype(int)
        near = ring < len(sums)
        alike = (v[i] * v[j]).sum(1) / (v * v).sum(1).mean()
        sums += np.bincount(ring[near], alike[near], len(sums))
        counts += np.bincount(ring[near], minlength=len(sums))

    def coarsely(values: np.ndarray) -> np.ndarray:
        # Ten rings at a time, of those that hold many pairs.
        return values[10:50].reshape(4, 10).sum(1)

    np.testing.assert_allclose(
        coarsely(curve.y * counts) / coarsely(counts), coarsely(sums) / coarsely(counts), atol=0.02
    )
