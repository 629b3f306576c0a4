"""The C form of counted loops: over which variable, from where, up or down to where.

A reverse sweep counts up with a variable that only serves to compute the primal's, `i = n - 1 - i_r`. In C such a loop
is one over `i` that counts down. The same holds for a source loop that counted down and was turned upwards on its way
in. Bounds are compared and simplified as linear forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1
from xdsl.ir import OpResult, SSAValue

from tapeflow.dialects import spad

Loop = scf.ForOp | spad.LayerOp

_MOST_ATOMS = 6
_MOST_PRINTED_ATOMS = 2


@dataclass(frozen=True)
class Linear:
    """A sum of values, each times an integer, and an integer."""

    terms: Mapping[SSAValue, int]
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """`self + factor * other`."""
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * coefficient
        return Linear(
            {atom: coefficient for atom, coefficient in terms.items() if coefficient},
            self.constant + factor * other.constant,
        )

    def times(self, factor: int) -> Linear:
        """`factor * self`."""
        return Linear({}).plus(self, factor)

    def shifted(self, by: int) -> Linear:
        """`self + by`."""
        return Linear(self.terms, self.constant + by)

    @property
    def is_simple(self) -> bool:
        """Whether it reads well in a loop header."""
        return len(self.terms) <= _MOST_PRINTED_ATOMS


def integer_constant(value: SSAValue) -> int | None:
    """The integer that `value` always is, if it is a constant."""
    if isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp):
        attribute = value.op.value
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return None


@dataclass
class LinearForms:
    """Linear forms of integer values, each computed once."""

    _known: dict[SSAValue, Linear] = field(default_factory=dict[SSAValue, Linear])
    _mentions: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    """The values whose known form has this one as a term."""

    def recover(self, form: LoopForm, counter: SSAValue) -> None:
        """From now on forms are in the variable of `form`, since C has no variable for `counter`."""
        for value in self._mentions.pop(counter, ()):
            self._known.pop(value, None)
        for value in (form.variable, *form.aliases):
            self._known[value] = Linear({form.variable: 1})

    def of(self, value: SSAValue) -> Linear:
        """`value` as a linear form in values that are not sums themselves."""
        # Operands first, without recursion: sums can be long.
        pending = [value]
        while pending:
            top = pending[-1]
            missing = [operand for operand in self._parts(top) if operand not in self._known]
            if missing:
                pending += missing
            else:
                pending.pop()
                if top not in self._known:
                    self._known[top] = self._combine(top)
                    for atom in self._known[top].terms:
                        self._mentions.setdefault(atom, []).append(top)
        return self._known[value]

    def _parts(self, value: SSAValue) -> tuple[SSAValue, ...]:
        if not isinstance(value, OpResult) or value in self._known:
            return ()
        match value.op:
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp() if isinstance(value.type, IndexType):
                return tuple(value.op.operands)
            case arith.IndexCastOp() if _widens(value.op):
                return (value.op.input,)
            case _:
                return ()

    def _combine(self, value: SSAValue) -> Linear:
        atom = Linear({value: 1})
        if (constant := integer_constant(value)) is not None:
            return Linear({}, constant)
        parts = [self._known[operand] for operand in self._parts(value)]
        if not parts or not isinstance(value, OpResult):
            return atom
        match value.op:
            case arith.AddiOp():
                result = parts[0].plus(parts[1])
            case arith.SubiOp():
                result = parts[0].plus(parts[1], -1)
            case arith.MuliOp() if not parts[0].terms:
                result = parts[1].times(parts[0].constant)
            case arith.MuliOp() if not parts[1].terms:
                result = parts[0].times(parts[1].constant)
            case arith.IndexCastOp():
                result = parts[0]
            case _:
                return atom
        return result if len(result.terms) <= _MOST_ATOMS else atom


def _widens(cast: arith.IndexCastOp) -> bool:
    return isinstance(cast.result.type, IndexType) and cast.input.type not in (IndexType(), i1)


@dataclass(frozen=True)
class LoopForm:
    """A counted loop in C.

    Attributes:
        variable: the value that the C variable holds: the induction variable, or what is computed from it.
        aliases: other values that are the same.
        start: the variable's first value.
        bound: the loop goes on while the variable is below (or, downwards, at or above) this.
        step: between two iterations, positive; a value if it is not constant.
        down: whether the loop counts down.
    """

    variable: SSAValue
    aliases: tuple[SSAValue, ...]
    start: Linear
    bound: Linear
    step: int | SSAValue
    down: bool


def induction_variable(loop: Loop) -> SSAValue:
    """The loop's own counter."""
    return loop.body.block.args[0]


def loop_form(loop: Loop, forms: LinearForms) -> LoopForm:
    """The C form of `loop`."""
    step = 1 if loop.step is None else integer_constant(loop.step)
    if step is not None and step > 0:
        found = _recovered(loop, step, forms)
        if found is not None:
            forms.recover(found, induction_variable(loop))
            return found
    return LoopForm(
        induction_variable(loop),
        (),
        _printable(loop.lb, forms),
        _printable(loop.ub, forms),
        loop.step if step is None and loop.step is not None else step or 1,
        False,
    )


def _printable(value: SSAValue, forms: LinearForms) -> Linear:
    """`value` as a sum if that is short, else as itself."""
    form = forms.of(value)
    if form.is_simple and all(abs(coefficient) == 1 for coefficient in form.terms.values()):
        return form
    return Linear({value: 1})


def _recovered(loop: Loop, step: int, forms: LinearForms) -> LoopForm | None:
    """The loop over what its counter only serves to compute, counted down or through two turns up again."""
    counter = induction_variable(loop)
    found: LoopForm | None = None
    current, turned = counter, False
    while (users := _same_users(loop, current, forms)) is not None:
        coefficient = forms.of(users[0]).terms.get(counter, 0)
        previous = forms.of(current).terms.get(counter, 0)
        if coefficient * previous < 0:
            turned = True
        elif not isinstance(users[0].owner, arith.MuliOp):
            break
        if turned and coefficient * previous < 0:
            found = _form(loop, step, users, forms) or found
        current = users[0]
    return found


def _same_users(loop: Loop, value: SSAValue, forms: LinearForms) -> list[SSAValue] | None:
    """The results of the users of `value`, if all compute the same sum of it and of values from outside the loop."""
    results: list[SSAValue] = []
    for use in value.uses:
        user = use.operation
        if not isinstance(user, arith.SubiOp | arith.AddiOp | arith.MuliOp) or not isinstance(value.type, IndexType):
            return None
        results.append(user.result)
    if not results:
        return None
    form = forms.of(results[0])
    counter = induction_variable(loop)
    if counter not in form.terms or any(forms.of(result) != form for result in results):
        return None
    if any(atom is not counter and loop.is_ancestor(atom.owner) for atom in form.terms):
        return None
    return sorted(results, key=lambda result: result.owner.parent is not loop.body.block)


def _form(loop: Loop, step: int, values: list[SSAValue], forms: LinearForms) -> LoopForm | None:
    """The loop over `values`, all the same; None where its bounds would not read well."""
    counter = induction_variable(loop)
    form = forms.of(values[0])
    slope = form.terms[counter]
    rest = form.plus(Linear({counter: 1}), -slope)
    start = rest.plus(forms.of(loop.lb), slope)
    end = rest.plus(forms.of(loop.ub), slope)
    if not (start.is_simple and end.is_simple):
        return None
    # The counter stays below its bound in whole steps, so what is computed from it stays a whole step within.
    bound = end.shifted(-slope) if slope < 0 else end
    return LoopForm(values[0], tuple(values[1:]), start, bound, step * abs(slope), slope < 0)
