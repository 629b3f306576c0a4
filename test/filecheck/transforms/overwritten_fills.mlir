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

// -----

// The loops run over an array that is declared with the extent `n`, so they set each element, of which later ones read
// some. The sum goes into a register; it is zero where the inner loop does not run, and is stored then too.

func.func @declared(%n: i32 {tapeflow.name = "n"}, %m: index, %x: memref<?xf64>,
                    %t: memref<?xf64> {tapeflow.name = "t", tapeflow.extents = ["n"]}, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %many step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.exp %v : f64
    memref.store %e, %t[%i] : memref<?xf64>
  }
  scf.for %k = %c1 to %many step %c1 {
    %v = memref.load %t[%k] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %x[%k] : memref<?xf64>
  }
  scf.for %i = %c0 to %many step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %t[%i] : memref<?xf64>
      memref.store %v, %y[%j] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @declared_grad of @declared (const, const, active, scratch, active) -> ()

// CHECK-LABEL: func.func @declared_grad
// CHECK:         %[[SIZE:.*]] = memref.dim %t, %c0
// CHECK-NEXT:    %t_b = memref.alloca(%[[SIZE]])
// CHECK-NOT:     %t_b[
// CHECK-NOT:     scf.if
// CHECK:           %[[SUM:.*]] = scf.for %j_r
// CHECK:           }
// CHECK-NEXT:      memref.store %[[SUM]], %t_b[%i
// CHECK:         scf.for %k_r
// CHECK:           ad.accumulate %{{.*}} into %t_b[
// CHECK:         memref.load %t_b[
// CHECK-NOT:     %t_b[
// CHECK:         func.return

// -----

// Only inner elements are ever read, in both arms of a branch first. What an initial value takes back is not cleared.

func.func @inner(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %last = arith.subi %n, %c1 : index
  %t = memref.alloca(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %r = %c0 to %n step %c1 {
    scf.for %i = %c1 to %last step %c1 {
      %a = memref.load %t[%i] : memref<?xf64>
      %v = memref.load %x[%i] : memref<?xf64>
      %b = arith.addf %a, %v : f64
      memref.store %b, %t[%i] : memref<?xf64>
    }
  }
  %s = scf.for %j = %c1 to %last step %c1 iter_args(%s0 = %zero) -> (f64) {
    %v = memref.load %x[%j] : memref<?xf64>
    %c = arith.cmpf ogt, %v, %zero : f64
    %w = scf.if %c -> (f64) {
      %q = memref.load %t[%j] : memref<?xf64>
      %e = math.exp %q : f64
      scf.yield %e : f64
    } else {
      %q = memref.load %t[%j] : memref<?xf64>
      %e = math.sin %q : f64
      scf.yield %e : f64
    }
    %s1 = arith.addf %s0, %w : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @inner_grad of @inner (const, active) -> (active)

// CHECK-LABEL: func.func @inner_grad
// CHECK:         %t_b = memref.alloca(%n)
// CHECK-NOT:     %t_b[
// CHECK:         scf.if
// CHECK:           memref.store %{{.*}}, %t_b[%j
// CHECK:         } else {
// CHECK:           memref.store %{{.*}}, %t_b[%j
// CHECK:         memref.load %t_b[
// CHECK-NOT:     %t_b[
// CHECK:         func.return

// -----

// Zeros are needed: where an arm has no share, where an element is read that the first loop leaves out, in a triangle,
// where the steps are of two, and where two loops have a half each.

func.func @kept(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %half = arith.divsi %n, %c2 : index
  %arm = memref.alloca(%n) : memref<?xf64>
  %shorter = memref.alloca(%n) : memref<?xf64>
  %triangle = memref.alloca(%n, %n) : memref<?x?xf64>
  %even = memref.alloca(%n) : memref<?xf64>
  %halves = memref.alloca(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %arm[%i] : memref<?xf64>
    memref.store %v, %shorter[%i] : memref<?xf64>
    memref.store %v, %even[%i] : memref<?xf64>
    memref.store %v, %halves[%i] : memref<?xf64>
    scf.for %j = %c0 to %n step %c1 {
      memref.store %v, %triangle[%i, %j] : memref<?x?xf64>
    }
  }
  %s = scf.for %i = %c0 to %half step %c1 iter_args(%s0 = %zero) -> (f64) {
    %v = memref.load %halves[%i] : memref<?xf64>
    %s1 = arith.addf %s0, %v : f64
    scf.yield %s1 : f64
  }
  %t = scf.for %i = %half to %n step %c1 iter_args(%s0 = %s) -> (f64) {
    %v = memref.load %halves[%i] : memref<?xf64>
    %s1 = arith.addf %s0, %v : f64
    scf.yield %s1 : f64
  }
  %u = scf.for %i = %c0 to %n step %c2 iter_args(%s0 = %t) -> (f64) {
    %v = memref.load %even[%i] : memref<?xf64>
    %s1 = arith.addf %s0, %v : f64
    scf.yield %s1 : f64
  }
  %w = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %u) -> (f64) {
    %s1 = scf.for %j = %c0 to %i step %c1 iter_args(%s2 = %s0) -> (f64) {
      %v = memref.load %triangle[%i, %j] : memref<?x?xf64>
      %s3 = arith.addf %s2, %v : f64
      scf.yield %s3 : f64
    }
    scf.yield %s1 : f64
  }
  %y = scf.for %i = %c1 to %n step %c1 iter_args(%s0 = %w) -> (f64) {
    %v = memref.load %shorter[%i] : memref<?xf64>
    %s1 = arith.addf %s0, %v : f64
    scf.yield %s1 : f64
  }
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %y) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %v, %zero : f64
    %s1 = scf.if %c -> (f64) {
      %a = memref.load %arm[%i] : memref<?xf64>
      %b = arith.addf %s0, %a : f64
      scf.yield %b : f64
    } else {
      scf.yield %s0 : f64
    }
    scf.yield %s1 : f64
  }
  func.return %z : f64
}
ad.vjp @kept_grad of @kept (const, active) -> (active)

// CHECK-LABEL: func.func @kept_grad
// CHECK-DAG:     memref.store %zero, %arm_b[
// CHECK-DAG:     memref.store %zero, %shorter_b[
// CHECK-DAG:     memref.store %zero, %even_b[
// CHECK-DAG:     memref.store %zero, %halves_b[
// CHECK-DAG:     memref.store %zero, %triangle_b[
// CHECK-DAG:     ad.accumulate %{{.*}} into %arm_b[
// CHECK-DAG:     ad.accumulate %{{.*}} into %shorter_b[
// CHECK-DAG:     ad.accumulate %{{.*}} into %even_b[
// CHECK-DAG:     ad.accumulate %{{.*}} into %halves_b[
// CHECK-DAG:     ad.accumulate %{{.*}} into %triangle_b[
// CHECK:         func.return

// -----

// Where no inner loop runs, nothing says that there are `k` elements: the guard of the sum stays, and so do the zeros.

func.func @guarded(%n: index, %m: index, %k: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloca(%n) : memref<?xf64>
  scf.for %j = %c0 to %m step %c1 {
    scf.for %i = %c0 to %k step %c1 {
      %v = memref.load %x[%i] : memref<?xf64>
      memref.store %v, %t[%i] : memref<?xf64>
    }
  }
  scf.for %i = %c0 to %k step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %t[%i] : memref<?xf64>
      %w = memref.load %y[%j] : memref<?xf64>
      %p = arith.mulf %v, %w : f64
      memref.store %p, %y[%j] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @guarded_grad of @guarded (const, const, const, active, active) -> ()

// CHECK-LABEL: func.func @guarded_grad
// CHECK:         memref.store %{{.*}}, %t_b[%k
// CHECK:         scf.if
// CHECK-NEXT:      ad.accumulate %{{.*}} into %t_b[
// CHECK:         func.return
