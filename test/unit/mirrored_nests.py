"""Random loop nests with tapes, forward and mirrored, as text: what `ad-differentiate` makes, without the calculus.

`@f(%n, %m, %out)` counts as it goes forward and pushes a distinct number each time; the mirrored sweep appends what it
pops to `out`, so `out` tells the order of every pop. Branch conditions are pushed and popped like any other value.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PARAMETERS = ("n", "m")


@dataclass
class Loop:
    """A loop over `variable` up to a parameter, a constant, or an outer loop's variable (a triangle)."""

    variable: str
    bound: str
    body: list[Statement]
    step: int = 1


@dataclass
class Branch:
    """A branch on a taped condition: whether the count is a multiple of `modulus`."""

    modulus: int
    tape: int
    then: list[Statement]
    otherwise: list[Statement]


@dataclass
class Push:
    """Push the count onto a tape of this type."""

    tape: int
    type: str


Statement = Loop | Branch | Push


@dataclass
class Writer:
    """Writes the two sweeps of a nest as MLIR."""

    lines: list[str] = field(default_factory=list)
    creates: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    """Each tape with its type and the bounds of the loops round its push."""
    most: dict[str, str] = field(default_factory=dict)
    """The largest bound of each loop variable in scope."""
    _fresh: int = 0

    def name(self, stem: str) -> str:
        self._fresh += 1
        return f"%{stem}.{self._fresh}"

    def emit(self, line: str, depth: int) -> None:
        self.lines.append("  " * depth + line)

    def count(self, type_: str, depth: int) -> str:
        """The next count, as a value of `type_`."""
        old, new, value = self.name("k"), self.name("k"), self.name("x")
        self.emit(f"{old} = memref.load %count[%c0] : memref<1xi64>", depth)
        self.emit(f"{new} = arith.addi {old}, %one : i64", depth)
        self.emit(f"memref.store {new}, %count[%c0] : memref<1xi64>", depth)
        match type_:
            case "f64" | "f32":
                self.emit(f"{value} = arith.sitofp {new} : i64 to {type_}", depth)
            case "i32":
                self.emit(f"{value} = arith.trunci {new} : i64 to i32", depth)
            case _:
                raise AssertionError(type_)
        return value

    def append(self, value: str, type_: str, depth: int) -> None:
        """Append `value` to `out`."""
        as_f64, at, after = self.name("y"), self.name("at"), self.name("at")
        match type_:
            case "f64":
                as_f64 = value
            case "f32":
                self.emit(f"{as_f64} = arith.extf {value} : f32 to f64", depth)
            case "i32":
                self.emit(f"{as_f64} = arith.sitofp {value} : i32 to f64", depth)
        self.emit(f"{at} = memref.load %end[%c0] : memref<1xindex>", depth)
        self.emit(f"memref.store {as_f64}, %out[{at}] : memref<?xf64>", depth)
        self.emit(f"{after} = arith.addi {at}, %c1 : index", depth)
        self.emit(f"memref.store {after}, %end[%c0] : memref<1xindex>", depth)

    def bound(self, loop: Loop, values: dict[str, str]) -> str:
        return values.get(loop.bound, f"%c{loop.bound}")

    def forward(self, body: list[Statement], bounds: tuple[str, ...], values: dict[str, str], depth: int) -> None:
        for statement in body:
            match statement:
                case Push(tape, type_):
                    self.creates.append((tape, type_, bounds))
                    value = self.count(type_, depth)
                    self.emit(f"tape.push {value} onto %tape_{tape} : !tape.tape<{type_}>", depth)
                case Branch(modulus, tape, then, otherwise):
                    self.creates.append((tape, "i1", bounds))
                    k, r, c = self.count("i32", depth), self.name("r"), self.name("c")
                    self.emit(f"{r} = arith.remui {k}, %m{modulus} : i32", depth)
                    self.emit(f"{c} = arith.cmpi eq, {r}, %zero : i32", depth)
                    self.emit(f"tape.push {c} onto %tape_{tape} : !tape.tape<i1>", depth)
                    self.emit(f"scf.if {c} {{", depth)
                    self.forward(then, bounds, values, depth + 1)
                    self.emit("} else {", depth)
                    self.forward(otherwise, bounds, values, depth + 1)
                    self.emit("}", depth)
                case Loop(variable, bound, inner, step):
                    v = self.name(variable)
                    self.emit(f"scf.for {v} = %c0 to {self.bound(statement, values)} step %c{step} {{", depth)
                    # In a triangle, the outer loop's bound is above each of the inner loop's.
                    most = self.most.get(bound, self.bound(statement, values))
                    self.most[variable] = most
                    self.forward(inner, (*bounds, most), values | {variable: v}, depth + 1)
                    self.emit("}", depth)

    def reverse(self, body: list[Statement], values: dict[str, str], depth: int) -> None:
        for statement in reversed(body):
            match statement:
                case Push(tape, type_):
                    x = self.name("x")
                    self.emit(f"{x} = tape.pop %tape_{tape} : !tape.tape<{type_}>", depth)
                    self.append(x, type_, depth)
                case Branch(_, tape, then, otherwise):
                    c = self.name("c")
                    self.emit(f"{c} = tape.pop %tape_{tape} : !tape.tape<i1>", depth)
                    self.emit(f"scf.if {c} {{", depth)
                    self.reverse(then, values, depth + 1)
                    self.emit("} else {", depth)
                    self.reverse(otherwise, values, depth + 1)
                    self.emit("}", depth)
                case Loop(variable, _, inner, step):
                    self.reverse_loop(statement, variable, inner, step, values, depth)

    def reverse_loop(
        self, loop: Loop, variable: str, inner: list[Statement], step: int, values: dict[str, str], depth: int
    ) -> None:
        ub, v_r, v = self.bound(loop, values), self.name(variable + "_r"), self.name(variable)
        up, trips, last, k = (self.name(stem) for stem in ("up", "trips", "last", "k"))
        self.emit(f"{up} = arith.addi {ub}, %c{step - 1} : index", depth)
        self.emit(f"{trips} = arith.divui {up}, %c{step} : index", depth)
        self.emit(f"scf.for {v_r} = %c0 to {trips} step %c1 {{", depth)
        self.emit(f"{last} = arith.subi {trips}, %c1 : index", depth + 1)
        self.emit(f"{k} = arith.subi {last}, {v_r} : index", depth + 1)
        self.emit(f"{v} = arith.muli {k}, %c{step} : index", depth + 1)
        self.reverse(inner, values | {variable: v}, depth + 1)
        self.emit("}", depth)


def text_of(nest: list[Statement], *, reserve: bool = True) -> str:
    """The function `@f` of `nest`."""
    values = {name: f"%{name}" for name in PARAMETERS}
    sweeps = Writer()
    sweeps.forward(nest, (), values, 2)
    sweeps.reverse(nest, values, 2)

    head = Writer()
    head.emit("func.func @f(%n: index, %m: index, %out: memref<?xf64>) -> index {", 1)
    for constant in range(8):
        head.emit(f"%c{constant} = arith.constant {constant} : index", 2)
    for modulus in (1, 2, 3):
        head.emit(f"%m{modulus} = arith.constant {modulus} : i32", 2)
    head.emit("%zero = arith.constant 0 : i32", 2)
    head.emit("%one = arith.constant 1 : i64", 2)
    head.emit("%none = arith.constant 0 : i64", 2)
    head.emit("%count = memref.alloca() : memref<1xi64>", 2)
    head.emit("%end = memref.alloca() : memref<1xindex>", 2)
    head.emit("memref.store %none, %count[%c0] : memref<1xi64>", 2)
    head.emit("memref.store %c0, %end[%c0] : memref<1xindex>", 2)
    for tape, type_, bounds in sweeps.creates:
        if not reserve:
            head.emit(f"%tape_{tape} = tape.create : !tape.tape<{type_}>", 2)
            continue
        product = "%c1"
        for bound in bounds:
            wider = head.name("most")
            head.emit(f"{wider} = arith.muli {product}, {bound} : index", 2)
            product = wider
        head.emit(f"%tape_{tape} = tape.create reserve {product} : !tape.tape<{type_}>", 2)
    sweeps.emit("%length = memref.load %end[%c0] : memref<1xindex>", 2)
    sweeps.emit("func.return %length : index", 2)
    sweeps.emit("}", 1)
    return "\n".join(["builtin.module {", *head.lines, *sweeps.lines, "}"])


@dataclass
class Grower:
    """Grows a random nest."""

    rng: random.Random
    tapes: int = 0

    def tape(self) -> int:
        self.tapes += 1
        return self.tapes

    def body(self, depth: int, variables: tuple[str, ...]) -> list[Statement]:
        statements = [self.statement(depth, variables) for _ in range(self.rng.randint(1, 2 if variables else 3))]
        if not variables and not any(isinstance(statement, Loop) for statement in statements):
            statements.append(self.loop(depth, variables))
        return statements

    def statement(self, depth: int, variables: tuple[str, ...]) -> Statement:
        kinds = ["push"] if depth == 0 else ["push", "push", "loop", "loop", "branch"]
        match self.rng.choice(kinds):
            case "push":
                return Push(self.tape(), self.rng.choice(("f64", "f64", "f32", "i32")))
            case "loop":
                return self.loop(depth, variables)
            case _:
                return Branch(
                    self.rng.choice((1, 2, 3)),
                    self.tape(),
                    self.body(depth - 1, variables),
                    self.body(depth - 1, variables) if self.rng.random() < 0.5 else [Push(self.tape(), "f64")],
                )

    def loop(self, depth: int, variables: tuple[str, ...]) -> Loop:
        bounds = [*PARAMETERS, *PARAMETERS, *(str(constant) for constant in (0, 1, 2, 5)), *variables[-1:]]
        variable = "ijkl"[len(variables)]
        return Loop(
            variable,
            self.rng.choice(bounds),
            self.body(max(depth - 1, 0), (*variables, variable)),
            self.rng.choice((1, 1, 1, 2)),
        )


def random_nest(seed: int) -> list[Statement]:
    """A nest of depth up to four, with at least one loop."""
    grower = Grower(random.Random(seed))
    return grower.body(4, ())
