"""The signature of a gradient function: what it takes and returns beyond its primal, and what those are called.

`@f_grad(primal arguments, one seed per active float result, a shadow per active array) -> (primal results, adjoints of
active scalars)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, UnitAttr
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tapeflow.analysis.activity import Request, is_float, shadowed_arguments
from tapeflow.analysis.parameters import parameter_name
from tapeflow.analysis.region_names import UniqueNames
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.transforms.located_builder import place_of

NAME = "tapeflow.name"


def _attributes(present: ArrayAttr[DictionaryAttr] | None, count: int) -> list[dict[str, Attribute]]:
    return [{} for _ in range(count)] if present is None else [dict(entry.data) for entry in present.data]


def argument_attributes(function: func.FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each argument of `function`, to be changed."""
    return _attributes(function.arg_attrs, len(function.args))


def result_attributes(function: func.FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each result of `function`, to be changed."""
    return _attributes(function.res_attrs, len(function.function_type.outputs))


def append_argument(function: func.FuncOp, like: SSAValue, name: str) -> BlockArgument:
    """A new argument of `function` behind the others, of the type of `like`, at its place."""
    block = function.body.block
    argument = block.insert_arg(like.type, len(block.args), place_of(like))
    set_source_name(argument, name)
    return argument


def name_results(values: Sequence[SSAValue], results: Sequence[dict[str, Attribute]]) -> None:
    """Name in `results`, their attributes, those of the returned `values` that have no name there."""
    names = UniqueNames()
    for value, attributes in zip(values, results, strict=True):
        if NAME not in attributes:
            attributes[NAME] = StringAttr(names.of(source_name(value) or "return"))


def text_of(attribute: Attribute) -> str:
    """The text of an attribute that is one."""
    assert isinstance(attribute, StringAttr)
    return attribute.data


NO_OUTPUT = "tapeflow.no_output"
"""Marks the shadow of an array that is no output: on entry it holds zeros."""

SHARED = ("tapeflow.extents", "tapeflow.record", "tapeflow.complex")
"""The attributes of an array that its shadow, or its tangent, has too."""


class GradientSignature:
    """Extends `function`, a copy of the primal, by seeds and shadows.

    Attributes:
        seeds: the seed of each active returned value, in order of the results.
        shadows: the shadow argument of each active array argument.
    """

    def __init__(self, function: func.FuncOp, request: Request):
        returned = function.get_return_op()
        assert returned is not None
        self._function = function
        self._names = UniqueNames(parameter_name(argument) for argument in function.args)
        self._arguments = argument_attributes(function)
        self._results = result_attributes(function)
        self._scalars = [
            arg for arg, mark in zip(function.args, request.arguments, strict=True) if mark and is_float(arg)
        ]
        arrays = shadowed_arguments(function, request)
        name_results(returned.operands, self._results)
        self.seeds: list[tuple[SSAValue, BlockArgument]] = []
        for position, (value, active) in enumerate(zip(returned.operands, request.results, strict=True)):
            if active:
                name = self._names.of(f"{text_of(self._results[position][NAME])}_b")
                self.seeds.append((value, append_argument(function, value, name)))
                self._arguments.append({NAME: StringAttr(name)})
        self.shadows: dict[SSAValue, BlockArgument] = {}
        for array in arrays:
            name = self._names.of(f"{parameter_name(array)}_b")
            self.shadows[array] = append_argument(function, array, name)
            kept = {key: value for key, value in self._arguments[array.index].items() if key in SHARED}
            starts_at_zero = {NO_OUTPUT: UnitAttr()} if array.index in request.no_outputs else {}
            self._arguments.append({NAME: StringAttr(name), **kept, **starts_at_zero})

    @property
    def active_scalars(self) -> Sequence[BlockArgument]:
        """The active arguments that are floats: their adjoints are returned."""
        return self._scalars

    def finish(self, adjoints: Sequence[SSAValue]) -> None:
        """Return `adjoints`, those of the active scalars, behind the primal results, and set the function's type."""
        returned = self._function.get_return_op()
        assert returned is not None
        for argument in self._scalars:
            name = self._names.of(f"{parameter_name(argument)}_b")
            of = StringAttr(parameter_name(argument))
            self._results.append({NAME: StringAttr(name), "tapeflow.adjoint_of": of})
        returned.operands = [*returned.operands, *adjoints]
        function = self._function
        function.function_type = FunctionType.from_lists(
            [argument.type for argument in function.args], [value.type for value in returned.operands]
        )
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, self._arguments))
        function.properties["res_attrs"] = ArrayAttr(map(DictionaryAttr, self._results))
