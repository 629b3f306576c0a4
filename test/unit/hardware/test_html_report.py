"""The page about a run: whole in itself, with the numbers of the run, and shown by a real browser."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tapeflow
from bench.suite import SUITE
from tapeflow.hardware import Comparison, Hardware, Report
from tapeflow.hardware.html_report import html_page
from tapeflow.simulation import options_for, simulate

from .machine import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

BROWSER = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)


@functools.cache
def reports() -> tuple[Report, ...]:
    """The worked example on a cache as large as ours, and streamed."""
    kernel = SUITE["worked_example"]
    done: list[Report] = []
    for name in ("cache-2k", "stream-1k"):
        machine = Hardware.preset(name)
        made = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
        arguments = list(kernel.arguments({"n": 30, "m": 40}).values())
        done.append(simulate(made, arguments, hardware=machine, timeline=True))
    return tuple(done)


@functools.cache
def page() -> str:
    return html_page(reports())


class Outline(HTMLParser):
    """The tags that are open, in balance, and what the page would load."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.pictures: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]):
        given = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "img":
            self.pictures.append(given.get("alt"))
        self.loads += [given[name] or "" for name in ("src", "href") if name in given]

    def handle_endtag(self, tag: str):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_loads_nothing():
    outline = Outline()
    outline.feed(page())
    assert outline.open == []
    assert outline.pictures == ["stalls", "roofline", "energy", "timeline", "timeline"]
    assert all(source.startswith("data:image/png;base64,") for source in outline.loads)
    for source in outline.loads:
        assert base64.b64decode(source.partition(",")[2]).startswith(b"\x89PNG")
    assert not re.search(r"@import|url\(|https?:", page())


def test_the_page_has_the_numbers_and_the_machines():
    found = re.search(r'id="numbers">(.*?)</script>', page(), re.S)
    assert found is not None
    assert json.loads(found[1]) == json.loads(json.dumps([report.as_dict() for report in reports()]))
    for report in reports():
        assert report.bottleneck in page()
        assert all(f"<td>{value}</td>" in page() for value in report.rows().values())
        assert f"size_bytes: {report.hardware.cache.size_bytes}" in page()
    assert "is equal in all that is not compared here" in page()
    assert Comparison(reports()).differences == {"cache-2k": []}


def test_the_same_run_gives_the_same_page():
    assert html_page(reports()) == page()


def test_no_text_of_a_user_becomes_markup():
    report = reports()[-1]
    name = "<b>&</script>"
    odd = Report(report.hardware.with_(name=name), report.counters, report.mix, label="f<i>")
    text = html_page([odd])
    Outline().feed(text)
    assert "<b>&</script>" not in text and "f<i>" not in text and "f&lt;i&gt;" in text


def test_operations_and_ceilings_of_the_roofline():
    cache, stream = reports()
    assert cache.operations == stream.operations > 30 * 40
    assert list(cache.ceilings) != list(stream.ceilings)
    for report in (cache, stream):
        units, bandwidth, shortest, scattered = report.ceilings.values()
        nanoseconds = report.seconds * 1e9
        assert report.operations / nanoseconds <= units
        assert report.dram_bytes / nanoseconds <= min(bandwidth, shortest)
        assert scattered < shortest == pytest.approx(16 * 64 / 17.5, rel=0.01)


@pytest.mark.skipif(BROWSER is None, reason="no headless browser: chromium or google-chrome on the path")
def test_a_browser_shows_every_picture(tmp_path: Path):
    count = "document.title = [...document.images].filter(i => i.complete && i.naturalWidth > 100).length + ' shown'"
    script = f"<script>addEventListener('load', () => {{ {count} }})</script></body>"
    (tmp_path / "index.html").write_text(page().replace("</body>", script))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    done = subprocess.run(
        [BROWSER or "", *options, "--virtual-time-budget=5000", "--dump-dom", f"file://{tmp_path}/index.html"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    assert "<title>5 shown</title>" in done.stdout, done.stderr[-2000:]
