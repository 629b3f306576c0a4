"""The explanation of a gradient: for every array and loop why it is active, and what is taped there, in source terms.

A reason is a path through the source: from an argument in `wrt`, by way of the variables and array elements that it
reaches, to the return value or an array that the caller sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects import func, memref, scf
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.activity import Activity, Request, Step, is_allocation
from tapeflow.analysis.block_order import BlockOrder
from tapeflow.analysis.block_tree import innermost
from tapeflow.analysis.region_names import block_name
from tapeflow.analysis.requests import functions_of, primal_of, requests_of
from tapeflow.analysis.roots import roots
from tapeflow.analysis.snapshots import SNAPSHOT
from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.dialects import tape
from tapeflow.errors import source_position
from tapeflow.pipeline import Compiled, parts_of, requested, run_passes
from tapeflow.tape_report import RegionReport, region_name, tape_report
from tapeflow.text_table import aligned
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.simplify import simplify

LoopOp = scf.ForOp | scf.WhileOp
_LOOPS = (scf.ForOp, scf.WhileOp)


@dataclass(frozen=True)
class Stop:
    """A stop on the path of a reason.

    Attributes:
        name: of a variable or array in the source; "return" for the return value.
        source: where it gets its value, `file:line:column`; None where that is unknown.
    """

    name: str
    source: str | None


@dataclass(frozen=True)
class ArrayReason:
    """Why an array or a scalar argument is active, or why it is not.

    Attributes:
        name: in the source.
        kind: "argument" or "local".
        type: as declared, `double[n]`; of a local array as in the IR.
        source: where it is declared.
        active: whether it has an adjoint.
        why: the path that makes it active; empty if it is not.
        why_not: what keeps it from being active; empty if it is.
    """

    name: str
    kind: str
    type: str
    source: str | None
    active: bool
    why: tuple[Stop, ...]
    why_not: str


@dataclass(frozen=True)
class LoopReason:
    """Why a loop has a mirror in the reverse sweep, and what it tapes.

    Attributes:
        name: of the loop's variable; "loop" if it has none, "while" for a while loop.
        source: where the loop begins.
        depth: in how many loops it stands.
        active: the active variables that it computes itself, not in a loop inside.
        active_inside: whether it or a loop in it computes something active.
        why: the path through the first of them; empty if there is none.
        regions: what its iterations put on the tape.
    """

    name: str
    source: str | None
    depth: int
    active: tuple[str, ...]
    active_inside: bool
    why: tuple[Stop, ...]
    regions: tuple[RegionReport, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a gradient is as it is; `str()` is a page of text.

    Attributes:
        function: the gradient's name.
        wrt: what it is differentiated with respect to.
        outputs: what is differentiated, where that was said.
        arrays: arguments of floating-point numbers in source order, then local arrays.
        loops: in source order.
        outside: what is taped outside of loops.
    """

    function: str
    wrt: tuple[str, ...]
    outputs: tuple[str, ...] | None
    arrays: tuple[ArrayReason, ...]
    loops: tuple[LoopReason, ...]
    outside: tuple[RegionReport, ...]

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain dictionaries, lists, strings and booleans."""
        return asdict(self)

    def __str__(self) -> str:
        of = "" if self.outputs is None else f"of {', '.join(self.outputs)}, "
        lines = [f"{self.function}, {of}with respect to {', '.join(self.wrt)}"]
        lines += ["", *aligned([("argument or array", "declared at", "active", "why"), *map(_array_row, self.arrays)])]
        if self.loops:
            lines += ["", *aligned([("loop", "at", "active values", "why"), *map(_loop_row, self.loops)])]
        lines += ["", *self._taped()]
        return "\n".join(lines)

    def _taped(self) -> Iterator[str]:
        everything = [(loop.name, loop.source, region) for loop in self.loops for region in loop.regions]
        everything += [("outside of loops", None, region) for region in self.outside]
        if not everything:
            yield "nothing is taped: all that the reverse sweep needs is had again"
            return
        rows = [("taped in", "value", "computed at", "bytes", "records", "why")]
        for loop, place, region in everything:
            where = loop if place is None else f"{loop} ({_short(place, None)})"
            for position, field in enumerate(region.fields):
                first = position == 0
                each = region.records is None and region.loop is not None and region.loop == place
                count = "one an iteration" if each else region.count
                rows.append(
                    (
                        where if first else "",
                        field.name,
                        field.source or "-",
                        str(field.bytes),
                        count if first else "",
                        field.why,
                    )
                )
        yield from aligned(rows)


def _array_row(it: ArrayReason) -> tuple[str, ...]:
    named = f"{it.name}: {it.type}"
    return named, it.source or "-", "yes" if it.active else "no", _path(it.why, it.source) if it.active else it.why_not


def _loop_row(it: LoopReason) -> tuple[str, ...]:
    if it.active:
        values, why = ", ".join(it.active), _path(it.why, it.source)
    else:
        values = "-"
        why = "a loop in it is active" if it.active_inside else "nothing in it is active: it is not mirrored"
    return f"{'  ' * it.depth}{it.name}", it.source or "-", values, why


def _path(stops: Sequence[Stop], near: str | None) -> str:
    if len(stops) == 1:
        return f"{stops[0].name}, an argument with a cotangent of its own"
    # Where the path starts is an argument, whose place is its declaration.
    return " -> ".join(
        f"{stop.name} ({_short(stop.source, near)})" if stop.source and position else stop.name
        for position, stop in enumerate(stops)
    )


def _short(place: str, near: str | None) -> str:
    """`place` without its file, unless `near` is in another file."""
    file, line, column = place.rsplit(":", 2)
    return f"{line}:{column}" if near is None or near.rsplit(":", 2)[0] == file else place


def explain(compiled: Compiled) -> Explanation:
    """Why the gradient `compiled` is as it is.

    Raises:
        TapeflowError: as compiling did.
    """
    module = requested(compiled.kernel, compiled.wrt, compiled.active, outputs=compiled.outputs)
    run_passes(module, compiled.options.passes()[:1])
    (request,) = requests_of(module)
    function = primal_of(request, functions_of(module)).clone()
    # What is differentiated is this, after the same preparations as in ad-differentiate.
    simplify(function)
    remove_dead_code(function)
    activity = Activity(function, Request.of(request))
    taped = _Taped(compiled)
    return Explanation(
        compiled.final.sym_name.data,
        compiled.wrt,
        compiled.named_outputs,
        (*_arguments(compiled, function, activity), *_local_arrays(function, activity)),
        tuple(_loop(loop, function, activity, taped.of(key)) for loop, key in _keyed(function)),
        taped.of(None),
    )


_Key = tuple[str | None, int]
"""Of a loop: its place, and its number among the loops of that place, as a function that is inlined twice makes."""


def _keyed(function: func.FuncOp) -> Iterator[tuple[LoopOp, _Key]]:
    """The loops of a function from its beginning, with their keys."""
    seen = Counter[str | None]()
    for op in function.walk():
        if isinstance(op, LoopOp) and SNAPSHOT not in op.attributes:
            place = source_position(op.location)
            yield op, (place, seen[place])
            seen[place] += 1


class _Taped:
    """The regions of a gradient, by the loop whose iterations record into them.

    The forward sweep comes first in a gradient, so its loops have the same keys as those of the primal.
    """

    def __init__(self, compiled: Compiled):
        keys = dict(_keyed(compiled.recording))
        reports = {region.name: region for region in tape_report(compiled.recording, compiled.final).regions}
        self._by_loop: dict[_Key | None, list[RegionReport]] = {}
        for op in compiled.recording.walk():
            if isinstance(op, tape.CreateOp):
                loop = innermost(_recording_op(op), *_LOOPS)
                while loop is not None and SNAPSHOT in loop.attributes:
                    loop = innermost(loop, *_LOOPS)
                self._by_loop.setdefault(None if loop is None else keys[loop], []).append(reports[region_name(op.tape)])

    def of(self, key: _Key | None) -> tuple[RegionReport, ...]:
        """What the iterations of a loop record; what is recorded outside of loops, for None."""
        return tuple(self._by_loop.get(key, ()))


def _recording_op(create: tape.CreateOp) -> Operation:
    """What records onto a tape; of one that is handed to a function that stays a call, the first call in the text."""
    users = [use.operation for use in create.tape.uses]
    recording = next((op for op in users if isinstance(op, tape.PushOp | tape.RecordOp)), None)
    return recording or min((op for op in users if isinstance(op, func.CallOp)), key=BlockOrder().path)


def _arguments(compiled: Compiled, function: func.FuncOp, activity: Activity) -> Iterator[ArrayReason]:
    for parameter, parts in parts_of(compiled.kernel, function):
        declared = str(parameter).replace(f" {parameter.name}", "", 1)
        if parameter.is_float:
            for part in parts:
                shown = declared if len(parts) == 1 else f"part of a {declared}"
                yield _array(part, "argument", shown, function, activity)


def _local_arrays(function: func.FuncOp, activity: Activity) -> Iterator[ArrayReason]:
    for op in function.walk():
        for result in op.results:
            if is_allocation(result):
                yield _array(result, "local", str(result.type), function, activity)


def _array(value: SSAValue, kind: str, type_: str, function: func.FuncOp, activity: Activity) -> ArrayReason:
    why = _stops(activity.why(value), function)
    return ArrayReason(
        name=source_name(value) or "an array",
        kind=kind,
        type=type_,
        source=source_position(location_of(value)),
        active=bool(why),
        why=why,
        why_not="" if why else activity.why_not(value),
    )


def _loop(loop: LoopOp, function: func.FuncOp, activity: Activity, regions: tuple[RegionReport, ...]) -> LoopReason:
    own = [value for value in _computed(loop) if activity.value(value) or activity.array(value)]
    # What the source has a name for says more.
    own.sort(key=lambda value: source_name(value) is None)
    named = list(dict.fromkeys(name for value in own if (name := source_name(value)) is not None))
    return LoopReason(
        name=_loop_name(loop),
        source=source_position(loop.location),
        depth=_depth(loop),
        active=tuple(named) or (("unnamed",) if own else ()),
        active_inside=any(activity.value(result) for op in loop.walk() for result in op.results),
        why=_stops(activity.why(own[0]), function) if own else (),
        regions=regions,
    )


def _loop_name(loop: LoopOp) -> str:
    return "while" if isinstance(loop, scf.WhileOp) else block_name(loop.body.block)


def _depth(loop: Operation) -> int:
    outer = innermost(loop, *_LOOPS)
    return 0 if outer is None else 1 + _depth(outer)


def _computed(loop: LoopOp) -> Iterator[SSAValue]:
    """What a loop computes itself, in its body and in branches, not in loops inside: values, and arrays it writes."""
    for op in loop.walk():
        if op is not loop and not isinstance(op, LoopOp) and innermost(op, *_LOOPS) is loop:
            yield from op.results
            if isinstance(op, memref.StoreOp):
                yield from roots(op.memref)


def _stops(steps: Sequence[Step], function: func.FuncOp) -> tuple[Stop, ...]:
    """A reason's steps as stops: those that have a name, each once, and the return value at the end."""
    stops: list[Stop] = []
    for step in steps:
        name = source_name(step.value)
        if name is not None and (not stops or stops[-1].name != name):
            stops.append(Stop(name, source_position(step.location)))
    returned = function.get_return_op()
    if steps and returned is not None and steps[-1].value in returned.operands:
        stops.append(Stop("return", source_position(returned.location)))
    return tuple(stops)
