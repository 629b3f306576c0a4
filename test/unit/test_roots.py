"""What a memref may be a view of, and which arguments a function may write to."""

from parsing import parse
from xdsl.dialects import func, memref

from tapeflow.analysis.roots import roots, written_arguments
from tapeflow.analysis.source_names import source_name

TEXT = """
func.func private @unknown(memref<?xf64>)
func.func @callee(%n: index, %a: memref<?xf64>, %b: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<?xf64>
  memref.store %v, %b[%c0] : memref<?xf64>
  func.return
}
func.func @recursive(%x: memref<?xf64>) {
  func.call @recursive(%x) : (memref<?xf64>) -> ()
  func.return
}
func.func @f(%c: i1, %n: index, %x: memref<?xf64>, %y: memref<4xf64>, %z: memref<?xf64>, %w: memref<?xf64>,
             %u: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %local = memref.alloca(%n) : memref<?xf64>
  %y_cast = "memref.cast"(%y) : (memref<4xf64>) -> memref<?xf64>
  %either = arith.select %c, %x, %y_cast : memref<?xf64>
  %part = memref.subview %either[1] [2] [1] : memref<?xf64> to memref<2xf64, strided<[1], offset: 1>>
  %arm = scf.if %c -> (memref<?xf64>) {
    scf.yield %local : memref<?xf64>
  } else {
    scf.yield %either : memref<?xf64>
  }
  %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %z, %q_i = %local) -> (memref<?xf64>, memref<?xf64>) {
    %in_loop = memref.load %p_i[%c0] : memref<?xf64>
    scf.yield %q_i, %p_i : memref<?xf64>, memref<?xf64>
  }
  %0 = memref.load %x[%c0] : memref<?xf64>
  %1 = memref.load %y_cast[%c0] : memref<?xf64>
  %2 = memref.load %part[%c0] : memref<2xf64, strided<[1], offset: 1>>
  %3 = memref.load %arm[%c0] : memref<?xf64>
  %4 = memref.load %p[%c0] : memref<?xf64>
  memref.store %4, %part[%c0] : memref<2xf64, strided<[1], offset: 1>>
  func.call @callee(%n, %u, %w) : (index, memref<?xf64>, memref<?xf64>) -> ()
  func.return
}
"""


def functions() -> dict[str, func.FuncOp]:
    return {op.sym_name.data: op for op in parse(TEXT).body.block.ops if isinstance(op, func.FuncOp)}


def test_roots_are_sets():
    loads = [op for op in functions()["f"].walk() if isinstance(op, memref.LoadOp)]
    found = [sorted(source_name(root) or "" for root in roots(op.memref)) for op in loads]
    assert found == [["local", "z"], ["x"], ["y"], ["x", "y"], ["local", "x", "y"], ["local", "z"]]


def test_written_arguments_follow_views_and_calls():
    module = functions()
    assert [source_name(it) for it in module["f"].args if it in written_arguments(module["f"])] == ["x", "y", "w"]
    assert [source_name(it) for it in module["callee"].args if it in written_arguments(module["callee"])] == ["b"]


def test_recursive_callees_write_to_what_they_write_to_and_unknown_ones_have_no_arguments():
    module = functions()
    assert written_arguments(module["recursive"]) == frozenset()
    assert written_arguments(module["unknown"]) == frozenset()
