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
#map18 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 + d5 * 2, d6)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
"builtin.module"() ({
  "func.func"() <{function_type = (memref<?x?xf64>, memref<?x?xf64>, memref<?xf64>, memref<?xf64>, memref<?xf64>, memref<f64>) -> f64, sym_name = "contractions"}> ({
  ^bb0(%arg90: memref<?x?xf64>, %arg91: memref<?x?xf64>, %arg92: memref<?xf64>, %arg93: memref<?xf64>, %arg94: memref<?xf64>, %arg95: memref<f64>):
    "linalg.matvec"(%arg90, %arg92, %arg93) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg108: f64, %arg109: f64, %arg110: f64):
      %50 = "arith.mulf"(%arg108, %arg109) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %51 = "arith.addf"(%arg110, %50) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%51) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (memref<?x?xf64>, memref<?xf64>, memref<?xf64>) -> ()
    "linalg.vecmat"(%arg93, %arg90, %arg92) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg105: f64, %arg106: f64, %arg107: f64):
      %48 = "arith.mulf"(%arg105, %arg106) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %49 = "arith.addf"(%arg107, %48) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%49) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map1, #map3, #map2]} : (memref<?xf64>, memref<?x?xf64>, memref<?xf64>) -> ()
    "linalg.matmul_transpose_a"(%arg90, %arg90, %arg91) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg102: f64, %arg103: f64, %arg104: f64):
      %46 = "arith.mulf"(%arg102, %arg103) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %47 = "arith.addf"(%arg104, %46) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%47) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map4, #map5, #map6]} : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.matvec"(%arg91, %arg92, %arg94) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg99: f64, %arg100: f64, %arg101: f64):
      %44 = "arith.mulf"(%arg99, %arg100) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %45 = "arith.addf"(%arg101, %44) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%45) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map, #map1, #map2]} : (memref<?x?xf64>, memref<?xf64>, memref<?xf64>) -> ()
    "linalg.dot"(%arg92, %arg94, %arg95) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg96: f64, %arg97: f64, %arg98: f64):
      %42 = "arith.mulf"(%arg96, %arg97) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %43 = "arith.addf"(%arg98, %42) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%43) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map7, #map7, #map8]} : (memref<?xf64>, memref<?xf64>, memref<f64>) -> ()
    %41 = "memref.load"(%arg95) : (memref<f64>) -> f64
    "func.return"(%41) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?xf64>, memref<f64>) -> f64, sym_name = "batches"}> ({
  ^bb0(%arg73: memref<?x?x?xf64>, %arg74: memref<?x?x?xf64>, %arg75: memref<?x?x?xf64>, %arg76: memref<?x?x?xf64>, %arg77: memref<?x?xf64>, %arg78: memref<f64>):
    "linalg.batch_matmul"(%arg73, %arg74, %arg75) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg87: f64, %arg88: f64, %arg89: f64):
      %39 = "arith.mulf"(%arg87, %arg88) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %40 = "arith.addf"(%arg89, %39) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%40) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map9, #map10, #map11]} : (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>) -> ()
    "linalg.batch_matmul_transpose_b"(%arg75, %arg74, %arg76) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg84: f64, %arg85: f64, %arg86: f64):
      %37 = "arith.mulf"(%arg84, %arg85) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %38 = "arith.addf"(%arg86, %37) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%38) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map9, #map12, #map11]} : (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?xf64>) -> ()
    "linalg.batch_reduce_matmul"(%arg76, %arg74, %arg77) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg81: f64, %arg82: f64, %arg83: f64):
      %35 = "arith.mulf"(%arg81, %arg82) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %36 = "arith.addf"(%arg83, %35) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%36) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map9, #map10, #map13]} : (memref<?x?x?xf64>, memref<?x?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reduce"(%arg77, %arg78) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg79: f64, %arg80: f64):
      %33 = "arith.mulf"(%arg79, %arg79) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %34 = "arith.addf"(%arg80, %33) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%34) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<f64>) -> ()
    %32 = "memref.load"(%arg78) : (memref<f64>) -> f64
    "func.return"(%32) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?xf64>, memref<?xf64>, memref<?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<f64>) -> f64, sym_name = "convolutions"}> ({
  ^bb0(%arg54: memref<?xf64>, %arg55: memref<?xf64>, %arg56: memref<?xf64>, %arg57: memref<?x?xf64>, %arg58: memref<?x?xf64>, %arg59: memref<?x?xf64>, %arg60: memref<f64>):
    "linalg.conv_1d"(%arg54, %arg55, %arg56) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg70: f64, %arg71: f64, %arg72: f64):
      %30 = "arith.mulf"(%arg70, %arg71) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %31 = "arith.addf"(%arg72, %30) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%31) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map14, #map1, #map2]} : (memref<?xf64>, memref<?xf64>, memref<?xf64>) -> ()
    "linalg.broadcast"(%arg56, %arg57) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg68: f64, %arg69: f64):
      "linalg.yield"(%arg68) : (f64) -> ()
    }) : (memref<?xf64>, memref<?x?xf64>) -> ()
    "linalg.conv_2d"(%arg57, %arg58, %arg59) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg65: f64, %arg66: f64, %arg67: f64):
      %28 = "arith.mulf"(%arg65, %arg66) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %29 = "arith.addf"(%arg67, %28) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%29) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map15, #map16, #map17]} : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.square"(%arg59, %arg59) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg63: f64, %arg64: f64):
      %27 = "arith.mulf"(%arg63, %arg63) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%27) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reduce"(%arg59, %arg60) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg61: f64, %arg62: f64):
      %26 = "arith.addf"(%arg62, %arg61) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%26) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<f64>) -> ()
    %25 = "memref.load"(%arg60) : (memref<f64>) -> f64
    "func.return"(%25) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<?xf64>) -> f64, sym_name = "elements"}> ({
  ^bb0(%arg25: memref<?x?xf64>, %arg26: memref<?x?xf64>, %arg27: memref<?x?xf64>, %arg28: memref<?xf64>):
    "linalg.div"(%arg25, %arg26, %arg27) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg51: f64, %arg52: f64, %arg53: f64):
      %24 = "arith.divf"(%arg51, %arg52) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%24) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.tanh"(%arg27, %arg27) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg49: f64, %arg50: f64):
      %23 = "math.tanh"(%arg49) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%23) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.powf"(%arg25, %arg27, %arg27) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg46: f64, %arg47: f64, %arg48: f64):
      %22 = "math.powf"(%arg46, %arg47) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%22) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.map"(%arg25, %arg27, %arg27) ({
    ^bb0(%arg44: f64, %arg45: f64):
      %21 = "arith.subf"(%arg44, %arg45) <{fastmath = #arith.fastmath<contract>}> : (f64, f64) -> f64
      "linalg.yield"(%21) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.abs"(%arg27, %arg27) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg42: f64, %arg43: f64):
      %20 = "math.absf"(%arg42) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%20) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.rsqrt"(%arg25, %arg25) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg40: f64, %arg41: f64):
      %19 = "math.rsqrt"(%arg40) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%19) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.erf"(%arg25, %arg25) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg38: f64, %arg39: f64):
      %18 = "math.erf"(%arg38) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%18) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.negf"(%arg26, %arg26) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg36: f64, %arg37: f64):
      %17 = "arith.negf"(%arg36) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%17) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reciprocal"(%arg26, %arg26) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg34: f64, %arg35: f64):
      %15 = "arith.constant"() <{value = 1.000000e+00 : f64}> : () -> f64
      %16 = "arith.divf"(%15, %arg34) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%16) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.map"(%arg25, %arg26, %arg27, %arg27) ({
    ^bb0(%arg31: f64, %arg32: f64, %arg33: f64):
      %12 = "arith.mulf"(%arg31, %arg32) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %13 = "math.sin"(%arg33) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      %14 = "arith.addf"(%12, %13) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%14) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) -> ()
    "linalg.reduce"(%arg27, %arg28) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg29: f64, %arg30: f64):
      %11 = "arith.mulf"(%arg30, %arg29) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%11) : (f64) -> ()
    }) : (memref<?x?xf64>, memref<?xf64>) -> ()
    %9 = "arith.constant"() <{value = 0 : index}> : () -> index
    %10 = "memref.load"(%arg28, %9) : (memref<?xf64>, index) -> f64
    "func.return"(%10) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<?x?x?x?xf64>, memref<?x?x?x?xf64>, memref<?x?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?x?xf64>, memref<?x?xf64>, memref<?x?x?x?xf64>, memref<?x?x?x?xf64>, memref<f64>) -> f64, sym_name = "images"}> ({
  ^bb0(%arg0: memref<?x?x?x?xf64>, %arg1: memref<?x?x?x?xf64>, %arg2: memref<?x?x?x?xf64>, %arg3: memref<?x?x?xf64>, %arg4: memref<?x?x?x?xf64>, %arg5: memref<?x?xf64>, %arg6: memref<?x?x?x?xf64>, %arg7: memref<?x?x?x?xf64>, %arg8: memref<f64>):
    "linalg.conv_2d_nhwc_hwcf"(%arg0, %arg1, %arg2) <{dilations = dense<[1, 2]> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<[2, 1]> : tensor<2xi64>}> ({
    ^bb0(%arg22: f64, %arg23: f64, %arg24: f64):
      %7 = "arith.mulf"(%arg22, %arg23) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %8 = "arith.addf"(%arg24, %7) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%8) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map18, #map19, #map20]} : (memref<?x?x?x?xf64>, memref<?x?x?x?xf64>, memref<?x?x?x?xf64>) -> ()
    "linalg.depthwise_conv_2d_nhwc_hwc"(%arg2, %arg3, %arg4) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg19: f64, %arg20: f64, %arg21: f64):
      %5 = "arith.mulf"(%arg19, %arg20) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %6 = "arith.addf"(%arg21, %5) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%6) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map21, #map22, #map23]} : (memref<?x?x?x?xf64>, memref<?x?x?xf64>, memref<?x?x?x?xf64>) -> ()
    "linalg.pooling_nhwc_max"(%arg4, %arg5, %arg6) <{dilations = dense<1> : tensor<2xi64>, operandSegmentSizes = array<i32: 2, 1>, strides = dense<1> : tensor<2xi64>}> ({
    ^bb0(%arg16: f64, %arg17: f64, %arg18: f64):
      %4 = "arith.maximumf"(%arg18, %arg16) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%4) : (f64) -> ()
    }) {linalg.memoized_indexing_maps = [#map21, #map24, #map23]} : (memref<?x?x?x?xf64>, memref<?x?xf64>, memref<?x?x?x?xf64>) -> ()
    "linalg.softmax"(%arg6, %arg7) <{dimension = 2 : i64}> : (memref<?x?x?x?xf64>, memref<?x?x?x?xf64>) -> ()
    "linalg.elemwise_binary"(%arg6, %arg7, %arg7) <{fun = #linalg.binary_fn<mul>, operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg13: f64, %arg14: f64, %arg15: f64):
      %3 = "arith.mulf"(%arg13, %arg14) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%3) : (f64) -> ()
    }) : (memref<?x?x?x?xf64>, memref<?x?x?x?xf64>, memref<?x?x?x?xf64>) -> ()
    "linalg.elemwise_unary"(%arg7, %arg7) <{fun = #linalg.unary_fn<log>, operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg11: f64, %arg12: f64):
      %2 = "math.log"(%arg11) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      "linalg.yield"(%2) : (f64) -> ()
    }) : (memref<?x?x?x?xf64>, memref<?x?x?x?xf64>) -> ()
    "linalg.reduce"(%arg7, %arg8) <{dimensions = array<i64: 0, 1, 2, 3>}> ({
    ^bb0(%arg9: f64, %arg10: f64):
      %1 = "arith.addf"(%arg10, %arg9) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "linalg.yield"(%1) : (f64) -> ()
    }) : (memref<?x?x?x?xf64>, memref<f64>) -> ()
    %0 = "memref.load"(%arg8) : (memref<f64>) -> f64
    "func.return"(%0) : (f64) -> ()
  }) : () -> ()
}) : () -> ()
