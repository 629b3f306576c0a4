"""The meaning of `ad`: adding to a shadow. Requests have none; `ad-differentiate` replaces them by functions."""

from __future__ import annotations

from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from tapeflow.dialects.ad import AccumulateOp
from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.memref import load, store
from tapeflow.interpreters.values import round_to


@register_impls
class AdFunctions(Functions):
    """Adjoint accumulation."""

    @impl(AccumulateOp)
    def run_accumulate(self, interpreter: Interpreter, op: AccumulateOp, args: PythonValues) -> PythonValues:
        """Add to an element, rounding to its type."""
        value, shadow, *indices = args
        store(shadow, indices, round_to(load(shadow, indices) + value, op.operands[0].type))
        return ()
