// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate --split-input-file --verify-diagnostics --allow-unregistered-dialect | filecheck %s

// Nothing is silently left out of a derivative: what cannot be differentiated is refused with its place.

ad.vjp @f_grad of @f (active) -> ()
func.func private @g(%x: memref<?xf64>, %y: memref<?xf64>, %n: index) {
  %v = memref.load %x[%n] : memref<?xf64>
  memref.store %v, %y[%n] : memref<?xf64>
  func.call @g(%x, %y, %n) : (memref<?xf64>, memref<?xf64>, index) -> ()
  func.return
}
func.func @f(%x: memref<?xf64>) {
  %n = arith.constant 3 : index
  func.call @g(%x, %x, %n) : (memref<?xf64>, memref<?xf64>, index) -> () loc("f.c":2:10)
  func.return
}
// CHECK:      f.c:2:10: error: 'g', which is recursive, is given one array for two arguments and may write to it
// CHECK-NEXT:   help: pass the array once, and indices into it

// -----

ad.vjp @f_grad of @f (active) -> (active)
func.func private @bessel(f64) -> f64
func.func @f(%x: f64) -> f64 {
  %y = func.call @bessel(%x) : (f64) -> f64 loc("f.c":3:10)
  func.return %y : f64
}
// CHECK:      f.c:3:10: error: call of 'bessel', whose definition is not here, so its derivative is not known
// CHECK-NEXT:   help: define it in the same file

// -----

ad.vjp @f_grad of @f (active) -> ()
func.func @f(%x: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %v = "affine.vector_load"(%x, %c0) <{map = affine_map<(d0) -> (d0)>}> : (memref<4xf64>, index) -> vector<4xf64> loc("f.mlir":7:1)
  func.return
}
// CHECK:      f.mlir:7:1: error: 'affine.vector_load' cannot be differentiated yet
// CHECK-NEXT:   help: access single elements, with affine.load and affine.store

// -----

ad.vjp @f_grad of @f (active) -> ()
func.func @f(%x: memref<4xf64>) {
  "scf.forall"() <{staticLowerBound = array<i64: 0>, staticUpperBound = array<i64: 4>, staticStep = array<i64: 1>}> ({
  ^bb0(%i: index):
    %zero = arith.constant 0.0 : f64
    memref.store %zero, %x[%i] : memref<4xf64>
    "scf.forall.in_parallel"() ({}) : () -> ()
  }) : () -> () loc("f.mlir":7:1)
  func.return
}
// CHECK:      f.mlir:7:1: error: 'scf.forall' cannot be differentiated yet
// CHECK-NEXT:   help: lower it first, with mlir-opt --one-shot-bufferize --scf-forall-to-for

// -----

ad.vjp @f_grad of @f (active, const) -> (active)
func.func @f(%x: f64, %c: i1) -> f64 {
  %y = scf.execute_region -> f64 {
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    scf.yield %x : f64
  ^bb2:
    %z = arith.mulf %x, %x : f64
    scf.yield %z : f64
  } loc("f.mlir":8:1)
  func.return %y : f64
}
// CHECK:      f.mlir:8:1: error: 'scf.execute_region' cannot be differentiated yet
// CHECK-NEXT:   help: write its blocks with structured loops and branches (scf), or mlir-opt --lift-cf-to-scf

// -----

ad.vjp @f_grad of @f (active) -> (active)
func.func @f(%x: f64) -> f64 {
  %s = memref.alloca() : memref<f64> loc("s"("f.c":2:10))
  %y = memref.load %s[] : memref<f64> loc("f.c":3:7)
  %z = arith.mulf %x, %y : f64
  func.return %z : f64
}
// CHECK:      f.c:3:7: error: 's' is read before it is written
// CHECK-NEXT:   help: give it a value where it is declared

// -----

// Neither has a copy of it, though a loop makes it, or an arm each.

ad.vjp @f_grad of @f (const, const, active) -> (active)
func.func @f(%n: index, %c: i1, %x: f64) -> f64 {
  %s = memref.alloca() : memref<f64> loc("s"("f.c":2:10))
  %t = memref.alloca() : memref<f64> loc("t"("f.c":2:13))
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      %0 = memref.load %s[] : memref<f64>
      memref.store %0, %t[] : memref<f64>
    } else {
      %1 = memref.load %t[] : memref<f64>
      memref.store %1, %t[] : memref<f64>
    }
  }
  %y = memref.load %t[] : memref<f64> loc("f.c":6:7)
  %z = arith.mulf %x, %y : f64
  func.return %z : f64
}
// CHECK:      f.c:6:7: error: 't', a copy of 's', is read before it is written
// CHECK-NEXT:   help: give 's' a value where it is declared

// -----

// What is copied to memory may be read there.

ad.vjp @f_grad of @f (active) -> ()
func.func @f(%x: memref<?xf64>) {
  %s = memref.alloca() : memref<f64> loc("s"("f.c":2:10))
  %c0 = arith.constant 0 : index
  %y = memref.load %s[] : memref<f64> loc("f.c":3:7)
  memref.store %y, %x[%c0] : memref<?xf64>
  func.return
}
// CHECK:      f.c:3:7: error: 's' is copied before it is written, to where it may be read
// CHECK-NEXT:   help: give it a value where it is declared

// -----

func.func @f(%n: index, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %down = arith.constant -1 : index
  scf.for %i = %n to %c0 step %down {
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %x[%c0] : memref<?xf64>
  } loc("f.c":5:3)
  func.return
}
// CHECK:      f.c:5:3: error: this loop has the step -1, but scf.for counts upwards
// CHECK-NEXT:   help: count up and compute the descending index in the body

// -----

// A pointer that may be to an active or to a constant array.

ad.vjp @f_grad of @f (const, active, const) -> (active)
func.func @f(%c: i1, %x: memref<?xf64>, %table: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %p = arith.select %c, %x, %table : memref<?xf64> loc("f.c":3:20)
  %v = memref.load %p[%c0] : memref<?xf64>
  func.return %v : f64
}
// CHECK:      f.c:3:20: error: this may be 'x' or 'table', and of these only 'x' is active
// CHECK-NEXT:   help: choose between values instead of arrays, or mark all of them active

// -----

// Arrays that a loop exchanges.

ad.vjp @f_grad of @f (const, active, active) -> (active)
func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (memref<?xf64>, memref<?xf64>) {
    %v = memref.load %p[%i] : memref<?xf64>
    memref.store %v, %q[%i] : memref<?xf64>
    scf.yield %q, %p : memref<?xf64>, memref<?xf64>
  } loc("f.c":4:3)
  %r = memref.load %a[%c0] : memref<?xf64>
  func.return %r : f64
}
// CHECK:      f.c:4:3: error: an active array that a loop or branch chooses cannot be differentiated yet
// CHECK-NEXT:   help: index one array, or copy the elements, instead of exchanging arrays

// -----

// A work array that active values go through has a derivative too, and so needs a shadow.

ad.vjp @f_grad of @f (active, const, const) -> (active)
func.func @f(%x: f64, %k: index, %work: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  memref.store %x, %work[%k] : memref<4xf64> loc("f.c":3:3)
  %y = memref.load %work[%c0] : memref<4xf64>
  func.return %y : f64
}
// CHECK:      f.c:3:3: error: 'work' carries active values but is not marked active: its derivative has no place
// CHECK-NEXT:   help: mark 'work' active

// -----

ad.vjp @f_grad of @f (active) -> (active)
func.func @f(%x: f64) -> f64 {
  %bits = arith.bitcast %x : f64 to i64 loc("f.c":2:16)
  %y = arith.sitofp %bits : i64 to f64
  func.return %y : f64
}
// CHECK:      f.c:2:16: error: the bits of an active value are taken apart, so its derivative is lost
// CHECK-NEXT:   help: use arithmetic on floats

// -----

// Requests that are about one another, and marks that do not fit a function that is made here.
ad.jvp @f_a of @f_b (active) -> (active) loc("f.py":1:1)
ad.jvp @f_b of @f_a (active) -> (active) loc("f.py":2:1)
// CHECK:      f.py:1:1: error: ad.jvp @f_a is about itself: its primal is made from it

// -----

ad.jvp @f_hvp of @f_grad (active) -> (active) loc("f.py":1:1)
ad.vjp @f_grad of @f (active) -> (active)
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}
// CHECK:      f.py:1:1: error: ad.jvp @f_hvp: the primal has 2 arguments, but 1 are marked

// -----

// A gradient has tangents, but no adjoints.
ad.vjp @f_grad_grad of @f_grad (active, const, active) -> (const) loc("f.py":1:1)
ad.vjp @f_grad of @f (active) -> (active)
func.func @f(%x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf64>
  func.return %v : f64
}
// CHECK:      error: 'ad.accumulate' cannot be differentiated yet

// -----

ad.vjp @f_grad of @f (active) -> (const)
func.func @f(%x: memref<4xf64>) -> memref<4xf64> {
  func.return %x : memref<4xf64>
}
// CHECK:      error: 'f' returns an array, which cannot be differentiated
// CHECK-NEXT:   help: write into an array argument instead
