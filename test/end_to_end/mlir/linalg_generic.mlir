// Printed by mlir-opt 19 (LLVM 19): mlir-opt --mlir-print-op-generic linalg.mlir
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d1, d0)>
#map4 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map5 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map7 = affine_map<(d0) -> (d0)>
#map8 = affine_map<(d0) -> ()>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d1, d2)>
#map14 = affine_map<(d0, d1) -> (d0 + d1)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0 + d2, d1 + d3)>
#map16 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
"builtin.module"() ({
  "func.func"() <{function_type = (memref<?x?xf64>, memref<?x?xf64>, memref<?xf64>, memref<?xf64>, memref<?xf64>, memref<f64>) -> f64, sym_name = "contractions"}> ({
  ^bb0(%arg65: memref<?x?xf64>, %arg66: memref<?x?xf64>, %arg67: memref<?xf64>, %arg68: memref<?xf64>, %arg69: memref<?xf64>, %arg70: memref<f64>):
    "linalg.matvec"(%arg65, %arg67, %arg68) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg83: f64, %arg84: f64, %arg85: f64):
      %41 = "arith.mulf"(%arg83, %arg84) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %42 = "arith.addf"(%arg85, %41) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%42) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (memref<?x?xf64>, memref<?xf64>, memref<?xf64>) -> ()
    "linalg.vecmat"(%arg68, %arg65, %arg67) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg80: f64, %arg81: f64, %arg82: f64):
      %39 = "arith.mulf"(%arg80, %arg81) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %40 = "arith.addf"(%arg82, %39) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%40) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map1, #map3, #map2]} : (memref<?xf64>, memref<?x?xf64>, memref<?xf64>) -> ()
    "linalg.matmul_transpose_a"(%arg65, %arg65, %arg66) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg77: f64, %arg78: f64, %arg79: f64):
      %37 = "arith.mulf"(%arg77, %arg78) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %38 = "arith.addf"(%arg79, %37) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%38) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map4, #map5, #map6]} : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.matvec"(%arg66, %arg67, %arg69) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg74: f64, %arg75: f64, %arg76: f64):
      %35 = "arith.mulf"(%arg74, %arg75) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %36 = "arith.addf"(%arg76, %35) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%36) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (memref<?x?xf64>, memref<?xf64>, memref<?xf64>) -> ()
    "linalg.dot"(%arg67, %arg69, %arg70) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg71: f64, %arg72: f64, %arg73: f64):
      %33 = "arith.mulf"(%arg71, %arg72) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %34 = "arith.addf"(%arg73, %33) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%34) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map7, #map7, #map8]} : (memref<?xf64>, memref<?xf64>, memref<f64>) -> ()
    %32 = "memref.load"(%arg70) : (memref<f64>) -> f64
    "func.return"(%32) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?xf64>, memref<f64>) -> f64, sym_name = "batches"}> ({
  ^bb0(%arg48: memref<?x?x?xf64>, %arg49: memref<?x?x?xf64>, %arg50: memref<?x?x?xf64>, %arg51: memref<?x?x?xf64>, %arg52: memref<?x?xf64>, %arg53: memref<f64>):
    "linalg.batch_matmul"(%arg48, %arg49, %arg50) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg62: f64, %arg63: f64, %arg64: f64):
      %30 = "arith.mulf"(%arg62, %arg63) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %31 = "arith.addf"(%arg64, %30) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%31) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map9, #map10, #map11]} : (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>) -> ()
    "linalg.batch_matmul_transpose_b"(%arg50, %arg49, %arg51) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg59: f64, %arg60: f64, %arg61: f64):
      %28 = "arith.mulf"(%arg59, %arg60) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %29 = "arith.addf"(%arg61, %28) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%29) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map9, #map12, #map11]} : (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>) -> ()
    "linalg.batch_reduce_matmul"(%arg51, %arg49, %arg52) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg56: f64, %arg57: f64, %arg58: f64):
      %26 = "arith.mulf"(%arg56, %arg57) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %27 = "arith.addf"(%arg58, %26) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%27) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map9, #map10, #map13]} : (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reduce"(%arg52, %arg53) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg54: f64, %arg55: f64):
      %24 = "arith.mulf"(%arg54, %arg54) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %25 = "arith.addf"(%arg55, %24) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%25) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<f64>) -> ()
    %23 = "memref.load"(%arg53) : (memref<f64>) -> f64
    "func.return"(%23) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?xf64>, memref<?xf64>, memref<?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<f64>) -> f64, sym_name = "convolutions"}> ({
  ^bb0(%arg29: memref<?xf64>, %arg30: memref<?xf64>, %arg31: memref<?xf64>, %arg32: memref<?x?xf64>, %arg33: memref<?x?xf64>, %arg34: memref<?x?xf64>, %arg35: memref<f64>):
    "linalg.conv_1d"(%arg29, %arg30, %arg31) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg45: f64, %arg46: f64, %arg47: f64):
      %21 = "arith.mulf"(%arg45, %arg46) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %22 = "arith.addf"(%arg47, %21) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%22) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map14, #map1, #map2]} : (memref<?xf64>, memref<?xf64>, memref<?xf64>) -> ()
    "linalg.broadcast"(%arg31, %arg32) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg43: f64, %arg44: f64):
      "linalg.yield"(%arg43) : (f64) -> ()
    }) : (memref<?xf64>, memref<?x?xf64>) -> ()
    "linalg.conv_2d"(%arg32, %arg33, %arg34) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg40: f64, %arg41: f64, %arg42: f64):
      %19 = "arith.mulf"(%arg40, %arg41) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %20 = "arith.addf"(%arg42, %19) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%20) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map15, #map16, #map17]} : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.square"(%arg34, %arg34) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg38: f64, %arg39: f64):
      %18 = "arith.mulf"(%arg38, %arg38) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%18) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reduce"(%arg34, %arg35) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg36: f64, %arg37: f64):
      %17 = "arith.addf"(%arg37, %arg36) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%17) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<f64>) -> ()
    %16 = "memref.load"(%arg35) : (memref<f64>) -> f64
    "func.return"(%16) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<?xf64>) -> f64, sym_name = "elements"}> ({
  ^bb0(%arg0: memref<?x?xf64>, %arg1: memref<?x?xf64>, %arg2: memref<?x?xf64>, %arg3: memref<?xf64>):
    "linalg.div"(%arg0, %arg1, %arg2) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg26: f64, %arg27: f64, %arg28: f64):
      %15 = "arith.divf"(%arg26, %arg27) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%15) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.tanh"(%arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg24: f64, %arg25: f64):
      %14 = "math.tanh"(%arg24) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%14) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.powf"(%arg0, %arg2, %arg2) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg21: f64, %arg22: f64, %arg23: f64):
      %13 = "math.powf"(%arg21, %arg22) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%13) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.map"(%arg0, %arg2, %arg2) ({
    ^bb0(%arg19: f64, %arg20: f64):
      %12 = "arith.subf"(%arg19, %arg20) <{fastmath = #arith.fastmath<contract>}> : (f64, f64) -> f64
      "linalg.yield"(%12) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.abs"(%arg2, %arg2) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg17: f64, %arg18: f64):
      %11 = "math.absf"(%arg17) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%11) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.rsqrt"(%arg0, %arg0) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg15: f64, %arg16: f64):
      %10 = "math.rsqrt"(%arg15) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%10) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.erf"(%arg0, %arg0) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg13: f64, %arg14: f64):
      %9 = "math.erf"(%arg13) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%9) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.negf"(%arg1, %arg1) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg11: f64, %arg12: f64):
      %8 = "arith.negf"(%arg11) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%8) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reciprocal"(%arg1, %arg1) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg9: f64, %arg10: f64):
      %6 = "arith.constant"() <{value = 1.000000e+00 : f64}> : () -> f64
      %7 = "arith.divf"(%6, %arg9) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%7) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.map"(%arg0, %arg1, %arg2, %arg2) ({
    ^bb0(%arg6: f64, %arg7: f64, %arg8: f64):
      %3 = "arith.mulf"(%arg6, %arg7) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %4 = "math.sin"(%arg8) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      %5 = "arith.addf"(%3, %4) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%5) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reduce"(%arg2, %arg3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg4: f64, %arg5: f64):
      %2 = "arith.mulf"(%arg5, %arg4) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%2) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?xf64>) -> ()
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "memref.load"(%arg3, %0) : (memref<?xf64>, index) -> f64
    "func.return"(%1) : (f64) -> ()
  }) : () -> ()
}) : () -> ()

