"""Calls that stay calls: gradients of recursive functions, interpreted, against central differences."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from differentiation import apply, call_gradient, check, copied, directional_difference, marks_of
from parsing import parse
from test_batch_semantics import STREAMED, check_batch, with_batch
from xdsl.passes import ModulePass

from tapeflow.errors import TapeflowError
from tapeflow.interpreters import observe
from tapeflow.transforms.ad_differentiate import AdDifferentiatePass
from tapeflow.transforms.ad_prepare import AdPreparePass
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass
from tapeflow.transforms.tape_plan import TapePlanPass

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.TapeflowRemark")

RNG = np.random.default_rng(1)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 1.5, size=shape)


POWER = """
func.func private @power(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %unit = arith.constant 1.0 : f64
  %done = arith.cmpi eq, %n, %zero : index
  %r = scf.if %done -> (f64) {
    scf.yield %unit : f64
  } else {
    %m = arith.subi %n, %one : index
    %p = func.call @power(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
"""

OF_A_SINE = """
func.func @f(%x: f64, %n: index) -> f64 {
  %y = math.sin %x : f64
  %r = func.call @power(%y, %n) : (f64, index) -> f64
  %s = func.call @power(%r, %n) : (f64, index) -> f64
  %t = arith.mulf %r, %s : f64
  func.return %t : f64
}
ad.vjp @f_grad of @f (active, const) -> (active)
"""


@pytest.mark.parametrize("n", [0, 1, 4])
def test_depth_is_known_at_run_time(n: int):
    check(POWER + OF_A_SINE, [0.8, n])


IN_LOOP_AND_BRANCH = """
func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %unit = arith.constant 1.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %unit) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %v = arith.mulf %xi, %s_i : f64
    %large = arith.cmpf ogt, %xi, %unit : f64
    %t = scf.if %large -> (f64) {
      %p = func.call @power(%v, %i) : (f64, index) -> f64
      %pp = arith.mulf %p, %p : f64
      scf.yield %pp : f64
    } else {
      scf.yield %v : f64
    }
    %u = func.call @power(%unit, %i) : (f64, index) -> f64
    %w = arith.mulf %t, %u : f64
    memref.store %w, %y[%i] : memref<?xf64>
    scf.yield %w : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


def test_calls_in_loops_and_branches():
    check(POWER + IN_LOOP_AND_BRANCH, [5, np.array([0.7, 1.2, 1.1, 0.4, 1.3]), array(5)])


FIBONACCI = """
func.func private @fib(%x: f64, %n: i32) -> f64 {
  %two = arith.constant 2 : i32
  %one = arith.constant 1 : i32
  %small = arith.cmpi slt, %n, %two : i32
  %r = scf.if %small -> (f64) {
    %y = math.exp %x : f64
    scf.yield %y : f64
  } else {
    %n1 = arith.subi %n, %one : i32
    %n2 = arith.subi %n, %two : i32
    %half = arith.constant 0.5 : f64
    %h = arith.mulf %x, %half : f64
    %a = func.call @fib(%h, %n1) : (f64, i32) -> f64
    %sa = math.sin %a : f64
    %b = func.call @fib(%sa, %n2) : (f64, i32) -> f64
    %c = arith.mulf %a, %b : f64
    scf.yield %c : f64
  }
  func.return %r : f64
}
func.func @f(%x: f64, %n: i32) -> f64 {
  %r = func.call @fib(%x, %n) : (f64, i32) -> f64
  func.return %r : f64
}
ad.vjp @f_grad of @f (active, const) -> (active)
"""


@pytest.mark.parametrize("n", [1, 2, 6])
def test_a_function_that_calls_itself_twice(n: int):
    check(FIBONACCI, [0.3, n])


ITSELF = """
func.func @f(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %done = arith.cmpi eq, %n, %zero : index
  %r = scf.if %done -> (f64) {
    scf.yield %x : f64
  } else {
    %m = arith.subi %n, %one : index
    %y = math.sin %x : f64
    %p = func.call @f(%y, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
ad.vjp @f_grad of @f (active, const) -> (active)
"""


@pytest.mark.parametrize("n", [0, 3])
def test_what_is_asked_for_calls_itself(n: int):
    check(ITSELF, [0.9, n])


MUTUAL = """
func.func private @even(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %done = arith.cmpi eq, %n, %zero : index
  %r = scf.if %done -> (f64) {
    scf.yield %x : f64
  } else {
    %m = arith.subi %n, %one : index
    %y = math.cos %x : f64
    %p = func.call @odd(%y, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %y : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
func.func private @odd(%x: f64, %n: index) -> f64 {
  %one = arith.constant 1 : index
  %m = arith.subi %n, %one : index
  %y = math.exp %x : f64
  %p = func.call @even(%y, %m) : (f64, index) -> f64
  %q = arith.addf %p, %y : f64
  %z = arith.mulf %q, %x : f64
  func.return %z : f64
}
func.func @f(%x: f64, %n: index) -> f64 {
  %r = func.call @even(%x, %n) : (f64, index) -> f64
  func.return %r : f64
}
ad.vjp @f_grad of @f (active, const) -> (active)
"""


@pytest.mark.parametrize("n", [0, 2, 4])
def test_functions_that_call_one_another(n: int):
    check(MUTUAL, [0.3, n])


TREE = """
func.func private @tree(%lo: index, %hi: index, %x: memref<?xf64>, %level: memref<?xf64>, %depth: index) -> f64 {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %size = arith.subi %hi, %lo : index
  %leaf = arith.cmpi eq, %size, %one : index
  %r = scf.if %leaf -> (f64) {
    %v = memref.load %x[%lo] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %x[%lo] : memref<?xf64>
    scf.yield %w : f64
  } else {
    %sum = arith.addi %lo, %hi : index
    %mid = arith.divsi %sum, %two : index
    %below = arith.addi %depth, %one : index
    %left = func.call @tree(%lo, %mid, %x, %level, %below)
      : (index, index, memref<?xf64>, memref<?xf64>, index) -> f64
    %right = func.call @tree(%mid, %hi, %x, %level, %below)
      : (index, index, memref<?xf64>, memref<?xf64>, index) -> f64
    %factor = memref.load %level[%depth] : memref<?xf64>
    %p = arith.mulf %left, %right : f64
    %q = arith.mulf %p, %factor : f64
    memref.store %q, %level[%depth] : memref<?xf64>
    %s = math.sin %q : f64
    %t = arith.addf %s, %left : f64
    scf.yield %t : f64
  }
  func.return %r : f64
}
func.func @f(%n: index, %x: memref<?xf64>, %level: memref<?xf64>) -> f64 {
  %zero = arith.constant 0 : index
  %r = func.call @tree(%zero, %n, %x, %level, %zero)
    : (index, index, memref<?xf64>, memref<?xf64>, index) -> f64
  %v = memref.load %x[%zero] : memref<?xf64>
  %s = arith.mulf %r, %v : f64
  memref.store %s, %x[%zero] : memref<?xf64>
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_tree_over_arrays_that_are_updated_in_place(n: int):
    check(TREE, [n, array(n), array(5)])


QUADRATURE = """
func.func private @quad(%a: f64, %b: f64, %p: memref<?xf64>, %n: index) -> f64 {
  %zero = arith.constant 0.0 : f64
  %half = arith.constant 0.5 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tol = arith.constant 1.0e-2 : f64
  %sum = arith.addf %a, %b : f64
  %mid = arith.mulf %sum, %half : f64
  %width = arith.subf %b, %a : f64
  %v, %k = scf.while (%t = %zero, %i = %c0) : (f64, index) -> (f64, index) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %t, %i : f64, index
  } do {
  ^bb0(%t: f64, %i: index):
    %q = memref.load %p[%i] : memref<?xf64>
    %tm = arith.mulf %t, %mid : f64
    %s = arith.addf %tm, %q : f64
    %e = math.tanh %s : f64
    %next = arith.addi %i, %c1 : index
    scf.yield %e, %next : f64, index
  }
  %whole = arith.mulf %v, %width : f64
  %size = math.absf %whole : f64
  %small = arith.cmpf olt, %size, %tol : f64
  %r = scf.if %small -> (f64) {
    scf.yield %whole : f64
  } else {
    %left = func.call @quad(%a, %mid, %p, %n) : (f64, f64, memref<?xf64>, index) -> f64
    %right = func.call @quad(%mid, %b, %p, %n) : (f64, f64, memref<?xf64>, index) -> f64
    %both = arith.addf %left, %right : f64
    scf.yield %both : f64
  }
  func.return %r : f64
}
func.func @f(%a: f64, %b: f64, %p: memref<?xf64>, %n: index) -> f64 {
  %r = func.call @quad(%a, %b, %p, %n) : (f64, f64, memref<?xf64>, index) -> f64
  func.return %r : f64
}
ad.vjp @f_grad of @f (active, active, active, const) -> (active)
"""


def test_recursive_quadrature_with_a_while_inside():
    check(QUADRATURE, [0.1, 0.17, array(3), 3])


LOCALS = """
func.func private @smooth(%n: index, %depth: index, %u: memref<?xf64>, %scale: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f64
  %more = arith.cmpi sgt, %depth, %c0 : index
  scf.if %more {
    %old = memref.alloca(%n) : memref<?xf64>
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %u[%i] : memref<?xf64>
      %w = arith.mulf %v, %v : f64
      memref.store %w, %old[%i] : memref<?xf64>
    }
    %below = arith.subi %depth, %c1 : index
    %less = arith.mulf %scale, %half : f64
    func.call @smooth(%n, %below, %old, %less) : (index, index, memref<?xf64>, f64) -> ()
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %old[%i] : memref<?xf64>
      %u_i = memref.load %u[%i] : memref<?xf64>
      %w = arith.mulf %v, %u_i : f64
      %s = arith.mulf %w, %scale : f64
      memref.store %s, %u[%i] : memref<?xf64>
    }
  }
  func.return
}
func.func @f(%n: index, %depth: index, %u: memref<?xf64>, %scale: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %depth step %c1 {
    func.call @smooth(%n, %k, %u, %scale) : (index, index, memref<?xf64>, f64) -> ()
  }
  func.return
}
ad.vjp @f_grad of @f (const, const, active, active) -> ()
"""


def test_local_arrays_are_given_to_calls_of_functions_without_result():
    check(LOCALS, [3, 3, array(3), 1.1])


CHANGED = """
func.func private @sum(%x: memref<?xf64>, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %done = arith.cmpi eq, %n, %zero : index
  %r = scf.if %done -> (f64) {
    %unit = arith.constant 1.0 : f64
    scf.yield %unit : f64
  } else {
    %m = arith.subi %n, %one : index
    %p = func.call @sum(%x, %m) : (memref<?xf64>, index) -> f64
    %v = memref.load %x[%m] : memref<?xf64>
    %w = math.sin %v : f64
    %q = arith.mulf %p, %w : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %r = func.call @sum(%x, %n) : (memref<?xf64>, index) -> f64
  memref.store %r, %x[%zero] : memref<?xf64>
  %s = func.call @sum(%x, %n) : (memref<?xf64>, index) -> f64
  func.return %s : f64
}
ad.vjp @f_grad of @f (active, const) -> (active)
"""


def test_a_caller_that_writes_what_the_callee_read():
    check(CHANGED, [array(4), 4])


def test_what_nobody_writes_is_read_again_by_the_callee():
    kept = CHANGED.replace("memref.store %r, %x[%zero] : memref<?xf64>", "")
    check(kept, [array(4), 4])

    def taped(text: str) -> int:
        module = apply(parse(text), AdPreparePass, AdDifferentiatePass, lambda: TapePlanPass(recompute="all"))
        return sum(handle.pushes for handle in observe(module, "f_grad", [array(4), 4, 1.0, np.zeros(4)]).handles)

    assert taped(kept) < taped(CHANGED)


@pytest.mark.parametrize("passes", [(), (TapePlanPass,)], ids=["taped", "planned"])
def test_regions_are_shared_by_all_calls_of_a_function(passes: tuple[type[ModulePass], ...]):
    differentiated = apply(parse(TREE), AdPreparePass, AdDifferentiatePass, *passes)
    formed = [apply(differentiated, partial(TapeFormRegionsPass, layout=layout)) for layout in ("aos", "soa")]
    results: list[bytes] = []
    for module in (differentiated, *formed):
        x, level, x_b, level_b = np.linspace(0.5, 1.5, 28).reshape(4, 7).copy()
        observed = observe(module, "f_grad", [7, x, level, 1.0, x_b, level_b])
        assert not any(handle.records for handle in observed.handles)
        results.append(b"".join(it.tobytes() for it in (np.array(observed.results), x, level, x_b, level_b)))
    assert results[0] == results[1] == results[2]
    assert "tape.record" in str(formed[0]) and "tape.push" not in str(formed[0])


OF_COMPLEX_NUMBERS = """
func.func @f(%n: index, %z: complex<f64>, %x: memref<?xcomplex<f64>>) -> complex<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ends = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %ends -> (complex<f64>) {
    scf.yield %z : complex<f64>
  } else {
    %m = arith.subi %n, %c1 : index
    %v = memref.load %x[%m] : memref<?xcomplex<f64>>
    %w = complex.mul %z, %v : complex<f64>
    %sine = complex.sin %w : complex<f64>
    memref.store %sine, %x[%m] : memref<?xcomplex<f64>>
    %p = func.call @f(%m, %sine, %x) : (index, complex<f64>, memref<?xcomplex<f64>>) -> complex<f64>
    %q = complex.mul %p, %v : complex<f64>
    scf.yield %q : complex<f64>
  }
  return %r : complex<f64>
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 3])
def test_complex_numbers_are_pairs_in_recursive_functions_too(n: int):
    pairs = apply(parse(OF_COMPLEX_NUMBERS), AdPreparePass)
    assert "@f(%m, %sine_re, %sine_im, %x)" in str(pairs) and "(const, active, active, active)" in str(pairs)
    check(str(pairs), [n, 0.5, 0.25, np.linspace(0.2, 0.7, 6).reshape(3, 2)])


LARGE = """
func.func private @g(%x: f64, %y: f64) -> (f64, f64) {
  %s = math.sin %x : f64
  %p = arith.mulf %s, %y : f64
  %e = math.exp %p : f64
  func.return %e, %p : f64, f64
}
func.func @f(%x: f64, %y: f64) -> f64 {
  %e, %p = func.call @g(%x, %y) : (f64, f64) -> (f64, f64)
  %e2, %p2 = func.call @g(%e, %y) : (f64, f64) -> (f64, f64)
  %r = arith.mulf %e2, %p : f64
  func.return %r : f64
}
ad.vjp @f_grad of @f (active, const) -> (active)
"""


@pytest.mark.parametrize("limit", [0, 3, 4, 5000, -1])
def test_the_inline_limit_changes_no_bit(limit: int):
    module = apply(parse(LARGE), partial(AdPreparePass, inline_limit=limit), AdDifferentiatePass)
    inlined = apply(parse(LARGE), AdPreparePass, AdDifferentiatePass)
    assert ("@g_fwd" in str(module)) == (0 <= limit < 4)
    assert observe(module, "f_grad", [0.3, 0.8, 1.0]).results == observe(inlined, "f_grad", [0.3, 0.8, 1.0]).results


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (POWER + OF_A_SINE, (0.8, 4)),
        (ITSELF, (0.9, 3)),
        (MUTUAL, (0.3, 4)),
        (TREE, (5, array(5), array(4))),
        (QUADRATURE, (0.1, 0.17, array(3), 3)),
        (LOCALS, (3, 3, array(3), 1.1)),
        (POWER + IN_LOOP_AND_BRANCH, (5, np.array([0.7, 1.2, 1.1, 0.4, 1.3]), array(5))),
    ],
    ids=["power", "itself", "mutual", "tree", "quadrature", "locals", "loop"],
)
def test_forward_mode_batches_and_second_derivatives_agree(text: str, arguments: tuple[Any, ...]):
    """Forward mode against reverse mode, a batch against calls for each, Hessians against differences of gradients."""
    marks, rng = marks_of(parse(text)), np.random.default_rng(3)
    request = text[text.index("ad.vjp") :]
    module = apply(parse(with_batch(text, 2) + second_order(request, arguments)), *STREAMED)
    active = [it for it, mark in zip(arguments, marks.arguments, strict=True) if mark]
    arrays = [it for it in active if isinstance(it, np.ndarray)]
    ways = [[rng.normal(size=np.shape(it)) for it in active] for _ in range(2)]
    tangents = [scalars_first(way) for way in ways]
    count, scalars = sum(marks.results), len(active) - len(arrays)
    cotangents = [[rng.normal(size=np.shape(it)) for it in (*([0.0] * count), *arrays)] for _ in range(2)]
    seeds = [scalars_first(it) for it in cotangents]

    ahead = copied(tangents[0])
    forward = observe(module, "f_jvp", [*copied(arguments), *ahead]).results[len(marks.results) :]
    gradient = call_gradient(module, marks, copied(arguments), cotangents[0])
    there = sum(float(np.sum(c * t)) for c, t in zip(cotangents[0], [*forward, *ahead[scalars:]], strict=True))
    back = sum(float(np.sum(b * way)) for b, way in zip(gradient.adjoints, ways[0], strict=True))
    assert back == pytest.approx(there, rel=1e-12, abs=1e-14)

    primal = [False] * len(marks.results)
    check_batch(module, "f_jvp", list(arguments), tangents, [*primal, *[True] * count])
    check_batch(module, "f_grad", list(arguments), seeds, [*primal, *[True] * scalars])

    products = [[*tangent, *(np.zeros_like(it) for it in arrays)] for tangent in tangents]
    found = copied(products[0])
    results = observe(module, "f_hvp", [*copied(arguments), *copied(seeds[0]), *found]).results
    first = len(marks.results) + scalars
    assert results[:first] == (*gradient.results, *(it.item() for it in gradient.adjoints if not it.shape))

    def adjoints(t: float) -> list[np.ndarray]:
        moving = iter(ways[0])
        moved = [it + t * next(moving) if mark else it for it, mark in zip(arguments, marks.arguments, strict=True)]
        moved = [it.item() if isinstance(it, np.generic) else it for it in moved]
        there = call_gradient(module, marks, moved, cotangents[0]).adjoints
        return sorted(there, key=lambda it: it.ndim > 0)

    weights = [rng.normal(size=np.shape(it)) for it in adjoints(0.0)]
    slope = directional_difference(adjoints, weights, 1e-4)
    ours = [*results[first:], *found[len(tangents[0]) :]]
    size = sum(float(np.sum(np.abs(it))) for it in ours)
    assert sum(float(np.sum(w * it)) for w, it in zip(weights, ours, strict=True)) == pytest.approx(
        slope, abs=1e-8 * max(1.0, size)
    )
    fixed = [*arguments, *seeds[0]]
    check_batch(
        module, "f_hvp", fixed, products, [*primal, *(False for _ in range(scalars)), *(True for _ in range(scalars))]
    )


def scalars_first(values: list[Any]) -> list[Any]:
    return [*(it.item() for it in values if not it.shape), *(it for it in values if it.shape)]


def second_order(request: str, arguments: tuple[Any, ...]) -> str:
    """Requests for Hessian-vector products, one and two at once, seeds held fixed."""
    given, results = (part.strip("() \n").split(", ") for part in request.split("of @f ")[1].split("->"))
    seeds = ["const" for mark in results if mark == "active"]
    actives = [it for it, mark in zip(arguments, given, strict=True) if mark == "active"]
    shadows = ["active" for it in actives if isinstance(it, np.ndarray)]
    adjoints = ["active" for it in actives if not isinstance(it, np.ndarray)]
    marks = (
        f"({', '.join([*given, *seeds, *shadows])}) -> ({', '.join([*('const' for it in results if it), *adjoints])})"
    )
    return f"ad.jvp @f_hvp of @f_grad {marks}\nad.jvp @f_hvps of @f_grad {marks} batch 2\n"


ONCE_MORE = """
ad.jvp @f_jvp of @f (active, const) -> (active)
ad.jvp @forward_forward of @f_jvp (active, const, const) -> (const, active)
ad.vjp @reverse_forward of @f_jvp (active, const, const) -> (const, active)
ad.jvp @forward_reverse of @f_grad (active, const, const) -> (const, active)
"""


def test_second_derivatives_by_all_orders_of_modes_agree():
    module = apply(parse(POWER + OF_A_SINE + ONCE_MORE), *STREAMED)
    # The function is sin(x) to the power of 3 + 9.
    exact = 12 * np.sin(0.8) ** 10 * (11 * np.cos(0.8) ** 2 - np.sin(0.8) ** 2)
    for name in ("forward_forward", "reverse_forward", "forward_reverse"):
        assert observe(module, name, [0.8, 3, 1.0, 1.0]).results[-1] == pytest.approx(exact, rel=1e-14)
    twice = "\nad.vjp @f_grad_grad of @f_grad (active, const, active) -> (active, active)"
    with pytest.raises(
        TapeflowError, match="'power_fwd' is one sweep of a gradient, which has no reverse mode"
    ) as refused:
        apply(
            parse(POWER + OF_A_SINE.replace("%s = func.call @power(%r", "%s = func.call @power(%y") + twice), *STREAMED
        )
    assert "forward over reverse" in str(refused.value)
