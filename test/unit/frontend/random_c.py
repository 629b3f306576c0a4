"""Random C functions without undefined behaviour: every subscript, divisor and conversion is kept in range."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

X_EXTENT, K_EXTENT, A_ROWS, A_COLUMNS = 7, 5, 3, 4

PRELUDE = """
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#define CONST_N 3
static const double TABLE[4] = {0.5, -1.25, 3, 1e-3};
static double g(double p, int q) { double r = p; for (int i = 0; i < q % 4; i++) r = r * 0.5 + i; return r; }
static int g2(int p, int q) { return p < q ? p : q; }
static double h(int n, double v[n], double p) { for (int i = n - 1; i > 0; i--) v[i] += p * v[i - 1]; return v[0]; }
"""

SIGNATURE = (
    "double f(int n, long m, size_t z, double a, float b, "
    f"double x[{X_EXTENT}], const int k[{K_EXTENT}], double A[{A_ROWS}][{A_COLUMNS}])"
)


class Writer:
    """Writes one function; what is in scope is known by type."""

    def __init__(self, random: Random):
        self.random = random
        self.readable: dict[str, list[str]] = {
            "int": ["n"], "long": ["m"], "size_t": ["z"], "double": ["a"], "float": ["b"], "bool": [], "unsigned": [],
        }  # fmt: skip
        self.writable: dict[str, list[str]] = {name: list(variables) for name, variables in self.readable.items()}
        self.locked: set[str] = set()
        self.names = 0
        self.loops = 0

    # Expressions.

    def integer(self, depth: int) -> str:
        """An int of at most a few digits' size."""
        if depth == 0 or self.random.random() < 0.2:
            return self.small_integer()
        e, e2 = self.integer(depth - 1), self.integer(depth - 1)
        return self.choose(
            lambda: f"({e} {self.random.choice('+-*')} {e2})",
            lambda: f"({e} {self.random.choice('+-')} {e2})",
            lambda: f"({e} / (abs({e2}) + 1))",
            lambda: f"({e} % (abs({e2}) + 2))",
            lambda: f"({e} {self.random.choice('&|^')} {e2})",
            lambda: f"(-{e})",
            lambda: f"(~{e})",
            lambda: f"({self.condition(depth - 1)} ? {e} : {e2})",
            lambda: f"({self.condition(depth - 1)})",
            lambda: f"({e} >> {self.random.randrange(4)})",
            lambda: f"({e} * 4 << {self.random.randrange(3)}) / 4" if "-" not in e else e,
            lambda: f"g2({e}, {e2})",
            lambda: self.rounded(depth - 1),
        )

    def small_integer(self) -> str:
        return self.choose(
            lambda: f"({self.random.randrange(-9, 10)})",
            lambda: self.random.choice(["CONST_N", "(int)sizeof(double)"]),
            lambda: self.named("int"),
            lambda: f"(int)({self.named('long')} % 10)",
            lambda: f"(int)({self.named('size_t')} % 10)",
            lambda: f"(int)({self.named('unsigned')} % 10)",
            lambda: self.named("bool"),
            lambda: f"k[{self.subscript(K_EXTENT)}]",
        )

    def rounded(self, depth: int) -> str:
        e = self.real(depth)
        return f"(isfinite(1.0 * {e}) && fabs({e}) < 1e3 ? (int)({e}) : {self.small_integer()})"

    def subscript(self, extent: int) -> str:
        if self.random.random() < 0.4:
            return str(self.random.randrange(extent))
        name = self.named("int")
        return self.choose(
            lambda: f"abs({name}) % {extent}",
            lambda: f"({name} % {extent} + {extent}) % {extent}",
            lambda: f"{self.named('size_t')} % {extent}",
            lambda: f"{self.named('unsigned')} % {extent}u",
            lambda: f"abs({name} * 3 - {self.random.randrange(9)}) % {extent}",
        )

    def real(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.choose(
                lambda: self.random.choice(["0.5", "1.0", "(-2.25)", "1e-3f", "3", "0.1", "M_PI"]),
                lambda: self.named("double"),
                lambda: self.named("float"),
                lambda: self.named("int"),
                lambda: f"x[{self.subscript(X_EXTENT)}]",
                lambda: f"A[{self.subscript(A_ROWS)}][{self.subscript(A_COLUMNS)}]",
                lambda: f"TABLE[{self.subscript(4)}]",
            )
        e, e2 = self.real(depth - 1), self.real(depth - 1)
        return self.choose(
            lambda: f"({e} {self.random.choice('+-*')} {e2})",
            lambda: f"({e} {self.random.choice('+-*')} {e2})",
            lambda: f"({e} / {e2} * 1.0)",
            lambda: f"{self.random.choice(['sin', 'cos', 'tanh', 'fabs', 'sqrt', 'expf', 'floor'])}({e})",
            lambda: f"{self.random.choice(['fmax', 'fmin', 'atan2'])}({e}, {e2})",
            lambda: f"(-{e})",
            lambda: f"({self.condition(depth - 1)} ? {e} : {e2})",
            lambda: f"g({e}, {self.integer(depth - 1)})",
            lambda: f"(float)({e})",
            lambda: f"(double){self.integer(depth - 1)}",
        )

    def condition(self, depth: int) -> str:
        e, e2, r, r2 = (make(max(depth - 1, 0)) for make in (self.integer, self.integer, self.real, self.real))
        comparison = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        simple = self.choose(
            lambda: f"{e} {comparison} {e2}",
            lambda: f"{r} {comparison} {r2}",
            lambda: f"{self.named('unsigned')} {comparison} {e}",
            lambda: f"{self.named('size_t')} {comparison} {self.named('size_t')}",
            lambda: f"{self.named('long')} {comparison} {e}",
            lambda: e,
        )
        if depth == 0 or self.random.random() < 0.5:
            return simple
        other = self.condition(depth - 1)
        return self.choose(
            lambda: f"({simple}) && ({other})", lambda: f"({simple}) || ({other})", lambda: f"!({simple})"
        )

    def expression(self, type_name: str, depth: int) -> str:
        if type_name in ("double", "float"):
            return self.real(depth)
        if type_name == "bool":
            return self.condition(depth)
        return f"({self.integer(depth)}) % 50"

    def named(self, type_name: str) -> str:
        names = self.readable[type_name]
        return self.random.choice(names) if names else {"float": "0.5f"}.get(type_name, "2")

    def choose(self, *makers: Callable[[], str]) -> str:
        return self.random.choice(makers)()

    # Statements.

    def block(self, depth: int, indent: str) -> str:
        saved = {name: list(names) for name, names in self.readable.items()}
        saved_writable = {name: list(names) for name, names in self.writable.items()}
        text = "".join(self.statement(depth, indent) for _ in range(self.random.randrange(1, 4)))
        self.readable, self.writable = saved, saved_writable
        return text

    def statement(self, depth: int, indent: str) -> str:
        makers = [self.declare, self.assign, self.assign, self.store, self.store, self.call]
        if depth > 0:
            makers += [self.branch, self.loop, self.loop]
        return self.random.choice(makers)(depth, indent)

    def declare(self, depth: int, indent: str) -> str:
        type_name = self.random.choice(list(self.readable))
        value = self.expression(type_name, 2)
        self.names += 1
        name = f"v{self.names}"
        self.readable[type_name].append(name)
        const = self.random.random() < 0.3
        if not const:
            self.writable[type_name].append(name)
        return f"{indent}{'const ' if const else ''}{type_name} {name} = {value};\n"

    def assign(self, depth: int, indent: str) -> str:
        choices = [(t, name) for t, names in self.writable.items() for name in names if name not in self.locked]
        if not choices:
            return f"{indent};\n"
        type_name, name = self.random.choice(choices)
        value = self.expression(type_name, 2)
        if type_name in ("double", "float"):
            return f"{indent}{name} {self.random.choice(['=', '+=', '-=', '*='])} {value};\n"
        if type_name == "bool":
            return f"{indent}{name} = {value};\n"
        return self.choose(
            lambda: f"{indent}{name} = {value};\n",
            lambda: f"{indent}{name} += {value};\n{indent}{name} %= 60;\n",
            lambda: f"{indent}{name}{self.random.choice(['++', '--'])};\n{indent}{name} %= 60;\n",
            lambda: f"{indent}{name} {self.random.choice(['&=', '|=', '^='])} 13;\n{indent}{name} %= 60;\n",
        )

    def store(self, depth: int, indent: str) -> str:
        place = self.choose(
            lambda: f"x[{self.subscript(X_EXTENT)}]",
            lambda: f"A[{self.subscript(A_ROWS)}][{self.subscript(A_COLUMNS)}]",
        )
        return f"{indent}{place} {self.random.choice(['=', '=', '+=', '*='])} {self.real(2)};\n"

    def call(self, depth: int, indent: str) -> str:
        return self.choose(
            lambda: f"{indent}h({X_EXTENT}, x, {self.real(1).replace('x[', 'TABLE[0 * ')});\n",
            lambda: f"{indent}h({self.random.randrange(1, X_EXTENT)}, x, 0.25);\n",
            lambda: (
                f"{indent}a = h(abs({self.named('int')}) % {X_EXTENT} + 1, x, 0.5);\n" if "a" not in self.locked else ""
            ),
        )

    def branch(self, depth: int, indent: str) -> str:
        text = f"{indent}if ({self.condition(2)}) {{\n{self.block(depth - 1, indent + '  ')}{indent}}}"
        if self.random.random() < 0.5:
            text += f" else {{\n{self.block(depth - 1, indent + '  ')}{indent}}}"
        return text + "\n"

    def loop(self, depth: int, indent: str) -> str:
        """A loop of at most a few iterations; what bounds it is not assigned inside."""
        self.loops += 1
        i = f"i{self.loops}"
        counter = self.random.choice(["int", "int", "int", "long", "size_t", "unsigned"])
        unsigned = counter in ("size_t", "unsigned")
        if unsigned:
            low, high = (str(self.random.randrange(0, 3)), f"{self.named('size_t')} % 5")
        else:
            low, high = (f"{self.named('int')} % 3", f"{self.named('int')} % 6")
        step = self.random.randrange(1, 4)
        heads = [
            f"{i} = {low}; {i} < {high}; {i}++",
            f"{i} = {low}; {i} <= {high}; {i} += {step}",
            f"{i} = {low}; {high} > {i}; {i} = {i} + {step}",
            f"{i} = {high}; {i} > {low}; --{i}",
            f"{i} = {high}; {i}-- > {low};",
        ]
        if not unsigned:
            heads += [f"{i} = {high}; {i} >= {low}; {i} -= {step}", f"{i} = {low}; {i} < {high}; {i} += abs({low}) + 1"]
        head = self.random.choice(heads)
        outside = self.random.random() < 0.4
        text = f"{indent}{counter} {i} = 5;\n" if outside else ""
        locked = {name for names in self.readable.values() for name in names if name in head}
        newly = locked - self.locked
        self.locked |= newly
        self.readable[counter].append(i)
        text += f"{indent}for ({'' if outside else counter + ' '}{head}) {{\n"
        text += self.block(depth - 1, indent + "  ") + f"{indent}}}\n"
        self.locked -= newly
        if not outside:
            self.readable[counter].remove(i)
        elif self.random.random() < 0.5:
            self.writable[counter].append(i)
            text += f"{indent}{i} %= 60;\n"
        else:
            text += f"{indent}n = (int)(n + {i} % 40) % 60;\n" if "n" not in self.locked else ""
            self.readable[counter].remove(i)
        return text

    def function(self) -> str:
        body = "".join(self.statement(3, "  ") for _ in range(self.random.randrange(2, 6)))
        total = " + ".join(f"0.5 * {name}" for names in self.readable.values() for name in names)
        return f"{PRELUDE}\n{SIGNATURE} {{\n{body}  return {total};\n}}\n"


def function(random: Random) -> str:
    """The text of a random function `f` with the parameters of `SIGNATURE`."""
    return Writer(random).function()
