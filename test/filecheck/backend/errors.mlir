// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics -t tapeflow-c | filecheck %s

// What has no C is refused with its place and a remedy.

func.func private @double(f64) -> f64 loc("f.c":3:7)

func.func @calls(%a: f64) -> f64 {
  %b = func.call @double(%a) : (f64) -> f64
  func.return %b : f64
}
// CHECK: f.c:3:7: error: 'double' is only declared here, and cannot have that name in the generated C
// CHECK-NEXT: help: call it something else

// -----

func.func private @g(memref<?x?xf64>) -> f64 loc("f.c":3:7)

func.func @calls(%a: memref<?x?xf64> {tapeflow.name = "a", tapeflow.extents = ["", ""]}) -> f64 {
  %b = func.call @g(%a) : (memref<?x?xf64>) -> f64
  func.return %b : f64
}
// CHECK: f.c:3:7: error: 'g' is only declared here, and takes an array of type memref<?x?xf64>, which C cannot be passed
// CHECK-NEXT: help: let all extents but the outermost be numbers, without a layout

// -----

func.func @half(%a: f16) -> f16 {
  %b = arith.addf %a, %a : f16 loc("f.c":4:7)
  func.return %b : f16
}
// CHECK: error: a value of type f16 has no type in C
// CHECK-NEXT: help: use f64, f32, integers or index

// -----

func.func @loop(%a: i1, %x: f64) {
  %y = scf.while () : () -> f64 {
    scf.condition(%a) %x : f64
  } do {
  ^bb0(%z: f64):
    scf.yield
  } loc("f.c":5:3)
  func.return
}
// CHECK: error: a while is printed once its test only asks and hands on what it is given
// CHECK-NEXT: help: run ad-prepare first

// -----

func.func @size(%k: memref<1xindex>, %a: f64) {
  %c0 = arith.constant 0 : index
  %n = memref.load %k[%c0] : memref<1xindex>
  %x = memref.alloca(%n) : memref<?xf64> loc("f.c":6:10)
  memref.store %a, %x[%c0] : memref<?xf64>
  func.return
}
// CHECK: f.c:6:10: error: the size of this local array is not known when the function is entered
// CHECK-NEXT: help: compute it from the parameters and the counters of loops without 'break'

// -----

func.func @carried(%n: index, %x: memref<4xf64>, %y: memref<4xf64>, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %x, %q_i = %y) -> (memref<4xf64>, memref<4xf64>) {
    memref.store %a, %p_i[%c0] : memref<4xf64>
    scf.yield %q_i, %p_i : memref<4xf64>, memref<4xf64>
  }
  func.return
}
// CHECK: error: an array that is carried by a loop cannot be printed as C
// CHECK-NEXT: help: use one array, or copy between two

// -----

func.func @layout(%x: memref<?xf64, strided<[2]>> loc("x"("f.c":8:14))) {
  func.return
}
// CHECK: error: the layout of 'x', memref<?xf64, strided<[2]>>, cannot be printed as C
// CHECK-NEXT: help: pass contiguous arrays, memref<?x?xf64>

// -----

func.func private @first(%v: memref<2xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %e = memref.load %v[%c0] : memref<2xf64>
  func.return %e : f64
}
func.func @part(%x: memref<4xf64>) -> f64 {
  %v = memref.subview %x[2] [2] [1] : memref<4xf64> to memref<2xf64, strided<[1], offset: 2>>
  %w = memref.cast %v : memref<2xf64, strided<[1], offset: 2>> to memref<2xf64>
  %e = func.call @first(%w) : (memref<2xf64>) -> f64 loc("f.c":9:5)
  func.return %e : f64
}
// CHECK: f.c:9:5: error: a part of an array that is passed to a function that is not inlined cannot be printed as C
// CHECK-NEXT: help: pass the whole array, and the index where the part starts

// -----

func.func @extent(%x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) {
  func.return
}
// CHECK: error: the extent 'n' of 'x' is no parameter


// -----

func.func @requested(%x: f64) -> f64 {
  func.return %x : f64
}
ad.vjp @requested_grad of @requested (active) -> (active) loc("f.c":9:1)
// CHECK: f.c:9:1: error: ad.vjp of 'requested' is still a request, which has no C
// CHECK-NEXT: help: run ad-differentiate first, or print one function with tapeflow-c{function=...}
