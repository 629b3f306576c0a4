// RUN: tapeflow-opt %s -t tapeflow-c | filecheck %s

// Arrays are flat. Extents come from the parameters that the source names, from the type, or from extra parameters.

func.func @named(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"},
                 %A: memref<?x?xf64> {tapeflow.name = "A", tapeflow.extents = ["n", "m"], tapeflow.const},
                 %y: memref<?x4xf32> {tapeflow.name = "y", tapeflow.extents = ["", "4"]}) -> f64 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = memref.load %A[%c2, %c0] : memref<?x?xf64>
  %b = memref.load %A[%c0, %c2] : memref<?x?xf64>
  %f = arith.truncf %b : f64 to f32
  memref.store %f, %y[%c2, %c2] : memref<?x4xf32>
  func.return %a : f64
}

// CHECK: double named(tf_tape *tf, int n, int m, const double *restrict A, float *restrict y)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return NAN;
// CHECK-NEXT:     TF_ARRAY(A, (ptrdiff_t)n * m);
// CHECK-NEXT:     TF_ARRAY(y, TF_ANY_COUNT);
// CHECK-EMPTY:
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     const double a = TF_LOAD(A, 2 * (ptrdiff_t)m);
// CHECK-NEXT:     const double b = TF_LOAD(A, 2);
// CHECK-NEXT:     TF_STORE(y, 10, (float)b);
// CHECK-NEXT:     return a;
// CHECK-NEXT: }

// Without names: the extents that C must know stand behind the array.
func.func @foreign(%arg0: memref<?x?x?xf64>, %arg1: memref<?xf64>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %arg0, %c0 : memref<?x?x?xf64>
  %m = memref.dim %arg0, %c1 : memref<?x?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %arg0[%i, %j, %c1] : memref<?x?x?xf64>
      memref.store %v, %arg1[%j] : memref<?xf64>
    }
  }
  func.return %m : index
}

// CHECK: ptrdiff_t foreign(tf_tape *tf, const double *restrict arg0, ptrdiff_t arg0_extent0,
// CHECK-NEXT:                   ptrdiff_t arg0_extent1, ptrdiff_t arg0_extent2, double *restrict arg1)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return 0;
// CHECK-NEXT:     TF_ARRAY(arg0, TF_ANY_COUNT);
// CHECK-NEXT:     TF_ARRAY(arg1, TF_ANY_COUNT);
// CHECK-EMPTY:
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < arg0_extent0; i++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         for (ptrdiff_t j = 0; j < arg0_extent1; j++) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             const double v = TF_LOAD(arg0, (i * arg0_extent1 + j) * arg0_extent2 + 1);
// CHECK-NEXT:             TF_STORE(arg1, j, v);
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     return arg0_extent1;
// CHECK-NEXT: }

// Small local arrays of a constant size are C arrays, others come from the arena. Sizes saturate, never overflow.
func.func @local(%n: index, %k: i64, %x: memref<8xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %small = memref.alloca() : memref<8xf64>
  %large = memref.alloc() : memref<100x100xf64>
  %size = memref.alloca(%n, %n) : memref<?x?xf32>
  %K = arith.index_cast %k : i64 to index
  %nk = arith.muli %n, %K : index
  %cube = memref.alloca(%nk) : memref<?xf64>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf64>
    memref.store %v, %small[%i] : memref<8xf64>
    memref.store %v, %large[%i, %i] : memref<100x100xf64>
    memref.store %v, %cube[%i] : memref<?xf64>
    %f = arith.truncf %v : f64 to f32
    memref.store %f, %size[%i, %c0] : memref<?x?xf32>
  }
  "memref.copy"(%small, %x) : (memref<8xf64>, memref<8xf64>) -> ()
  memref.dealloc %large : memref<100x100xf64>
  func.return
}

// CHECK: void local(tf_tape *tf, ptrdiff_t n, int64_t k, double *restrict x)
// CHECK-NEXT: {
// CHECK-NEXT:     const ptrdiff_t nk = tf_times(n, k);
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(double, 10000) + TF_BYTES(float, tf_times(n, n)) +
// CHECK-NEXT:                         TF_BYTES(double, nk)))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_ARRAY(x, 8);
// CHECK-NEXT:     double small[8];
// CHECK-NEXT:     TF_ARRAY(small, 8);
// CHECK-NEXT:     TF_LOCAL(large, double, 10000);
// CHECK-NEXT:     TF_LOCAL(size, float, tf_times(n, n));
// CHECK-NEXT:     TF_LOCAL(cube, double, nk);
// CHECK-EMPTY:
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < 8; i++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         const double v = TF_LOAD(x, i);
// CHECK-NEXT:         TF_STORE(small, i, v);
// CHECK-NEXT:         TF_STORE(large, i * 100 + i, v);
// CHECK-NEXT:         TF_STORE(cube, i, v);
// CHECK-NEXT:         TF_STORE(size, i * n, (float)v);
// CHECK-NEXT:     }
// CHECK-NEXT:     for (ptrdiff_t k_2 = 0; k_2 < 8; k_2++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         const double small_k_2 = TF_LOAD(small, k_2);
// CHECK-NEXT:         TF_STORE(x, k_2, small_k_2);
// CHECK-NEXT:     }
// CHECK-NEXT: }

// A scalar that is not promoted is a variable; views are looked through.
func.func @views(%x: memref<10x20xf64>) -> f64 {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = memref.alloca() : memref<f64>
  %row = memref.subview %x[3, 2] [1, 9] [1, 2] : memref<10x20xf64> to memref<9xf64, strided<[2], offset: 62>>
  %v = memref.load %row[%c2] : memref<9xf64, strided<[2], offset: 62>>
  memref.store %v, %t[] : memref<f64>
  %open = "memref.cast"(%x) : (memref<10x20xf64>) -> memref<?x?xf64>
  %w = memref.load %open[%c1, %c2] : memref<?x?xf64>
  %old = memref.load %t[] : memref<f64>
  %sum = arith.addf %old, %w : f64
  memref.store %sum, %t[] : memref<f64>
  %s = memref.load %t[] : memref<f64>
  func.return %s : f64
}

// CHECK: double views(tf_tape *tf, const double *restrict x)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return NAN;
// CHECK-NEXT:     TF_ARRAY(x, 200);
// CHECK-NEXT:     double t;
// CHECK-EMPTY:
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     const double v = TF_LOAD(x, 66);
// CHECK-NEXT:     t = v;
// CHECK-NEXT:     const double w = TF_LOAD(x, 22);
// CHECK-NEXT:     const double old = t;
// CHECK-NEXT:     t = old + w;
// CHECK-NEXT:     const double s = t;
// CHECK-NEXT:     return s;
// CHECK-NEXT: }

// Loads are named after what they load.
func.func @stencil(%n: i32 {tapeflow.name = "n"},
                   %u: memref<?x?xf64> {tapeflow.name = "u", tapeflow.extents = ["n", "n"]}, %i: index, %j: index) {
  %c1 = arith.constant 1 : index
  %above = arith.subi %i, %c1 : index
  %right = arith.addi %j, %c1 : index
  %0 = memref.load %u[%above, %j] : memref<?x?xf64>
  %1 = memref.load %u[%i, %right] : memref<?x?xf64>
  %2 = arith.addf %0, %1 : f64
  memref.store %2, %u[%i, %j] : memref<?x?xf64>
  func.return
}

// CHECK: void stencil(tf_tape *tf, int n, double *restrict u, ptrdiff_t i, ptrdiff_t j)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_ARRAY(u, (ptrdiff_t)n * n);
// CHECK-EMPTY:
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     const double u_im1j = TF_LOAD(u, (i - 1) * n + j);
// CHECK-NEXT:     const double u_ijp1 = TF_LOAD(u, i * n + j + 1);
// CHECK-NEXT:     TF_STORE(u, i * n + j, u_im1j + u_ijp1);
// CHECK-NEXT: }

