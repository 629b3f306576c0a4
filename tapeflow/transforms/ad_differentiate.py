"""`ad-differentiate`: replace each request by the function that it asks for.

Requests are granted in the order in which they depend on one another: a request may name the function that another one
makes. So a forward-mode request of a gradient gives Hessian-vector products.

Forward mode adds to each operation the one that computes the tangent of its result; see `forward_sweep`.

Reverse mode makes one joint function: the forward sweep is the primal, with a push for each value that the reverse
sweep needs; the reverse sweep mirrors it block by block. Every needed value is pushed on a tape of its own, in the
innermost block that contains all its needs and lies in no loop that its definition is outside of, and popped in the
mirror of that block. Values of the top block are used as they are; induction variables and integer arithmetic are had
again.

With a batch, what was made for one cotangent or tangent is then made for several; see `batch_derivative`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from tapeflow.analysis.activity import Request
from tapeflow.analysis.kept_calls import forget_derivatives, forward_half, is_kept, reverse_half
from tapeflow.analysis.library_functions import declare_library_functions, library_function
from tapeflow.analysis.loops import is_normal
from tapeflow.analysis.requests import functions_of, primal_of, requests_of
from tapeflow.analysis.user_rules import Rule, rules_of
from tapeflow.dialects import ad, tape
from tapeflow.errors import TapeflowError
from tapeflow.transforms.ad_prepare import check_operations
from tapeflow.transforms.batch_derivative import batch_derivative
from tapeflow.transforms.callees import Callees
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.forward_mode import NestedTangents, differentiate_forward
from tapeflow.transforms.joint_form import JointForm
from tapeflow.transforms.nested_calls import NestedCalls, Sweeps, mark_unchanged
from tapeflow.transforms.nested_tapes import put_split
from tapeflow.transforms.reverse_mode import differentiate_in_reverse
from tapeflow.transforms.rule_calls import inline_ruled_calls, look_into_bodies
from tapeflow.transforms.simplify import simplify


def check_prepared(function: func.FuncOp, *, also: Collection[type[Operation]] = ()) -> None:
    """Refuse a function that is not in the form of `ad-prepare`, with the operations in `also` beside.

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
            if not also and (forward_half(op) or reverse_half(op)) is not None:
                raise TapeflowError(
                    f"'{op.callee.string_value()}' is one sweep of a gradient, which has no reverse mode of its own",
                    location=op.location,
                    hint="ask for an ad.jvp of it: forward over reverse gives second derivatives",
                )
            if is_kept(op):
                continue
            raise TapeflowError("a call is differentiated once it is inlined", location=op.location, hint=_PREPARE)


_PREPARE = "run ad-prepare first"


def vjp(
    request: ad.DerivativeRequest, primal: func.FuncOp, functions: Mapping[str, func.FuncOp], calls: NestedCalls
) -> func.FuncOp:
    """The reverse-mode derivative that `request` asks for; `primal` is left as it is.

    Args:
        request: names it, and says what is active.
        primal: the function to differentiate.
        functions: those that calls with a rule are about.
        calls: names what the callees of calls that stay are split into.

    Raises:
        TapeflowError: the primal is not prepared, or something active in it has no derivative.
    """
    check_prepared(primal)
    function = primal.clone()
    function.sym_name = request.sym_name
    function.attributes["tapeflow.gradient_of"] = StringAttr(primal.sym_name.data)
    look_into_bodies(function, functions, "vjp")
    simplify(function)
    remove_dead_code(function)
    signature = differentiate_in_reverse(function, Request.of(request), functions, Sweeps(calls, request.members))
    if request.members is not None:
        seeds = [seed for _, seed in signature.seeds]
        derivatives = [*seeds, *signature.shadows.values()]
        batch_derivative(function, request.members, derivatives, len(request.results_), functions)
    forget_derivatives(function)
    return function


def jvp(request: ad.DerivativeRequest, primal: func.FuncOp, nested: NestedTangents) -> func.FuncOp:
    """The forward-mode derivative that `request` asks for; `primal`, which may be a gradient, is left as it is.

    Args:
        request: names it, and says what is active.
        primal: the function to differentiate.
        nested: names the tangent functions of the callees of calls that stay.

    Raises:
        TapeflowError: the primal is not prepared, or something active in it has no derivative.
    """
    check_prepared(primal, also=_OF_GRADIENTS)
    function = primal.clone()
    function.sym_name = request.sym_name
    function.attributes["tapeflow.tangent_of"] = StringAttr(primal.sym_name.data)
    signature = differentiate_forward(function, Request.of(request), nested, request.members)
    if request.members is not None:
        tangents = list(signature.tangents.values())
        batch_derivative(function, request.members, tangents, len(request.results_), nested.callees.functions)
    forget_derivatives(function)
    return function


_OF_GRADIENTS: frozenset[type[Operation]] = frozenset((ad.AccumulateOp, tape.CreateOp, tape.PushOp, tape.PopOp))
"""What a gradient function consists of beside the operations of a primal; they have tangents, but no adjoints."""


class _Granting:
    """Makes the functions that the requests of a module ask for, those first that others are about."""

    def __init__(self, module: ModuleOp):
        self._requests = requests_of(module)
        self._functions = dict(functions_of(module))
        self._rules = rules_of(module)
        names = [*self._functions, *(request.sym_name.data for request in self._requests)]
        self._callees = Callees(self._functions, names)
        self._calls = NestedCalls(self._callees)
        self._tangents = NestedTangents(self._callees)
        self._called: list[func.FuncOp] = []
        self._pending = {request.sym_name.data: request for request in self._requests}
        self._granted: dict[ad.DerivativeRequest, func.FuncOp] = {}

    def all(self) -> list[tuple[ad.DerivativeRequest, func.FuncOp]]:
        """Every request with its function, in the order of the module."""
        while self._pending:
            self._grant(next(iter(self._pending.values())))
        return [(request, self._granted[request]) for request in self._requests]

    def callees(self) -> tuple[Sequence[func.FuncOp], Sequence[JointForm]]:
        """What the functions that are made call: tangent functions, and split functions in joint form."""
        return self._called, list(self._callees.split)

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
            if is_reverse:
                function = vjp(each, primal, self._functions, self._calls)
            else:
                function = jvp(each, primal, self._tangents)
            self._calls.build()
            self._called += self._tangents.build()
            del self._pending[each.sym_name.data]
            self._granted[each] = self._functions[each.sym_name.data] = function


def _check_marks(request: ad.DerivativeRequest, primal: func.FuncOp) -> None:
    """Check a request about a function that was not there yet when the module was verified."""
    try:
        ad.verify_marks(request, primal)
    except VerifyException as error:
        raise TapeflowError(f"{request.name} @{request.sym_name.data}: {error}", location=request.location) from None


def _without_rule(
    request: ad.DerivativeRequest, functions: Mapping[str, func.FuncOp], rules: Mapping[str, Rule]
) -> func.FuncOp:
    """The primal of `request`, which must have no rule: a rule is for its calls."""
    primal = primal_of(request, functions)
    if (rule := rules.get(primal.sym_name.data)) is not None:
        given = "' and '".join(rule.functions)
        raise TapeflowError(
            f"{request.name} of '{primal.sym_name.data}', whose derivative is given by '{given}'",
            location=request.location,
            hint="ask for the derivative of a function that calls it, or remove its ad.rule",
        )
    return primal


def _end_rules(module: ModuleOp) -> None:
    """All is differentiated: calls with a rule are calls like others, and are inlined."""
    functions = functions_of(module)
    for function in functions.values():
        inline_ruled_calls(function, functions)
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
        granting = _Granting(op)
        granted = granting.all()
        tangents, joints = granting.callees()
        mark_unchanged([*(function for _, function in granted), *tangents], joints)
        for request, function in granted:
            Rewriter.replace_op(request, function, [])
        for function in (*(joint.function for joint in joints), *tangents):
            op.body.block.add_op(function)
        put_split(op, joints)
        if granted:
            _end_rules(op)
        declare_library_functions(op)
