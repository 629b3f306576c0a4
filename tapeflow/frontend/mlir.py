"""The MLIR frontend: text in, a verified module out. All of xDSL's dialects and ours may be in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import ParseError, VerifyException

from tapeflow.errors import TapeflowError, source_position
from tapeflow.frontend.mlir_locations import LocatingParser
from tapeflow.frontend.mlir_syntax import dialects

UNNAMED = "input.mlir"


def import_mlir(
    text_or_path: str | os.PathLike[str], *, filename: str | None = None, function: str | None = None
) -> ModuleOp:
    """Import MLIR text.

    Args:
        text_or_path: an MLIR file, or the text of one: a string that has a line end, a brace or a quote is text.
        filename: what positions call the file; the path as given, or `input.mlir`, if None.
        function: one that must be there; None if any will do.

    Returns:
        The module, verified, all of it.

    Raises:
        TapeflowError: when the file cannot be read or parsed, does not verify, or lacks `function`.
    """
    name, text = _read(text_or_path, filename)
    module = _parse(name, text)
    functions = [op.sym_name.data for op in module.walk() if isinstance(op, FuncOp)]
    if not functions:
        raise TapeflowError(
            "this module has no function", location=f"{name}:1:1", hint="give a file with the function to import"
        )
    if function is not None and function not in functions:
        raise TapeflowError(
            f"there is no function '{function}' in this module",
            location=f"{name}:1:1",
            hint="it has " + ", ".join(f"'{each}'" for each in functions),
        )
    return module


def _read(text_or_path: str | os.PathLike[str], filename: str | None) -> tuple[str, str]:
    if isinstance(text_or_path, str) and (not text_or_path or any(mark in text_or_path for mark in '\n{}"')):
        return filename or UNNAMED, text_or_path
    name = os.fspath(text_or_path)
    try:
        return filename or name, Path(text_or_path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "not a text file"
        raise TapeflowError(
            f"cannot read '{name}': {reason}", hint="give the path of an MLIR file, or its text"
        ) from error


def _parse(name: str, text: str) -> ModuleOp:
    context = Context()
    for dialect, factory in dialects().items():
        context.register_dialect(dialect, factory)
    if not text.strip():
        # xDSL's parser wants at least one operation.
        return ModuleOp([])
    try:
        module = LocatingParser(context, text, name).parse_module()
    except ParseError as error:
        place = str(error.span.get_location())
        unknown = re.match(r"Operation (\S+) is not registered", error.msg)
        if unknown is None:
            raise TapeflowError(error.msg, location=place) from error
        raise TapeflowError(
            f"'{unknown[1]}' is not an operation that Tapeflow reads",
            location=place,
            hint=_hint_for_lowering(unknown[1]) or "write it with the operations of scf, arith, math and memref",
        ) from error
    except VerifyException as error:
        # Attributes and types verify themselves while they are parsed, and do not know where they stand.
        raise TapeflowError(str(error), location=name) from error
    try:
        module.verify()
    except VerifyException as error:
        raise _located(error, module, name) from error
    return module


_LOWERED_BY = {
    "affine.linearize_index": "--affine-expand-index-ops",
    "affine.delinearize_index": "--affine-expand-index-ops",
    "linalg.": "--linalg-generalize-named-ops",
    "scf.forall": "--scf-forall-to-for",
    "affine.": "--lower-affine",
}
"""The pass of mlir-opt that makes of an operation what is read here, by the beginning of its name."""


def _hint_for_lowering(name: str) -> str | None:
    if name.startswith("linalg.winograd"):
        return "leave the convolution as it was, without the pass that made its Winograd form"
    lowered = next((option for start, option in _LOWERED_BY.items() if name.startswith(start)), None)
    return lowered and f"make of it what Tapeflow reads: mlir-opt {lowered}"


def _located(error: VerifyException, module: ModuleOp, name: str) -> TapeflowError:
    """`error`, with the operation that does not verify and, where the text says it, its location."""
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as own:
            reason = " ".join(str(own).split())
            # What a named operation computes is xDSL's, not in the text.
            around = op.parent_op()
            named = around is not None and around.name.startswith("linalg.") and around.name != "linalg.generic"
            wrong = around if named and around is not None else op
            return TapeflowError(
                f"'{wrong.name}' does not verify: {reason}",
                location=source_position(wrong.location) or name,
                hint=_hint_for_lowering(wrong.name) if named else None,
            )
    return TapeflowError(str(error), location=name)
