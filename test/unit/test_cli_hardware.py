"""`tapeflow hardware`: what is listed, shown and told apart, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tapeflow import cli
from tapeflow.cli_hardware import app
from tapeflow.errors import TapeflowError
from tapeflow.hardware import Hardware
from tapeflow.hardware.fields import field_texts, flat_fields


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch):
    """Run `tapeflow hardware` in this process; returns what it prints."""
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def test_list_names_every_preset_once_smallest_first(hardware):
    lines = hardware("list").splitlines()
    named = [line.split()[0] for line in lines if re.fullmatch(r" ?\S+ +\d+ B .*", line)]
    assert sorted(named) == Hardware.presets()
    sizes = [Hardware.preset(name).sram_bytes for name in named]
    assert sizes == sorted(sizes)
    listed = json.loads(hardware("list", "--json"))
    assert list(listed) == named
    assert listed["stream-1k"]["sram_bytes"] == 2048 and listed["stream-1k"]["outstanding"] == 16


@pytest.mark.parametrize("columns", [80, 160])
def test_names_are_whole_and_texts_are_wide_in_a_narrow_terminal_too(hardware, monkeypatch, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    listed, described = hardware("list"), hardware("show", "stream-1k", "--fields")
    assert max(map(len, (listed + described).splitlines())) <= columns
    assert all(f"{name} " in listed for name in Hardware.presets())
    assert "A 2 KiB cache, two ways; as much SRAM as stream-1k." in listed
    for name in flat_fields(Hardware.preset("stream-1k")):
        assert re.search(rf"^ ?{re.escape(name)}[: ]", described, re.MULTILINE), name
    if columns == 80:
        assert "scratchpad.size_bytes: 1024 bytes\n" in described


@pytest.mark.parametrize("name", Hardware.presets())
def test_what_is_shown_reads_back_as_the_same_machine(hardware, tmp_path, name: str):
    text = hardware("show", name)
    (tmp_path / "mine.yaml").write_text(text)
    assert Hardware.from_yaml(tmp_path / "mine.yaml") == Hardware.preset(name)
    assert json.loads(hardware("show", name, "--json")) == yaml.safe_load(text)


def test_fields_are_shown_with_their_documentation(hardware, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "400")
    text = hardware("show", "cache-2k", "--fields")
    for name, value in flat_fields(Hardware.preset("cache-2k")).items():
        said = field_texts()[name]
        shown = "none" if value is None else str(value)
        words = [name, *shown.split(), *said.unit.split(), *said.description.split(), *said.source.split()]
        assert any(line.split() == words for line in text.splitlines()), words


def test_diff_lists_exactly_the_fields_that_differ(hardware):
    found = json.loads(hardware("diff", "stream-4k", "stream-4k-hbm", "--json"))
    assert found["fields"] == {"dram.part": ["DDR4-2400", "HBM2"]}
    assert found["unequal"] == ["dram.part: DDR4-2400 against HBM2"]
    table = hardware("diff", "stream-4k", "stream-4k-hbm")
    assert re.search(r"dram\.part\s+DDR4-2400\s+HBM2", table)
    assert table.endswith("not equal: dram.part: DDR4-2400 against HBM2\n")


def test_diff_names_a_part_that_one_machine_lacks(hardware):
    found = json.loads(hardware("diff", "stream-1k", "cache-2k", "--json"))
    assert found["fields"]["scratchpad.size_bytes"] == [1024, None]
    assert found["unequal"] == []
    assert hardware("diff", "stream-1k", "cache-2k").endswith("equal in all that a comparison must keep equal\n")


def test_diff_shows_banks(hardware, tmp_path):
    (tmp_path / "banked.yaml").write_text(
        "cache: {size_bytes: 1024, ways: 2}\nscratchpad: {size_bytes: 1024, ports: 2, banks: 8}\n"
    )
    found = json.loads(hardware("diff", "stream-1k", str(tmp_path / "banked.yaml"), "--json"))
    assert found["fields"]["scratchpad.banks"] == [2, 8]
    assert "memory ports: 3 against 4" in found["unequal"]


def test_a_machine_does_not_differ_from_itself(hardware):
    assert hardware("diff", "stream-1k", "stream-1k") == "stream-1k and stream-1k are the same machine\n"


@pytest.mark.parametrize("verb", [("show", "abacus"), ("diff", "stream-1k", "abacus")])
def test_an_unknown_machine_lists_those_there_are(hardware, verb):
    with pytest.raises(TapeflowError, match=r"no hardware preset 'abacus'\n  help: there are: artifact-2024"):
        hardware(*verb)


@pytest.mark.parametrize("verb", [(), ("list",), ("show",), ("diff",)])
def test_help_has_an_example(hardware, verb):
    text = hardware(*verb, "--help")
    assert not verb or f"tapeflow hardware {verb[0]}" in text


def test_simulate_writes_a_timeline_and_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    kernel = Path(__file__).parents[2] / "bench" / "kernels" / "worked_example.c"
    options = ["--wrt", "A,w", "--arg", "n=20", "--arg", "m=20", "--arg", "w=20", "--hardware", "stream-1k"]

    def run(*more: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli.app, ["simulate", str(kernel), *options, *more])
        assert done.exit_code == code, done.output
        return done.output + str(done.exception)

    run("--timeline", "run.json", "--against", "cache-2k")
    trace = json.loads((tmp_path / "run.json").read_text())
    assert trace["otherData"]["hardware"]["name"] == "stream-1k" and trace["otherData"]["what"] == "f_grad"
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X", "s", "f"}
    run("--timeline", "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "ends neither in .json" in " ".join(run("--timeline", "run.svg", code=2).replace("│", "").split())
    run("--report", "out/new", "--against", "cache-2k")
    assert "<h1>f_grad on stream-1k</h1>" in (tmp_path / "out" / "new" / "index.html").read_text()
    assert json.loads((tmp_path / "out" / "new" / "timeline.json").read_text()) == trace
    assert "cannot make the folder run.png" in run("--report", "run.png", code=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run.json", "run.png"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (["--timeline", "missing/run.json"], "cannot write missing/run.json: No such file or directory"),
        (["--timeline", "folder.json"], "cannot write folder.json: Is a directory"),
        (["--report", "file/page"], "cannot make the folder file/page: file is a file"),
    ],
)
def test_places_are_checked_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path, place, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").touch()
    done = CliRunner().invoke(
        cli.app, ["simulate", "no_such_kernel.c", "--wrt", "x", "--hardware", "stream-1k", *place]
    )
    assert done.exit_code == 1
    # The kernel is not even looked for.
    assert str(done.exception) == f"error: {message}"


def test_calls_that_stay_are_not_simulated_and_the_limit_is_an_option(tmp_path):
    (tmp_path / "twice.c").write_text(
        "static double g(double x) { return x * x; }\ndouble twice(double x) { return g(x) + g(x + 1); }\n"
    )
    options = ["simulate", str(tmp_path / "twice.c"), "--wrt", "x", "--hardware", "cache-2k"]
    done = CliRunner().invoke(cli.app, [*options, "--inline-limit", "0"])
    assert done.exit_code == 1
    assert "the modelled machine runs no calls" in str(done.exception)
    assert CliRunner().invoke(cli.app, options).exit_code == 0
