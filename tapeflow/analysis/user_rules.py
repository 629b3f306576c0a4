"""Derivatives that users give: `ad.rule`, and the calls that it is about.

`ad-prepare` leaves a call of a function with a rule as it is, and notes on it the functions that give its derivative;
`ad-differentiate` calls those, and inlines all once all else is done. A mode without a rule looks into the body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, MemRefType, ModuleOp, SymbolRefAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tapeflow.analysis.block_tree import defining_block, is_top_block
from tapeflow.analysis.kept_calls import forget_call, keep_call, written_positions
from tapeflow.analysis.nested_sweeps import sweep_of
from tapeflow.analysis.roots import is_array, roots, written_arguments, written_arrays
from tapeflow.analysis.source_names import source_name
from tapeflow.dialects.ad import RuleOp
from tapeflow.errors import TapeflowError

Mode = Literal["vjp", "jvp"]

_READS = "tapeflow.vjp_reads"

_UNDISTURBED = "tapeflow.undisturbed"

READS_ONLY = "tapeflow.reads_only"
"""The attribute of a function that is only declared with the positions of the arrays that it does not write to."""


@dataclass(frozen=True)
class Rule:
    """The functions that give the derivatives of another, by name; None for a mode without."""

    vjp: str | None
    jvp: str | None

    def of(self, mode: Mode) -> str | None:
        """That of a mode."""
        return self.vjp if mode == "vjp" else self.jvp

    @property
    def functions(self) -> Iterable[str]:
        """The functions that it names."""
        return (name for name in (self.vjp, self.jvp) if name is not None)


def rules_of(module: ModuleOp) -> Mapping[str, Rule]:
    """The functions of `module` that have a rule, each with it.

    Raises:
        TapeflowError: a function has two.
    """
    rules: dict[str, Rule] = {}
    for op in module.body.block.ops:
        if isinstance(op, RuleOp):
            name = op.of.string_value()
            if name in rules:
                raise TapeflowError(f"a second ad.rule for '{name}'", location=op.location, hint="keep one of them")
            rules[name] = Rule(_name(op.vjp), _name(op.jvp))
    return rules


def _name(symbol: object) -> str | None:
    return symbol.string_value() if isinstance(symbol, SymbolRefAttr) else None


def mark_call(call: func.CallOp, rule: Rule, functions: Mapping[str, func.FuncOp]) -> None:
    """Note on `call` the rule of its callee, what the callee writes to, and which arrays its vjp looks at.

    Raises:
        TapeflowError: the vjp may write to an array that the callee is given.
    """
    call.attributes.pop(_UNDISTURBED, None)
    for mode in ("vjp", "jvp"):
        if (name := rule.of(mode)) is not None:
            call.attributes[f"tapeflow.{mode}"] = SymbolRefAttr(name)
    keep_call(call, _written_positions(call, functions))
    vjp = None if rule.vjp is None else functions[rule.vjp]
    if vjp is not None:
        _check_arrays_stay(call, vjp)
    arrays = [position for position, argument in enumerate(call.arguments) if is_array(argument)]
    read = [position for position in arrays if vjp is None or _is_read(vjp, position, functions, set())]
    call.attributes[_READS] = DenseArrayBase.from_list(i64, read)


def mark_undisturbed(call: func.CallOp, arguments: Collection[SSAValue]) -> None:
    """Note on `call`, in a function that is called, which arrays are of `arguments`, to which nobody writes."""
    positions = [
        position
        for position, argument in enumerate(call.arguments)
        if is_array(argument) and all(root in arguments for root in roots(argument))
    ]
    if positions:
        call.attributes[_UNDISTURBED] = DenseArrayBase.from_list(i64, positions)


def _check_arrays_stay(call: func.CallOp, vjp: func.FuncOp) -> None:
    """Refuse `vjp` if it writes to the arrays of the primal, which hold its results, and what else is undone reads."""
    for argument in written_arguments(vjp):
        if argument.index < len(call.arguments):
            array = f"'{name}'" if (name := source_name(argument)) is not None else "an array"
            raise TapeflowError(
                f"the vjp of '{call.callee.string_value()}', '{vjp.sym_name.data}', may write to "
                f"{array} of the primal, which the reverse sweep must leave as it is",
                location=vjp.location,
                hint="write to the shadows alone, and to arrays of its own",
            )


def _written_positions(call: func.CallOp, functions: Mapping[str, func.FuncOp]) -> Sequence[int]:
    callee = functions[call.callee.string_value()]
    if callee.is_declaration:
        return declared_writes(callee)
    return [argument.index for argument in written_arguments(callee)]


def declared_writes(function: func.FuncOp) -> Sequence[int]:
    """The positions of the arrays that `function`, which is only declared, may write to: those not in `READS_ONLY`."""
    promised = function.attributes.get(READS_ONLY)
    only_read = _integers(promised) if promised is not None else ()
    arrays = [k for k, type_ in enumerate(function.function_type.inputs.data) if isinstance(type_, MemRefType)]
    return [position for position in arrays if position not in only_read]


def _integers(attribute: Attribute) -> Sequence[int]:
    assert isinstance(attribute, DenseArrayBase)
    return [int(number) for number in cast("DenseArrayBase[IntegerType]", attribute).get_values()]


def _is_read(
    function: func.FuncOp, position: int, functions: Mapping[str, func.FuncOp], seen: set[tuple[str, int]]
) -> bool:
    """Whether `function`, or one that it hands the array on to, looks at the elements of its argument at `position`."""
    key = function.sym_name.data, position
    if key in seen:
        return False
    seen.add(key)
    if function.is_declaration:
        return True
    for use in function.args[position].uses:
        match use.operation:
            case memref.DimOp():
                continue
            case func.CallOp(callee=callee) if (called := functions.get(callee.string_value())) is not None:
                # What a frontend puts before a function, to give it its arguments in another order, only hands them on.
                if _is_read(called, use.index, functions, seen):
                    return True
            case _:
                return True
    return False


def rule_of_call(op: Operation) -> Rule | None:
    """The rule of what `op`, a call marked by `mark_call`, calls; None for all else."""
    if not isinstance(op, func.CallOp):
        return None
    vjp, jvp = (_name(op.attributes.get(f"tapeflow.{mode}")) for mode in ("vjp", "jvp"))
    return None if vjp is None and jvp is None else Rule(vjp, jvp)


def forget_rule(call: func.CallOp, *, keep: bool = False) -> None:
    """Let `call` be a call like others; `keep`: one that stays."""
    for name in ("tapeflow.vjp", "tapeflow.jvp", _READS, _UNDISTURBED):
        call.attributes.pop(name, None)
    if not keep:
        forget_call(call)


def check_arrays_apart(call: func.CallOp) -> None:
    """Refuse `call`, which a rule is about, if one of the arrays that it may write to is another argument, too.

    The functions of a rule are told of two arrays then, and do right by each: clear the shadow of one, for example.

    Raises:
        TapeflowError: two of its arrays may overlap.
    """
    for written in written_positions(call):
        array = call.arguments[written]
        for position, other in enumerate(call.arguments):
            if position != written and is_array(other) and roots(array) & roots(other):
                raise TapeflowError(
                    f"'{call.callee.string_value()}', which has a rule, is given one array for two arguments and may "
                    "write to it",
                    location=call.location,
                    hint="give it a copy for one of them",
                )


_DO_WITHOUT = "give the rule to a function that takes what it needs of the array as numbers, which are taped"


def check_arrays_last(call: func.CallOp) -> None:
    """Refuse `call`, whose vjp gets its arrays as they are in the reverse sweep, if it looks at one that changed.

    Raises:
        TapeflowError: an array may be written after the call, or be gone, and the vjp looks at it.
    """
    for position in _integers(call.attributes[_READS]):
        lost = _how_lost(call, position)
        if lost is not None:
            reason, hint = lost
            raise TapeflowError(
                f"the rule of '{call.callee.string_value()}' looks at an array in the reverse sweep that {reason}",
                location=call.location,
                hint=hint,
            )


def _how_lost(call: func.CallOp, position: int) -> tuple[str, str] | None:
    """How an array that `call` is given may be written, or be gone, before its vjp runs, and what to do about it."""
    array = call.arguments[position]
    function: Operation | None = call
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    assert function is not None
    undisturbed = call.attributes.get(_UNDISTURBED)
    if sweep_of(function) is not None and (undisturbed is None or position not in _integers(undisturbed)):
        return (
            "may change between the sweeps of the function that this call is in, which stays a call itself",
            "hand on one that is given from outside and that nobody writes to; or "
            f"{_DO_WITHOUT}; or have that function inlined: inline_limit=-1, and no recursion",
        )
    if not all(is_top_block(defining_block(root)) for root in roots(array)):
        return "is local to a loop or branch, and gone by then", _DO_WITHOUT
    around = function.body.block.find_ancestor_op_in_block(call)
    assert around is not None
    if any(_writes(op, array) for op in around.walk() if op is not call or call is not around):
        return "changes after this call, in the loop or branch that it is in", _DO_WITHOUT
    while (around := around.next_op) is not None:
        if any(_writes(op, array) for op in around.walk()):
            return "changes after this call", "copy it before, and give the call the copy, an array of its own"
    return None


def _writes(op: Operation, array: SSAValue) -> bool:
    return any(roots(written) & roots(array) for written in written_arrays(op))
