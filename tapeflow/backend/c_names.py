"""Names in the generated C: the source's own, made legal and unique.

A name is taken in a scope, the braces it is declared in, and may come again in a scope beside it; it never hides one
of a scope around it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapeflow.analysis.region_names import identifier

KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "_Bool",
        "_Complex",
        "_Imaginary",
        "bool",
        "true",
        "false",
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "bitand",
        "bitor",
        "catch",
        "char8_t",
        "char16_t",
        "char32_t",
        "class",
        "compl",
        "concept",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "co_await",
        "co_return",
        "co_yield",
        "decltype",
        "delete",
        "dynamic_cast",
        "explicit",
        "export",
        "friend",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "reinterpret_cast",
        "requires",
        "static_assert",
        "static_cast",
        "template",
        "this",
        "thread_local",
        "throw",
        "try",
        "typeid",
        "typename",
        "using",
        "virtual",
        "wchar_t",
        "xor",
        "xor_eq",
    ]
)
"""Of C99, and of C++, since the header is for both."""

_MATH = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
]

LIBRARY = frozenset(
    [
        *_MATH,
        *(f"{name}f" for name in _MATH),
        *[
            "NAN",
            "INFINITY",
            "NULL",
            "assert",
            "errno",
            "isnan",
            "isinf",
            "signbit",
            "isunordered",
            "islessgreater",
            "isfinite",
            "isnormal",
            "fpclassify",
            "malloc",
            "calloc",
            "realloc",
            "free",
            "abort",
            "exit",
            "abs",
            "labs",
            "llabs",
            "div",
            "memcpy",
            "memset",
            "memmove",
            "strlen",
            "size_t",
            "ptrdiff_t",
            "int8_t",
            "int16_t",
            "int32_t",
            "int64_t",
            "uint8_t",
            "uint16_t",
            "uint32_t",
            "uint64_t",
            "uintptr_t",
            "intptr_t",
            "PTRDIFF_MAX",
            "PTRDIFF_MIN",
            "SIZE_MAX",
            "main",
            "tf",
        ],
    ]
)
"""What the standard headers and the runtime header give meaning to, as far as generated C may use it."""


def legal(name: str) -> str:
    """`name`, or a legal one like it, outside of what C, its library and the runtime header have taken."""
    plain = identifier(name) or "value"
    if plain in KEYWORDS or plain.startswith("__") or (plain[0] == "_" and plain[1:2].isupper()):
        plain = f"{plain.lstrip('_')}_"
    if plain.startswith(("tf_", "TF_")):
        plain = f"{plain}_"
    return plain


class Scope:
    """The names taken within a pair of braces, and through `around` in those that enclose it."""

    def __init__(self, taken: Iterable[str] = (), around: Scope | None = None):
        self._taken = set(taken)
        self._around = around
        self._counts: dict[str, int] = {}

    def inner(self) -> Scope:
        """A scope within this one."""
        return Scope(around=self)

    def _has(self, name: str) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._taken:
                return True
            scope = scope._around
        return False

    def reserve(self, name: str) -> None:
        """Let nobody take `name` here."""
        self._taken.add(name)

    def take(self, name: str) -> str:
        """`name` made legal, or its first variant that is free here: `t`, `t_2`, `t_3`."""
        plain = legal(name)
        unique, count = plain, self._counts.get(plain, 1)
        while unique in LIBRARY or self._has(unique):
            count += 1
            unique = f"{plain}_{count}"
        self._counts[plain] = count
        self._taken.add(unique)
        return unique
