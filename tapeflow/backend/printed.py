"""What the C printer hands on: text, and what is in it.

The text alone is C for both machines. Besides it stands what others need without reading C: the parameters, for
whoever calls the function, and the blocks, for whoever schedules it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation


@dataclass(frozen=True)
class PrintedBlock:
    """A piece of straight code that the modelled machine schedules as one.

    Attributes:
        line: of its `TF_STEP()` or `TF_ARM()` in the source, from 1.
        kind: `loop`, the body of an innermost loop; `segment`, straight code elsewhere; `arm`, of a branch in one.
        parent: for an arm the line of the block it is an arm in, else None.
        ops: executed in the block and not in an arm of it, in order.
        op_lines: for each of `ops` the line of the statement it is printed in.
    """

    line: int
    kind: Literal["loop", "segment", "arm"]
    parent: int | None
    ops: tuple[Operation, ...]
    op_lines: Mapping[Operation, int]


@dataclass(frozen=True)
class PrintedParameter:
    """One parameter of a printed function.

    Attributes:
        name: in C.
        role: `tape`, the runtime object; `scalar`, `array` or `handle`, a tape, an argument of the IR function;
            `extent`, the extent of an array that the IR knows and C must be told; `result`, a pointer to where a result
            goes.
        type: of the scalar, or of one element; None for the runtime object.
        index: of the argument (for an extent: of the array it belongs to), or of the result.
        dimension: which one an extent is of; which C tape of several a handle is; else 0.
        written: whether the function writes the array.
    """

    name: str
    role: Literal["tape", "scalar", "array", "handle", "extent", "result"]
    type: Attribute | None = None
    index: int = 0
    dimension: int = 0
    written: bool = False


@dataclass(frozen=True)
class PrintedFunction:
    """The C signature of a printed function.

    Attributes:
        symbol: its name in the IR.
        name: in C; the same, unless C or C++ has taken it.
        parameters: in order, the runtime object first.
        results: the types of the IR function's results.
        returned: the result that the C function returns; None if it returns none.
    """

    symbol: str
    name: str
    parameters: tuple[PrintedParameter, ...]
    results: tuple[Attribute, ...]
    returned: int | None


@dataclass(frozen=True)
class PrintedC:
    """A generated C file, its header, and what is in it.

    Attributes:
        name: of the files, without `.c` and `.h`.
        source: text of `<name>.c`; it includes the header and needs `tapeflow_rt.h`.
        header: text of `<name>.h`, for C and C++.
        functions: in the order of the source.
        blocks: in the order of the source.
        externals: the functions that are called and only declared, which the user links: each with its place.
        recursive: whether a function of the file calls itself, directly or not.
    """

    name: str
    source: str
    header: str
    functions: tuple[PrintedFunction, ...]
    blocks: tuple[PrintedBlock, ...]
    externals: tuple[tuple[str, LocationAttr], ...] = ()
    recursive: bool = False

    def function(self, symbol: str) -> PrintedFunction:
        """The function that the IR calls `symbol`.

        Raises:
            KeyError: there is none.
        """
        for function in self.functions:
            if function.symbol == symbol:
                return function
        raise KeyError(symbol)
