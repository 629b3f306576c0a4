"""Arrays of a function's own: their memory, their initial values in braces, `memset` and `memcpy`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

from xdsl.dialects import memref, scf
from xdsl.ir import Block, SSAValue

from tapeflow.frontend import c_effects
from tapeflow.frontend.c_bindings import Array, Place, Pointer
from tapeflow.frontend.c_builder import INDEX, Index, IRBuilder, Value
from tapeflow.frontend.c_constants import integer, number
from tapeflow.frontend.c_expressions import Expressions
from tapeflow.frontend.c_pointers import Pointers
from tapeflow.frontend.c_refusals import unsupported_type
from tapeflow.frontend.c_signatures import array_levels, match_sizes
from tapeflow.frontend.c_types import ArrayType, Number, Scalar, scalar_of
from tapeflow.frontend.clang_tree import Node

MOST_ZEROS_STORED = 8
"""The elements without an initial value that are cleared one by one; more are cleared by loops."""


def is_constant_table(declaration: Node) -> bool:
    """Whether a variable can never change: it is `const`, or an array of `const` elements, and has initial values."""
    _, innermost = array_levels(declaration.type)
    return innermost.is_const and declaration.initializer is not None


def declare_array(declaration: Node, expressions: Expressions) -> Array:
    """Memory for the array that `declaration` declares, with the initial values that it has.

    Raises:
        TapeflowError: when the frontend does not take its type, its extents or its initial values.
    """
    build = expressions.build
    levels, innermost = array_levels(declaration.type)
    element = scalar_of(innermost)
    if element is None:
        raise unsupported_type(declaration, f"'{declaration.spelling}'")
    initializer = declaration.initializer
    children = declaration.children if initializer is None else declaration.children[:-1]
    sizes = match_sizes(declaration, levels, tuple(child for child in children if child.kind != "TYPE_REF"))
    if None in sizes:
        raise declaration.error(
            f"an extent of '{declaration.spelling}' is hidden in a typedef, which is not supported",
            "write all extents here",
        )
    dynamic = [build.index_ssa(expressions.index(size), size) for size in sizes if isinstance(size, Node)]
    extents = tuple(size if isinstance(size, int) else None for size in sizes)
    array_type = ArrayType(element, extents, innermost.is_const)
    alloca = memref.AllocaOp.get(element.ir, shape=array_type.ir.get_shape(), dynamic_sizes=dynamic)
    array = Array(array_type, build.compute(alloca, declaration, declaration.spelling))
    if initializer is not None:
        _initialize(array, initializer, expressions)
    return array


def _initialize(array: Array, initializer: Node, expressions: Expressions) -> None:
    build, element = expressions.build, array.type.element
    extents = [extent for extent in array.type.extents if extent is not None]
    if initializer.kind != "INIT_LIST_EXPR":
        raise initializer.error(
            "this initial value of an array is not supported", "list the elements in braces: '{1.0, 2.0}'"
        )
    given = list(_given(extents, deque(initializer.children), ()))
    if len(given) + MOST_ZEROS_STORED < prod(extents):
        zero = build.ssa(Value(element, _zero(element)), initializer)

        def clear(indices: Sequence[SSAValue]) -> None:
            build.add(memref.StoreOp.get(zero, array.memory, indices), initializer)

        loop_nest(build, extents, clear, initializer)
        given = [(indices, value) for indices, value in given if number(value) != 0]
    else:
        have = {indices for indices, _ in given}
        for indices in product(*map(range, extents)):
            if indices not in have:
                _store(array, indices, Value(element, _zero(element)), initializer, build)
    for indices, value in given:
        _store(array, indices, expressions.value_as(value, element), value, build)


def _zero(element: Scalar) -> Number:
    return 0.0 if element.is_float else 0


def _store(array: Array, indices: Sequence[int], value: Value, node: Node, build: IRBuilder) -> None:
    at = [build.index_ssa(index, node) for index in indices]
    build.add(memref.StoreOp.get(build.ssa(value, node), array.memory, at), node)


def _given(
    extents: Sequence[int], values: deque[Node], outer: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Node]]:
    """The elements that a list in braces gives, with their indices; inner braces may be left out, as in C."""
    extent, *inner = extents
    for index in range(extent):
        if not values:
            return
        value = values[0]
        if value.type.kind == "VOID":
            raise value.error("designated initial values are not supported", "list the elements in order")
        if value.kind == "INIT_LIST_EXPR":
            values.popleft()
            if inner:
                yield from _given(inner, deque(value.children), (*outer, index))
            else:
                yield from (((*outer, index), scalar) for scalar in value.children)
        elif inner:
            yield from _given(inner, values, (*outer, index))
        else:
            yield (*outer, index), values.popleft()


def loop_nest(
    build: IRBuilder, extents: Sequence[Index], body: Callable[[Sequence[SSAValue]], None], node: Node
) -> None:
    """Loops over all the indices of an array of the given extents, with what `body` makes of them inside."""

    def nest(remaining: Sequence[Index], indices: Sequence[SSAValue]) -> None:
        if not remaining:
            body(indices)
            return
        extent, *inner = remaining
        lower, upper, step = (build.index_ssa(bound, node) for bound in (0, extent, 1))
        block = Block(arg_types=[INDEX])
        (variable,) = block.args
        variable.location = node.location
        variable.name_hint = "k"
        with build.inside(block, node):
            nest(inner, [*indices, variable])
            build.add(scf.YieldOp(), node)
        build.add(scf.ForOp(lower, upper, step, [], block), node)

    nest(extents, [])


def clear_or_copy(call: Node, expressions: Expressions) -> bool:
    """Make the loops of `memset(x, 0, n * sizeof(double))` or `memcpy(x, y, n * sizeof(double))`.

    Returns:
        Whether `call` is one of these.

    Raises:
        TapeflowError: when it is, but not of whole arrays, or not with zero.
    """
    function = c_effects.callee(call)
    if function is None or function.is_definition or function.spelling not in ("memset", "memcpy"):
        return False
    target, source, size = c_effects.arguments(call)
    build, pointers = expressions.build, expressions.pointers
    cleared = _cleared(target, expressions)
    element = cleared.array.type.element
    counts = _counts(cleared, size, expressions)
    if function.spelling == "memset":
        if integer(source) != 0:
            raise source.error("memset with anything but 0 is not supported", "set the elements in a loop")
        zero = build.ssa(Value(element, _zero(element)), call)

        def make(indices: Sequence[SSAValue]) -> None:
            place = _element(cleared, indices, pointers, call)
            build.add(memref.StoreOp.get(zero, place.memory, place.indices), call)

    else:
        original = _cleared(source, expressions)
        if original.array.type.element != element or _differ(original, cleared):
            raise call.error(
                "memcpy between arrays of different shapes or elements is not supported", "copy the elements in loops"
            )

        def make(indices: Sequence[SSAValue]) -> None:
            value = expressions.load(_element(original, indices, pointers, call), call)
            place = _element(cleared, indices, pointers, call)
            build.add(memref.StoreOp.get(build.ssa(value, call), place.memory, place.indices), call)

    loop_nest(build, counts, make, call)
    return True


def _cleared(node: Node, expressions: Expressions) -> Pointer:
    """What is cleared or copied: an array, or where in an array that begins."""
    inner = node.stripped
    pointer = expressions.pointers.value(inner)
    array = pointer.array.type
    if pointer.is_whole or pointer.flat or len(pointer.row) + 1 == array.rank:
        return pointer
    raise node.error("this is neither an array nor an element of one", "clear or copy a part of an array in a loop")


def _differ(left: Pointer, right: Pointer) -> bool:
    """Whether two pointers go over their elements in different ways."""
    shapes = [pointer.array.type.extents if pointer.is_whole else (None,) for pointer in (left, right)]
    return len(shapes[0]) != len(shapes[1]) or (len(shapes[0]) > 1 and shapes[0] != shapes[1])


def _element(pointer: Pointer, indices: Sequence[SSAValue], pointers: Pointers, node: Node) -> Place:
    array = pointer.array
    if pointer.is_whole:
        return Place(array.type.element, array.memory, indices)
    return pointers.at(pointer, indices[0], node)


def _counts(cleared: Pointer, size: Node, expressions: Expressions) -> Sequence[Index]:
    """How far loops go in each dimension to cover `size` bytes from where `cleared` points."""
    array = cleared.array
    elements = _elements(size, array.type.element.bytes, expressions)
    if elements is None:
        raise size.error(
            "this number of bytes is not a multiple of the element's size that is recognized",
            f"write it as 'n * sizeof({array.type.element.name})'",
        )
    if array.type.rank == 1 or not cleared.is_whole:
        return [elements]
    extents = [extent for extent in array.type.extents if extent is not None]
    if len(extents) < array.type.rank or prod(extents) != elements:
        raise size.error(
            "clearing or copying an array of several dimensions is only supported as a whole, with constant extents",
            "do it in loops",
        )
    return extents


def _elements(size: Node, element_bytes: int, expressions: Expressions) -> Index | None:
    """The number of elements in `size` bytes; None if `size` is no product with a multiple of the element's size."""
    if (known := integer(size)) is not None:
        return known // element_bytes if known % element_bytes == 0 else None
    inner = size.stripped
    if inner.kind != "BINARY_OPERATOR" or inner.operator != "*":
        return None
    left, right = inner.children
    for factor, other in ((right, left), (left, right)):
        if (count := _elements(factor, element_bytes, expressions)) is not None:
            return expressions.build.index_binary("*", expressions.index(other), count, True, size)
    return None
