"""A derivative of one cotangent, or along one tangent, to one of a batch of them, for one run of the primal.

What differs between the members of the batch is there once for each: an operation becomes one a member, side by side; a
value that a loop carries or a branch gives becomes as many. Loops, branches, tapes of primal values and partial
derivatives stay single, so the tape holds what it holds for one member. Each member computes what the function
computed before, in the same order, so its numbers are the same bit for bit.

Arrays of adjoints or tangents get an innermost axis, one element a member: those of one primal element lie side by
side, in one line of the cache, where a compiler finds vectors. Scalars that come in or go out become arrays of one
element a member: `%s_b: f64` is `%s_b: memref<8xf64>`, and the adjoint of an argument `a`, a result before, is written
to the argument `%a_b: memref<8xf64>` behind the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefLayoutAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.batched_values import batched_values
from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.kept_calls import derivative_operands, has_derivatives, keep_call, written_positions
from tapeflow.analysis.parameters import parameter_name
from tapeflow.analysis.region_names import UniqueNames
from tapeflow.analysis.roots import is_array
from tapeflow.analysis.source_names import location_of, set_result_names, set_source_name, source_name, unnamed
from tapeflow.dialects import tape
from tapeflow.dialects.ad import AccumulateOp
from tapeflow.errors import TapeflowError
from tapeflow.transforms.gradient_signature import NAME, argument_attributes, result_attributes, text_of
from tapeflow.transforms.inline_differing_calls import inline_differing_calls
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.simplify import Constants


def batch_derivative(
    function: func.FuncOp,
    members: int,
    seeds: Sequence[BlockArgument],
    primal_results: int,
    functions: Mapping[str, func.FuncOp],
) -> None:
    """Make `function`, a derivative, one of `members` derivatives at once, in place.

    Args:
        function: a gradient or tangent function, before its tapes form regions.
        members: how many.
        seeds: the arguments that each member has of its own: seeds and shadows, tangents and tangent arrays.
        primal_results: how many results come before the adjoints or tangents.
        functions: those that it may call.

    Raises:
        TapeflowError: a call, or a view of an array, that takes part in the derivative is not made for a batch.
    """
    inline_differing_calls(function, seeds, functions)
    _Batch(function, members, seeds).spread(primal_results)


def batch_callee(
    function: func.FuncOp,
    members: int,
    seeds: Sequence[BlockArgument],
    primal_results: int,
    functions: Mapping[str, func.FuncOp],
) -> None:
    """The same for a function that a derivative calls: each scalar becomes as many, where it is.

    What it calls itself was named for as many members.

    Raises:
        TapeflowError: as `batch_derivative` does.
    """
    inline_differing_calls(function, seeds, functions)
    _Batch(function, members, seeds).spread_callee(primal_results)


class _Batch:
    """The members of what differs, and the arrays that hold them, by what was there once."""

    def __init__(self, function: func.FuncOp, members: int, seeds: Sequence[BlockArgument]):
        self._function = function
        self._count = members
        self._seeds = seeds
        self._batched = batched_values(function, seeds)
        self._constants = Constants(function)
        self._attributes = argument_attributes(function)
        self._members: dict[SSAValue, Sequence[SSAValue]] = {}
        self._arrays: dict[SSAValue, SSAValue] = {}
        self._outgrown: set[Operation] = set()

    def spread(self, primal_results: int) -> None:
        """Put all members into the function, whose derivatives come behind the primal results."""
        block = self._function.body.block
        self._take_seeds(block)
        for op in list(block.ops):
            self._spread(op)
        self._return(primal_results)
        self._clean(block, self._seeds)

    def spread_callee(self, primal_results: int) -> None:
        """Put all members into the function, one of several in a call, whose derivatives stay where they are."""
        block = self._function.body.block
        self._take_members(block)
        for op in list(block.ops):
            self._spread(op)
        self._return_members(primal_results)
        self._clean(block, self._seeds)

    # The signature

    def _take_members(self, block: Block) -> None:
        """Give the seeds room for all members, each scalar as many arguments."""
        names = UniqueNames(map(parameter_name, block.args))
        given = [(argument, parameter_name(argument), self._attributes[argument.index]) for argument in block.args]
        self._attributes = list[dict[str, Attribute]]()
        for argument, name, attributes in given:
            if argument not in self._seeds:
                self._attributes.append(attributes)
                continue
            types = self._types(argument)
            made = [block.insert_arg(type_, argument.index, argument.location) for type_ in types]
            self._stand_for(argument, made, source_name(argument))
            if is_array(argument):
                self._attributes.append(self._for_members(attributes))
                continue
            for k in range(self._count):
                self._attributes.append({NAME: StringAttr(names.of(f"{name}{k}"))})

    def _return_members(self, primal_results: int) -> None:
        """Return each derivative among the results once a member."""
        function, returned, names = self._function, self._function.get_return_op(), UniqueNames()
        assert returned is not None
        operands = list(returned.operands[:primal_results])
        results = result_attributes(function)
        marks = results[:primal_results]
        for value, attributes in list(zip(returned.operands, results, strict=True))[primal_results:]:
            for k in range(self._count):
                operands.append(self._member(value, k))
                marks.append(attributes | {NAME: StringAttr(names.of(f"{text_of(attributes[NAME])}{k}"))})
        returned.operands = operands
        inputs = [argument.type for argument in function.args if argument not in self._seeds]
        function.function_type = FunctionType.from_lists(inputs, [value.type for value in operands])
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, self._attributes))
        function.properties["res_attrs"] = ArrayAttr(map(DictionaryAttr, marks))

    def _for_members(self, attributes: dict[str, Attribute]) -> dict[str, Attribute]:
        """The attributes of an argument that has room for all members."""
        attributes = dict(attributes)
        if "tapeflow.extents" in attributes:
            extents = cast(ArrayAttr[StringAttr], attributes["tapeflow.extents"])
            attributes["tapeflow.extents"] = ArrayAttr([*extents, StringAttr(str(self._count))])
        # With room for all members, the derivatives of a struct's numbers no longer lie as in a struct.
        attributes.pop("tapeflow.record", None)
        attributes.pop("tapeflow.complex", None)
        return attributes

    def _take_seeds(self, block: Block) -> None:
        """Give the seeds, arguments of the function, room for all members."""
        positions = [seed.index for seed in self._seeds]
        for seed, position in zip(self._seeds, positions, strict=True):
            array = block.insert_arg(self._type(seed), seed.index, seed.location)
            array.name_hint = seed.name_hint
            self._attributes[position] = self._for_members(self._attributes[position])
            if is_array(seed):
                self._arrays[seed] = array
            else:
                self._members[seed] = self._load_seeds(seed, array)

    def _load_seeds(self, seed: BlockArgument, array: SSAValue) -> Sequence[SSAValue]:
        """The members of a scalar, loaded just before they are first used."""
        used = (use.operation for use in seed.uses)
        block = self._function.body.block
        users = {block.find_ancestor_op_in_block(op) for op in used}
        first = next((op for op in block.ops if op in users), None)
        if first is None:
            return ()
        build = LocatedBuilder(InsertPoint.before(first), place=place_of(seed))
        return [
            build.value(memref.LoadOp.get(array, [it]), _numbered(source_name(seed), k))
            for k, it in enumerate(self._places())
        ]

    def _return(self, primal_results: int) -> None:
        """Write the derivatives among the results to arguments, and give the function its new type."""
        function, block = self._function, self._function.body.block
        returned = function.get_return_op()
        assert returned is not None
        results = result_attributes(function)
        for value, attributes in list(zip(returned.operands, results, strict=True))[primal_results:]:
            type_ = MemRefType(value.type, [self._count])
            array = block.insert_arg(type_, len(block.args), place_of(returned))
            set_source_name(array, text_of(attributes[NAME]))
            self._attributes.append(attributes)
            build = LocatedBuilder(InsertPoint.before(returned), place=place_of(value))
            for k, place in enumerate(self._places()):
                build.insert(memref.StoreOp.get(self._member(value, k), array, [place]))
        returned.operands = returned.operands[:primal_results]
        inputs = [argument.type for argument in function.args if argument not in self._seeds]
        function.function_type = FunctionType.from_lists(inputs, [value.type for value in returned.operands])
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, self._attributes))
        function.properties["res_attrs"] = ArrayAttr(map(DictionaryAttr, results[:primal_results]))
        function.attributes["tapeflow.batch"] = IntegerAttr(self._count, i64)

    # Values

    def _places(self) -> Iterator[SSAValue]:
        """The index of each member."""
        return (self._constants.index(k) for k in range(self._count))

    def _member(self, value: SSAValue, k: int) -> SSAValue:
        """Member k of `value`, which may be the same for all."""
        return self._members[value][k] if value in self._members else value

    def _array(self, array: SSAValue) -> SSAValue:
        return self._arrays.get(array, array)

    def _type(self, value: SSAValue) -> MemRefType[Attribute]:
        """The type of `value`, a scalar or an array, for all members."""
        type_: Attribute = value.type
        if not isinstance(type_, MemRefType):
            return MemRefType(type_, [self._count])
        memref_type = cast(MemRefType[Attribute], type_)
        return MemRefType(
            memref_type.element_type,
            [*memref_type.get_shape(), self._count],
            self._layout(memref_type.layout, value),
            memref_type.memory_space,
        )

    def _layout(self, layout: MemRefLayoutAttr | NoneAttr, value: SSAValue) -> MemRefLayoutAttr | NoneAttr:
        match layout:
            case NoneAttr():
                return layout
            case StridedLayoutAttr():
                strides = [self._apart(stride) for stride in layout.strides]
                return StridedLayoutAttr(ArrayAttr([*strides, IntAttr(1)]), self._apart(layout.offset))
            case _:
                raise TapeflowError(
                    f"a view of layout {layout} has no form for several members of a batch",
                    location=location_of(value),
                    hint="ask for the derivatives one at a time",
                )

    def _apart(self, distance: IntAttr | NoneAttr) -> IntAttr | NoneAttr:
        return IntAttr(distance.data * self._count) if isinstance(distance, IntAttr) else distance

    # Operations

    def _block(self, block: Block, slots: Sequence[SSAValue], arguments: Sequence[BlockArgument] = ()) -> None:
        """Put the members of what differs into `block`, which hands on to `slots` and is given `arguments`."""
        self._carry(block, arguments)
        for op in list(block.ops):
            self._spread(op)
        last = block.last_op
        assert last is not None
        if isinstance(last, scf.ConditionOp):
            last.operands = [last.condition, *self._spread_out(last.args, slots)]
        else:
            last.operands = self._spread_out(last.operands, slots)
        self._clean(block, arguments)

    def _clean(self, block: Block, arguments: Sequence[BlockArgument]) -> None:
        """Erase what now stands in `block` once a member."""
        for op in reversed([op for op in block.ops if op in self._outgrown]):
            op.detach()
            op.erase(safe_erase=False)
        for argument in arguments:
            if argument in self._batched:
                block.erase_arg(argument)

    def _spread(self, op: Operation) -> None:
        match op:
            case scf.ForOp():
                self._loop(op)
            case scf.WhileOp():
                self._while(op)
            case scf.IfOp():
                self._branch(op)
            case memref.DimOp():
                op.operands[0] = self._array(op.source)
            case func.ReturnOp() | scf.YieldOp() | scf.ConditionOp():
                pass
            case func.CallOp() if has_derivatives(op):
                self._call_for_all(op)
            case _ if self._differs(op):
                self._outgrown.add(op)
                self._spread_one(op)
            case _:
                pass

    def _differs(self, op: Operation) -> bool:
        return any(value in self._batched for value in (*op.operands, *op.results))

    def _spread_one(self, op: Operation) -> None:
        match op:
            case memref.LoadOp() | memref.StoreOp() | AccumulateOp():
                self._access(op)
            case memref.AllocaOp() | memref.AllocOp() | memref.CastOp() | memref.SubviewOp():
                self._retype(op)
            case arith.SelectOp() if is_array(op.result):
                self._retype(op)
            case tape.CreateOp() | tape.PushOp() | tape.PopOp():
                self._repeat(op)
            case _ if is_pure(op) and not any(map(is_array, op.results)):
                self._repeat(op)
            case func.CallOp() if len(op.results) == 1 and not any(map(is_array, (*op.operands, *op.results))):
                self._repeat(op)
            case func.CallOp():
                raise TapeflowError(
                    f"the call of '{op.callee.string_value()}', which a rule makes with what differs between the "
                    "members of a batch, stays a call and is given an array",
                    location=op.location,
                    hint="ask for the derivatives one at a time; or define it in the same file, as a loop",
                )
            case _:
                raise TapeflowError(
                    f"'{op.name}' takes part in this derivative, and has no form for several members of a batch",
                    location=op.location,
                    hint="ask for the derivatives one at a time",
                )

    def _repeat(self, op: Operation) -> None:
        """An operation a member."""
        repeated = [
            op.clone({operand: self._member(operand, k) for operand in op.operands}) for k in range(self._count)
        ]
        for k, each in enumerate(repeated):
            self._put(each, op)
            for result, original in zip(each.results, op.results, strict=True):
                self._call(result, _numbered(source_name(original), k))
        if op.results:
            (result,) = op.results
            self._members[result] = [each.results[0] for each in repeated]

    def _call_for_all(self, call: func.CallOp) -> None:
        """One call, of what was made for as many members, with all of each derivative."""
        spread, written = derivative_operands(call), written_positions(call)
        operands: list[SSAValue] = []
        written_now: list[int] = []
        for position, operand in enumerate(call.arguments):
            if position in written:
                written_now.append(len(operands))
            if position not in spread or is_array(operand):
                operands.append(self._array(operand))
            else:
                operands += [self._member(operand, k) for k in range(self._count)]
        names = list(map(source_name, call.results))
        types = [type_ for result in call.results for type_ in self._types(result)]
        larger = func.CallOp(call.callee.string_value(), operands, types)
        self._replace(call, larger, names)
        keep_call(larger, written_now)

    def _access(self, op: memref.LoadOp | memref.StoreOp | AccumulateOp) -> None:
        array = self._arrays[op.memref]
        loaded: list[SSAValue] = []
        for k, place in enumerate(self._places()):
            indices = [*op.indices, place]
            match op:
                case memref.LoadOp():
                    load = memref.LoadOp.get(array, indices)
                    self._put(load, op)
                    self._call(load.res, _numbered(source_name(op.res), k))
                    loaded.append(load.res)
                case memref.StoreOp():
                    self._put(memref.StoreOp.get(self._member(op.value, k), array, indices), op)
                case AccumulateOp():
                    self._put(AccumulateOp(self._member(op.value, k), array, indices), op)
        if isinstance(op, memref.LoadOp):
            self._members[op.res] = loaded

    def _retype(self, op: Operation) -> None:
        """The same operation on, or for, arrays that have room for all members."""
        properties = dict(op.properties)
        if isinstance(op, memref.SubviewOp):
            for name, number in (("static_offsets", 0), ("static_sizes", self._count), ("static_strides", 1)):
                numbers = cast(DenseArrayBase[IntegerType], properties[name]).get_values()
                properties[name] = DenseArrayBase.from_list(i64, [*numbers, number])
        retyped = type(op).create(
            operands=[self._array(operand) for operand in op.operands],
            result_types=[self._type(op.results[0])],
            properties=properties,
            attributes=dict(op.attributes),
        )
        self._put(retyped, op)
        self._call(retyped.results[0], source_name(op.results[0]))
        self._arrays[op.results[0]] = retyped.results[0]

    def _put(self, new: Operation, old: Operation) -> None:
        new.location = unnamed(old.location)
        block = old.parent
        assert block is not None
        block.insert_op_before(new, old)

    def _call(self, result: SSAValue, name: str | None) -> None:
        if name is not None:
            set_source_name(result, name)

    # Structure

    def _loop(self, loop: scf.ForOp) -> None:
        body, names = loop.body.block, list(map(source_name, loop.results))
        carried = list(body.args[1:])
        inits = self._spread_out(loop.iter_args, carried)
        self._block(body, carried, carried)
        self._replace(loop, scf.ForOp(loop.lb, loop.ub, loop.step, inits, loop.detach_region(loop.body)), names)

    def _while(self, loop: scf.WhileOp) -> None:
        """A loop in normal form: the test hands on exactly what it is given."""
        test, body, names = loop.before_region.block, loop.after_region.block, list(map(source_name, loop.results))
        tested, carried = list(test.args), list(body.args)
        inits = self._spread_out(loop.arguments, carried)
        self._block(test, tested, tested)
        self._block(body, carried, carried)
        regions = [loop.detach_region(region) for region in (loop.before_region, loop.after_region)]
        self._replace(loop, scf.WhileOp(inits, [value.type for value in inits], *regions), names)

    def _branch(self, branch: scf.IfOp) -> None:
        names = list(map(source_name, branch.results))
        for region in branch.regions:
            if region.blocks:
                self._block(region.block, branch.results)
        arms = [branch.detach_region(region) for region in tuple(branch.regions)]
        types = [type_ for result in branch.results for type_ in self._types(result)]
        self._replace(branch, scf.IfOp(branch.cond, types, arms[0], arms[1]), names)

    def _types(self, value: SSAValue) -> Sequence[Attribute]:
        """What stands in place of `value` where it is handed on."""
        if value not in self._batched:
            return [value.type]
        return [self._type(value)] if is_array(value) else [value.type] * self._count

    def _carry(self, block: Block, arguments: Sequence[BlockArgument]) -> None:
        """New arguments of `block` for the members of those of `arguments` that differ."""
        for argument in arguments:
            if argument in self._batched:
                types = self._types(argument)
                made = [block.insert_arg(type_, argument.index, argument.location) for type_ in types]
                self._stand_for(argument, made, source_name(argument))

    def _stand_for(self, value: SSAValue, made: Sequence[SSAValue], name: str | None) -> None:
        """`made` stands in place of `value`, called `name`: an array, or a value a member."""
        if is_array(value):
            self._arrays[value] = made[0]
            self._call(made[0], name)
            return
        self._members[value] = made
        for k, each in enumerate(made):
            self._call(each, _numbered(name, k))

    def _spread_out(self, values: Sequence[SSAValue], slots: Sequence[SSAValue]) -> list[SSAValue]:
        """`values` as they are handed on to `slots`, of which some differ."""
        spread: list[SSAValue] = []
        for value, slot in zip(values, slots, strict=True):
            single = slot not in self._batched or is_array(slot)
            spread += [self._array(value)] if single else [self._member(value, k) for k in range(self._count)]
        return spread

    def _replace(self, old: Operation, larger: Operation, names: Sequence[str | None]) -> None:
        """Put `larger`, whose results stand for those of `old`, called `names`, in its place."""
        larger.attributes |= old.attributes
        self._put(larger, old)
        made = iter(larger.results)
        larger_names: list[str | None] = []
        for result, name in zip(old.results, names, strict=True):
            mine = [next(made) for _ in self._types(result)]
            if result in self._batched:
                self._stand_for(result, mine, name)
            else:
                result.replace_all_uses_with(mine[0])
            is_spread = result in self._members
            larger_names += [_numbered(name, k) if is_spread else name for k in range(len(mine))]
        set_result_names(larger, larger_names)
        self._outgrown.add(old)


def _numbered(name: str | None, k: int) -> str | None:
    """What member k of a value called `name` is called."""
    return None if name is None else f"{name}{k}"
