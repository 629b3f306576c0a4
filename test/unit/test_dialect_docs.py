"""The pages of the dialects and the interpreters: they cover every operation, and what they show works."""

import contextlib
import io
import re
from importlib import import_module
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.universe import Universe

from tapeflow.universe import TAPEFLOW_UNIVERSE

DOCS = Path(__file__).parents[2] / "docs"
DIALECTS = tuple(TAPEFLOW_UNIVERSE.all_dialects)


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def context() -> Context:
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return context


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_ir_of_a_page_verifies(context, dialect):
    shown = blocks((DOCS / f"dialect-{dialect}.md").read_text(), "mlir")
    assert shown
    for text in shown:
        Parser(context, text).parse_module().verify()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_page_has_a_row_for_every_operation(dialect):
    page = (DOCS / f"dialect-{dialect}.md").read_text()
    for op in TAPEFLOW_UNIVERSE.all_dialects[dialect]().operations:
        assert re.search(rf"^\| `{re.escape(op.name)}` \|", page, re.MULTILINE), op.name
    for attribute in TAPEFLOW_UNIVERSE.all_dialects[dialect]().attributes:
        assert (
            attribute.name not in ("tape.tape", "tape.region", "spad.buffer", "stream.fifo") or attribute.name in page
        )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_messages_of_a_page_are_those_that_are_tested(dialect):
    page = (DOCS / f"dialect-{dialect}.md").read_text().split("## Refused")[1].split("\n\nWhen it runs")[0]
    tested = (DOCS.parent / f"test/filecheck/dialects/{dialect}/verify.mlir").read_text()
    messages = re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)
    assert messages
    for message in messages:
        pattern = re.sub(r"\d+|@\w+", r"[@\\w]+", re.escape(message.split("...")[0].strip()))
        assert re.search(pattern, tested), message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_module_of_a_dialect_shows_its_ir(dialect):
    module = import_module(f"tapeflow.dialects.{dialect}")
    assert blocks(module.__doc__, "mlir")


def test_the_python_of_the_interpreters_page_prints_what_is_shown():
    page = (DOCS / "interpreters.md").read_text()
    (code,) = blocks(page, "python")
    (output,) = re.findall(r"^```\n```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "interpreters.md", "exec"), {})
    assert printed.getvalue() == output
