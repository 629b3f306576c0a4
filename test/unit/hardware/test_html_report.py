"""The page about a run: whole in itself, with the numbers of the run, and shown by a real browser."""

from __future__ import annotations

import base64
import functools
import html
import io
import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

import tapeflow
from bench.suite import SUITE
from tapeflow.hardware import Comparison, Counters, Hardware, Report
from tapeflow.hardware.figures import png, roofline_figure, stall_figure
from tapeflow.hardware.html_report import html_page
from tapeflow.hardware.timeline import Timeline
from tapeflow.simulation import options_for, simulate

from .machine import BROWSER, COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


@functools.cache
def reports() -> tuple[Report, ...]:
    """The worked example on a cache as large as ours, and streamed."""
    kernel = SUITE["worked_example"]
    done: list[Report] = []
    for name in ("cache-2k", "stream-1k"):
        machine = Hardware.preset(name)
        made = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
        arguments = list(kernel.arguments({"n": 30, "m": 40}).values())
        done.append(simulate(made, arguments, hardware=machine, timeline=True, reuse=True))
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
    assert outline.pictures == ["stalls", "roofline", "energy", "reuse", "reuse", "timeline", "timeline"]
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


def test_the_same_run_gives_the_same_picture():
    assert base64.b64encode(png(stall_figure(reports()))).decode() in page()


def test_no_text_of_a_user_becomes_markup():
    report = reports()[-1]
    # Nor a formula of matplotlib's, a style or emoji of rich's, or a line that the legend leaves out, nor code of C.
    name = r"_<b>&</script> $\frac$ [/b]:cat: */"
    odd = Report(report.hardware.with_(name=name), report.counters, report.mix, label="f<i>")
    text = html_page([report, odd])
    Outline().feed(text)
    assert "<b>&</script>" not in text and "f<i>" not in text and "f&lt;i&gt;" in text
    legend = roofline_figure([odd]).axes[0].get_legend()
    assert r"<b>&</script> \$\frac\$ [/b]:cat: */" in legend.get_texts()[-1].get_text()
    for shown in (odd, odd.against(report)):
        console = Console(width=240, record=True, file=io.StringIO())
        console.print(shown)
        assert name in console.export_text()
    assert odd.hardware.machine_header().splitlines()[0].count("*/") == 1


@pytest.mark.filterwarnings("error")
def test_a_run_of_nothing_has_a_page():
    report = reports()[-1]
    nothing = Report(report.hardware, Counters(dict.fromkeys(report.counters, 0), {}), {}, timeline=Timeline((), 0))
    assert "bound by compute: at least 0 cycles" in html_page([nothing])


def test_operations_and_ceilings_of_the_roofline():
    cache, stream = reports()
    assert cache.operations == stream.operations > 30 * 40
    assert list(cache.ceilings) != list(stream.ceilings)
    for report in (cache, stream):
        units, bandwidth, shortest, scattered = report.ceilings.values()
        nanoseconds = report.seconds * 1e9
        assert report.operations / nanoseconds <= units
        assert report.dram_bytes / nanoseconds <= min(bandwidth, shortest)
        assert scattered < shortest == pytest.approx(16 * 64 / (0.833 * (2 + 17 + 4)), rel=0.01)


# What the page looks like from inside, once it has loaded.
LOOK = """
<script>
const errors = [];
addEventListener('error', event => errors.push(String(event.message || event.target.src)), true);
addEventListener('load', () => {
  const images = [...document.images];
  document.title = JSON.stringify({
    heading: document.querySelector('h1').innerText,
    figures: images.filter(i => i.complete && i.naturalWidth > 100 && i.clientHeight > 50).map(i => i.alt),
    captions: [...document.querySelectorAll('figcaption')].filter(c => c.innerText.length > 20).length,
    empty: [...document.querySelectorAll('td')].filter(cell => cell.textContent.trim() === '').length,
    rows: [...document.querySelectorAll('table')].map(t => t.rows.length),
    cycles: JSON.parse(document.getElementById('numbers').textContent).map(report => report.cycles),
    summary: document.querySelector('ul').innerText,
    loaded: performance.getEntriesByType('resource').map(e => e.name).filter(name => !name.startsWith('data:')),
    wide: document.documentElement.scrollWidth > innerWidth,
    errors: errors,
  });
});
</script>
"""


def browse(page: str, folder: Path) -> tuple[dict[str, object], str]:
    """What a headless browser made of `page`, and what it had to say on its console."""
    (folder / "index.html").write_text(page.replace("<head>", f"<head>{LOOK}"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1200,900"]
    done = subprocess.run(
        [
            BROWSER or "",
            *options,
            f"--user-data-dir={folder}/profile",
            "--virtual-time-budget=5000",
            "--dump-dom",
            f"file://{folder}/index.html",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"HOME": str(folder)},
    )
    titles = re.findall(r"<title>(\{.*?\})</title>", done.stdout, re.S)
    assert titles, done.stderr[-2000:]
    return json.loads(html.unescape(titles[0])), done.stderr


needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="THE REPORT IS NOT TESTED IN A BROWSER: no chromium or google-chrome on the path"
)


@needs_browser
def test_a_browser_shows_the_page_and_asks_nobody(tmp_path: Path):
    seen, console = browse(page(), tmp_path)
    assert seen["heading"] == "f_grad on stream-1k"
    assert seen["figures"] == ["stalls", "roofline", "energy", "reuse", "reuse", "timeline", "timeline"]
    assert seen["captions"] == 7
    assert seen["cycles"] == [report.cycles for report in reports()]
    assert all(f"{report.cycles:,} cycles; {report.bottleneck}." in str(seen["summary"]) for report in reports())
    assert seen["rows"][0] == 1 + len(Comparison(reports()).rows())
    assert seen["empty"] == 0
    assert seen["loaded"] == [] and seen["errors"] == [] and not seen["wide"]
    assert "CONSOLE" not in console


@needs_browser
def test_the_browser_would_see_a_picture_that_is_missing(tmp_path: Path):
    broken = page().replace("data:image/png;base64,", "missing.png?", 1)
    broken = broken.replace("</body>", "<script>console.error('loud')</script></body>")
    seen, console = browse(broken, tmp_path)
    assert seen["figures"] == ["roofline", "energy", "reuse", "reuse", "timeline", "timeline"]
    assert seen["errors"] != []
    assert "CONSOLE" in console
