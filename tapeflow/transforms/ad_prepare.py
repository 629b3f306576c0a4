"""`ad-prepare`: bring what is to be differentiated into the one form that `ad-differentiate` knows.

Applies to the functions that the module's requests name, or to all but derivatives if there are none. Afterwards such
a function is one block of `scf.for` and `scf.if`, `arith`, `math` and `memref` ops: calls are inlined, scalar variables
are SSA values, constants are in the top block, loops count in `index`, nothing is computed twice or for nobody. What it
cannot bring into this form it refuses, with the place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    Float32Type,
    Float64Type,
    MemRefType,
    ModuleOp,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tapeflow.analysis.call_graph import INLINE_LIMIT, UNLIMITED, CallGraph
from tapeflow.analysis.kept_calls import keep_call, kept_calls
from tapeflow.analysis.library_functions import declare_library_functions
from tapeflow.analysis.requests import functions_of, is_derivative, primal_of, requests_of
from tapeflow.analysis.roots import written_arguments
from tapeflow.analysis.source_names import source_name
from tapeflow.analysis.undisturbed_arguments import undisturbed_arguments
from tapeflow.analysis.user_rules import (
    Rule,
    declared_writes,
    mark_call,
    mark_undisturbed,
    rule_of_call,
    rules_of,
)
from tapeflow.dialects.ad import AccumulateOp
from tapeflow.errors import TapeflowError, source_position
from tapeflow.transforms.bound_array_sizes import bound_array_sizes
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.gather_tables import gather_tables
from tapeflow.transforms.hoist_subscripts import hoist_subscripts
from tapeflow.transforms.inline_calls import inline_calls
from tapeflow.transforms.lift_array_sizes import lift_array_sizes
from tapeflow.transforms.lower_affine import lower_affine
from tapeflow.transforms.lower_arithmetic import lower_arithmetic
from tapeflow.transforms.lower_call_views import CallViews
from tapeflow.transforms.lower_complex import lower_complex
from tapeflow.transforms.lower_copies import lower_copies
from tapeflow.transforms.lower_execute_region import lower_execute_region
from tapeflow.transforms.lower_index_switch import lower_index_switch
from tapeflow.transforms.lower_linalg import lower_linalg
from tapeflow.transforms.lower_parallel import lower_parallel
from tapeflow.transforms.lower_softmax import lower_softmax
from tapeflow.transforms.lower_views import lower_views
from tapeflow.transforms.normalize_whiles import normalize_whiles
from tapeflow.transforms.overwritten_stores import remove_overwritten_stores
from tapeflow.transforms.promote_elements import promote_elements
from tapeflow.transforms.promote_scalars import promote_scalars, refuse_unset_copies
from tapeflow.transforms.simplify import simplify
from tapeflow.transforms.single_elements import single_elements_to_scalars
from tapeflow.transforms.sink_into_arms import sink_into_arms
from tapeflow.transforms.store_to_load_forwarding import forward_stores_to_loads

_KNOWN: frozenset[type[Operation]] = frozenset(
    (
        *arith.Arith.operations,
        *math.Math.operations,
        scf.ForOp,
        scf.WhileOp,
        scf.ConditionOp,
        scf.IfOp,
        scf.YieldOp,
        func.CallOp,
        func.ReturnOp,
        memref.AllocaOp,
        memref.AllocOp,
        memref.CastOp,
        memref.DeallocOp,
        memref.DimOp,
        memref.GetGlobalOp,
        memref.LoadOp,
        memref.StoreOp,
        memref.SubviewOp,
    )
)

_REMEDIES: Mapping[str, str] = {
    "scf.forall": "lower it first, with mlir-opt --one-shot-bufferize --scf-forall-to-for",
    "scf.execute_region": "write its blocks with structured loops and branches (scf), or mlir-opt --lift-cf-to-scf",
    "linalg": "lower it first, with mlir-opt --linalg-generalize-named-ops or --convert-linalg-to-loops",
    "tensor": "bufferize it first, with mlir-opt --one-shot-bufferize",
    "vector": "write loops over single elements, as before vectorization",
    "memref.view": "allocate an array of its own for each element type",
    "memref.extract_strided_metadata": "ask for sizes with memref.dim, and make views with memref.subview",
    "memref.extract_aligned_pointer_as_index": "hand the array on, not its address",
    "memref.dma_start": "copy with memref.copy",
    "memref.dma_wait": "copy with memref.copy",
    "cf": "write it with structured loops and branches (scf), or mlir-opt --lift-cf-to-scf",
}
"""What to do about an operation that is refused, by its name or its dialect."""


def targets(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The functions to prepare: those that requests name, or, without requests, all with a body but derivatives."""
    functions = functions_of(module)
    requests = requests_of(module)
    if requests:
        made = {request.sym_name.data for request in requests}
        named = [request for request in requests if request.primal.string_value() not in made]
        yield from dict.fromkeys(primal_of(request, functions) for request in named)
    else:
        for function in functions.values():
            if not function.is_declaration and not is_derivative(function):
                yield function


def refused_type(type_: Attribute) -> tuple[str, str] | None:
    """What a type is that has no derivative and no C, and what to do about it; None if it is no such type."""
    inner: Attribute = cast(MemRefType[Attribute], type_).element_type if isinstance(type_, MemRefType) else type_
    match inner:
        case Float32Type() | Float64Type():
            return None
        case _ if isinstance(inner, AnyFloat):
            return f"{inner}, of which C has no numbers", "compute in f32 or f64: extend what is read with arith.extf"
        case ComplexType():
            return f"{inner}, whose parts are no f32 or f64", "compute with complex<f32> or complex<f64>"
        case VectorType():
            return f"{inner}, a vector", "write loops over single elements, as before vectorization"
        case TensorType() | UnrankedTensorType():
            return f"{inner}, a value that is no array in memory", _REMEDIES["tensor"]
        case UnrankedMemRefType():
            return f"{inner}, an array of unknown rank", "give its rank: memref<?x?xf64>"
        case _:
            return None


def _check_argument_types(function: func.FuncOp) -> None:
    for argument in function.args:
        if (refused := refused_type(argument.type)) is not None:
            what, hint = refused
            name = source_name(argument) or f"argument {argument.index}"
            raise TapeflowError(
                f"'{name}' of '{function.sym_name.data}' is {what}",
                location=argument.location if source_position(argument.location) else function.location,
                hint=hint,
            )


def check_operations(function: func.FuncOp, *, also: Container[type[Operation]] = ()) -> None:
    """Refuse `function` if it has an operation that cannot be differentiated, or more than one block.

    Args:
        function: to check.
        also: operations that are taken beside those of core IR.

    Raises:
        TapeflowError: names the operation, its place and a way round.
    """
    if any(isinstance(type_, MemRefType) for type_ in function.function_type.outputs):
        raise TapeflowError(
            f"'{function.sym_name.data}' returns an array, which cannot be differentiated",
            location=function.location,
            hint="write into an array argument instead",
        )
    _check_argument_types(function)
    for op in function.body.walk():
        if type(op) not in _KNOWN and type(op) not in also:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            hint = _REMEDIES.get(name) or _REMEDIES.get(name.partition(".")[0])
            raise TapeflowError(f"'{name}' cannot be differentiated yet", location=op.location, hint=hint)
        for result in op.results:
            if (refused := refused_type(result.type)) is not None:
                what, hint = refused
                raise TapeflowError(f"'{op.name}' computes {what}", location=op.location, hint=hint)
    if len(function.body.blocks) != 1:
        raise TapeflowError(
            f"'{function.sym_name.data}' has jumps between blocks", location=function.location, hint=_REMEDIES["cf"]
        )


def keep_local_arrays_in_their_blocks(function: func.FuncOp) -> None:
    """Make every local array one that lives as long as its block: `memref.alloca`, with no `memref.dealloc`."""
    for op in list(function.body.walk()):
        if isinstance(op, memref.DeallocOp):
            Rewriter.erase_op(op)
        elif isinstance(op, memref.AllocOp):
            local = memref.AllocaOp.build(
                operands=[op.dynamic_sizes, op.symbol_operands],
                result_types=[op.memref.type],
                properties={"alignment": op.alignment},
            )
            local.location = op.location
            local.memref.name_hint = op.memref.name_hint
            Rewriter.replace_op(op, local)


def lower_structure(function: func.FuncOp) -> None:
    """Lower the operations on whole arrays, and the loops and branches that core IR lacks, of `function`.

    Raises:
        TapeflowError: one cannot be lowered.
    """
    lower_affine(function)
    lower_linalg(function)
    lower_softmax(function)
    lower_copies(function)
    lower_execute_region(function)
    lower_index_switch(function)
    lower_parallel(function)
    lower_views(function)


def prepare(
    function: func.FuncOp,
    functions: Mapping[str, func.FuncOp],
    rules: Mapping[str, Rule] | None = None,
    kept: Container[str] = (),
    call_views: CallViews | None = None,
) -> None:
    """Bring `function` into the form that `ad-differentiate` knows.

    Calls of what has a rule in `rules`, or is in `kept`, stay; `call_views` has the variants of the latter.

    Raises:
        TapeflowError: it has something that cannot be brought into that form.
    """
    inline_calls(function, functions, rules, kept)
    if call_views is not None:
        call_views.lower(function)
    lower_structure(function)
    lower_arithmetic(function, functions)
    # What a rule gives may accumulate; that is differentiated in forward mode alone.
    check_operations(function, also=(AccumulateOp,))
    keep_local_arrays_in_their_blocks(function)
    gather_tables(function)
    single_elements_to_scalars(function)
    promote_scalars(function)
    normalize_whiles(function)
    simplify(function)
    lift_array_sizes(function)
    bound_array_sizes(function)
    hoist_subscripts(function)
    unify_common_subexpressions(function)
    if forward_stores_to_loads(function):
        # What was loaded may be a subscript, or be computed from as what was stored is.
        unify_common_subexpressions(function)
    if promote_elements(function):
        forward_stores_to_loads(function)
        unify_common_subexpressions(function)
    remove_overwritten_stores(function)
    sink_into_arms(function)
    remove_dead_code(function)
    refuse_unset_copies(function)


@dataclass(frozen=True)
class AdPreparePass(ModulePass):
    """Bring the functions that are to be differentiated into the one form that `ad-differentiate` knows."""

    name = "ad-prepare"

    inline_limit: int = INLINE_LIMIT
    """The most operations of a function that is inlined where it is called, with those of what is inlined in it; calls
    of larger ones stay calls, and so do those of recursive ones. -1 for no limit."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Prepare the targets of `op`, and what they call by calls that stay, in place."""
        if self.inline_limit < UNLIMITED:
            raise TapeflowError(f"ad-prepare: inline-limit is a number of operations, or -1; not {self.inline_limit}")
        functions = dict(functions_of(op))
        rules = rules_of(op)
        wanted = [*targets(op), *(functions[name] for of, rule in rules.items() for name in (of, *rule.functions))]
        lower_complex(op, wanted, lower_structure)
        kept = set(CallGraph(functions, rules).kept(self.inline_limit))
        call_views = CallViews(functions, kept)
        pending = deque(wanted)
        prepared: dict[func.FuncOp, None] = {}
        while pending:
            function = pending.popleft()
            if function not in prepared and not function.is_declaration:
                prepare(function, functions, rules, kept, call_views)
                prepared[function] = None
                pending.extend(functions[call.callee.string_value()] for call in kept_calls(function))
        declare_library_functions(op)
        # What they write to is plain only now.
        for function in prepared:
            for call in kept_calls(function):
                if (rule := rule_of_call(call)) is not None:
                    mark_call(call, rule, functions)
                    continue
                callee = functions[call.callee.string_value()]
                if callee.is_declaration:
                    keep_call(call, declared_writes(callee))
                else:
                    keep_call(call, [argument.index for argument in written_arguments(callee)])
        _mark_undisturbed(prepared, functions)


def _mark_undisturbed(prepared: Iterable[func.FuncOp], functions: Mapping[str, func.FuncOp]) -> None:
    """Note on calls that rules are about, in functions that are called, which of their arrays nobody writes to."""
    calls = [call for function in prepared for call in kept_calls(function)]
    called = {call.callee.string_value() for call in calls if rule_of_call(call) is None}
    bodies = {name: functions[name] for name in called if not functions[name].is_declaration}
    if any(rule_of_call(call) is not None for function in bodies.values() for call in kept_calls(function)):
        for name, positions in undisturbed_arguments(prepared, bodies).items():
            undisturbed = {bodies[name].args[position] for position in positions}
            for call in kept_calls(bodies[name]):
                if rule_of_call(call) is not None:
                    mark_undisturbed(call, undisturbed)
