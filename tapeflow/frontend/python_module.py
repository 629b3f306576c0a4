"""Modules: a Python function in, a module out that holds it and the functions it calls.

A function that is called is imported once for each combination of argument types. It takes the extents of its arrays as
further arguments of type `index`, unless its annotations name the parameters that hold them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tapeflow.analysis.library_functions import ARITIES
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_annotations import Parameter, declared_result, parameters, undeclared
from tapeflow.frontend.python_arguments import Arguments, ArgumentType
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_function import FunctionMaker, Instance
from tapeflow.frontend.python_source import Source, quoted, source_of
from tapeflow.frontend.python_values import Scalar


class ModuleMaker:
    """Imports functions into one module."""

    def __init__(self) -> None:
        self.module = ModuleOp([])
        self._instances: dict[Any, Instance] = {}
        # The names of the C library are those of its functions.
        self._names: set[str] = {f"{name}{suffix}" for name in ARITIES for suffix in ("", "f")}
        self._sources: dict[FunctionType, Source] = {}

    def kernel(self, function: FunctionType) -> None:
        """Import `function` as a kernel: with the types that it declares, visible from outside.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        source = self._source(function)
        declared = parameters(source)
        types: list[ArgumentType] = []
        for parameter in declared:
            if parameter.type is None:
                raise undeclared(source, parameter)
            types.append(parameter.type)
        instance = self._new_instance(source)
        self.module.body.block.add_op(FunctionMaker(self, source, declared, types, instance, is_kernel=True).make())

    def _source(self, function: FunctionType) -> Source:
        if function not in self._sources:
            self._sources[function] = source_of(function)
        return self._sources[function]

    def _new_instance(self, source: Source) -> Instance:
        name, number = source.name, 0
        while name in self._names:
            number += 1
            name = f"{source.name}_{number}"
        self._names.add(name)
        return Instance(name, declared_result(source))

    # Calls.

    def call(self, node: ast.Call, function: FunctionType, expressions: Expressions) -> Scalar | None:
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
            returns = instance.declared.type and instance.declared.type.unsettled
        written = instance.written if instance.finished else [True] * len(declared)
        arguments.check_aliases(written, is_statement=node is expressions.outermost)
        op = func.CallOp(instance.name, arguments.operands(), [] if returns is None else [returns.ir])
        expressions.build.add(op)
        expressions.arrays.written.update(arguments.changed(written))
        if returns is None:
            return None
        return expressions.numbers.fresh(op.results[0], returns, f"{source.name}(...)")

    def _instance(self, source: Source, declared: Sequence[Parameter], types: Sequence[ArgumentType]) -> Instance:
        key = (source.function, tuple(types))
        if key not in self._instances:
            instance = self._instances[key] = self._new_instance(source)
            made = FunctionMaker(self, source, declared, types, instance, is_kernel=False).make()
            self.module.body.block.add_op(made)
        return self._instances[key]


def recursion_error(source: Source) -> TapeflowError:
    """The refusal of a function whose expressions nest deeper than Python's stack."""
    return source.error(source.tree, f"an expression in '{source.name}' is nested too deep", "split it up")
