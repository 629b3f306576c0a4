"""What an expression or statement reads and changes. Questions only: nothing here makes IR."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from tapeflow.frontend.c_constants import integer
from tapeflow.frontend.c_math import is_math_function
from tapeflow.frontend.c_types import BOOL, scalar_of
from tapeflow.frontend.clang_tree import Node, SourceType

STEPS = frozenset({"x++", "x--", "++x", "--x"})
_COPIES = frozenset({"memcpy", "memset"})


def is_assignment(node: Node) -> bool:
    """Whether `node` changes its left operand: `=`, `+=`, `++` ..."""
    return (
        node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
        or (node.kind == "BINARY_OPERATOR" and node.operator == "=")
        or (node.kind == "UNARY_OPERATOR" and node.operator in STEPS)
    )


def variable(node: Node) -> Node | None:
    """The variable that the expression names, parentheses and conversions aside; None if it is no name of one."""
    node = node.stripped
    if node.kind == "DECL_REF_EXPR" and node.declaration is not None:
        return node.declaration if node.declaration.kind in ("VAR_DECL", "PARM_DECL") else None
    return None


def root(place: Node) -> Node | None:
    """The variable that `place` is or lies in, by its name; None if it has no name of one.

    A place may be an element, or a pointer to one: `x[i]`, `*p`, `*p++`, `x + i`, `&A[i][j]`.
    """
    place = place.stripped
    while (step := _towards_root(place)) is not None:
        place = step.stripped
    return variable(place)


def _towards_root(place: Node) -> Node | None:
    if place.kind == "ARRAY_SUBSCRIPT_EXPR" or (place.kind == "UNARY_OPERATOR" and place.operator == "*"):
        return pointer_operand(place)
    if place.kind == "MEMBER_REF_EXPR":
        return place.children[0]
    if place.kind == "UNARY_OPERATOR" and (place.operator == "&" or place.operator in STEPS):
        return place.children[0]
    if place.kind == "CSTYLE_CAST_EXPR":
        return place.children[-1]
    if place.kind == "BINARY_OPERATOR" and place.operator in ("+", "-"):
        left, right = place.children
        return left if scalar_of(left.type) is None else right
    if place.kind == "BINARY_OPERATOR" and place.operator == ",":
        return place.children[1]
    return place.children[0] if is_assignment(place) else None


# What is known of each pointer variable and function, for as long as their trees live.
_TARGETS: WeakKeyDictionary[Node, frozenset[Node]] = WeakKeyDictionary()
_ADDRESSED: WeakKeyDictionary[Node, frozenset[Node]] = WeakKeyDictionary()


def _assigned_pointers(pointer: Node) -> Iterator[Node]:
    """The expressions that a pointer variable is assigned, other than by steps."""
    if pointer.kind == "VAR_DECL" and pointer.initializer is not None:
        yield pointer.initializer
    if pointer.function is not None:
        for part in body(pointer.function).walk():
            if part.kind == "BINARY_OPERATOR" and part.operator == "=" and variable(part.children[0]) is pointer:
                yield part.children[1]


def moves(pointer: Node) -> bool:
    """Whether a pointer variable is assigned or stepped after its declaration."""
    function = pointer.function
    return function is not None and any(
        is_assignment(part) and variable(part.children[0]) is pointer for part in body(function).walk()
    )


def targets(pointer: Node) -> frozenset[Node]:
    """What else a variable stands for: of a pointer, the variables that it may point at or into.

    Of a parameter these are other parameters, too: those that a call in the file gives the same array.
    """
    if pointer.type.kind != "POINTER" and not _is_array_parameter(pointer):
        return frozenset()
    if pointer not in _TARGETS:
        # Pointers that are assigned one another end here.
        _TARGETS[pointer] = frozenset()
        named = {found for value in _assigned_pointers(pointer) if (found := root(value)) is not None}
        named |= _given_the_same(pointer)
        _TARGETS[pointer] = frozenset(named).union(*map(targets, named))
    return _TARGETS[pointer]


def _is_array_parameter(declaration: Node) -> bool:
    return declaration.kind == "PARM_DECL" and scalar_of(declaration.type) is None and declaration.type.kind != "RECORD"


def _given_the_same(parameter: Node) -> set[Node]:
    """The parameters that a call in the file gives an array which it gives `parameter`, too."""
    if not _is_array_parameter(parameter) or parameter.function is None:
        return set()
    beside = parameters(parameter.function)
    position = beside.index(parameter)
    found: set[Node] = set()
    for call in parameter.function.calls:
        given = [_reached(argument) for argument in arguments(call)]
        for other, reached in zip(beside, given, strict=False):
            if other is not parameter and _is_array_parameter(other) and reached & given[position]:
                found.add(other)
    return found


def _reached(argument: Node) -> frozenset[Node]:
    """The variables that an argument which is a pointer may lead into."""
    named = root(argument)
    return frozenset() if named is None else targets(named) | {named}


def is_addressed(declaration: Node) -> bool:
    """Whether the address of a variable that is a number is taken."""
    function = declaration.function
    if function is None:
        return False
    if function not in _ADDRESSED:
        operands = (
            part.children[0] for part in body(function).walk() if part.operator == "&" and len(part.children) == 1
        )
        _ADDRESSED[function] = frozenset(
            named for place in operands if (named := variable(place)) is not None and scalar_of(named.type) is not None
        )
    return declaration in _ADDRESSED[function]


def pointer_operand(subscript: Node) -> Node:
    """The operand of `a[i]`, `i[a]` or `*a` that is the array."""
    first = subscript.children[0]
    return first if scalar_of(first.type) is None else subscript.children[-1]


def callee(call: Node) -> Node | None:
    """The function that a call names; None if it calls through a pointer."""
    if not call.children:
        return None
    name = call.children[0].stripped
    declaration = name.declaration if name.kind == "DECL_REF_EXPR" else None
    return declaration if declaration is not None and declaration.kind == "FUNCTION_DECL" else None


def callee_name(call: Node) -> str | None:
    """The name of the function that a call names and the file does not define; None of others."""
    function = callee(call)
    return None if function is None or function.is_definition else function.spelling


def arguments(call: Node) -> tuple[Node, ...]:
    """The arguments of a call."""
    return call.children[1:]


def parameters(function: Node) -> tuple[Node, ...]:
    """The parameters of a function."""
    return tuple(child for child in function.children if child.kind == "PARM_DECL")


def body(function: Node) -> Node:
    """The block of statements of a function that is defined."""
    return next(child for child in function.children if child.kind == "COMPOUND_STMT")


def written_arguments(call: Node) -> Iterator[Node]:
    """The variables whose elements a call may change: arrays passed where the callee does not promise `const`."""
    function = callee(call)
    if function is None:
        return
    for argument, parameter in zip(arguments(call), parameters(function), strict=False):
        if scalar_of(parameter.type) is not None or parameter.type.kind == "RECORD" or _innermost(parameter).is_const:
            continue
        if (array := root(argument)) is not None:
            yield array
            yield from targets(array)


def _innermost(parameter: Node) -> SourceType:
    element = parameter.type
    while element.kind in ("POINTER", "CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY"):
        element = element.element
    return element


@dataclass(frozen=True)
class Change:
    """A place in the source that changes a variable or an array's elements.

    Attributes:
        variable: what it changes.
        by: the assignment, step or call.
    """

    variable: Node
    by: Node

    @property
    def member(self) -> str | None:
        """Of an assignment to a number that is, or is in, a member of a struct: the name of that member."""
        if not is_assignment(self.by) or scalar_of(self.by.children[0].type) is None:
            return None
        return _member(self.by.children[0])


def _member(place: Node) -> str | None:
    """The name of the member that the number `place` is, or is an element of; None if it is in no struct."""
    place = place.stripped
    while place.kind == "ARRAY_SUBSCRIPT_EXPR":
        place = pointer_operand(place).stripped
    return place.spelling if place.kind == "MEMBER_REF_EXPR" else None


def changes(node: Node) -> Iterator[Change]:
    """All that `node` changes when it runs, in source order; a declaration's initial value is no change."""
    for part in node.walk():
        if is_assignment(part):
            if (changed := root(part.children[0])) is not None:
                yield Change(changed, part)
                if variable(part.children[0]) is None:
                    yield from (Change(target, part) for target in targets(changed))
        elif part.kind == "CALL_EXPR":
            for array in written_arguments(part):
                yield Change(array, part)


def mentioned(node: Node) -> frozenset[Node]:
    """The variables that `node` names, and those that pointers it names may point at."""
    names = frozenset(named for part in node.walk() if (named := variable(part)) is not None)
    return names.union(*map(targets, names))


def depends_on(expression: Node, changed: Collection[Change]) -> bool:
    """Whether the value of `expression` may be another after `changed`; members of other names are other numbers."""
    pending = [expression]
    while pending:
        part = pending.pop()
        member = _member(part) if scalar_of(part.type) is not None else None
        if member is not None and part.stripped.kind in ("ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR"):
            # What leads to the struct: `p`, `ps[i]`.
            held = mentioned(part)
            if any(change.variable in held and change.member in (None, member) for change in changed):
                return True
        elif (named := variable(part)) is not None and any(
            change.variable in targets(named) | {named} for change in changed
        ):
            return True
        else:
            pending.extend(part.children)
    return False


def effects(node: Node) -> Iterator[Node]:
    """The parts of the expression that may change something: assignments, steps, and calls of functions that might."""
    return (part for part in node.walk() if is_assignment(part) or _calls_out(part))


def has_effects(node: Node) -> bool:
    """Whether evaluating the expression may change anything."""
    return next(effects(node), None) is not None


def _calls_out(node: Node) -> bool:
    if node.kind != "CALL_EXPR":
        return False
    function = callee(node)
    return function is None or function.is_definition or function.spelling in _COPIES or not _is_of_library(function)


def _is_of_library(function: Node) -> bool:
    name = function.spelling
    return function.is_in_shipped_header or is_math_function(name) or name.startswith("__builtin_")


def is_cheap_and_safe(node: Node) -> bool:
    """Whether the expression may be evaluated where C would not: it touches no array, cannot fail, changes nothing."""
    return all(_is_cheap_and_safe_itself(part) for part in node.walk())


def _is_cheap_and_safe_itself(part: Node) -> bool:
    match part.kind:
        case "MEMBER_REF_EXPR":
            return all(child.type.kind != "POINTER" for child in part.children)
        case "CALL_EXPR" | "ARRAY_SUBSCRIPT_EXPR" | "CONDITIONAL_OPERATOR" | "COMPOUND_ASSIGNMENT_OPERATOR":
            return False
        case "UNARY_OPERATOR":
            return part.operator != "*" and not is_assignment(part)
        case "BINARY_OPERATOR" if part.operator in ("/", "%"):
            scalar = scalar_of(part.type)
            return scalar is not None and (not scalar.is_integer or integer(part.children[1]) not in (None, 0, -1))
        case "BINARY_OPERATOR" if part.operator in ("<<", ">>"):
            return integer(part.children[1]) is not None
        case "BINARY_OPERATOR":
            return part.operator not in ("=", ",")
        case "UNEXPOSED_EXPR" | "CSTYLE_CAST_EXPR":
            to, source = scalar_of(part.type), scalar_of(part.children[-1].type) if part.children else None
            # A conversion from float to int out of range is undefined, as a division by zero is.
            return to is None or source is None or not to.is_integer or source.is_integer or to is BOOL
        case _:
            return True


def order_conflict(expression: Node) -> tuple[Node, Node] | None:
    """A call or assignment that may change an array which the same expression uses: C leaves open which comes first.

    For variables that are no arrays clang has looked already.

    Returns:
        The call or assignment and the array, or None.
    """
    whole = expression.stripped
    if whole.kind == "CONDITIONAL_OPERATOR" or (
        whole.kind == "BINARY_OPERATOR" and whole.operator in ("&&", "||", ",")
    ):
        # What is left of these comes first.
        conflicts = (conflict for child in whole.children if (conflict := order_conflict(child)) is not None)
        return next(conflicts, None)
    for part in expression.walk():
        written = _written_inside(part, whole)
        if not written:
            continue
        # What a call or an assignment itself uses is evaluated before it.
        inside = {id(each) for each in part.walk()}
        for used in _used_in_value(expression):
            named = None if id(used) in inside else variable(used)
            if named is not None and not written.isdisjoint(targets(named) | {named}):
                return part, named
    return None


def _written_inside(part: Node, whole: Node) -> frozenset[Node]:
    """The arrays whose elements `part` of an expression may change, other than `whole` itself by assigning."""
    if part.kind == "CALL_EXPR":
        return frozenset(written_arguments(part))
    if part is whole or not is_assignment(part) or variable(part.children[0]) is not None:
        return frozenset()
    changed = root(part.children[0])
    return frozenset() if changed is None else targets(changed) | {changed}


def _used_in_value(expression: Node) -> Iterator[Node]:
    """The names in `expression`, but for the array that it finally assigns to."""
    if expression.kind == "BINARY_OPERATOR" and expression.operator == "=":
        target, value = expression.children
        place = target.stripped
        while place.kind in ("ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR") or (
            place.kind == "UNARY_OPERATOR" and place.operator == "*"
        ):
            array = place.children[0] if place.kind == "MEMBER_REF_EXPR" else pointer_operand(place)
            yield from (part for child in place.children if child is not array for part in child.walk())
            place = array.stripped
        yield from value.walk()
    else:
        yield from expression.walk()
