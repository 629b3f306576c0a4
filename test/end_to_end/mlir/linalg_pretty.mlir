// Printed by mlir-opt 19 (LLVM 19): mlir-opt linalg.mlir
module {
  func.func @contractions(%arg0: memref<?x?xf64>, %arg1: memref<?x?xf64>, %arg2: memref<?xf64>, %arg3: memref<?xf64>, %arg4: memref<?xf64>, %arg5: memref<f64>) -> f64 {
    linalg.matvec ins(%arg0, %arg2 : memref<?x?xf64>, memref<?xf64>) outs(%arg3 : memref<?xf64>)
    linalg.vecmat ins(%arg3, %arg0 : memref<?xf64>, memref<?x?xf64>) outs(%arg2 : memref<?xf64>)
    linalg.matmul_transpose_a ins(%arg0, %arg0 : memref<?x?xf64>, memref<?x?xf64>) outs(%arg1 : memref<?x?xf64>)
    linalg.matvec ins(%arg1, %arg2 : memref<?x?xf64>, memref<?xf64>) outs(%arg4 : memref<?xf64>)
    linalg.dot ins(%arg2, %arg4 : memref<?xf64>, memref<?xf64>) outs(%arg5 : memref<f64>)
    %0 = memref.load %arg5[] : memref<f64>
    return %0 : f64
  }
  func.func @batches(%arg0: memref<?x?x?xf64>, %arg1: memref<?x?x?xf64>, %arg2: memref<?x?x?xf64>, %arg3: memref<?x?x?xf64>, %arg4: memref<?x?xf64>, %arg5: memref<f64>) -> f64 {
    linalg.batch_matmul ins(%arg0, %arg1 : memref<?x?x?xf64>, memref<?x?x?xf64>) outs(%arg2 : memref<?x?x?xf64>)
    linalg.batch_matmul_transpose_b ins(%arg2, %arg1 : memref<?x?x?xf64>, memref<?x?x?xf64>) outs(%arg3 : memref<?x?x?xf64>)
    linalg.batch_reduce_matmul ins(%arg3, %arg1 : memref<?x?x?xf64>, memref<?x?x?xf64>) outs(%arg4 : memref<?x?xf64>)
    linalg.reduce ins(%arg4 : memref<?x?xf64>) outs(%arg5 : memref<f64>) dimensions = [0, 1] 
      (%in: f64, %init: f64) {
        %1 = arith.mulf %in, %in : f64
        %2 = arith.addf %init, %1 : f64
        linalg.yield %2 : f64
      }
    %0 = memref.load %arg5[] : memref<f64>
    return %0 : f64
  }
  func.func @convolutions(%arg0: memref<?xf64>, %arg1: memref<?xf64>, %arg2: memref<?xf64>, %arg3: memref<?x?xf64>, %arg4: memref<?x?xf64>, %arg5: memref<?x?xf64>, %arg6: memref<f64>) -> f64 {
    linalg.conv_1d ins(%arg0, %arg1 : memref<?xf64>, memref<?xf64>) outs(%arg2 : memref<?xf64>)
    linalg.broadcast ins(%arg2 : memref<?xf64>) outs(%arg3 : memref<?x?xf64>) dimensions = [0] 
    linalg.conv_2d ins(%arg3, %arg4 : memref<?x?xf64>, memref<?x?xf64>) outs(%arg5 : memref<?x?xf64>)
    linalg.square ins(%arg5 : memref<?x?xf64>) outs(%arg5 : memref<?x?xf64>)
    linalg.reduce { arith.addf } ins(%arg5 : memref<?x?xf64>) outs(%arg6 : memref<f64>) dimensions = [0, 1] 
    %0 = memref.load %arg6[] : memref<f64>
    return %0 : f64
  }
  func.func @elements(%arg0: memref<?x?xf64>, %arg1: memref<?x?xf64>, %arg2: memref<?x?xf64>, %arg3: memref<?xf64>) -> f64 {
    linalg.div ins(%arg0, %arg1 : memref<?x?xf64>, memref<?x?xf64>) outs(%arg2 : memref<?x?xf64>)
    linalg.tanh ins(%arg2 : memref<?x?xf64>) outs(%arg2 : memref<?x?xf64>)
    linalg.powf ins(%arg0, %arg2 : memref<?x?xf64>, memref<?x?xf64>) outs(%arg2 : memref<?x?xf64>)
    linalg.map { arith.subf {fastmath = #arith.fastmath<contract>} } ins(%arg0, %arg2 : memref<?x?xf64>, memref<?x?xf64>) outs(%arg2 : memref<?x?xf64>)
    linalg.abs ins(%arg2 : memref<?x?xf64>) outs(%arg2 : memref<?x?xf64>)
    linalg.rsqrt ins(%arg0 : memref<?x?xf64>) outs(%arg0 : memref<?x?xf64>)
    linalg.erf ins(%arg0 : memref<?x?xf64>) outs(%arg0 : memref<?x?xf64>)
    linalg.negf ins(%arg1 : memref<?x?xf64>) outs(%arg1 : memref<?x?xf64>)
    linalg.reciprocal ins(%arg1 : memref<?x?xf64>) outs(%arg1 : memref<?x?xf64>)
    linalg.map ins(%arg0, %arg1, %arg2 : memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>) outs(%arg2 : memref<?x?xf64>)
      (%in: f64, %in_0: f64, %in_1: f64) {
        %1 = arith.mulf %in, %in_0 : f64
        %2 = math.sin %in_1 : f64
        %3 = arith.addf %1, %2 : f64
        linalg.yield %3 : f64
      }
    linalg.reduce { arith.mulf } ins(%arg2 : memref<?x?xf64>) outs(%arg3 : memref<?xf64>) dimensions = [0] 
    %c0 = arith.constant 0 : index
    %0 = memref.load %arg3[%c0] : memref<?xf64>
    return %0 : f64
  }
  func.func @images(%arg0: memref<?x?x?x?xf64>, %arg1: memref<?x?x?x?xf64>, %arg2: memref<?x?x?x?xf64>, %arg3: memref<?x?x?xf64>, %arg4: memref<?x?x?x?xf64>, %arg5: memref<?x?xf64>, %arg6: memref<?x?x?x?xf64>, %arg7: memref<?x?x?x?xf64>, %arg8: memref<f64>) -> f64 {
    linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%arg0, %arg1 : memref<?x?x?x?xf64>, memref<?x?x?x?xf64>) outs(%arg2 : memref<?x?x?x?xf64>)
    linalg.depthwise_conv_2d_nhwc_hwc ins(%arg2, %arg3 : memref<?x?x?x?xf64>, memref<?x?x?xf64>) outs(%arg4 : memref<?x?x?x?xf64>)
    linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%arg4, %arg5 : memref<?x?x?x?xf64>, memref<?x?xf64>) outs(%arg6 : memref<?x?x?x?xf64>)
    linalg.softmax dimension(2) ins(%arg6 : memref<?x?x?x?xf64>) outs(%arg7 : memref<?x?x?x?xf64>)
    linalg.elemwise_binary {fun = #linalg.binary_fn<mul>} ins(%arg6, %arg7 : memref<?x?x?x?xf64>, memref<?x?x?x?xf64>) outs(%arg7 : memref<?x?x?x?xf64>)
    linalg.elemwise_unary {fun = #linalg.unary_fn<log>} ins(%arg7 : memref<?x?x?x?xf64>) outs(%arg7 : memref<?x?x?x?xf64>)
    linalg.reduce { arith.addf } ins(%arg7 : memref<?x?x?x?xf64>) outs(%arg8 : memref<f64>) dimensions = [0, 1, 2, 3] 
    %0 = memref.load %arg8[] : memref<f64>
    return %0 : f64
  }
}
