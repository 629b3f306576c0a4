// Printed by mlir-opt 19 (LLVM 19): mlir-opt --mlir-print-op-generic memref.mlir
#map = affine_map<(d0, d1) -> (d1, d0)>
#map1 = affine_map<()[s0] -> (s0 - 1)>
#map2 = affine_map<() -> (0)>
#map3 = affine_map<() -> (6)>
"builtin.module"() ({
  "memref.global"() <{constant, initial_value = dense<[[1.000000e+00, 2.000000e+00, 5.000000e-01], [-1.000000e+00, 2.500000e-01, 4.000000e+00]]> : tensor<2x3xf64>, sym_name = "table", sym_visibility = "private", type = memref<2x3xf64>}> : () -> ()
  "func.func"() <{function_type = (index, memref<4x6xf64>, memref<?x?xf64>, memref<2x3x4xf64>, memref<f64>, memref<2x1x2x1x2xf64>) -> f64, sym_name = "f"}> ({
  ^bb0(%arg5: index, %arg6: memref<4x6xf64>, %arg7: memref<?x?xf64>, %arg8: memref<2x3x4xf64>, %arg9: memref<f64>, %arg10: memref<2x1x2x1x2xf64>):
    %18 = "arith.constant"() <{value = 0 : index}> : () -> index
    %19 = "arith.constant"() <{value = 1 : index}> : () -> index
    %20 = "arith.constant"() <{value = 2 : index}> : () -> index
    %21 = "arith.constant"() <{value = 3 : index}> : () -> index
    %22 = "arith.constant"() <{value = 8 : index}> : () -> index
    %23 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %24 = "memref.transpose"(%arg7) <{permutation = #map}> : (memref<?x?xf64>) -> memref<?x?xf64, strided<[1, ?]>>
    %25 = "memref.collapse_shape"(%arg6) <{reassociation = [[0, 1]]}> : (memref<4x6xf64>) -> memref<24xf64>
    %26 = "memref.expand_shape"(%25) <{reassociation = [[0, 1]], static_output_shape = array<i64: 8, 3>}> : (memref<24xf64>) -> memref<8x3xf64>
    %27 = "memref.reinterpret_cast"(%arg6) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 2>, static_sizes = array<i64: 3, 2>, static_strides = array<i64: 6, 2>}> : (memref<4x6xf64>) -> memref<3x2xf64, strided<[6, 2], offset: 2>>
    %28 = "memref.collapse_shape"(%arg10) <{reassociation = [[0, 1], [2, 3, 4]]}> : (memref<2x1x2x1x2xf64>) -> memref<2x4xf64>
    %29 = "memref.subview"(%26) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 4, 3>, static_strides = array<i64: 2, 1>}> : (memref<8x3xf64>) -> memref<4x3xf64, strided<[6, 1], offset: 3>>
    %30 = "memref.subview"(%arg8) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 0, 1>, static_sizes = array<i64: 1, 3, 1>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x3x4xf64>) -> memref<1x3xf64, strided<[12, 4], offset: 13>>
    %31 = "memref.rank"(%arg8) : (memref<2x3x4xf64>) -> index
    %32 = "memref.dim"(%24, %19) : (memref<?x?xf64, strided<[1, ?]>>, index) -> index
    %33 = "memref.dim"(%24, %18) : (memref<?x?xf64, strided<[1, ?]>>, index) -> index
    %34 = "memref.dim"(%29, %arg5) : (memref<4x3xf64, strided<[6, 1], offset: 3>>, index) -> index
    %35 = "memref.alloc"(%33, %32) <{operandSegmentSizes = array<i32: 2, 0>}> : (index, index) -> memref<?x?xf64>
    %36 = "memref.transpose"(%35) <{permutation = #map}> : (memref<?x?xf64>) -> memref<?x?xf64, strided<[1, ?]>>
    "memref.copy"(%arg7, %36) : (memref<?x?xf64>, memref<?x?xf64, strided<[1, ?]>>) -> ()
    %37 = "memref.collapse_shape"(%35) <{reassociation = [[0, 1]]}> : (memref<?x?xf64>) -> memref<?xf64>
    %38 = "memref.dim"(%37, %18) : (memref<?xf64>, index) -> index
    "memref.prefetch"(%arg7, %18, %18) <{isDataCache = true, isWrite = false, localityHint = 3 : i32}> : (memref<?x?xf64>, index, index) -> ()
    "memref.assume_alignment"(%arg6) <{alignment = 8 : i32}> : (memref<4x6xf64>) -> ()
    %39 = "memref.memory_space_cast"(%arg6) : (memref<4x6xf64>) -> memref<4x6xf64, 1>
    %40 = "memref.get_global"() <{name = @table}> : () -> memref<2x3xf64>
    %41 = "memref.cast"(%40) : (memref<2x3xf64>) -> memref<?x?xf64>
    %42 = "memref.transpose"(%41) <{permutation = #map}> : (memref<?x?xf64>) -> memref<?x?xf64, strided<[1, ?]>>
    %43 = "scf.for"(%18, %38, %19, %23) ({
    ^bb0(%arg11: index, %arg12: f64):
      %62 = "memref.load"(%37, %arg11) : (memref<?xf64>, index) -> f64
      %63 = "arith.remsi"(%arg11, %21) : (index, index) -> index
      %64 = "memref.load"(%26, %63, %63) : (memref<8x3xf64>, index, index) -> f64
      %65 = "arith.mulf"(%62, %64) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %66 = "memref.load"(%42, %63, %19) : (memref<?x?xf64, strided<[1, ?]>>, index, index) -> f64
      %67 = "arith.mulf"(%65, %66) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %68 = "math.sin"(%67) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      %69 = "arith.addf"(%arg12, %68) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "scf.yield"(%69) : (f64) -> ()
    }) : (index, index, index, f64) -> f64
    %44 = "memref.alloca_scope"() ({
      %57 = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<2xf64>
      %58 = "memref.load"(%27, %20, %19) : (memref<3x2xf64, strided<[6, 2], offset: 2>>, index, index) -> f64
      "memref.store"(%58, %57, %19) : (f64, memref<2xf64>, index) -> ()
      %59 = "memref.load"(%57, %19) : (memref<2xf64>, index) -> f64
      %60 = "memref.load"(%30, %18, %20) : (memref<1x3xf64, strided<[12, 4], offset: 13>>, index, index) -> f64
      %61 = "arith.mulf"(%59, %60) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "memref.store"(%61, %29, %21, %19) : (f64, memref<4x3xf64, strided<[6, 1], offset: 3>>, index, index) -> ()
      "memref.alloca_scope.return"(%61) : (f64) -> ()
    }) : () -> f64
    %45 = "memref.atomic_rmw"(%44, %arg7, %18, %19) <{kind = 0 : i64}> : (f64, memref<?x?xf64>, index, index) -> f64
    %46 = "memref.atomic_rmw"(%45, %24, %18, %18) <{kind = 9 : i64}> : (f64, memref<?x?xf64, strided<[1, ?]>>, index, index) -> f64
    %47 = "memref.atomic_rmw"(%46, %arg9) <{kind = 2 : i64}> : (f64, memref<f64>) -> f64
    %48 = "memref.load"(%28, %19, %20) : (memref<2x4xf64>, index, index) -> f64
    %49 = "memref.load"(%39, %21, %21) : (memref<4x6xf64, 1>, index, index) -> f64
    "memref.dealloc"(%35) : (memref<?x?xf64>) -> ()
    %50 = "arith.addi"(%31, %34) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %51 = "arith.index_cast"(%50) : (index) -> i32
    %52 = "arith.sitofp"(%51) : (i32) -> f64
    %53 = "arith.addf"(%43, %47) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %54 = "arith.mulf"(%53, %52) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %55 = "arith.mulf"(%48, %49) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %56 = "arith.addf"(%54, %55) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    "func.return"(%56) : (f64) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (index, memref<?xf64>, memref<6xf64>) -> f64, sym_name = "grown"}> ({
  ^bb0(%arg0: index, %arg1: memref<?xf64>, %arg2: memref<6xf64>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %2 = "arith.constant"() <{value = 4 : index}> : () -> index
    %3 = "arith.constant"() <{value = 11 : index}> : () -> index
    %4 = "arith.constant"() <{value = 2.000000e+00 : f64}> : () -> f64
    "affine.prefetch"(%arg1, %arg0) <{isDataCache = true, isWrite = false, localityHint = 2 : i32, map = #map1}> : (memref<?xf64>, index) -> ()
    %5 = "memref.alloc"(%arg0) <{operandSegmentSizes = array<i32: 1, 0>}> : (index) -> memref<?xf64>
    "memref.copy"(%arg1, %5) : (memref<?xf64>, memref<?xf64>) -> ()
    %6 = "memref.realloc"(%5, %2) : (memref<?xf64>, index) -> memref<?xf64>
    "memref.store"(%4, %6, %arg0) : (f64, memref<?xf64>, index) -> ()
    %7 = "memref.realloc"(%6) <{alignment = 64 : i64}> : (memref<?xf64>) -> memref<6xf64>
    "affine.for"() <{lowerBoundMap = #map2, operandSegmentSizes = array<i32: 0, 0, 0>, step = 1 : index, upperBoundMap = #map3}> ({
    ^bb0(%arg3: index):
      %14:2 = "affine.delinearize_index"(%arg3, %2, %2) : (index, index, index) -> (index, index)
      %15 = "memref.load"(%arg2, %arg3) : (memref<6xf64>, index) -> f64
      %16 = "memref.generic_atomic_rmw"(%7, %14#1) ({
      ^bb0(%arg4: f64):
        %17 = "arith.mulf"(%arg4, %15) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
        "memref.atomic_yield"(%17) : (f64) -> ()
      }) : (memref<6xf64>, index) -> f64
      "memref.store"(%16, %arg2, %14#0) : (f64, memref<6xf64>, index) -> ()
      "affine.yield"() : () -> ()
    }) : () -> ()
    %8:3 = "affine.delinearize_index"(%3, %2, %arg0, %2) : (index, index, index, index) -> (index, index, index)
    %9 = "memref.load"(%7, %8#2) : (memref<6xf64>, index) -> f64
    %10 = "memref.load"(%7, %8#1) : (memref<6xf64>, index) -> f64
    %11 = "memref.load"(%arg2, %8#0) : (memref<6xf64>, index) -> f64
    %12 = "arith.mulf"(%9, %10) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %13 = "arith.addf"(%12, %11) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    "memref.dealloc"(%7) : (memref<6xf64>) -> ()
    "func.return"(%13) : (f64) -> ()
  }) : () -> ()
}) : () -> ()
