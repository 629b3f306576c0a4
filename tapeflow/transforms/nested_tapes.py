"""Hand the tapes of callees to them: who is not called by anybody makes them, and every call passes them on.

A function split into `@g_fwd` and `@g_rev` does not make its tapes, since they live from one to the other. It takes
them as arguments, its own first and then those of the split functions that it calls, directly or not; a call of
either half passes them. All calls of a function share its tapes: one stack of unbounded height each, on which a call
nested in another pushes between what that one pushes, and from which the mirrored calls pop in reverse order. The
function that is called by nobody, `@f_grad`, makes all that anybody below it needs.

```mlir
%tape_x = tape.create : !tape.tape<f64>
%r = func.call @g_fwd(%x, %n, %tape_x) : (f64, index, !tape.tape<f64>) -> f64
...
%x_b = func.call @g_rev(%x, %n, %r_b, %tape_x) : (f64, index, f64, !tape.tape<f64>) -> f64
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from tapeflow.analysis.call_graph import calls_in
from tapeflow.analysis.requests import functions_of
from tapeflow.analysis.source_names import source_name
from tapeflow.dialects import tape
from tapeflow.dialects.handle import HandleType
from tapeflow.transforms.gradient_signature import append_argument, argument_attributes, result_attributes
from tapeflow.transforms.joint_form import (
    JointForm,
    SplitForm,
    at_start,
    join,
    owner_of_tape,
    set_signature,
    split,
    tape_marks,
)
from tapeflow.transforms.located_builder import LocatedBuilder, place_of

_REVERSE = "tapeflow.reverse"
_FORWARD = "tapeflow.forward"


def split_forms(module: ModuleOp) -> Sequence[SplitForm]:
    """The split functions of `module`, in order."""
    functions = functions_of(module)
    found: list[SplitForm] = []
    for function in functions.values():
        reverse = function.attributes.get(_REVERSE)
        if isinstance(reverse, SymbolRefAttr):
            found.append(SplitForm(function, functions[reverse.string_value()]))
    return found


def take_joint(module: ModuleOp) -> Sequence[JointForm]:
    """Put the split functions of `module` into joint form, so that a pass can work on them, up to `put_split`.

    Meanwhile calls pass no tapes, and name functions that are not there.
    """
    forms = split_forms(module)
    if not forms:
        return ()
    names = {it.sym_name.data for form in forms for it in (form.forward, form.reverse)}
    for function in functions_of(module).values():
        _take_tapes(function, names)
    joints: list[JointForm] = []
    for form in forms:
        joint = join(form)
        Rewriter.replace_op(form.forward, joint.function, [])
        Rewriter.erase_op(form.reverse)
        joints.append(joint)
    return joints


def _take_tapes(function: func.FuncOp, names: set[str]) -> None:
    """Pass no tapes in the calls in `function` of what is in `names`, and have none of others."""
    for call in list(calls_in(function)):
        if call.callee.string_value() in names:
            handed = [operand for operand in call.arguments if isinstance(operand.type, HandleType)]
            call.operands = [operand for operand in call.arguments if operand not in handed]
            for handle in handed:
                if isinstance(handle.owner, tape.CreateOp) and not handle.uses:
                    Rewriter.erase_op(handle.owner)
    if function.sym_name.data not in names:
        return
    own = function.attributes[_FORWARD]
    assert isinstance(own, StringAttr)
    marks = argument_attributes(function)
    for position in reversed(range(len(marks))):
        if owner_of_tape(marks[position]) not in (None, own.data):
            function.body.block.erase_arg(function.args[position])
            del marks[position]
    set_signature(function, marks, result_attributes(function))


def put_split(module: ModuleOp, joints: Sequence[JointForm]) -> None:
    """Split what is in joint form in `module`, and hand all tapes to those that need them."""
    forms: dict[str, SplitForm] = {}
    for joint in joints:
        form = forms[joint.forward] = split(joint)
        form.forward.attributes[_REVERSE] = SymbolRefAttr(joint.reverse)
        form.reverse.attributes.pop(_REVERSE, None)
        for half in (form.forward, form.reverse):
            half.attributes[_FORWARD] = StringAttr(joint.forward)
        Rewriter.replace_op(joint.function, [form.forward, form.reverse], [])
    if forms:
        _Tapes(forms).hand_out(module)


class _Tapes:
    """The tapes that the split functions need, of their own and of one another.

    Args:
        forms: by the names of the forward sweeps, with arguments for their own tapes.
    """

    def __init__(self, forms: Mapping[str, SplitForm]):
        self._forms = forms
        self._forward = {form.reverse.sym_name.data: name for name, form in forms.items()}
        self._own = {name: list(_handles(form.forward)) for name, form in forms.items()}
        self._names = {
            name: [source_name(handle) or "tape" for handle in handles] for name, handles in self._own.items()
        }
        self._needed = {name: list(self._reached(form.forward, first=name)) for name, form in forms.items()}

    def _reached(self, function: func.FuncOp, first: str | None = None) -> Iterator[str]:
        """The split functions that `function` calls, directly or not, `first` in front."""
        found: dict[str, None] = {} if first is None else {first: None}
        pending = [function]
        while pending:
            for call in calls_in(pending.pop()):
                called = self._split(call)
                if called is not None and called not in found:
                    found[called] = None
                    pending.append(self._forms[called].forward)
        return iter(found)

    def _split(self, call: func.CallOp) -> str | None:
        """The forward sweep of the split function that `call` is of, by either half; None for other calls."""
        name = call.callee.string_value()
        return name if name in self._forms else self._forward.get(name)

    def hand_out(self, module: ModuleOp) -> None:
        """Give every function of `module` the tapes that it needs for its calls, and pass them."""
        halves = {half: name for name, form in self._forms.items() for half in (form.forward, form.reverse)}
        for function in functions_of(module).values():
            if function.is_declaration:
                continue
            name = halves.get(function)
            tapes = self._made(function) if name is None else self._taken(function, name)
            for call in list(calls_in(function)):
                if (called := self._split(call)) is not None:
                    call.operands = [*call.arguments, *(it for each in self._needed[called] for it in tapes[each])]

    def _made(self, function: func.FuncOp) -> Mapping[str, Sequence[SSAValue]]:
        """The tapes that `function`, which is no half, makes."""
        build = LocatedBuilder(at_start(function), place=place_of(function))
        return {
            name: [self._create(build, name, k) for k in range(len(self._own[name]))]
            for name in self._reached(function)
        }

    def _create(self, build: LocatedBuilder, name: str, position: int) -> SSAValue:
        handle = self._own[name][position]
        assert isinstance(handle.type, tape.TapeType | tape.RegionType)
        with build.at(handle):
            return build.value(tape.CreateOp(handle.type), self._names[name][position])

    def _taken(self, function: func.FuncOp, name: str) -> Mapping[str, Sequence[SSAValue]]:
        """The tapes that `function`, a half of `name`, takes: its own, and from now on those of others."""
        marks = argument_attributes(function)
        tapes: dict[str, Sequence[SSAValue]] = {name: list(_handles(function))}
        for other in self._needed[name]:
            if other != name:
                names = self._names[other]
                tapes[other] = [
                    append_argument(function, handle, text)
                    for handle, text in zip(self._own[other], names, strict=True)
                ]
                marks.extend(tape_marks(text, other) for text in names)
        set_signature(function, marks, result_attributes(function))
        return tapes


def _handles(function: func.FuncOp) -> Iterator[SSAValue]:
    return (argument for argument in function.args if isinstance(argument.type, HandleType))
