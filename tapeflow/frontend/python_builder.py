"""Makes core IR for one Python function: places operations, stamps locations and names, and keeps what is known.

Numbers that are known while importing stay numbers until an operation needs them; constants then stand once at the top
of the function, in the order of their first use.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    IndexType,
    LocationAttr,
    NameLoc,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter

from tapeflow.analysis.source_names import set_result_names, set_source_name
from tapeflow.errors import TapeflowError
from tapeflow.frontend.function_top import DEEPEST_NESTING, NESTED_TOO_DEEP, FunctionTop, constant
from tapeflow.frontend.python_bounds import Linear, always_equal, never_negative
from tapeflow.frontend.python_source import Positioned, Source
from tapeflow.frontend.python_types import INDEX, ScalarType
from tapeflow.frontend.python_values import Number, Scalar

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class Builder:
    """Appends operations to the current block of one function.

    Args:
        source: the function.
        entry: its entry block, where constants stand.
    """

    def __init__(self, source: Source, entry: Block):
        self.source = source
        self.block = entry
        self.place: LocationAttr = source.location(source.tree)
        self._entry = entry
        self._top = FunctionTop(entry)
        self._on_top: dict[Operation, None] = {}
        self._constants: dict[tuple[Attribute, str], SSAValue] = {}
        self._facts: list[Linear] = []
        # What was computed in each block round the current one: ints by type and form, and what `once` made.
        self._ints: list[dict[tuple[Attribute, Linear], SSAValue]] = [{}]
        self._made: list[dict[tuple[Hashable, ...], Scalar]] = [{}]
        self._depth = 0

    # Places.

    @contextmanager
    def at(self, place: Positioned | LocationAttr) -> Generator[None]:
        """Build for `place` for a while."""
        outer = self.place
        self.place = self.source.location(place) if isinstance(place, Positioned) else place
        try:
            yield
        finally:
            self.place = outer

    def refuse(self, message: str, hint: str | None = None) -> TapeflowError:
        """The refusal of what is being built."""
        return TapeflowError(message, location=self.place, hint=hint)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Append to `block`, the body of an operation, for a while.

        Raises:
            TapeflowError: when blocks nest too deep.
        """
        if self._depth == DEEPEST_NESTING:
            raise self.refuse(*NESTED_TOO_DEEP)
        outer, self.block = self.block, block
        known = len(self._facts)
        self._ints.append({})
        self._made.append({})
        self._depth += 1
        try:
            yield
        finally:
            self.block = outer
            del self._facts[known:]
            self._ints.pop()
            self._made.pop()
            self._depth -= 1

    # Operations.

    def add(self, op: Operation) -> Operation:
        """Append `op`."""
        op.location = self.place
        self.block.add_op(op)
        return op

    def value(self, op: Operation, name: str | None = None) -> SSAValue:
        """Append `op`, which has one result, and return that, called `name`."""
        (result,) = self.add(op).results
        if name is not None:
            set_source_name(result, name)
        return result

    def on_top(self, op: Operation, hint: str | None) -> SSAValue:
        """Insert `op` at the top of the function, after what stands there already, and return its result."""
        op.location = self.place
        self._top.add(op)
        self._on_top[op] = None
        (result,) = op.results
        result.name_hint = hint
        return result

    def is_on_top(self, value: object) -> bool:
        """Whether `value` is made at the top of the function, or is a parameter."""
        if isinstance(value, BlockArgument):
            return value.block is self._entry
        return isinstance(value, OpResult) and value.op in self._on_top

    def erase_unused(self) -> None:
        """Take away indices, and what was put at the top of the function, that are not needed in the end."""
        for op in reversed(list(self._entry.walk())):
            is_index = op.dialect_name() == "arith" and op.results[0].type == INDEX
            if (op in self._on_top or is_index) and not op.results[0].uses.get_length():
                Rewriter.erase_op(op)

    def name(self, scalar: Scalar, name: str) -> None:
        """Call a value `name`, if the operation that makes it has no name yet."""
        if isinstance(scalar.now, OpResult) and len(scalar.now.op.results) == 1:
            op = scalar.now.op
            # A constant serves many, and what stands at the top of the function belongs to a parameter.
            if not isinstance(op.location, NameLoc) and op not in self._on_top:
                set_source_name(scalar.now, name)

    # Values.

    def constant(self, number: Number, ir: Attribute) -> SSAValue:
        """The constant `number` of the type `ir`, at the top of the function.

        Raises:
            TapeflowError: an integer does not fit 64 bits.
        """
        key = (ir, repr(number))
        if key not in self._constants:
            if isinstance(number, int) and not _LEAST <= number <= _GREATEST:
                raise self.refuse(f"the integer {number} does not fit 64 bits", "compute with floats")
            self._constants[key] = self.on_top(constant(number.real, number.imag, ir), _hint(number, ir))
        return self._constants[key]

    def ssa(self, scalar: Scalar) -> SSAValue:
        """`scalar` as an SSA value."""
        now = scalar.now
        if not isinstance(now, SSAValue):
            return self.constant(now, scalar.type.ir)
        if scalar.form is not None:
            self._ints[-1].setdefault((now.type, scalar.form), now)
        return now

    def computed(self, form: Linear, ir: Attribute) -> SSAValue | None:
        """A value of the type `ir` that is known to be `form`, if one was computed where it can be used here."""
        return next((block[ir, form] for block in reversed(self._ints) if (ir, form) in block), None)

    def once(self, key: tuple[Hashable, ...], make: Callable[[], Scalar]) -> Scalar:
        """What `make` builds, built once where it can be used: what has equal keys is known to be equal."""
        found = next((block[key] for block in reversed(self._made) if key in block), None)
        if found is None:
            found = self._made[-1][key] = make()
        return found

    def index(self, number: int) -> SSAValue:
        """A constant of type `index`."""
        return self.constant(number, INDEX)

    # Knowledge.

    @contextmanager
    def assuming(self, facts: Iterable[Linear]) -> Generator[None]:
        """Know for a while that each of `facts` is at least 0."""
        known = len(self._facts)
        # What holds whatever the unknowns are is no fact.
        self._facts.extend(fact for fact in facts if fact.terms)
        try:
            yield
        finally:
            del self._facts[known:]

    def learn(self, fact: Linear) -> None:
        """Know from here on, to the end of the block, that `fact` is at least 0: Python would have raised an error."""
        if fact.terms and not self.never_negative(fact):
            self._facts.append(fact)

    def never_negative(self, form: Linear, *more: Linear) -> bool:
        """Whether `form` is provably at least 0 here, given that each of `more` is."""
        return never_negative(form, (*self._facts, *more))

    def always_equal(self, left: Linear, right: Linear) -> bool:
        """Whether the two are provably the same number here."""
        return always_equal(left, right, self._facts)

    # Control flow.

    def block_of(self, arguments: Sequence[tuple[Attribute, str | None]] = ()) -> Block:
        """A new block, in no region yet, whose arguments have the given types and names."""
        block = Block(arg_types=[ir for ir, _ in arguments])
        for argument, (_, name) in zip(block.args, arguments, strict=True):
            argument.location = self.place
            if name is not None:
                set_source_name(argument, name)
        return block

    def detached(self, make: Callable[[], Scalar]) -> tuple[Block, Scalar]:
        """What `make` builds, in a block of its own that is in no region yet."""
        block = Block()
        with self.inside(block):
            scalar = make()
        return block, scalar

    def append(self, block: Block) -> None:
        """Move the operations of `block` to the current one."""
        for op in list(block.ops):
            block.detach_op(op)
            self.block.add_op(op)

    def type_of(self, make: Callable[[], Scalar]) -> ScalarType:
        """The type of the number that `make` builds; what it builds is thrown away.

        Raises:
            TapeflowError: what `make` raises.
        """
        block, scalar = self.detached(make)
        block.erase(safe_erase=False)
        return scalar.type

    def branch(
        self,
        condition: SSAValue,
        then: tuple[Block, Sequence[SSAValue]],
        otherwise: tuple[Block, Sequence[SSAValue]],
        names: Sequence[str | None],
    ) -> Sequence[SSAValue]:
        """An `scf.if` of two arms, each a block and what it yields; the results are called `names`."""
        arms = [then, otherwise] if otherwise[0].first_op or otherwise[1] else [then]
        for block, yielded in arms:
            with self.inside(block):
                self.add(scf.YieldOp(*yielded))
        # An empty `else` is left out.
        else_region = Region(otherwise[0]) if len(arms) == 2 else Region()
        op = self.add(scf.IfOp(condition, [value.type for value in then[1]], Region(then[0]), else_region))
        if names:
            set_result_names(op, names)
        return op.results

    def loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        name: str,
        carried: Sequence[tuple[SSAValue, str | None]],
        body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
        hint: str | None = None,
    ) -> Sequence[SSAValue]:
        """An `scf.for` over `bounds`, which are start, stop and step.

        Args:
            bounds: of type `index`; the step is positive.
            name: of the loop's variable.
            carried: what enters the first iteration, with names.
            body: builds one iteration from the variable and what enters it, and returns what enters the next.
            hint: what to print for the variable, where that is not its name.
        """
        block = self.block_of([(INDEX, name), *((value.type, called) for value, called in carried)])
        with self.inside(block):
            index, *entering = block.args
            if hint is not None:
                index.name_hint = hint
            self.add(scf.YieldOp(*body(index, entering)))
        op = self.add(scf.ForOp(*bounds, [value for value, _ in carried], block))
        for result, (_, called) in zip(op.results, carried, strict=True):
            if called is not None and SSAValue.is_valid_name(called):
                result.name_hint = called
        return op.results


def _hint(number: Number, ir: Attribute) -> str:
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, float | complex):
        return "cst"
    digits = f"c{number}" if number >= 0 else f"cm{-number}"
    return digits if isinstance(ir, IndexType) else f"{digits}_{ir}"
