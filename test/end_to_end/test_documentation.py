"""The examples of the documentation run, and print what stands there.

In a page, a block after `<!-- file: NAME -->` is that file; a `python` block is run, and the block without a language
right after it is what it prints; in a `console` block, lines after `$ ` are commands and the others what they print.
The README's commands are those that are installed. The other pages' `tapeflow` is forked from a process that has
imported it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest
from forked_command import run_tapeflow

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/python.md",
    "docs/frontend-python.md",
    "docs/cli.md",
    "docs/kernels.md",
    "docs/errors.md",
    "docs/xdsl.md",
)
BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```\n", re.M | re.S)


def run(command: list[str], folder: Path) -> str:
    """What `command` prints, errors and remarks too."""
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(paths)}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.stdout


def run_forked(command: str, folder: Path, outputs: Path) -> str:
    """What `command` prints, a `tapeflow` of this process and what the shell does with its output."""
    tapeflow, rest = re.fullmatch(r"tapeflow ([^|>]*)(.*)", command).groups()
    done = run_tapeflow(shlex.split(tapeflow), folder, together=not rest)
    if not rest:
        return done.stdout
    said = outputs / "said"
    said.write_text(done.stdout)
    return run(["bash", "-c", f"cat {said} {rest}"], folder) + done.stderr


def commands(console: str) -> list[tuple[str, str]]:
    """Each command of a console block with what it prints."""
    parts = re.split(r"^\$ (.*)\n", console, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_stands_there(
    page: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "120")
    outputs = tmp_path_factory.mktemp("outputs")
    (tmp_path / "bench").symlink_to(ROOT / "bench")
    text = (ROOT / page).read_text()
    blocks = list(BLOCK.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["text"])
        elif block["language"] == "python":
            printed = run([sys.executable, "-c", block["text"]], tmp_path)
            # Its output, if it has any, follows at once.
            adjacent = following is not None and following.start() == block.end() and not following["language"]
            assert printed.strip() == (following["text"].strip() if adjacent and following else "")
        elif block["language"] == "console":
            for command, expected in commands(block["text"]):
                forked = page != "README.md" and command.startswith("tapeflow ")
                printed = run_forked(command, tmp_path, outputs) if forked else run(["bash", "-c", command], tmp_path)
                assert printed.strip() == expected.strip(), command
        elif block["language"] == "sh":
            targets = re.findall(r"^make (\w+)", block["text"], flags=re.M)
            assert targets, "a block of shell commands is run only as a console block"
            subprocess.run(["make", "-n", "-C", ROOT, *targets], check=True, capture_output=True)


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page in a link to them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere_and_index_leads_to_every_page():
    index = ROOT / "docs/index.md"
    pages = {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")}
    linked: dict[Path, set[Path]] = {}
    for page in pages:
        for file, anchor in re.findall(r"\]\((?!https://)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
            target = (page.parent / file).resolve() if file else page
            assert target.exists(), f"{page}: {file}"
            assert not anchor or anchor in anchors(target), f"{page}: {file}#{anchor}"
            linked.setdefault(page, set()).add(target)
    reached: set[Path] = set()
    ahead = {index}
    while ahead:
        reached |= ahead
        ahead = {target for page in ahead for target in linked.get(page, ())} - reached
    assert not {page for page in pages if page.parent == index.parent} - reached
