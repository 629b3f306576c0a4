// RUN: tapeflow-opt %s --split-input-file -p ad-prepare --verify-diagnostics | filecheck %s

// One loop an iterator, each operand by its map; linalg.index is the loop's variable. An output that the body does not
// read is not loaded; one that it accumulates into is in a register meanwhile.
// CHECK-LABEL: func.func @weighted
// CHECK:         %[[m:.*]] = memref.dim %A, %{{.*}} : memref<?x4xf64>
// CHECK:         scf.for %i = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      %[[before:.*]] = memref.load %y[%i] : memref<?xf64>
// CHECK-NEXT:      %[[sum:.*]] = scf.for %j = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[so_far:.*]] = %[[before]])
// CHECK-NEXT:        %{{.*}} = memref.load %A[%i, %j] : memref<?x4xf64>
// CHECK-NEXT:        %{{.*}} = arith.index_cast %j : index to i64
// CHECK-NEXT:        %{{.*}} = arith.sitofp
// CHECK-NEXT:        %[[term:.*]] = arith.mulf
// CHECK-NEXT:        %[[next:.*]] = arith.addf %[[term]], %[[so_far]]
// CHECK-NEXT:        scf.yield %[[next]]
// CHECK:           memref.store %[[sum]], %y[%i] : memref<?xf64>
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
builtin.module {
  func.func @weighted(%A : memref<?x4xf64>, %y : memref<?xf64>) {
    linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%A : memref<?x4xf64>) outs(%y : memref<?xf64>) {
    ^bb0(%in: f64, %out: f64):
      %0 = linalg.index 1 : index
      %1 = arith.index_cast %0 : index to i64
      %2 = arith.sitofp %1 : i64 to f64
      %3 = arith.mulf %in, %2 : f64
      %4 = arith.addf %3, %out : f64
      linalg.yield %4 : f64
    }
    func.return
  }
}

// -----

// CHECK-LABEL: func.func @product
// CHECK:         scf.for %i
// CHECK-NEXT:      scf.for %j
// CHECK-NEXT:        memref.store %z, %C[%i, %j] : memref<?x?xf64>
// CHECK:         scf.for %[[i:.*]] = %{{.*}} to
// CHECK-NEXT:      scf.for %[[j:.*]] = %{{.*}} to
// CHECK:               memref.load %C[%[[i]], %[[j]]]
// CHECK:             scf.for %[[k:.*]] = %{{.*}} to
// CHECK-NEXT:          memref.load %A[%[[i]], %[[k]]]
// CHECK-NEXT:          memref.load %B[%[[k]], %[[j]]]
// CHECK-NEXT:          arith.mulf
// CHECK-NEXT:          arith.addf
// CHECK:               memref.store %{{.*}}, %C[%[[i]], %[[j]]]
builtin.module {
  func.func @product(%A : memref<?x?xf64>, %B : memref<?x?xf64>, %C : memref<?x?xf64>, %z : f64) {
    linalg.fill ins(%z : f64) outs(%C : memref<?x?xf64>)
    linalg.matmul ins(%A, %B : memref<?x?xf64>, memref<?x?xf64>) outs(%C : memref<?x?xf64>)
    func.return
  }
}

// -----

// A pooled window moves by its strides and dilations; f32 is cast to the type of the output.
// CHECK-LABEL: func.func @pooled
// CHECK:         scf.for %[[w:.*]] = %{{.*}} to
// CHECK:           scf.for %[[W:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK:             %[[by2:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK:             arith.addi
// CHECK:             memref.load %x[
// CHECK-NEXT:        arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT:        arith.addf
builtin.module {
  func.func @pooled(%x : memref<2x9x3xf32>, %window : memref<2xf32>, %y : memref<2x4x3xf64>) {
    linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
      ins(%x, %window : memref<2x9x3xf32>, memref<2xf32>) outs(%y : memref<2x4x3xf64>)
    func.return
  }
}

// -----

// Along each line of softmax: the largest element, the exponentials and their sum, the quotients.
// CHECK-LABEL: func.func @normalized
// CHECK:         scf.for %[[i:.*]] = %{{.*}} to
// CHECK:           %[[largest:.*]] = scf.for %[[j:.*]] = %{{.*}} to
// CHECK-NEXT:        memref.load %x[%[[i]], %[[j]]] : memref<?x4xf64>
// CHECK-NEXT:        arith.maximumf
// CHECK:           %[[sum:.*]] = scf.for %[[k:.*]] = %{{.*}} to
// CHECK-NEXT:        memref.load %x[%[[i]], %[[k]]] : memref<?x4xf64>
// CHECK-NEXT:        arith.subf %{{.*}}, %[[largest]] : f64
// CHECK-NEXT:        math.exp
// CHECK-NEXT:        memref.store %{{.*}}, %y[%[[i]], %[[k]]] : memref<?x4xf64>
// CHECK-NEXT:        arith.addf
// CHECK:           scf.for %[[l:.*]] = %{{.*}} to
// CHECK-NEXT:        memref.load %y[%[[i]], %[[l]]] : memref<?x4xf64>
// CHECK-NEXT:        arith.divf %{{.*}}, %[[sum]] : f64
// CHECK-NEXT:        memref.store %{{.*}}, %y[%[[i]], %[[l]]] : memref<?x4xf64>
builtin.module {
  func.func @normalized(%x : memref<?x4xf64>, %y : memref<?x4xf64>) {
    linalg.softmax dimension(1) ins(%x : memref<?x4xf64>) outs(%y : memref<?x4xf64>)
    func.return
  }
}

// -----

// A copy is a nest of loops too.
// CHECK-LABEL: func.func @copied
// CHECK:         scf.for %i
// CHECK-NEXT:      scf.for %j
// CHECK-NEXT:        %[[v:.*]] = memref.load %a[%i, %j] : memref<4x?xf64>
// CHECK-NEXT:        memref.store %[[v]], %b[%i, %j] : memref<4x?xf64>
builtin.module {
  func.func @copied(%a : memref<4x?xf64>, %b : memref<4x?xf64>) {
    "memref.copy"(%a, %b) : (memref<4x?xf64>, memref<4x?xf64>) -> ()
    func.return
  }
}

// -----

// CHECK: 'linalg.generic' on tensors cannot be differentiated
// CHECK: help: bufferize it first, with mlir-opt --one-shot-bufferize=bufferize-function-boundaries
#id = affine_map<(d0) -> (d0)>
builtin.module {
  func.func @tensors(%a : tensor<4xf64>, %b : tensor<4xf64>) {
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4xf64>) outs(%b : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      linalg.yield %in : f64
    } -> tensor<4xf64>
    func.return
  }
}
