"""The meaning of `scf`. `scf.parallel` runs its iterations in order, and combines in that order."""

from __future__ import annotations

from itertools import product

from xdsl.dialects import scf
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters.interpreter import Functions

Leaves = tuple[TerminatorValue, PythonValues]


def iterations(lower: int, upper: int, step: int) -> range:
    """The values of a counted loop's variable.

    Raises:
        InterpretationError: when `step` is not positive.
    """
    if step <= 0:
        raise InterpretationError(f"the step of a loop is {step}, but it must be positive")
    return range(lower, upper, step)


@register_impls
class ScfFunctions(Functions):
    """Loops and branches."""

    @impl(scf.ForOp)
    def run_for(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        """Run the body for each value; it yields what the next iteration starts from."""
        lower, upper, step, *carried = args
        values: PythonValues = tuple(carried)
        body = op.regions[0]
        for index in iterations(lower, upper, step):
            values = interpreter.run_ssacfg_region(body, (index, *values))
        return values

    @impl(scf.IfOp)
    def run_if(self, interpreter: Interpreter, op: scf.IfOp, args: PythonValues) -> PythonValues:
        """One of the arms; an absent one does nothing."""
        return interpreter.run_ssacfg_region(op.regions[0 if args[0] else 1], ())

    @impl(scf.WhileOp)
    def run_while(self, interpreter: Interpreter, op: scf.WhileOp, args: PythonValues) -> PythonValues:
        """Run the condition's region, then the body, until the condition is false."""
        values = args
        before, after = op.regions
        while True:
            condition, *forwarded = interpreter.run_ssacfg_region(before, values)
            if not condition:
                return tuple(forwarded)
            values = interpreter.run_ssacfg_region(after, tuple(forwarded))

    @impl(scf.IndexSwitchOp)
    def run_index_switch(self, interpreter: Interpreter, op: scf.IndexSwitchOp, args: PythonValues) -> PythonValues:
        """The region of the case that equals the index, or the default's, which comes first."""
        cases = op.cases.get_values()
        chosen = cases.index(args[0]) + 1 if args[0] in cases else 0
        return interpreter.run_ssacfg_region(op.regions[chosen], ())

    @impl(scf.ExecuteRegionOp)
    def run_execute_region(self, interpreter: Interpreter, op: scf.ExecuteRegionOp, args: PythonValues) -> PythonValues:
        """Its region."""
        return interpreter.run_ssacfg_region(op.regions[0], ())

    @impl(scf.ParallelOp)
    def run_parallel(self, interpreter: Interpreter, op: scf.ParallelOp, args: PythonValues) -> PythonValues:
        """Run the body for each point, the last dimension fastest, and combine what it reduces with what there is."""
        rank = len(op.lowerBound)
        lower, upper, step = (args[k * rank : (k + 1) * rank] for k in range(3))
        combined = args[3 * rank :]
        reductions = _reductions(op)
        for point in product(*map(iterations, lower, upper, step)):
            values = interpreter.run_ssacfg_region(op.regions[0], point)
            combined = tuple(
                interpreter.run_ssacfg_region(reduction, (so_far, value))[0]
                for reduction, so_far, value in zip(reductions, combined, values, strict=True)
            )
        return combined

    @impl_terminator(scf.ReduceOp)
    def run_reduce(self, interpreter: Interpreter, op: scf.ReduceOp, args: PythonValues) -> Leaves:
        """Hand the values of this iteration to the loop."""
        return ReturnedValues(args), ()

    @impl_terminator(scf.ReduceReturnOp)
    def run_reduce_return(self, interpreter: Interpreter, op: scf.ReduceReturnOp, args: PythonValues) -> Leaves:
        """The combined value."""
        return ReturnedValues(args), ()

    @impl_terminator(scf.YieldOp)
    def run_yield(self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues) -> Leaves:
        """Hand values to the enclosing operation."""
        return ReturnedValues(args), ()

    @impl_terminator(scf.ConditionOp)
    def run_condition(self, interpreter: Interpreter, op: scf.ConditionOp, args: PythonValues) -> Leaves:
        """Hand the condition and the forwarded values to the loop."""
        return ReturnedValues(args), ()


def _reductions(op: scf.ParallelOp):
    terminator = op.body.block.last_op
    assert isinstance(terminator, Operation)
    return terminator.regions
