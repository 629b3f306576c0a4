"""The dependence graph of a printed block: what its operations need of the machine, and what they wait for.

A loop body and the arms of its branches are one graph: the arms share the units, and every access in an arm waits for
its condition. Edges are uses of values, carried by `iter_args` into the next iteration; the order of accesses to one
array, by an affine test on subscripts; and the order of accesses to one tape, by its cursor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.block_tree import innermost
from tapeflow.analysis.loops import condition_of, yielded_values
from tapeflow.analysis.roots import roots
from tapeflow.analysis.schedule import Dependence, Task
from tapeflow.analysis.subscripts import Iteration, Meeting, constant_of, meeting
from tapeflow.backend.operation_units import float_row, row_of, unit_of
from tapeflow.backend.printed import PrintedBlock
from tapeflow.dialects import ad, spad, tape
from tapeflow.dialects.handle import HandleType
from tapeflow.dialects.record import field_bytes
from tapeflow.errors import TapeflowError
from tapeflow.hardware import Hardware

CACHE = "cache"
"""The unit that an access of an array, or of a tape in cache, needs: a port."""

CACHE_WRITES = "cache writes"
"""The unit that a store needs in a blocking cache, beside the loads: a port has one read and one write under way."""

SCRATCHPAD = "scratchpad"
"""The unit that an access of the scratchpad needs: a port."""


@dataclass(frozen=True)
class Access:
    """One access of memory: the task that does it, and where its statement is."""

    line: int
    task: int


@dataclass(frozen=True)
class ArrayAccess:
    """An access of an array, for the order among them."""

    task: int
    operation: Operation
    array: SSAValue
    indices: Sequence[SSAValue]
    writes: bool


@dataclass
class BlockGraph:
    """The graph of one block and its arms.

    Attributes:
        tasks: what is scheduled.
        dependences: among them, by index.
        accesses: those that the model must know the time of.
        mix: line of the block or arm -> operation (a row of functional-units.csv) -> how many it does.
    """

    tasks: list[Task] = field(default_factory=list[Task])
    dependences: list[Dependence] = field(default_factory=list[Dependence])
    accesses: list[Access] = field(default_factory=list[Access])
    mix: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def block_graph(block: PrintedBlock, arms: Sequence[PrintedBlock], hardware: Hardware) -> BlockGraph:
    """The graph of `block`, which is no arm, with all the `arms` in it, for the units of `hardware`.

    Raises:
        TapeflowError: an operation for which no unit, or no energy, is known.
    """
    builder = _Builder(hardware, _iteration(block))
    builder.mix[block.line].update({})
    if block.kind == "loop":
        builder.count_iterations(block.line)
    for operation, printed in _in_order([block, *arms]):
        builder.add(operation, printed)
    builder.join_values()
    builder.order_arrays()
    builder.order_tapes()
    builder.order_blocking()
    return builder


def _in_order(blocks: Sequence[PrintedBlock]) -> list[tuple[Operation, PrintedBlock]]:
    """All operations with the block they are in, as they stand in the source."""
    everything = [(operation, block) for block in blocks for operation in block.ops]
    return sorted(everything, key=lambda item: item[1].op_lines.get(item[0], item[1].line))


def _iteration(block: PrintedBlock) -> Iteration:
    """The loop whose body `block` is; straight code repeats nothing."""
    if block.kind == "loop":
        for operation in block.ops:
            loop = innermost(operation, scf.ForOp, scf.WhileOp, spad.LayerOp)
            if isinstance(loop, scf.WhileOp):
                return Iteration(loop.after_region.block, None, counted=False)
            if isinstance(loop, scf.ForOp):
                return Iteration(loop.body.block, constant_of(loop.step))
            if isinstance(loop, spad.LayerOp):
                return Iteration(loop.body.block, 1 if loop.step is None else constant_of(loop.step))
    return Iteration(None, None)


class _Builder(BlockGraph):
    """Adds the tasks of one operation after the other, then the edges."""

    def __init__(self, hardware: Hardware, iteration: Iteration):
        super().__init__()
        self.hardware = hardware
        self.iteration = iteration
        self.results: dict[SSAValue, int] = {}
        self.loads: set[int] = set()
        self.uses: list[tuple[SSAValue, int]] = []
        self.arrays: list[ArrayAccess] = []
        self.in_cache: list[tuple[int, bool]] = []
        self.cursors: defaultdict[SSAValue, list[int]] = defaultdict(list)

    # --- tasks

    def count_iterations(self, line: int) -> None:
        """The loop's own increment and comparison."""
        increment = self.task("int_add", self.hardware.latency("int_add32"))
        self.task("int_add", self.hardware.latency("int_add32"))
        self.dependences.append(Dependence(increment, increment, self.tasks[increment].latency, 1))
        self.mix[line]["int_add32"] += 2

    def task(self, unit: str | None, latency: int, busy: int = 1) -> int:
        """A new task; its index."""
        self.tasks.append(Task(unit, latency, busy))
        return len(self.tasks) - 1

    def compute(self, unit: str, row: str, line: int, count: int = 1) -> int:
        """A new task for `count` operations one after the other on a functional unit.

        Raises:
            TapeflowError: the tables have no energy for it, which would come to light only when the run is over.
        """
        self.mix[line][row] += count
        _ = self.hardware.operation_pj(row)
        latency = self.hardware.latency(row)
        return self.task(unit, latency, max(count, self.hardware.interval(row)))

    def follow(self, source: int, sink: int, distance: int = 0, *, is_use: bool = True) -> None:
        """`sink` waits for the result of `source`."""
        ahead = self.hardware.units.load_ahead_cycles if is_use and source in self.loads else 0
        self.dependences.append(Dependence(source, sink, self.tasks[source].latency, distance, ahead, is_use))

    def add(self, operation: Operation, block: PrintedBlock) -> None:
        """The tasks of `operation`; what is refused of it has its place."""
        try:
            self._add(operation, block)
        except TapeflowError as error:
            place = error.position or operation.location
            raise TapeflowError(error.message, location=place, hint=error.hint) from error

    def _add(self, operation: Operation, block: PrintedBlock) -> None:
        line = block.op_lines.get(operation, block.line)
        match operation:
            case memref.LoadOp(memref=array, indices=indices):
                task = self.array_access(operation, array, indices, line, block)
                self.results[operation.res] = task
            case memref.StoreOp(value=value, memref=array, indices=indices):
                self.uses.append((value, self.array_access(operation, array, indices, line, block)))
            case ad.AccumulateOp():
                self.accumulate(operation, line, block)
            case tape.PushOp() | tape.PopOp() | tape.RecordOp() | tape.ReplayOp() | spad.WriteOp() | spad.ReadOp():
                self.tape_access(operation, line, block)
            case spad.FullOp(buffer=handle) | spad.EmptyOp(buffer=handle):
                test = self.compute("int_add", "int_add32", block.line)
                self.after_cursor(handle, test)
                self.results[operation.results[0]] = test
            case scf.IfOp():
                self.select(operation, block)
            case _:
                self.arithmetic(operation, block)

    def arithmetic(self, operation: Operation, block: PrintedBlock) -> None:
        """One operation on a functional unit, or none."""
        unit = unit_of(operation)
        if unit is None:
            self.pass_through(operation)
            return
        task = self.compute(unit, row_of(unit, operation), block.line)
        self.uses += [(operand, task) for operand in operation.operands]
        self.results |= dict.fromkeys(operation.results, task)

    def pass_through(self, operation: Operation) -> None:
        """A change of view or type takes no time, but its result is there no sooner than its operand."""
        if operation.regions or not operation.operands:
            return
        task = self.task(None, 0)
        self.uses += [(operand, task) for operand in operation.operands]
        self.results |= dict.fromkeys(operation.results, task)

    def select(self, operation: scf.IfOp, block: PrintedBlock) -> None:
        """The results of a branch: a choice between those of its arms."""
        chosen = [result for result in operation.results if not isinstance(result.type, HandleType | MemRefType)]
        if not chosen:
            return
        task = self.compute("int_add", "int_add32", block.line, len(chosen))
        self.uses.append((operation.cond, task))
        for region in (operation.true_region, operation.false_region):
            if region.blocks and region.block.last_op is not None:
                self.uses += [(value, task) for value in region.block.last_op.operands]
        self.results |= dict.fromkeys(operation.results, task)

    def wait_for_conditions(self, operation: Operation, task: int) -> None:
        """What leaves a trace is done only once the branches round it are decided."""
        parent = operation.parent_op()
        while parent is not None and not isinstance(parent, scf.ForOp | scf.WhileOp | spad.LayerOp):
            if isinstance(parent, scf.IfOp):
                self.uses.append((parent.cond, task))
            parent = parent.parent_op()
        if isinstance(parent, scf.WhileOp) and _is_in(operation, parent.after_region.block):
            self.uses.append((condition_of(parent).condition, task))

    def address(self, indices: Sequence[SSAValue], task: int, block: PrintedBlock) -> None:
        """`task` waits for its address: a multiply-add for each dimension but the last, all by integer adders."""
        if len(indices) < 2:
            self.uses += [(index, task) for index in indices]
            return
        address = self.compute("int_add", "int_add32", block.line, len(indices) - 1)
        self.uses += [(index, address) for index in indices]
        self.follow(address, task)

    def array_access(
        self, operation: Operation, array: SSAValue, indices: Sequence[SSAValue], line: int, block: PrintedBlock
    ) -> int:
        """A load or a store."""
        writes = isinstance(operation, memref.StoreOp)
        task = self.cache_access(writes=writes)
        if not writes:
            self.loads.add(task)
        self.address(indices, task, block)
        self.wait_for_conditions(operation, task)
        self.arrays.append(ArrayAccess(task, operation, array, tuple(indices), writes))
        self.accesses.append(Access(line, task))
        return task

    def cache_access(self, *, writes: bool, words: int = 1) -> int:
        """A new task for a load or store of `words` of the cache's port; their order is that of these calls."""
        if self.blocking:
            busy = words * self.hit_cycles
            task = self.task(CACHE_WRITES if writes else CACHE, busy, busy)
        else:
            task = self.task(CACHE, (1 if writes else self.hit_cycles) + words - 1, words)
        self.in_cache.append((task, writes))
        return task

    def accumulate(self, operation: ad.AccumulateOp, line: int, block: PrintedBlock) -> None:
        """A load, an addition and a store of one element."""
        load, store = self.cache_access(writes=False), self.cache_access(writes=True)
        add = self.compute("fp_add", float_row("fp_add", operation.value), block.line)
        self.loads.add(load)
        self.address(operation.indices, load, block)
        self.wait_for_conditions(operation, load)
        self.follow(load, add)
        self.uses.append((operation.value, add))
        self.follow(add, store)
        for task, writes in ((load, False), (store, True)):
            access = ArrayAccess(task, operation, operation.memref, tuple(operation.indices), writes)
            self.arrays.append(access)
        self.accesses.append(Access(line, load))

    def tape_access(self, operation: Operation, line: int, block: PrintedBlock) -> None:
        """A record, or each of its fields: the cursor moves, then the words go through a port."""
        handle = next(value for value in operation.operands if isinstance(value.type, HandleType))
        values = [value for value in operation.operands if value is not handle]
        writes = not operation.results
        fields = list(operation.results) or values
        on_chip = isinstance(operation, spad.WriteOp | spad.ReadOp)
        for position, (group, size) in enumerate(_records(handle.type, fields)):
            words = -(-size // (self.pad_port if on_chip else self.cache_port))
            cursor = self.compute("int_add", "int_add32", block.line)
            if on_chip:
                task = self.task(SCRATCHPAD, (1 if writes else self.pad_cycles) + words - 1, words)
            else:
                task = self.cache_access(writes=writes, words=words)
            self.after_cursor(handle, cursor)
            self.cursors[handle].append(cursor)
            self.follow(cursor, task)
            self.wait_for_conditions(operation, task)
            self.accesses.append(Access(line + position, task))
            if writes:
                self.uses += [(value, task) for value in group]
            else:
                if not on_chip:
                    self.loads.add(task)
                self.results |= dict.fromkeys(group, task)

    def after_cursor(self, handle: SSAValue, task: int) -> None:
        """`task` needs the cursor of `handle` as the last access left it."""
        if self.cursors[handle]:
            self.follow(self.cursors[handle][-1], task)

    @property
    def hit_cycles(self) -> int:
        """Latency of a load that hits."""
        return self.hardware.cache.hit_cycles if self.hardware.cache else 1

    @property
    def blocking(self) -> bool:
        """Whether the cache is that of the published artifact."""
        return self.hardware.cache is not None and self.hardware.cache.blocking

    @property
    def cache_port(self) -> int:
        """Bytes of an access of the cache."""
        return self.hardware.cache.port_bytes if self.hardware.cache else 8

    @property
    def pad_cycles(self) -> int:
        """Latency of a read of the scratchpad."""
        return self.hardware.scratchpad.access_cycles if self.hardware.scratchpad else 1

    @property
    def pad_port(self) -> int:
        """Bytes of an access of the scratchpad."""
        return self.hardware.scratchpad.port_bytes if self.hardware.scratchpad else 8

    # --- edges

    def join_values(self) -> None:
        """From each value's task to those that use it, through branches and into the next iteration."""
        edges = {
            (source, sink, distance)
            for value, sink in self.uses
            for source, distance in self.sources(value, 0, frozenset())
        }
        for source, sink, distance in sorted(edges):
            self.follow(source, sink, distance)

    def sources(self, value: SSAValue, distance: int, seen: frozenset[SSAValue]) -> Iterator[tuple[int, int]]:
        """The tasks that `value` comes from, and how many iterations before."""
        if value in seen:
            return
        if value in self.results:
            yield self.results[value], distance
            return
        match value:
            case BlockArgument(block=block, index=index) if (
                block is self.iteration.body and index > 0 and self.iteration.counted
            ):
                if block.last_op is not None:
                    carried = block.last_op.operands[index - 1]
                    yield from self.sources(carried, distance + 1, seen | {value})
            case BlockArgument(block=block, index=index) if isinstance(loop := block.parent_op(), scf.WhileOp):
                if loop.after_region.block is self.iteration.body:
                    carried = yielded_values(loop)[index]
                    yield from self.sources(carried, distance + 1, seen | {value})
            case OpResult(op=scf.IfOp() as branch, index=index):
                for region in (branch.true_region, branch.false_region):
                    if region.blocks and region.block.last_op is not None:
                        yield from self.sources(region.block.last_op.operands[index], distance, seen | {value})
            case _:
                return

    def order_arrays(self) -> None:
        """Accesses of what may be one array, one of them a write, keep their order where they meet."""
        origin = {access.array: roots(access.array) for access in self.arrays}
        for position, first in enumerate(self.arrays):
            for second in self.arrays[position + 1 :]:
                if not (first.writes or second.writes) or not origin[first.array] & origin[second.array]:
                    continue
                if first.operation is second.operation:  # an accumulation: what it stores, the next may load
                    self.order(second, first, self.met(first, second, own=True))
                    continue
                self.order(first, second, self.met(first, second))

    def met(self, first: ArrayAccess, second: ArrayAccess, *, own: bool = False) -> Meeting | int:
        """Where `first` meets a later `second`; `own`: they are the two halves of one operation."""
        same_view = first.array is second.array and len(first.indices) == len(second.indices)
        where = meeting(first.indices, second.indices, self.iteration) if same_view else Meeting.ALWAYS
        return Meeting.NEVER if own and where == 0 else where

    def order(self, first: ArrayAccess, second: ArrayAccess, where: Meeting | int) -> None:
        """The edges that keep the order of two accesses that meet at distance `where`."""
        own = first.operation is second.operation
        if where is Meeting.NEVER:
            return
        if where is Meeting.ALWAYS:
            if not own:
                self.keep(first, second, 0)
            if self.iteration.body is not None:
                self.keep(*((first, second) if own else (second, first)), 1)
        elif where >= 0:
            self.keep(first, second, where)
        else:
            self.keep(second, first, -where)

    def keep(self, first: ArrayAccess, second: ArrayAccess, distance: int) -> None:
        """`second` comes after `first`; a write may share the cycle of a read before it."""
        latency = 1 if first.writes else 0
        self.dependences.append(Dependence(first.task, second.task, latency, distance, is_use=False))

    def order_tapes(self) -> None:
        """The cursor that an iteration leaves is the one that the next begins with."""
        if self.iteration.body is None:
            return
        for cursors in self.cursors.values():
            if cursors:
                self.dependences.append(Dependence(cursors[-1], cursors[0], self.tasks[cursors[-1]].latency, 1))

    def order_blocking(self) -> None:
        """With a blocking cache a load waits for all older stores, whatever they write."""
        if not self.blocking:
            return
        for position, (store, writes) in enumerate(self.in_cache):
            if not writes:
                continue
            for other, (load, also_writes) in enumerate(self.in_cache):
                distance = int(other < position)
                if not also_writes and (distance == 0 or self.iteration.body is not None):
                    self.dependences.append(Dependence(store, load, self.tasks[store].latency, distance, is_use=False))


def _is_in(operation: Operation, block: Block) -> bool:
    return block.find_ancestor_op_in_block(operation) is not None


def _records(handle: Attribute, fields: Sequence[SSAValue]) -> list[tuple[Sequence[SSAValue], int]]:
    """What is accessed at a time, with its bytes: the whole record, or each field of a struct of arrays."""
    match handle:
        case tape.RegionType() if handle.layout.data == tape.Layout.AOS:
            return [(fields, handle.record_bytes)]
        case spad.BufferType():
            return [(fields, handle.record_bytes)]
        case _:
            return [([value], field_bytes(value.type)) for value in fields]
