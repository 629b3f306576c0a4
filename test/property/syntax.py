"""The syntax of random programs: one small tree that is written as C, as C on dual numbers, and as MLIR.

Integers are text, an expression that is valid in C and in Python: what they count never depends on floats except
through branches. Floats are typed trees; a mixed operation is done in double, as C does.
"""

from __future__ import annotations

from dataclasses import dataclass

DOUBLE, FLOAT = "double", "float"


class Expr:
    """A floating-point value; each has a `type`, DOUBLE or FLOAT."""

    type: str


@dataclass(frozen=True)
class Const(Expr):
    """A literal."""

    value: float
    type: str = DOUBLE


@dataclass(frozen=True)
class Scalar(Expr):
    """A variable or parameter."""

    name: str
    type: str = DOUBLE


@dataclass(frozen=True)
class Element(Expr):
    """An element of an array."""

    array: str
    subscripts: tuple[str, ...]
    type: str = DOUBLE


@dataclass(frozen=True)
class FromInteger(Expr):
    """An integer as a double."""

    value: str
    type: str = DOUBLE


@dataclass(frozen=True)
class Convert(Expr):
    """`value` in another precision."""

    value: Expr
    type: str


@dataclass(frozen=True)
class Binary(Expr):
    """`left op right` with op one of `+`, `-`, `*`, `/`."""

    op: str
    left: Expr
    right: Expr

    @property
    def type(self) -> str:
        return DOUBLE if DOUBLE in (self.left.type, self.right.type) else FLOAT


@dataclass(frozen=True)
class Call(Expr):
    """A function of `<math.h>` by its name for double; the generator keeps arguments inside its domain."""

    function: str
    arguments: tuple[Expr, ...]

    @property
    def type(self) -> str:
        return DOUBLE if any(argument.type == DOUBLE for argument in self.arguments) else FLOAT


@dataclass(frozen=True)
class Invoke(Expr):
    """A call of one of the program's own functions, that returns a double: numbers, then whole arrays."""

    function: str
    arguments: tuple[Expr, ...]
    integers: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    type: str = DOUBLE


@dataclass(frozen=True)
class Choice(Expr):
    """`condition ? then : otherwise`."""

    condition: Condition
    then: Expr
    otherwise: Expr

    @property
    def type(self) -> str:
        return DOUBLE if DOUBLE in (self.then.type, self.otherwise.type) else FLOAT


class Condition:
    """A truth value."""


@dataclass(frozen=True)
class Less(Condition):
    """`left < right` on floats."""

    left: Expr
    right: Expr


@dataclass(frozen=True)
class Integers(Condition):
    """A comparison of integers: op one of `<`, `<=`, `==`, `!=`."""

    op: str
    left: str
    right: str


@dataclass(frozen=True)
class Logic(Condition):
    """`left op right` with op `&&` or `||`."""

    op: str
    left: Condition
    right: Condition


class Stmt:
    """A statement."""


Block = tuple[Stmt, ...]


@dataclass(frozen=True)
class Declare(Stmt):
    """`type name = value;`."""

    name: str
    value: Expr
    type: str = DOUBLE


@dataclass(frozen=True)
class DeclareInteger(Stmt):
    """`int name = value;`."""

    name: str
    value: str


@dataclass(frozen=True)
class AssignInteger(Stmt):
    """`name = value;`."""

    name: str
    value: str


@dataclass(frozen=True)
class DeclareArray(Stmt):
    """`type name[extents];`, then every element set to `value`."""

    name: str
    extents: tuple[str, ...]
    value: Expr
    type: str = DOUBLE


@dataclass(frozen=True)
class View(Stmt):
    """`type *name = &array[row][0];`: a row of a matrix, under a name of its own."""

    name: str
    array: str
    row: str
    extent: str
    type: str = DOUBLE


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
    body: Block


@dataclass(frozen=True)
class While(Stmt):
    """`int counter = 0; while (counter < bound && condition) { counter += 1; body }`, or the same as `do`.

    `first` is for `do`: the body runs before the condition is asked.
    """

    counter: str
    bound: str
    condition: Condition
    body: Block
    first: bool = False


@dataclass(frozen=True)
class If(Stmt):
    """`if (condition) then else otherwise`."""

    condition: Condition
    then: Block
    otherwise: Block = ()


@dataclass(frozen=True)
class Switch(Stmt):
    """`switch (selector)` with the cases 0, 1, ... and a default, which all end in `break`."""

    selector: str
    cases: tuple[Block, ...]
    default: Block


@dataclass(frozen=True)
class Leave(Stmt):
    """`break;` or `continue;`."""

    word: str


@dataclass(frozen=True)
class Return(Stmt):
    """`return value;` before the end."""

    value: Expr


@dataclass(frozen=True)
class Parameter:
    """A parameter of the program: an integer, a float, or an array of `extents`; of integers if `type` is "int"."""

    name: str
    type: str
    extents: tuple[str, ...] = ()
    const: bool = False


@dataclass(frozen=True)
class Function:
    """A function that the program calls: parameters, statements, the value that it returns."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    value: Expr


@dataclass(frozen=True)
class Program:
    """A function `f` and those that it calls.

    Attributes:
        parameters: of `f`; the first two are the integers n and m.
        wrt: the names of the parameters that it is differentiated with respect to.
        body: its statements.
        value: what it returns.
        functions: that it calls.
    """

    parameters: tuple[Parameter, ...]
    wrt: tuple[str, ...]
    body: Block
    value: Expr
    functions: tuple[Function, ...] = ()

    def written(self) -> frozenset[str]:
        """The names of the arrays that are not `const`."""
        return frozenset(p.name for p in self.parameters if p.extents and not p.const and p.type != "int")
