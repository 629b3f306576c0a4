// `tapeflow-run` interprets a function; arguments are attributes.
// RUN: python -m tapeflow.run %s --symbol reverse --verbose --args "3 : index, dense<[1.0, 2.0, 3.0]> : tensor<3xf64>" | filecheck %s
// RUN: not python -m tapeflow.run %s --symbol pop_of_nothing 2>&1 | filecheck %s --check-prefix ERROR
// RUN: not python -m tapeflow.run %s --symbol reverse --args "3 : index" 2>&1 | filecheck %s --check-prefix MISSING
// MISSING: error: @reverse takes 2 arguments, but 1 were given by --args

// Reads the digits in `x` from the last to the first.
func.func @reverse(%n: index, %x: memref<3xf64>) -> (f64, i1) {
  %tape_x = tape.create reserve %n : !tape.tape<f64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %ten = arith.constant 10.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<3xf64>
    tape.push %v onto %tape_x : !tape.tape<f64>
  }
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %v = tape.pop %tape_x : !tape.tape<f64>
    %t = arith.mulf %s_i, %ten : f64
    %u = arith.addf %t, %v : f64
    scf.yield %u : f64
  }
  %big = arith.cmpf ogt, %s, %ten : f64
  func.return %s, %big : f64, i1
}

// CHECK:      result: (
// CHECK-NEXT:     321.0,
// CHECK-NEXT:     True
// CHECK-NEXT: )
// CHECK-NEXT: x: [1.0, 2.0, 3.0]

func.func @pop_of_nothing() {
  %tape_x = tape.create : !tape.tape<f64>
  %v = tape.pop %tape_x : !tape.tape<f64>
  func.return
}

// ERROR: underflow: tape_x is empty
