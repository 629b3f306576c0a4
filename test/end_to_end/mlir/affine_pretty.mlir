// Printed by mlir-opt 19 (LLVM 19): mlir-opt affine.mlir
#map = affine_map<(d0)[s0] -> (0, d0 - 2)>
#map1 = affine_map<(d0)[s0] -> (s0, d0 + 3)>
#map2 = affine_map<(d0)[s0] -> ((d0 * 2 - s0) mod 3)>
#map3 = affine_map<(d0)[s0] -> (d0 - 1, 0)>
#map4 = affine_map<(d0)[s0] -> (d0, s0 - 1)>
#set = affine_set<(d0)[s0] : (d0 - 1 >= 0, -d0 + s0 - 2 >= 0)>
module {
  func.func @bounds(%arg0: index, %arg1: memref<?x?xf64>, %arg2: memref<?xf64>, %arg3: memref<?xf64>) -> f64 {
    %cst = arith.constant 0.000000e+00 : f64
    %0 = affine.for %arg4 = 0 to %arg0 iter_args(%arg5 = %cst) -> (f64) {
      affine.for %arg6 = max #map(%arg4)[%arg0] to min #map1(%arg4)[%arg0] step 2 {
        %8 = affine.load %arg1[%arg4, %arg6] : memref<?x?xf64>
        %9 = affine.load %arg2[(%arg4 + %arg6) floordiv 2] : memref<?xf64>
        %10 = arith.mulf %8, %9 : f64
        affine.store %10, %arg1[%arg4, %arg6] : memref<?x?xf64>
      }
      %3 = affine.apply #map2(%arg4)[%arg0]
      %4 = affine.max #map3(%3)[%arg0]
      %5 = affine.min #map4(%4)[%arg0]
      %6 = affine.if #set(%arg4)[%arg0] -> f64 {
        %8 = memref.load %arg3[%5] : memref<?xf64>
        %9 = arith.mulf %8, %8 : f64
        affine.yield %9 : f64
      } else {
        affine.yield %cst : f64
      }
      affine.if #set(%arg4)[%arg0] {
        affine.store %6, %arg3[-%arg4 + symbol(%arg0) - 1] : memref<?xf64>
      }
      %7 = arith.addf %arg5, %6 : f64
      affine.yield %7 : f64
    }
    affine.parallel (%arg4, %arg5) = (0, 0) to (%arg0, min(%arg0, 10)) step (1, 2) {
      %3 = affine.load %arg1[%arg4, %arg5] : memref<?x?xf64>
      %4 = arith.mulf %3, %3 : f64
      affine.store %4, %arg1[%arg4, %arg5] : memref<?x?xf64>
    }
    %1 = affine.parallel (%arg4, %arg5) = (0, 0) to (%arg0, %arg0) reduce ("addf") -> (f64) {
      %3 = affine.load %arg1[%arg4, %arg5] : memref<?x?xf64>
      affine.yield %3 : f64
    }
    %2 = arith.addf %0, %1 : f64
    return %2 : f64
  }
}

