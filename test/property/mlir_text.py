"""Random programs as MLIR: variables are SSA values, so branches have results and loops carry values of mixed types.

What C has no word for stands here: `scf.if` with several results, `iter_args` of different types, `scf.index_switch`
with results, `scf.while` whose `before` region does the work (a `do` loop), `memref.subview`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from syntax import (
    DOUBLE,
    FLOAT,
    Assign,
    AssignInteger,
    Binary,
    Block,
    Call,
    Choice,
    Condition,
    Const,
    Convert,
    Declare,
    DeclareArray,
    DeclareInteger,
    Element,
    Expr,
    For,
    FromInteger,
    Function,
    If,
    Integers,
    Invoke,
    Less,
    Logic,
    Parameter,
    Program,
    Scalar,
    Stmt,
    Switch,
    View,
    While,
)

TYPES = {DOUBLE: "f64", FLOAT: "f32"}
ARITHMETIC = {"+": "addf", "-": "subf", "*": "mulf", "/": "divf"}
INTEGERS = {ast.Add: "addi", ast.Sub: "subi", ast.Mult: "muli", ast.Mod: "remsi"}
MATH = {
    "fabs": "math.absf",
    "pow": "math.powf",
    "fmax": "arith.maxnumf",
    "fmin": "arith.minnumf",
}
PART = "memref<?xf64, strided<[1], offset: ?>>"
"""An array that a function takes, which may be a row of another."""
PREDICATES = {"<": "slt", "<=": "sle", "==": "eq", "!=": "ne"}


@dataclass
class Writer:
    """Writes one function.

    Attributes:
        values: the SSA value of every variable, counter and array at this point.
        types: their MLIR types.
    """

    prefix: str
    lines: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    extents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    depth: int = 1
    names: int = 0

    # Lines

    def emit(self, operation: str) -> str:
        """A new value."""
        name = self.fresh()
        self.do(f"{name} = {operation}")
        return name

    def fresh(self) -> str:
        """A new name."""
        self.names += 1
        return f"%v{self.names}"

    def do(self, operation: str) -> None:
        """Something without a value."""
        self.lines.append("  " * self.depth + operation)

    # Functions

    def function(self, function: Function, name: str, private: bool) -> str:
        """The text of a function."""
        self.lines = []
        parameters = [self.parameter(p, private) for p in function.parameters]
        for p in function.parameters:
            if p.type == "int" and not p.extents:
                self.bind(p.name, self.emit(f"arith.index_cast %{p.name} : i32 to index"), "index")
        self.block(function.body)
        self.do(f"func.return {self.as_type(function.value, DOUBLE)} : f64")
        head = f"func.func {'private ' if private else ''}@{name}({', '.join(parameters)}) -> f64 {{"
        return "\n".join([head, *self.lines, "}"])

    def parameter(self, p: Parameter, private: bool) -> str:
        """The declaration of a parameter, with the attributes that give it its place in C."""
        element = "i32" if p.type == "int" else TYPES[p.type]
        if not p.extents:
            self.bind(p.name, f"%{p.name}", element)
            return f'%{p.name}: {element} {{tapeflow.name = "{p.name}"}}'
        shape = "".join(f"{e if e.isdecimal() else chr(63)}x" for e in p.extents)
        type_ = PART if private else f"memref<{shape}{element}>"
        self.bind(p.name, f"%{p.name}", type_)
        self.extents[p.name] = p.extents
        extents = ", ".join(f'"{extent}"' for extent in p.extents)
        const = ", tapeflow.const" if p.const else ""
        return f'%{p.name}: {type_} {{tapeflow.name = "{p.name}", tapeflow.extents = [{extents}]{const}}}'

    def bind(self, name: str, value: str, type_: str) -> None:
        """Give a variable a value."""
        self.values[name], self.types[name] = value, type_

    # Statements

    def block(self, statements: Block) -> None:
        """Statements in a scope of their own, which ends with them: only older variables keep what they were given."""
        outer = dict(self.types), dict(self.extents)
        for statement in statements:
            self.statement(statement)
        if self.depth > 1:
            self.types, self.extents = outer

    def statement(self, statement: Stmt) -> None:
        """One statement."""
        match statement:
            case Declare(name, value, type_):
                self.bind(name, self.as_type(value, type_), TYPES[type_])
            case DeclareInteger(name, value) | AssignInteger(name, value):
                self.bind(name, self.integer(value), "index")
            case DeclareArray():
                self.local_array(statement)
            case View(name, array, row, extent, _):
                self.view(name, array, row, extent)
            case Assign(target, op, value):
                self.assign(target, op, value)
            case For():
                self.loop(statement)
            case While(first=False):
                self.while_loop(statement)
            case While():
                self.do_loop(statement)
            case If(condition, then, otherwise):
                self.regions(f"scf.if {self.condition(condition)}", "({})", ["", " else"], (then, otherwise))
            case Switch(selector, cases, default):
                labels = [f"\n{'  ' * self.depth}case {k}" for k in range(len(cases))]
                labels += [f"\n{'  ' * self.depth}default"]
                self.regions(f"scf.index_switch {self.integer(selector)}", "{}", labels, (*cases, default))
            case _:
                raise TypeError(statement)

    def assign(self, target: Scalar | Element, op: str, value: Expr) -> None:
        """An assignment to a variable or an element."""
        whole = value if op == "=" else Binary(op[0], target, value)
        result = self.as_type(whole, target.type)
        if isinstance(target, Scalar):
            self.bind(target.name, result, TYPES[target.type])
        else:
            self.do(f"memref.store {result}, {self.place(target)}")

    def local_array(self, array: DeclareArray) -> None:
        """An array of this block, filled."""
        sizes = [self.integer(extent) for extent in array.extents if not extent.isdecimal()]
        shape = "".join(f"{extent if extent.isdecimal() else '?'}x" for extent in array.extents)
        type_ = f"memref<{shape}{TYPES[array.type]}>"
        memory = self.emit(f"memref.alloc({', '.join(sizes)}) : {type_}")
        zero, one = self.integer("0"), self.integer("1")
        bounds = [self.integer(extent) for extent in array.extents]
        counters = [self.fresh() for _ in bounds]
        for axis, (counter, bound) in enumerate(zip(counters, bounds, strict=True)):
            self.bind(f"k{axis}", counter, "index")
            self.do(f"scf.for {counter} = {zero} to {bound} step {one} {{")
            self.depth += 1
        self.do(f"memref.store {self.as_type(array.value, array.type)}, {memory}[{', '.join(counters)}] : {type_}")
        for _ in counters:
            self.depth -= 1
            self.do("}")
        self.bind(array.name, memory, type_)
        self.extents[array.name] = array.extents

    def view(self, name: str, array: str, row: str, extent: str) -> None:
        """A row of a matrix."""
        size = extent if extent.isdecimal() else self.integer(extent)
        source, element = self.types[array], self.types[array].removesuffix(">").rsplit("x", 1)[1]
        shape = extent if extent.isdecimal() else "?"
        type_ = f"memref<{shape}x{element}, strided<[1], offset: ?>>"
        memory = self.values[array]
        self.bind(
            name,
            self.emit(f"memref.subview {memory}[{self.integer(row)}, 0] [1, {size}] [1, 1] : {source} to {type_}"),
            type_,
        )
        self.extents[name] = (extent,)

    # Structured control flow: what a region assigns of the variables around it is its result

    def carried(self, blocks: Iterable[Block]) -> list[str]:
        """The variables of this scope that are assigned in `blocks`."""
        names = {name for block in blocks for name in assigned(block)}
        return [name for name in self.types if name in names and not self.types[name].startswith("memref")]

    def results(self, names: list[str], operation: str) -> list[str]:
        """New values for `names`, defined by an operation whose first line begins with `operation`."""
        values = [self.fresh() for _ in names]
        self.do(f"{', '.join(values)} = {operation}" if values else operation)
        return values

    def type_list(self, names: list[str]) -> str:
        """Their types."""
        return ", ".join(self.types[name] for name in names)

    def yield_(self, names: list[str], word: str = "scf.yield") -> None:
        """The end of a region."""
        self.do(f"{word} {', '.join(self.values[name] for name in names)} : {self.type_list(names)}" if names else word)

    def rebind(self, names: list[str], values: list[str]) -> None:
        """Give `names` new values of the types they have."""
        self.values.update(zip(names, values, strict=True))

    def regions(self, operation: str, types: str, labels: list[str], blocks: tuple[Block, ...]) -> None:
        """An operation whose regions have no arguments and yield the same variables; `types` frames their types."""
        names = self.carried(blocks)
        before = dict(self.values)
        results = f" -> {types.format(self.type_list(names))}" if names else ""
        values = self.results(names, f"{operation}{results}{labels[0]} {{")
        for label, block in zip([None, *labels[1:]], blocks, strict=True):
            if label is not None:
                self.lines[-1] += f"{label} {{"
            self.values = dict(before)
            self.depth += 1
            self.block(block)
            self.yield_(names)
            self.depth -= 1
            self.do("}")
        self.values = before
        self.rebind(names, values)

    def loop(self, loop: For) -> None:
        """A counted loop; a descending one counts up and subtracts, as MLIR asks for."""
        start, until = self.integer(loop.start), self.integer(loop.until)
        step = self.integer(str(abs(loop.step)))
        low, high = (start, until) if loop.step > 0 else (self.integer("0"), self.distance(start, until))
        names = self.carried((loop.body,))
        before = dict(self.values)
        arguments = [self.fresh() for _ in names]
        counter = self.fresh()
        pairs = ", ".join(f"{a} = {self.values[name]}" for a, name in zip(arguments, names, strict=True))
        carried = f" iter_args({pairs}) -> ({self.type_list(names)})" if names else ""
        values = self.results(names, f"scf.for {counter} = {low} to {high} step {step}{carried} {{")
        self.depth += 1
        self.rebind(names, arguments)
        if loop.step < 0:
            counter = self.emit(f"arith.subi {start}, {counter} : index")
        self.bind(loop.counter, counter, "index")
        self.block(loop.body)
        self.yield_(names)
        self.depth -= 1
        self.do("}")
        del self.types[loop.counter]
        self.values = before
        self.rebind(names, values)

    def distance(self, start: str, until: str) -> str:
        """`start - until`."""
        return self.emit(f"arith.subi {start}, {until} : index")

    def while_loop(self, loop: While) -> None:
        """The condition in `before`, the body in `after`."""
        self.bind(loop.counter, self.integer("0"), "index")
        names = sorted({*self.carried((loop.body,)), loop.counter}, key=list(self.types).index)
        before = dict(self.values)
        first, second = [self.fresh() for _ in names], [self.fresh() for _ in names]
        pairs = ", ".join(f"{a} = {self.values[name]}" for a, name in zip(first, names, strict=True))
        types = self.type_list(names)
        values = self.results(names, f"scf.while ({pairs}) : ({types}) -> ({types}) {{")
        self.depth += 1
        self.rebind(names, first)
        self.do(f"scf.condition({self.go_on(loop)}) {', '.join(first)} : {types}")
        self.depth -= 1
        self.do("} do {")
        self.do("^bb0(" + ", ".join(f"{a}: {self.types[name]}" for a, name in zip(second, names, strict=True)) + "):")
        self.depth += 1
        self.rebind(names, second)
        self.bind(loop.counter, self.integer(f"{loop.counter} + 1"), "index")
        self.block(loop.body)
        self.yield_(names)
        self.depth -= 1
        self.do("}")
        self.values = before
        self.rebind(names, values)

    def do_loop(self, loop: While) -> None:
        """Everything in `before`; `after` only hands on."""
        self.bind(loop.counter, self.integer("0"), "index")
        names = sorted({*self.carried((loop.body,)), loop.counter}, key=list(self.types).index)
        before = dict(self.values)
        first, second = [self.fresh() for _ in names], [self.fresh() for _ in names]
        pairs = ", ".join(f"{a} = {self.values[name]}" for a, name in zip(first, names, strict=True))
        types = self.type_list(names)
        values = self.results(names, f"scf.while ({pairs}) : ({types}) -> ({types}) {{")
        self.depth += 1
        self.rebind(names, first)
        self.bind(loop.counter, self.integer(f"{loop.counter} + 1"), "index")
        self.block(loop.body)
        go_on = self.go_on(loop)
        self.do(f"scf.condition({go_on}) {', '.join(self.values[name] for name in names)} : {types}")
        self.depth -= 1
        self.do("} do {")
        self.do("^bb0(" + ", ".join(f"{a}: {self.types[name]}" for a, name in zip(second, names, strict=True)) + "):")
        self.depth += 1
        self.rebind(names, second)
        self.yield_(names)
        self.depth -= 1
        self.do("}")
        self.values = before
        self.rebind(names, values)

    def go_on(self, loop: While) -> str:
        """Whether a loop's body runs again."""
        return self.condition(Logic("&&", Integers("<", loop.counter, loop.bound), loop.condition))

    # Conditions

    def condition(self, condition: Condition) -> str:
        """A truth value; the right side of `&&` and `||` is only evaluated where C does, for it may read arrays."""
        match condition:
            case Less(left, right):
                type_ = Binary("+", left, right).type
                left_value, right_value = self.as_type(left, type_), self.as_type(right, type_)
                return self.emit(f"arith.cmpf olt, {left_value}, {right_value} : {TYPES[type_]}")
            case Integers(op, left, right):
                left_value, right_value = self.integer(left), self.integer(right)
                return self.emit(f"arith.cmpi {PREDICATES[op]}, {left_value}, {right_value} : index")
            case Logic(op, left, right):
                constant = "true" if op == "||" else "false"
                return self.alternatives(
                    self.condition(left),
                    "i1",
                    (lambda: self.condition(right))
                    if op == "&&"
                    else (lambda: self.emit(f"arith.constant {constant}")),
                    (lambda: self.condition(right))
                    if op == "||"
                    else (lambda: self.emit(f"arith.constant {constant}")),
                )
            case _:
                raise TypeError(condition)

    def alternatives(self, condition: str, type_: str, then: Callable[[], str], otherwise: Callable[[], str]) -> str:
        """A value that is made in one of two branches."""
        result = self.fresh()
        self.do(f"{result} = scf.if {condition} -> ({type_}) {{")
        for make, end in ((then, "} else {"), (otherwise, "}")):
            self.depth += 1
            self.do(f"scf.yield {make()} : {type_}")
            self.depth -= 1
            self.do(end)
        return result

    # Expressions

    def integer(self, text: str) -> str:
        """An integer expression as index."""
        return self.integer_node(ast.parse(text, mode="eval").body)

    def integer_node(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int(value)):
                return self.emit(f"arith.constant {value} : index")
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return self.emit(f"arith.constant -{value} : index")
            case ast.Name(id=name):
                return self.values[name]
            case ast.BinOp(left=left, op=op, right=right):
                left_value, right_value = self.integer_node(left), self.integer_node(right)
                return self.emit(f"arith.{INTEGERS[type(op)]} {left_value}, {right_value} : index")
            case ast.Subscript(value=ast.Name(id=array), slice=place):
                loaded = self.emit(
                    f"memref.load {self.values[array]}[{self.integer_node(place)}] : {self.types[array]}"
                )
                return self.emit(f"arith.index_cast {loaded} : i32 to index")
            case _:
                raise TypeError(ast.dump(node))

    def as_type(self, value: Expr, type_: str) -> str:
        """A float in the given precision."""
        result = self.expr(value)
        if value.type == type_:
            return result
        word = "extf" if type_ == DOUBLE else "truncf"
        return self.emit(f"arith.{word} {result} : {TYPES[value.type]} to {TYPES[type_]}")

    def place(self, element: Element) -> str:
        """An element as the text of a memref access."""
        subscripts = ", ".join(self.integer(subscript) for subscript in element.subscripts)
        return f"{self.values[element.array]}[{subscripts}] : {self.types[element.array]}"

    def expr(self, expr: Expr) -> str:
        """A float."""
        type_ = TYPES.get(expr.type, "")
        match expr:
            case Const(value):
                return self.emit(f"arith.constant {value!r} : {type_}")
            case Scalar(name):
                return self.values[name]
            case Element():
                return self.emit(f"memref.load {self.place(expr)}")
            case FromInteger(value):
                number = self.emit(f"arith.index_cast {self.integer(value)} : index to i64")
                return self.emit(f"arith.sitofp {number} : i64 to f64")
            case Convert(value):
                return self.as_type(value, expr.type)
            case Binary(op, left, right):
                left_value, right_value = self.as_type(left, expr.type), self.as_type(right, expr.type)
                return self.emit(f"arith.{ARITHMETIC[op]} {left_value}, {right_value} : {type_}")
            case Call(function, arguments):
                listed = ", ".join([self.as_type(argument, expr.type) for argument in arguments])
                return self.emit(f"{MATH.get(function, f'math.{function}')} {listed} : {type_}")
            case Invoke():
                return self.invoke(expr)
            case Choice(condition, then, otherwise):
                if isinstance(then, Const | Scalar) and isinstance(otherwise, Const | Scalar):
                    chosen = self.condition(condition)
                    then_value, otherwise_value = self.as_type(then, expr.type), self.as_type(otherwise, expr.type)
                    return self.emit(f"arith.select {chosen}, {then_value}, {otherwise_value} : {type_}")
                return self.alternatives(
                    self.condition(condition),
                    type_,
                    lambda: self.as_type(then, expr.type),
                    lambda: self.as_type(otherwise, expr.type),
                )
            case _:
                raise TypeError(expr)

    def invoke(self, call: Invoke) -> str:
        """A call; arrays and rows are cast to what the function takes."""
        integers = [self.emit(f"arith.index_cast {self.integer(k)} : index to i32") for k in call.integers]
        arrays: list[str] = []
        for name in call.arrays:
            given, value = self.types[name], self.values[name]
            arrays.append(value if given == PART else self.emit(f'"memref.cast"({value}) : ({given}) -> {PART}'))
        floats = [self.as_type(argument, DOUBLE) for argument in call.arguments]
        listed = ", ".join([*integers, *arrays, *floats])
        types = ", ".join(["i32"] * len(integers) + [PART] * len(arrays) + ["f64"] * len(floats))
        return self.emit(f"func.call @{self.prefix}{call.function}({listed}) : ({types}) -> f64")


def assigned(block: Block) -> Iterator[str]:
    """The names of the variables that a block assigns, its own among them."""
    for statement in block:
        match statement:
            case Assign(target=Scalar(name=name)) | AssignInteger(name=name):
                yield name
            case For(body=body) | While(body=body):
                yield from assigned(body)
            case If(then=then, otherwise=otherwise):
                yield from assigned(then)
                yield from assigned(otherwise)
            case Switch(cases=cases, default=default):
                for case in (*cases, default):
                    yield from assigned(case)
            case _:
                pass


def mlir_text(program: Program, name: str) -> str:
    """The program as a module of functions."""
    prefix = f"{name}_"
    texts = [Writer(prefix).function(f, prefix + f.name, private=True) for f in program.functions]
    main = Function(name, program.parameters, program.body, program.value)
    return "\n".join(["builtin.module {", *texts, Writer(prefix).function(main, name, private=False), "}", ""])
