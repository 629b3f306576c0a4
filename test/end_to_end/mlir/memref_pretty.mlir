// Printed by mlir-opt 19 (LLVM 19): mlir-opt memref.mlir
module {
  memref.global "private" constant @table : memref<2x3xf64> = dense<[[1.000000e+00, 2.000000e+00, 5.000000e-01], [-1.000000e+00, 2.500000e-01, 4.000000e+00]]>
  func.func @f(%arg0: index, %arg1: memref<4x6xf64>, %arg2: memref<?x?xf64>, %arg3: memref<2x3x4xf64>, %arg4: memref<f64>, %arg5: memref<2x1x2x1x2xf64>) -> f64 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %cst = arith.constant 0.000000e+00 : f64
    %transpose = memref.transpose %arg2 (d0, d1) -> (d1, d0) : memref<?x?xf64> to memref<?x?xf64, strided<[1, ?]>>
    %collapse_shape = memref.collapse_shape %arg1 [[0, 1]] : memref<4x6xf64> into memref<24xf64>
    %expand_shape = memref.expand_shape %collapse_shape [[0, 1]] output_shape [8, 3] : memref<24xf64> into memref<8x3xf64>
    %reinterpret_cast = memref.reinterpret_cast %arg1 to offset: [2], sizes: [3, 2], strides: [6, 2] : memref<4x6xf64> to memref<3x2xf64, strided<[6, 2], offset: 2>>
    %collapse_shape_0 = memref.collapse_shape %arg5 [[0, 1], [2, 3, 4]] : memref<2x1x2x1x2xf64> into memref<2x4xf64>
    %subview = memref.subview %expand_shape[1, 0] [4, 3] [2, 1] : memref<8x3xf64> to memref<4x3xf64, strided<[6, 1], offset: 3>>
    %subview_1 = memref.subview %arg3[1, 0, 1] [1, 3, 1] [1, 1, 1] : memref<2x3x4xf64> to memref<1x3xf64, strided<[12, 4], offset: 13>>
    %0 = memref.rank %arg3 : memref<2x3x4xf64>
    %dim = memref.dim %transpose, %c1 : memref<?x?xf64, strided<[1, ?]>>
    %dim_2 = memref.dim %transpose, %c0 : memref<?x?xf64, strided<[1, ?]>>
    %dim_3 = memref.dim %subview, %arg0 : memref<4x3xf64, strided<[6, 1], offset: 3>>
    %alloc = memref.alloc(%dim_2, %dim) : memref<?x?xf64>
    %transpose_4 = memref.transpose %alloc (d0, d1) -> (d1, d0) : memref<?x?xf64> to memref<?x?xf64, strided<[1, ?]>>
    memref.copy %arg2, %transpose_4 : memref<?x?xf64> to memref<?x?xf64, strided<[1, ?]>>
    %collapse_shape_5 = memref.collapse_shape %alloc [[0, 1]] : memref<?x?xf64> into memref<?xf64>
    %dim_6 = memref.dim %collapse_shape_5, %c0 : memref<?xf64>
    memref.prefetch %arg2[%c0, %c0], read, locality<3>, data : memref<?x?xf64>
    memref.assume_alignment %arg1, 8 : memref<4x6xf64>
    %memspacecast = memref.memory_space_cast %arg1 : memref<4x6xf64> to memref<4x6xf64, 1>
    %1 = memref.get_global @table : memref<2x3xf64>
    %cast = memref.cast %1 : memref<2x3xf64> to memref<?x?xf64>
    %transpose_7 = memref.transpose %cast (d0, d1) -> (d1, d0) : memref<?x?xf64> to memref<?x?xf64, strided<[1, ?]>>
    %2 = scf.for %arg6 = %c0 to %dim_6 step %c1 iter_args(%arg7 = %cst) -> (f64) {
      %16 = memref.load %collapse_shape_5[%arg6] : memref<?xf64>
      %17 = arith.remsi %arg6, %c3 : index
      %18 = memref.load %expand_shape[%17, %17] : memref<8x3xf64>
      %19 = arith.mulf %16, %18 : f64
      %20 = memref.load %transpose_7[%17, %c1] : memref<?x?xf64, strided<[1, ?]>>
      %21 = arith.mulf %19, %20 : f64
      %22 = math.sin %21 : f64
      %23 = arith.addf %arg7, %22 : f64
      scf.yield %23 : f64
    }
    %3 = memref.alloca_scope  -> (f64) {
      %alloca = memref.alloca() : memref<2xf64>
      %16 = memref.load %reinterpret_cast[%c2, %c1] : memref<3x2xf64, strided<[6, 2], offset: 2>>
      memref.store %16, %alloca[%c1] : memref<2xf64>
      %17 = memref.load %alloca[%c1] : memref<2xf64>
      %18 = memref.load %subview_1[%c0, %c2] : memref<1x3xf64, strided<[12, 4], offset: 13>>
      %19 = arith.mulf %17, %18 : f64
      memref.store %19, %subview[%c3, %c1] : memref<4x3xf64, strided<[6, 1], offset: 3>>
      memref.alloca_scope.return %19 : f64
    }
    %4 = memref.atomic_rmw addf %3, %arg2[%c0, %c1] : (f64, memref<?x?xf64>) -> f64
    %5 = memref.atomic_rmw mulf %4, %transpose[%c0, %c0] : (f64, memref<?x?xf64, strided<[1, ?]>>) -> f64
    %6 = memref.atomic_rmw assign %5, %arg4[] : (f64, memref<f64>) -> f64
    %7 = memref.load %collapse_shape_0[%c1, %c2] : memref<2x4xf64>
    %8 = memref.load %memspacecast[%c3, %c3] : memref<4x6xf64, 1>
    memref.dealloc %alloc : memref<?x?xf64>
    %9 = arith.addi %0, %dim_3 : index
    %10 = arith.index_cast %9 : index to i32
    %11 = arith.sitofp %10 : i32 to f64
    %12 = arith.addf %2, %6 : f64
    %13 = arith.mulf %12, %11 : f64
    %14 = arith.mulf %7, %8 : f64
    %15 = arith.addf %13, %14 : f64
    return %15 : f64
  }
  func.func @grown(%arg0: index, %arg1: memref<?xf64>, %arg2: memref<6xf64>) -> f64 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c11 = arith.constant 11 : index
    %cst = arith.constant 2.000000e+00 : f64
    affine.prefetch %arg1[symbol(%arg0) - 1], read, locality<2>, data : memref<?xf64>
    %alloc = memref.alloc(%arg0) : memref<?xf64>
    memref.copy %arg1, %alloc : memref<?xf64> to memref<?xf64>
    %0 = memref.realloc %alloc(%c4) : memref<?xf64> to memref<?xf64>
    memref.store %cst, %0[%arg0] : memref<?xf64>
    %1 = memref.realloc %0 {alignment = 64 : i64} : memref<?xf64> to memref<6xf64>
    affine.for %arg3 = 0 to 6 {
      %8:2 = affine.delinearize_index %arg3 into (%c4, %c4) : index, index
      %9 = memref.load %arg2[%arg3] : memref<6xf64>
      %10 = memref.generic_atomic_rmw %1[%8#1] : memref<6xf64> {
      ^bb0(%arg4: f64):
        %11 = arith.mulf %arg4, %9 : f64
        memref.atomic_yield %11 : f64
      }
      memref.store %10, %arg2[%8#0] : memref<6xf64>
    }
    %2:3 = affine.delinearize_index %c11 into (%c4, %arg0, %c4) : index, index, index
    %3 = memref.load %1[%2#2] : memref<6xf64>
    %4 = memref.load %1[%2#1] : memref<6xf64>
    %5 = memref.load %arg2[%2#0] : memref<6xf64>
    %6 = arith.mulf %3, %4 : f64
    %7 = arith.addf %6, %5 : f64
    memref.dealloc %1 : memref<6xf64>
    return %7 : f64
  }
}
