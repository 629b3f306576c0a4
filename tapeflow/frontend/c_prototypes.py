"""The signature of a C function from its declaration alone: a header, a prototype, or the source that defines it.

What a function that somebody else compiled is called with. `tf_tape *` parameters, which our gradients have, are left
out of the signature and told apart by their place.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tapeflow.errors import TapeflowError
from tapeflow.frontend.c import UNNAMED
from tapeflow.frontend.c_effects import parameters
from tapeflow.frontend.c_records import Record
from tapeflow.frontend.c_signatures import Parameter, refuse_complex, refuse_structs, signature_of
from tapeflow.frontend.c_types import Scalar
from tapeflow.frontend.clang_tree import Node, SyntaxTree

_RUNTIME_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"tapeflow_rt\.h"[^\n]*', re.MULTILINE)
_RUNTIME_TYPE = b"typedef struct tf_tape tf_tape;"


@dataclass(frozen=True)
class Prototype:
    """How a function is called.

    Attributes:
        name: of the function.
        parameters: in order; None stands for a `tf_tape *`.
        result: what it returns, None for `void`.
    """

    name: str
    parameters: tuple[Parameter | None, ...]
    result: Scalar | None


def read_prototype(path_or_source: str | os.PathLike[str], function: str) -> Prototype:
    """The prototype of `function`.

    Args:
        path_or_source: a file, or the text of one: a string with a parenthesis or a semicolon is text.
        function: its name.

    Raises:
        TapeflowError: the file cannot be read, is not C, does not declare the function, or declares it with a parameter
            that is neither a number nor an array of numbers.
    """
    if isinstance(path_or_source, str) and any(mark in path_or_source for mark in ";(\n"):
        name, text = UNNAMED, path_or_source.encode()
        text = text if text.rstrip().endswith((b";", b"}")) else text + b";"
    else:
        name = os.fspath(path_or_source)
        try:
            text = Path(name).read_bytes()
        except OSError as error:
            raise TapeflowError(f"cannot read '{name}': {error.strerror}") from error
    text = _RUNTIME_INCLUDE.sub(_RUNTIME_TYPE, text)
    tree = SyntaxTree(name, text, declarations_only=True)
    declared = [node for node in tree.declarations if node.kind == "FUNCTION_DECL"]
    found = [node for node in declared if node.spelling == function]
    if not found:
        own = ", ".join(dict.fromkeys(node.spelling for node in declared)) or "no function"
        raise TapeflowError(
            f"'{function}' is not declared here", location=f"{name}:1:1", hint=f"this file declares {own}"
        )
    # A definition after a prototype may name the extents that the prototype leaves out.
    node = next((node for node in found if node.is_definition), found[-1])
    declarations = parameters(node)
    kept = [declaration for declaration in declarations if not _is_tape(declaration)]
    signature = signature_of(node, kept)
    refuse_structs(node, signature)
    refuse_complex(node, signature)
    own = iter(signature.parameters)
    result = signature.result
    assert not isinstance(result, Record)
    return Prototype(
        function,
        tuple(None if _is_tape(declaration) else next(own) for declaration in declarations),
        result,
    )


def _is_tape(declaration: Node) -> bool:
    declared = declaration.type
    return declared.kind == "POINTER" and declared.element.spelling in ("tf_tape", "struct tf_tape")
