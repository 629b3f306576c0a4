"""What is said of the parameters of a function: names, extents and roles, as attributes of its arguments."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, BlockArgument

from tapeflow.analysis.source_names import source_name


def attributes_of(argument: BlockArgument) -> Mapping[str, Attribute]:
    """The attributes of an argument, `tapeflow.name` and the like; empty for one of a block inside of a function."""
    function = argument.block.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return {}
    return function.arg_attrs.data[argument.index].data


def parameter_name(argument: BlockArgument) -> str:
    """What the source calls a function's argument, or its position as a name."""
    name = attributes_of(argument).get("tapeflow.name")
    return name.data if isinstance(name, StringAttr) else source_name(argument) or f"arg{argument.index}"
