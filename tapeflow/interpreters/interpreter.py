"""The interpreter: xDSL's, with plain Python values and each block's operations looked up once.

xDSL's own interpreter finds every operand through a chain of scopes and every implementation through a dictionary. Here
the values of a function are numbered, and each block becomes a list of steps, the first time that the function runs.
Implementations are written as for xDSL (`@register_impls`, `@impl`) and work in the stock interpreter too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xdsl import interpreter as stock
from xdsl.interpreter import InterpreterFunctions, PythonValues, ReturnedValues
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import InterpretationError

from tapeflow.errors import source_position


class Functions(InterpreterFunctions):
    """The implementations of some operations; what a dialect's file in this package defines."""

    @classmethod
    def implementations(cls) -> Iterable[tuple[type[Operation], Any]]:
        """Each operation type with its implementation, once `@register_impls` has collected them."""
        return cls._impls()


class OperationError(InterpretationError):
    """What went wrong while an operation ran, with the operation's place and name in front."""

    def __init__(self, op: Operation, message: str):
        position = source_position(op.location)
        super().__init__(f"{position + ': ' if position else ''}{op.name}: {message}")


class _Step(NamedTuple):
    """An operation with its implementation, and where its operands and results are in the frame."""

    op: Operation
    run: Any
    functions: Functions
    operands: tuple[int, ...]
    results: tuple[int, ...]


class _Plan(NamedTuple):
    """A block: where its arguments are in the frame, and its steps."""

    arguments: tuple[int, ...]
    steps: tuple[_Step, ...]


@dataclass
class Interpreter(stock.Interpreter):
    """An xDSL interpreter that runs a module as it is when each of its functions first runs.

    The module must not change while the interpreter is in use.
    """

    _table: dict[type[Operation], tuple[Functions, Any]] = field(default_factory=dict[Any, Any])
    _plans: dict[Block, _Plan] = field(default_factory=dict[Any, Any])
    _slots: dict[SSAValue, int] = field(default_factory=dict[Any, Any])
    _frame_sizes: dict[Region, int] = field(default_factory=dict[Any, Any])
    _frame: list[Any] = field(default_factory=list[Any])

    def register_implementations(self, impls: InterpreterFunctions, /, override: bool = False) -> None:
        """Register `impls`, which must be `Functions`.

        Raises:
            ValueError: when an operation has an implementation already and `override` is not set.
        """
        super().register_implementations(impls, override)
        assert isinstance(impls, Functions)
        for op_type, run in impls.implementations():
            self._table[op_type] = (impls, run)

    def get_values(self, values: Iterable[SSAValue]) -> tuple[Any, ...]:
        """The current values of SSA values of the running function."""
        return tuple(self._frame[self._slots[value]] for value in values)

    def set_values(self, pairs: Iterable[tuple[SSAValue, Any]]) -> None:
        """Give SSA values of the running function their current values."""
        for value, now in pairs:
            self._frame[self._slots[value]] = now

    def run_ssacfg_region(self, region: Region, args: PythonValues, name: str = "unknown") -> PythonValues:
        """Run `region` from its first block; an isolated region (a function's body) gets a frame of its own."""
        block = region.blocks.first
        if block is None:
            return ()
        if (frame_size := self._frame_sizes.get(region)) is None:
            if block in self._plans:  # nested in a function that runs
                return self._run_blocks(block, args)
            frame_size = self._plan_function(region)
        caller = self._frame
        self._frame = [None] * frame_size
        try:
            return self._run_blocks(block, args)
        finally:
            self._frame = caller

    def _run_blocks(self, block: Block, args: PythonValues) -> PythonValues:
        frame, listeners = self._frame, self.listeners
        while True:
            plan = self._plans[block]
            for slot, value in zip(plan.arguments, args, strict=True):
                frame[slot] = value
            for step in plan.steps:
                op, run, functions, operands, results = step
                values = tuple([frame[slot] for slot in operands])
                for listener in listeners:
                    listener.will_interpret_op(op, values)
                try:
                    outcome = run(functions, self, op, values)
                except OperationError:
                    raise
                except InterpretationError as error:
                    raise OperationError(op, str(error)) from error
                for listener in listeners:
                    listener.did_interpret_op(op, outcome.values)
                if outcome.terminator_value is not None:
                    break
                for slot, value in zip(results, outcome.values, strict=True):
                    frame[slot] = value
            else:
                return ()
            leave = outcome.terminator_value
            if isinstance(leave, ReturnedValues):
                return leave.values
            block, args = leave

    def _plan_function(self, region: Region) -> int:
        """Number the values of an isolated region, make a plan of each of its blocks, and return the frame's size."""
        blocks = [region_block for inner in _regions_within(region) for region_block in inner.blocks]
        slots = self._slots
        size = 0
        for block in blocks:
            for value in (*block.args, *(result for op in block.ops for result in op.results)):
                slots[value] = size
                size += 1
        for block in blocks:
            self._plans[block] = _Plan(tuple(slots[a] for a in block.args), tuple(self._step(op) for op in block.ops))
        self._frame_sizes[region] = size
        return size

    def _step(self, op: Operation) -> _Step:
        if (entry := self._table.get(type(op))) is None:
            functions, run = Functions(), _missing
        else:
            functions, run = entry
        slots = self._slots
        return _Step(op, run, functions, tuple(slots[o] for o in op.operands), tuple(slots[r] for r in op.results))


def _missing(functions: Functions, interpreter: stock.Interpreter, op: Operation, args: PythonValues) -> Any:
    raise InterpretationError("the interpreter does not know this operation")


def _regions_within(region: Region) -> Iterable[Region]:
    """`region` and those nested in it that see its values."""
    yield region
    for block in region.blocks:
        for op in block.ops:
            if not op.has_trait(IsolatedFromAbove):
                for inner in op.regions:
                    yield from _regions_within(inner)
