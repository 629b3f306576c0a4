"""Random Python functions in the language of the frontend, as text: one seed, one function.

Values stay small enough for 64-bit integers. Most functions run without an exception in Python; what raises one is left
to the test to skip.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

HEADER = (
    "def f(n: int, m: int, a: int, p: float, q: float, b: bool, "
    'x: f64["n"], y: f64["n"], A: f64["n", "m"], at: i64["n"]):'
)

_ANY_FLOAT = ("math.sin", "math.cos", "math.fabs", "math.tanh", "math.atan", "np.sin", "np.abs", "abs", "float")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass
class Scope:
    """What a statement can name, by type; counters can be read and not set."""

    ints: list[str] = field(default_factory=lambda: ["a", "n", "m"])
    floats: list[str] = field(default_factory=lambda: ["p", "q"])
    bools: list[str] = field(default_factory=lambda: ["b"])
    counters: list[str] = field(default_factory=list)
    depth: int = 0

    def inner(self, *counters: str) -> Scope:
        """The scope of a block: what it declares is forgotten after it."""
        return Scope([*self.ints], [*self.floats], [*self.bools], [*self.counters, *counters], self.depth + 1)


class Generator:
    """Draws functions."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def function(self) -> str:
        """The text of a function `f`."""
        scope = Scope()
        lines = self.block(scope)
        if self.rng.random() < 0.3:
            lines += [f"if {self.bool(scope, 1)}:", f"    return {self.float(scope, 1)} + 0.0"]
        lines += self.block(scope)
        total = " + ".join([*scope.floats, *(f"float({name})" for name in scope.ints + scope.bools)])
        return "\n".join([HEADER, *("    " + line for line in [*lines, f"return {total}"]), ""])

    # Expressions.

    def one_of(self, *makers: Callable[[], str]) -> str:
        return self.rng.choice(makers)()

    def int(self, scope: Scope, depth: int) -> str:
        """An expression of ints."""
        if depth == 0 or self.rng.random() < 0.15:
            return self.one_of(
                lambda: str(self.rng.randint(-9, 9)),
                lambda: self.rng.choice(scope.ints + scope.counters),
                lambda: self.rng.choice(["len(x)", "A.shape[1]", *scope.counters]),
            )
        part = lambda: self.int(scope, depth - 1)  # noqa: E731
        return self.one_of(
            lambda: f"({part()} {self.rng.choice('+-*')} {part()})",
            lambda: f"({part()} {self.rng.choice('+-')} {part()})",
            lambda: f"({part()} {self.rng.choice(('//', '%'))} {self.rng.choice((-7, -3, 2, 4, 5))})",
            lambda: f"({part()} {self.rng.choice(('//', '%'))} (abs({part()}) + 1))",
            lambda: f"({part()} {self.rng.choice('&|^')} {part()})",
            lambda: f"{self.rng.choice(('min', 'max'))}({part()}, {part()})",
            lambda: f"{self.rng.choice(('abs', '-', '~', '+'))}({part()})",
            lambda: f"(({self.int(scope, 0)}) ** {self.rng.randint(0, 3)})",
            lambda: f"({part()} if {self.bool(scope, depth - 1)} else {part()})",
            lambda: f"int({self.bool(scope, depth - 1)})",
            lambda: f"(int({self.float(scope, depth - 1)} * 3.0) % 10)",
        )

    def bool(self, scope: Scope, depth: int) -> str:
        """An expression of bools."""
        if depth == 0 or self.rng.random() < 0.1:
            return self.rng.choice([*scope.bools, "True", "False"])
        compare = lambda: self.rng.choice(_COMPARISONS)  # noqa: E731
        number, whole = (lambda: self.float(scope, depth - 1)), (lambda: self.int(scope, depth - 1))
        part = lambda: self.bool(scope, depth - 1)  # noqa: E731
        return self.one_of(
            lambda: f"({number()} {compare()} {number()})",
            lambda: f"({whole()} {compare()} {whole()})",
            lambda: f"({whole()} {compare()} {whole()} {compare()} {number()})",
            lambda: f"({part()} {self.rng.choice(('and', 'or', 'and', 'or', '&', '|', '^', '=='))} {part()})",
            lambda: f"(not {part()})",
        )

    def index(self, scope: Scope, extent: str) -> str:
        """A subscript: mostly in bounds, sometimes negative, and now and then neither."""
        if scope.counters and self.rng.random() < 0.4:
            counter = self.rng.choice(scope.counters)
            form = self.rng.choice(
                ("{i}", "{i} - 1", "{i} + 1", "{e} - 1 - {i}", "({i} + 1) % {e}", "-{i}", "{i} // 2")
            )
            text = form.format(i=counter, e=extent)
            return text if self.rng.random() < 0.3 else f"({text}) % {extent}"
        return f"{self.int(scope, 1)} % {extent}" + (f" - {extent}" if self.rng.random() < 0.1 else "")

    def element(self, scope: Scope) -> str:
        """An element of an array of floats."""
        return self.one_of(
            lambda: f"x[{self.index(scope, 'n')}]",
            lambda: f"y[{self.index(scope, 'n')}]",
            lambda: f"A[{self.index(scope, 'n')}, {self.index(scope, 'm')}]",
            lambda: f"A[{self.index(scope, 'n')}][{self.index(scope, 'm')}]",
            lambda: f"x[at[{self.index(scope, 'n')}]]",
        )

    def float(self, scope: Scope, depth: int) -> str:
        """An expression of floats."""
        if depth == 0 or self.rng.random() < 0.1:
            return self.one_of(
                lambda: self.rng.choice(scope.floats),
                lambda: repr(round(self.rng.uniform(-4, 4), 2)),
                lambda: self.element(scope),
            )
        part = lambda: self.float(scope, depth - 1)  # noqa: E731
        return self.one_of(
            lambda: f"({part()} {self.rng.choice('+-*')} {part()})",
            lambda: f"({part()} {self.rng.choice('+-*')} {self.int(scope, depth - 1)})",
            lambda: f"({part()} / (abs({part()}) + 1.5))",
            lambda: f"({self.int(scope, depth - 1)} / (abs({self.int(scope, depth - 1)}) + 1))",
            lambda: f"((abs({part()}) + 0.5) ** {self.rng.choice((0, 1, 3, -2, 1.5))})",
            lambda: f"float({self.rng.choice(_ANY_FLOAT)}({part()}))",
            lambda: f"math.{self.rng.choice(('sqrt', 'log1p'))}(abs({part()}))",
            lambda: f"math.exp(math.sin({part()}))",
            lambda: f"{self.rng.choice(('min', 'max', 'math.atan2', 'math.copysign'))}({part()}, {part()})",
            lambda: f"({part()} if {self.bool(scope, depth - 1)} else {part()})",
            lambda: f"float({self.int(scope, depth - 1)})",
            lambda: f"float(sum({self.vector(scope)}))",
        )

    def slice(self, scope: Scope) -> str:
        """A subscript that gives a part of a dimension."""
        bound = lambda: self.one_of(lambda: "", lambda: str(self.rng.randint(-4, 4)), lambda: self.int(scope, 1))  # noqa: E731
        return self.one_of(
            lambda: ":", lambda: f"{bound()}:{bound()}", lambda: f"{bound()}:{bound()}:2", lambda: "1:-1"
        )

    def vector(self, scope: Scope) -> str:
        """An expression of an array of one dimension."""
        leaf = lambda: self.rng.choice(("x", "y", "x[:]", "A[:, 0]", "y[:n]", "at * 1.0"))  # noqa: E731
        part = self.slice(scope)
        return self.one_of(
            leaf,
            lambda: f"({leaf()} {self.rng.choice('+-*')} {leaf()})",
            lambda: f"({self.float(scope, 0)} * {leaf()})",
            lambda: f"(x[{part}] - y[{part}])",
            lambda: f"np.where({leaf()} > {self.float(scope, 0)}, {leaf()}, {leaf()})",
            lambda: f"np.sin(x[{part}])",
        )

    # Statements.

    def block(self, scope: Scope) -> list[str]:
        """A few statements, as lines; they declare variables in `scope`."""
        return [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(scope)]

    def inside(self, scope: Scope) -> list[str]:
        return ["    " + line for line in self.block(scope)]

    def statement(self, scope: Scope) -> list[str]:
        """A statement, as lines."""
        simple = (self.set_float, self.set_float, self.set_int, self.set_bool, self.store, self.store, self.update,
                  self.assign_part, self.swap)  # fmt: skip
        nested = (self.branch, self.branch, self.loop, self.loop, self.loop, self.while_loop)
        return self.rng.choice((*simple, *nested) if scope.depth < 3 else simple)(scope)

    def target(self, pool: list[str], stem: str) -> str:
        """A variable to set: an old one, or a new one."""
        name = self.rng.choice([*(name for name in pool if name not in ("n", "m")), f"{stem}{len(pool)}"])
        if name not in pool:
            pool.append(name)
        return name

    def set_float(self, scope: Scope) -> list[str]:
        value = self.float(scope, 2)
        return [f"{self.target(scope.floats, 't')} = {value}"]

    def set_int(self, scope: Scope) -> list[str]:
        value = self.int(scope, 2)
        return [f"{self.target(scope.ints, 'k')} = ({value}) % 50 - 20"]

    def set_bool(self, scope: Scope) -> list[str]:
        value = self.bool(scope, 2)
        return [f"{self.target(scope.bools, 'c')} = {value}"]

    def store(self, scope: Scope) -> list[str]:
        return [f"{self.element(scope)} {self.rng.choice(('=', '+=', '-=', '*='))} {self.float(scope, 2)}"]

    def update(self, scope: Scope) -> list[str]:
        return [f"{self.rng.choice(scope.floats)} {self.rng.choice(('+=', '-=', '*='))} {self.float(scope, 2)}"]

    def assign_part(self, scope: Scope) -> list[str]:
        part, number = self.slice(scope), self.float(scope, 1)
        assignments = (
            f"x[{part}] = y[{part}] * 2.0", f"y[{part}] = y[{part}] + x[{part}]", f"x[{part}] = {number}",
            "x[1:] = x[:-1]", f"x[:-1] = x[1:] * {number}", "A[:, 0] = x + A[:, m - 1]", f"A[0] = A[n - 1] * {number}",
            f"y[:] = np.where(x > {number}, x, y)", f"A[...] = A * {number}", f"x[{part}] -= {number}", "y *= x",
            f"A[1:, 1:] = A[:-1, :-1] + {number}", f"y[:] = x * x[n - 1] + {number}",
        )  # fmt: skip
        return [self.rng.choice(assignments)]

    def swap(self, scope: Scope) -> list[str]:
        left, right = scope.floats[-1], scope.floats[-2]
        return [f"{left}, {right} = {right}, {left} + {self.float(scope, 1)}"]

    def branch(self, scope: Scope) -> list[str]:
        lines = [f"if {self.bool(scope, 2)}:", *self.inside(scope.inner())]
        if self.rng.random() < 0.4:
            lines += [f"elif {self.bool(scope, 2)}:", *self.inside(scope.inner())]
        if self.rng.random() < 0.5:
            lines += ["else:", *self.inside(scope.inner())]
        return lines

    def while_loop(self, scope: Scope) -> list[str]:
        counter = f"w{scope.depth}"
        head = [f"{counter} = 0", f"while {counter} < 3 and {self.bool(scope, 1)}:", f"    {counter} += 1"]
        return [*head, *self.inside(scope.inner(counter))]

    def loop(self, scope: Scope) -> list[str]:
        counter = f"i{scope.depth}"
        end = self.rng.choice(("n", "m", "3", "n - 1", "len(y)", *scope.counters))
        counted = self.rng.choice((end, f"1, {end}", f"0, {end}, 2", f"{end} - 1, -1, -1", f"{end}, 0, -2"))
        body = self.inside(scope.inner(counter))
        if self.rng.random() < 0.2:
            body.insert(0, f"    if {self.bool(scope.inner(counter), 1)}: continue")
        return [f"for {counter} in range({counted}):", *body]
