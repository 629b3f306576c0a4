"""Draws random structured programs: one seed and one set of features, one program.

Subscripts stay in bounds by construction, and what is stored is squashed by a bounded function, so values stay near
one however deep the nest. What may be drawn depends on the surface: C cannot say everything that MLIR can, nor the
other way round.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import struct_drawing
from struct_drawing import Known
from syntax import (
    COMPLEX,
    DOUBLE,
    FLOAT,
    Assign,
    AssignInteger,
    AssignStruct,
    Binary,
    Block,
    Call,
    Choice,
    Condition,
    Const,
    Convert,
    Copied,
    Declare,
    DeclareArray,
    DeclareInteger,
    Element,
    Expr,
    Field,
    For,
    FromInteger,
    Function,
    If,
    Integers,
    Invoke,
    Leave,
    Less,
    Logic,
    Parameter,
    Place,
    PointTo,
    Program,
    Return,
    Scalar,
    Stmt,
    Struct,
    Switch,
    View,
    Walk,
    While,
)

UNARY = ("sin", "cos", "tanh", "exp", "sqrt", "log", "fabs", "atan", "log1p", "expm1", "cbrt", "erf")
POSITIVE = ("sqrt", "log", "log1p", "cbrt")
BINARY = ("fmax", "fmin", "atan2", "pow")
COMMON = frozenset(
    {"float", "gather", "functions", "recursion", "integers", "ranks", "logic", "batch", "sizes", "outputs"}
)
C_FEATURES = COMMON | {"while", "do", "switch", "break", "continue", "return", "views", "structs", "walks", "complex"}
IR_FEATURES = COMMON | {"while", "do", "switch", "views"}
FEATURES = {"c": C_FEATURES, "ir": IR_FEATURES}
SHARES = {"batch": 0.15, "outputs": 0.2, "sizes": 0.1, "complex": 0.2, "structs": 0.3, "walks": 0.3}
"""Of the programs that may have a feature how many do; half of them for others."""


UNBOUNDED = frozenset({"while", "do", "break", "return", "integers", "structs"})
"""What makes counters of loops of which no bound is known: an array cannot have a size computed from these."""

LEVELS = "levels"
"""The parameter of a recursive function that says how often it may call itself."""


@dataclass(frozen=True)
class Range:
    """What is known of an integer: low <= it < extent - high."""

    extent: str
    low: int = 0
    high: int = 0


@dataclass(frozen=True)
class Array:
    """An array in scope."""

    name: str
    extents: tuple[str, ...]
    type: str
    writable: bool = True


@dataclass(frozen=True)
class Scope:
    """What a statement can name."""

    scalars: tuple[Scalar, ...] = ()
    arrays: tuple[Array, ...] = ()
    structs: tuple[Known, ...] = ()
    complex: tuple[Scalar, ...] = ()
    integers: dict[str, Range] = field(default_factory=dict)
    mutable_integers: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    """The kinds of the loops around, inmost last."""

    def full(self, extent: str) -> bool:
        """Whether an array of this extent has elements wherever this scope is reached."""
        return (
            extent.isdecimal()
            or extent == "*"
            or " + " in extent
            or any(self.integers[name].extent == extent for name in self.counters)
        )


@dataclass
class Generator:
    """Draws programs; one seed, one program."""

    seed: int
    surface: str = "c"
    size: int = 12
    without: Iterable[str] = ()
    rng: random.Random = field(init=False)
    names: int = 0
    left: int = 0
    favourite: str = ""
    functions: list[Function] = field(default_factory=list)
    features: frozenset[str] = frozenset()
    structs: tuple[Struct, ...] = ()

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.surface} {self.seed}")
        allowed = sorted(FEATURES[self.surface] - set(self.without))
        # A program with a few features is more likely to use each of them than a program with all.
        self.features = frozenset(name for name in allowed if self.rng.random() < SHARES.get(name, 0.5))
        if "sizes" in self.features:
            self.features -= UNBOUNDED

    # Programs

    def program(self) -> Program:
        """A whole program."""
        if "structs" in self.features:
            self.structs = struct_drawing.struct_types(self.rng, self._type())
        parameters = self._parameters()
        if "functions" in self.features:
            self.functions.append(self._function())
        self.favourite = self.rng.choice([p.name for p in parameters if p.extents and p.type != "int"])
        self.left = self.rng.randint(self.size // 2, self.size)
        body, scope = self._body(scope_of(parameters, self.structs), 2 + (self.rng.random() < 0.4))
        value = self._result(scope)
        floats = [p.name for p in parameters if p.type != "int"]
        wrt = tuple(name for name in floats if self.rng.random() < 0.8) or (floats[0],)
        used = tuple(f for f in self.functions if mentions(body, f.name) or mentions(value, f.name))
        written = names_written(body)
        members = self.rng.randint(2, 4) if "batch" in self.features else 0
        parameters = tuple(replace(p, const=_is_const(p, written)) for p in parameters)
        left_out = tuple(
            p.name for p in parameters if p.name in written and "outputs" in self.features and self.rng.random() < 0.6
        )
        return Program(parameters, wrt, body, value, used, self.structs, members, left_out)

    def _parameters(self) -> tuple[Parameter, ...]:
        parameters = [Parameter("n", "int"), Parameter("m", "int"), Parameter("x", DOUBLE, ("n",))]
        shapes: list[tuple[str, ...]] = [("n",), ("m",), ("n", "m"), ("4",), ("1",), ("m", "4")]
        if "ranks" in self.features:
            shapes += [("n", "m", "4"), ("n", "4", "m", "2"), ("2", "n", "n")]
        for name in ("A", "b", "y")[: self.rng.randint(1, 3)]:
            parameters.append(Parameter(name, self._type(), self.rng.choice(shapes)))
        for name in ("B", "o")[: self.rng.randint(1, 2) if self.structs else 0]:
            extents = self.rng.choice([(), ("*",), ("n",), ("n",), ("m",), ("4",), ("n", "m")])
            type_ = self.rng.choice(struct_drawing.uniform(self.structs))
            parameters.append(Parameter(name, type_, extents))
        if "complex" in self.features:
            parameters.append(Parameter("Z", COMPLEX, self.rng.choice([("n",), ("m",), ("4",), ("n", "m")])))
        if "gather" in self.features:
            parameters.append(Parameter("p", "int", (self.rng.choice(("n", "m")),), const=True))
        parameters.append(Parameter("s", self._type()))
        return tuple(parameters)

    def _type(self) -> str:
        return FLOAT if "float" in self.features and self.rng.random() < 0.5 else DOUBLE

    def _function(self) -> Function:
        """A function of two numbers, perhaps an array or structs that it may change; it may return a struct."""
        name = self._fresh("g")
        parameters = [Parameter("n", "int")]
        recursive = "recursion" in self.features and self.rng.random() < 0.6
        if recursive:
            parameters.append(Parameter(LEVELS, "int"))
        if self.rng.random() < 0.5:
            parameters.append(Parameter("v", DOUBLE, ("n",)))
        names = [struct.name for struct in self.structs]
        for struct in ("a", "b")[: self.rng.randint(0, 2) if names else 0]:
            parameters.append(Parameter(struct, self.rng.choice(names), self.rng.choice([(), ("*",)])))
        parameters += [Parameter("s", DOUBLE), Parameter("r", DOUBLE)]
        self.left = 3
        returns = self.rng.choice([DOUBLE, DOUBLE, *names]) if not recursive else DOUBLE
        features, self.features = self.features, self.features - {"gather", "functions"}
        if returns != DOUBLE:
            self.features -= {"return"}
        body, scope = self._body(scope_of(parameters, self.structs), 1)
        if recursive:
            body += (self._recursion(Function(name, tuple(parameters), (), Const(0.0)), scope),)
        value = Call("sin", (self._result(scope),)) if returns == DOUBLE else self._compound(scope, returns)
        self.features = features
        return Function(name, tuple(parameters), body, value)

    def _recursion(self, function: Function, scope: Scope) -> Stmt:
        """Calls of `function` by itself, one or, in a loop, several; those reach one level less deep.

        It hands on its own array and structs.
        """
        floats = tuple(
            Convert(self._leaf(scope), DOUBLE) for p in function.parameters if p.type == DOUBLE and not p.extents
        )
        arrays = tuple(p.name for p in function.parameters if p.extents and p.type == DOUBLE)
        structs = tuple(
            Place(p.name, pointer=True) if p.extents else Copied(Place(p.name), p.type)
            for p in function.parameters
            if p.type not in (DOUBLE, FLOAT, "int")
        )
        call = Invoke(function.name, floats, ("n", f"{LEVELS} - 1"), arrays, structs)
        result = self._fresh("t")
        used = Binary("*", Const(0.5), Scalar(result))
        statements: Block = (Declare(result, call), Assign(self._scalar(scope, writable=True), "+=", used))
        if self.rng.random() < 0.4:
            statements = (For(self._fresh("i"), "0", "2", 1, statements),)
        return If(Integers("<", "0", LEVELS), statements)

    def _body(self, scope: Scope, depth: int) -> tuple[Block, Scope]:
        body: list[Stmt] = []
        scope = self._declare(scope, body)
        while self.left > 0:
            scope = self._statement(scope, depth, body)
        return tuple(body), scope

    def _result(self, scope: Scope) -> Expr:
        value: Expr = scope.scalars[-1]
        for scalar in scope.scalars[:-1]:
            value = Binary("+", value, Binary("*", Const(self._number(0.5, 2.0)), scalar))
        for scalar in scope.complex:
            value = Binary("+", value, Call(self.rng.choice(("creal", "cimag")), (scalar,)))
        for known in scope.structs:
            value = Binary("+", value, self._field(scope, known.place, known.type))
        for array in scope.arrays:
            if self.rng.random() < 0.4 and (place := self._element(scope, (array,))):
                value = Binary("+", value, place)
        return value if value.type == DOUBLE else Convert(value, DOUBLE)

    def _fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def _number(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 2)

    # Statements

    def _block(self, scope: Scope, depth: int, most: int = 3) -> Block:
        body: list[Stmt] = []
        for _ in range(self.rng.randint(1, most)):
            scope = self._statement(scope, depth, body)
            if self.left <= 0 or (body and isinstance(body[-1], Leave)):
                break
        return tuple(body)

    def _statement(self, scope: Scope, depth: int, body: list[Stmt]) -> Scope:
        """Append a statement (or several that belong together) to `body`; the scope after them."""
        self.left -= 1
        roll = self.rng.random()
        if depth and roll < 0.4:
            body.append(self._walk(scope, depth - 1) or self._for(scope, depth - 1))
        elif depth and roll < 0.47 and self.features & {"while", "do"}:
            body.append(self._while(scope, depth - 1))
        elif depth and roll < 0.6:
            then = self._block(scope, depth - 1)
            otherwise = self._block(scope, depth - 1) if self.rng.random() < 0.5 else ()
            body.append(If(self._condition(scope), then, otherwise))
        elif depth and roll < 0.64 and "switch" in self.features:
            body.append(self._switch(scope, depth - 1))
        elif roll < 0.67 and (exit := self._exit(scope)):
            body.append(exit)
        elif roll < 0.75:
            return self._declare(scope, body)
        elif roll < 0.80 and "integers" in self.features:
            return self._integer(scope, body)
        elif roll < 0.84 and "views" in self.features and (view := self._view(scope)):
            body.append(view)
            return replace(scope, arrays=(*scope.arrays, Array(view.name, (view.extent,), view.type)))
        elif roll < 0.9 and self.structs:
            return self._struct_statement(scope, body)
        elif roll < 0.9 and depth:
            return self._reread(scope, body) if self.rng.random() < 0.5 else self._layer(scope, body)
        elif roll < 0.95 and "complex" in self.features:
            return self._complex_statement(scope, body)
        else:
            body.append(self._assign(scope))
        return scope

    def _declare(self, scope: Scope, body: list[Stmt]) -> Scope:
        if self.rng.random() < 0.25:
            name, type_ = self._fresh("d"), self._type()
            extents = self.rng.choice([("n",), ("m",), ("4",), ("n + 2",), ("m", "4"), ("1",)])
            if any(part in ("m", "m + 2") for part in extents) and "m" not in scope.integers:
                extents = ("n",)
            if "sizes" in self.features and scope.counters and self.rng.random() < 0.7:
                extents = (f"{self.rng.choice(scope.counters)} + 1", *self.rng.choice([(), ("4",)]))
            body.append(DeclareArray(name, extents, self._expr(self._filling(scope, extents), 2), type_))
            return replace(scope, arrays=(*scope.arrays, Array(name, extents, type_)))
        name, type_ = self._fresh("t"), self._type()
        call = self._invoke(scope, with_array=True) if self.rng.random() < 0.4 else None
        body.append(Declare(name, call or self._expr(scope, 1), type_))
        return replace(scope, scalars=(*scope.scalars, Scalar(name, type_)))

    def _filling(self, scope: Scope, extents: tuple[str, ...]) -> Scope:
        """`scope` in the loops that fill a new array."""
        counters = {f"k{axis}": Range(extent) for axis, extent in enumerate(extents) if extent.isalnum()}
        return replace(scope, integers={**scope.integers, **counters}, counters=(*scope.counters, *counters))

    def _reread(self, scope: Scope, body: list[Stmt]) -> Scope:
        """A sum that reads one element over and over, which is, perhaps, overwritten behind it."""
        target = self._element(scope, [array for array in scope.arrays if array.writable])
        if target is None:
            body.append(self._assign(scope))
            return scope
        counter = self._fresh("i")
        times = Binary("*", Const(0.25), FromInteger(counter))
        term = Binary("*", Const(0.3), Call("sin", (Binary("*", target, times),)))
        body.append(
            For(counter, "0", self._extent(scope), 1, (Assign(self._scalar(scope, writable=True), "+=", term),))
        )
        if self.rng.random() < 0.8:
            overwrite = Assign(target, "=", Call("sin", (Binary("*", target, target),)))
            body.append(If(self._condition(scope), (overwrite,)) if self.rng.random() < 0.4 else overwrite)
        return scope

    def _layer(self, scope: Scope, body: list[Stmt]) -> Scope:
        """Loops that read the elements of an array over and over, which a loop behind them, perhaps, overwrites."""
        arrays = [array for array in scope.arrays if array.writable]
        if not arrays:
            body.append(self._assign(scope))
            return scope
        array, (outer, around) = self.rng.choice(arrays), self._counted(scope)
        for _ in range(12):
            inner, within = self._counted(around)
            element = self._element(within, [array])
            if element is not None and follows(element, inner.counter):
                break
        else:
            body.append(self._assign(scope))
            return scope
        times = Binary("*", Const(0.25), FromInteger(outer.counter))
        term = Binary("*", Const(0.3), Call("sin", (Binary("*", element, times),)))
        read: Stmt = Assign(self._scalar(scope, writable=True), "+=", term)
        if self.rng.random() < 0.2:
            read = If(self._condition(within), (read,))
        body.append(replace(outer, body=(replace(inner, body=(read,)),)))
        behind, scope_behind = self._counted(scope)
        target = self._element(scope_behind, [array])
        if target is not None and self.rng.random() < 0.9:
            overwrite = Assign(target, "=", Call("sin", (Binary("*", target, target),)))
            body.append(replace(behind, body=(overwrite,)))
        return scope

    def _integer(self, scope: Scope, body: list[Stmt]) -> Scope:
        """An integer variable in [0, extent), new or assigned."""
        assignable = [name for name in scope.mutable_integers if scope.full(scope.integers[name].extent)]
        if assignable and self.rng.random() < 0.7:
            name = self.rng.choice(assignable)
            value = f"({name} * {self.rng.randint(1, 3)} + {self._some_integer(scope)})"
            body.append(AssignInteger(name, f"{value} % {scope.integers[name].extent}"))
            return scope
        name, extent = self._fresh("q"), self._extent(scope)
        body.append(DeclareInteger(name, "0"))
        integers = {**scope.integers, name: Range(extent)}
        return replace(scope, integers=integers, mutable_integers=(*scope.mutable_integers, name))

    def _some_integer(self, scope: Scope) -> str:
        return self.rng.choice((*scope.integers, str(self.rng.randint(0, 3)), *scope.counters))

    def _extent(self, scope: Scope) -> str:
        return self.rng.choice(("n", "n", "m", "m", "4")) if "m" in scope.integers else self.rng.choice(("n", "4"))

    def _for(self, scope: Scope, depth: int) -> Stmt:
        loop, inner = self._counted(scope)
        return replace(loop, body=self._block(inner, depth))

    def _counted(self, scope: Scope) -> tuple[For, Scope]:
        """A counted loop with nothing in it, and the scope in it."""
        counter, extent = self._fresh("i"), self._extent(scope)
        last = f"{extent} - 1"
        start, until, step, known = self.rng.choice(
            [
                ("0", extent, 1, Range(extent)),
                ("0", extent, 1, Range(extent)),
                ("1", extent, 1, Range(extent, 1)),
                ("1", last, 1, Range(extent, 1, 1)),
                ("0", extent, 2, Range(extent)),
                ("1", extent, 3, Range(extent, 1)),
                (last, "-1", -1, Range(extent)),
                (last, "0", -2, Range(extent, 1)),
                ("0", f"{extent} - 2", 1, Range(extent, 0, 2)),
                *((outer, of.extent, 1, Range(of.extent, of.low)) for outer, of in self._countable(scope)),
                *(("0", outer, 1, Range(of.extent, 0, of.high + 1)) for outer, of in self._countable(scope)),
                *(("0", f"{outer} + 1", 1, Range(of.extent, 0, of.high)) for outer, of in self._countable(scope)),
                *((outer, "-1", -1, Range(of.extent, 0, of.high)) for outer, of in self._countable(scope)),
            ]
        )
        inner = replace(
            scope,
            integers={**scope.integers, counter: known},
            counters=(*scope.counters, counter),
            loops=(*scope.loops, "for"),
        )
        return For(counter, start, until, step, ()), inner

    def _walk(self, scope: Scope, depth: int) -> Stmt | None:
        """A loop that moves a pointer over an array."""
        arrays = [a for a in scope.arrays if a.type != "int" and len(a.extents) == 1 and a.extents != ("*",)]
        if "walks" not in self.features or not arrays or self.rng.random() < 0.4:
            return None
        array, pointer, counter = self.rng.choice(arrays), self._fresh("h"), self._fresh("i")
        way = self.rng.choice(("up", "down", "beside"))
        const = not array.writable or self.rng.random() < 0.3
        inner = replace(
            scope,
            arrays=(*scope.arrays, Array(pointer, ("*",), array.type, not const)),
            loops=(*scope.loops, "for"),
        )
        if way == "beside":
            integers = {**scope.integers, counter: Range(array.extents[0])}
            inner = replace(inner, integers=integers, counters=(*scope.counters, counter))
        return Walk(pointer, array.name, array.extents[0], array.type, self._block(inner, depth), way, counter, const)

    def _countable(self, scope: Scope) -> list[tuple[str, Range]]:
        """Integers in [0, extent)."""
        return [(name, of) for name, of in scope.integers.items() if name not in ("n", "m") and scope.full(of.extent)]

    def _while(self, scope: Scope, depth: int) -> Stmt:
        counter = self._fresh("w")
        first = "do" in self.features and ("while" not in self.features or self.rng.random() < 0.5)
        extent = self._extent(scope)
        # The counter counts before the body uses it: it is in [1, extent] there, and `counter - 1` is a subscript.
        inner = replace(scope, loops=(*scope.loops, "while"))
        if not first:
            integers = {**scope.integers, f"({counter} - 1)": Range(extent)}
            inner = replace(inner, integers=integers, counters=(*scope.counters, f"({counter} - 1)"))
        condition = self._condition(scope)
        if self.rng.random() < 0.3:
            condition = Integers("<", "0", "1")
        return While(counter, extent, condition, self._block(inner, depth), first)

    def _switch(self, scope: Scope, depth: int) -> Stmt:
        cases = tuple(self._block(scope, depth, 2) for _ in range(self.rng.randint(1, 3)))
        selector = f"({self._some_integer(scope)} + {self._some_integer(scope)}) % 4"
        return Switch(selector, cases, self._block(scope, depth, 2) if self.rng.random() < 0.7 else ())

    def _exit(self, scope: Scope) -> Stmt | None:
        """A guarded `break`, `continue` or `return`."""
        words = [word for word in ("break", "continue") if word in self.features and scope.loops]
        if "return" in self.features:
            words.append("return")
        if not words:
            return None
        word = self.rng.choice(words)
        leave = Return(Convert(self._expr(scope, 1), DOUBLE)) if word == "return" else Leave(word)
        before = (self._assign(scope),) if self.rng.random() < 0.3 else ()
        return If(self._condition(scope), (*before, leave))

    def _view(self, scope: Scope) -> View | None:
        for array in scope.arrays:
            if len(array.extents) == 2 and array.writable and (row := self._subscript(scope, array.extents[0])):
                return View(self._fresh("v"), array.name, row, array.extents[1], array.type)
        return None

    # Complex numbers

    def _complex_leaf(self, scope: Scope) -> Expr:
        if element := self._complex_element(scope, scope.arrays):
            return element
        if scope.complex and self.rng.random() < 0.8:
            return self.rng.choice(scope.complex)
        real, imaginary = Const(self._number(-1.5, 1.5)), self._scalar(scope)
        return Call("CMPLX", (real, Convert(imaginary, DOUBLE)))

    def _complex_element(self, scope: Scope, arrays: Iterable[Array]) -> Element | None:
        arrays = [array for array in arrays if array.type == COMPLEX]
        if not arrays or self.rng.random() < 0.4:
            return None
        array = self.rng.choice(arrays)
        subscripts = [self._subscript(scope, extent) for extent in array.extents]
        places = tuple(subscript for subscript in subscripts if subscript is not None)
        return Element(array.name, places, COMPLEX) if len(places) == len(subscripts) else None

    def _complex(self, scope: Scope, depth: int) -> Expr:
        """A complex number; a real operand stays real in C."""
        roll = self.rng.random()
        if depth == 0 or roll < 0.15:
            return self._complex_leaf(scope)
        value = self._complex(scope, depth - 1)
        if roll < 0.5:
            return Binary(self.rng.choice(("+", "-", "*", "*")), value, self._complex(scope, depth - 1))
        if roll < 0.6:
            return Call("conj", (value,))
        if roll < 0.7:
            return Choice(self._condition(scope), value, self._complex(scope, depth - 1))
        real = Convert(self._leaf(scope), DOUBLE)
        if roll < 0.8:
            return Binary("/", value, Binary("+", Const(1.5), Binary("*", real, real)))
        if roll < 0.9:
            return Binary(self.rng.choice(("+", "*")), real, value)
        return Binary(self.rng.choice(("+", "-", "*")), value, real)

    def _complex_statement(self, scope: Scope, body: list[Stmt]) -> Scope:
        """A complex variable or array declared, or one assigned; what is stored is not large."""
        value = self._complex(scope, 2)
        square = Call("creal", (Binary("*", value, Call("conj", (value,))),))
        small = Binary("/", value, Binary("+", Const(1.5), square))
        if self.rng.random() < 0.3:
            length = Call("cabs", (Binary("+", Const(1.5), Binary("*", value, Call("conj", (value,)))),))
            small = Binary("/", value, length)
        roll = self.rng.random()
        target = self._complex_element(scope, [array for array in scope.arrays if array.writable])
        if target is None and scope.complex and roll < 0.6:
            target = self.rng.choice(scope.complex)
        if target is not None and roll < 0.7:
            op = self.rng.choice(("=", "=", "+=", "-=", "*="))
            body.append(Assign(target, op, small if op != "*=" else Binary("+", Const(1.0), small)))
            return scope
        if roll > 0.9:
            name, extents = self._fresh("d"), self.rng.choice([("n",), ("4",), ("n + 2",)])
            body.append(DeclareArray(name, extents, small, COMPLEX))
            return replace(scope, arrays=(*scope.arrays, Array(name, extents, COMPLEX)))
        name = self._fresh("z")
        body.append(Declare(name, small, COMPLEX))
        return replace(scope, complex=(*scope.complex, Scalar(name, COMPLEX)))

    # Structs

    def _compound(self, scope: Scope, type_: str) -> Expr:
        def number(of: str) -> Expr:
            value = self._leaf(scope) if self.rng.random() < 0.5 else Call("sin", (self._leaf(scope),))
            return value if value.type == of else Convert(value, of)

        return struct_drawing.compound(type_, self.structs, number, lambda: str(self.rng.randint(0, 3)))

    def _field(self, scope: Scope, place: Place, type_: str) -> Field:
        return struct_drawing.field(place, type_, self.structs, self.rng, lambda extent: self._within(scope, extent))

    def _within(self, scope: Scope, extent: int) -> str:
        """A subscript of an array in a struct."""
        if self.rng.random() < 0.5 or not scope.counters:
            return str(self.rng.randrange(extent))
        return f"{self.rng.choice(scope.counters)} % {extent}"

    def _known(self, scope: Scope, type_: str | None = None, writable: bool = False) -> Known | None:
        """A struct in scope, of a type if one is given."""
        candidates = [known for known in scope.structs if known.writable or not writable]
        for array in scope.arrays:
            if array.type in (DOUBLE, FLOAT, COMPLEX, "int") or (writable and not array.writable):
                continue
            subscripts = [self._subscript(scope, extent) for extent in array.extents]
            if all(subscript is not None for subscript in subscripts):
                place = element_place(array, tuple(subscript for subscript in subscripts if subscript is not None))
                candidates.append(Known(place, array.type, array.writable))
        found = [
            inner
            for known in candidates
            for inner in struct_drawing.inside(known, self.structs, lambda extent: self._within(scope, extent))
            if inner.type == type_ or type_ is None
        ]
        return self.rng.choice(found) if found else None

    def _struct_statement(self, scope: Scope, body: list[Stmt]) -> Scope:
        """A struct or an array of them declared, one assigned, or a pointer to one."""
        roll = self.rng.random()
        if roll < 0.35 and (target := self._known(scope, writable=True)):
            source = self._known(scope, target.type) if self.rng.random() < 0.6 else None
            value = Copied(source.place, source.type) if source else self._compound(scope, target.type)
            body.append(AssignStruct(target.place, value))
            return scope
        if roll < 0.55 and (known := self._known(scope)):
            name, const = self._fresh("h"), not known.writable or self.rng.random() < 0.3
            body.append(PointTo(name, known.place, known.type, const))
            pointed = Known(Place(name, pointer=True), known.type, not const)
            return replace(scope, structs=(*scope.structs, pointed))
        type_ = self.rng.choice(self.structs).name
        name = self._fresh("e")
        if roll < 0.7:
            extents = self.rng.choice([("n",), ("4",), ("1",)])
            body.append(DeclareArray(name, extents, self._compound(scope, type_), type_))
            return replace(scope, arrays=(*scope.arrays, Array(name, extents, type_)))
        source = self._known(scope, type_) if roll < 0.8 else None
        value = Copied(source.place, type_) if source else self._compound(scope, type_)
        value = self._invoke(scope, self.rng.random() < 0.5, type_) or value
        body.append(Declare(name, value, type_))
        integers = {**scope.integers, f"{name}.kind": Range("4")} if type_ == "R" else scope.integers
        return replace(scope, structs=(*scope.structs, Known(Place(name), type_)), integers=integers)

    def _assign(self, scope: Scope) -> Stmt:
        target = self._scalar(scope, writable=True)
        if self.rng.random() < 0.6:
            target = self._element(scope, [a for a in scope.arrays if a.writable]) or target
        op = self.rng.choice(("=", "=", "=", "+=", "-=", "*="))
        value = Call("sin", (self._expr(scope, 2),))
        if op == "*=":
            return Assign(target, op, Binary("+", Const(1.0), Binary("*", Const(0.1), value)))
        if op == "=" and self.rng.random() < 0.3:
            # An overwrite that reads what it overwrites.
            return Assign(target, op, Binary("+", Binary("*", Const(0.4), target), Binary("*", Const(0.5), value)))
        return Assign(target, op, Binary("*", Const(0.3), value) if op in ("+=", "-=") else value)

    # Conditions

    def _condition(self, scope: Scope) -> Condition:
        roll = self.rng.random()
        if roll < 0.25 and "logic" in self.features:
            op = self.rng.choice(("&&", "||"))
            return Logic(op, self._condition(scope), self._condition(scope))
        if roll < 0.55 and scope.counters:
            left = f"{self._some_integer(scope)} % {self.rng.randint(2, 3)}"
            if self.rng.random() < 0.5:
                left = self._some_integer(scope)
            return Integers(self.rng.choice(("<", "<=", "==", "!=")), left, self._some_integer(scope))
        return Less(self._leaf(scope), Const(self._number(-0.5, 1.5)))

    # Expressions

    def _expr(self, scope: Scope, depth: int) -> Expr:
        if depth == 0 or self.rng.random() < 0.2:
            return self._leaf(scope)
        roll = self.rng.random()
        if roll < 0.5:
            op = self.rng.choice(("+", "-", "*", "*"))
            return Binary(op, self._expr(scope, depth - 1), self._expr(scope, depth - 1))
        if roll < 0.58:
            return Binary("/", self._expr(scope, depth - 1), self._positive(scope, depth - 1))
        if roll < 0.82:
            return self._call(scope, depth)
        if roll < 0.88 and (call := self._invoke(scope, with_array=False)):
            return call
        if roll < 0.91:
            return Convert(self._expr(scope, depth - 1), self._type())
        return Choice(self._condition(scope), self._expr(scope, depth - 1), self._expr(scope, depth - 1))

    def _call(self, scope: Scope, depth: int) -> Expr:
        if self.rng.random() < 0.2:
            function = self.rng.choice(BINARY)
            left = self._positive(scope, depth - 1) if function in ("pow", "atan2") else self._expr(scope, depth - 1)
            right = self._expr(scope, depth - 1)
            return Call(function, (left, Call("sin", (right,)) if function == "pow" else right))
        function = self.rng.choice(UNARY)
        if function in POSITIVE:
            return Call(function, (self._positive(scope, depth - 1),))
        argument = self._expr(scope, depth - 1)
        return Call(function, (Call("sin", (argument,)) if function in ("exp", "expm1") else argument,))

    def _invoke(self, scope: Scope, with_array: bool, returns: str = DOUBLE) -> Expr | None:
        """A call; of a function that changes an array only as a whole statement, for C leaves its order open else."""
        functions = [
            f for f in self.functions if any(p.extents for p in f.parameters) == with_array and f.returns == returns
        ]
        if not functions:
            return None
        function = self.rng.choice(functions)
        floats = tuple(
            Convert(self._leaf(scope), DOUBLE) for p in function.parameters if p.type == DOUBLE and not p.extents
        )
        structs: list[Place | Copied] = []
        for p in function.parameters:
            if p.type not in (DOUBLE, FLOAT, "int"):
                known = self._known(scope, p.type, writable=bool(p.extents))
                if known is None:
                    return None
                structs.append(known.place if p.extents else Copied(known.place, p.type))
        takes_array = any(p.extents and p.type == DOUBLE for p in function.parameters)
        arrays = [
            a for a in scope.arrays if a.writable and a.type == DOUBLE and len(a.extents) == 1 and a.extents != ("*",)
        ]
        if not arrays and takes_array:
            return None
        extent, names = self.rng.choice(("n", "4")), tuple[str, ...]()
        if takes_array:
            array = self.rng.choice(arrays)
            extent, names = array.extents[0], (array.name,)
        integers = [extent]
        if any(p.name == LEVELS for p in function.parameters):
            integers.append(self.rng.choice(("1", "3", f"{self._some_integer(scope)} % 4")))
        return Invoke(function.name, floats, tuple(integers), names, tuple(structs), function.returns)

    def _positive(self, scope: Scope, depth: int) -> Expr:
        value = self._expr(scope, depth)
        return Binary("+", Const(1.5, value.type), Binary("*", value, value))

    def _leaf(self, scope: Scope) -> Expr:
        roll = self.rng.random()
        if roll < 0.12:
            return Const(self._number(-2.0, 2.0), self._type())
        if roll < 0.16 and "complex" in self.features:
            return Call(self.rng.choice(("creal", "cimag")), (self._complex_leaf(scope),))
        if roll < 0.17 and scope.counters:
            return Binary("*", Const(0.25), FromInteger(self.rng.choice(scope.counters)))
        if roll < 0.5:
            return self._scalar(scope)
        return self._element(scope, scope.arrays) or self._scalar(scope)

    def _scalar(self, scope: Scope, writable: bool = False) -> Scalar | Field:
        """A variable, or a number in a struct that is no element of an array."""
        structs = [known for known in scope.structs if known.writable or not writable]
        if structs and self.rng.random() < 0.4:
            known = self.rng.choice(structs)
            return self._field(scope, known.place, known.type)
        return self.rng.choice(scope.scalars)

    def _element(self, scope: Scope, arrays: Iterable[Array]) -> Element | Field | None:
        arrays = [array for array in arrays if array.type not in ("int", COMPLEX)]
        if not arrays:
            return None
        # Programs that keep to one array read and overwrite it at several subscripts, some of them equal.
        favourites = [array for array in arrays if array.name == self.favourite] if self.rng.random() < 0.5 else []
        array = self.rng.choice(favourites or arrays)
        subscripts = [self._subscript(scope, extent) for extent in array.extents]
        if any(subscript is None for subscript in subscripts):
            return None
        places = tuple(subscript for subscript in subscripts if subscript is not None)
        if array.type in (DOUBLE, FLOAT):
            return Element(array.name, places, array.type)
        return self._field(scope, element_place(array, places), array.type)

    def _subscript(self, scope: Scope, extent: str) -> str | None:
        """An expression in [0, extent) wherever the scope is reached, or None: outside loops an array may be empty."""
        if not scope.full(extent) or extent == "*":
            return "*" if extent == "*" else None
        options: list[str] = []
        divisor = extent if extent.isalnum() else f"({extent})"
        for name, of in scope.integers.items():
            if of.extent == extent and name not in ("n", "m"):
                options += [name, name, f"{extent} - 1 - {name}", f"({name} + 1) % {divisor}"]
                options += [f"{name} - 1"] if of.low else []
                options += [f"{name} + {of.high}"] if of.high else []
            elif extent == f"{of.extent} + 2" and scope.full(of.extent):
                options += [name, f"{name} + 1", f"{name} + 2"]
        if extent.endswith(" + 1"):
            options += [extent.removesuffix(" + 1"), "0", f"{self.rng.choice((*scope.integers,))} % ({extent})"]
        if extent.isdecimal():
            options += [str(self.rng.randrange(int(extent)))] * (1 + 2 * (not options))
        if "gather" in self.features:
            for array in scope.arrays:
                if array.type == "int" and (place := self._plain_subscript(scope, array.extents[0])):
                    options.append(f"{array.name}[{place}] % {divisor}")
        return self.rng.choice(options) if options else ("0" if " + " in extent else None)

    def _plain_subscript(self, scope: Scope, extent: str) -> str | None:
        fitting = [name for name, of in scope.integers.items() if of.extent == extent and name not in ("n", "m")]
        return self.rng.choice(fitting) if fitting and scope.full(extent) else None


def element_place(array: Array, subscripts: tuple[str, ...]) -> Place:
    """An element of an array of structs; a pointer's is the one that it points to."""
    return Place(array.name, pointer=True) if subscripts == ("*",) else Place(array.name, subscripts)


def scope_of(parameters: Iterable[Parameter], structs: Iterable[Struct] = ()) -> Scope:
    """What a function's first statement can name."""
    scope, types = Scope(), {struct.name for struct in structs}
    for p in parameters:
        if p.type in types and p.extents in ((), ("*",)):
            known = Known(Place(p.name, pointer=bool(p.extents)), p.type)
            scope = replace(scope, structs=(*scope.structs, known))
            continue
        if p.type == "int" and not p.extents:
            scope = replace(scope, integers={**scope.integers, p.name: Range("")})
        elif p.extents:
            scope = replace(scope, arrays=(*scope.arrays, Array(p.name, p.extents, p.type, p.type != "int")))
        else:
            scope = replace(scope, scalars=(*scope.scalars, Scalar(p.name, p.type)))
    return scope


def _is_const(parameter: Parameter, written: frozenset[str]) -> bool:
    return bool(parameter.extents) and parameter.name not in written


def nodes(tree: object) -> Iterable[object]:
    """Every node of a tree."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from nodes(part)
    elif hasattr(tree, "__dataclass_fields__"):
        yield tree
        for name in tree.__dataclass_fields__:
            yield from nodes(getattr(tree, name))


def follows(element: Expr | None, counter: str) -> bool:
    """Whether a subscript of `element`, of an array, has `counter` in it."""
    return isinstance(element, Element) and any(counter in re.findall(r"\w+", text) for text in element.subscripts)


def mentions(tree: object, function: str) -> bool:
    """Whether `function` is called."""
    return any(isinstance(node, Invoke) and node.function == function for node in nodes(tree))


def names_written(tree: object) -> frozenset[str]:
    """The arrays that are written or given to a function or a view, which may write them."""
    names: set[str] = set()
    for node in nodes(tree):
        match node:
            case Assign(target=Element(array=name)) | Assign(target=Field(place=Place(root=name))):
                names.add(name)
            case AssignStruct(target=Place(root=name)) | PointTo(place=Place(root=name), const=False):
                names.add(name)
            case Invoke(arrays=arrays, structs=structs):
                names.update(arrays)
                names.update(place.root for place in structs if isinstance(place, Place))
            case View(array=name) | Walk(array=name, const=False):
                names.add(name)
            case _:
                pass
    return frozenset(names)
