"""Derivatives that a C file gives: `#pragma tapeflow rule(g, vjp=g_vjp, jvp=g_jvp)`.

Compilers pass over the pragma. `g`, `g_vjp` and `g_jvp` are functions that the file defines, or only declares: then
they are linked. Of what `ad.rule` wants them to return, C returns the first, or nothing; the others are set through
pointers, the last parameters.

```c
#pragma tapeflow rule(root, vjp=root_vjp, jvp=root_jvp)
double root(double x);
double root_vjp(double x, double r_b);                      // returns the adjoint of x
double root_jvp(double x, double x_d, double *r_d);         // returns the root, sets its tangent
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import arith, complex, func, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tapeflow.analysis.complex_pairs import complex_part
from tapeflow.analysis.kept_calls import keep_call
from tapeflow.analysis.user_rules import declared_writes
from tapeflow.dialects.ad import RuleOp, expected_jvp, expected_vjp
from tapeflow.errors import TapeflowError

_Array: TypeAlias = MemRefType[Attribute]

_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+tapeflow\b(?P<rest>.*)$")
_RULE = re.compile(r"\s*rule\s*\(\s*(?P<of>\w+)(?P<parts>(\s*,\s*(vjp|jvp)\s*=\s*\w+)+)\s*\)\s*(//.*|/\*.*)?$")
_PART = re.compile(r"(vjp|jvp)\s*=\s*(\w+)")


@dataclass(frozen=True)
class RulePragma:
    """A rule as the file says it.

    Attributes:
        of: the function that it is about.
        given: the functions that give its derivatives, by `vjp` and `jvp`.
        location: of the pragma.
    """

    of: str
    given: Mapping[str, str]
    location: FileLineColLoc

    @property
    def functions(self) -> Sequence[str]:
        """All functions that it names."""
        return (self.of, *self.given.values())

    def error(self, message: str, hint: str | None = None) -> TapeflowError:
        """A refusal that points at the pragma."""
        return TapeflowError(message, location=self.location, hint=hint)


def rule_pragmas(text: bytes, filename: str) -> Sequence[RulePragma]:
    """The rules that a file gives.

    Raises:
        TapeflowError: a pragma of ours says something else.
    """
    found: list[RulePragma] = []
    for number, line in enumerate(text.decode(errors="replace").splitlines(), start=1):
        if (pragma := _PRAGMA.match(line)) is None:
            continue
        column = line.index("#") + 1
        location = FileLineColLoc(StringAttr(filename), IntAttr(number), IntAttr(column))
        rule = _RULE.match(pragma["rest"])
        if rule is None:
            raise TapeflowError(
                f"this pragma is not known: 'tapeflow{pragma['rest'].rstrip()}'",
                location=location,
                hint="write '#pragma tapeflow rule(g, vjp=g_vjp, jvp=g_jvp)', or one of the two",
            )
        found.append(RulePragma(rule["of"], dict(_PART.findall(rule["parts"])), location))
    return found


def add_rules(module: ModuleOp, pragmas: Iterable[RulePragma]) -> None:
    """Put the rules that `pragmas` give into `module`, which has their functions.

    Raises:
        TapeflowError: a derivative does not fit its function.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    for pragma in pragmas:
        names: dict[str, str] = {}
        for mode, expected in (("vjp", expected_vjp), ("jvp", expected_jvp)):
            if mode in pragma.given:
                derivative = functions[pragma.given[mode]]
                wanted = expected(functions[pragma.of].function_type)
                if mode == "vjp" and derivative.is_declaration:
                    _check_promises(pragma, derivative, len(functions[pragma.of].function_type.inputs))
                adapter = _adapted(pragma, derivative, wanted, mode)
                if adapter is not derivative:
                    module.body.block.add_op(adapter)
                names[mode] = adapter.sym_name.data
        rule = RuleOp(pragma.of, names.get("vjp"), names.get("jvp"))
        rule.location = pragma.location
        module.body.block.add_op(rule)


def _check_promises(pragma: RulePragma, vjp: func.FuncOp, arguments: int) -> None:
    """Refuse a prototype that does not say that it leaves the arrays of the primal, its first arguments, as they are.

    Raises:
        TapeflowError: it does not.
    """
    if any(position < arguments for position in declared_writes(vjp)):
        name = vjp.sym_name.data
        raise pragma.error(
            f"'{name}' may write to an array of '{pragma.of}', which the reverse sweep must leave as it is",
            f"declare the arrays that '{pragma.of}' takes as 'const' in '{name}'",
        )


def _adapted(pragma: RulePragma, derivative: func.FuncOp, wanted: FunctionType, mode: str) -> func.FuncOp:
    """`derivative`, or a function around it that returns what it sets through pointers.

    Raises:
        TapeflowError: it does not fit.
    """
    found, outputs = derivative.function_type, list(wanted.outputs)
    if found == wanted:
        return derivative
    returned = len(found.outputs)
    own, pointers = list(found.inputs)[: len(wanted.inputs)], list(found.inputs)[len(wanted.inputs) :]
    fits = own == list(wanted.inputs) and list(found.outputs) == outputs[:returned]
    if not fits or [_pointed_at(type_) for type_ in pointers] != outputs[returned:]:
        name = derivative.sym_name.data
        raise pragma.error(
            f"'{name}' does not fit as the {mode} of '{pragma.of}'",
            f"declare it as '{_declared(name, wanted)}'",
        )
    return _around(derivative, wanted, pragma.location)


def _around(derivative: func.FuncOp, wanted: FunctionType, location: FileLineColLoc) -> func.FuncOp:
    op = func.FuncOp(f"{derivative.sym_name.data}_rule", wanted, visibility="private")
    op.location = location
    block = op.body.block
    for argument in block.args:
        argument.location = location
    for argument, like in zip(block.args, () if derivative.is_declaration else derivative.args, strict=False):
        argument.name_hint = like.name_hint

    def add(made: Operation) -> SSAValue:
        made.location = location
        block.add_op(made)
        return made.results[0]

    first = add(arith.ConstantOp(IntegerAttr.from_index_int_value(0)))
    places: list[SSAValue] = []
    for type_ in list(wanted.outputs)[len(derivative.function_type.outputs) :]:
        zero = add(_zero(type_))
        place = add(memref.AllocaOp.get(type_, shape=[1]))
        store = memref.StoreOp.get(zero, place, [first])
        store.location = location
        block.add_op(store)
        taken = derivative.function_type.inputs.data[len(wanted.inputs) + len(places)]
        assert isinstance(taken, MemRefType)
        places.append(place if place.type == taken else add(memref.CastOp.get(place, cast(_Array, taken))))
    call = func.CallOp(derivative.sym_name.data, [*block.args, *places], list(derivative.function_type.outputs))
    call.location = location
    if derivative.is_declaration:
        keep_call(call, declared_writes(derivative))
    block.add_op(call)
    returned = func.ReturnOp(*call.results, *(add(memref.LoadOp.get(place, [first])) for place in places))
    returned.location = location
    block.add_op(returned)
    return op


def _zero(type_: Attribute) -> Operation:
    """The constant 0 of a floating-point type, real or complex."""
    if (part := complex_part(type_)) is not None:
        return complex.ConstantOp(ArrayAttr([FloatAttr(0.0, part)] * 2), ComplexType(part))
    assert isinstance(type_, AnyFloat)
    return arith.ConstantOp(FloatAttr(0.0, type_))


def _declared(name: str, wanted: FunctionType) -> str:
    """`double g_vjp(double, int, double, double *)`: the prototype that fits, the first result returned."""
    returned = [_spelled(type_) for type_ in wanted.outputs]
    parameters = [*map(_spelled, wanted.inputs), *(f"{spelled} *" for spelled in returned[1:])]
    return f"{returned[0] if returned else 'void'} {name}({', '.join(parameters)})"


def _spelled(type_: Attribute) -> str:
    if isinstance(type_, MemRefType):
        return f"{_spelled(cast(_Array, type_).element_type)} *"
    return _SPELLED.get(str(type_), str(type_))


def _pointed_at(type_: Attribute) -> Attribute | None:
    """The type of a number that a pointer leads to; None for other types."""
    if isinstance(type_, MemRefType) and len(cast(_Array, type_).get_shape()) == 1:
        return cast(_Array, type_).element_type
    return None


_SPELLED = {
    "f64": "double",
    "f32": "float",
    "complex<f64>": "double complex",
    "complex<f32>": "float complex",
    "i32": "int",
    "i64": "long",
    "i8": "char",
    "i16": "short",
    "i1": "_Bool",
}
