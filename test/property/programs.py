"""Random structured programs: a small syntax tree, a generator, and the tree's text in C.

Every program is `double f(int n, int m, const double *c, double *x, double A[n][m], double *y, double s)`: loops with
run-time bounds (ascending, descending, strided, triangular, zero and one trip), branches on constant and on active
values, in-place overwrites, loop-carried scalars and local arrays. Subscripts stay in bounds by construction, and
what is stored is squashed by a bounded function, so values stay near one however deep the nest.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PROTOTYPE = "double f(int n, int m, const double *c, double *x, double A[n][m], double *y, double s)"
ARRAYS: dict[str, tuple[str, ...]] = {"c": ("n",), "x": ("n",), "A": ("n", "m"), "y": ("m",)}
WRITABLE = ("x", "A", "y")
UNARY = ("sin", "cos", "tanh", "exp", "sqrt", "log", "fabs")


class Expr:
    """A value of type double."""


@dataclass(frozen=True)
class Const(Expr):
    """A literal."""

    value: float


@dataclass(frozen=True)
class Scalar(Expr):
    """A local variable or parameter of type double."""

    name: str


@dataclass(frozen=True)
class Element(Expr):
    """An element of an array, by integer expressions that are valid in C and in Python."""

    array: str
    subscripts: tuple[str, ...]


@dataclass(frozen=True)
class Binary(Expr):
    """`left op right`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Call(Expr):
    """A function of `<math.h>`; the generator keeps arguments inside its domain."""

    function: str
    argument: Expr


@dataclass(frozen=True)
class Choice(Expr):
    """`left < right ? then : otherwise`."""

    left: Expr
    right: Expr
    then: Expr
    otherwise: Expr


class Stmt:
    """A statement."""


@dataclass(frozen=True)
class Declare(Stmt):
    """`double name = value;`."""

    name: str
    value: Expr


@dataclass(frozen=True)
class DeclareArray(Stmt):
    """`double name[extent];`, then every element set to `value`, which may use `fill`."""

    name: str
    extent: str
    value: Expr


@dataclass(frozen=True)
class Assign(Stmt):
    """`target op value;` with op one of `=`, `+=`, `-=`, `*=`."""

    target: Scalar | Element
    op: str
    value: Expr


@dataclass(frozen=True)
class For(Stmt):
    """A counted loop; `step` may be negative, and then `until` is exclusive from above."""

    counter: str
    start: str
    until: str
    step: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class If(Stmt):
    """`if (left < right) then else otherwise`."""

    left: Expr
    right: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True)
class Program:
    """A function body and the value it returns."""

    body: tuple[Stmt, ...]
    value: Expr


@dataclass
class Generator:
    """Draws programs; one seed, one program."""

    seed: int
    depth: int = 3
    rng: random.Random = field(init=False)
    names: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def program(self) -> Program:
        """A whole program."""
        scope = Scope(("s",), {})
        body: list[Stmt] = []
        for _ in range(self.rng.randint(1, 2)):
            scope, statement = self._declare(scope)
            body.append(statement)
        for _ in range(self.rng.randint(1, 3)):
            scope, statement = self._statement(scope, self.depth)
            body.append(statement)
        value: Expr = Scalar(scope.scalars[-1])
        for name in scope.scalars[:-1]:
            value = Binary("+", value, Binary("*", Const(round(self.rng.uniform(0.5, 2.0), 2)), Scalar(name)))
        return Program(tuple(body), value)

    def _fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def _declare(self, scope: Scope) -> tuple[Scope, Stmt]:
        if self.rng.random() < 0.2:
            name = self._fresh("d")
            extent = self.rng.choice(("n", "m", "4"))
            return scope.with_array(name, extent), DeclareArray(name, extent, self._expr(scope, 1))
        name = self._fresh("t")
        return scope.with_scalar(name), Declare(name, self._expr(scope, 1))

    def _statement(self, scope: Scope, depth: int) -> tuple[Scope, Stmt]:
        roll = self.rng.random()
        if depth and roll < 0.45:
            return scope, self._loop(scope, depth - 1)
        if depth and roll < 0.65:
            return scope, self._branch(scope, depth - 1)
        if roll < 0.75:
            return self._declare(scope)
        return scope, self._assign(scope)

    def _block(self, scope: Scope, depth: int) -> tuple[Stmt, ...]:
        statements: list[Stmt] = []
        for _ in range(self.rng.randint(1, 3)):
            scope, statement = self._statement(scope, depth)
            statements.append(statement)
        return tuple(statements)

    def _loop(self, scope: Scope, depth: int) -> Stmt:
        counter = self._fresh("i")
        extent = self.rng.choice(("n", "m", "4"))
        start, until, step = self.rng.choice(
            [
                ("0", extent, 1),
                ("0", extent, 1),
                ("1", extent, 1),
                ("0", extent, 2),
                (f"{extent} - 1", "-1", -1),
                (f"{extent} - 1", "0", -2),
                ("0", f"{extent} - 2", 1),
                *((outer, bound, 1) for outer, bound in scope.counters.items()),
                *(("0", outer, 1) for outer in scope.counters),
            ]
        )
        bound = until if until in ("n", "m", "4") else extent
        if until in scope.counters:
            bound = scope.counters[until]
        return For(counter, start, until, step, self._block(scope.with_counter(counter, bound), depth))

    def _branch(self, scope: Scope, depth: int) -> Stmt:
        left = self._leaf(scope)
        then = self._block(scope, depth)
        otherwise = self._block(scope, depth) if self.rng.random() < 0.5 else ()
        return If(left, Const(round(self.rng.uniform(-0.5, 1.5), 3)), then, otherwise)

    def _assign(self, scope: Scope) -> Stmt:
        if self.rng.random() < 0.5:
            target: Scalar | Element = Scalar(self.rng.choice(scope.scalars))
        else:
            target = self._element(scope, (*WRITABLE, *scope.arrays)) or Scalar(self.rng.choice(scope.scalars))
        op = self.rng.choice(("=", "=", "+=", "-=", "*="))
        value = self._expr(scope, 2)
        squashed = (
            Call("sin", value) if op != "*=" else Binary("+", Const(1.0), Binary("*", Const(0.1), Call("sin", value)))
        )
        if op in ("+=", "-="):
            squashed = Binary("*", Const(0.3), squashed)
        return Assign(target, op, squashed)

    def _expr(self, scope: Scope, depth: int) -> Expr:
        if depth == 0 or self.rng.random() < 0.2:
            return self._leaf(scope)
        roll = self.rng.random()
        if roll < 0.55:
            op = self.rng.choice(("+", "-", "*", "*"))
            return Binary(op, self._expr(scope, depth - 1), self._expr(scope, depth - 1))
        if roll < 0.65:
            return Binary("/", self._expr(scope, depth - 1), self._positive(scope, depth - 1))
        if roll < 0.9:
            return self._call(scope, depth)
        return Choice(self._leaf(scope), self._leaf(scope), self._expr(scope, depth - 1), self._expr(scope, depth - 1))

    def _call(self, scope: Scope, depth: int) -> Expr:
        function = self.rng.choice(UNARY)
        argument = self._expr(scope, depth - 1)
        if function in ("sqrt", "log"):
            return Call(function, self._positive(scope, depth - 1))
        return Call(function, Call("sin", argument) if function == "exp" else argument)

    def _positive(self, scope: Scope, depth: int) -> Expr:
        value = self._expr(scope, depth)
        return Binary("+", Const(1.5), Binary("*", value, value))

    def _leaf(self, scope: Scope) -> Expr:
        roll = self.rng.random()
        if roll < 0.15:
            return Const(round(self.rng.uniform(-2.0, 2.0), 2))
        if roll < 0.5:
            return Scalar(self.rng.choice(scope.scalars))
        return self._element(scope, (*ARRAYS, *scope.arrays)) or Scalar(self.rng.choice(scope.scalars))

    def _element(self, scope: Scope, arrays: tuple[str, ...]) -> Element | None:
        array = self.rng.choice(arrays)
        extents = ARRAYS.get(array) or (scope.arrays[array],)
        subscripts = [self._subscript(scope, extent) for extent in extents]
        if any(subscript is None for subscript in subscripts):
            return None
        return Element(array, tuple(subscript for subscript in subscripts if subscript is not None))

    def _subscript(self, scope: Scope, extent: str) -> str | None:
        """An expression in [0, extent) wherever the scope is reached, or None: outside loops an array may be empty."""
        fitting = [counter for counter, bound in scope.counters.items() if bound == extent]
        if not fitting:
            return str(self.rng.randrange(4)) if extent == "4" else None
        counter = self.rng.choice(fitting)
        return self.rng.choice((counter, counter, counter, f"{extent} - 1 - {counter}", f"({counter} + 1) % {extent}"))


@dataclass(frozen=True)
class Scope:
    """What a statement can name: scalars, local arrays with their extents, counters with what bounds them."""

    scalars: tuple[str, ...]
    arrays: dict[str, str]
    counters: dict[str, str] = field(default_factory=dict)

    def with_scalar(self, name: str) -> Scope:
        """This scope and one more scalar."""
        return Scope((*self.scalars, name), self.arrays, self.counters)

    def with_array(self, name: str, extent: str) -> Scope:
        """This scope and one more array."""
        return Scope(self.scalars, {**self.arrays, name: extent}, self.counters)

    def with_counter(self, name: str, bound: str) -> Scope:
        """This scope and one more loop counter in [0, bound)."""
        return Scope(self.scalars, self.arrays, {**self.counters, name: bound})


def c_text(program: Program) -> str:
    """The program as C99."""
    lines = ["#include <math.h>", "", PROTOTYPE, "{"]
    lines += _block_text(program.body, 1)
    lines += [f"    return {expr_text(program.value)};", "}", ""]
    return "\n".join(lines)


def _block_text(statements: tuple[Stmt, ...], depth: int) -> list[str]:
    pad = "    " * depth
    lines: list[str] = []
    for statement in statements:
        match statement:
            case Declare(name, value):
                lines.append(f"{pad}double {name} = {expr_text(value)};")
            case DeclareArray(name, extent, value):
                lines.append(f"{pad}double {name}[{extent}];")
                lines.append(f"{pad}for (int k = 0; k < {extent}; k++) {name}[k] = {expr_text(value)};")
            case Assign(target, op, value):
                lines.append(f"{pad}{expr_text(target)} {op} {expr_text(value)};")
            case For(counter, start, until, step, body):
                compare = "<" if step > 0 else ">"
                advance = {1: f"{counter}++", -1: f"{counter}--"}.get(step, f"{counter} += {step}")
                lines.append(f"{pad}for (int {counter} = {start}; {counter} {compare} {until}; {advance}) {{")
                lines += [*_block_text(body, depth + 1), f"{pad}}}"]
            case If(left, right, then, otherwise):
                lines.append(f"{pad}if ({expr_text(left)} < {expr_text(right)}) {{")
                lines += _block_text(then, depth + 1)
                if otherwise:
                    lines += [f"{pad}}} else {{", *_block_text(otherwise, depth + 1)]
                lines.append(f"{pad}}}")
            case _:
                raise TypeError(statement)
    return lines


def expr_text(expr: Expr) -> str:
    """An expression as C99, fully parenthesised."""
    match expr:
        case Const(value):
            return repr(value) if value >= 0 else f"({value!r})"
        case Scalar(name):
            return name
        case Element(array, subscripts):
            return array + "".join(f"[{subscript}]" for subscript in subscripts)
        case Binary(op, left, right):
            return f"({expr_text(left)} {op} {expr_text(right)})"
        case Call(function, argument):
            return f"{function}({expr_text(argument)})"
        case Choice(left, right, then, otherwise):
            condition = f"{expr_text(left)} < {expr_text(right)}"
            return f"({condition} ? {expr_text(then)} : {expr_text(otherwise)})"
        case _:
            raise TypeError(expr)
