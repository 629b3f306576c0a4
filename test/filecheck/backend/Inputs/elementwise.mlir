// y[i] = x[i]^2 * y[i], in place: both factors are needed in reverse, and y is overwritten.
func.func @square_grad(%n: i32 {tapeflow.name = "n"},
    %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]},
    %y: memref<?xf64> {tapeflow.name = "y", tapeflow.extents = ["n"]},
    %x_b: memref<?xf64> {tapeflow.name = "x_b", tapeflow.extents = ["n"]},
    %y_b: memref<?xf64> {tapeflow.name = "y_b", tapeflow.extents = ["n"]})
    attributes {tapeflow.gradient_of = "square"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = arith.index_cast %n : i32 to index
  %tape_x = tape.create reserve %N : !tape.tape<f64>
  %tape_y = tape.create reserve %N : !tape.tape<f64>
  scf.for %i = %c0 to %N step %c1 {
    %xi = memref.load %x[%i] : memref<?xf64>
    %yi = memref.load %y[%i] : memref<?xf64>
    %xx = arith.mulf %xi, %xi : f64
    tape.push %xx onto %tape_x : !tape.tape<f64>
    tape.push %yi onto %tape_y : !tape.tape<f64>
    %p = arith.mulf %xx, %yi : f64
    memref.store %p, %y[%i] : memref<?xf64>
  }
  %last = arith.subi %N, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i = arith.subi %last, %i_r : index
    %yi = tape.pop %tape_y : !tape.tape<f64>
    %xx = tape.pop %tape_x : !tape.tape<f64>
    %p_b = memref.load %y_b[%i] : memref<?xf64>
    %y_b_new = arith.mulf %p_b, %xx : f64
    memref.store %y_b_new, %y_b[%i] : memref<?xf64>
    %xx_b = arith.mulf %p_b, %yi : f64
    %xi = memref.load %x[%i] : memref<?xf64>
    %half_b = arith.mulf %xx_b, %xi : f64
    %xi_b = arith.addf %half_b, %half_b : f64
    ad.accumulate %xi_b into %x_b[%i] : memref<?xf64>
  }
  func.return
}
