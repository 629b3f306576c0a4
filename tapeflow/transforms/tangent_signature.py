"""The signature of a tangent function: what it takes and returns beyond its primal, and what those are called.

`@f_jvp(primal arguments, a tangent per active float, a tangent array per active array) -> (primal results, tangents of
the active results)`, each group in the order of the primal. A tangent array holds on entry the tangent of the array's
initial value, on exit that of its final value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.ir import BlockArgument, SSAValue

from tapeflow.analysis.activity import Request, is_float, shadowed_arguments
from tapeflow.analysis.parameters import parameter_name
from tapeflow.analysis.region_names import UniqueNames
from tapeflow.transforms.gradient_signature import (
    NAME,
    SHARED,
    append_argument,
    argument_attributes,
    name_results,
    result_attributes,
    text_of,
)


class TangentSignature:
    """Extends `function`, a copy of the primal, by tangents.

    Attributes:
        tangents: the tangent of each active argument; of an array its tangent array.
    """

    def __init__(self, function: func.FuncOp, request: Request):
        returned = function.get_return_op()
        assert returned is not None
        self._function = function
        self._arguments = argument_attributes(function)
        self._results = result_attributes(function)
        self._names = UniqueNames(parameter_name(argument) for argument in function.args)
        name_results(returned.operands, self._results)
        marked = zip(function.args, request.arguments, strict=True)
        scalars = [argument for argument, active in marked if active and is_float(argument)]
        self._active = [position for position, active in enumerate(request.results) if active]
        tangents: dict[SSAValue, BlockArgument] = {}
        for argument in (*scalars, *shadowed_arguments(function, request)):
            name = self._names.of(f"{parameter_name(argument)}_d")
            tangents[argument] = append_argument(function, argument, name)
            primal = self._arguments[argument.index]
            kept = {key: primal[key] for key in SHARED if key in primal}
            self._arguments.append({NAME: StringAttr(name), **kept})
        self.tangents: Mapping[SSAValue, BlockArgument] = tangents

    @property
    def active_results(self) -> Sequence[SSAValue]:
        """What the function returns a tangent of, as it is returned now."""
        returned = self._function.get_return_op()
        assert returned is not None
        return [returned.operands[position] for position in self._active]

    def finish(self, tangents: Sequence[SSAValue]) -> None:
        """Return `tangents`, those of `active_results`, behind the primal results, and set the function's type."""
        function = self._function
        returned = function.get_return_op()
        assert returned is not None
        for position in self._active:
            of = text_of(self._results[position][NAME])
            name = StringAttr(self._names.of(f"{of}_d"))
            self._results.append({NAME: name, "tapeflow.tangent_of": StringAttr(of)})
        returned.operands = [*returned.operands, *tangents]
        function.function_type = FunctionType.from_lists(
            [argument.type for argument in function.args], [value.type for value in returned.operands]
        )
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, self._arguments))
        function.properties["res_attrs"] = ArrayAttr(map(DictionaryAttr, self._results))
