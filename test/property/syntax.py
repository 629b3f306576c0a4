"""The syntax of random programs: one small tree that is written as C, as C on dual numbers, and as MLIR.

Integers are text, an expression that is valid in C and in Python: what they count never depends on floats except
through branches. Floats are typed trees; a mixed operation is done in double, as C does.
"""

from __future__ import annotations

from dataclasses import dataclass

DOUBLE, FLOAT = "double", "float"
COMPLEX = "complex"
"""Two doubles."""


class Expr:
    """A floating-point value; each has a `type`, DOUBLE, FLOAT or COMPLEX, or the name of a struct."""

    type: str


def widest(*types: str) -> str:
    """The type that an operation on numbers of `types` is done in."""
    return next((type_ for type_ in (COMPLEX, DOUBLE) if type_ in types), FLOAT)


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
class Place:
    """A struct in memory: a variable, an element of an array, or what a pointer points to.

    Attributes:
        root: the variable, array or pointer.
        subscripts: into the array.
        pointer: whether `root` is a pointer to one struct.
        member: the struct in that struct that is meant, such as `.at`; "" for the struct itself.
    """

    root: str
    subscripts: tuple[str, ...] = ()
    pointer: bool = False
    member: str = ""

    @property
    def value(self) -> str:
        """The struct."""
        if not self.pointer:
            return self.root + "".join(f"[{subscript}]" for subscript in self.subscripts) + self.member
        return f"{self.root}->{self.member[1:]}" if self.member else f"(*{self.root})"

    @property
    def address(self) -> str:
        """A pointer to it."""
        return self.root if self.pointer and not self.member else f"&{self.value}"

    def field(self, path: str) -> str:
        """What `path`, such as `.w[1]`, is in it."""
        return f"{self.root}->{path[1:]}" if self.pointer and not self.member else self.value + path


@dataclass(frozen=True)
class Field(Expr):
    """A number in a struct: `path` is such as `.w[1]`."""

    place: Place
    path: str
    type: str = DOUBLE


@dataclass(frozen=True)
class Compound(Expr):
    """A struct of `values`, its numbers one behind the other; integers are text. Its type is the struct's name."""

    values: tuple[Expr | str, ...]
    type: str


@dataclass(frozen=True)
class Copied(Expr):
    """The struct at a place, of which the type is the name."""

    place: Place
    type: str


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
        return widest(self.left.type, self.right.type)


@dataclass(frozen=True)
class Call(Expr):
    """A function of `<math.h>` by its name for double; the generator keeps arguments inside its domain.

    Of complex numbers `conj`, `creal`, `cimag`, `cabs`, and `CMPLX`, which makes one of two doubles.
    """

    function: str
    arguments: tuple[Expr, ...]

    @property
    def type(self) -> str:
        if self.function in ("conj", "CMPLX"):
            return COMPLEX
        return DOUBLE if any(argument.type != FLOAT for argument in self.arguments) else FLOAT


@dataclass(frozen=True)
class Invoke(Expr):
    """A call of one of the program's own functions, that returns a double or a struct.

    It is given integers, whole arrays, structs (a place: by its address; else by value), and numbers, in this order.
    """

    function: str
    arguments: tuple[Expr, ...]
    integers: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    structs: tuple[Place | Copied, ...] = ()
    type: str = DOUBLE


@dataclass(frozen=True)
class Choice(Expr):
    """`condition ? then : otherwise`."""

    condition: Condition
    then: Expr
    otherwise: Expr

    @property
    def type(self) -> str:
        return widest(self.then.type, self.otherwise.type)


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
    """`type name[extents];`, then every element set to `value`, which may depend on its place: `k0`, `k1`."""

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
class PointTo(Stmt):
    """`struct *name = &place;`."""

    name: str
    place: Place
    type: str
    const: bool = False


@dataclass(frozen=True)
class AssignStruct(Stmt):
    """`target = value;`."""

    target: Place
    value: Expr


@dataclass(frozen=True)
class Assign(Stmt):
    """`target op value;` with op one of `=`, `+=`, `-=`, `*=`."""

    target: Scalar | Element | Field
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
class Walk(Stmt):
    """A loop that moves a pointer over an array: `way` is "up", "down", or "beside" a counter.

    An element that it points to has the subscript `*`.
    """

    pointer: str
    array: str
    extent: str
    type: str
    body: Block
    way: str
    counter: str
    const: bool = False


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
    """A parameter of the program: an integer, a float, a struct, or an array of `extents` of these.

    `type` is that of a number or the name of a struct; of extents `*` is for a pointer to a single one.
    """

    name: str
    type: str
    extents: tuple[str, ...] = ()
    const: bool = False


@dataclass(frozen=True)
class Function:
    """A function that the program calls: parameters, statements, the value that it returns, a double or a struct."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    value: Expr

    @property
    def returns(self) -> str:
        """The type of the value."""
        return self.value.type if isinstance(self.value, Compound) else DOUBLE


@dataclass(frozen=True)
class Member:
    """A member of a struct: of a type of number, "int", or another struct by its name; an array if it has an extent."""

    name: str
    type: str
    extent: int = 0


@dataclass(frozen=True)
class Struct:
    """A type of structs."""

    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Program:
    """A function `f` and those that it calls.

    Attributes:
        parameters: of `f`; the first two are the integers n and m.
        wrt: the names of the parameters that it is differentiated with respect to.
        body: its statements.
        value: what it returns.
        functions: that it calls.
        structs: the types of structs that there are; the numbers of one that a parameter has are all of one type.
        members: how many cotangents and tangents are propagated at once too; 0 for none.
        left_out: the names of arrays whose final values are not differentiated, though they are written.
    """

    parameters: tuple[Parameter, ...]
    wrt: tuple[str, ...]
    body: Block
    value: Expr
    functions: tuple[Function, ...] = ()
    structs: tuple[Struct, ...] = ()
    members: int = 0
    left_out: tuple[str, ...] = ()

    def numbers(self, type_: str) -> tuple[str, ...]:
        """The types of the numbers that one value of a type holds, in order."""
        return numbers(type_, self.structs)

    def written(self) -> frozenset[str]:
        """The names of the arrays that are not `const`."""
        return frozenset(p.name for p in self.parameters if p.extents and not p.const and p.type != "int")


def numbers(type_: str, structs: tuple[Struct, ...]) -> tuple[str, ...]:
    """The types of the numbers that one value of a type holds, in order; `structs` are the types of structs."""
    if type_ == COMPLEX:
        return DOUBLE, DOUBLE
    for struct in structs:
        if struct.name == type_:
            found = [(numbers(member.type, structs), member.extent or 1) for member in struct.members]
            return tuple(number for inner, times in found for number in inner * times)
    return (type_,)
