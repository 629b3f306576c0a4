"""`ad-differentiate`: replace each request by the function that it asks for.

Requests are granted in the order in which they depend on one another: a request may name the function that another one
makes. So a forward-mode request of a gradient gives Hessian-vector products.

Forward mode adds to each operation the one that computes the tangent of its result; see `forward_sweep`.

Reverse mode makes one joint function: the forward sweep is the primal, with a push for each value that the reverse
sweep needs; the reverse sweep mirrors it block by block. Every needed value is pushed on a tape of its own, in the
innermost block that contains all its needs and lies in no loop that its definition is outside of, and popped in the
mirror of that block. Values of the top block are used as they are; induction variables and integer arithmetic are had
again.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from tapeflow.analysis.activity import Activity, Request
from tapeflow.analysis.availability import Availability, is_integer_arithmetic
from tapeflow.analysis.library_functions import declare_library_functions, library_function
from tapeflow.analysis.loops import is_normal
from tapeflow.analysis.requests import functions_of, primal_of, requests_of
from tapeflow.analysis.roots import written_roots
from tapeflow.analysis.user_rules import rules_of, vjp_of_call
from tapeflow.dialects import ad, tape
from tapeflow.errors import TapeflowError
from tapeflow.transforms.accumulate_in_registers import accumulate_in_registers
from tapeflow.transforms.ad_prepare import check_operations
from tapeflow.transforms.adjoint_frames import Frame
from tapeflow.transforms.chain_rule import Product
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.count_iterations import count_iterations
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.dead_stores import remove_dead_stores
from tapeflow.transforms.forward_sweep import ForwardSweep
from tapeflow.transforms.gradient_signature import GradientSignature
from tapeflow.transforms.inline_calls import inline_calls
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.meet_needs import meet_needs
from tapeflow.transforms.mirrored_values import hoist_integer_arithmetic
from tapeflow.transforms.overwritten_fills import remove_overwritten_fills
from tapeflow.transforms.reverse_sweep import ReverseSweep
from tapeflow.transforms.simplify import Constants, simplify
from tapeflow.transforms.tangent_signature import TangentSignature


def check_prepared(function: func.FuncOp, *, also: Container[type[Operation]] = (), takes_rules: bool = False) -> None:
    """Refuse a function that is not in the form of `ad-prepare`, with the operations in `also` beside.

    `takes_rules`: calls of functions with a rule are known too.

    Raises:
        TapeflowError: names what is not in that form.
    """
    check_operations(function, also=also)
    for op in function.body.walk():
        if isinstance(op, scf.WhileOp) and not is_normal(op):
            raise TapeflowError(
                "a while is differentiated once its test only asks and hands on what it is given",
                location=op.location,
                hint=_PREPARE,
            )
        if isinstance(op, func.CallOp) and library_function(op) is None:
            if takes_rules and vjp_of_call(op) is not None:
                continue
            raise TapeflowError("a call is differentiated once it is inlined", location=op.location, hint=_PREPARE)


_PREPARE = "run ad-prepare first"


def vjp(
    request: ad.DerivativeRequest, primal: func.FuncOp, functions: Mapping[str, func.FuncOp] | None = None
) -> func.FuncOp:
    """The reverse-mode derivative that `request` asks for; `primal` is left as it is.

    `functions` are those that calls with a rule are about.

    Raises:
        TapeflowError: the primal is not prepared, or something active in it has no derivative.
    """
    check_prepared(primal, takes_rules=True)
    function = primal.clone()
    function.sym_name = request.sym_name
    function.attributes["tapeflow.gradient_of"] = StringAttr(primal.sym_name.data)
    simplify(function)
    remove_dead_code(function)
    counted = count_iterations(function)
    marks = Request.of(request)
    activity = Activity(function, marks)
    signature = GradientSignature(function, marks)
    sweep = _build_reverse_sweep(function, activity, signature, counted)
    # Only what is needed now counts as a need.
    remove_dead_stores(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    available = Availability(function, is_integer_arithmetic, others_are_taped=True)
    meet_needs(function, sweep.mirrors, sweep.placeholders(), available)
    hoist_integer_arithmetic(sweep.trip_counts)
    accumulate_in_registers(function)
    simplify(function)
    unify_common_subexpressions(function)
    remove_overwritten_fills(sweep.fills)
    inline_calls(function, functions or {})
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    return function


def jvp(request: ad.DerivativeRequest, primal: func.FuncOp) -> func.FuncOp:
    """The forward-mode derivative that `request` asks for; `primal`, which may be a gradient, is left as it is.

    Raises:
        TapeflowError: the primal is not prepared, or something active in it has no derivative.
    """
    check_prepared(primal, also=_OF_GRADIENTS)
    function = primal.clone()
    function.sym_name = request.sym_name
    function.attributes["tapeflow.tangent_of"] = StringAttr(primal.sym_name.data)
    simplify(function)
    remove_dead_code(function)
    marks = Request.of(request)
    activity = Activity(function, marks)
    signature = TangentSignature(function, marks)
    sweep = ForwardSweep(activity, Constants(function), signature.tangents)
    sweep.block(function.body.block)
    signature.finish([sweep.tangent(value) for value in signature.active_results])
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    return function


_OF_GRADIENTS: frozenset[type[Operation]] = frozenset((ad.AccumulateOp, tape.CreateOp, tape.PushOp, tape.PopOp))
"""What a gradient function consists of beside the operations of a primal; they have tangents, but no adjoints."""


def _build_reverse_sweep(
    function: func.FuncOp,
    activity: Activity,
    signature: GradientSignature,
    counted: Mapping[scf.WhileOp, SSAValue],
) -> ReverseSweep:
    """Append the reverse sweep to `function`, with placeholders for what it needs of the forward sweep."""
    returned = function.get_return_op()
    assert returned is not None
    constants = Constants(function)
    build = LocatedBuilder(InsertPoint.before(returned), place=place_of(function))
    top = Frame(function.body.block, build)
    for value, seed in signature.seeds:
        if activity.value(value):
            top.contribute(value, Product(seed))
    sweep = ReverseSweep(activity, written_roots(function), constants, signature.shadows, counted)
    sweep.build(top)
    adjoints = [top.adjoints.get(argument) for argument in signature.active_scalars]
    signature.finish(
        [
            constants.float(0.0, argument.type) if adjoint is None else adjoint
            for argument, adjoint in zip(signature.active_scalars, adjoints, strict=True)
        ]
    )
    return sweep


class _Granting:
    """Makes the functions that the requests of a module ask for, those first that others are about."""

    def __init__(self, module: ModuleOp):
        self._requests = requests_of(module)
        self._functions = dict(functions_of(module))
        self._rules = rules_of(module)
        self._pending = {request.sym_name.data: request for request in self._requests}
        self._granted: dict[ad.DerivativeRequest, func.FuncOp] = {}

    def all(self) -> list[tuple[ad.DerivativeRequest, func.FuncOp]]:
        """Every request with its function, in the order of the module."""
        while self._pending:
            self._grant(next(iter(self._pending.values())))
        return [(request, self._granted[request]) for request in self._requests]

    def _grant(self, request: ad.DerivativeRequest) -> None:
        chain = [request]
        while (before := self._pending.get(chain[-1].primal.string_value())) is not None:
            if before in chain:
                raise TapeflowError(
                    f"{request.name} @{request.sym_name.data} is about itself: its primal is made from it",
                    location=request.location,
                )
            chain.append(before)
        for each in reversed(chain):
            primal = _without_rule(each, self._functions, self._rules)
            _check_marks(each, primal)
            is_reverse = isinstance(each, ad.VjpOp)
            function = vjp(each, primal, self._functions) if is_reverse else jvp(each, primal)
            del self._pending[each.sym_name.data]
            self._granted[each] = self._functions[each.sym_name.data] = function


def _check_marks(request: ad.DerivativeRequest, primal: func.FuncOp) -> None:
    """Check a request about a function that was not there yet when the module was verified."""
    try:
        ad.verify_marks(request, primal)
    except VerifyException as error:
        raise TapeflowError(f"{request.name} @{request.sym_name.data}: {error}", location=request.location) from None


def _without_rule(
    request: ad.DerivativeRequest, functions: Mapping[str, func.FuncOp], rules: Mapping[str, str]
) -> func.FuncOp:
    """The primal of `request`, which must have no rule: a rule is for its calls."""
    primal = primal_of(request, functions)
    if (rule := rules.get(primal.sym_name.data)) is not None:
        raise TapeflowError(
            f"{request.name} of '{primal.sym_name.data}', whose derivative is given by '{rule}'",
            location=request.location,
            hint="ask for the derivative of a function that calls it, or remove its ad.rule",
        )
    return primal


def _end_rules(module: ModuleOp) -> None:
    """All is differentiated: calls with a rule are calls like others, and are inlined."""
    functions = functions_of(module)
    for function in functions.values():
        if any(vjp_of_call(op) is not None for op in function.body.walk()):
            inline_calls(function, functions)
    for op in list(module.body.block.ops):
        if isinstance(op, ad.RuleOp):
            Rewriter.erase_op(op)


@dataclass(frozen=True)
class AdDifferentiatePass(ModulePass):
    """Replace each derivative request by the function that it asks for."""

    name = "ad-differentiate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Differentiate what the requests of `op` name, in place."""
        # All or none: a refusal leaves the module as it was.
        granted = _Granting(op).all()
        for request, function in granted:
            Rewriter.replace_op(request, function, [])
        if granted:
            _end_rules(op)
        declare_library_functions(op)
