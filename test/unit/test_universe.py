"""Tapeflow as a plug-in of xDSL: its universe loads, defines every name once, and its passes keep their options."""

import dataclasses
import subprocess
import sys

import pytest
from xdsl.frontend import Frontend
from xdsl.ir import Dialect
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.target import Target

from tapeflow.universe import TAPEFLOW_UNIVERSE

# A value other than the default for every option of every pass, so that a new option is a new line here.
OTHER_OPTIONS: dict[str, dict[str, object]] = {
    "ad-prepare": {"inline_limit": 7},
    "ad-differentiate": {},
    "tape-plan": {"recompute": "cheap"},
    "tape-form-regions": {"layout": "soa"},
    "spad-form-layers": {"bytes": 4096, "buffers": 3},
    "stream-form-fifos": {},
}


def test_the_multiverse_loads_and_has_all_of_tapeflow():
    """Two universes that define one name make every xdsl-opt call die."""
    multiverse = Universe.get_multiverse()
    for kind in ("all_dialects", "all_passes", "all_targets", "all_frontends"):
        assert getattr(TAPEFLOW_UNIVERSE, kind).keys() <= getattr(multiverse, kind).keys()


def test_finding_the_universe_imports_no_part_of_the_compiler():
    """Every xdsl-opt call pays for what the universe imports."""
    script = "import sys, tapeflow.universe; print([m for m in sys.modules if m.startswith('tapeflow.')])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['tapeflow.universe']"


@pytest.mark.parametrize("name", TAPEFLOW_UNIVERSE.all_dialects)
def test_a_dialect_is_what_its_name_says(name):
    dialect = TAPEFLOW_UNIVERSE.all_dialects[name]()
    assert isinstance(dialect, Dialect)
    assert dialect.name == name
    for op in dialect.operations:
        assert op.name.startswith(f"{name}.")
    for attribute in dialect.attributes:
        assert attribute.name.startswith(f"{name}.")


@pytest.mark.parametrize("kind", ["operations", "attributes"])
@pytest.mark.parametrize("name", TAPEFLOW_UNIVERSE.all_dialects)
def test_every_operation_and_type_is_documented(name, kind):
    for definition in getattr(TAPEFLOW_UNIVERSE.all_dialects[name](), kind):
        assert definition.__doc__, definition.name


@pytest.mark.parametrize("name", TAPEFLOW_UNIVERSE.all_passes)
def test_a_pass_is_what_its_name_says(name):
    pass_type = TAPEFLOW_UNIVERSE.all_passes[name]()
    assert issubclass(pass_type, ModulePass)
    assert pass_type.name == name
    assert pass_type.__module__ == f"tapeflow.transforms.{name.replace('-', '_')}"
    assert pass_type.__doc__


@pytest.mark.parametrize("name", TAPEFLOW_UNIVERSE.all_passes)
def test_the_text_of_a_pass_keeps_its_options(name):
    """Benchmarks record it, and must be able to run it again."""
    pass_type = TAPEFLOW_UNIVERSE.all_passes[name]()
    assert {field.name for field in dataclasses.fields(pass_type)} == OTHER_OPTIONS[name].keys()
    for given in (pass_type(), pass_type(**OTHER_OPTIONS[name])):
        (again,) = PassPipeline.parse_spec(TAPEFLOW_UNIVERSE.all_passes, str(given)).passes
        assert again == given


@pytest.mark.parametrize("name", TAPEFLOW_UNIVERSE.all_targets)
def test_a_target_is_what_its_name_says(name):
    target = TAPEFLOW_UNIVERSE.all_targets[name]()
    assert issubclass(target, Target)
    assert target.name == name


@pytest.mark.parametrize("name", TAPEFLOW_UNIVERSE.all_frontends)
def test_a_frontend_is_one(name):
    assert issubclass(TAPEFLOW_UNIVERSE.all_frontends[name](), Frontend)


def test_every_operation_has_a_meaning():
    """The interpreter implements all operations of all four dialects, except what speaks to a pass."""
    from xdsl.dialects.builtin import ModuleOp

    from tapeflow.interpreters import IMPLEMENTATIONS, make_interpreter

    assert make_interpreter(ModuleOp([]))
    implemented = {op for functions in IMPLEMENTATIONS for op, _ in functions.implementations()}
    missing = {
        op.name
        for factory in TAPEFLOW_UNIVERSE.all_dialects.values()
        for op in factory().operations
        if op not in implemented
    }
    assert missing == {"ad.vjp", "ad.jvp", "ad.rule"}
