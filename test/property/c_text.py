"""Random programs as C99: what a user would write, and the same on dual numbers, which is the oracle.

Both come from one writer; on dual numbers every floating-point operation is a function of dual.h. Nothing here is
shared with the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    Compound,
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
    Switch,
    View,
    Walk,
    While,
)

COMPLEX_FUNCTIONS = {
    "CMPLX": "cdual_of",
    "conj": "cdual_conj",
    "creal": "cdual_creal",
    "cimag": "cdual_cimag",
    "cabs": "cdual_cabs",
}
OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


@dataclass(frozen=True)
class Writer:
    """Writes a program; `dual` chooses the numbers, `prefix` begins the names of its functions."""

    dual: bool = False
    prefix: str = ""

    def program(self, program: Program, name: str) -> str:
        """The program's functions, the main one called `name`."""
        lines = self.structs(program)
        for function in program.functions:
            lines += [f"static {line}" if k == 0 else line for k, line in enumerate(self.function(function))] + [""]
        lines += self.function(Function(name, program.parameters, program.body, program.value), whole=True)
        return "\n".join([*lines, ""])

    def structs(self, program: Program) -> list[str]:
        """The types of structs, of which the names have the prefix too."""
        lines: list[str] = []
        for struct in program.structs:
            lines.append("typedef struct {")
            for member in struct.members:
                extent = f"[{member.extent}]" if member.extent else ""
                lines.append(f"    {self.type(member.type)} {member.name}{extent};")
            lines += [f"}} {self.type(struct.name)};", ""]
        return lines

    def function(self, function: Function, whole: bool = False) -> list[str]:
        """One function; `whole` for the main one, whose name has no prefix."""
        return [
            self.signature(
                function.name if whole else self.prefix + function.name, function.parameters, function.returns
            ),
            "{",
            *self.block(function.body, 1),
            f"    return {self.as_type(function.value, function.returns)};",
            "}",
        ]

    def signature(self, name: str, parameters: tuple[Parameter, ...], returns: str = DOUBLE) -> str:
        """The head of a function."""
        return f"{self.type(returns)} {name}({', '.join(self.parameter(p) for p in parameters)})"

    def parameter(self, p: Parameter) -> str:
        """The declaration of a parameter; one-dimensional arrays are pointers."""
        const = "const " if p.const else ""
        if not p.extents:
            return f"{self.type(p.type)} {p.name}"
        if (
            len(p.extents) == 1
            and not p.extents[0].isdecimal()
            and (p.type in (DOUBLE, FLOAT, COMPLEX, "int") or p.extents == ("*",))
        ):
            return f"{const}{self.type(p.type)} *{p.name}"
        return f"{const}{self.type(p.type)} {p.name}" + "".join(f"[{extent}]" for extent in p.extents)

    def type(self, type_: str) -> str:
        """A type's name."""
        if type_ in (DOUBLE, FLOAT):
            return "dual" if self.dual else type_
        if type_ == COMPLEX:
            return "cdual" if self.dual else "double complex"
        return type_ if type_ == "int" else self.prefix + type_

    # Statements

    def block(self, statements: Block, depth: int) -> list[str]:
        """Statements, one a line."""
        return [line for statement in statements for line in self.statement(statement, depth)]

    def statement(self, statement: Stmt, depth: int) -> list[str]:
        """A statement's lines."""
        pad = "    " * depth
        match statement:
            case Declare(name, Compound() as value, type_):
                braced = self.expr(value).removeprefix(f"({self.type(type_)})")
                return [f"{pad}{self.type(type_)} {name} = {braced};"]
            case Declare(name, value, type_):
                return [f"{pad}{self.type(type_)} {name} = {self.as_type(value, type_)};"]
            case DeclareInteger(name, value):
                return [f"{pad}int {name} = {value};"]
            case AssignInteger(name, value):
                return [f"{pad}{name} = {value};"]
            case DeclareArray(name, extents, value, type_):
                counters = [f"k{axis}" for axis in range(len(extents))]
                place = "".join(f"[{counter}]" for counter in counters)
                loops = " ".join(
                    f"for (int {k} = 0; {k} < {extent}; {k}++)" for k, extent in zip(counters, extents, strict=True)
                )
                declared = "".join(f"[{extent}]" for extent in extents)
                return [
                    f"{pad}{self.type(type_)} {name}{declared};",
                    f"{pad}{loops} {name}{place} = {self.as_type(value, type_)};",
                ]
            case View(name, array, row, _, type_):
                return [f"{pad}{self.type(type_)} *{name} = {array}[{row}];"]
            case PointTo(name, place, type_, const):
                return [f"{pad}{'const ' if const else ''}{self.type(type_)} *{name} = {place.address};"]
            case Assign(target, op, value):
                return [f"{pad}{self.assign(target, op, value)};"]
            case AssignStruct(target, value):
                return [f"{pad}{target.value} = {self.expr(value)};"]
            case Walk():
                return self.walk(statement, depth)
            case For(counter, start, until, step, body):
                compare = "<" if step > 0 else ">"
                advance = {1: f"{counter}++", -1: f"{counter}--"}.get(step, f"{counter} += {step}")
                head = f"for (int {counter} = {start}; {counter} {compare} {until}; {advance})"
                return [f"{pad}{head} {{", *self.block(body, depth + 1), f"{pad}}}"]
            case While(counter, bound, condition, body, first):
                head = f"while ({counter} < {bound} && ({self.condition(condition)}))"
                lines = [f"{pad}int {counter} = 0;", f"{pad}do {{" if first else f"{pad}{head} {{"]
                lines += [f"{pad}    {counter} += 1;", *self.block(body, depth + 1)]
                return [*lines, f"{pad}}} {head};" if first else f"{pad}}}"]
            case If(condition, then, otherwise):
                lines = [f"{pad}if ({self.condition(condition)}) {{", *self.block(then, depth + 1)]
                if otherwise:
                    lines += [f"{pad}}} else {{", *self.block(otherwise, depth + 1)]
                return [*lines, f"{pad}}}"]
            case Switch(selector, cases, default):
                lines = [f"{pad}switch ({selector}) {{"]
                for label, block in [*((f"case {k}", case) for k, case in enumerate(cases)), ("default", default)]:
                    lines += [f"{pad}{label}: {{", *self.block(block, depth + 1), f"{pad}    break;", f"{pad}}}"]
                return [*lines, f"{pad}}}"]
            case Leave(word):
                return [f"{pad}{word};"]
            case Return(value):
                return [f"{pad}return {self.as_type(value, DOUBLE)};"]
            case _:
                raise TypeError(statement)

    def walk(self, walk: Walk, depth: int) -> list[str]:
        """A loop over the elements of an array."""
        pad, pointer, array, extent = "    " * depth, walk.pointer, walk.array, walk.extent
        declared = f"{'const ' if walk.const else ''}{self.type(walk.type)} *{pointer} ="
        body = self.block(walk.body, depth + 1)
        if walk.way == "up":
            head = f"for ({declared} {array}; {pointer} < {array} + {extent}; {pointer}++) {{"
            return [pad + head, *body, f"{pad}}}"]
        if walk.way == "down":
            head = f"for ({declared} {array} + {extent}; {pointer} > {array};) {{"
            return [pad + head, f"{pad}    {pointer}--;", *body, f"{pad}}}"]
        count = walk.counter
        head = f"for (int {count} = 0; {count} < {extent}; {count}++, {pointer}++) {{"
        return [f"{pad}{declared} {array};", pad + head, *body, f"{pad}}}"]

    def assign(self, target: Scalar | Element | Field, op: str, value: Expr) -> str:
        """An assignment."""
        if not self.dual:
            return f"{self.expr(target)} {op} {self.expr(value)}"
        whole = value if op == "=" else Binary(op[0], target, value)
        return f"{self.expr(target)} = {self.as_type(whole, target.type)}"

    # Expressions

    def condition(self, condition: Condition) -> str:
        """A truth value."""
        match condition:
            case Less(left, right):
                v = ".v" if self.dual else ""
                return f"{self.expr(left)}{v} < {self.expr(right)}{v}"
            case Integers(op, left, right):
                return f"{left} {op} {right}"
            case Logic(op, left, right):
                return f"({self.condition(left)}) {op} ({self.condition(right)})"
            case _:
                raise TypeError(condition)

    def as_type(self, value: Expr, type_: str) -> str:
        """`value` where C converts it to `type_` by itself; dual numbers are told to."""
        return self.expr(Convert(value, type_)) if self.dual and type_ != value.type else self.expr(value)

    def expr(self, expr: Expr) -> str:
        """A float, fully parenthesised."""
        match expr:
            case Const(value, "complex"):
                return f"cdual_of(dual_of({value!r}), dual_of(0.0))" if self.dual else f"({value!r} + 0.0 * I)"
            case Const(value, type_):
                text = repr(value) + ("f" if type_ == FLOAT else "")
                return f"dual_of({text})" if self.dual else f"({text})" if value < 0 else text
            case Scalar(name):
                return name
            case Element(array, ("*",)):
                return f"(*{array})"
            case Field(place, path):
                return place.field(path)
            case Copied(place):
                return place.value
            case Compound(values, type_):
                listed = ", ".join(value if isinstance(value, str) else self.expr(value) for value in values)
                return f"({self.type(type_)}){{{listed}}}"
            case Element(array, subscripts):
                return array + "".join(f"[{subscript}]" for subscript in subscripts)
            case FromInteger(value):
                return f"dual_of({value})" if self.dual else f"(double){value}"
            case Convert(value, type_):
                if self.dual:
                    return f"dual_float({self.expr(value)})" if type_ == FLOAT else self.expr(value)
                return f"({type_})({self.expr(value)})"
            case Binary(op, left, right):
                if self.dual and expr.type == COMPLEX:
                    return self.complex_operation(op, left, right)
                if self.dual:
                    return self.rounded(expr, f"dual_{OPERATIONS[op]}({self.expr(left)}, {self.expr(right)})")
                return f"({self.expr(left)} {op} {self.expr(right)})"
            case Call(function, arguments):
                listed = ", ".join(self.expr(argument) for argument in arguments)
                suffix = "f" if expr.type == FLOAT else ""
                if function == "CMPLX" and not self.dual:
                    real, imaginary = map(self.expr, arguments)
                    return f"({real} + {imaginary} * I)"
                if function in COMPLEX_FUNCTIONS and self.dual:
                    return f"{COMPLEX_FUNCTIONS[function]}({listed})"
                return f"dual_{function}{suffix}({listed})" if self.dual else f"{function}{suffix}({listed})"
            case Invoke(function, arguments, integers, arrays, structs):
                given = [it.address if isinstance(it, Place) else self.expr(it) for it in structs]
                listed = ", ".join([*integers, *arrays, *given, *(self.as_type(a, DOUBLE) for a in arguments)])
                return f"{self.prefix}{function}({listed})"
            case Choice(condition, then, otherwise):
                then_text, otherwise_text = self.as_type(then, expr.type), self.as_type(otherwise, expr.type)
                return f"({self.condition(condition)} ? {then_text} : {otherwise_text})"
            case _:
                raise TypeError(expr)

    def complex_operation(self, op: str, left: Expr, right: Expr) -> str:
        """An operation on dual numbers of which one at least is complex."""
        of_reals = [operand.type != COMPLEX for operand in (left, right)]
        words = ["real"] * of_reals[0] + [OPERATIONS[op]] + ["real"] * of_reals[1]
        return f"cdual_{'_'.join(words)}({self.expr(left)}, {self.expr(right)})"

    def rounded(self, expr: Expr, text: str) -> str:
        """`text`, rounded as an operation of the type of `expr` is."""
        return f"dual_float({text})" if expr.type == FLOAT else text


def c_text(program: Program, name: str = "f") -> str:
    """The program as C99, with what it includes."""
    return "#include <complex.h>\n#include <math.h>\n\n" + Writer(prefix=f"{name}_").program(program, name)


def dual_text(program: Program, name: str) -> str:
    """The program on dual numbers, to be compiled behind dual.h."""
    return Writer(dual=True, prefix=f"{name}_").program(program, name)
