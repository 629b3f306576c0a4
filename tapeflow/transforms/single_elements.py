"""Arrays of one element become scalar variables: what a C frontend makes of a variable whose address is passed on.

Applies to a local array of one element that is only loaded, stored and freed, also through casts: an access inside its
bounds can only mean that element.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue, Use

from tapeflow.analysis.source_names import set_source_name, source_name


def is_single_element(op: Operation) -> bool:
    """Whether `op` allocates an array of one element whose address goes nowhere."""
    if not isinstance(op, memref.AllocaOp | memref.AllocOp):
        return False
    shape = op.memref.type.get_shape()
    return bool(shape) and all(extent == 1 for extent in shape) and all(map(_is_access, _uses(op.memref)))


def _uses(array: SSAValue) -> Iterator[Use]:
    """The uses of an array and of its casts, the casts themselves left out."""
    for use in array.uses:
        if isinstance(use.operation, memref.CastOp):
            yield from _uses(use.operation.results[0])
        else:
            yield use


def _is_access(use: Use) -> bool:
    match use.operation:
        case memref.LoadOp() | memref.DeallocOp():
            return True
        case memref.StoreOp():
            # Not where the array itself is what is stored.
            return use.index == 1
        case _:
            return False


def single_elements_to_scalars(function: func.FuncOp) -> None:
    """Give the rank 0 to all local arrays of `function` that have one element and are only loaded and stored."""
    for op in list(function.body.walk()):
        if is_single_element(op):
            assert isinstance(op, memref.AllocaOp | memref.AllocOp)
            _to_scalar(op)


def _to_scalar(op: memref.AllocaOp | memref.AllocOp) -> None:
    element = op.memref.type.element_type
    scalar = memref.AllocaOp.get(element, shape=[])
    scalar.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(scalar, op)
    if (name := source_name(op.memref)) is not None:
        set_source_name(scalar.memref, name)
    casts: list[Operation] = []
    _redirect(op.memref, scalar.memref, casts)
    for dead in (*reversed(casts), op):
        dead.detach()
        dead.erase()


def _redirect(array: SSAValue, scalar: SSAValue[MemRefType], casts: list[Operation]) -> None:
    """Let the accesses to `array` and its casts be to `scalar`; notes the casts, outermost last."""
    for use in list(array.uses):
        access = use.operation
        if isinstance(access, memref.CastOp):
            casts.append(access)
            _redirect(access.results[0], scalar, casts)
            continue
        block = access.parent
        assert block is not None
        if isinstance(access, memref.LoadOp):
            load = memref.LoadOp.get(scalar, [])
            load.location = access.location
            block.insert_op_before(load, access)
            load.res.name_hint = access.res.name_hint
            access.res.replace_all_uses_with(load.res)
        elif isinstance(access, memref.StoreOp):
            store = memref.StoreOp.get(access.value, scalar, [])
            store.location = access.location
            block.insert_op_before(store, access)
        access.detach()
        access.erase()
