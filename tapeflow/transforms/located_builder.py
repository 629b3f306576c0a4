"""The one builder of Tapeflow's passes: it stamps a location, and a name where one is given, on all it inserts."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.builder import Builder, InsertOpInvT
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.source_names import location_of, set_result_names, set_source_name, unnamed


def place_of(origin: Operation | SSAValue | LocationAttr) -> LocationAttr:
    """The source place of an op, a value or a location, without names."""
    match origin:
        case Operation():
            return unnamed(origin.location)
        case SSAValue():
            return unnamed(location_of(origin))
        case _:
            return unnamed(origin)


@dataclass
class LocatedBuilder(Builder):
    """Inserts ops that carry the place of the primal op they are made for.

    ```python
    build = LocatedBuilder(InsertPoint.at_end(block), place=place_of(primal_op))
    product = build.value(arith.MulfOp(x, y), "x_b")       # located, named, inserted: the result
    with build.at(other_op):                               # now for another primal op
        build.insert(tape.PushOp(product, handle))
    ```

    An op that already has a location (a clone, say) keeps it. Ops inside the regions of an inserted op are the
    business of the builder that fills those regions: see `into`.
    """

    place: LocationAttr = field(kw_only=True)
    """Where the ops inserted next come from."""

    @contextmanager
    def at(self, origin: Operation | SSAValue | LocationAttr) -> Generator[None]:
        """Build for `origin` within the `with` block; an unknown place leaves the enclosing one."""
        before = self.place
        place = place_of(origin)
        if not isinstance(place, UnknownLoc):
            self.place = place
        try:
            yield
        finally:
            self.place = before

    def into(self, block: Block) -> LocatedBuilder:
        """A builder that appends to `block`, for the same place."""
        return LocatedBuilder(InsertPoint.at_end(block), place=self.place)

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert one op or several here, or at `insertion_point`, and stamp those that have no location yet."""
        for inserted in (op,) if isinstance(op, Operation) else op:
            if isinstance(inserted.location, UnknownLoc):
                inserted.location = self.place
        return super().insert(op, insertion_point)

    def named(self, op: Operation, *names: str | None) -> Sequence[SSAValue]:
        """Insert `op` and name its results, one name each (None: no name); returns the results."""
        self.insert(op)
        set_result_names(op, names)
        return op.results

    def value(self, op: Operation, name: str | None = None) -> SSAValue:
        """Insert `op`, which has one result, and return that, named if a name is given."""
        self.insert(op)
        (result,) = op.results
        if name is not None:
            set_source_name(result, name)
        return result

    def block(self, arguments: Sequence[tuple[Attribute, str | None]] = ()) -> Block:
        """A new block, in no region yet, with arguments of the given types and names, located here."""
        block = Block(arg_types=[type_ for type_, _ in arguments])
        for argument, (_, name) in zip(block.args, arguments, strict=True):
            argument.location = self.place
            if name is not None:
                set_source_name(argument, name)
        return block
