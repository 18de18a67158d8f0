# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark of sweeps, cut short: every way runs the same systems, and each has its figure."""

import json

from benchmarks import sweep


def test_a_short_run_ends_with_figures(tmp_path, capsys):
    file = tmp_path / "sweep.json"
    arguments = "--rods 64 --systems 2 --steps 20 --every 10 --rounds 1 --workers 1"
    assert sweep.main([*arguments.split(), "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert set(found["seconds"]) == {"batched", "rebuilt", "compiled"}
    assert found["steps"] == {"batched": 40, "rebuilt": 40, "compiled": 40}
    text = capsys.readouterr().out
    assert "2 systems of 64 rods, 20 steps each, sampled every 10; 1 rounds" in text
    assert text.count("batched is") == 3
