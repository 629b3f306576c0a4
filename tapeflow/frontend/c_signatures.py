"""Functions as their callers see them: names, types and extents of the parameters, and what is returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapeflow.frontend.c_constants import integer
from tapeflow.frontend.c_effects import body, parameters, variable
from tapeflow.frontend.c_records import ElementType, Record, RecordArrayType, element_type, packed
from tapeflow.frontend.c_refusals import unsupported_type
from tapeflow.frontend.c_types import SUPPORTED_SCALARS, ArrayType, Scalar, scalar_of
from tapeflow.frontend.clang_tree import Node, SourceType

UNKNOWN = ""
"""The extent, in `tapeflow.extents`, of an outermost dimension whose size the source does not say."""

_ARRAYS = frozenset({"CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY"})


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        declaration: in the function's definition.
        name: as in the source.
        type: a scalar, or an array for what C passes as a pointer; a struct is an array of structs without dimensions.
        extents: of an array, one a dimension: a parameter's name, a decimal constant, or `UNKNOWN`.
    """

    declaration: Node
    name: str
    type: Scalar | ArrayType | RecordArrayType
    extents: tuple[str, ...] = ()

    @property
    def is_struct(self) -> bool:
        """Whether it is a struct that is passed by value."""
        return isinstance(self.type, RecordArrayType) and self.type.rank == 0


@dataclass(frozen=True)
class Signature:
    """A function's parameters and result (None for `void`)."""

    parameters: tuple[Parameter, ...]
    result: ElementType | None


def is_array(source_type: SourceType) -> bool:
    """Whether `source_type` is an array, as a variable or parameter declares it."""
    return source_type.kind in _ARRAYS


def is_table(source_type: SourceType) -> bool:
    """Whether a variable of `source_type` has memory of its own for several numbers: an array or a struct."""
    return is_array(source_type) or source_type.kind == "RECORD"


def signature(function: Node) -> Signature:
    """The signature of a function; parameters that a prototype leaves without a name get one.

    Raises:
        TapeflowError: at a parameter that the frontend does not take, or at the function for its result.
    """
    declarations = parameters(function)
    if function.is_definition:
        return signature_of(function, declarations)
    names = [declared.spelling or f"argument{position}" for position, declared in enumerate(declarations, start=1)]
    return signature_of(function, declarations, names)


def signature_of(function: Node, declarations: Sequence[Node], names: Sequence[str] | None = None) -> Signature:
    """The signature that a function has with these `declarations` as its parameters; otherwise as `signature`.

    Args:
        function: its declaration.
        declarations: of the parameters.
        names: that the parameters get; by default those of the declarations, which must have some.
    """
    if function.type.is_variadic:
        raise function.error(
            f"'{function.spelling}' takes a variable number of arguments, which is not supported",
            "declare each parameter",
        )
    result_type = function.type.result
    result = element_type(result_type, function, f"what '{function.spelling}' returns")
    if result is None and result_type.kind != "VOID":
        raise function.error(
            f"'{function.spelling}' returns a value of type '{result_type.spelling}', which is not supported",
            "return a number, or write the result into an array parameter",
        )
    named = zip(declarations, names or [declared.spelling for declared in declarations], strict=True)
    return Signature(tuple(_parameter(declared, name) for declared, name in named), result)


def refuse_returned_struct(function: Node, signature: Signature) -> None:
    """Refuse a function that is called from outside if it returns a struct; those that it calls may.

    Raises:
        TapeflowError: at the function.
    """
    if isinstance(signature.result, Record):
        name = signature.result.name
        raise function.error(
            f"'{function.spelling}' returns a struct, which is only supported for functions that others in the file "
            "call",
            f"return nothing, and write the struct through a parameter: '{name} *result'",
        )


def refuse_complex_members(function: Node, signature: Signature) -> None:
    """Refuse a function that is called from outside, or by a rule, if it takes a struct with complex members.

    Raises:
        TapeflowError: at the parameter.
    """
    for parameter in signature.parameters:
        if not isinstance(parameter.type, RecordArrayType):
            continue
        leaf = next((leaf for leaf in parameter.type.record.leaves if leaf.type.is_complex), None)
        if leaf is not None:
            raise parameter.declaration.error(
                f"the parameter '{parameter.name}' is of type '{parameter.type.record.name}', whose member "
                f"'{'.'.join(leaf.path)}' is complex, which is only supported in structs that the file itself makes",
                "use a member for each part: 'double re, im', and 'CMPLX(p.re, p.im)'",
            )


def refuse_structs(
    function: Node,
    signature: Signature,
    hint: str = "declare it with an array of numbers for each struct: '(double *)ps'",
) -> None:
    """Refuse a function that others compile, or that has a rule, if it takes or returns structs.

    Raises:
        TapeflowError: at the parameter, or at the function.
    """
    structs = [parameter for parameter in signature.parameters if isinstance(parameter.type, RecordArrayType)]
    if structs or isinstance(signature.result, Record):
        node = structs[0].declaration if structs else function
        raise node.error(
            f"'{function.spelling}' takes or returns a struct, which is not supported here",
            hint,
        )


def refuse_complex(function: Node, signature: Signature) -> None:
    """Refuse complex numbers: those that generated code takes and returns are pairs of floats.

    Raises:
        TapeflowError: at the parameter, or at the function.
    """

    def is_complex(type_: object) -> bool:
        scalar = type_.element if isinstance(type_, ArrayType) else type_
        return isinstance(scalar, Scalar) and scalar.is_complex

    parameters = [parameter for parameter in signature.parameters if is_complex(parameter.type)]
    if parameters or is_complex(signature.result):
        node = parameters[0].declaration if parameters else function
        raise node.error(
            f"'{function.spelling}' takes or returns complex numbers, which is not supported here",
            "declare it with their parts: 'double z_re, double z_im', 'double x[n][2]'",
        )


def _parameter(declaration: Node, name: str) -> Parameter:
    if not name:
        raise declaration.error("a parameter without a name is not supported", "give it a name")
    what = f"the parameter '{name}'"
    _refuse_volatile(declaration, declaration.type)
    if (scalar := scalar_of(declaration.type)) is not None:
        return Parameter(declaration, name, scalar)
    if isinstance(record := element_type(declaration.type, declaration, what), Record):
        # By value: the function cannot change what is passed.
        return Parameter(declaration, name, packed(record, (), const=True))
    if declaration.type.kind == "POINTER":
        levels, innermost = array_levels(declaration.type.element)
        levels = (None, *levels)
    elif is_array(declaration.type):
        levels, innermost = array_levels(declaration.type)
    else:
        raise unsupported_type(declaration, what)
    element = element_type(innermost, declaration, what)
    if element is None:
        if innermost.kind == "POINTER":
            raise declaration.error(
                f"{what} is a pointer to pointers, which is not supported",
                f"pass one array with its extents: 'int n, int m, double {name}[n][m]'",
            )
        if innermost.kind in ("VOID", "FUNCTIONPROTO", "FUNCTIONNOPROTO"):
            raise unsupported_type(declaration, what)
        raise declaration.error(
            f"{what} has elements of type '{innermost.spelling}', which is not supported",
            f"the types are {SUPPORTED_SCALARS}",
        )
    _refuse_volatile(declaration, innermost)
    sizes = match_sizes(declaration, levels, written_sizes(declaration))
    extents = tuple(_extent(declaration, size, depth) for depth, size in enumerate(sizes))
    fixed = tuple(int(extent) if extent.isdecimal() else None for extent in extents)
    if isinstance(element, Record):
        return Parameter(declaration, name, packed(element, fixed, innermost.is_const), extents)
    return Parameter(declaration, name, ArrayType(element, fixed, innermost.is_const), extents)


def written_sizes(declaration: Node) -> tuple[Node, ...]:
    """The sizes in brackets that the declaration of an array writes, as clang gives them: innermost first."""
    children = declaration.children if declaration.initializer is None else declaration.children[:-1]
    return tuple(child for child in children if child.kind not in ("TYPE_REF", "STRUCT_DECL", "UNION_DECL"))


def _refuse_volatile(declaration: Node, source_type: SourceType) -> None:
    if source_type.is_volatile:
        raise declaration.error(f"'{declaration.spelling}' is volatile, which is not supported", "leave 'volatile' out")


def array_levels(source_type: SourceType) -> tuple[tuple[int | None, ...], SourceType]:
    """The extents of an array type, outermost first (None where the type alone does not say), and what it holds."""
    levels: list[int | None] = []
    while is_array(source_type):
        levels.append(source_type.extent if source_type.kind == "CONSTANTARRAY" else None)
        source_type = source_type.element
    return tuple(levels), source_type


def match_sizes(
    declaration: Node, levels: Sequence[int | None], written: Sequence[Node]
) -> tuple[int | Node | None, ...]:
    """The size of each dimension: a number, the expression that the source writes, or None where it writes nothing.

    Args:
        declaration: of the array.
        levels: the extents that the type knows, outermost first.
        written: the sizes that the source writes; clang gives the innermost first.
    """
    if all(level is not None for level in levels):
        return tuple(levels)
    inner_first = list(written)
    sizes: list[int | Node | None] = []
    unsized = len(levels) - len(inner_first)
    if unsized not in (0, 1) or (unsized == 1 and levels[0] is not None):
        raise declaration.error(
            f"the extents of '{declaration.spelling}' are hidden in a typedef", "write the array's extents here"
        )
    if unsized:
        sizes.append(None)
    for level, size in zip(levels[unsized:], reversed(inner_first), strict=True):
        known = integer(size) if level is None else level
        if known is not None and known < 0:
            raise size.error(f"this extent of '{declaration.spelling}' is {known}", "an extent cannot be negative")
        sizes.append(size if known is None else known)
    return tuple(sizes)


def _extent(declaration: Node, size: int | Node | None, depth: int) -> str:
    if size is None:
        return UNKNOWN
    if isinstance(size, int):
        return str(size)
    named = variable(size)
    if named is not None and named.kind == "PARM_DECL":
        return named.spelling
    if depth == 0 and (spelled := _spelled(size)) is not None:
        return spelled
    # Taken as unknown, an outermost extent could not be checked against the array that is passed.
    unchecked = f", or leave it out ('{declaration.spelling}[]') if no length is to be checked" if depth == 0 else ""
    raise size.error(
        f"this extent of '{declaration.spelling}' is an expression, which is not supported",
        f"add a parameter for it, before the array, and use its name here{unchecked}",
    )


_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}


def _spelled(size: Node, precedence: int = 0) -> str | None:
    """An extent that is computed from parameters and constants, as text; None if it is anything else.

    Args:
        size: the expression.
        precedence: of the operator around it: a weaker one is put in parentheses.
    """
    if (known := integer(size)) is not None:
        return str(known) if known >= 0 else f"({known})"
    if (named := variable(size)) is not None:
        scalar = scalar_of(named.type)
        is_count = scalar is not None and scalar.is_integer and named.kind == "PARM_DECL"
        return named.spelling if is_count else None
    inner = size.stripped
    own = _PRECEDENCE.get(inner.operator or "") if inner.kind == "BINARY_OPERATOR" else None
    if own is None:
        return None
    left, right = inner.children
    # What is on the right must bind more tightly: `a - (b - c)`.
    texts = _spelled(left, own), _spelled(right, own + 1)
    if None in texts:
        return None
    text = f"{texts[0]} {inner.operator} {texts[1]}"
    return f"({text})" if own < precedence else text


def returned(function: Node) -> Node | None:
    """The `return` that ends the function, None if its last statement is another."""
    statements = body(function).children
    return statements[-1] if statements and statements[-1].kind == "RETURN_STMT" else None
