"""The measurement of the model's speed: what it says is whole, and its runs without a hit have none."""

from __future__ import annotations

import json
import shutil

import pytest
from typer import Typer
from typer.testing import CliRunner

from bench import batch, callgrind_time, measured, model_speed, native, sweep, table
from tapeflow.hardware import Hardware

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="THE COST OF CALLGRIND IS NOT TESTED: there is no valgrind"
)


def test_every_access_of_the_sweeps_misses():
    rows = model_speed.measure_misses(Hardware.preset("cache-2k"), repeats=1, lines=1 << 12)
    assert [row["accesses"] for row in rows] == [1 << 12] * 8
    assert all(row["misses_per_second"] > 1e4 and row["native_chain_per_second"] > 1e4 for row in rows)
    with pytest.raises(AssertionError, match="did not miss"):
        model_speed.measure_misses(Hardware.preset("cache-2k").with_(cache={"prefetch_lines": 4}), 1, 1 << 12)


@pytest.mark.parametrize("program", [batch, measured, model_speed, native, sweep, table])
def test_wrong_options_are_refused_before_anything_is_measured(program, tmp_path):
    app = Typer()
    app.command()(program.main)
    (tmp_path / "file").touch()
    wrong = {"--out": (str(tmp_path / "file"), "is a file")}
    if program is measured:
        wrong["--out"] = (str(tmp_path), "has no table.md")
    else:
        wrong |= {"--kernels": ("logsum,abacus", "no kernel 'abacus'"), "--size": ("huge", "no size 'huge'")}
    for option, (value, message) in wrong.items():
        done = CliRunner().invoke(app, [option, value], env={"COLUMNS": "400"})
        assert done.exit_code == 2 and message in done.output


@needs_valgrind
def test_the_command_prints_what_it_saves(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(model_speed, "ALL_MISS_LINES", 1 << 12)
    monkeypatch.setattr(callgrind_time, "_WORTH_MEASURING", 0.1)
    app = Typer()
    app.command()(model_speed.main)
    arguments = ["--size", "mini", "--kernels", "logsum", "--repeats", "1", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    printed = json.loads(done.output)
    assert printed == json.loads((tmp_path / "model_speed.json").read_text())
    (row,) = printed["kernels"]
    assert row["accesses"] == 1200 and 0.5 < row["hit_share"] < 1
    assert row["callgrind_over_native"] / row["callgrind_over_model"] == pytest.approx(row["over_native"])
    assert [(case, list(times)) for case, times in row["build_seconds"].items()] == [
        (case, ["cpu", "wall"]) for case in ("first", "rebuild", "again")
    ]
    assert row["accesses_per_second"] == row["accesses"] / row["seconds"]
    assert "| logsum | 1,200 |" in (tmp_path / "model_speed.md").read_text()
    help_text = CliRunner().invoke(app, ["--help"]).output
    assert "python -m bench.model_speed --kernels gravity,mttkrp" in help_text


def test_targets_are_of_runs_that_mostly_hit():
    row: dict[str, object] = {"kernel": "k", "hit_share": 0.99, "accesses_per_second": 9e7}
    row["build_seconds"] = {"rebuild": {"cpu": 0.6, "wall": 0.4}}
    sparse = row | {"hit_share": 0.9, "accesses_per_second": 1e6}
    misses = [
        {"what": what, "misses_per_second": speed, "model_alone_per_second": 2 * speed}
        for what, speed in (("reads", 9e6), ("writes", 7e6))
    ]
    said = model_speed.targets([row, sparse], misses)
    assert [line.split(" ")[0] for line in said] == ["MISSED", "met", "MISSED", "met"]
    assert said[2].endswith("writes: 8 million accesses a second when all miss, 7.0 (14.0 by the model alone)")
    assert "500 ms by the clock for a new geometry, at most 400 (600 of CPU time)" in said[-1]
