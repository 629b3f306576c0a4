// Printed by mlir-opt 19 (LLVM 19): mlir-opt --mlir-print-op-generic memref.mlir
#map = affine_map<(d0, d1) -> (d1, d0)>
"builtin.module"() ({
  "memref.global"() <{constant, initial_value = dense<[[1.000000e+00, 2.000000e+00, 5.000000e-01], [-1.000000e+00, 2.500000e-01, 4.000000e+00]]> : tensor<2x3xf64>, sym_name = "table", sym_visibility = "private", type = memref<2x3xf64>}> : () -> ()
  "func.func"() <{function_type = (index, memref<4x6xf64>, memref<?x?xf64>, memref<2x3x4xf64>, memref<f64>, memref<2x1x2x1x2xf64>) -> f64, sym_name = "f"}> ({
  ^bb0(%arg0: index, %arg1: memref<4x6xf64>, %arg2: memref<?x?xf64>, %arg3: memref<2x3x4xf64>, %arg4: memref<f64>, %arg5: memref<2x1x2x1x2xf64>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %2 = "arith.constant"() <{value = 2 : index}> : () -> index
    %3 = "arith.constant"() <{value = 3 : index}> : () -> index
    %4 = "arith.constant"() <{value = 8 : index}> : () -> index
    %5 = "arith.constant"() <{value = 0.000000e+00 : f64}> : () -> f64
    %6 = "memref.transpose"(%arg2) <{permutation = #map}> : (memref<?x?xf64>) -> memref<?x?xf64, strided<[1, ?]>>
    %7 = "memref.collapse_shape"(%arg1) <{reassociation = [[0, 1]]}> : (memref<4x6xf64>) -> memref<24xf64>
    %8 = "memref.expand_shape"(%7) <{reassociation = [[0, 1]], static_output_shape = array<i64: 8, 3>}> : (memref<24xf64>) -> memref<8x3xf64>
    %9 = "memref.reinterpret_cast"(%arg1) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 2>, static_sizes = array<i64: 3, 2>, static_strides = array<i64: 6, 2>}> : (memref<4x6xf64>) -> memref<3x2xf64, strided<[6, 2], offset: 2>>
    %10 = "memref.collapse_shape"(%arg5) <{reassociation = [[0, 1], [2, 3, 4]]}> : (memref<2x1x2x1x2xf64>) -> memref<2x4xf64>
    %11 = "memref.subview"(%8) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 4, 3>, static_strides = array<i64: 2, 1>}> : (memref<8x3xf64>) -> memref<4x3xf64, strided<[6, 1], offset: 3>>
    %12 = "memref.subview"(%arg3) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 0, 1>, static_sizes = array<i64: 1, 3, 1>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x3x4xf64>) -> memref<1x3xf64, strided<[12, 4], offset: 13>>
    %13 = "memref.rank"(%arg3) : (memref<2x3x4xf64>) -> index
    %14 = "memref.dim"(%6, %1) : (memref<?x?xf64, strided<[1, ?]>>, index) -> index
    %15 = "memref.dim"(%6, %0) : (memref<?x?xf64, strided<[1, ?]>>, index) -> index
    %16 = "memref.dim"(%11, %arg0) : (memref<4x3xf64, strided<[6, 1], offset: 3>>, index) -> index
    %17 = "memref.alloc"(%15, %14) <{operandSegmentSizes = array<i32: 2, 0>}> : (index, index) -> memref<?x?xf64>
    %18 = "memref.transpose"(%17) <{permutation = #map}> : (memref<?x?xf64>) -> memref<?x?xf64, strided<[1, ?]>>
    "memref.copy"(%arg2, %18) : (memref<?x?xf64>, memref<?x?xf64, strided<[1, ?]>>) -> ()
    %19 = "memref.collapse_shape"(%17) <{reassociation = [[0, 1]]}> : (memref<?x?xf64>) -> memref<?xf64>
    %20 = "memref.dim"(%19, %0) : (memref<?xf64>, index) -> index
    "memref.prefetch"(%arg2, %0, %0) <{isDataCache = true, isWrite = false, localityHint = 3 : i32}> : (memref<?x?xf64>, index, index) -> ()
    "memref.assume_alignment"(%arg1) <{alignment = 8 : i32}> : (memref<4x6xf64>) -> ()
    %21 = "memref.memory_space_cast"(%arg1) : (memref<4x6xf64>) -> memref<4x6xf64, 1>
    %22 = "memref.get_global"() <{name = @table}> : () -> memref<2x3xf64>
    %23 = "memref.cast"(%22) : (memref<2x3xf64>) -> memref<?x?xf64>
    %24 = "memref.transpose"(%23) <{permutation = #map}> : (memref<?x?xf64>) -> memref<?x?xf64, strided<[1, ?]>>
    %25 = "scf.for"(%0, %20, %1, %5) ({
    ^bb0(%arg6: index, %arg7: f64):
      %44 = "memref.load"(%19, %arg6) : (memref<?xf64>, index) -> f64
      %45 = "arith.remsi"(%arg6, %3) : (index, index) -> index
      %46 = "memref.load"(%8, %45, %45) : (memref<8x3xf64>, index, index) -> f64
      %47 = "arith.mulf"(%44, %46) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %48 = "memref.load"(%24, %45, %1) : (memref<?x?xf64, strided<[1, ?]>>, index, index) -> f64
      %49 = "arith.mulf"(%47, %48) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      %50 = "math.sin"(%49) <{fastmath = #arith.fastmath<none>}> : (f64) -> f64
      %51 = "arith.addf"(%arg7, %50) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "scf.yield"(%51) : (f64) -> ()
    }) : (index, index, index, f64) -> f64
    %26 = "memref.alloca_scope"() ({
      %39 = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<2xf64>
      %40 = "memref.load"(%9, %2, %1) : (memref<3x2xf64, strided<[6, 2], offset: 2>>, index, index) -> f64
      "memref.store"(%40, %39, %1) : (f64, memref<2xf64>, index) -> ()
      %41 = "memref.load"(%39, %1) : (memref<2xf64>, index) -> f64
      %42 = "memref.load"(%12, %0, %2) : (memref<1x3xf64, strided<[12, 4], offset: 13>>, index, index) -> f64
      %43 = "arith.mulf"(%41, %42) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
      "memref.store"(%43, %11, %3, %1) : (f64, memref<4x3xf64, strided<[6, 1], offset: 3>>, index, index) -> ()
      "memref.alloca_scope.return"(%43) : (f64) -> ()
    }) : () -> f64
    %27 = "memref.atomic_rmw"(%26, %arg2, %0, %1) <{kind = 0 : i64}> : (f64, memref<?x?xf64>, index, index) -> f64
    %28 = "memref.atomic_rmw"(%27, %6, %0, %0) <{kind = 9 : i64}> : (f64, memref<?x?xf64, strided<[1, ?]>>, index, index) -> f64
    %29 = "memref.atomic_rmw"(%28, %arg4) <{kind = 2 : i64}> : (f64, memref<f64>) -> f64
    %30 = "memref.load"(%10, %1, %2) : (memref<2x4xf64>, index, index) -> f64
    %31 = "memref.load"(%21, %3, %3) : (memref<4x6xf64, 1>, index, index) -> f64
    "memref.dealloc"(%17) : (memref<?x?xf64>) -> ()
    %32 = "arith.addi"(%13, %16) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %33 = "arith.index_cast"(%32) : (index) -> i32
    %34 = "arith.sitofp"(%33) : (i32) -> f64
    %35 = "arith.addf"(%25, %29) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %36 = "arith.mulf"(%35, %34) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %37 = "arith.mulf"(%30, %31) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    %38 = "arith.addf"(%36, %37) <{fastmath = #arith.fastmath<none>}> : (f64, f64) -> f64
    "func.return"(%38) : (f64) -> ()
  }) : () -> ()
}) : () -> ()

