"""Which functional unit an operation of the core IR needs, and which row of functional-units.csv it is."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IndexType
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.library_functions import library_function
from tapeflow.errors import TapeflowError

_FREE_NAMES = """
    arith.constant arith.bitcast arith.index_cast arith.trunci arith.extsi arith.extui memref.alloca
    memref.alloc memref.dealloc memref.cast memref.subview memref.dim memref.reinterpret_cast memref.memory_space_cast
    scf.yield scf.for scf.if scf.condition func.return func.call spad.alloc spad.layer spad.yield spad.dma_start
    spad.dma_wait tape.create stream.create stream.push stream.prefetch stream.pop stream.close
"""

FREE = frozenset(_FREE_NAMES.split())
"""No operation of the datapath: constants, changes of view, control, and what the DMA engine does."""

_UNITS = {
    "fp_add": """arith.addf arith.subf arith.cmpf arith.minimumf arith.maximumf arith.minnumf arith.maxnumf arith.sitofp
        arith.uitofp arith.fptosi arith.fptoui arith.extf arith.truncf math.ceil math.floor math.round math.roundeven
        math.trunc""",
    "fp_mul": "arith.mulf",
    "fp_div": "arith.divf arith.divsi arith.divui arith.floordivsi arith.ceildivsi arith.ceildivui arith.remsi "
    "arith.remui arith.remf",
    "fp_sqrt": "math.sqrt",
    "fp_fma": "math.fma",
    "transcendental": """math.acos math.acosh math.asin math.asinh math.atan math.atan2 math.atanh math.cbrt math.cos
        math.cosh math.erf math.exp math.exp2 math.expm1 math.fpowi math.ipowi math.log math.log10 math.log1p math.log2
        math.powf math.rsqrt math.sin math.sinh math.tan math.tanh""",
    "int_add": """arith.addi arith.subi arith.cmpi arith.select arith.andi arith.ori arith.xori arith.shli arith.shrsi
        arith.shrui arith.minsi arith.maxsi arith.minui arith.maxui arith.negf math.absf math.absi math.copysign
        math.ctlz math.cttz math.ctpop""",
    "int_mul": "arith.muli",
}

_UNIT_OF = {operation: unit for unit, operations in _UNITS.items() for operation in operations.split()}

_ROWS = {
    "fp_sqrt": {32: "fp_sqrt64", 64: "fp_sqrt64"},
    "fp_fma": {32: "fp_fma64", 64: "fp_fma64"},
    "transcendental": {32: "transcendental64", 64: "transcendental64"},
}
"""Where the table has one row for both widths."""


def unit_of(operation: Operation) -> str | None:
    """The kind of unit `operation` needs, a field of `FunctionalUnits`; None if it needs none.

    Multiplications of subscripts are strength-reduced, so index arithmetic is all done by integer adders; integer
    division is done by the floating-point divider.

    Raises:
        TapeflowError: it is not known.
    """
    if library_function(operation) is not None:
        return "transcendental"
    if operation.name in FREE:
        return None
    if operation.name not in _UNIT_OF:
        raise TapeflowError(
            f"the hardware model knows no functional unit for '{operation.name}'", location=operation.location
        )
    unit = _UNIT_OF[operation.name]
    if unit == "int_mul" and isinstance(operation.results[0].type, IndexType):
        return "int_add"
    return unit


def row_of(unit: str, operation: Operation) -> str:
    """The row of functional-units.csv for `operation` on a unit of kind `unit`."""
    if unit in ("int_add", "int_mul"):
        return f"{unit}32"
    width = _width(operation)
    return _ROWS[unit][width] if unit in _ROWS else f"{unit}{width}"


def float_row(unit: str, value: SSAValue) -> str:
    """The row for an operation of kind `unit` on `value`."""
    return f"{unit}{_bits(value)}"


def _width(operation: Operation) -> int:
    return max((_bits(value) for value in (*operation.operands, *operation.results)), default=32)


def _bits(value: SSAValue) -> int:
    return 64 if isinstance(value.type, AnyFloat) and value.type.bitwidth > 32 else 32
