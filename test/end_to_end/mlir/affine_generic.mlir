// Printed by mlir-opt 19 (LLVM 19): mlir-opt --mlir-print-op-generic affine.mlir
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ((d0 + d1) floordiv 2)>
#map2 = affine_map<(d0)[s0] -> (0, d0 - 2)>
#map3 = affine_map<(d0)[s0] -> (s0, d0 + 3)>
#map4 = affine_map<(d0)[s0] -> ((d0 * 2 - s0) mod 3)>
#map5 = affine_map<(d0)[s0] -> (d0 - 1, 0)>
#map6 = affine_map<(d0)[s0] -> (d0, s0 - 1)>
#map7 = affine_map<(d0)[s0] -> (-d0 + s0 - 1)>
#map8 = affine_map<() -> (0)>
#map9 = affine_map<()[s0] -> (s0)>
#map10 = affine_map<() -> (0, 0)>
#map11 = affine_map<(d0) -> (d0, d0, 10)>
#map12 = affine_map<(d0) -> (d0, d0)>
#set = affine_set<(d0)[s0] : (d0 - 1 >= 0, -d0 + s0 - 2 >= 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (index, memref<?x?xf64>, memref<?xf64>, memref<?xf64>) -> f64, sym_name = "bounds"}> ({
  ^bb0(%arg0: index, %arg1: memref<?x?xf64>, %arg2: memref<?xf64>, %arg3: memref<?xf64>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %1 = "affine.for"(%arg0, %0) <{lowerBoundMap = #map8, operandSegmentSizes = array<i32: 0, 1, 1>, step = 1 : index, upperBoundMap = #map9}> ({
    ^bb0(%arg8: index, %arg9: f64):
      "affine.for"(%arg8, %arg0, %arg8, %arg0) <{lowerBoundMap = #map2, operandSegmentSizes = array<i32: 2, 2, 0>, step = 2 : index, upperBoundMap = #map3}> ({
      ^bb0(%arg10: index):
        %14 = "affine.load"(%arg1, %arg8, %arg10) <{map = #map}> : (memref<?x?xf64>, index, index) -> f64
        %15 = "affine.load"(%arg2, %arg8, %arg10) <{map = #map1}> : (memref<?xf64>, index, index) -> f64
        %16 = "arith.mulf"(%14, %15) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
        "affine.store"(%16, %arg1, %arg8, %arg10) <{map = #map}> : (f64, memref<?x?xf64>, index, index) -> ()
        "affine.yield"() : () -> ()
      }) : (index, index, index, index) -> ()
      %7 = "affine.apply"(%arg8, %arg0) <{map = #map4}> : (index, index) -> index
      %8 = "affine.max"(%7, %arg0) <{map = #map5}> : (index, index) -> index
      %9 = "affine.min"(%8, %arg0) <{map = #map6}> : (index, index) -> index
      %10 = "affine.if"(%arg8, %arg0) ({
        %12 = "memref.load"(%arg3, %9) : (memref<?xf64>, index) -> f64
        %13 = "arith.mulf"(%12, %12) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
        "affine.yield"(%13) : (f64) -> ()
      }, {
        "affine.yield"(%0) : (f64) -> ()
      }) {condition = #set} : (index, index) -> f64
      "affine.if"(%arg8, %arg0) ({
        "affine.store"(%10, %arg3, %arg8, %arg0) <{map = #map7}> : (f64, memref<?xf64>, index, index) -> ()
        "affine.yield"() : () -> ()
      }, {
      }) {condition = #set} : (index, index) -> ()
      %11 = "arith.addf"(%arg9, %10) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "affine.yield"(%11) : (f64) -> ()
    }) : (index, f64) -> f64
    "affine.parallel"(%arg0) <{lowerBoundsGroups = dense<1> : tensor<2xi32>, lowerBoundsMap = #map10, reductions = [], steps = [1, 2], upperBoundsGroups = dense<[1, 2]> : tensor<2xi32>, upperBoundsMap = #map11}> ({
    ^bb0(%arg6: index, %arg7: index):
      %5 = "affine.load"(%arg1, %arg6, %arg7) <{map = #map}> : (memref<?x?xf64>, index, index) -> f64
      %6 = "arith.mulf"(%5, %5) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "affine.store"(%6, %arg1, %arg6, %arg7) <{map = #map}> : (f64, memref<?x?xf64>, index, index) -> ()
      "affine.yield"() : () -> ()
    }) : (index) -> ()
    %2 = "affine.parallel"(%arg0) <{lowerBoundsGroups = dense<1> : tensor<2xi32>, lowerBoundsMap = #map10, reductions = [0], steps = [1, 1], upperBoundsGroups = dense<1> : tensor<2xi32>, upperBoundsMap = #map12}> ({
    ^bb0(%arg4: index, %arg5: index):
      %4 = "affine.load"(%arg1, %arg4, %arg5) <{map = #map}> : (memref<?x?xf64>, index, index) -> f64
      "affine.yield"(%4) : (f64) -> ()
    }) : (index) -> f64
    %3 = "arith.addf"(%1, %2) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    "func.return"(%3) : (f64) -> ()
  }) : () -> ()
}) : () -> ()

