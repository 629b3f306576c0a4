"""Bring every `scf.while` into normal form: a `before` region that only asks, and hands on what it was given.

A while whose `before` region has no effects and hands on some of what it is given is only rewired. Any other, a
do-while or one whose test computes what the body or the code behind needs, is turned into one that carries a flag:

```mlir
%r = scf.while (%a = %a0) : (T) -> U { ..before..; scf.condition(%c) %f : U } do { ^(%u: U): ..after..; scf.yield %n }
```
becomes
```mlir
%a_end, %r, %go_end = scf.while (%a = %a0, %u_old = %zero, %go = %true) {
  scf.condition(%go) %a, %u_old, %go
} do {
  ..before..
  %next = scf.if %c { ..after with %f for %u..; scf.yield %n } else { scf.yield %a }
  scf.yield %next, %f, %c
}
```
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.block_tree import defining_block, enclosing
from tapeflow.analysis.loops import condition_of, has_no_effects, is_normal
from tapeflow.analysis.source_names import set_result_names, source_name
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.promote_scalars import zero_of


def normalize_whiles(function: func.FuncOp) -> None:
    """Bring all whiles of `function` into normal form.

    Raises:
        TapeflowError: a while hands on something other than numbers that its test has chosen.
    """
    for loop in [op for op in function.body.walk() if isinstance(op, scf.WhileOp)]:
        if is_normal(loop):
            continue
        if _only_asks(loop):
            _rewire(loop)
        else:
            _carry_flag(loop)


def _only_asks(loop: scf.WhileOp) -> bool:
    """Whether the test has no effects and hands on only what it was given, or what comes from outside of the loop."""
    before = loop.before_region.block
    return has_no_effects(before) and all(
        (defining_block(value) is before and value in before.args) or _is_outside(value, loop)
        for value in condition_of(loop).args
    )


def _is_outside(value: SSAValue, loop: scf.WhileOp) -> bool:
    assert loop.parent is not None
    return defining_block(value) in set(enclosing(loop.parent))


def _replace(old: scf.WhileOp, new: scf.WhileOp, values: Sequence[SSAValue]) -> None:
    """Put `new` in place of `old`, whose results are now `values`."""
    block = old.parent
    assert block is not None
    new.location = old.location
    new.attributes |= old.attributes
    block.insert_op_before(new, old)
    for result, value in zip(old.results, values, strict=True):
        result.replace_all_uses_with(value)
    old.detach()
    old.erase(safe_erase=False)


def _arguments_like(block: Block, types: Sequence[Attribute], names: Sequence[str | None], place: Operation) -> Block:
    """`block` is given arguments of `types`; returns it."""
    build = LocatedBuilder(InsertPoint.at_end(block), place=place_of(place))
    made = build.block(list(zip(types, names, strict=True)))
    for argument in made.args:
        copied = block.insert_arg(argument.type, len(block.args), argument.location)
        copied.name_hint = argument.name_hint
    return block


def _rewire(loop: scf.WhileOp) -> None:
    """Let the test hand on all that it is given, in order."""
    before, after = loop.before_region.block, loop.after_region.block
    condition = condition_of(loop)
    forwarded = tuple(condition.args)
    old_arguments = tuple(after.args)
    types = [argument.type for argument in before.args]
    names = [source_name(argument) for argument in before.args]
    _arguments_like(after, types, names, loop)
    fresh = after.args[len(old_arguments) :]
    for old, value in zip(old_arguments, forwarded, strict=True):
        inside = fresh[before.args.index(value)] if value in before.args else value
        old.replace_all_uses_with(inside)
    for old in old_arguments:
        after.erase_arg(old)
    condition.operands = [condition.condition, *before.args]
    positions = [before.args.index(value) if value in before.args else value for value in forwarded]
    inits = list(loop.arguments)
    before_region, after_region = (loop.detach_region(region) for region in tuple(loop.regions))
    new = scf.WhileOp(inits, types, before_region, after_region)
    values = [new.results[it] if isinstance(it, int) else it for it in positions]
    _replace(loop, new, values)


def _carry_flag(loop: scf.WhileOp) -> None:
    """Let the body run the test, and carry whether the loop goes on."""
    before, after = loop.before_region.block, loop.after_region.block
    condition = condition_of(loop)
    build = LocatedBuilder(InsertPoint.before(loop), place=place_of(loop))
    given = [argument.type for argument in before.args]
    handed = [value.type for value in condition.args]
    for type_ in handed:
        if not isinstance(type_, IntegerType | IndexType | AnyFloat):
            raise TapeflowError(
                f"a while whose test chooses a value of type {type_} cannot be differentiated",
                location=loop.location,
                hint="choose numbers in the test, and index one array",
            )
    forwards_only = _only_hands_on(after) and given == handed
    places = handed if forwards_only else [*given, *handed]
    names = [source_name(argument) for argument in before.args]
    if not forwards_only:
        names += [source_name(value) for value in condition.args]
    zeros = [] if forwards_only else [build.value(zero_of(type_)) for type_ in handed]
    inits = [*loop.arguments, *zeros, build.value(arith.ConstantOp.from_int_and_width(1, i1))]

    test = _arguments_like(Block(), [*places, i1], [*names, "go"], loop)
    asking = build.into(test)
    asking.insert(scf.ConditionOp(test.args[-1], *test.args))

    # The test becomes the first part of the body.
    _arguments_like(before, [*places[len(given) :], i1], [*names[len(given) :], "go"], loop)
    current, forwarded, goes_on = tuple(before.args[: len(given)]), tuple(condition.args), condition.condition
    condition.detach()
    condition.erase()
    body = build.into(before)
    if forwards_only:
        following: Sequence[SSAValue] = forwarded
    else:
        for argument, value in zip(tuple(after.args), forwarded, strict=True):
            argument.replace_all_uses_with(value)
            after.erase_arg(argument)
        following = (*_next(body, loop, goes_on, current), *forwarded)
    body.insert(scf.YieldOp(*following, goes_on))
    new = scf.WhileOp(inits, [*places, i1], Region(test), loop.detach_region(loop.before_region))
    set_result_names(new, [*names, "go"])
    _replace(loop, new, new.results[len(places) - len(handed) : len(places)])


def _next(
    body: LocatedBuilder, loop: scf.WhileOp, goes_on: SSAValue, current: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The old body, under a branch; what it hands on."""
    otherwise = body.block()
    body.into(otherwise).insert(scf.YieldOp(*current))
    types = [value.type for value in current]
    names = [source_name(value) for value in current]
    branch = scf.IfOp(goes_on, types, loop.detach_region(loop.after_region), Region(otherwise))
    return body.named(branch, *names)


def _only_hands_on(after: Block) -> bool:
    """Whether `after` does nothing but hand on its arguments: the loop is a do-while."""
    last = after.last_op
    return after.first_op is last and last is not None and tuple(last.operands) == tuple(after.args)
