// RUN: tapeflow-opt %s -p tape-plan | filecheck %s

// Functions without tapes are not touched, whatever they are made of.

func.func @jumps(%c: i1) -> i32 {
  %one = arith.constant 1 : i32
  %two = arith.constant 1 : i32
  cf.cond_br %c, ^left, ^right
^left:
  func.return %one : i32
^right:
  func.return %two : i32
}

// The same value on two tapes: one is enough, even where the value cannot be had again.

func.func @shared(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_a = tape.create reserve %n : !tape.tape<f64>
  %tape_b = tape.create reserve %n : !tape.tape<f64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    tape.push %v onto %tape_a : !tape.tape<f64>
    tape.push %v onto %tape_b : !tape.tape<f64>
    memref.store %v, %x[%c0] : memref<?xf64>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %a = tape.pop %tape_a : !tape.tape<f64>
    %b = tape.pop %tape_b : !tape.tape<f64>
    %p = arith.mulf %a, %b : f64
    memref.store %p, %y[%i_r] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: func.func @jumps
// CHECK:         arith.constant 1 : i32
// CHECK-NEXT:    arith.constant 1 : i32
// CHECK-LABEL: func.func @shared
// CHECK:         tape.create
// CHECK-NOT:     tape.create
// CHECK:         [[A:%.*]] = tape.pop
// CHECK-NEXT:    arith.mulf [[A]], [[A]] : f64
