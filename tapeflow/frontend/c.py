"""The C frontend: a C file in, core IR out.

```c
double dot(int n, const double x[n], const double y[n]) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}
```
becomes
```mlir
func.func @dot(%n : i32, %x : memref<?xf64>, %y : memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  ...
  %s = memref.alloca() : memref<f64>
  memref.store %cst, %s[] : memref<f64>
  scf.for %i = %c0 to %n_index step %c1 { ... }
```

The pieces: `clang_tree` (what libclang sees); `c_types`, `c_signatures`, `c_loops`, `c_effects`, `c_constants`,
`c_names` and `c_unset_variables` (questions on the tree); `c_builder`, `c_expressions`, `c_arrays`, `c_statements` and
`c_functions` (the IR); `c_refusals` (the messages).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from tapeflow.analysis.library_functions import declare_library_functions
from tapeflow.errors import TapeflowError
from tapeflow.frontend.c_effects import body, callee
from tapeflow.frontend.c_functions import import_function, import_prototype
from tapeflow.frontend.c_rules import RulePragma, add_rules, rule_pragmas
from tapeflow.frontend.c_signatures import refuse_complex_members, refuse_returned_struct, refuse_structs, signature
from tapeflow.frontend.c_unset_variables import refuse_unset_variables
from tapeflow.frontend.c_variants import Variants
from tapeflow.frontend.clang_tree import Node, SyntaxTree

UNNAMED = "input.c"

DEEPEST_SOURCE = 1000
"""How deep expressions and statements may nest; a sum of n terms nests n deep."""

# A level of the source takes at most this many frames of Python.
_FRAMES_PER_LEVEL = 10


def import_c(
    path_or_source: str | os.PathLike[str], *, filename: str | None = None, function: str | None = None
) -> ModuleOp:
    """Import C functions as core IR: func, scf, memref, arith and math.

    Args:
        path_or_source: a C file, or the text of one: a string that has a line end, a brace or a semicolon is text.
        filename: what positions call the file; the path as given, or `input.c`, if None. Includes in quotes are
            looked for next to it.
        function: the one to import, with those it calls; all that the file defines if None.

    Returns:
        A module of `func.func`, in source order. Parameters have `tapeflow.name`, arrays `tapeflow.extents` (one string
        a dimension) and, where C says `const`, `tapeflow.const`; results have `tapeflow.name`.

    Raises:
        TapeflowError: when the file cannot be read, is not C, or holds what the frontend does not take.
    """
    name, text = _read(path_or_source, filename)
    return import_c_text(text, name, function=function)


def import_c_text(text: bytes, filename: str, *, function: str | None = None) -> ModuleOp:
    """Import C functions from the text of a file: `import_c` for text that is certainly text.

    Raises:
        TapeflowError: as `import_c`.
    """
    with _deep_recursion():
        return _import(SyntaxTree(filename, text), filename, function, rule_pragmas(text, filename))


def _read(path_or_source: str | os.PathLike[str], filename: str | None) -> tuple[str, bytes]:
    """The file's name for positions, and its bytes."""
    if isinstance(path_or_source, str) and (not path_or_source or any(mark in path_or_source for mark in "\n{};")):
        return filename or UNNAMED, path_or_source.encode(errors="surrogateescape")
    path = Path(path_or_source)
    name = os.fspath(path_or_source)
    try:
        return filename or name, path.read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "not a file name"
        raise TapeflowError(f"cannot read '{name}': {reason}", hint="give the path of a C file, or its text") from error


@contextmanager
def _deep_recursion() -> Generator[None]:
    """Let Python recurse as deep as sources may nest."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + DEEPEST_SOURCE * _FRAMES_PER_LEVEL)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _import(tree: SyntaxTree, name: str, wanted: str | None, pragmas: Sequence[RulePragma]) -> ModuleOp:
    functions = tree.functions
    if not functions:
        raise TapeflowError(
            "this file defines no function", location=f"{name}:1:1", hint="give a file with the function to import"
        )
    roots = _roots(functions) if wanted is None else [_named(functions, wanted, name)]
    needed = _with_callees(roots)
    called = {function.spelling for function in needed}
    rules = [pragma for pragma in pragmas if pragma.of in called]
    of_rules = [_of_rule(tree, pragma, function) for pragma in rules for function in pragma.functions]
    needed |= _with_callees(of_rules)
    named = {function for pragma in rules for function in pragma.functions}
    needed = frozenset(function for function in needed if function.is_definition or function.spelling in named)
    for function in needed:
        _check_depth(function)
        if function.is_definition:
            refuse_unset_variables(function)
    in_order = [function for function in tree.declarations if function in needed]
    signatures = {function: signature(function) for function in in_order}
    for root in roots:
        refuse_returned_struct(root, signatures[root])
    for root in (*roots, *of_rules):
        refuse_complex_members(root, signatures[root])
    variants = Variants([each.spelling for each in tree.declarations])
    for root in dict.fromkeys((*roots, *of_rules)):
        variants.name(root, {})
    whole: dict[Node, FuncOp] = {}
    cut: list[FuncOp] = []
    while (variant := variants.take()) is not None:
        if variant.function.is_definition:
            made = import_function(variant, signatures, variants)
        else:
            made = import_prototype(variant, signatures)
        rule = next((pragma for pragma in rules if pragma.of == variant.function.spelling), None)
        if variant.parts and rule is not None:
            refuse_structs(variant.function, signatures[variant.function], "give it numbers, or arrays of numbers")
            raise rule.error(
                f"'{rule.of}' has a rule, and is called with a part of an array",
                "pass the whole array, and the index where the part starts",
            )
        if variant.parts:
            cut.append(made)
        else:
            whole[variant.function] = made
    module = ModuleOp([*(whole[function] for function in signatures if function in whole), *cut])
    add_rules(module, rules)
    declare_library_functions(module)
    module.location = FileLineColLoc(StringAttr(name), IntAttr(1), IntAttr(1))
    return module


def _roots(functions: Sequence[Node]) -> Sequence[Node]:
    """The functions that stand for themselves: a `static` one that others call is needed as they call it.

    So is one that returns a struct, which has no form of its own for callers from outside.
    """
    called = {callee(node) for function in functions for node in body(function).walk() if node.kind == "CALL_EXPR"}
    return [
        function
        for function in functions
        if function not in called or (function.storage_class != "STATIC" and function.type.result.kind != "RECORD")
    ]


def _named(functions: Sequence[Node], wanted: str, name: str) -> Node:
    for function in functions:
        if function.spelling == wanted:
            return function
    defined = ", ".join(f"'{function.spelling}'" for function in functions)
    raise TapeflowError(
        f"there is no function '{wanted}' in this file", location=f"{name}:1:1", hint=f"it defines {defined}"
    )


def _of_rule(tree: SyntaxTree, pragma: RulePragma, name: str) -> Node:
    """The function called `name` that `pragma` is about: its definition, or what declares it."""
    for function in tree.functions:
        if function.spelling == name:
            return function
    if name in tree.prototypes:
        return tree.prototypes[name]
    raise pragma.error(f"a rule names '{name}', which this file does not declare", "declare it, or correct the name")


def _with_callees(roots: Sequence[Node]) -> frozenset[Node]:
    """`roots` and the functions that they call, directly or not."""
    found = dict.fromkeys(roots)
    pending = list(roots)
    while pending:
        function = pending.pop()
        for node in body(function).walk() if function.is_definition else ():
            called = callee(node) if node.kind == "CALL_EXPR" else None
            if called is not None and called not in found:
                found[called] = None
                pending.append(called)
    return frozenset(found)


def _check_depth(function: Node) -> None:
    """Refuse a source that nests too deep for Python's stack."""
    pending = [(function, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > DEEPEST_SOURCE:
            raise node.error(
                f"this is nested more than {DEEPEST_SOURCE} deep, which is not supported",
                "split the expression into several statements",
            )
        pending.extend((child, depth + 1) for child in node.children)
