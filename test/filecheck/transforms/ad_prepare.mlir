// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-prepare --split-input-file | filecheck %s

// Scalar variables become values: carried round the loop that stores to them, results of the branch that does. Values
// and results keep the variables' names.

func.func @scalars(%n: i32, %x: memref<?xf64>) -> f64 {
  %s = memref.alloca() : memref<f64>
  %t = memref.alloca() : memref<f64>
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %s[] : memref<f64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %N step %c1 {
    %0 = memref.load %x[%i] : memref<?xf64>
    memref.store %0, %t[] : memref<f64>
    %1 = arith.cmpf ogt, %0, %zero : f64
    scf.if %1 {
      %2 = memref.load %t[] : memref<f64>
      %3 = arith.mulf %2, %2 : f64
      memref.store %3, %t[] : memref<f64>
    }
    %4 = memref.load %s[] : memref<f64>
    %5 = memref.load %t[] : memref<f64>
    %6 = arith.addf %4, %5 : f64
    memref.store %6, %s[] : memref<f64>
  }
  %7 = memref.load %s[] : memref<f64>
  func.return %7 : f64
}

// CHECK-LABEL: func.func @scalars
// CHECK-NOT:     memref.alloca
// CHECK:         %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_1 = %zero) -> (f64) {
// CHECK-NEXT:      %t = memref.load %x[%i] : memref<?xf64>
// CHECK-NEXT:      [[C:%.*]] = arith.cmpf ogt, %t, %zero : f64
// CHECK-NEXT:      %t_1 = scf.if [[C]] -> (f64) {
// CHECK-NEXT:        %t_2 = arith.mulf %t, %t : f64
// CHECK-NEXT:        scf.yield %t_2 : f64
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %t : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %s_2 = arith.addf %s_1, %t_1 : f64
// CHECK-NEXT:      scf.yield %s_2 : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s : f64

// -----

// A variable that may be read before it is written, here in the first iteration, starts at zero. What is carried but
// used nowhere else is not carried.

func.func @maybe_unset(%n: index, %x: memref<?xf64>) -> f64 {
  %previous = memref.alloca() : memref<f64>
  %unused = memref.alloca() : memref<f64>
  %s = memref.alloca() : memref<f64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  memref.store %one, %s[] : memref<f64>
  memref.store %one, %unused[] : memref<f64>
  scf.for %i = %c0 to %n step %c1 {
    %c = arith.cmpi sgt, %i, %c0 : index
    scf.if %c {
      %0 = memref.load %previous[] : memref<f64>
      memref.store %0, %s[] : memref<f64>
    }
    %1 = memref.load %x[%i] : memref<?xf64>
    memref.store %1, %previous[] : memref<f64>
    %2 = memref.load %unused[] : memref<f64>
    %3 = arith.addf %2, %1 : f64
    memref.store %3, %unused[] : memref<f64>
  }
  %4 = memref.load %s[] : memref<f64>
  func.return %4 : f64
}

// CHECK-LABEL: func.func @maybe_unset
// CHECK:         %previous = arith.constant 0.000000e+00 : f64
// CHECK:         scf.for %i = %c0 to %n step %c1 iter_args(%s_1 = %one, %previous_2 = %previous) -> (f64, f64) {
// CHECK-NOT:       arith.addf
// CHECK:         func.return %s : f64

// -----

// A copy reads nothing: %q has no value where %p has none, here before both are set, and is read only afterwards. An
// array may be given what has no value, if nobody looks.

func.func @unset_copies(%n: index, %x: memref<?xf64>) -> f64 {
  %p = memref.alloca() : memref<f64>
  %q = memref.alloca() : memref<f64>
  %s = memref.alloca() : memref<3xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.load %p[] : memref<f64>
  memref.store %0, %q[] : memref<f64>
  scf.for %i = %c0 to %n step %c1 {
    %1 = memref.load %q[] : memref<f64>
    memref.store %1, %p[] : memref<f64>
    %2 = memref.load %p[] : memref<f64>
    memref.store %2, %q[] : memref<f64>
    memref.store %2, %s[%i] : memref<3xf64>
  }
  %3 = memref.load %x[%n] : memref<?xf64>
  memref.store %3, %p[] : memref<f64>
  %4 = memref.load %p[] : memref<f64>
  memref.store %4, %q[] : memref<f64>
  %5 = memref.load %q[] : memref<f64>
  func.return %5 : f64
}

// CHECK-LABEL: func.func @unset_copies
// CHECK-NEXT:    %p = memref.load %x[%n] : memref<?xf64>
// CHECK-NEXT:    func.return %p : f64

// -----

// Calls are inlined, also those in what is inlined; only what a request is about is prepared.

ad.vjp @f_grad of @f (active) -> (active)
func.func @twice(%x: f64) -> f64 {
  %y = arith.addf %x, %x : f64
  func.return %y : f64
}
func.func @four_times(%x: f64) -> f64 {
  %y = func.call @twice(%x) : (f64) -> f64
  %z = func.call @twice(%y) : (f64) -> f64
  func.return %z : f64
}
func.func @f(%a: f64) -> f64 {
  %b = func.call @four_times(%a) : (f64) -> f64
  func.return %b : f64
}

// CHECK-LABEL: func.func @four_times
// CHECK:         func.call @twice
// CHECK-LABEL: func.func @f(
// CHECK-NEXT:    %y = arith.addf %a, %a : f64
// CHECK-NEXT:    %y_1 = arith.addf %y, %y : f64
// CHECK-NEXT:    func.return %y_1 : f64

// -----

// Constants stand at the top, once, and so do parameters as indices. Integer arithmetic on constants is done; a
// conversion to index of what came from index is that index. Loops count in index.

func.func @folds(%n: i32, %x: memref<?xf64>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %one_again = arith.constant 1 : i32
    %two = arith.addi %one, %one_again : i32
    %two_f = arith.sitofp %two : i32 to f64
    memref.store %two_f, %x[%at] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: func.func @folds
// CHECK-DAG:     [[LB:%.*]] = arith.constant 0 : index
// CHECK-DAG:     [[STEP:%.*]] = arith.constant 1 : index
// CHECK-DAG:     [[TWO:%.*]] = arith.constant 2.000000e+00 : f64
// CHECK-DAG:     [[N:%.*]] = arith.index_cast %n : i32 to index
// CHECK:         scf.for %i = [[LB]] to [[N]] step [[STEP]] {
// CHECK-NEXT:      memref.store [[TWO]], %x[%i] : memref<?xf64>
// CHECK-NEXT:    }

// -----

// Nothing is computed twice, nothing is loaded twice while nobody writes to the array: the second load of x[i] is the
// first, that of y[i] is not, since the loop before it writes to y.

func.func @repeated(%n: index, %x: memref<?xf64>, %y: memref<?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %x[%i] : memref<?xf64>
  %b = memref.load %y[%i] : memref<?xf64>
  %p = arith.mulf %a, %b : f64
  scf.for %j = %c0 to %n step %c1 {
    %q = arith.mulf %a, %b : f64
    memref.store %q, %y[%j] : memref<?xf64>
  }
  %a_2 = memref.load %x[%i] : memref<?xf64>
  %b_2 = memref.load %y[%i] : memref<?xf64>
  %r = arith.mulf %a_2, %b_2 : f64
  %s = arith.addf %p, %r : f64
  func.return %s : f64
}

// CHECK-LABEL: func.func @repeated
// CHECK:         %a = memref.load %x[%i]
// CHECK-NEXT:    %b = memref.load %y[%i]
// CHECK-NEXT:    %p = arith.mulf %a, %b
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      memref.store %p, %y[%j]
// CHECK-NEXT:    }
// CHECK-NEXT:    %b_1 = memref.load %y[%i]
// CHECK-NEXT:    %r = arith.mulf %a, %b_1

// -----

// Local arrays live as long as their blocks; those that nobody reads are gone, with the stores to them.

func.func @arrays(%n: index, %k: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xf64>
  %b = memref.alloc() : memref<4xf64>
  %v = memref.load %x[%c0] : memref<?xf64>
  memref.store %v, %a[%c0] : memref<?xf64>
  memref.store %v, %b[%c0] : memref<4xf64>
  %w = memref.load %a[%k] : memref<?xf64>
  memref.dealloc %a : memref<?xf64>
  memref.dealloc %b : memref<4xf64>
  func.return %w : f64
}

// CHECK-LABEL: func.func @arrays
// CHECK:         %a = memref.alloca(%n) : memref<?xf64>
// CHECK-NOT:     alloc
// CHECK:         memref.store %v, %a[%c0]
// CHECK-NEXT:    %w = memref.load %a[%k]
// CHECK-NEXT:    func.return %w

// -----

// What a loop carries unchanged is not carried.

func.func @unchanged(%n: index, %x: memref<?xf64>, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%b_i = %a) -> (f64) {
    memref.store %b_i, %x[%i] : memref<?xf64>
    scf.yield %b_i : f64
  }
  func.return %b : f64
}

// CHECK-LABEL: func.func @unchanged
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      memref.store %a, %x[%i] : memref<?xf64>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %a : f64

// -----

// A derivative is no kernel: what it remembers is left alone, and the kernel beside it is prepared.

func.func @with_derivative(%a: f64) -> f64 {
  %x = memref.alloca() : memref<f64>
  memref.store %a, %x[] : memref<f64>
  %b = memref.load %x[] : memref<f64>
  func.return %b : f64
}

func.func @derivative(%a: f64) attributes {tapeflow.gradient_of = "with_derivative"} {
  %tape = tape.create : !tape.tape<f64>
  tape.push %a onto %tape : !tape.tape<f64>
  func.return
}

// CHECK-LABEL: func.func @with_derivative
// CHECK-NEXT:    func.return %a : f64
// CHECK-LABEL: func.func @derivative
// CHECK-NEXT:    %tape = tape.create : !tape.tape<f64>

// -----

// An array of one element, as a C frontend makes of a variable whose address is passed on, is a scalar variable.

func.func @through_address(%a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %s = memref.alloca() : memref<1xf64>
  %t = "memref.cast"(%s) : (memref<1xf64>) -> memref<?xf64>
  memref.store %a, %s[%c0] : memref<1xf64>
  %b = memref.load %t[%c0] : memref<?xf64>
  %d = arith.mulf %b, %b : f64
  memref.store %d, %t[%c0] : memref<?xf64>
  %e = memref.load %s[%c0] : memref<1xf64>
  func.return %e : f64
}

// CHECK-LABEL: func.func @through_address
// CHECK-NEXT:    %d = arith.mulf %a, %a : f64
// CHECK-NEXT:    func.return %d : f64

// -----

// All memory is reserved on entry: the size of an array in a branch or loop is computed before it, if that is arithmetic
// on the parameters that is right for all of them. A division is not, unless by a constant: it stays
// where its divisor is known.

func.func @sizes(%n: index, %m: index, %c: i1, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = scf.if %c -> (f64) {
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (f64) {
      %sum = arith.addi %n, %m : index
      %p = arith.maxsi %sum, %c1 : index
      %line = memref.alloc(%p) : memref<?xf64>
      memref.store %s, %line[%c0] : memref<?xf64>
      %t = memref.load %line[%i] : memref<?xf64>
      %half = arith.divsi %n, %m : index
      %other = memref.alloc(%half) : memref<?xf64>
      memref.store %t, %other[%c0] : memref<?xf64>
      %u = memref.load %other[%i] : memref<?xf64>
      scf.yield %u : f64
    }
    scf.yield %r : f64
  } else {
    scf.yield %a : f64
  }
  func.return %b : f64
}

// CHECK-LABEL: func.func @sizes
// CHECK:         %sum = arith.addi %n, %m : index
// CHECK-NEXT:    %p = arith.maxsi %sum, %c1 : index
// CHECK-NEXT:    %b = scf.if %c -> (f64) {
// CHECK-NEXT:      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (f64) {
// CHECK-NEXT:        %line = memref.alloca(%p) : memref<?xf64>
// CHECK:             %half = arith.divsi %n, %m : index
// CHECK-NEXT:        %other = memref.alloca(%half) : memref<?xf64>

// -----

// A size that changes with the loops around it becomes the largest that it can be; what asks for it gets the one it was.

func.func @largest(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c1 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %left = arith.subi %n, %i : index
    %half = arith.divsi %left, %c2 : index
    %size = arith.addi %half, %c1 : index
    %t = memref.alloca(%size, %i) : memref<?x?xf64>
    %asked = memref.dim %t, %c0 : memref<?x?xf64>
    %last = arith.subi %asked, %c1 : index
    scf.for %j = %c0 to %i step %c1 {
      %v = memref.load %x[%j] : memref<?xf64>
      memref.store %v, %t[%last, %j] : memref<?x?xf64>
    }
    %w = memref.load %t[%last, %c0] : memref<?x?xf64>
    %s1 = arith.addf %s0, %w : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @largest
// CHECK:         %0 = arith.subi %n, %c1 : index
// CHECK-NEXT:    %1 = arith.divsi %0, %c2 : index
// CHECK-NEXT:    %2 = arith.addi %1, %c1 : index
// CHECK-NEXT:    %3 = arith.maxsi %2, %c0 : index
// CHECK-NEXT:    %4 = arith.maxsi %0, %c0 : index
// CHECK-NEXT:    %s = scf.for
// CHECK:           %size = arith.addi %half, %c1 : index
// CHECK-NEXT:      %t = memref.alloca(%3, %4) : memref<?x?xf64>
// CHECK-NEXT:      %last = arith.subi %size, %c1 : index

// -----

// Of equal constants at the start the first stays, and the others that are found later go behind it.

func.func @twice(%x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %again = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<?xf64>
  %c1 = arith.constant 1 : index
  %1 = memref.load %x[%c1] : memref<?xf64>
  %2 = arith.mulf %0, %1 : f64
  memref.store %2, %x[%again] : memref<?xf64>
  func.return %2 : f64
}

// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    [[A:%.*]] = memref.load %x[%c0] : memref<?xf64>
// CHECK-NEXT:    [[B:%.*]] = memref.load %x[%c1] : memref<?xf64>
// CHECK-NEXT:    [[C:%.*]] = arith.mulf [[A]], [[B]] : f64
// CHECK-NEXT:    memref.store [[C]], %x[%c0] : memref<?xf64>
