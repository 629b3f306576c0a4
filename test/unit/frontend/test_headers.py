"""The headers that the frontend ships: complete, self-contained, and what the documentation says they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tapeflow.frontend.c import import_c
from tapeflow.frontend.c_math import is_math_function
from tapeflow.frontend.clang_tree import INCLUDE, SyntaxTree

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "frontend-c.md"


def declared(header: str) -> list[str]:
    tree = SyntaxTree("k.c", f"#include <{header}>\n".encode())
    return [node.spelling for node in tree.declarations if node.kind == "FUNCTION_DECL"]


@pytest.mark.parametrize("header", sorted(path.name for path in INCLUDE.iterdir()))
def test_each_header_stands_alone_and_twice(header: str) -> None:
    import_c(f"#include <{header}>\n#include <{header}>\nint f(void) {{ return 1; }}\n")


@pytest.mark.parametrize("header", ["math.h", "stdlib.h"])
def test_each_declared_function_is_an_operation(header: str) -> None:
    assert declared(header)
    assert all(is_math_function(name) for name in declared(header))


def test_the_documentation_lists_what_is_declared() -> None:
    (listed,) = re.findall(r"\*\*Mathematics\*\*.*?:\s`([^`]*)`", DOCUMENTATION.read_text(), re.DOTALL)
    doubles = {name for name in declared("math.h") if name == "erf" or not name.endswith("f")}
    assert set(listed.split()) == doubles


def test_types_have_the_sizes_that_the_documentation_says() -> None:
    import_c(
        """
        #include <stddef.h>
        #include <stdint.h>
        #include <stdbool.h>
        _Static_assert(sizeof(int) == 4 && sizeof(long) == 8, "");
        _Static_assert(sizeof(size_t) == 8 && sizeof(ptrdiff_t) == 8, "");
        _Static_assert(sizeof(int32_t) == 4 && sizeof(uint64_t) == 8 && sizeof(bool) == 1, "");
        _Static_assert((size_t)-1 == SIZE_MAX && INT64_MIN < 0 && (uint32_t)-1 == UINT32_MAX, "");
        int f(void) { return true; }
        """
    )
