"""How regions are used, and how often their blocks are expected to run."""

from itertools import count

from parsing import parse

from tapeflow.analysis.block_runs import USUAL_TRIPS, expected_runs
from tapeflow.analysis.region_uses import layer_loop, used_region
from tapeflow.dialects import tape

FRESH = count()
REGION = "!tape.region<{x: f64}, aos>"
HEAD = f"""
func.func private @g({REGION}) -> ()
func.func @f(%n: index, %c: i1, %x: f64, %k: i32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %k0 = arith.constant 0 : i32
  %k1 = arith.constant 1 : i32
  %r = tape.create : {REGION}
"""
RECORD = f"tape.record %x onto %r : {REGION}\n"
REPLAY = f"%y = tape.replay %r : {REGION}\n"


def region(text: str):
    module = parse(HEAD + text + "func.return\n}")
    (create,) = (op for op in module.walk() if isinstance(op, tape.CreateOp))
    return used_region(create)


def loop(*parts: str, upto: str = "n") -> str:
    return f"scf.for %i_{next(FRESH)} = %c0 to %{upto} step %c1 {{\n" + "".join(parts) + "}\n"


def is_layer(forward: str) -> bool:
    found = region(forward + loop(REPLAY))
    assert found is not None
    return layer_loop(found, found.records[0]) is not None


def test_a_region_whose_every_use_is_known() -> None:
    found = region(loop(RECORD) + loop(REPLAY))
    assert found is not None
    assert [op.name for op in found.accesses] == ["tape.record", "tape.replay"]


def test_unknown_one_sided_and_absent_uses() -> None:
    assert region(loop(RECORD) + f"func.call @g(%r) : ({REGION}) -> ()\n" + loop(REPLAY)) is None
    assert region(loop(RECORD)) is None
    assert region("") is None


def test_layers() -> None:
    branch = f"scf.if %c {{\n{RECORD}}}\n"
    by_i32 = f"scf.for %i = %k0 to %k step %k1 : i32 {{\n{RECORD}}}\n"
    assert is_layer(loop(RECORD))
    assert is_layer(loop(loop(RECORD)))
    assert is_layer(loop("scf.if %c {\n}\n", RECORD))
    assert not is_layer(loop(branch))
    assert not is_layer(loop(RECORD, loop()))
    assert not is_layer(loop("scf.if %c {\n", loop(), "}\n", RECORD))
    assert not is_layer(loop(RECORD, branch))
    assert not is_layer(by_i32)
    assert not is_layer(RECORD)


def test_expected_runs() -> None:
    def runs(forward: str) -> int:
        found = region(forward + loop(REPLAY))
        assert found is not None
        return expected_runs(found.records[0].parent)

    assert runs(RECORD) == 1
    assert runs(loop(RECORD)) == USUAL_TRIPS
    assert runs(loop(loop(RECORD), upto="c10")) == 10 * USUAL_TRIPS
    assert runs(loop(RECORD, upto="c10").replace("step %c1", "step %c3")) == 4
    assert runs(loop(RECORD, upto="c0")) == 0
    assert runs(loop(f"scf.if %c {{\n{RECORD}}}\n", upto="c3")) == 3
