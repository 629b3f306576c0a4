"""The functions of C's library that have no operation in the IR: calls of private declarations, by their C names.

```mlir
func.func private @hypot(f64, f64) -> f64
%r = func.call @hypot(%x, %y) : (f64, f64) -> f64
```

Such a call is pure, as an operation of `math` is: it may be merged with its like, moved and repeated. The version on
`float` has an `f` behind its name. Their derivatives are rows of `derivative_rules`, which use one function more that
C's library lacks: `tf_polygamma(n, x)`, the derivative of order n of the digamma function, in the runtime header.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import Float32Type, FunctionType, ModuleOp, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

POLYGAMMA = "tf_polygamma"
"""The runtime's name of the derivatives of the digamma function."""

ARITIES: Mapping[str, int] = {
    "erfc": 1,
    "fdim": 2,
    "fmod": 2,
    "hypot": 2,
    "lgamma": 1,
    "remainder": 2,
    "tgamma": 1,
    POLYGAMMA: 2,
}
"""The functions by the names of their versions on `double`, and how many floats they take."""


def library_call(name: str, *operands: SSAValue) -> func.CallOp:
    """A call of the function `name`, a key of `ARITIES`, on operands that are all f64 or all f32."""
    type_ = operands[0].type
    return func.CallOp(name + "f" if isinstance(type_, Float32Type) else name, operands, [type_])


def library_function(op: Operation) -> str | None:
    """The key of `ARITIES` that `op` is a call of; None if it is something else."""
    if not isinstance(op, func.CallOp) or len(op.results) != 1:
        return None
    type_: Attribute = op.results[0].type
    called = op.callee.string_value()
    name = called.removesuffix("f") if type_ == f32 else called if type_ == f64 else ""
    if ARITIES.get(name) != len(op.operands) or (type_ == f32 and not called.endswith("f")):
        return None
    return name if all(operand.type == type_ for operand in op.operands) else None


def declare_library_functions(module: ModuleOp) -> None:
    """Declare at the end of `module` the library functions that its functions call and that are not there yet."""
    known = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    for op in list(module.walk()):
        if isinstance(op, func.CallOp) and library_function(op) is not None:
            name = op.callee.string_value()
            if name not in known:
                known.add(name)
                type_ = FunctionType.from_lists(list(op.operand_types), list(op.result_types))
                declaration = func.FuncOp.external(name, type_.inputs.data, type_.outputs.data)
                declaration.location = op.location
                module.body.block.add_op(declaration)
