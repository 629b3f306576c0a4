"""The meaning of `func` and `cf`: calls, returns and branches between blocks."""

from __future__ import annotations

from xdsl.dialects import cf, func
from xdsl.dialects.builtin import Float32Type
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    Successor,
    TerminatorValue,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError

from tapeflow.analysis.library_functions import POLYGAMMA, library_function
from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.libm import libm
from tapeflow.interpreters.polygamma import polygamma
from tapeflow.interpreters.values import round_to

Leaves = tuple[TerminatorValue, PythonValues]


@register_impls
class FuncFunctions(Functions):
    """Functions of the module; arrays and handles are passed by reference."""

    @impl_callable(func.FuncOp)
    def call_function(self, interpreter: Interpreter, op: func.FuncOp, args: PythonValues) -> PythonValues:
        """Run the body in a frame of its own."""
        if op.is_declaration:
            raise InterpretationError(f"@{op.sym_name.data} has no body")
        return interpreter.run_ssacfg_region(op.body, args, op.sym_name.data)

    @impl(func.CallOp)
    def run_call(self, interpreter: Interpreter, op: func.CallOp, args: PythonValues) -> PythonValues:
        """Call the function of that name: the library's, or the module's."""
        if (name := library_function(op)) is not None:
            scalar = op.results[0].type
            if name == POLYGAMMA:
                return (round_to(polygamma(args[0], args[1]), scalar),)
            return (round_to(libm(name, len(args), single=isinstance(scalar, Float32Type))(*args), scalar),)
        return interpreter.call_op(op.callee, args)

    @impl_terminator(func.ReturnOp)
    def run_return(self, interpreter: Interpreter, op: func.ReturnOp, args: PythonValues) -> Leaves:
        """Hand values to the caller."""
        return ReturnedValues(args), ()


@register_impls
class CfFunctions(Functions):
    """Branches between the blocks of a region."""

    @impl_terminator(cf.BranchOp)
    def run_branch(self, interpreter: Interpreter, op: cf.BranchOp, args: PythonValues) -> Leaves:
        """Go on in another block."""
        return Successor(op.successor, args), ()

    @impl_terminator(cf.ConditionalBranchOp)
    def run_conditional_branch(
        self, interpreter: Interpreter, op: cf.ConditionalBranchOp, args: PythonValues
    ) -> Leaves:
        """Go on in one of two blocks."""
        if args[0]:
            return Successor(op.then_block, interpreter.get_values(op.then_arguments)), ()
        return Successor(op.else_block, interpreter.get_values(op.else_arguments)), ()

    @impl(cf.AssertOp)
    def run_assert(self, interpreter: Interpreter, op: cf.AssertOp, args: PythonValues) -> PythonValues:
        """Refuse to go on when the condition is false."""
        if not args[0]:
            raise InterpretationError(op.msg.data)
        return ()
