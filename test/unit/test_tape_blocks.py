"""Which tapes share a record."""

from itertools import count

from parsing import parse

from tapeflow.analysis.block_order import BlockOrder
from tapeflow.analysis.source_names import source_name
from tapeflow.analysis.tape_blocks import taped_together, taped_value
from tapeflow.dialects import tape

FRESH = count()
HEAD = "func.func @f(%n: index, %c: i1, %x: f64, %y: f64, %z: f64) {\n"
CONSTANTS = "%c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"


def body(text: str):
    return parse(HEAD + CONSTANTS + text + "\nfunc.return }")


def create(*names: str) -> str:
    return "\n".join(f"%{name} = tape.create : !tape.tape<f64>" for name in names) + "\n"


def push(value: str, onto: str) -> str:
    return f"tape.push %{value} onto %{onto} : !tape.tape<f64>\n"


def pop(tape_name: str) -> str:
    return f"%v_{tape_name} = tape.pop %{tape_name} : !tape.tape<f64>\n"


def loop(*parts: str) -> str:
    return f"scf.for %i_{next(FRESH)} = %c0 to %n step %c1 {{\n" + "".join(parts) + "}\n"


def branch(then: str, otherwise: str = "") -> str:
    return f"scf.if %c {{\n{then}}} else {{\n{otherwise}}}\n"


def groups(module) -> list[list[str]]:
    """The grouped tapes, each by the name of its creation."""
    creates = [op for op in module.walk() if isinstance(op, tape.CreateOp)]
    return [[source_name(taped.create.tape) for taped in group] for group in taped_together(creates)]


def test_by_blocks_in_order_of_push() -> None:
    module = body(
        create("a", "b", "d")
        + loop(push("x", "d"), push("y", "b"), loop(push("z", "a")))
        + loop(loop(pop("a")), pop("b"), pop("d"))
    )
    assert groups(module) == [["a"], ["d", "b"]]


def test_pops_in_other_blocks_part_a_record() -> None:
    module = body(create("a", "b") + loop(push("x", "a"), push("y", "b")) + loop(pop("a")) + loop(pop("b")))
    assert groups(module) == [["a"], ["b"]]


def test_arms_of_one_branch_do_not_share() -> None:
    module = body(create("a", "b") + branch(push("x", "a"), push("y", "b")) + branch(pop("a"), pop("b")))
    assert groups(module) == [["a"], ["b"]]


def test_creations_in_other_blocks_part_a_record() -> None:
    module = body(create("a") + loop(create("b"), loop(push("x", "a"), push("y", "b")), loop(pop("a"), pop("b"))))
    assert groups(module) == [["a"], ["b"]]


def test_several_pushes_or_pops_or_none() -> None:
    module = body(
        create("twice", "never", "lost", "halves")
        + loop(push("x", "twice"), push("y", "twice"), push("x", "lost"))
        + branch(push("x", "halves"))
        + loop(pop("twice"), pop("halves"))
        + loop("".join(pop("halves").replace("%v_", "%u_")))
    )
    assert groups(module) == []


def test_popped_by_the_next_iteration() -> None:
    """A tape that carries a value to the next iteration is no record of a sweep: the pop runs first."""
    module = body(create("a") + loop(pop("a"), push("x", "a")))
    assert groups(module) == []


def test_one_block_for_both_sweeps() -> None:
    together = body(create("a", "b") + push("x", "a") + push("y", "b") + pop("b") + pop("a"))
    assert groups(together) == [["a", "b"]]
    in_turn = body(create("a", "b") + push("x", "a") + pop("a") + push("y", "b") + pop("b"))
    assert groups(in_turn) == [["a"], ["b"]]


def test_pops_within_the_pushing_block_and_pushes_within_the_popping_block() -> None:
    inner_pops = body(create("a", "b") + push("x", "a") + push("y", "b") + branch(pop("a") + pop("b")))
    assert groups(inner_pops) == [["a", "b"]]
    inner_pushes = body(create("a", "b") + branch(push("x", "a") + push("y", "b")) + pop("a") + pop("b"))
    assert groups(inner_pushes) == [["a", "b"]]
    between = body(create("a", "b") + push("x", "a") + branch(pop("a") + pop("b")) + push("y", "b"))
    assert groups(between) == [["a"]]


def test_runs_before() -> None:
    runs_before = BlockOrder().runs_before
    module = body(create("a") + loop(push("x", "a")) + loop(pop("a")))
    (made,) = (op for op in module.walk() if isinstance(op, tape.CreateOp))
    taped = taped_value(made, BlockOrder())
    assert taped is not None
    assert runs_before(taped.push, taped.pop)
    assert not runs_before(taped.pop, taped.push)
    assert not runs_before(taped.push, taped.push)
    assert runs_before(made, taped.push)
    assert not runs_before(taped.push.parent_op(), taped.push)
