"""The order of operations, asked about many while none moves: a block is numbered once, not walked each time."""

from __future__ import annotations

from xdsl.ir import Block, Operation


class BlockOrder:
    """Where operations stand. Blocks that were asked about must not change as long as this is used."""

    def __init__(self) -> None:
        self._numbers: dict[Block, dict[Operation, int]] = {}

    def position(self, op: Operation) -> int:
        """The number of `op` in its block."""
        block = op.parent
        assert block is not None
        if block not in self._numbers:
            self._numbers[block] = {each: number for number, each in enumerate(block.ops)}
        return self._numbers[block][op]

    def path(self, op: Operation) -> tuple[int, ...]:
        """A key that sorts operations as they stand in their function."""
        positions: list[int] = []
        current: Operation | None = op
        while current is not None and current.parent is not None:
            positions.append(self.position(current))
            current = current.parent_op()
        return tuple(reversed(positions))

    def runs_before(self, first: Operation, second: Operation) -> bool:
        """Whether `first` is over before `second` begins, in the innermost block that contains both."""
        block = first.parent
        while block is not None:
            if (around_second := block.find_ancestor_op_in_block(second)) is not None:
                around_first = block.find_ancestor_op_in_block(first)
                return around_first is not None and self.position(around_first) < self.position(around_second)
            block = block.parent_block()
        return False
