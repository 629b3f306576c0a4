"""`switch` statements taken apart: which statements run for which values. Questions on the tree, no IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tapeflow.frontend.c_flow import all_complete
from tapeflow.frontend.clang_tree import Node

_LABELS = frozenset({"CASE_STMT", "DEFAULT_STMT"})


@dataclass(frozen=True)
class Section:
    """Statements of a `switch` with the labels before them.

    Attributes:
        values: the constants of its `case` labels.
        is_default: whether one of its labels is `default`.
        statements: what runs when a label is met, what it falls through to included.
        label: the first label.
        declared: the variables that `statements` name but an earlier label's statements declare; they have no value.
    """

    values: tuple[Node, ...]
    is_default: bool
    statements: tuple[Node, ...]
    label: Node
    declared: tuple[Node, ...]


@dataclass(frozen=True)
class Switch:
    """A `switch` taken apart.

    Attributes:
        declarations: what its body declares before the first label.
        sections: in source order.
    """

    declarations: tuple[Node, ...]
    sections: tuple[Section, ...]


def switch_sections(switch: Node) -> Switch:
    """The sections of a `switch` statement.

    Raises:
        TapeflowError: where a label stands inside another statement, or labels a range of values.
    """
    body = switch.children[-1]
    parts = body.children if body.kind == "COMPOUND_STMT" else (body,)
    declarations: list[Node] = []
    labels: list[list[Node]] = []
    statements: list[list[Node]] = []
    for part in parts:
        found, statement = _labelled(part)
        _refuse_inner_labels(statement)
        if found:
            labels.append(found)
            statements.append([])
        if statements:
            statements[-1].append(statement)
        elif statement.kind == "DECL_STMT":
            declarations.append(statement)
        # Other statements before the first label never run.
    return Switch(
        tuple(declarations),
        tuple(
            _section(found, statements[number:], [it for before in statements[:number] for it in _variables(before)])
            for number, found in enumerate(labels)
        ),
    )


def _labelled(statement: Node) -> tuple[list[Node], Node]:
    """The labels before a statement, and the statement."""
    labels: list[Node] = []
    while statement.kind in _LABELS:
        if statement.kind == "CASE_STMT" and len(statement.children) != 2:
            raise statement.error(
                "a 'case' for a range of values is a GNU extension and not supported",
                "write a 'case' for each value, or 'if (lo <= v && v <= hi)'",
            )
        labels.append(statement)
        statement = statement.children[-1]
    return labels, statement


def _refuse_inner_labels(statement: Node) -> None:
    for part in _of_this_switch(statement):
        if part.kind in _LABELS:
            raise part.error(
                "this label stands inside another statement of its 'switch', which is not supported: control must be "
                "nested",
                "put the labels into the braces of the 'switch' itself",
            )


def _of_this_switch(statement: Node) -> Iterator[Node]:
    """The statement and those nested in it, but not what is inside an inner `switch`."""
    pending = [statement]
    while pending:
        part = pending.pop()
        yield part
        if part.kind != "SWITCH_STMT":
            pending.extend(reversed(part.children))


def _variables(statements: Sequence[Node]) -> Iterator[Node]:
    """The variables that `statements` declare at the outermost level."""
    for statement in statements:
        if statement.kind == "DECL_STMT":
            yield from (child for child in statement.children if child.kind == "VAR_DECL")


def _section(labels: Sequence[Node], onwards: Sequence[Sequence[Node]], earlier: Sequence[Node]) -> Section:
    """The section at the first of the statements `onwards`, one sequence a section; `earlier` is declared before."""
    falls_through: list[Node] = []
    for statements in onwards:
        falls_through += statements
        if not all_complete(statements):
            break
    parts = (part for statement in falls_through for part in statement.walk()) if earlier else ()
    named = {part.declaration for part in parts if part.kind == "DECL_REF_EXPR"}
    return Section(
        tuple(label.children[0] for label in labels if label.kind == "CASE_STMT"),
        any(label.kind == "DEFAULT_STMT" for label in labels),
        tuple(falls_through),
        labels[0],
        tuple(variable for variable in earlier if variable in named),
    )
