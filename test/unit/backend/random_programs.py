"""Random structured programs as MLIR text: what the C printer must get right whatever a compilation makes.

Values are carried round loops in any order (swapped, dropped, used after they were replaced), branches yield them,
arrays are read and overwritten, loop variables are turned round. Indices stay within arrays of `SIZE` elements.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SIZE = 7

Scope = dict[str, list[str]]
"""The values that can be used, by type."""


@dataclass
class Program:
    """Writes one function `@f<number>(%n: i32, %x: f64, %y: f64, %A: memref<7xf64>, %B: memref<7xf64>)`."""

    rng: random.Random
    number: int
    named: bool
    lines: list[str] = field(default_factory=list)
    _fresh: int = 0

    def name(self, stem: str) -> str:
        self._fresh += 1
        return f"%{stem}_{self._fresh}" if self.named else f"%{self._fresh}"

    def add(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def value(self, scope: Scope, type_: str) -> str:
        # The newest values more often, so that chains form.
        values = scope[type_]
        return values[-1] if self.rng.random() < 0.4 else self.rng.choice(values)

    def define(self, depth: int, scope: Scope, type_: str, stem: str, text: str) -> str:
        name = self.name(stem)
        location = f' loc("{self.rng.choice(["x", "t", "acc", "for"])}")' if self.rng.random() < 0.2 else ""
        self.add(depth, f"{name} = {text}{location}")
        scope[type_].append(name)
        return name

    def text(self) -> str:
        results = self.rng.randint(1, 3)
        scope: Scope = {"f64": ["%x", "%y"], "index": ["%c0", "%c1"], "i1": ["%true"], "i32": ["%n"]}
        self.add(1, "%c0 = arith.constant 0 : index")
        self.add(1, "%c1 = arith.constant 1 : index")
        self.add(1, "%c2 = arith.constant 2 : index")
        self.add(1, f"%size = arith.constant {SIZE} : index")
        self.add(1, "%true = arith.constant true")
        self.add(1, "%half = arith.constant 0.5 : f64")
        self.add(1, "%N = arith.index_cast %n : i32 to index")
        scope["f64"].append("%half")
        self.statements(1, scope, self.rng.randint(4, 9), 3)
        returned = [self.value(scope, "f64") for _ in range(results)]
        self.add(1, f"func.return {', '.join(returned)} : {', '.join(['f64'] * results)}")
        signature = "%n: i32, %x: f64, %y: f64, %A: memref<7xf64>, %B: memref<7xf64>"
        types = ", ".join(["f64"] * results)
        body = "\n".join(self.lines)
        return f"func.func @f{self.number}({signature}) -> ({types}) {{\n{body}\n}}\n"

    def statements(self, depth: int, scope: Scope, count: int, nesting: int) -> None:
        for _ in range(count):
            choices = ["arithmetic"] * 4 + ["load"] * 2 + ["store"] * 2 + ["compare", "select", "integer", "minimum"]
            if nesting:
                choices += ["loop"] * 3 + ["branch"] * 3
            getattr(self, self.rng.choice(choices))(depth, scope, nesting)

    def arithmetic(self, depth: int, scope: Scope, nesting: int) -> None:
        a, b = self.value(scope, "f64"), self.value(scope, "f64")
        op = self.rng.choice(["addf", "subf", "mulf", "mulf"])
        if op == "mulf":  # keep the numbers small
            b = "%half"
        if self.rng.random() < 0.1:
            self.define(depth, scope, "f64", "neg", f"arith.negf {a} : f64")
        self.define(depth, scope, "f64", "v", f"arith.{op} {a}, {b} : f64")

    def minimum(self, depth: int, scope: Scope, nesting: int) -> None:
        op = self.rng.choice(["minimumf", "maximumf", "minnumf", "maxnumf"])
        self.define(
            depth, scope, "f64", "m", f"arith.{op} {self.value(scope, 'f64')}, {self.value(scope, 'f64')} : f64"
        )

    def integer(self, depth: int, scope: Scope, nesting: int) -> None:
        index = self.index(depth, scope)
        cast = self.define(depth, scope, "i32", "k", f"arith.index_cast {index} : index to i32")
        if self.rng.random() < 0.5:
            cast = self.define(depth, scope, "i32", "k", f"arith.addi {cast}, {cast} : i32")
        self.define(depth, scope, "f64", "d", f"arith.sitofp {cast} : i32 to f64")

    def compare(self, depth: int, scope: Scope, nesting: int) -> None:
        if self.rng.random() < 0.3:
            a, b = self.value(scope, "index"), self.value(scope, "index")
            predicate = self.rng.choice(["eq", "ne", "slt", "sle", "sgt", "sge"])
            self.define(depth, scope, "i1", "c", f"arith.cmpi {predicate}, {a}, {b} : index")
            return
        predicate = self.rng.choice(["ogt", "olt", "oeq", "une", "uge", "ule", "one", "ord"])
        a, b = self.value(scope, "f64"), self.value(scope, "f64")
        answer = self.define(depth, scope, "i1", "c", f"arith.cmpf {predicate}, {a}, {b} : f64")
        if self.rng.random() < 0.3:
            op = self.rng.choice(["andi", "ori", "xori"])
            self.define(depth, scope, "i1", "c", f"arith.{op} {answer}, {self.value(scope, 'i1')} : i1")

    def select(self, depth: int, scope: Scope, nesting: int) -> None:
        self.define(
            depth,
            scope,
            "f64",
            "s",
            f"arith.select {self.value(scope, 'i1')}, {self.value(scope, 'f64')}, {self.value(scope, 'f64')} : f64",
        )

    def index(self, depth: int, scope: Scope) -> str:
        """An index within the arrays."""
        index = self.value(scope, "index")
        if self.rng.random() < 0.5:
            other = self.value(scope, "index")
            index = self.define(depth, scope, "index", "p", f"arith.addi {index}, {other} : index")
        return self.define(depth, scope, "index", "q", f"arith.remui {index}, %size : index")

    def load(self, depth: int, scope: Scope, nesting: int) -> None:
        array = self.rng.choice(["%A", "%B"])
        index = self.index(depth, scope)
        self.define(depth, scope, "f64", "l", f"memref.load {array}[{index}] : memref<7xf64>")

    def store(self, depth: int, scope: Scope, nesting: int) -> None:
        index = self.index(depth, scope)
        self.add(
            depth, f"memref.store {self.value(scope, 'f64')}, {self.rng.choice(['%A', '%B'])}[{index}] : memref<7xf64>"
        )

    def loop(self, depth: int, scope: Scope, nesting: int) -> None:
        carried = self.rng.randint(0, 3)
        initial = [self.value(scope, "f64") for _ in range(carried)]
        variable = self.name("i")
        arguments = [self.name("a") for _ in range(carried)]
        results = [self.name("r") for _ in range(carried)]
        bound = self.rng.choice(["%N", "%size", "%c2", "%c0"])
        step = self.rng.choice(["%c1", "%c1", "%c2"])
        head = f"{', '.join(results)} = " if results else ""
        types = ", ".join(["f64"] * carried)
        pairs = ", ".join(f"{argument} = {value}" for argument, value in zip(arguments, initial, strict=True))
        tail = f" iter_args({pairs}) -> ({types})" if carried else ""
        last = self.name("last")
        if turned := self.rng.random() < 0.4:
            self.add(depth, f"{last} = arith.subi {bound}, %c1 : index")
        self.add(depth, f"{head}scf.for {variable} = %c0 to {bound} step {step}{tail} {{")
        inner = {type_: list(values) for type_, values in scope.items()}
        inner["f64"] += arguments
        if turned:
            turned_variable = self.name("j")
            self.add(depth + 1, f"{turned_variable} = arith.subi {last}, {variable} : index")
            inner["index"].append(turned_variable)
            if self.rng.random() < 0.2:
                inner["index"].append(variable)
        else:
            inner["index"].append(variable)
        self.statements(depth + 1, inner, self.rng.randint(1, 4), nesting - 1)
        if carried:
            yielded = [self.rng.choice([*arguments, *inner["f64"][-4:]]) for _ in range(carried)]
            self.add(depth + 1, f"scf.yield {', '.join(yielded)} : {types}")
        self.add(depth, "}")
        scope["f64"] += results

    def branch(self, depth: int, scope: Scope, nesting: int) -> None:
        self.compare(depth, scope, nesting)
        condition = self.value(scope, "i1")
        count = self.rng.randint(0, 3)
        results = [self.name("b") for _ in range(count)]
        types = ", ".join(["f64"] * count)
        head = f"{', '.join(results)} = " if results else ""
        self.add(depth, f"{head}scf.if {condition}{f' -> ({types})' if count else ''} {{")
        for arm in range(2):
            inner = {type_: list(values) for type_, values in scope.items()}
            self.statements(depth + 1, inner, self.rng.randint(0, 2), nesting - 1)
            if count:
                yielded = [self.rng.choice([*scope["f64"], *inner["f64"][-3:]]) for _ in range(count)]
                self.add(depth + 1, f"scf.yield {', '.join(yielded)} : {types}")
            if arm == 0:
                self.add(depth, "} else {")
        self.add(depth, "}")
        scope["f64"] += results


def programs(seed: int, count: int) -> str:
    """A module of `count` random functions, `@f0` and on."""
    rng = random.Random(seed)
    return "\n".join(Program(rng, number, named=rng.random() < 0.5).text() for number in range(count))
