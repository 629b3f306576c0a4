"""Where control may leave a statement other than at its end. Questions on the tree: nothing here makes IR."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from weakref import WeakKeyDictionary

from tapeflow.frontend.c_constants import number
from tapeflow.frontend.c_loops import for_parts
from tapeflow.frontend.clang_tree import Node


class Exit(Enum):
    """A way out of a statement: to the innermost loop or switch around it, or to the function's caller."""

    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"


NO_EXITS: frozenset[Exit] = frozenset()

_JUMPS = {"BREAK_STMT": Exit.BREAK, "CONTINUE_STMT": Exit.CONTINUE, "RETURN_STMT": Exit.RETURN}
_LOOPS = frozenset({"WHILE_STMT", "DO_STMT", "FOR_STMT"})
_NESTING = frozenset({"COMPOUND_STMT", "IF_STMT", "CASE_STMT", "DEFAULT_STMT"})

# What is known of each statement, for as long as its tree lives: the questions are asked at every level of nesting.
_EXITS: WeakKeyDictionary[Node, frozenset[Exit]] = WeakKeyDictionary()
_COMPLETES: WeakKeyDictionary[Node, bool] = WeakKeyDictionary()


def loop_body(loop: Node) -> Node:
    """The statement that a `while`, `do` or `for` repeats."""
    return loop.children[0 if loop.kind == "DO_STMT" else -1]


def exits(statement: Node) -> frozenset[Exit]:
    """The ways in which control may leave `statement` before its end."""
    if statement not in _EXITS:
        _EXITS[statement] = _exits(statement)
    return _EXITS[statement]


def _exits(statement: Node) -> frozenset[Exit]:
    kind = statement.kind
    if kind in _JUMPS:
        return frozenset({_JUMPS[kind]})
    if kind in _LOOPS:
        return exits(loop_body(statement)) - {Exit.BREAK, Exit.CONTINUE}
    if kind == "SWITCH_STMT":
        return exits(statement.children[-1]) - {Exit.BREAK}
    return exits_of(statement.children) if kind in _NESTING else NO_EXITS


def exits_of(statements: Sequence[Node]) -> frozenset[Exit]:
    """The ways in which control may leave a sequence of statements before its end."""
    return NO_EXITS.union(*map(exits, statements))


def completes(statement: Node) -> bool:
    """Whether what follows `statement` may run after it; where that is not certain, it may."""
    if statement not in _COMPLETES:
        _COMPLETES[statement] = _completes(statement)
    return _COMPLETES[statement]


def all_complete(statements: Sequence[Node]) -> bool:
    """Whether what follows a sequence of statements may run after it."""
    return all(map(completes, statements))


def _completes(statement: Node) -> bool:
    match statement.kind:
        case kind if kind in _JUMPS:
            return False
        case "COMPOUND_STMT" | "CASE_STMT" | "DEFAULT_STMT":
            return all_complete(statement.children)
        case "IF_STMT":
            _, then, *otherwise = statement.children
            return not otherwise or completes(then) or completes(otherwise[0])
        case "WHILE_STMT" | "FOR_STMT":
            return not is_endless(statement) or Exit.BREAK in exits(loop_body(statement))
        case "DO_STMT":
            body, condition = statement.children
            left = exits(body)
            if Exit.BREAK in left:
                return True
            return not is_always_true(condition) and (completes(body) or Exit.CONTINUE in left)
        case "SWITCH_STMT":
            return _switch_completes(statement)
        case _:
            return True


def is_always_true(condition: Node) -> bool:
    """Whether a condition is a constant other than zero."""
    known = number(condition)
    return known is not None and bool(known)


def is_endless(loop: Node) -> bool:
    """Whether the condition of a `while` or `for` never ends it."""
    if loop.kind == "WHILE_STMT":
        return is_always_true(loop.children[0])
    condition = for_parts(loop).condition
    return condition is None or is_always_true(condition)


def _switch_completes(switch: Node) -> bool:
    body = switch.children[-1]
    if Exit.BREAK in exits(body) or body.kind != "COMPOUND_STMT" or not body.children:
        return True
    has_default = any(part.kind == "DEFAULT_STMT" for child in body.children for part in _labels(child))
    return not has_default or completes(body.children[-1])


def _labels(statement: Node) -> Sequence[Node]:
    """The labels of a switch that stand before a statement, outermost first."""
    found: list[Node] = []
    while statement.kind in ("CASE_STMT", "DEFAULT_STMT"):
        found.append(statement)
        statement = statement.children[-1]
    return found
