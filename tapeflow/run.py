"""`tapeflow-run`: stock `xdsl-run` with Tapeflow's interpreters.

`xdsl-run` has no place where a plug-in could register implementations, hence this command:
`tapeflow-run f.mlir --symbol f_grad --verbose --args "2 : i32, dense<[1.0, 2.0]> : tensor<2xf64>"`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.parser import Parser
from xdsl.tools.xdsl_run import xDSLRunMain
from xdsl.utils.exceptions import DiagnosticException, InterpretationError, ParseError, VerifyException

from tapeflow.errors import TapeflowError
from tapeflow.interpreters import make_interpreter, observe, register_implementations


class TapeflowRunMain(xDSLRunMain):
    """The `tapeflow-run` command."""

    def register_implementations(self, interpreter: Interpreter) -> None:
        """Register Tapeflow's implementations instead of xDSL's, which hold values in another way."""
        register_implementations(interpreter)

    def run(self) -> None:
        """Run the function; xDSL's own passes over arguments that are missing, and shows no arrays."""
        source, extension = self.get_input_stream()
        try:
            module = self.parse_chunk(source, extension)
        finally:
            if source is not sys.stdin.buffer:
                source.close()
        if module is None:
            return
        module.verify()
        function, arguments = self._called(module)
        results = observe(module, self.args.symbol, arguments).results
        if self.args.verbose:
            _show(function, arguments, results)

    def _called(self, module: ModuleOp) -> tuple[func.FuncOp, Sequence[Any]]:
        """The function that is called, and the values of `--args`."""
        interpreter = make_interpreter(module)
        function = interpreter.get_op_for_symbol(self.args.symbol)
        if not isinstance(function, func.FuncOp):
            raise InterpretationError(f"@{self.args.symbol} is not a function")
        parser = Parser(self.ctx, self.args.args, "--args")
        given = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_attribute, parser.parse_attribute
        )
        types = function.function_type.inputs.data
        if len(given or ()) != len(types):
            raise InterpretationError(
                f"@{self.args.symbol} takes {len(types)} arguments, but {len(given or ())} were given by --args"
            )
        return function, [interpreter.value_for_attribute(*each) for each in zip(given or (), types, strict=True)]


def _show(function: func.FuncOp, arguments: Sequence[Any], results: Sequence[Any]) -> None:
    """Print the results as xDSL does, and below what the arrays that were passed hold now."""
    if len(results) == 1:
        print(f"result: {results[0]}")
    else:
        shown = ",".join(f"\n    {result}" for result in results)
        print(f"result: ({shown}\n)" if results else "result: ()")
    for position, (value, declared) in enumerate(zip(arguments, function.args, strict=True)):
        if isinstance(value, np.ndarray):
            print(f"{declared.name_hint or position}: {value.tolist()}")


def main() -> int:
    """Run `tapeflow-run` on `sys.argv`; the exit status is 1 when the program means nothing."""
    try:
        TapeflowRunMain(description="Tapeflow modular runner").run()
    except InterpretationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (TapeflowError, ParseError, VerifyException, DiagnosticException, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
