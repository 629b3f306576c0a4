"""`tape-form-regions`: tapes that are pushed and popped together become one region, a tape of records.

Tapes created in one block, pushed in one block and popped in one block, each exactly once, are pushed equally often
and in the same order, so they are replaced by one region with a field for each distinct value, widest first. The
record is written at the end of the pushing block, where all its values exist, and replayed at the start of the
popping block, where none has been used yet. A tape alone in its blocks becomes a region of one field. A tape that is
pushed or popped in several places, or that is passed to a function, stays a tape.

```mlir
tape.push %t onto %tape_t : !tape.tape<f64>
tape.push %v onto %tape_v : !tape.tape<f64>
```
becomes
```mlir
tape.record %t, %v onto %tape_j : !tape.region<{t: f64, v: f64}, aos>
```
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.block_ends import end_of, start_of
from tapeflow.analysis.record_layout import in_memory_order
from tapeflow.analysis.region_names import UniqueNames, block_name, field_names
from tapeflow.analysis.source_names import source_name
from tapeflow.analysis.tape_blocks import TapedValue, first_of, taped_together
from tapeflow.dialects import tape
from tapeflow.dialects.handle import HandleType
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.nested_tapes import put_split, take_joint


def parent_of(op: Operation) -> Block:
    """The block of an op that is known to be in one."""
    assert op.parent is not None
    return op.parent


def record_point(group: Sequence[TapedValue]) -> InsertPoint:
    """Where the record is written: at the end of the pushing block, or behind the last push if pops are in there."""
    last_push = group[-1].push
    block = parent_of(last_push)
    pops_inside = block.find_ancestor_op_in_block(group[-1].pop) is not None
    return InsertPoint.after(last_push) if pops_inside else end_of(block)


def replay_point(group: Sequence[TapedValue]) -> InsertPoint:
    """Where the record is replayed: at the start of the popping block, or at the first pop if pushes are in there."""
    first_pop = first_of([taped.pop for taped in group])
    block = parent_of(first_pop)
    pushes_inside = block.find_ancestor_op_in_block(group[-1].push) is not None
    return InsertPoint.before(first_pop) if pushes_inside else start_of(block)


def form_region(group: Sequence[TapedValue], last: tape.CreateOp, layout: tape.Layout, names: UniqueNames) -> None:
    """Replace the tapes of `group` by one region, made at `last`, the creation that all their reservations dominate."""
    fields = in_memory_order(taped.value for taped in group)
    region_type = tape.RegionType.of(
        list(zip(field_names(fields), (field.type for field in fields), strict=True)), layout
    )
    # They count the same block, so any one of the reservations will do.
    reserve = next((taped.create.reserve for taped in group if taped.create.reserve is not None), None)

    build = LocatedBuilder(InsertPoint.before(last), place=place_of(group[0].create))
    region = build.value(tape.CreateOp(region_type, reserve), names.of(f"tape_{block_name(parent_of(group[0].push))}"))

    build.insertion_point = record_point(group)
    with build.at(group[0].push):
        build.insert(tape.RecordOp(fields, region))

    build.insertion_point = replay_point(group)
    popped: dict[SSAValue, SSAValue] = {}
    for taped in group:
        popped.setdefault(taped.value, taped.pop.value)
    with build.at(first_of([taped.pop for taped in group])):
        replayed = build.named(tape.ReplayOp(region), *(source_name(popped[field]) for field in fields))
    value_of = dict(zip(fields, replayed, strict=True))
    for taped in group:
        taped.pop.value.replace_all_uses_with(value_of[taped.value])
        for op in (taped.pop, taped.push, taped.create):
            op.detach()
            op.erase()


def handle_names(function: func.FuncOp, without: Container[Operation]) -> Iterator[str]:
    """The names of the handles in `function` that `without` does not create."""
    for op in function.walk():
        for result in op.results:
            if op not in without and isinstance(result.type, HandleType) and (name := source_name(result)) is not None:
                yield name


def form_regions(function: func.FuncOp, layout: tape.Layout) -> None:
    """Form the regions of one function."""
    creates = {op: number for number, op in enumerate(function.walk()) if isinstance(op, tape.CreateOp)}
    groups = list(taped_together(creates))
    names = UniqueNames(handle_names(function, {taped.create for group in groups for taped in group}))
    for group in groups:
        form_region(group, max((taped.create for taped in group), key=creates.__getitem__), layout, names)


@dataclass(frozen=True)
class TapeFormRegionsPass(ModulePass):
    """Tapes that are pushed and popped together become one region, a tape of records."""

    name = "tape-form-regions"

    layout: str = "aos"
    """How records lie in memory: `aos`, side by side, or `soa`, an array for each field."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Form the regions of every function of the module.

        Raises:
            TapeflowError: there is no such layout.
        """
        if self.layout not in list(tape.Layout):
            raise TapeflowError(f"tape-form-regions has no layout '{self.layout}'", hint="use layout=aos or layout=soa")
        joints = take_joint(op)
        for function in [child for child in op.walk() if isinstance(child, func.FuncOp)]:
            form_regions(function, tape.Layout(self.layout))
        put_split(op, joints)
