// RUN: tapeflow-opt %s --split-input-file -p "ad-prepare,ad-differentiate" | filecheck %s

// The sum reads each element of the local array once, so its adjoints are stored: no zeros are there to add to.

func.func @whole(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %t = memref.alloca(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.exp %v : f64
    memref.store %e, %t[%i] : memref<?xf64>
  }
  %s = scf.for %j = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %v = memref.load %t[%j] : memref<?xf64>
    %s1 = arith.addf %s0, %v : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @whole_grad of @whole (const, active) -> (active)

// CHECK-LABEL: func.func @whole_grad
// CHECK:         %t_b = memref.alloca(%n)
// CHECK-NOT:     memref.store %zero
// CHECK:         scf.for %j_r
// CHECK:           memref.store %s_b, %t_b[%j_1] : memref<?xf64>
// CHECK-NOT:     memref.store %zero
// CHECK:         ad.accumulate %{{.*}} into %x_b

// -----

// Not each element is read: the others need their zeros.

func.func @part(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %t = memref.alloca(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.exp %v : f64
    memref.store %e, %t[%i] : memref<?xf64>
  }
  %s = scf.for %j = %c1 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %v = memref.load %t[%j] : memref<?xf64>
    %s1 = arith.addf %s0, %v : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @part_grad of @part (const, active) -> (active)

// CHECK-LABEL: func.func @part_grad
// CHECK:         %t_b = memref.alloca(%n)
// CHECK-NEXT:    scf.for %k = %c0 to %n
// CHECK-NEXT:      memref.store %zero, %t_b[%k] : memref<?xf64>
// CHECK:         ad.accumulate %s_b into %t_b

// -----

// Each step writes the inner elements before it reads them: their adjoints are neither filled nor cleared.

func.func @steps(%n: index, %m: index, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %inner = arith.subi %m, %c1 : index
  %t = memref.alloca(%m) : memref<?xf64>
  scf.for %step = %c0 to %n step %c1 {
    scf.for %i = %c1 to %inner step %c1 {
      %v = memref.load %x[%i] : memref<?xf64>
      %before = arith.subi %i, %c1 : index
      %w = memref.load %x[%before] : memref<?xf64>
      %p = arith.mulf %v, %w : f64
      memref.store %p, %t[%i] : memref<?xf64>
    }
    scf.for %j = %c1 to %inner step %c1 {
      %v = memref.load %t[%j] : memref<?xf64>
      memref.store %v, %x[%j] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @steps_grad of @steps (const, const, active) -> ()

// CHECK-LABEL: func.func @steps_grad
// CHECK:         %t_b = memref.alloca(%m)
// CHECK-NOT:     %t_b
// CHECK:         scf.for %step_r
// CHECK:           memref.store %{{.*}}, %t_b[
// CHECK:           memref.load %t_b[
// CHECK-NOT:     %t_b
// CHECK:         func.return

// -----

// What a step reads and what it wrote are not the same elements: all is as it was.

func.func @shifted(%n: index, %m: index, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %inner = arith.subi %m, %c1 : index
  %t = memref.alloca(%m) : memref<?xf64>
  scf.for %step = %c0 to %n step %c1 {
    scf.for %i = %c0 to %m step %c1 {
      %v = memref.load %x[%i] : memref<?xf64>
      %p = arith.mulf %v, %v : f64
      memref.store %p, %t[%i] : memref<?xf64>
    }
    scf.for %j = %c0 to %inner step %c1 {
      %v = memref.load %t[%j] : memref<?xf64>
      memref.store %v, %x[%j] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @shifted_grad of @shifted (const, const, active) -> ()

// CHECK-LABEL: func.func @shifted_grad
// CHECK:         %t_b = memref.alloca(%m)
// CHECK:           memref.store %{{[^ ]*}}, %t_b[%k]
// CHECK:           ad.accumulate %{{.*}} into %t_b
// CHECK:           memref.store %{{[^ ]*}}, %t_b[

// -----

// A local array that nothing active is read from has no adjoints at all.

func.func @dead(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %t = memref.alloca(%n) : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.exp %v : f64
    memref.store %e, %t[%i] : memref<?xf64>
    %q = memref.load %t[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %q, %zero : f64
    %r = arith.select %c, %v, %zero : f64
    %s1 = arith.addf %s0, %r : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @dead_grad of @dead (const, active) -> (active)

// CHECK-LABEL: func.func @dead_grad
// CHECK-NOT:     %t_b
// CHECK:         func.return
