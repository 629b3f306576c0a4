// The core IR of the kernel, and the request for its gradient.
ad.vjp @f_grad of @f (const, const, active, active) -> (active)

func.func @f(%n: i32, %m: i32, %A: memref<?x?xf64>, %w: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %N = arith.index_cast %n : i32 to index
  %M = arith.index_cast %m : i32 to index
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_j = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %c = arith.cmpf ogt, %a, %zero : f64
      %t_new = scf.if %c -> (f64) {
        %wj = memref.load %w[%j] : memref<?xf64>
        %v = arith.addf %a, %wj : f64
        %p = arith.mulf %t_j, %v : f64
        scf.yield %p : f64
      } else {
        scf.yield %t_j : f64
      }
      %w_old = memref.load %w[%j] : memref<?xf64>
      %w_new = arith.mulf %w_old, %half : f64
      memref.store %w_new, %w[%j] : memref<?xf64>
      scf.yield %t_new : f64
    }
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}
