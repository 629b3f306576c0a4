"""Arrays and structs of a function's own: their memory, their initial values, `memset` and `memcpy`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects import memref, scf
from xdsl.ir import Block, SSAValue

from tapeflow.analysis.array_extents import extent_key
from tapeflow.frontend import c_effects
from tapeflow.frontend.c_bindings import Array, Place, Pointer, RecordArray
from tapeflow.frontend.c_builder import INDEX, Index, IRBuilder, Value
from tapeflow.frontend.c_constants import integer, number
from tapeflow.frontend.c_initializers import InitialValue, initial_values
from tapeflow.frontend.c_records import Record, RecordArrayType, element_type
from tapeflow.frontend.c_refusals import unsupported_type
from tapeflow.frontend.c_signatures import array_levels, match_sizes, written_sizes
from tapeflow.frontend.c_types import ArrayType, Number, Scalar
from tapeflow.frontend.clang_tree import Node

if TYPE_CHECKING:
    from tapeflow.frontend.c_expressions import Expressions
    from tapeflow.frontend.c_pointers import Pointers

MOST_ZEROS_STORED = 8
"""The elements without an initial value that are cleared one by one; more are cleared by loops."""


def is_constant_table(declaration: Node) -> bool:
    """Whether a variable can never change: it is `const`, or an array of `const` elements, and has initial values."""
    _, innermost = array_levels(declaration.type)
    return innermost.is_const and declaration.initializer is not None


def declare_array(declaration: Node, expressions: Expressions) -> Array | RecordArray:
    """Memory for the array or struct that `declaration` declares, with the initial values that it has.

    Raises:
        TapeflowError: when the frontend does not take its type, its extents or its initial values.
    """
    build = expressions.build
    levels, innermost = array_levels(declaration.type)
    element = element_type(innermost, declaration, f"'{declaration.spelling}'")
    if element is None:
        raise unsupported_type(declaration, f"'{declaration.spelling}'")
    initializer = declaration.initializer
    sizes = match_sizes(declaration, levels, written_sizes(declaration))
    if None in sizes:
        raise declaration.error(
            f"an extent of '{declaration.spelling}' is hidden in a typedef, which is not supported",
            "write all extents here",
        )
    dynamic = [build.index_ssa(expressions.index(size), size) for size in sizes if isinstance(size, Node)]
    extents = tuple(size if isinstance(size, int) else None for size in sizes)
    if isinstance(element, Record):
        array_type = RecordArrayType(element, extents, innermost.is_const)
        array = expressions.records.allocated(array_type, dynamic, declaration, declaration.spelling)
    else:
        array_type = ArrayType(element, extents, innermost.is_const)
        alloca = memref.AllocaOp.get(element.ir, shape=array_type.ir.get_shape(), dynamic_sizes=dynamic)
        array = Array(array_type, build.compute(alloca, declaration, declaration.spelling))
    if initializer is not None:
        initialize(array, initializer, expressions)
    return array


def initialize(array: Array | RecordArray, initializer: Node, expressions: Expressions) -> None:
    """Give an array or struct its initial values.

    Raises:
        TapeflowError: when the frontend does not take them.
    """
    extents = [extent for extent in array.type.extents if extent is not None]
    if initializer.kind != "INIT_LIST_EXPR":
        if isinstance(array, RecordArray) and not extents:
            expressions.records.copy(Pointer(array), expressions.records.place(initializer), initializer)
            return
        raise initializer.error(
            "this initial value of an array is not supported", "list the elements in braces: '{1.0, 2.0}'"
        )
    given = initial_values(array.type.element, extents, initializer)
    cleared: set[tuple[str, ...]] = set()
    for names, numbers in _numbers_of(array):
        if _clear(numbers, _given_to(names, given), initializer, expressions.build):
            cleared.add(names)
    for value in given:
        if value.names not in cleared or value.value is None or number(value.value) != 0:
            _store_initial(array, value, expressions)


def _numbers_of(array: Array | RecordArray) -> Iterator[tuple[tuple[str, ...], Array]]:
    """The arrays of numbers that hold an array or struct, each with the names of the members that lead to it."""
    if isinstance(array, Array):
        yield (), array
        return
    for leaf in array.type.record.leaves:
        yield leaf.path, array.numbers(leaf.path)


def _given_to(names: tuple[str, ...], given: Sequence[InitialValue]) -> frozenset[tuple[int, ...]]:
    """The indices, or the first of them, of those numbers called `names` that have an initial value."""
    return frozenset(value.indices for value in given if names[: len(value.names)] == value.names)


def _clear(array: Array, given: frozenset[tuple[int, ...]], node: Node, build: IRBuilder) -> bool:
    """Set to zero what no value is given to: one by one, or by loops over all; whether by loops."""
    extents = [extent for extent in array.type.extents if extent is not None]
    zero = Value(array.type.element, _zero(array.type.element))
    if len(given) + MOST_ZEROS_STORED < prod(extents) and () not in given:
        constant = build.ssa(zero, node)

        def clear(indices: Sequence[SSAValue]) -> None:
            build.add(memref.StoreOp.get(constant, array.memory, indices), node)

        loop_nest(build, extents, clear, node)
        return True
    for indices in product(*map(range, extents)):
        if not any(indices[:length] in given for length in range(len(indices) + 1)):
            _store(array, indices, zero, node, build)
    return False


def _store_initial(array: Array | RecordArray, initial: InitialValue, expressions: Expressions) -> None:
    found: Array | RecordArray = array
    for name in initial.names:
        assert isinstance(found, RecordArray)
        found = found.member(name)
    value, node = initial.value, initial.node
    if isinstance(found, Array):
        element = found.type.element
        known = Value(element, _zero(element)) if value is None else expressions.value_as(value, element)
        _store(found, initial.indices, known, node, expressions.build)
        return
    assert value is not None  # empty braces say what all of its members are
    source = expressions.records.place(value)
    target = Pointer(found, initial.indices[:-1], initial.indices[-1]) if initial.indices else Pointer(found)
    expressions.records.copy(target, source, node)


def _zero(element: Scalar) -> Number:
    return 0 if element.is_integer else 0.0


def _store(array: Array, indices: Sequence[int], value: Value, node: Node, build: IRBuilder) -> None:
    at = [build.index_ssa(index, node) for index in indices]
    build.add(memref.StoreOp.get(build.ssa(value, node), array.memory, at), node)


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
    if c_effects.callee_name(call) not in ("memset", "memcpy"):
        return False
    target, source, size = c_effects.arguments(call)
    build, pointers = expressions.build, expressions.pointers
    cleared = _cleared(target, expressions)
    if isinstance(cleared.array, RecordArray):
        _clear_or_copy_structs(call, cleared, expressions)
        return True
    element, is_copy = cleared.array.type.element, c_effects.callee_name(call) == "memcpy"
    original = _cleared(source, expressions) if is_copy else cleared
    if original.array.type.element != element or (is_copy and 0 in (original.array.type.rank, cleared.array.type.rank)):
        raise call.error(
            "memcpy between different types, or of single variables, is not supported", "assign the elements one by one"
        )
    if not is_copy and integer(source) != 0:
        raise source.error("memset with anything but 0 is not supported", "set the elements in a loop")
    counts = _counts(original, cleared, size, expressions)
    if len(counts) == 1:
        original, cleared = [_in_sequence(each, pointers, call) for each in (original, cleared)]

    def make(indices: Sequence[SSAValue]) -> None:
        value = Value(element, _zero(element))
        if is_copy:
            value = expressions.load(_element(original, indices, pointers, call), call)
        place = _element(cleared, indices, pointers, call)
        build.add(memref.StoreOp.get(build.ssa(value, call), place.memory, place.indices), call)

    loop_nest(build, counts, make, call)
    return True


def _clear_or_copy_structs(call: Node, target: Pointer, expressions: Expressions) -> None:
    """`memset(&s, 0, sizeof(s))`, or `memcpy(ps, qs, n * sizeof(struct P))`: all members, struct by struct."""
    _, source, size = c_effects.arguments(call)
    array, records, pointers, build = target.array, expressions.records, expressions.pointers, expressions.build
    assert isinstance(array, RecordArray)
    record = array.type.record
    count = _elements(size, record.bytes, expressions)
    if count is None or len(target.subscripts) != array.type.rank or (array.type.rank == 0 and count != 1):
        raise size.error(
            "this number of bytes is not a multiple of the struct's size that is recognized",
            f"write it as 'n * sizeof({record.name})'",
        )
    original: Pointer | None = None
    if c_effects.callee_name(call) == "memcpy":
        original = _cleared(source, expressions)
        if not isinstance(original.array, RecordArray) or original.array.type.record != record:
            raise call.error("memcpy between different types is not supported", "copy the members one by one")
    elif integer(source) != 0:
        raise source.error("memset with anything but 0 is not supported", "set the members one by one")

    def make(index: Sequence[Index]) -> None:
        struct = pointers.moved(target, index[0], call)
        if original is not None:
            records.copy(struct, pointers.moved(original, index[0], call), call)
            return
        records.clear(struct, call)

    if count == 1:
        make([0])
    else:
        loop_nest(build, [count], make, call)


def _cleared(node: Node, expressions: Expressions) -> Pointer:
    """What is cleared or copied: an array, or where in an array that begins."""
    inner = node.stripped
    pointer = expressions.pointers.stored(expressions.pointers.value(inner), node)
    array = pointer.array.type
    if pointer.is_whole or array.rank == 0 or pointer.flat or len(pointer.row) + 1 == array.rank:
        return pointer
    raise node.error("this is neither an array nor an element of one", "clear or copy a part of an array in a loop")


def _in_sequence(pointer: Pointer, pointers: Pointers, node: Node) -> Pointer:
    """`pointer`, if at a whole array, as one that goes over its elements in the order of memory."""
    return pointers.flattened(pointer, node) if pointer.is_whole else pointer


def _element(pointer: Pointer, indices: Sequence[SSAValue], pointers: Pointers, node: Node) -> Place:
    array = pointer.array
    assert isinstance(array, Array)
    if len(indices) != 1:
        return pointers.place(array, indices, node)
    return pointers.at(pointer, indices[0], node)


def _counts(original: Pointer, cleared: Pointer, size: Node, expressions: Expressions) -> Sequence[Index]:
    """How far loops go to cover `size` bytes: in each dimension, if these are all of both, or over all in sequence."""
    array, factors = cleared.array, _factors(size, cleared.array.type.element.bytes, expressions)
    if factors is None:
        raise size.error(
            "this number of bytes is not a multiple of the element's size that is recognized",
            f"write it as 'n * sizeof({array.type.element.name})'",
        )
    if not (cleared.is_whole and original.is_whole):
        return [_product(factors, size, expressions)]
    extents, others = [
        [expressions.pointers.extent(each.array, dimension, size) for dimension in range(each.array.type.rank)]
        for each in (cleared, original)
    ]
    keys = [extent_key(extent) for extent in extents]
    alike = original.array is array or keys == [extent_key(other) for other in others]
    return extents if alike and _is_product(factors, keys) else [_product(factors, size, expressions)]


def _product(factors: Sequence[Index], node: Node, expressions: Expressions) -> Index:
    total: Index = 1
    for factor in factors:
        total = expressions.build.index_binary("*", total, factor, True, node)
    return total


def _elements(size: Node, element_bytes: int, expressions: Expressions) -> Index | None:
    """The number of elements in `size` bytes; None if `size` is no product with a multiple of the element's size."""
    factors = _factors(size, element_bytes, expressions)
    return None if factors is None else _product(factors, size, expressions)


def _factors(size: Node, element_bytes: int, expressions: Expressions) -> list[Index] | None:
    """What the number of elements in `size` bytes is a product of; None as for `_elements`."""
    if (known := integer(size)) is not None:
        return [known // element_bytes] if known % element_bytes == 0 else None
    inner = size.stripped
    if inner.kind == "CXX_UNARY_EXPR":
        return _extents_of(inner, element_bytes, expressions)
    if inner.kind != "BINARY_OPERATOR" or inner.operator != "*":
        return None
    left, right = inner.children
    for factor, other in ((right, left), (left, right)):
        if (factors := _factors(factor, element_bytes, expressions)) is not None:
            return [*_multiplied(other, expressions), *factors]
    return None


def _multiplied(node: Node, expressions: Expressions) -> list[Index]:
    inner = node.stripped
    if inner.kind == "BINARY_OPERATOR" and inner.operator == "*" and integer(inner) is None:
        return [factor for child in inner.children for factor in _multiplied(child, expressions)]
    return [expressions.index(node)]


def _extents_of(size: Node, element_bytes: int, expressions: Expressions) -> list[Index] | None:
    """The extents of `x` in `sizeof x`, an array or a row of one with extents that are known at run time."""
    if len(size.children) != 1 or size.children[0].stripped.type.kind != "VARIABLEARRAY":
        return None
    pointer = expressions.pointers.value(size.children[0].stripped)
    array = pointer.array
    if array.type.element.bytes != element_bytes:
        return None
    dimensions = range(len(pointer.row), array.type.rank)
    return [expressions.pointers.extent(array, dimension, size) for dimension in dimensions]


def _is_product(factors: Sequence[Index], keys: Sequence[int | str | SSAValue]) -> bool:
    """Whether a number of elements is that of an array with extents of these keys: of a product that looks so."""
    known = [extent_key(factor) for factor in factors]
    left = [key for key in known if not isinstance(key, int)]
    for key in keys:
        if not isinstance(key, int):
            if key not in left:
                return False
            left.remove(key)
    counted, wanted = (prod(key for key in each if isinstance(key, int)) for each in (known, keys))
    return not left and counted == wanted
