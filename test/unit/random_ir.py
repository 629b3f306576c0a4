"""Random structured programs, as text: what a hypothesis strategy draws, it can also shrink.

Each is `@f(%n, %m, %x, %y, %a) -> f64` with arrays of n + 3 elements: nests of loops with run-time and triangular
bounds and strides, branches on data and on counters, overwritten arrays, scalar variables, local arrays in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

REQUEST = "ad.vjp @f_grad of @f (const, const, active, active, active) -> (active)"


@dataclass
class Text:
    """The text so far, and what can be used at this point of it."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=lambda: ["%x", "%y"])
    indices: list[str] = field(default_factory=lambda: ["%c0", "%c1", "%n"])
    depth: int = 0
    names: int = 0

    def emit(self, operation: str) -> str:
        """A new value."""
        self.names += 1
        self.lines.append(f"{'  ' * (self.depth + 1)}%v{self.names} = {operation}")
        return f"%v{self.names}"

    def do(self, operation: str) -> None:
        """Something without a value."""
        self.lines.append("  " * (self.depth + 1) + operation)

    def choose(self, options: list[str]) -> str:
        """One of `options`; the first is the simplest."""
        return self.draw(st.sampled_from(options))


def subscript(text: Text) -> str:
    """An index from 0 to n + 2."""
    index = text.choose(text.indices)
    kind = text.choose(["as it is", "shifted", "descending", "counted"])
    if kind == "shifted":
        return text.emit(f"arith.addi {index}, %c1 : index")
    if kind == "descending":
        return text.emit(f"arith.subi %last, {index} : index")
    if kind == "counted":
        counter = text.emit("memref.load %k[] : memref<i32>")
        as_index = text.emit(f"arith.index_cast {counter} : i32 to index")
        return text.emit(f"arith.remsi {as_index}, %length : index")
    return index


def element(text: Text) -> str:
    """An element of an array, as text of a memref access."""
    array = text.choose(text.arrays)
    return f"{array}[{subscript(text)}] : memref<?xf64>"


def leaf(text: Text) -> str:
    """A value that is there already."""
    kind = text.choose(["p", "q", "element", "%a", "%h"])
    if kind == "element":
        return text.emit(f"memref.load {element(text)}")
    return kind if kind.startswith("%") else text.emit(f"memref.load %{kind}[] : memref<f64>")


def expression(text: Text, budget: int = 2) -> str:
    """A float of order one."""
    if budget == 0:
        return leaf(text)
    kind = text.choose(["leaf", "add", "mul", "sub", "sin", "tanh", "exp", "div", "max", "min", "select", "abs"])
    if kind == "leaf":
        return leaf(text)
    x = expression(text, budget - 1)
    if kind in ("sin", "tanh"):
        return text.emit(f"math.{kind} {x} : f64")
    if kind == "exp":
        return text.emit(f"math.exp {text.emit(f'math.sin {x} : f64')} : f64")
    if kind == "abs":
        return text.emit(f"math.absf {x} : f64")
    y = expression(text, budget - 1)
    if kind == "div":
        square = text.emit(f"arith.mulf {y}, {y} : f64")
        return text.emit(f"arith.divf {x}, {text.emit(f'arith.addf {square}, %h : f64')} : f64")
    if kind == "select":
        condition = text.emit(f"arith.cmpf olt, {x}, %b : f64")
        return text.emit(f"arith.select {condition}, {x}, {y} : f64")
    name = {"add": "addf", "mul": "mulf", "sub": "subf", "max": "maximumf", "min": "minnumf"}[kind]
    return text.emit(f"arith.{name} {x}, {y} : f64")


def bounded(text: Text) -> str:
    """A float that a nest of loops cannot make large."""
    return text.emit(f"math.sin {expression(text)} : f64")


def assign(text: Text) -> None:
    variable = text.choose(["%p", "%q"])
    text.do(f"memref.store {bounded(text)}, {variable}[] : memref<f64>")


def overwrite(text: Text) -> None:
    value = bounded(text)
    text.do(f"memref.store {value}, {element(text)}")


def count(text: Text) -> None:
    counter = text.emit("memref.load %k[] : memref<i32>")
    text.do(f"memref.store {text.emit(f'arith.addi {counter}, %one : i32')}, %k[] : memref<i32>")


def loop(text: Text) -> None:
    lower, upper = text.choose(["%c0", "%c1", *text.indices[3:]]), text.choose(["%n", "%m", *text.indices[3:]])
    step = text.choose(["%c1", "%c2", "%m_1"])
    text.names += 1
    variable = f"%i{text.names}"
    text.do(f"scf.for {variable} = {lower} to {upper} step {step} {{")
    text.indices.append(variable)
    block(text, 3)
    text.indices.pop()
    text.do("}")


def branch(text: Text) -> None:
    if text.draw(st.booleans()):
        condition = text.emit(f"arith.cmpf olt, {expression(text, 1)}, %b : f64")
    else:
        condition = text.emit(f"arith.cmpi slt, {text.choose(text.indices)}, %m : index")
    text.do(f"scf.if {condition} {{")
    block(text, 2)
    if text.draw(st.booleans()):
        text.do("} else {")
        block(text, 2)
    text.do("}")


def local_array(text: Text) -> None:
    """An array of this block: filled, and used by the statements behind it."""
    array = text.emit("memref.alloca(%length) : memref<?xf64>")
    text.do("scf.for %fill = %c0 to %length step %c1 {")
    text.depth += 1
    text.do(f"memref.store {bounded(text)}, {array}[%fill] : memref<?xf64>")
    text.depth -= 1
    text.do("}")
    text.arrays.append(array)


STATEMENTS = (assign, overwrite, loop, branch, count, local_array)


def block(text: Text, size: int) -> None:
    """Some statements, fewer and simpler the deeper."""
    text.depth += 1
    arrays = list(text.arrays)
    allowed = STATEMENTS if text.depth < 4 else (assign, overwrite, count)
    for _ in range(text.draw(st.integers(1, size))):
        text.draw(st.sampled_from(allowed))(text)
    text.arrays[:] = arrays
    text.depth -= 1


HEAD = """func.func @f(%n: index, %m: index, %x: memref<?xf64>, %y: memref<?xf64>, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  %h = arith.constant 0.625 : f64
  %b = arith.constant 0.2718 : f64
  %last = arith.addi %n, %c2 : index
  %length = arith.addi %n, %c3 : index
  %m_1 = arith.addi %m, %c1 : index
  %p = memref.alloca() : memref<f64>
  %q = memref.alloca() : memref<f64>
  %k = memref.alloca() : memref<i32>
  memref.store %a, %p[] : memref<f64>
  memref.store %h, %q[] : memref<f64>
  memref.store %one, %k[] : memref<i32>"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a module with a random `@f` and the request for its gradient."""
    text = Text(draw)
    block(text, 5)
    text.depth = 0
    result = text.emit(f"arith.addf {expression(text, 1)}, {expression(text, 1)} : f64")
    return "\n".join((HEAD, *text.lines, f"  func.return {result} : f64", "}", REQUEST, ""))
