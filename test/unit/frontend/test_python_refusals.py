"""Every refusal: where it points, what it says, what it advises. The cases are in python_refusals.txt."""

import functools
import re
from pathlib import Path

import pytest
import python_prelude
from python_oracle import define

import tapeflow.frontend.python
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python import PythonKernel, import_python, kernel

HERE = Path(__file__).parent
CASES = [
    tuple(case.split("\n--\n"))
    for case in (HERE / "python_refusals.txt").read_text().split("\n====\n")
    if not case.startswith("#")
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_refusals(text: str, expected: str):
    function = define(text + "\n", vars(python_prelude), "kernel.py")
    with pytest.raises(TapeflowError) as refusal:
        import_python(function)
    assert str(refusal.value).replace(str(HERE) + "/", "").replace("\n  help: ", "\nhelp: ") == expected.rstrip()


def refusal_of(function) -> str:
    with pytest.raises(TapeflowError) as refusal:
        import_python(function)
    return str(refusal.value)


def test_blocks_nest_64_deep_at_most():
    body = "".join(" " * depth + f"if n > {depth}:\n" for depth in range(1, 70))
    text = f"def f(n: int):\n{body}{' ' * 70}pass\n"
    assert re.match(
        r"kernel.py:\d+:\d+: error: blocks are nested more than 64 deep, which is not supported\n"
        r"  help: move the inner blocks to a function of their own",
        refusal_of(define(text, {}, "kernel.py")),
    )


def test_an_expression_too_deep_for_python_is_refused():
    text = f"def f(x: float):\n    return {'-' * 900}x\n"
    assert refusal_of(define(text, {}, "kernel.py")) == (
        "kernel.py:1:1: error: an expression in 'f' is nested too deep\n  help: split it up"
    )


def test_a_function_without_text_is_refused():
    names = {}
    exec(compile("def f(x: float): return x", "<nowhere>", "exec"), names)
    assert refusal_of(names["f"]) == (
        "<nowhere>:1:1: error: the source text of 'f' is not available\n"
        "  help: define the function in a file or a notebook, not with exec or in a plain interactive session"
    )


def test_a_function_whose_text_has_changed_is_refused():
    function = define("def f(x: float): return x\n", {}, "kernel.py")
    define("# longer now\n\ndef f(x: float): return x\n", {}, "kernel.py")
    assert refusal_of(function).startswith("kernel.py:1:1: error: the definition of 'f' is not in this line\n")
    import linecache

    linecache.cache["kernel.py"] = (1, None, ["def f(:\n"], "kernel.py")
    assert refusal_of(function) == (
        "kernel.py:1:7: error: the source text of 'f' has changed since it was imported, and has a syntax error now\n"
        "  help: import the file again"
    )


def test_only_functions_are_kernels():
    with pytest.raises(TapeflowError, match="decorates functions, not a type"):
        kernel(int)
    with pytest.raises(TapeflowError, match="a str cannot be imported"):
        import_python("f")  # pyright: ignore[reportArgumentType]


def test_columns_count_characters():
    text = "def f(x: float):\n    é = 'ü'\n    return x\n"
    assert refusal_of(define(text, {}, "kernel.py")).startswith("kernel.py:2:9: error: strings are not supported")
    text = "def f(ä: float):\n    return ä * ä * 'ü'\n"
    assert refusal_of(define(text, {}, "kernel.py")).startswith("kernel.py:2:20: error: strings are not supported")


def test_a_decorated_kernel_is_python_and_says_what_it_is():
    assert isinstance(decorated, PythonKernel)
    assert decorated(2.0) == 6.0
    assert decorated.__doc__ == "Three times x."
    assert (decorated.name, decorated.path) == ("decorated", Path(__file__))
    assert repr(decorated) == "<tapeflow.kernel decorated>"
    assert decorated.module is decorated.module
    assert [str(op.sym_name) for op in decorated.module.body.block.ops] == ['"decorated"']


@kernel
def decorated(x: float) -> float:
    """Three times x."""
    return 3.0 * x


def test_all_names_promised_are_there():
    for name in tapeflow.frontend.python.__all__:
        assert hasattr(tapeflow.frontend.python, name)


def test_an_unknown_decorator_is_seen():
    def unknown(function):
        @functools.wraps(function)
        def f(*arguments):
            return function(*arguments)

        return f

    function = unknown(define("def f(x: float): return x\n", {}, "kernel.py"))
    assert "'*arguments' is not supported" in refusal_of(function)
