"""Reads of variables that have no value yet. Questions on the tree: nothing here makes IR.

One walk along the statements of a function, with the variables that lack a value where it stands: surely, because no
way there assigns them; or by a branch, because one way to go at an `if`, `switch`, `&&`, `?:` or out of a loop leaves
them without. The first is refused wherever it is read, the second where nothing but that branch decides whether the
read comes to pass:

```c
double b;
if (a > 0) b = a;   // leaves b without a value
return b;           // refused; in `if (a > 0) return b;` it is not
```

Each number of a struct is a variable of its own here, but in arrays. A copy of a struct reads none of them: what has no
value in the one has none in the other from there on, in the same way.

The work is that of visiting each node once, and at each branch the variables without a value: few where each is given
its value soon after it is declared. (clang's own analysis takes time that is quadratic in the number of branches.)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tapeflow.errors import TapeflowError
from tapeflow.frontend.c_constants import number
from tapeflow.frontend.c_effects import STEPS, body, root
from tapeflow.frontend.c_flow import exits, is_always_true
from tapeflow.frontend.c_loops import for_parts
from tapeflow.frontend.c_names import Name, copied_to, named_by, numbers_of
from tapeflow.frontend.clang_tree import Node

_LABELS = frozenset({"CASE_STMT", "DEFAULT_STMT"})

_CALLED = {
    "IF_STMT": "'if'",
    "SWITCH_STMT": "'switch'",
    "FOR_STMT": "'for'",
    "WHILE_STMT": "'while'",
    "DO_STMT": "'do'",
    "CASE_STMT": "'case'",
    "DEFAULT_STMT": "'default'",
    "CONDITIONAL_OPERATOR": "'?:'",
}
"""What branches are called; the others are `&&` and `||`."""


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A stretch of statements: where its first runs all do, up to inner branches. `branch` leads to it, if any does."""

    branch: Node | None = None


@dataclass(frozen=True, eq=False)
class _Lack:
    """How a variable comes to have no value.

    Attributes:
        branch: what leaves it without one; None if no way here gives it one.
        stretch: where control surely comes once that branch has left the variable without a value.
    """

    branch: Node | None = None
    stretch: _Stretch | None = None


_SURELY = _Lack()
_PERHAPS = _Lack(stretch=_Stretch())
"""What other branches decide, too."""


_Unset = dict[Name, _Lack]


@dataclass(frozen=True)
class _Way:
    """One of the ways that come together: what lacks a value on it, None if control does not come along it."""

    unset: _Unset | None
    stretch: _Stretch


@dataclass(frozen=True)
class _Jumps:
    """The ways from inside a loop or `switch` to its end, and to its next iteration."""

    breaks: list[_Way]
    continues: list[_Way] = field(default_factory=list[_Way])


@dataclass(frozen=True)
class _Read:
    """A read of a variable without a value, which may be a copy of `origin`, in a stretch."""

    at: Node
    variable: Name
    origin: Name
    lack: _Lack
    stretch: _Stretch

    def error(self) -> TapeflowError:
        branch = self.lack.branch
        reason = "before it is written"
        if branch is not None:
            called = _CALLED.get(branch.kind, f"'{branch.operator}'")
            reason = f"here, where the {called} in line {branch.location.line.data} may have left it without a value"
        if self.origin == self.variable:
            return self.at.error(f"'{self.variable}' is read {reason}", "give it a value where it is declared")
        return self.at.error(
            f"'{self.variable}', a copy of '{self.origin}', is read {reason}",
            f"give '{self.origin.holder.spelling}' a value where it is declared",
        )


def refuse_unset_variables(function: Node) -> None:
    """Refuse a read of a variable without a value in a function that is defined.

    Raises:
        TapeflowError: there is one; or the parts of a `for` cannot be told apart.
    """
    statements = body(function)
    walk = _Walk(statements)
    walk.statement(statements)
    if walk.reads:
        raise walk.reads[0].error()


class _Walk:
    """The walk over a function, with what lacks a value at this point; None where control does not come."""

    def __init__(self, statements: Node) -> None:
        self.reads: list[_Read] = []
        self._known_names: dict[Node, tuple[Name, ...]] = {}
        self._copied_from: dict[Name, dict[Name, None]] = {}
        # Who has the address of a struct may change it from then on.
        taken = (part for part in statements.walk() if part.kind == "UNARY_OPERATOR" and part.operator == "&")
        self._addressed = frozenset(root(part.children[0]) for part in taken)
        self._unset: _Unset | None = {}
        self._stretch = _Stretch()
        self._jumps: list[_Jumps] = []
        self._loops = 0

    # Statements.

    def statement(self, node: Node) -> None:
        """Go through a statement, or an expression that is one."""
        match node.kind:
            case "COMPOUND_STMT":
                self._block(node)
            case "DECL_STMT":
                for declared in node.children:
                    self._declare(declared)
            case "IF_STMT":
                condition, then, *otherwise = node.children
                self._choose(node, condition, [then], otherwise)
            case "WHILE_STMT" | "FOR_STMT":
                self._while(node)
            case "DO_STMT":
                self._do(node)
            case "SWITCH_STMT":
                self._switch(node)
            case "BREAK_STMT" if self._jumps:
                self._leave(self._jumps[-1].breaks)
            case "CONTINUE_STMT" if self._jumps:
                self._leave(self._jumps[-1].continues)
            case "RETURN_STMT":
                self._all(node.children)
                self._leave([])
            case "LABEL_STMT" | "GOTO_STMT" | "CASE_STMT" | "DEFAULT_STMT":
                # Refused where it is imported; until then nothing is known.
                self._unset = {}
                self._all(node.children[-1:])
            case _:
                self._expression(node)

    def _all(self, parts: Iterable[Node]) -> None:
        for part in parts:
            self.statement(part)

    def _block(self, node: Node) -> None:
        self._all(node.children)
        for part in node.children:
            for declared in part.children if part.kind == "DECL_STMT" else ():
                self._give(Name(declared))

    def _declare(self, declared: Node) -> None:
        if self._unset is None or declared.kind != "VAR_DECL":
            return
        self._unset |= dict.fromkeys(self._names(declared), _SURELY)
        self._all(declared.children)
        value = declared.initializer
        if value is not None and declared.type.kind == "RECORD":
            self._copy(Name(declared), value)
        elif value is not None:
            self._give(Name(declared))

    def _leave(self, target: list[_Way]) -> None:
        target.append(_Way(self._unset, self._stretch))
        self._unset = None

    @contextmanager
    def _inside(self, jumps: _Jumps) -> Generator[_Jumps]:
        self._jumps.append(jumps)
        yield jumps
        self._jumps.pop()

    # Branches.

    def _join(self, ways: Sequence[_Way], stretch: _Stretch) -> None:
        """Go on, in `stretch`, where `ways` come together."""
        coming = [(way.stretch, unset) for way in ways if (unset := way.unset) is not None]
        self._stretch = stretch
        if not coming:
            self._unset = None
            return
        (whence, first), *others = coming
        # What lacks a value in the same way on all ways still does.
        differing = {name for _, unset in others for name, _ in first.items() ^ unset.items()}
        if not others:
            differing = {name for name, lack in first.items() if lack.stretch is whence}
        self._unset = dict(first)
        for name in differing:
            lack = _joined([(whence, unset.get(name)) for whence, unset in coming], stretch)
            if lack is None:
                self._unset.pop(name, None)
            else:
                self._unset[name] = lack

    def _truth(self, condition: Node, node: Node) -> tuple[list[_Way], list[_Way]]:
        """The ways out of a condition of `node`: those on which it holds, and those on which it does not."""
        inner = condition.stripped
        if inner.kind == "UNARY_OPERATOR" and inner.operator == "!":
            holds, fails = self._truth(inner.children[0], node)
            return fails, holds
        if inner.kind == "BINARY_OPERATOR" and inner.operator in ("&&", "||"):
            left, right = inner.children
            both = inner.operator == "&&"
            holds, fails = self._truth(left, inner)
            self._join(holds if both else fails, _Stretch(inner))
            also_holds, also_fails = self._truth(right, inner)
            return (also_holds, fails + also_fails) if both else (holds + also_holds, also_fails)
        self._expression(inner)
        known = number(inner)
        out = [_Way(self._unset, _Stretch(node))]
        return ([], out) if known == 0 else (out, out if known is None else [])

    def _choose(self, node: Node, condition: Node, then: Sequence[Node], otherwise: Sequence[Node]) -> None:
        """A condition, and what runs by it."""
        stretch, loops = self._stretch, self._loops
        ends: list[_Way] = []
        for ways, parts in zip(self._truth(condition, node), (then, otherwise), strict=True):
            self._join(ways, _Stretch(node))
            self._all(parts)
            ends.append(_Way(self._unset, self._stretch))
        self._join(ends, stretch if self._is_whole(node, loops) else _Stretch(node))

    def _is_whole(self, node: Node, loops: int) -> bool:
        """Whether what follows `node` surely runs after it, which began when there had been so many loops."""
        return loops == self._loops and not exits(node)

    def _while(self, node: Node) -> None:
        after: Sequence[Node] = ()
        if node.kind == "WHILE_STMT":
            condition, repeated = node.children
        else:
            parts = for_parts(node)
            self._all(_present(parts.start))
            condition, repeated, after = parts.condition, parts.body, _present(parts.step)
        self._loops += 1
        entry, known, stretch = _copied(self._unset), len(self.reads), self._stretch
        out: list[_Way] = []
        with self._inside(_Jumps([])) as jumps:
            if condition is not None and not is_always_true(condition):
                holds, out = self._truth(condition, node)
                self._join(holds, _Stretch(node))
            self.statement(repeated)
            self._join([_Way(self._unset, self._stretch), *jumps.continues], _Stretch(node))
        self._all(after)
        again = self._unset
        self._join([*out, *jumps.breaks], _Stretch(node))
        self._forget(entry, again, self.reads[known:], stretch, node)

    def _do(self, node: Node) -> None:
        self._loops += 1
        repeated, condition = node.children
        entry, known, stretch = _copied(self._unset), len(self.reads), self._stretch
        with self._inside(_Jumps([])) as jumps:
            self.statement(repeated)
            if jumps.continues:
                self._join([_Way(self._unset, self._stretch), *jumps.continues], _Stretch(node))
        again, out = self._truth(condition, node)
        if not again and not jumps.breaks:
            # Once, and on to what follows.
            return
        self._join(again, _Stretch(node))
        unset = self._unset
        self._join([*out, *jumps.breaks], _Stretch(node))
        self._forget(entry, unset, self.reads[known:], stretch, node)

    def _forget(
        self, entry: _Unset | None, again: _Unset | None, found: Sequence[_Read], stretch: _Stretch, node: Node
    ) -> None:
        """Take back what was found in a loop, walked once, on variables that have a value where it runs again.

        Those that have none there, though they had one where the loop is entered, may have none behind it.

        Args:
            entry: what lacks a value where the loop is entered.
            again: what does where it runs again.
            found: the reads in the loop.
            stretch: what the loop stands in: its reads come to pass before anything runs again.
            node: the loop.
        """
        if entry is None or again is None:
            return
        assigned = self._and_copies(
            name for name, lack in entry.items() if lack is _SURELY and again.get(name) is not _SURELY
        )
        certain = [read.stretch is stretch and read.lack is _SURELY for read in found]
        kept = [read for read, sure in zip(found, certain, strict=True) if sure or read.variable not in assigned]
        self.reads[len(self.reads) - len(found) :] = kept
        if self._unset is not None:
            self._unset |= dict.fromkeys(assigned & self._unset.keys(), _PERHAPS)
            for name in again.keys() - entry.keys() - self._unset.keys():
                if again[name] is _SURELY and name not in assigned:
                    self._unset[name] = _Lack(node, self._stretch)

    def _and_copies(self, names: Iterable[Name]) -> set[Name]:
        """`names`, and what the structs that they are in are copied to, and so on."""
        found, pending = set[Name](), list(names)
        while pending:
            if (name := pending.pop()) not in found:
                found.add(name)
                pending.extend(copy for copy, origins in self._copied_from.items() if name in origins)
        return found

    def _switch(self, node: Node) -> None:
        operand, block = node.children
        self._expression(operand)
        unset, has_default = self._unset, False
        stretch, loops = self._stretch, self._loops
        self._unset = None
        # `continue` goes through to the loop around.
        jumps = _Jumps([], self._jumps[-1].continues) if self._jumps else _Jumps([])
        with self._inside(jumps):
            for part in block.children if block.kind == "COMPOUND_STMT" else (block,):
                if part.kind == "DECL_STMT" and self._unset is None and unset is not None:
                    # In front of the labels: declared, though nothing runs there.
                    unset |= {name: _SURELY for declared in part.children for name in self._names(declared)}
                statement = part
                while statement.kind in _LABELS:
                    has_default |= statement.kind == "DEFAULT_STMT"
                    statement = statement.children[-1]
                if statement is not part:
                    self._join([_Way(self._unset, self._stretch), _Way(unset, _Stretch(part))], _Stretch(part))
                self.statement(statement)
        end = _Way(self._unset, self._stretch)
        # An enumeration may have no value without a label.
        rest = () if has_default else (_Way(unset, _NOWHERE if _is_enumeration(operand) else _Stretch(node)),)
        self._join([end, *jumps.breaks, *rest], stretch if self._is_whole(node, loops) else _Stretch(node))

    # Expressions.

    def _expression(self, node: Node) -> None:
        """Go through an expression in the order in which it is evaluated."""
        if not self._unset:
            return
        match node.kind:
            case "DECL_REF_EXPR" | "MEMBER_REF_EXPR" if (name := named_by(node)) is not None:
                self._read(node, name)
            case "CXX_UNARY_EXPR":
                pass  # `sizeof` evaluates nothing
            case "CONDITIONAL_OPERATOR" if node.type.kind == "RECORD":
                self._copy(Name(node), node)
            case "CONDITIONAL_OPERATOR":
                self._choose(node, node.children[0], node.children[1:2], node.children[2:])
            case "BINARY_OPERATOR" if node.operator in ("&&", "||"):
                self._choose(node, node, (), ())
            case "BINARY_OPERATOR" if node.operator == "=" and (name := copied_to(node)) is not None:
                self._copy(name, node.children[1])
            case "BINARY_OPERATOR" if node.operator == "=":
                self._expression(node.children[1])
                self._assign(node.children[0])
            case "COMPOUND_ASSIGNMENT_OPERATOR":
                self._all(reversed(node.children))
                self._assign(node.children[0])
            case "UNARY_OPERATOR" if node.operator in STEPS:
                self._expression(node.children[0])
                self._assign(node.children[0])
            case "UNARY_OPERATOR" if node.operator == "&":
                # Who has its address may give it a value.
                self._assign(node.children[0])
            case "CSTYLE_CAST_EXPR" if node.type.kind == "VOID" and named_by(node.children[-1]) is not None:
                pass  # `(void)x` reads nothing
            case _:
                for part in node.children:
                    self._expression(part)

    def _read(self, node: Node, name: Name) -> None:
        lack = None if self._unset is None else self._unset.get(name)
        if lack is not None and lack.stretch in (None, self._stretch):
            self.reads.append(_Read(node, name, self._origin(name), lack, self._stretch))

    def _origin(self, name: Name) -> Name:
        """What `name` was last copied from, directly or not; itself if it is no copy."""
        seen = {name}
        while (origins := self._copied_from.get(name)) and (last := list(origins)[-1]) not in seen:
            seen.add(name := last)
        return name

    def _assign(self, target: Node) -> None:
        place = target.stripped
        if place.kind == "UNARY_OPERATOR" and place.operator in ("__real", "__imag"):
            place = place.children[0]
        name = named_by(place)
        if name is None:
            self._expression(target)
        else:
            self._give(name)

    def _give(self, name: Name) -> None:
        """`name`, and all that is in it, has a value from here on, or no use."""
        if self._unset is not None:
            for part in self._parts(name):
                self._unset.pop(part, None)

    # Structs.

    def _names(self, declared: Node) -> Sequence[Name]:
        """What a declaration leaves without a value, until that is assigned."""
        if declared.kind != "VAR_DECL" or declared.storage_class in ("STATIC", "EXTERN"):
            return ()
        if declared.type.kind == "RECORD" and declared in self._addressed:
            return ()
        return self._parts(Name(declared))

    def _parts(self, name: Name) -> Sequence[Name]:
        """The numbers in `name`."""
        holder = name.holder
        if holder not in self._known_names:
            self._known_names[holder] = numbers_of(holder)
        if not name.path:
            return self._known_names[holder]
        return [part for part in self._known_names[holder] if part.path[: len(name.path)] == name.path]

    def _copy(self, target: Name, value: Node) -> None:
        """Assign the struct `value` to `target`: what has no value in the one has none in the other."""
        source = self._struct(value)
        if self._unset is None:
            return
        lacks = {} if source is None else {part.path: self._unset.get(part) for part in self._parts(source)}
        self._give(target)
        if source is None or target.holder in self._addressed:
            return
        for part in self._parts(target):
            path = (*source.path, *part.path[len(target.path) :])
            if (lack := lacks.get(path)) is not None:
                self._unset[part] = lack
                origins = self._copied_from.setdefault(part, {})
                origin = Name(source.holder, path)
                origins.pop(origin, None)
                origins[origin] = None

    def _struct(self, value: Node) -> Name | None:
        """Go through an expression that gives a struct; the one that it names, or None if it names none."""
        inner = value.stripped
        if (name := named_by(inner)) is not None:
            return name
        if inner.kind == "CONDITIONAL_OPERATOR":
            return self._chosen(inner)
        self._expression(inner)
        return copied_to(inner)

    def _chosen(self, node: Node) -> Name:
        """Go through a `?:` of structs; the name of its value."""
        condition, *arms = node.children
        stretch, loops, name = self._stretch, self._loops, Name(node)
        ends: list[_Way] = []
        for ways, arm in zip(self._truth(condition, node), arms, strict=True):
            self._join(ways, _Stretch(node))
            self._copy(name, arm)
            ends.append(_Way(self._unset, self._stretch))
        self._join(ends, stretch if self._is_whole(node, loops) else _Stretch(node))
        return name


_NOWHERE = _Stretch()


def _present(part: Node | None) -> Sequence[Node]:
    return () if part is None else (part,)


def _copied(unset: _Unset | None) -> _Unset | None:
    return None if unset is None else dict(unset)


def _is_enumeration(operand: Node) -> bool:
    return operand.stripped.type.kind == "ENUM"


def _joined(ways: Sequence[tuple[_Stretch, _Lack | None]], stretch: _Stretch) -> _Lack | None:
    """How a variable lacks a value in `stretch`, where ways come together, by how it does at the end of each."""
    whence, first = ways[0]
    if all(lack is first for _, lack in ways) and (first is None or first.stretch is not whence):
        # Untouched since the ways parted.
        return first
    for whence, lack in ways:
        if lack is _SURELY and whence.branch is not None:
            return _Lack(whence.branch, stretch)
        if lack is not None and lack.stretch is whence:
            return _Lack(lack.branch, stretch)
    return None if all(lack is None for _, lack in ways) else _PERHAPS
