"""Modules: a Python function in, a module out that holds it and the functions it calls.

A function that is called is imported once for each combination of argument types. It takes the extents of its arrays as
further arguments of type `index`, unless its annotations name the parameters that hold them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any, TypeGuard

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tapeflow.analysis.library_functions import ARITIES
from tapeflow.dialects.ad import RuleOp
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_annotations import Parameter, declared_result, parameters, undeclared
from tapeflow.frontend.python_arguments import Arguments, ArgumentType
from tapeflow.frontend.python_derivatives import Derivative, Ruled
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_function import FunctionMaker, Instance
from tapeflow.frontend.python_rules import UserRule, rule_of
from tapeflow.frontend.python_source import Source, quoted, source_of
from tapeflow.frontend.python_values import Scalar, Tuple


class ModuleMaker:
    """Imports functions into one module."""

    def __init__(self) -> None:
        self.module = ModuleOp([])
        self._instances: dict[Any, Instance] = {}
        # The names of the C library are those of its functions.
        self._names: set[str] = {f"{name}{suffix}" for name in ARITIES for suffix in ("", "f")}
        self._sources: dict[FunctionType, Source] = {}
        self._ruled: list[tuple[UserRule, Ruled]] = []

    def kernel(self, function: FunctionType) -> None:
        """Import `function` as a kernel: with the types that it declares, visible from outside.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        source = self._source(function)
        if rule_of(function) is not None:
            raise source.error(
                source.tree,
                f"'{source.name}' has a rule, which is about calls of it, and cannot be a kernel itself",
                f"differentiate a function that returns '{source.name}(...)'",
            )
        declared = parameters(source)
        types: list[ArgumentType] = []
        for parameter in declared:
            if parameter.type is None:
                raise undeclared(source, parameter)
            types.append(parameter.type)
        instance = self._new_instance(source)
        self.module.body.block.add_op(FunctionMaker(self, source, declared, types, instance, is_kernel=True).make())
        # A rule may name any function, so it waits until those that are being imported are there.
        while self._ruled:
            self._add_rule(*self._ruled.pop(0))

    def _source(self, function: FunctionType) -> Source:
        if function not in self._sources:
            self._sources[function] = source_of(function)
        return self._sources[function]

    def _new_instance(self, source: Source) -> Instance:
        return Instance(self._new_name(source.name), declared_result(source))

    def _new_name(self, like: str) -> str:
        name, number = like, 0
        while name in self._names:
            number += 1
            name = f"{like}_{number}"
        self._names.add(name)
        return name

    # Calls.

    def call(self, node: ast.Call, function: FunctionType, expressions: Expressions) -> Scalar | Tuple | None:
        """The value of a call of `function`; None if it returns nothing.

        Raises:
            TapeflowError: the arguments do not fit, or the function cannot be imported.
        """
        source = self._source(function)
        declared = parameters(source)
        arguments = Arguments(expressions, node, source, declared)
        instance = self._instance(source, declared, arguments.types())
        returns = instance.returns
        if not instance.finished:
            if instance.declared is None:
                raise expressions.build.refuse(
                    f"{quoted(node.func)} calls itself and does not declare what it returns",
                    f"annotate it: 'def {source.name}(...) -> float:'",
                )
            returns = tuple(type_.unsettled for type_ in instance.declared.types)
        written = instance.written if instance.finished else [True] * len(declared)
        arguments.check_aliases(written, is_statement=node is expressions.outermost)
        op = func.CallOp(instance.name, arguments.operands(), [type_.ir for type_ in returns])
        expressions.build.add(op)
        expressions.arrays.written.update(arguments.changed(written))
        numbers = expressions.numbers
        values = [numbers.fresh(*pair, f"{source.name}(...)") for pair in zip(op.results, returns, strict=True)]
        if len(values) < 2:
            return values[0] if values else None
        return Tuple(tuple(values))

    def _instance(self, source: Source, declared: Sequence[Parameter], types: Sequence[ArgumentType]) -> Instance:
        key = (source.function, tuple(types))
        if key not in self._instances:
            instance = self._instances[key] = self._new_instance(source)
            made = FunctionMaker(self, source, declared, types, instance, is_kernel=False).make()
            self.module.body.block.add_op(made)
            if (rule := rule_of(source.function)) is not None:
                self._ruled.append((rule, Ruled(source, declared, types, instance.returns, made)))
        return self._instances[key]

    def _add_rule(self, rule: UserRule, of: Ruled) -> None:
        """Put into the module what a user's rule says of a function as it was imported."""
        names: dict[str, str] = {}
        for mode, function in rule.given.items():
            source = self._source(function)
            declared = parameters(source)
            derivative = Derivative(source, declared, of, mode)
            types = derivative.types()
            instance = self._instance(source, declared, types)
            made = next(op for op in self.module.body.block.ops if _is_called(op, instance.name))
            name = self._new_name(f"{instance.name}_rule")
            called = derivative.function(name, made, types, rule.location)
            if called is not made:
                self.module.body.block.add_op(called)
            names[mode] = called.sym_name.data
        op = RuleOp(of.made.sym_name.data, names.get("vjp"), names.get("jvp"))
        op.location = rule.location
        self.module.body.block.add_op(op)


def _is_called(op: Operation, name: str) -> TypeGuard[func.FuncOp]:
    return isinstance(op, func.FuncOp) and op.sym_name.data == name


def recursion_error(source: Source) -> TapeflowError:
    """The refusal of a function whose expressions nest deeper than Python's stack."""
    return source.error(source.tree, f"an expression in '{source.name}' is nested too deep", "split it up")
