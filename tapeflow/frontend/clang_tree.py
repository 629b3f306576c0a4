"""clang's syntax tree of a C file, typed. The only file that touches libclang.

libclang hands out cursors; a `Node` is a cursor with the few questions that the frontend asks of it. The headers are
always our own (`frontend/include`) and the target is always x86-64 Linux, so what a file means does not depend on the
machine: `int` has 32 bits, `long`, `size_t` and `ptrdiff_t` have 64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ctypes import byref, c_double, c_int, c_longlong, c_uint, c_ulonglong, c_void_p
from ctypes import cast as cast_pointer
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr

from tapeflow.errors import TapeflowError

INCLUDE = Path(__file__).parent / "include"

# What clang only warns of and C leaves undefined, or what would be imported as something else than was meant.
_WARNINGS_REFUSED = (
    "array-bounds",
    "division-by-zero",
    "implicit-function-declaration",
    "implicit-int",
    "incompatible-function-pointer-types",
    "incompatible-pointer-types",
    "incompatible-pointer-types-discards-qualifiers",
    "int-conversion",
    "return-type",
    "shift-count-negative",
    "shift-count-overflow",
    "shift-overflow",
    "unsequenced",
)

_ARGUMENTS = (
    "-xc",
    "-std=c17",
    "--target=x86_64-unknown-linux-gnu",
    "-nostdinc",
    # Not -isystem: CPATH would come before it.
    f"-I{INCLUDE}",
    "-Wno-everything",
    *(f"-Werror={warning}" for warning in _WARNINGS_REFUSED),
    "-ferror-limit=0",
)

_MOST_ERRORS_SHOWN = 20

_DECLARATIONS = frozenset({"VAR_DECL", "PARM_DECL", "FUNCTION_DECL", "ENUM_CONSTANT_DECL"})
_CONSTANT_EXPRESSIONS = frozenset(
    {"INTEGER_LITERAL", "FLOATING_LITERAL", "CHARACTER_LITERAL", "CXX_UNARY_EXPR", "CALL_EXPR"}
)

# CXTranslationUnit_SkipFunctionBodies.
_SKIP_FUNCTION_BODIES = 0x40

# CXEvalResultKind.
_INTEGER, _FLOAT = 1, 2


@cache
def _clang() -> Any:
    """The Python bindings (untyped), with the functions they do not declare declared."""
    clang: Any = import_module("clang.cindex")
    library = clang.conf.lib
    for name, result, arguments in (
        ("clang_getCursorBinaryOperatorKind", c_int, (clang.Cursor,)),
        ("clang_getCursorUnaryOperatorKind", c_int, (clang.Cursor,)),
        ("clang_Cursor_Evaluate", c_void_p, (clang.Cursor,)),
        ("clang_EvalResult_getKind", c_int, (c_void_p,)),
        ("clang_EvalResult_isUnsignedInt", c_uint, (c_void_p,)),
        ("clang_EvalResult_getAsLongLong", c_longlong, (c_void_p,)),
        ("clang_EvalResult_getAsUnsigned", c_ulonglong, (c_void_p,)),
        ("clang_EvalResult_getAsDouble", c_double, (c_void_p,)),
        ("clang_EvalResult_dispose", None, (c_void_p,)),
        ("clang_Cursor_getVarDeclInitializer", clang.Cursor, (clang.Cursor,)),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return clang


# CXBinaryOperatorKind and CXUnaryOperatorKind, in their order; what C++ and Objective-C add has no name here.
_BINARY_OPERATORS: tuple[str | None, ...] = (
    None, None, None, "*", "/", "%", "+", "-", "<<", ">>", None, "<", ">", "<=", ">=", "==", "!=", "&", "^", "|",
    "&&", "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|=", ",",
)  # fmt: skip
_UNARY_OPERATORS: tuple[str | None, ...] = (
    None, "x++", "x--", "++x", "--x", "&", "*", "+", "-", "~", "!", "__real", "__imag", "__extension__",
)  # fmt: skip


def _name_of_kind(handle: Any) -> str:
    """What libclang calls the kind of a cursor or type; the bindings do not know all that the library knows."""
    try:
        return handle.kind.name
    except ValueError:
        return "UNKNOWN"


class SourceType:
    """A C type, as declared: an array parameter is an array here, not a pointer."""

    def __init__(self, handle: Any, of_const_array: bool = False):
        self._declared = handle
        self._handle = handle.get_canonical()
        self._of_const_array = of_const_array

    @cached_property
    def kind(self) -> str:
        """What kind of type it is to libclang, typedefs looked through: `INT`, `POINTER`, `VARIABLEARRAY` ..."""
        return _name_of_kind(self._handle)

    @property
    def spelling(self) -> str:
        """The type as C writes it, with the names of typedefs."""
        return self._declared.spelling

    @property
    def is_const(self) -> bool:
        """Whether it is `const`, itself and not what it points at."""
        # `const` on the elements is `const` on the array, and a canonical type has it there alone.
        return self._of_const_array or self._handle.is_const_qualified()

    @property
    def is_volatile(self) -> bool:
        """Whether it is `volatile`."""
        return self._handle.is_volatile_qualified()

    @cached_property
    def element(self) -> SourceType:
        """What an array holds, or a pointer points at."""
        if self.kind == "POINTER":
            return SourceType(self._handle.get_pointee())
        return SourceType(self._handle.element_type, of_const_array=self.is_const)

    @cached_property
    def enumerated(self) -> SourceType:
        """The integer type that an `ENUM` has the values of."""
        return SourceType(self._handle.get_declaration().enum_type)

    @property
    def extent(self) -> int:
        """The number of elements of a `CONSTANTARRAY`."""
        return self._handle.element_count

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """What a struct or union holds, in order; those without a name have an empty one."""
        return tuple(
            # An anonymous member is called after its place.
            Member(
                field.spelling if field.spelling.isidentifier() else "",
                SourceType(field.type),
                field.get_field_offsetof(),
                field.is_bitfield(),
            )
            for field in self._handle.get_fields()
        )

    @property
    def is_struct(self) -> bool:
        """Whether a `RECORD` is a struct that the file defines, no union."""
        declaration = self._handle.get_declaration()
        return _name_of_kind(declaration) == "STRUCT_DECL" and declaration.is_definition()

    @property
    def declared_name(self) -> str:
        """Of a `RECORD`, what its declaration calls it, typedefs and qualifiers left out."""
        return self._handle.get_declaration().type.spelling

    @property
    def bytes(self) -> int:
        """Its `sizeof`."""
        return self._handle.get_size()

    @cached_property
    def result(self) -> SourceType:
        """What a function of this type returns."""
        return SourceType(self._handle.get_result())

    @property
    def is_variadic(self) -> bool:
        """Whether a function of this type takes more arguments than it declares."""
        return self.kind == "FUNCTIONPROTO" and self._handle.is_function_variadic()


@dataclass(frozen=True)
class Member:
    """One member of a struct.

    Attributes:
        name: of the member.
        type: of the member.
        offset: in bits, from the beginning of the struct.
        is_bit_field: whether it has a width in bits of its own.
    """

    name: str
    type: SourceType
    offset: int
    is_bit_field: bool


class Node:
    """One node of the tree: a declaration, a statement or an expression.

    Declarations are interned: two nodes for one declaration are the same object.
    """

    def __init__(self, cursor: Any, tree: SyntaxTree):
        self._cursor = cursor
        self._tree = tree

    @cached_property
    def kind(self) -> str:
        """What kind of construct it is to libclang: `FOR_STMT`, `BINARY_OPERATOR` ..."""
        return _name_of_kind(self._cursor)

    @cached_property
    def spelling(self) -> str:
        """The name that a declaration declares or a reference refers to; empty for most others."""
        return self._cursor.spelling

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """The node's parts, in source order, absent ones left out."""
        return tuple(self._tree.node(cursor) for cursor in self._cursor.get_children())

    @cached_property
    def type(self) -> SourceType:
        """The type of an expression or declaration."""
        return SourceType(self._cursor.type)

    @cached_property
    def location(self) -> FileLineColLoc:
        """Where the node starts; in a macro, where the macro is used."""
        return self._tree.location(self._cursor.location)

    def named_location(self, name: str) -> NameLoc:
        """Where the node starts, with what it is called there."""
        return NameLoc(StringAttr(name), self.location)

    @cached_property
    def operator(self) -> str | None:
        """The operator of a unary, binary or assigning expression: `+`, `+=`, `x++` (postfix), `++x` (prefix) ..."""
        library = _clang().conf.lib
        if self.kind == "UNARY_OPERATOR":
            number: int = library.clang_getCursorUnaryOperatorKind(self._cursor)
            return _UNARY_OPERATORS[number]
        if self.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            number = library.clang_getCursorBinaryOperatorKind(self._cursor)
            return _BINARY_OPERATORS[number]
        return None

    @cached_property
    def declaration(self) -> Node | None:
        """The declaration that a reference or a call refers to: the definition where the file has one, or the first."""
        referenced = self._cursor.referenced
        if referenced is None:
            return None
        if (definition := referenced.get_definition()) is not None:
            return self._tree.node(definition)
        found = self._tree.node(referenced)
        # One declaration stands for all of them.
        return self._tree.prototypes.get(found.spelling, found) if found.kind == "FUNCTION_DECL" else found

    @cached_property
    def initializer(self) -> Node | None:
        """The initial value in a variable's declaration."""
        cursor = _clang().conf.lib.clang_Cursor_getVarDeclInitializer(self._cursor)
        if cursor == _clang().conf.lib.clang_getNullCursor():
            return None
        # libclang does not tie the cursor to its translation unit, which must outlive it.
        cursor._tu = self._cursor._tu
        return self._tree.node(cursor)

    @property
    def is_definition(self) -> bool:
        """Whether a function's declaration has a body."""
        return self._cursor.is_definition()

    @property
    def is_global(self) -> bool:
        """Whether a declaration stands outside all functions."""
        return self._cursor.semantic_parent.kind.is_translation_unit()

    @cached_property
    def function(self) -> Node | None:
        """The function that a variable or parameter belongs to; None for global ones."""
        parent = self._cursor.semantic_parent
        return None if parent is None or parent.kind.is_translation_unit() else self._tree.node(parent)

    @property
    def calls(self) -> tuple[Node, ...]:
        """The calls of a function in the file, in source order."""
        return self._tree.calls.get(self, ())

    @property
    def storage_class(self) -> str:
        """How a declaration is stored: `STATIC`, `EXTERN`, `NONE` ..."""
        return self._cursor.storage_class.name

    @property
    def is_in_shipped_header(self) -> bool:
        """Whether the node stands in one of our own headers."""
        return self.location.filename.data.startswith(str(INCLUDE))

    @cached_property
    def constant(self) -> int | float | None:
        """The value of a literal, an enumerator, `sizeof` of a constant size, or a constant builtin such as `NAN`."""
        if self.kind == "ENUM_CONSTANT_DECL":
            return self._cursor.enum_value
        # libclang crashes on some others, lists in braces among them.
        return self.evaluate() if self.kind in _CONSTANT_EXPRESSIONS else None

    def evaluate(self) -> int | float | None:
        """What clang finds the expression's value to be, None if it cannot tell. The expression must hold no braces."""
        library = _clang().conf.lib
        result = library.clang_Cursor_Evaluate(self._cursor)
        if not result:
            return None
        try:
            kind = library.clang_EvalResult_getKind(result)
            if kind == _INTEGER:
                if library.clang_EvalResult_isUnsignedInt(result):
                    return cast(int, library.clang_EvalResult_getAsUnsigned(result))
                return cast(int, library.clang_EvalResult_getAsLongLong(result))
            return cast(float, library.clang_EvalResult_getAsDouble(result)) if kind == _FLOAT else None
        finally:
            library.clang_EvalResult_dispose(result)

    @property
    def tokens(self) -> Iterator[str]:
        """The node's text in tokens, macros as they are written."""
        return (token.spelling for token in self._cursor.get_tokens())

    @cached_property
    def stripped(self) -> Node:
        """The expression without parentheses and implicit conversions round it."""
        node: Node = self
        while node.kind in ("PAREN_EXPR", "UNEXPOSED_EXPR") and len(node.children) == 1:
            node = node.children[0]
        return node

    def walk(self) -> Iterator[Node]:
        """The node and all below it, parents first, in source order."""
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def error(self, message: str, hint: str | None = None) -> TapeflowError:
        """A refusal that points here."""
        return TapeflowError(message, location=self.location, hint=hint)


class SyntaxTree:
    """A parsed C file.

    Args:
        name: the file's name, as positions show it; includes in quotes are looked for next to it.
        text: what the file holds.
        declarations_only: whether to leave out what functions do.

    Raises:
        TapeflowError: with all that clang has to say against the file.
    """

    def __init__(self, name: str, text: bytes, *, declarations_only: bool = False):
        clang = _clang()
        self._file_names: dict[int | None, StringAttr] = {}
        self._declarations: dict[Any, Node] = {}
        try:
            self._unit: Any = clang.Index.create().parse(
                name, list(_ARGUMENTS), [(name, text)], _SKIP_FUNCTION_BODIES if declarations_only else 0
            )
        except clang.TranslationUnitLoadError as error:
            raise TapeflowError("clang cannot read this file", location=f"{name}:1:1") from error
        self._check()

    @cached_property
    def declarations(self) -> tuple[Node, ...]:
        """What the file declares at its top level, its includes among them."""
        return tuple(self.node(cursor) for cursor in self._unit.cursor.get_children())

    @property
    def functions(self) -> tuple[Node, ...]:
        """The functions that the file defines, in source order."""
        return tuple(node for node in self.declarations if node.kind == "FUNCTION_DECL" and node.is_definition)

    @cached_property
    def prototypes(self) -> Mapping[str, Node]:
        """The functions that the file declares and does not define, by name: their first declarations."""
        declared = [node for node in self.declarations if node.kind == "FUNCTION_DECL"]
        defined = {node.spelling for node in declared if node.is_definition}
        return {node.spelling: node for node in reversed(declared) if node.spelling not in defined}

    @cached_property
    def calls(self) -> Mapping[Node, tuple[Node, ...]]:
        """The calls in the file, in source order, by the function that they name."""
        found: dict[Node, list[Node]] = {}
        for part in (part for function in self.functions for part in function.walk() if part.kind == "CALL_EXPR"):
            called = part.children[0].stripped.declaration if part.children else None
            if called is not None:
                found.setdefault(called, []).append(part)
        return {called: tuple(calls) for called, calls in found.items()}

    def node(self, cursor: Any) -> Node:
        """The node of a cursor."""
        node = Node(cursor, self)
        return self._declarations.setdefault(cursor, node) if node.kind in _DECLARATIONS else node

    def location(self, source_location: Any) -> FileLineColLoc:
        """A position of libclang's as a location of the IR."""
        file, line, column, offset = _clang().c_object_p(), c_uint(), c_uint(), c_uint()
        _clang().conf.lib.clang_getInstantiationLocation(
            source_location, byref(file), byref(line), byref(column), byref(offset)
        )
        address = cast_pointer(file, c_void_p).value
        if (name := self._file_names.get(address)) is None:
            name = StringAttr(_clang().File(file).name if file else "<builtin>")
            self._file_names[address] = name
        return FileLineColLoc(name, IntAttr(line.value), IntAttr(column.value))

    def _check(self) -> None:
        """Raise all that clang refuses, in one error."""
        errors = [found for found in self._unit.diagnostics if found.severity >= _clang().Diagnostic.Error]
        if not errors:
            return
        first, *rest = errors
        lines = [str(first.spelling)]
        for found in rest[: _MOST_ERRORS_SHOWN - 1]:
            at = self.location(found.location)
            lines.append(f"{at.filename.data}:{at.line.data}:{at.column.data}: error: {found.spelling}")
        if len(errors) > _MOST_ERRORS_SHOWN:
            lines.append(f"and {len(errors) - _MOST_ERRORS_SHOWN} more errors")
        raise TapeflowError("\n".join(lines), location=self.location(first.location), hint=self._hint(errors))

    def _hint(self, errors: list[Any]) -> str | None:
        """What to do about the first of clang's errors for which we know more than clang does."""
        hints = (hint for found in errors if (hint := self._hint_for(str(found.spelling), found.location)))
        return next(hints, None)

    def _hint_for(self, message: str, location: Any) -> str | None:
        if re.match(r"'.*' file not found", message):
            shipped = ", ".join(f"<{header.name}>" for header in sorted(INCLUDE.iterdir()))
            return (
                f"Tapeflow brings its own {shipped} and looks for no others; keep kernels in files that need only these"
            )
        if re.match("call to undeclared library function '(malloc|calloc|realloc|free)'", message):
            return "declare a local array, double t[n]; it lives as long as the block that it is in"
        if re.match("call to undeclared", message):
            return "define the function in this file, or use one of the functions of <math.h> that Tapeflow knows"
        if match := re.match("use of undeclared identifier '(.*)'", message):
            return self._hint_for_undeclared(match[1], location)
        return None

    def _hint_for_undeclared(self, name: str, location: Any) -> str | None:
        at = self.location(location)
        for function in self.functions:
            for parameter in function.children:
                if parameter.kind == "PARM_DECL" and parameter.spelling == name:
                    declared = parameter.location
                    if (at.line.data, at.column.data) < (declared.line.data, declared.column.data):
                        return f"declare the parameter '{name}' before the arrays whose extent it is"
        return None
