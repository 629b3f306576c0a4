"""Pass parts of arrays to functions that stay calls: as the whole array, and where in it the part lies.

```mlir
%row = memref.subview %A[%i, 0] [1, 4] [1, 1]              %r = func.call @g_at(%A, %i, %c4, %s)
%r = func.call @g(%row, %s)                      becomes
                                                           func.func private @g_at(%v: memref<?x4xf64>, %v_at0: index,
                                                                                   %v_size1: index, %s: f64)
                                                             %row = memref.subview %v[%v_at0, 0] [1, %v_size1] [1, 1]
```

C knows no array but by its first element, and what a call touches must stay certain: which array it is. So a function
has a variant for each kind of part that it is called with: the shape of the array around it, which of its dimensions
the part has, which offsets are not 0 and which strides are not 1. Parts of parts are composed to parts of the array,
so that a function which passes on a part of what it is given, `@g(v[m:])`, ends in a variant that calls itself.

A parameter that is declared with a layout gets a variant without one for whole arrays too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, MutableSet, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.kept_calls import keep_call, kept_calls, written_positions
from tapeflow.analysis.parameters import parameter_name
from tapeflow.analysis.region_names import UniqueNames
from tapeflow.analysis.roots import is_array
from tapeflow.analysis.source_names import set_source_name
from tapeflow.analysis.user_rules import rule_of_call
from tapeflow.analysis.views import Size, chain, is_root, kept_dimensions, mixed, shape_of
from tapeflow.transforms.gradient_signature import argument_attributes
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.sizes import as_value, plus, times

_LOOKED_THROUGH = (memref.CastOp, memref.SubviewOp)


@dataclass(frozen=True)
class _Dimension:
    """What a kind of part says of one dimension of the array around it.

    Attributes:
        moves: whether the part may begin behind the first element.
        strides: whether it may leave elements out.
        is_kept: whether it is a dimension of the part, which has one element along it otherwise.
    """

    moves: bool
    strides: bool
    is_kept: bool


@dataclass(frozen=True)
class _Kind:
    """What a variant takes in place of one array.

    Attributes:
        array: the type of the whole array.
        part: how the part lies in it, for each dimension; None if all of it is meant.
    """

    array: MemRefType[Attribute]
    part: tuple[_Dimension, ...] | None


_Kinds = tuple[tuple[int, _Kind], ...]
"""What a variant takes otherwise than the function itself: the positions of the arguments, in order, and how."""


@dataclass
class _Part:
    """A part of an array, as values where a call is.

    Attributes:
        root: the whole array.
        offsets: one for each dimension of the array.
        strides: one for each dimension of the array.
        sizes: the extents of the part, by the dimension of the array; what a part leaves out is not among them.
    """

    root: SSAValue
    offsets: list[Size]
    strides: list[Size]
    sizes: dict[int, Size]


class CallViews:
    """The variants of functions for the parts of arrays that calls which stay calls are given.

    Args:
        functions: the functions of a module by name; variants are added, to the module as well.
        kept: the names of those whose calls stay calls; variants are added.
    """

    def __init__(self, functions: MutableMapping[str, func.FuncOp], kept: MutableSet[str]):
        self._functions = functions
        self._kept = kept
        # Functions are prepared in place, perhaps before a call shows that a variant is needed.
        self._originals = {name: functions[name].clone() for name in kept}
        self._cutting = {name for name, original in self._originals.items() if _cuts(original)}
        self._names = UniqueNames(functions)
        self._variants: dict[tuple[str, _Kinds], str] = {}
        self._last: dict[str, func.FuncOp] = {}

    def lower(self, function: func.FuncOp) -> None:
        """Let the calls in `function` that stay calls take whole arrays; all that can be inlined is.

        A call of what has a rule is left as it is: the signature is that of the rule.
        """
        for call in kept_calls(function):
            if call.callee.string_value() in self._originals and rule_of_call(call) is None:
                self._lower_call(call)

    def _lower_call(self, call: func.CallOp) -> None:
        name = call.callee.string_value()
        build = LocatedBuilder(InsertPoint.before(call), place=place_of(call))
        kinds: dict[int, _Kind] = {}
        passed: dict[int, list[SSAValue]] = {}
        for position, argument in enumerate(call.arguments):
            if is_array(argument) and (taken := _taken(argument, name in self._cutting, build)) is not None:
                kinds[position], passed[position] = taken
        if not kinds:
            return
        arguments: list[SSAValue] = []
        places: list[int] = []
        for position, argument in enumerate(call.arguments):
            places.append(len(arguments))
            arguments.extend(passed.get(position, [argument]))
        variant = self._variant(name, tuple(kinds.items()))
        fresh = func.CallOp(variant, arguments, call.result_types)
        fresh.location = call.location
        keep_call(fresh, [places[position] for position in written_positions(call)])
        for old, new in zip(call.results, fresh.results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.replace_op(call, fresh)

    def _variant(self, name: str, kinds: _Kinds) -> str:
        """The name of the variant of the function `name` that takes `kinds`; it is made if it is not there."""
        if (name, kinds) not in self._variants:
            self._variants[name, kinds] = called = self._names.of(f"{name}_at")
            variant = self._originals[name].clone()
            variant.sym_name = StringAttr(called)
            variant.sym_visibility = StringAttr("private")
            _take(variant, dict(kinds))
            Rewriter.insert_op(variant, InsertPoint.after(self._last.get(name, self._functions[name])))
            self._functions[called] = self._last[name] = variant
            self._kept.add(called)
        return self._variants[name, kinds]


def _cuts(function: func.FuncOp) -> bool:
    return any(isinstance(op, memref.SubviewOp) for op in function.body.walk())


def _taken(argument: SSAValue, cuts: bool, build: LocatedBuilder) -> tuple[_Kind, list[SSAValue]] | None:
    """How a variant takes `argument`, and what it is passed; None if the function itself can take it, or none can.

    Where the function `cuts` parts out of what it takes, those that begin at 0 are of one kind with the others: they
    become such in the calls that it makes, and each kind has tapes of its own.
    """
    type_ = cast(MemRefType[Attribute], argument.type)
    views = list(chain(argument, _LOOKED_THROUGH))
    if not any(isinstance(view, memref.SubviewOp) for view in views):
        if isinstance(type_.layout, NoneAttr):
            return None
        whole = views[-1].operands[0] if views else argument
        array = MemRefType(type_.element_type, type_.shape, memory_space=type_.memory_space)
        return _Kind(array, None), [_cast(whole, array, build)]
    root = views[-1].operands[0]
    root_type = cast(MemRefType[Attribute], root.type)
    if not is_root(root) or not isinstance(root_type.layout, NoneAttr):
        return None
    array = _of_any_length(root_type)
    part = _composed(root, [view for view in reversed(views) if isinstance(view, memref.SubviewOp)], build)
    dimensions = tuple(
        _Dimension(offset != 0 or (cuts and dimension in part.sizes), stride != 1, dimension in part.sizes)
        for dimension, (offset, stride) in enumerate(zip(part.offsets, part.strides, strict=True))
    )
    numbers = [
        *(offset for offset, each in zip(part.offsets, dimensions, strict=True) if each.moves),
        *(stride for stride, each in zip(part.strides, dimensions, strict=True) if each.strides),
        *(size for size, static in zip(part.sizes.values(), shape_of(argument), strict=True) if static < 0),
    ]
    return _Kind(array, dimensions), [_cast(root, array, build), *(as_value(number, build) for number in numbers)]


def _of_any_length(type_: MemRefType[Attribute]) -> MemRefType[Attribute]:
    """`type_` with an outermost extent that is not known, on which no subscript depends."""
    shape = type_.get_shape()
    return MemRefType(type_.element_type, [DYNAMIC_INDEX, *shape[1:]]) if shape else type_


def _cast(array: SSAValue, type_: MemRefType[Attribute], build: LocatedBuilder) -> SSAValue:
    return array if array.type == type_ else build.value(memref.CastOp.get(array, type_))


def _composed(root: SSAValue, views: Sequence[memref.SubviewOp], build: LocatedBuilder) -> _Part:
    """The part of `root` that `views`, each of the one before it, lead to."""
    rank = len(shape_of(root))
    part = _Part(root, [0] * rank, [1] * rank, dict.fromkeys(range(rank), 0))
    for op in views:
        offsets, sizes = mixed(op, "offsets", op.offsets), mixed(op, "sizes", op.sizes)
        strides = mixed(op, "strides", op.strides)
        found: dict[int, Size] = {}
        for dimension, offset, size, stride, keeps in zip(
            part.sizes, offsets, sizes, strides, kept_dimensions(op), strict=True
        ):
            distance = times(offset, part.strides[dimension], build)
            part.offsets[dimension] = plus(part.offsets[dimension], distance, build)
            part.strides[dimension] = times(part.strides[dimension], stride, build)
            if keeps:
                found[dimension] = size
        part.sizes = found
    return part


def _take(function: func.FuncOp, kinds: Mapping[int, _Kind]) -> None:
    """Let `function` take the arrays at the positions in `kinds` in another way."""
    names = UniqueNames(parameter_name(argument) for argument in function.args)
    attributes = argument_attributes(function)
    for position, kind in sorted(kinds.items(), reverse=True):
        argument = function.args[position]
        added = _take_array(function, argument, kind, names)
        # The extents that are declared are those of the part.
        own = {name: value for name, value in attributes[position].items() if name != "tapeflow.extents"}
        attributes[position : position + 1] = [own, *({} for _ in range(added))]
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in function.args], list(function.function_type.outputs)
    )
    function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, attributes))


def _take_array(function: func.FuncOp, argument: BlockArgument, kind: _Kind, names: UniqueNames) -> int:
    """Let `function` take an array of `kind` in place of `argument`; returns how many numbers are taken behind it."""
    block = function.body.block
    start = InsertPoint.at_start(block)
    build = LocatedBuilder(start, place=place_of(argument))
    called, position = parameter_name(argument), argument.index
    array = block.insert_arg(kind.array, position, argument.location)
    set_source_name(array, called)
    taken: list[SSAValue] = []

    def number(what: str, dimension: int) -> SSAValue:
        suffix = f"{dimension}" if len(shape_of(array)) > 1 else ""
        value = block.insert_arg(IndexType(), position + 1 + len(taken), place_of(argument))
        set_source_name(value, names.of(f"{called}_{what}{suffix}"))
        taken.append(value)
        return value

    view: SSAValue = array
    if kind.part is not None:
        parts = list(enumerate(kind.part))
        offsets: list[Size] = [number("at", k) if each.moves else 0 for k, each in parts]
        strides: list[Size] = [number("step", k) if each.strides else 1 for k, each in parts]
        shape = iter(shape_of(argument))
        sizes: list[Size] = []
        for k, each in parts:
            static = next(shape) if each.is_kept else 1
            sizes.append(number("size", k) if static < 0 else static)
        inferred = memref.SubviewOp.infer_result_type(kind.array, offsets, sizes, strides)
        result = _without_dimensions(inferred, [k for k, each in parts if not each.is_kept])
        view = build.value(memref.SubviewOp.get(array, offsets, sizes, strides, result), called)
    argument.replace_all_uses_with(_cast(view, cast(MemRefType[Attribute], argument.type), build))
    block.erase_arg(argument)
    return len(taken)


def _without_dimensions(type_: MemRefType[Attribute], left_out: Collection[int]) -> MemRefType[Attribute]:
    """`type_`, which has a strided layout, without some of its dimensions."""
    layout = cast(StridedLayoutAttr, type_.layout)
    kept = [k for k in range(type_.get_num_dims()) if k not in left_out]
    strides = [layout.get_strides()[k] for k in kept]
    return MemRefType(
        type_.element_type,
        [type_.get_shape()[k] for k in kept],
        StridedLayoutAttr(strides, layout.get_offset()),
        type_.memory_space,
    )
