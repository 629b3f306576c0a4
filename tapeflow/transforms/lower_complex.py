"""Lower complex numbers to pairs of floats, with the signatures of the functions and the requests that are about them.

A value `%z : complex<f64>` becomes `%z_re, %z_im : f64`, also as an argument, a result, or carried by a loop; an array
of complex numbers becomes one of floats with an axis of 2 behind the others. So the derivative of a real L by
z = x + iy is the pair (dL/dx, dL/dy). What the operations compute is in `complex_arithmetic`.

All functions that a changed one calls or is called by are lowered with it, so that calls fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith, complex, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.complex_pairs import complex_part, is_complex, is_complex_array, paired
from tapeflow.analysis.requests import functions_of, requests_of, signature_of
from tapeflow.analysis.source_names import set_result_names, set_source_name, source_name
from tapeflow.dialects.ad import ActivityAttr, DerivativeRequest
from tapeflow.errors import TapeflowError
from tapeflow.transforms.complex_arithmetic import FORMULAS, Pair, Real
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import index_constant
from tapeflow.transforms.lower_arithmetic import check_library_name
from tapeflow.transforms.promote_scalars import is_scalar_variable

PARTS = ("re", "im")
"""What is behind the name of a complex number in the names of its parts."""


def lower_complex(module: ModuleOp, targets: Iterable[func.FuncOp], structure: Callable[[func.FuncOp], None]) -> None:
    """Lower `targets` and the functions that their calls tie them to, where they have complex numbers.

    Args:
        module: that the functions are in; its requests and tables are changed with them.
        targets: the functions that are to be without complex numbers.
        structure: lowers the whole-array operations and the structured ones that core IR lacks, of one function.

    Raises:
        TapeflowError: an operation on complex numbers is not known, or a type has parts that are no floats.
    """
    functions = functions_of(module)
    found = [function for function in _tied(functions, targets) if _has_complex(function)]
    if not found:
        return
    requests = {request.sym_name.data: request for request in requests_of(module)}
    marks = {name: _paired_marks(request, functions, requests) for name, request in requests.items()}
    for function in found:
        if function.is_declaration:
            raise TapeflowError(
                f"'{function.sym_name.data}', which is only declared, takes or returns complex numbers",
                location=function.location,
                hint="declare it with real and imaginary parts, or give it a body",
            )
        structure(function)
        _Lowering(function, functions).run()
    for name, (arguments, results) in marks.items():
        requests[name].arguments, requests[name].results_ = arguments, results
    _lower_tables(module)


def _mentions_complex(type_: Attribute) -> bool:
    return is_complex(type_) or is_complex_array(type_)


def _types(function: func.FuncOp) -> Iterator[Attribute]:
    yield from function.function_type.inputs
    yield from function.function_type.outputs


def _has_complex(function: func.FuncOp) -> bool:
    if any(map(_mentions_complex, _types(function))):
        return True
    return any(_mentions_complex(value.type) for op in function.body.walk() for value in (*op.operands, *op.results))


def _tied(functions: Mapping[str, func.FuncOp], targets: Iterable[func.FuncOp]) -> list[func.FuncOp]:
    """`targets`, what they call, and what calls one of these whose signature has complex numbers; in order."""
    calls = {
        name: {op.callee.string_value() for op in function.body.walk() if isinstance(op, func.CallOp)}
        for name, function in functions.items()
    }
    pending = [function.sym_name.data for function in targets]
    tied: set[str] = set()
    while pending:
        name = pending.pop()
        if name in tied or name not in functions:
            continue
        tied.add(name)
        pending.extend(calls[name])
        if any(map(_mentions_complex, _types(functions[name]))):
            pending.extend(caller for caller, called in calls.items() if name in called)
    return [function for name, function in functions.items() if name in tied]


Marks = ArrayAttr[ActivityAttr]


def _paired_marks(
    request: DerivativeRequest,
    functions: Mapping[str, func.FuncOp],
    requests: Mapping[str, DerivativeRequest],
) -> tuple[Marks, Marks]:
    """The marks of `request`, two for each complex number."""
    inputs, outputs = signature_of(request.primal.string_value(), functions, requests)

    def twice(marks: Marks, types: Sequence[Attribute]) -> Marks:
        # A request that does not fit its primal is refused later, as it stands.
        if len(marks) != len(types):
            return marks
        return ArrayAttr(mark for mark, type_ in zip(marks, types, strict=True) for _ in paired(type_))

    return twice(request.arguments, inputs), twice(request.results_, outputs)


def _lower_tables(module: ModuleOp) -> None:
    """Make the constant tables of complex numbers tables of floats."""
    for op in module.ops:
        if isinstance(op, memref.GlobalOp) and is_complex_array(op.type):
            (type_,) = paired(op.type, op.location)
            assert isinstance(type_, MemRefType)
            type_ = cast(MemRefType[Any], type_)
            op.properties["type"] = type_
            if isinstance(op.initial_value, DenseIntOrFPElementsAttr):
                dense = cast(DenseIntOrFPElementsAttr[Any], op.initial_value)
                pairs = cast(Sequence[tuple[float, float]], dense.get_values())
                numbers = [part for pair in pairs for part in pair]
                tensor = TensorType(type_.element_type, type_.get_shape())
                op.properties["initial_value"] = DenseIntOrFPElementsAttr.from_list(tensor, numbers)


class _Lowering:
    """Lowers one function."""

    def __init__(self, function: func.FuncOp, functions: Mapping[str, func.FuncOp]):
        self._function, self._functions = function, functions
        self._pairs: dict[SSAValue, Pair] = {}
        self._variables: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
        self._replaced: list[Operation] = []
        self._split: list[BlockArgument] = []

    def run(self) -> None:
        """Lower the body, then the signature."""
        function = self._function
        if function.is_declaration:
            self._lower_signature()
            return
        if len(function.body.blocks) != 1:
            raise TapeflowError(
                f"'{function.sym_name.data}' has jumps between blocks",
                location=function.location,
                hint="write it with structured loops and branches (scf), or mlir-opt --lift-cf-to-scf",
            )
        self._lower_signature()
        self._block(function.body.block)
        for op in reversed(self._replaced):
            Rewriter.erase_op(op)
        for argument in reversed(self._split):
            argument.block.erase_arg(argument)

    def _lower_signature(self) -> None:
        function = self._function
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        place = function.location
        for key, types, values in (
            ("arg_attrs", inputs, function.args if not function.is_declaration else ()),
            ("res_attrs", outputs, ()),
        ):
            attributes = cast("ArrayAttr[DictionaryAttr] | None", function.properties.get(key))
            if attributes is not None:
                names = [source_name(value) for value in values] or [None] * len(types)
                paired_attributes = [
                    each
                    for attribute, type_, name in zip(attributes, types, names, strict=True)
                    for each in _paired_attributes(attribute, type_, name)
                ]
                function.properties[key] = ArrayAttr(paired_attributes)
        function.function_type = FunctionType.from_lists(
            [each for type_ in inputs for each in paired(type_, place)],
            [each for type_ in outputs for each in paired(type_, place)],
        )

    def _block(self, block: Block) -> None:
        build = LocatedBuilder(InsertPoint.at_start(block), place=place_of(self._function))
        for argument in block.args:
            if is_complex_array(argument.type):
                self._retype(argument)
            elif is_complex(argument.type):
                self._split_argument(argument, build)
        for op in list(block.ops):
            self._operation(op)

    def _retype(self, value: SSAValue) -> None:
        place = value.location if isinstance(value, BlockArgument) else None
        (type_,) = paired(value.type, place_of(value))
        fresh = Rewriter.replace_value_with_new_type(value, type_)
        if isinstance(fresh, BlockArgument) and place is not None:
            fresh.location = place

    def _split_argument(self, argument: BlockArgument, build: LocatedBuilder) -> None:
        block, name = argument.block, source_name(argument)
        parts: list[Real] = []
        for offset, part in enumerate(PARTS):
            (type_, _) = paired(argument.type)
            fresh = block.insert_arg(type_, argument.index + 1 + offset, place_of(argument))
            if name is not None:
                set_source_name(fresh, f"{name}_{part}")
            parts.append(Real(fresh, build))
        self._pairs[argument] = (parts[0], parts[1])
        self._split.append(argument)

    def _pair(self, value: SSAValue, build: LocatedBuilder) -> Pair:
        real, imaginary = self._pairs[value]
        return Real(real.value, build), Real(imaginary.value, build)

    def _parts(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        """`values` with the parts of those that are complex."""
        return [
            each
            for value in values
            for each in ((part.value for part in self._pairs[value]) if value in self._pairs else (value,))
        ]

    def _operation(self, op: Operation) -> None:
        build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
        match op:
            case complex.ConstantOp():
                self._constant(op, build)
            case complex.CreateOp():
                self._is(op.complex, (Real(op.real, build), Real(op.imaginary, build)), build)
                self._replaced.append(op)
            case _ if (formula := FORMULAS.get(type(op))) is not None:
                self._check_parts(op)
                if isinstance(op, _WITH_HYPOT):
                    check_library_name("hypot", op, self._functions)
                operands = [self._pair(operand, build) for operand in op.operands]
                self._replace(op, formula(*operands), build)
            case memref.AllocaOp() | memref.AllocOp() if is_complex_array(op.memref.type) and is_scalar_variable(op):
                self._variable(op, build)
            case memref.LoadOp() if op.memref in self._variables:
                real, imaginary = (build.value(memref.LoadOp.get(part, [])) for part in self._variables[op.memref])
                self._replace(op, (Real(real, build), Real(imaginary, build)), build)
            case memref.StoreOp() if op.memref in self._variables:
                variables = self._variables[op.memref]
                for part, variable in zip(self._pair(op.value, build), variables, strict=True):
                    build.insert(memref.StoreOp.get(part.value, variable, []))
                self._replaced.append(op)
            case memref.DeallocOp() if op.memref in self._variables:
                for variable in self._variables[op.memref]:
                    build.insert(memref.DeallocOp.get(variable))
                self._replaced.append(op)
            case memref.LoadOp() if is_complex(op.res.type):
                loads = [
                    build.value(memref.LoadOp.get(op.memref, [*op.indices, index_constant(part, build)]))
                    for part in range(2)
                ]
                self._replace(op, (Real(loads[0], build), Real(loads[1], build)), build)
            case memref.StoreOp() if op.value in self._pairs:
                for position, part in enumerate(self._pair(op.value, build)):
                    place = [*op.indices, index_constant(position, build)]
                    build.insert(memref.StoreOp.get(part.value, op.memref, place))
                self._replaced.append(op)
            case arith.SelectOp() if op.lhs in self._pairs:
                chosen, other = self._pair(op.lhs, build), self._pair(op.rhs, build)
                self._replace(op, (chosen[0].choose(op.cond, other[0]), chosen[1].choose(op.cond, other[1])), build)
            case _ if not self._has_complex(op):
                self._regions(op)
            case _ if isinstance(op, _STRUCTURAL):
                self._structural(op, build)
            case _ if isinstance(op, _ON_ARRAYS):
                self._on_array(op)
            case _:
                raise TapeflowError(
                    f"'{op.name}' on complex numbers cannot be differentiated yet",
                    location=op.location,
                    hint="compute with the real and imaginary parts, complex.re and complex.im",
                )

    def _has_complex(self, op: Operation) -> bool:
        # Arrays that the op is given have their new types already.
        return any(operand in self._pairs for operand in op.operands) or any(
            _mentions_complex(result.type) for result in op.results
        )

    def _check_parts(self, op: Operation) -> None:
        for operand in op.operands:
            if operand not in self._pairs:
                raise TapeflowError(
                    f"'{op.name}' of {operand.type}: the parts of complex numbers are f32 or f64",
                    location=op.location,
                    hint="convert the parts first, with arith.sitofp",
                )

    def _is(self, value: SSAValue, pair: Pair, build: LocatedBuilder) -> None:
        self._pairs[value] = pair

    def _replace(self, op: Operation, outcome: Pair | Real | SSAValue, build: LocatedBuilder) -> None:
        """Let `outcome` be the one result of `op`, and name its parts after it."""
        (result,) = op.results
        name = source_name(result)
        if isinstance(outcome, tuple):
            if name is not None:
                for part, suffix in zip(outcome, PARTS, strict=True):
                    _name(part.value, f"{name}_{suffix}")
            self._is(result, outcome, build)
        else:
            value = outcome.value if isinstance(outcome, Real) else outcome
            if name is not None:
                _name(value, name)
            result.replace_all_uses_with(value)
        self._replaced.append(op)

    def _variable(self, op: memref.AllocaOp | memref.AllocOp, build: LocatedBuilder) -> None:
        """Two variables instead of one, so that `promote_scalars` can make values of them."""
        name = source_name(op.memref)
        part = complex_part(op.memref.type.element_type)
        assert part is not None
        parts: list[SSAValue] = []
        for suffix in PARTS:
            parts.append(build.value(memref.AllocaOp.get(part, shape=[])))
            if name is not None:
                set_source_name(parts[-1], f"{name}_{suffix}")
        self._variables[op.memref] = (parts[0], parts[1])
        self._replaced.append(op)

    def _constant(self, op: complex.ConstantOp, build: LocatedBuilder) -> None:
        if complex_part(op.complex.type) is None:
            raise TapeflowError(
                f"'{op.name}' of {op.complex.type}: the parts of complex numbers are f32 or f64",
                location=op.location,
                hint="write the parts as floats: complex.constant [1.0, 0.0] : complex<f64>",
            )
        real, imaginary = (Real(build.value(arith.ConstantOp(cast(FloatAttr, part))), build) for part in op.value)
        self._is(op.complex, (real, imaginary), build)
        self._replaced.append(op)

    def _regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._block(block)

    def _structural(self, op: Operation, build: LocatedBuilder) -> None:
        """Make `op` anew, with the parts of what it takes and gives."""
        names = [source_name(result) for result in op.results]
        counts = [len(paired(result.type)) for result in op.results]
        self._regions(op)
        fresh = type(op).create(
            operands=self._parts(op.operands),
            result_types=[each for result in op.results for each in paired(result.type, op.location)],
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        fresh.location = place_of(op) if any(count > 1 for count in counts) else op.location
        build.insert(fresh)
        given = iter(fresh.results)
        new_names: list[str | None] = []
        for result, count, name in zip(op.results, counts, names, strict=True):
            values = [next(given) for _ in range(count)]
            if count == 1:
                result.replace_all_uses_with(values[0])
                new_names.append(name)
            else:
                self._is(result, (Real(values[0], build), Real(values[1], build)), build)
                new_names += [None if name is None else f"{name}_{part}" for part in PARTS]
        set_result_names(fresh, new_names)
        self._replaced.append(op)

    def _on_array(self, op: Operation) -> None:
        """Give an operation on arrays the new type of its result, and a view the axis of the parts."""
        for result in op.results:
            if is_complex_array(result.type):
                self._retype(result)
        if isinstance(op, memref.SubviewOp):
            _extend(op, {"static_offsets": 0, "static_sizes": 2, "static_strides": 1})


def _name(value: SSAValue, name: str) -> None:
    """Call `value` `name` if nothing has named it."""
    if source_name(value) is None:
        set_source_name(value, name)


_WITH_HYPOT = (
    complex.AbsOp,
    complex.Atan2Op,
    complex.LogOp,
    complex.Log1pOp,
    complex.PowOp,
    complex.RsqrtOp,
    complex.SignOp,
    complex.SqrtOp,
)
"""Operations whose formulas take the absolute value."""

_STRUCTURAL = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.ConditionOp, scf.YieldOp, func.CallOp, func.ReturnOp)
"""Operations that only hand values on."""

_ON_ARRAYS = (
    arith.SelectOp,
    memref.AllocOp,
    memref.AllocaOp,
    memref.CastOp,
    memref.GetGlobalOp,
    memref.SubviewOp,
)
"""Operations whose results are arrays."""


def _extend(op: Operation, numbers: Mapping[str, int]) -> None:
    """Put a number behind each of the lists of static numbers of `op`."""
    for name, number in numbers.items():
        static = cast(DenseArrayBase[Any], op.properties[name])
        op.properties[name] = DenseArrayBase.from_list(i64, [*static.get_values(), number])


def _paired_attributes(attribute: DictionaryAttr, type_: Attribute, name: str | None) -> Iterator[DictionaryAttr]:
    """The attributes of an argument or result of `type_`, called `name`, for each that stands for it."""
    declared = attribute.data.get("tapeflow.name")
    called = declared.data if isinstance(declared, StringAttr) else name
    if is_complex(type_):
        for part in PARTS:
            named = {} if called is None else {"tapeflow.name": StringAttr(f"{called}_{part}")}
            yield DictionaryAttr({**attribute.data, **named})
    elif is_complex_array(type_):
        own: dict[str, Attribute] = {"tapeflow.complex": UnitAttr()}
        if isinstance(spelled := attribute.data.get("tapeflow.extents"), ArrayAttr):
            own["tapeflow.extents"] = ArrayAttr([*cast(ArrayAttr[StringAttr], spelled), StringAttr("2")])
        yield DictionaryAttr({**attribute.data, **own})
    else:
        yield attribute
