"""Which values share a C variable, and where it is declared.

What a loop carries and what a branch yields is one variable, assigned in several places. The values assigned to it
join it where that changes nothing: where none of the values it holds is still needed when another is put into it. So
`t` of the source is `t` in C, and `t = t * v` stands where the product is computed.

Liveness is exact for structured code: a value is live in a list of stretches of the program text. Two sets of values
interfere if their stretches meet, which is found in logarithmic time a stretch.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.block_tree import innermost_common
from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_inlining import Inlining
from tapeflow.backend.c_needs import Needs, is_argument_of_function
from tapeflow.backend.c_reads import Merge, Reads
from tapeflow.dialects import spad, tape

Stretch = tuple[int, int]
"""From one point of the text to another, both included. An operation at p reads at 2 p and assigns at 2 p + 1."""


@dataclass
class Text:
    """The needed operations and their blocks, numbered in the order in which they are printed."""

    needs: Needs
    start: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation, int] = field(default_factory=dict[Operation, int])
    block: dict[Block, int] = field(default_factory=dict[Block, int])
    _count: int = 0

    def number(self, op: Operation) -> None:
        """Number what is in `op`."""
        for region in op.regions:
            for block in region.blocks:
                self.block[block] = self._next()
                for child in block.ops:
                    if child in self.needs.ops or child is block.last_op:
                        self.start[child] = self._next()
                        self.number(child)
                        self.end[child] = self._next() if child.regions else self.start[child]

    def _next(self) -> int:
        self._count += 1
        return self._count


@dataclass(eq=False)
class Variable:
    """One C variable.

    Attributes:
        values: that it holds, at different times.
        merges: of those values.
        stretches: of the text in which it holds one of them, disjoint and in order.
        assignments: the operations that assign it, in order.
        home: the block whose braces it is declared in.
        declared_at: the operation of `home` that it is declared at, or before.
        is_initialised: whether its declaration is its first assignment.
    """

    values: list[SSAValue]
    merges: list[Merge] = field(default_factory=list[Merge])
    stretches: list[Stretch] = field(default_factory=list[Stretch])
    assignments: list[Operation] = field(default_factory=list[Operation])
    home: Block | None = None
    declared_at: Operation | None = None
    is_initialised: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether it is assigned once, where it is declared."""
        return self.is_initialised and len(self.assignments) == 1


def _meet(few: list[Stretch], many: list[Stretch]) -> bool:
    for low, high in few:
        place = bisect_left(many, (low, low))
        if place < len(many) and many[place][0] <= high:
            return True
        if place > 0 and many[place - 1][1] >= low:
            return True
    return False


@dataclass
class Variables:
    """The variables of a function."""

    reads: Reads
    needs: Needs
    inlining: Inlining
    of: dict[SSAValue, Variable] = field(default_factory=dict[SSAValue, Variable])
    late: set[Operation] = field(default_factory=set[Operation])
    """Pure operations that are printed in the assignment at the end of their block, and nowhere else."""

    declared_before: dict[Operation, list[Variable]] = field(default_factory=dict[Operation, list[Variable]])
    """Variables that are declared, without a value, in front of an operation."""

    def __post_init__(self) -> None:
        self._text = Text(self.needs)
        self._text.number(self.reads.function)
        self._uses = _read_at(self.reads, self.needs, self.inlining)
        merges = [merge for op in self._text.start for merge in self.needs.merges(op)]
        for value in self._candidates(merges):
            self.of[value] = Variable([value], stretches=self._live(value))
        for merge in merges:
            self._found(merge)
        for merge in merges:
            self._join_assigned(merge)
        self._merge_of_yield = {
            assigned: (end, merge)
            for merge in merges
            for end, assigned in merge.yields
            if assigned not in merge.carried
        }
        for variable in self._distinct():
            variable.assignments = self._assignments(variable)
        for op in self._text.start:
            self._postpone(op)
        for variable in self._distinct():
            self._declare(variable)

    def _distinct(self) -> list[Variable]:
        return list(dict.fromkeys(self.of.values()))

    def _candidates(self, merges: list[Merge]) -> Iterator[SSAValue]:
        for op in self._text.start:
            for result in op.results:
                if self._can_be_variable(result):
                    yield result
        for merge in merges:
            yield merge.result
            yield from merge.carried

    def _can_be_variable(self, value: OpResult) -> bool:
        op = value.op
        if self.reads.is_loop_variable(value) or self.reads.is_field(value) or value not in self.needs.values:
            return False
        if op in self.inlining.nested:
            return False
        if is_expression(op):
            return not self.inlining.is_free(op)
        return isinstance(op, func.CallOp | memref.LoadOp | tape.PopOp | tape.ReplayOp | spad.FullOp | spad.EmptyOp)

    # Liveness

    def _live(self, value: SSAValue) -> list[Stretch]:
        """Where `value` is live, beside what a merge adds."""
        uses = self._uses.get(value, [])
        if isinstance(value, BlockArgument):
            return self._from(value.block, 2 * self._text.block[value.block] + 1, uses)
        assert isinstance(value, OpResult) and value.op.parent is not None
        return self._from(value.op.parent, 2 * self._text.end[value.op] + 1, uses)

    def _from(self, block: Block, birth: int, uses: Iterable[tuple[Operation, bool]]) -> list[Stretch]:
        last: dict[Block, int] = {block: birth}
        arms: dict[Block, None] = {}
        for user, throughout in uses:
            op, until = user, 2 * (self._text.end[user] if throughout else self._text.start[user])
            chain: list[Block] = []
            while op.parent is not block:
                parent = op.parent_op()
                assert parent is not None and op.parent is not None
                if isinstance(parent, scf.ForOp | scf.WhileOp | spad.LayerOp):
                    chain.clear()
                    until = 2 * self._text.end[parent]
                else:
                    chain.append(op.parent)
                    last[op.parent] = max(last.get(op.parent, 0), until)
                    until = 2 * self._text.start[parent]
                op = parent
            last[block] = max(last[block], until)
            arms |= dict.fromkeys(chain)
        stretches = [(birth, last[block])]
        for arm in arms:
            # An arm within a stretch that goes on past the branch is part of it already.
            begin = 2 * self._text.block[arm]
            if begin > last[block]:
                stretches.append((begin, last[arm]))
        return _disjoint(stretches)

    def _found(self, merge: Merge) -> None:
        """Make the result of `merge`, and what it carries, one variable, live where it is assigned."""
        variable = self.of[merge.result]
        variable.merges.append(merge)
        end = 2 * self._text.end[merge.op] + 1
        ends = [2 * self._text.start[terminator] + 1 for terminator, _ in merge.yields]
        extra = [(at, at) for at in ends]
        for argument in merge.carried:
            carried = self.of[argument]
            variable.values += carried.values
            extra += carried.stretches
            # Of a while too: the test hands on what it was given.
            extra += [(2 * self._text.start[merge.op] + 1, 2 * self._text.block[argument.block] + 1)]
            extra += [(ends[0], end)]
            self.of[argument] = variable
        variable.stretches = _disjoint([*variable.stretches, *extra])

    # Joining

    def _join_assigned(self, merge: Merge) -> None:
        # The second arm first: when it has nothing left to do, the branch has no else.
        for _, assigned in reversed(merge.yields):
            self._join(merge, assigned)
        if merge.initial is not None:
            self._join(merge, merge.initial)

    def _join(self, merge: Merge, value: SSAValue) -> None:
        ours, theirs = self.of[merge.result], self.of.get(value)
        if theirs is None or ours is theirs:
            return
        few, many = sorted((ours, theirs), key=lambda variable: len(variable.stretches))
        if _meet(few.stretches, many.stretches):
            return
        for stretch in few.stretches:
            insort(many.stretches, stretch)
        many.values += few.values
        many.merges += few.merges
        for moved in few.values:
            self.of[moved] = many

    def _assignments(self, variable: Variable) -> list[Operation]:
        merged = {merge.result for merge in variable.merges} | {it for merge in variable.merges for it in merge.carried}
        found: set[Operation] = {
            value.op for value in variable.values if isinstance(value, OpResult) and value not in merged
        }
        for merge in variable.merges:
            if merge.initial is not None and self.of.get(merge.initial) is not variable:
                found.add(merge.op)
            found |= {end for end, assigned in merge.yields if self.of.get(assigned) is not variable}
        return sorted(found, key=self._text.start.__getitem__)

    # Assignments at the end of a block

    def _postpone(self, op: Operation) -> None:
        """Print a value that is only yielded in the assignment there, if nothing it reads changes before."""
        if not op.results or not is_expression(op) or op.results[0] not in self._merge_of_yield:
            return
        value = op.results[0]
        end, merge = self._merge_of_yield[value]
        variable = self.of.get(value)
        uses = self.inlining.uses[value]
        if variable is None or variable is self.of[merge.result] or len(uses) != 1 or end.parent is not op.parent:
            return
        begin, until = self._text.start[op], self._text.start[end]
        for read in self.reads.of(op):
            for leaf in self.inlining.leaves(read.value):
                source = self.of.get(leaf)
                if source is not None and any(begin < self._text.start[at] < until for at in source.assignments):
                    return
        self.late.add(op)
        del self.of[value]

    # Declarations

    def _declare(self, variable: Variable) -> None:
        if not variable.assignments:
            return
        blocks = [op.parent for op in variable.assignments]
        for value in variable.values:
            blocks.append(value.block if isinstance(value, BlockArgument) else value.owner.parent_block())
            blocks += [op.parent for op, _ in self._uses.get(value, [])]
        for merge in variable.merges:
            blocks.append(merge.op.parent)
        home = innermost_common(dict.fromkeys(block for block in blocks if block is not None))
        first = variable.assignments[0]
        variable.is_initialised = first.parent is home and not isinstance(first, scf.YieldOp | spad.YieldOp)
        at = home.find_ancestor_op_in_block(first)
        assert at is not None
        variable.home, variable.declared_at = home, at
        if not variable.is_initialised:
            self.declared_before.setdefault(at, []).append(variable)

    def changes_within(self, variable: Variable, op: Operation) -> bool:
        """Whether `variable` is assigned within `op`."""
        starts = [self._text.start[assignment] for assignment in variable.assignments]
        return bisect_right(starts, self._text.start[op]) < bisect_left(starts, self._text.end[op])


def _disjoint(stretches: list[Stretch]) -> list[Stretch]:
    """The same stretches in order, those that meet or touch made one."""
    result: list[Stretch] = []
    for low, high in sorted(stretches):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], high))
        else:
            result.append((low, high))
    return result


def _read_at(reads: Reads, needs: Needs, inlining: Inlining) -> dict[SSAValue, list[tuple[Operation, bool]]]:
    """For each variable's value the operations whose statements read it, and whether throughout."""
    found: dict[SSAValue, list[tuple[Operation, bool]]] = {}

    def add(value: SSAValue, op: Operation, throughout: bool) -> None:
        for leaf in inlining.leaves(value):
            if not is_argument_of_function(leaf):
                found.setdefault(leaf, []).append((op, throughout))

    for op in reads.function.walk():
        if op not in needs.ops or inlining.is_free(op) or op in inlining.nested:
            continue
        for read in reads.of(op):
            add(read.value, op, read.throughout)
        for merge in needs.merges(op):
            if merge.initial is not None:
                add(merge.initial, op, False)
            for end, assigned in merge.yields:
                add(assigned, end, False)
    return found
