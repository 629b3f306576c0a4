"""What the frontend says of C that it does not take: the construct, the reason and what to do, one row a construct."""

from __future__ import annotations

from typing import NamedTuple

from tapeflow.errors import TapeflowError
from tapeflow.frontend.c_types import SUPPORTED_SCALARS
from tapeflow.frontend.clang_tree import Node


class _Refusal(NamedTuple):
    """The message, and the help below it."""

    message: str
    hint: str | None = None


_GOTO = "write the loop with 'while', leave it with 'break' or 'return', and skip code with 'if'"
_SUBSCRIPT = "name the array and give all its subscripts: 'A[i][j]'"
_SEPARATE = "make it a statement of its own, before or after this one"

_PART = _Refusal(
    "a part of a complex number is not supported where a variable is wanted",
    "set the whole number: 'z = CMPLX(x, cimag(z))'",
)

_BY_KIND = {
    "GOTO_STMT": _Refusal("'goto' is not supported: control must be nested", _GOTO),
    "INDIRECT_GOTO_STMT": _Refusal("'goto' is not supported: control must be nested", _GOTO),
    "LABEL_STMT": _Refusal("labels are not supported: control must be nested", _GOTO),
    "CASE_STMT": _Refusal("this label is not inside the braces of a 'switch'", "put it there"),
    "DEFAULT_STMT": _Refusal("this label is not inside the braces of a 'switch'", "put it there"),
    "ASM_STMT": _Refusal("inline assembly is not supported", "write it in C"),
    "MS_ASM_STMT": _Refusal("inline assembly is not supported", "write it in C"),
    "STRING_LITERAL": _Refusal("strings are not supported", "keep to numbers and arrays of numbers"),
    "MEMBER_REF_EXPR": _Refusal("members of structs are not supported", "pass each member as a parameter of its own"),
    "COMPOUND_LITERAL_EXPR": _Refusal("compound literals are not supported", "declare a local array or variable"),
    "INIT_LIST_EXPR": _Refusal("braces are only supported round the initial values of an array", "leave them out"),
    "StmtExpr": _Refusal("statement expressions are a GNU extension and not supported", "use statements"),
    "ADDR_LABEL_EXPR": _Refusal("addresses of labels are a GNU extension and not supported"),
    "GENERIC_SELECTION_EXPR": _Refusal("_Generic is not supported", "write the expression for the type at hand"),
    "IMAGINARY_LITERAL": _Refusal("a complex integer is not supported", "write it with a point: '2.0i'"),
    "CXX_UNARY_EXPR": _Refusal("'sizeof' of what is only known at run time is not supported", "write out the number"),
    "CALL_EXPR": _Refusal("a call inside an expression that is a statement is not supported", _SEPARATE),
    "UNEXPOSED_EXPR": _Refusal("this expression is an extension of C and not supported", "write it in standard C"),
}

_BY_OPERATOR = {
    "&": _Refusal("the address of a variable or element is not supported: the pointer could escape", _SUBSCRIPT),
    "__real": _PART,
    "__imag": _PART,
    "~": _Refusal("'~' of a complex number is a GNU extension and not supported", "write 'conj(z)'"),
}


_POINTERS = frozenset({"POINTER", "CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY"})


def unsupported(node: Node) -> TapeflowError:
    """The refusal of the statement or expression `node`, which the frontend has no rule for."""
    operator = node.operator
    if node.kind == "UNARY_OPERATOR" and operator in _BY_OPERATOR:
        row = _BY_OPERATOR[operator]
    elif node.kind in _BY_KIND:
        row = _BY_KIND[node.kind]
    else:
        construct = node.kind.lower().replace("_", " ")
        row = _Refusal(f"this construct is not supported ({construct})", "docs/frontend-c.md lists what is")
    return node.error(*row)


def pointer_value(node: Node) -> TapeflowError:
    """The refusal of an expression that is a pointer, where a number or a part of a known array is wanted."""
    if node.kind in ("COMPOUND_LITERAL_EXPR", "STRING_LITERAL"):
        return unsupported(node)
    if node.kind == "CALL_EXPR":
        hint = "use an array that the function declares: 'double t[n]'"
        return node.error(f"'{node.spelling}' returns a pointer, which is not supported", hint)
    if node.type.kind not in _POINTERS:
        return unsupported_value(node)
    return node.error(
        f"a value of type '{node.type.spelling}' is not supported here: it must be certain which array is meant",
        _SUBSCRIPT,
    )


def unsupported_value(node: Node) -> TapeflowError:
    """The refusal of an expression for its type, which is no pointer."""
    if node.kind == "IMAGINARY_LITERAL":
        return unsupported(node)
    return node.error(
        f"a value of type '{node.type.spelling}' is not supported",
        f"the types are {SUPPORTED_SCALARS}: convert where the value comes from",
    )


def unsupported_type(node: Node, what: str) -> TapeflowError:
    """The refusal of a declaration or expression for its type."""
    kind = node.type.kind
    if kind == "POINTER" and node.type.element.kind in ("FUNCTIONPROTO", "FUNCTIONNOPROTO"):
        return node.error(
            f"{what} is a pointer to a function, which is not supported: which function runs is not known",
            "call a function by its name",
        )
    if kind == "POINTER":
        return node.error(
            f"{what} is a pointer of type '{node.type.spelling}', which is not supported: a pointer could escape",
            "use the array itself by its name, with all its subscripts",
        )
    if kind in ("RECORD", "ENUM"):
        return node.error(
            f"{what} has type '{node.type.spelling}', which is not supported",
            "use a variable for each member" if kind == "RECORD" else "use an int",
        )
    return node.error(
        f"{what} has type '{node.type.spelling}', which is not supported",
        f"the types are {SUPPORTED_SCALARS}, and arrays of them",
    )
