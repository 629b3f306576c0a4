"""Activity: which values and arrays take part in a derivative, and why.

A float is *varied* if it can change with an active argument, *useful* if an active result or array can change with it,
and active if both: only then it has an adjoint. The same holds for the roots of arrays, as wholes. Values flow along
edges: through operations to their results, as the derivative rules say; into arrays by stores and out by loads; round
loops and out of branches. Two walks along the edges, one each way, answer everything, in linear time.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, LocationAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.derivative_rules import differentiable_operands, rule_of
from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.kept_calls import forward_half, is_kept, kept_calls, reverse_half, written_operands
from tapeflow.analysis.loops import Loop, carried_arguments, initial_values, yielded_values
from tapeflow.analysis.roots import is_array, roots
from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.dialects import ad, tape
from tapeflow.errors import TapeflowError


@dataclass(frozen=True)
class Request:
    """What is differentiated.

    Attributes:
        arguments: for each argument of a function, whether it is active: of an array, whether it has a shadow argument.
        results: for each result whether it is active.
        no_outputs: of the active arrays the positions of those whose final values are no outputs.
        scratch: the positions of arrays that are not active as arguments, but may be in between.
    """

    arguments: tuple[bool, ...]
    results: tuple[bool, ...]
    no_outputs: frozenset[int] = frozenset()
    scratch: frozenset[int] = frozenset()

    @staticmethod
    def of(op: ad.DerivativeRequest) -> Request:
        """The marks of a request."""
        marks = [mark.data for mark in op.arguments]
        return Request(
            tuple(mark in (ad.Activity.ACTIVE, ad.Activity.INPUT) for mark in marks),
            tuple(mark.data is ad.Activity.ACTIVE for mark in op.results_),
            frozenset(position for position, mark in enumerate(marks) if mark is ad.Activity.INPUT),
            frozenset(position for position, mark in enumerate(marks) if mark is ad.Activity.SCRATCH),
        )


@dataclass(frozen=True)
class Step:
    """One step of a reason: a value or array, and the operation that hands it on."""

    value: SSAValue
    through: Operation | None
    """What `value` flows through from the step before; None at the start."""

    @property
    def location(self) -> LocationAttr:
        """Where in the source."""
        return location_of(self.value) if self.through is None else self.through.location

    def __str__(self) -> str:
        name = source_name(self.value)
        what = f"'{name}'" if name else "a value"
        return what if self.through is None else f"{what} ({self.through.name})"


@dataclass(frozen=True)
class _Edge:
    source: SSAValue
    target: SSAValue
    through: Operation


def is_float(value: SSAValue) -> bool:
    """Whether `value` is a float: something that can have an adjoint."""
    return isinstance(value.type, AnyFloat)


def _terminator(op: Operation, region: int) -> Operation:
    last = op.regions[region].block.last_op
    assert last is not None
    return last


def _flows_of_loop(loop: Loop) -> Iterator[_Edge]:
    initial, yielded, arguments = initial_values(loop), yielded_values(loop), carried_arguments(loop)
    for k, result in enumerate(loop.results):
        if is_float(result):
            argument = arguments[k]
            for source in (initial[k], yielded[k]):
                yield _Edge(source, argument, loop)
                if isinstance(loop, scf.WhileOp):
                    yield _Edge(source, loop.before_region.block.args[k], loop)
            # What the last iteration hands on, or of no iteration the initial value: active even if no body reads it.
            yield _Edge(argument, result, loop)


def _flows_of_branch(branch: scf.IfOp) -> Iterator[_Edge]:
    for k, result in enumerate(branch.results):
        if is_float(result):
            for region in range(2):
                yield _Edge(_terminator(branch, region).operands[k], result, branch)


def _flows_of_call(call: func.CallOp) -> Iterator[_Edge]:
    """Everything that the callee is given, it may put into all that it returns or writes to."""
    yield from _flows_between(call, call)


def _flows_between(given: func.CallOp, call: func.CallOp) -> Iterator[_Edge]:
    """From what one call is given to what `call` returns or writes to: itself, or that of the other sweep."""
    sources = [source for operand in given.arguments for source in _carriers(operand)]
    results = [result for result in call.results if is_float(result)]
    written = [root for array in written_operands(call) for root in _carriers(array)]
    for target in (*results, *written):
        for source in sources:
            if source is not target:
                yield _Edge(source, target, call)


def _carriers(operand: SSAValue) -> Iterable[SSAValue]:
    """What of `operand` can be active: a float itself, the roots of an array of floats."""
    if is_array(operand):
        return roots(operand) if ad.can_be_active(operand.type) else ()
    return (operand,) if is_float(operand) else ()


def _flows(op: Operation) -> Iterator[_Edge]:
    """How values flow through `op`: from operands and roots to results and roots."""
    match op:
        case scf.ForOp() | scf.WhileOp():
            yield from _flows_of_loop(op)
        case scf.IfOp():
            yield from _flows_of_branch(op)
        case memref.LoadOp() if is_float(op.res):
            for root in roots(op.memref):
                yield _Edge(root, op.res, op)
        case memref.StoreOp() if is_float(op.value):
            for root in roots(op.memref):
                yield _Edge(op.value, root, op)
        case ad.AccumulateOp():
            for root in roots(op.memref):
                yield _Edge(op.value, root, op)
        case tape.PushOp() if is_float(op.value):
            yield _Edge(op.value, op.tape, op)
        case tape.PopOp() if is_float(op.value):
            yield _Edge(op.tape, op.value, op)
        case func.CallOp() if is_kept(op):
            yield from _flows_of_call(op)
        case _ if rule_of(op) is not None:
            result = op.results[0]
            if is_float(result):
                for _, operand in differentiable_operands(op):
                    yield _Edge(operand, result, op)
        case _:
            for result in filter(is_float, op.results):
                for operand in filter(is_float, op.operands):
                    yield _Edge(operand, result, op)


class _Pair:
    """The calls of both sweeps of a callee, of which one hands on to the other by way of tapes."""

    def __init__(self) -> None:
        self.forward: list[func.CallOp] = []
        self.reverse: list[func.CallOp] = []

    def flows(self) -> Iterator[_Edge]:
        """What the reverse sweep finds on the tapes."""
        for forward in self.forward:
            for reverse in self.reverse:
                yield from _flows_between(forward, reverse)


def _pairs(function: func.FuncOp) -> dict[str, _Pair]:
    pairs: defaultdict[str, _Pair] = defaultdict(_Pair)
    for call in kept_calls(function):
        if (key := forward_half(call)) is not None:
            pairs[key].forward.append(call)
        elif (key := reverse_half(call)) is not None:
            pairs[key].reverse.append(call)
    return pairs


class _Reach:
    """What is reached from `starts` along edges, and through which edge first."""

    def __init__(self, starts: Iterable[SSAValue], edges: Iterable[_Edge], *, backwards: bool):
        outgoing: dict[SSAValue, list[_Edge]] = {}
        for edge in edges:
            outgoing.setdefault(edge.target if backwards else edge.source, []).append(edge)
        self._backwards = backwards
        self._via: dict[SSAValue, _Edge | None] = dict.fromkeys(starts)
        pending = deque(self._via)
        while pending:
            for edge in outgoing.get(pending.popleft(), ()):
                end = self._end(edge)
                if end not in self._via:
                    self._via[end] = edge
                    pending.append(end)

    def _end(self, edge: _Edge) -> SSAValue:
        return edge.source if self._backwards else edge.target

    def _start(self, edge: _Edge) -> SSAValue:
        return edge.target if self._backwards else edge.source

    def __contains__(self, value: SSAValue) -> bool:
        return value in self._via

    def __iter__(self) -> Iterator[SSAValue]:
        return iter(self._via)

    def path(self, value: SSAValue) -> list[_Edge]:
        """The edges from a start to `value`, in that order; `value` is reached."""
        edges: list[_Edge] = []
        edge = self._via[value]
        while edge is not None:
            edges.append(edge)
            edge = self._via[self._start(edge)]
        return edges[::-1]


def varied_arrays(function: func.FuncOp, arguments: Iterable[SSAValue]) -> frozenset[SSAValue]:
    """The roots of arrays in `function`, in the form of `ad-prepare`, that can change with one of its `arguments`.

    An array as a whole, and whatever the order in which it is written and read.
    """
    edges = (edge for op in function.body.walk() for edge in _flows(op))
    return frozenset(value for value in _Reach(arguments, edges, backwards=False) if is_array(value))


class Activity:
    """The activity of a prepared function under a request.

    Args:
        function: in the form of `ad-prepare`.
        request: its marks fit the signature of `function`.

    Raises:
        TapeflowError: something active has no derivative: an operation without a rule, an array that may be one of
            several of which some are active, an array that carries active values but is not marked active.
    """

    def __init__(self, function: func.FuncOp, request: Request):
        marked = zip(function.args, request.arguments, strict=True)
        self._active_arguments = dict.fromkeys(argument for argument, mark in marked if mark)
        returned = function.get_return_op()
        assert returned is not None
        seeded = [value for value, mark in zip(returned.operands, request.results, strict=True) if mark]
        arrays = [
            argument
            for argument in self._active_arguments
            if is_array(argument) and argument.index not in request.no_outputs
        ]
        self._scratch = frozenset(function.args[position] for position in request.scratch)
        self._edges = [edge for op in function.body.walk() for edge in _flows(op)]
        self._pairs = _pairs(function)
        self._edges += [edge for pair in self._pairs.values() for edge in pair.flows()]
        self._varied = _Reach(self._active_arguments, self._edges, backwards=False)
        self._useful = _Reach([*seeded, *arrays], self._edges, backwards=True)
        for op in function.body.walk():
            self._check(op)

    def value(self, value: SSAValue) -> bool:
        """Whether a float has an adjoint."""
        return is_float(value) and value in self._varied and value in self._useful

    def array(self, root: SSAValue) -> bool:
        """Whether an array, an argument or a local one, has a shadow; of a tape, whether it remembers active values."""
        return root in self._varied and root in self._useful

    def view(self, array: SSAValue) -> bool:
        """Whether a memref, whose roots are all active or all not, has a shadow."""
        return all(self.array(root) for root in roots(array))

    def behind(self, arguments: Iterable[SSAValue]) -> Callable[[SSAValue], bool]:
        """Whether a value or a root is on a way from one of `arguments`, which are active, to what is useful."""
        varied = _Reach(arguments, self._edges, backwards=False)
        return lambda value: value in varied and value in self._useful

    def call(self, call: func.CallOp) -> Request | None:
        """What of a call that stays one is active: its arguments and results; None if it has nothing to differentiate.

        Nothing is where no active result comes out of it and no active array is written by it. Of the call of one sweep
        of a callee it is what is active of the two together: the arguments of the reverse sweep, the first of which are
        those of the forward sweep, and the results of the forward and then of the reverse sweep.
        """
        if (key := forward_half(call) or reverse_half(call)) is not None:
            return self._pair(self._pairs[key])
        if self._gives(call):
            return Request(self._marks(call.arguments), self._marks(call.results))
        return None

    def _gives(self, call: func.CallOp) -> bool:
        """Whether something active comes out of `call`."""
        return any(self._marks(call.results)) or any(self.view(array) for array in written_operands(call))

    def _marks(self, values: Iterable[SSAValue]) -> tuple[bool, ...]:
        return tuple(self.view(value) if is_array(value) else self.value(value) for value in values)

    def _pair(self, pair: _Pair) -> Request | None:
        if not any(map(self._gives, (*pair.forward, *pair.reverse))):
            return None
        forward = [self._marks(call.arguments) for call in pair.forward]
        reverse = [self._marks(call.arguments) for call in pair.reverse]
        arguments = [any(marks) for marks in zip(*reverse, strict=True)]
        for position, marks in enumerate(zip(*forward, strict=True)):
            arguments[position] |= any(marks)
        results = [
            any(marks)
            for calls in (pair.forward, pair.reverse)
            for marks in zip(*(self._marks(call.results) for call in calls), strict=True)
        ]
        return Request(tuple(arguments), tuple(results))

    def why(self, value: SSAValue) -> tuple[Step, ...]:
        """Why a value or a root is active: from an active argument to it, and on to an active result or array.

        Empty if it is not active.
        """
        if not (value in self._varied and value in self._useful):
            return ()
        before, after = self._varied.path(value), self._useful.path(value)
        start = before[0].source if before else value
        steps = [Step(start, None), *(Step(edge.target, edge.through) for edge in before)]
        return (*steps, *(Step(edge.target, edge.through) for edge in reversed(after)))

    def why_not(self, value: SSAValue) -> str:
        """Why a value or a root is not active, in a sentence."""
        if value in self._varied:
            return "no active result or array depends on it"
        return "it depends on no active argument"

    def _check(self, op: Operation) -> None:
        match op:
            case memref.LoadOp() | memref.StoreOp() | ad.AccumulateOp():
                self._check_access(op, op.memref)
            case scf.ForOp() | scf.WhileOp() | scf.IfOp():
                self._check_carried_arrays(op)
            case arith.SelectOp() if is_array(op.result):
                self._check_access(op, op.result)
            case func.CallOp() if is_kept(op):
                for operand in op.arguments:
                    if is_array(operand):
                        self._check_access(op, operand)
            case _ if rule_of(op) is None and not isinstance(op, func.ReturnOp | scf.YieldOp | scf.ConditionOp):
                self._check_without_rule(op)
            case _:
                pass

    def _check_access(self, op: Operation, array: SSAValue) -> None:
        """All roots of an array are active, or none; and an active one has a place for its shadow."""
        found = sorted(roots(array), key=lambda root: not self.array(root))
        active = [root for root in found if self.array(root)]
        if active and len(active) < len(found):
            names = " or ".join(_described(root) for root in found)
            raise TapeflowError(
                f"this may be {names}, and of these only {_described(active[0])} is active",
                location=op.location,
                hint="choose between values instead of arrays, or mark all of them active",
            )
        for root in active:
            if isinstance(root, BlockArgument) and not (root in self._active_arguments or root in self._scratch):
                raise TapeflowError(
                    f"{_described(root)} carries active values but is not marked active: its derivative has no place",
                    location=op.location,
                    hint=f"mark {_described(root)} active",
                )

    def _check_carried_arrays(self, op: Operation) -> None:
        for result in op.results:
            if is_array(result) and any(self.array(root) for root in roots(result)):
                raise TapeflowError(
                    "an active array that a loop or branch chooses cannot be differentiated yet",
                    location=op.location,
                    hint="index one array, or copy the elements, instead of exchanging arrays",
                )

    def _check_without_rule(self, op: Operation) -> None:
        if isinstance(op, arith.BitcastOp) and op.input in self._varied:
            raise TapeflowError(
                "the bits of an active value are taken apart, so its derivative is lost",
                location=op.location,
                hint="use arithmetic on floats",
            )
        if any(self.value(result) for result in op.results) and any(self.value(operand) for operand in op.operands):
            raise TapeflowError(
                f"'{op.name}' has no derivative rule, but active values go through it", location=op.location
            )
        if not is_pure(op) and not isinstance(op, memref.AllocaOp):
            touched = [operand for operand in op.operands if is_array(operand)]
            for array in touched:
                if any(self.array(root) for root in roots(array)):
                    raise TapeflowError(
                        f"'{op.name}' touches {_described(array)}, which is active, and its effect is not known",
                        location=op.location,
                    )


def _described(value: SSAValue) -> str:
    name = source_name(value)
    if name is not None:
        return f"'{name}'"
    return "an argument" if isinstance(value, BlockArgument) else "a local array"


def shadowed_arguments(function: func.FuncOp, request: Request) -> Sequence[BlockArgument]:
    """The active array arguments, in order: those that have a shadow argument."""
    marked = zip(function.args, request.arguments, strict=True)
    return [argument for argument, active in marked if active and is_array(argument)]


def is_allocation(root: SSAValue) -> bool:
    """Whether a root is a local array."""
    return isinstance(root, OpResult) and isinstance(root.op, memref.AllocaOp | memref.AllocOp)
