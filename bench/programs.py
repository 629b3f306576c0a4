"""Generated programs of a given size, in several shapes: what the time of the compiler is measured on.

Each shape makes C that computes something, so that nothing in it is dead; its size is the number of operations of the
core IR that it is read as, give or take a tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

WRITTEN_ARRAYS = 40
"""Arrays that the shape with many arrays has at most; compilers need not take more parameters than 127."""


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _chain(operations: int, indent: str) -> Iterator[str]:
    """Statements of about seven operations of the IR that depend on one another."""
    kinds = ("a = a * b + 0.5;", "b = sin(b) - c * a;", "c = c / (1.0 + a * a);")
    for k in range(operations // 7):
        yield indent + kinds[k % 3]


def _straight(operations: int) -> Iterator[str]:
    yield from ("#include <math.h>", "double f(int n, const double x[n])", "{")
    yield "  double a = x[0], b = x[1], c = x[2];"
    yield from _chain(operations, "  ")
    yield from ("  return a + b + c;", "}")


def _body(operations: int) -> Iterator[str]:
    yield from ("#include <math.h>", "double f(int n, const double x[n])", "{", "  double s = 0;")
    yield from ("  for (int i = 0; i < n; i++) {", "    double a = x[i], b = 1, c = 2;")
    yield from _chain(operations, "    ")
    yield from ("    s += a + b + c;", "  }", "  return s;", "}")


def _loops(operations: int) -> Iterator[str]:
    yield from ("double f(int n, double x[n])", "{")
    for k in range(operations // 10):
        yield f"  for (int i = 0; i < n; i++) x[i] = x[i] * x[i] + {k % 7}.5 * x[i];"
    yield from ("  double s = 0;", "  for (int i = 0; i < n; i++) s += x[i];", "  return s;", "}")


def _nests(operations: int) -> Iterator[str]:
    yield from ("double f(int n, double x[n])", "{")
    loops = "for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) for (int c = 0; c < a; c++)"
    for k in range(operations // 13):
        yield f"  {loops} x[c] = x[c] * x[b] + {k % 7}.5 * x[a];"
    yield from ("  return x[0];", "}")


def _branches(operations: int) -> Iterator[str]:
    yield from ("double f(int n, const double x[n])", "{", "  double a = 1, b = 2;")
    yield from ("  for (int i = 0; i < n; i++) {", "    a = a * x[i];")
    for k in range(operations // 16):
        yield f"    if (a > {k % 9}.5 * b) a = a * b; else b = b - a;"
    yield from ("  }", "  return a * b;", "}")


def _arrays(operations: int) -> Iterator[str]:
    count = max(2, min(operations // 32, WRITTEN_ARRAYS))
    yield f"double f(int n, {', '.join(f'double x{k}[n]' for k in range(count))})"
    yield from ("{", "  double s = 0;")
    for k in range(operations // 8):
        target, source = f"x{k % count}[i]", f"x{(k + 1) % count}[i]"
        yield f"  for (int i = 0; i < n; i++) {target} = {target} * {source} + {target};"
    yield from ("  for (int i = 0; i < n; i++) s += x0[i];", "  return s;", "}")


SHAPES: dict[str, Callable[[int], Iterator[str]]] = {
    "straight": _straight,
    "body": _body,
    "loops": _loops,
    "nests": _nests,
    "branches": _branches,
    "arrays": _arrays,
}
"""One straight line, one large loop body, loops in sequence, nests, branches in a loop, loops over many arrays."""


def program(shape: str, operations: int) -> str:
    """C source of a function `f` of that shape with about so many operations."""
    return _joined(SHAPES[shape](operations))
