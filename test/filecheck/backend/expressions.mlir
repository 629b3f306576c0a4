// RUN: tapeflow-opt %s -t tapeflow-c | filecheck %s

// Pure operations: nested where they are used once, with the parentheses and conversions that C needs and no more.

func.func @floats(%a: f64, %b: f64, %c: f64) -> f64 {
  %0 = arith.addf %a, %b : f64
  %1 = arith.mulf %0, %c : f64
  %2 = arith.subf %a, %1 : f64
  %3 = arith.subf %b, %2 : f64
  %4 = arith.negf %3 : f64
  %5 = arith.divf %4, %c : f64
  func.return %5 : f64
}

// CHECK: double floats(tf_tape *tf, double a, double b, double c)
// CHECK:     TF_STEP();
// CHECK-NEXT:     return -(b - (a - (a + b) * c)) / c;
// CHECK-NEXT: }

// Used twice: a name of its own; too long for one statement: cut, where the source has a name first.
func.func @names(%a: f64, %b: f64) -> f64 {
  %v = arith.addf %a, %b : f64
  %w = arith.mulf %v, %v : f64
  %0 = arith.addf %w, %a : f64
  %1 = arith.mulf %0, %b : f64
  %inner = arith.addf %1, %a : f64 loc("inner"("f.c":3:4))
  %2 = arith.mulf %inner, %b : f64
  %3 = arith.addf %2, %a : f64
  %4 = arith.mulf %3, %b : f64
  %5 = arith.addf %4, %a : f64
  func.return %5 : f64
}

// CHECK: double names(tf_tape *tf, double a, double b)
// CHECK:     TF_STEP();
// CHECK-NEXT:     const double v = a + b;
// CHECK-NEXT:     const double sum = ((v * v + a) * b + a) * b + a;
// CHECK-NEXT:     return sum * b + a;
// CHECK-NEXT: }

func.func @calls(%a: f64, %b: f64, %f: f32) -> (f64, f32) {
  %0 = math.sin %a : f64
  %1 = math.powf %0, %b : f64
  %2 = math.absf %1 : f64
  %3 = arith.minnumf %2, %b : f64
  %4 = arith.maximumf %3, %a : f64
  %5 = math.sqrt %f : f32
  %6 = math.rsqrt %5 : f32
  %7 = math.atan2 %6, %f : f32
  func.return %4, %7 : f64, f32
}

// CHECK: double calls(tf_tape *tf, double a, double b, float f, float *restrict result_1)
// CHECK:     TF_STEP();
// CHECK-NEXT:     const double most = tf_maximum(fmin(fabs(pow(sin(a), b)), b), a);
// CHECK-NEXT:     *result_1 = atan2f(1.0f / sqrtf(sqrtf(f)), f);
// CHECK-NEXT:     return most;
// CHECK-NEXT: }

// Conversions that C makes by itself are left to it.
func.func @conversions(%n: i32, %m: i32, %k: i64, %x: f64, %f: f32, %c: i1) -> (f64, f64, f64, i32, f64) {
  %0 = arith.sitofp %n : i32 to f64
  %1 = arith.mulf %0, %x : f64
  %2 = arith.sitofp %m : i32 to f64
  %3 = arith.divf %0, %2 : f64
  %4 = arith.extf %f : f32 to f64
  %5 = arith.addf %4, %x : f64
  %6 = arith.trunci %k : i64 to i32
  %7 = arith.addi %6, %n : i32
  %8 = arith.uitofp %c : i1 to f64
  func.return %1, %3, %5, %7, %8 : f64, f64, f64, i32, f64
}

// CHECK: double conversions(tf_tape *tf, int n, int m, int64_t k, double x, float f, bool c,
// CHECK-NEXT:                    double *restrict result_1, double *restrict result_2, int *restrict result_3,
// CHECK-NEXT:                    double *restrict result_4)
// CHECK:     TF_STEP();
// CHECK-NEXT:     *result_1 = (double)n / m;
// CHECK-NEXT:     *result_2 = f + x;
// CHECK-NEXT:     *result_3 = (int)k + n;
// CHECK-NEXT:     *result_4 = c;
// CHECK-NEXT:     return n * x;
// CHECK-NEXT: }

// Two ints multiplied as indices; an index and an int.
func.func @indices(%n: i32, %m: i32, %x: memref<?xf64>) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %N = arith.index_cast %n : i32 to index
  %M = arith.index_cast %m : i32 to index
  scf.for %i = %c0 to %N step %c1 {
    %row = arith.muli %i, %M : index
    %next = arith.addi %row, %c1 : index
    memref.store %zero, %x[%next] : memref<?xf64>
    %whole = arith.muli %N, %M : index
    memref.store %zero, %x[%whole] : memref<?xf64>
  }
  func.return
}

// CHECK: void indices(tf_tape *tf, int n, int m, double *restrict x)
// CHECK:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         TF_STORE(x, i * m + 1, 0.0);
// CHECK-NEXT:         TF_STORE(x, (ptrdiff_t)n * m, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT: }

func.func @comparisons(%a: f64, %b: f64, %n: i32, %m: i32) -> (i1, i1, i1, i1, i1, i1, i1, i1) {
  %true = arith.constant true
  %0 = arith.cmpf ule, %a, %b : f64
  %1 = arith.cmpf one, %a, %b : f64
  %2 = arith.cmpf une, %a, %a : f64
  %3 = arith.cmpf ord, %a, %b : f64
  %4 = arith.cmpi ult, %n, %m : i32
  %5 = arith.cmpi sge, %n, %m : i32
  %6 = arith.andi %0, %5 : i1
  %7 = arith.xori %1, %true : i1
  %8 = arith.ori %6, %7 : i1
  %9 = arith.cmpf oeq, %a, %b : f64
  %10 = arith.cmpf olt, %a, %b : f64
  %11 = arith.xori %9, %10 : i1
  %12 = arith.cmpi eq, %11, %2 : i1
  %13 = arith.select %12, %3, %4 : i1
  func.return %8, %2, %3, %4, %11, %13, %true, %12 : i1, i1, i1, i1, i1, i1, i1, i1
}

// CHECK: bool comparisons(tf_tape *tf, double a, double b, int n, int m, bool *restrict result_1,
// CHECK-NEXT:                  bool *restrict result_2, bool *restrict result_3, bool *restrict result_4,
// CHECK-NEXT:                  bool *restrict result_5, bool *restrict result_6, bool *restrict result_7)
// CHECK:     TF_STEP();
// CHECK-NEXT:     const bool condition = a != a;
// CHECK-NEXT:     const bool condition_2 = !isunordered(a, b);
// CHECK-NEXT:     const bool condition_3 = (uint32_t)n < (uint32_t)m;
// CHECK-NEXT:     const bool condition_4 = (!(a > b) && n >= m) || !islessgreater(a, b);
// CHECK-NEXT:     const bool condition_5 = (a == b) != (a < b);
// CHECK-NEXT:     const bool condition_6 = condition_5 == condition;
// CHECK-NEXT:     *result_1 = condition;
// CHECK-NEXT:     *result_2 = condition_2;
// CHECK-NEXT:     *result_3 = condition_3;
// CHECK-NEXT:     *result_4 = condition_5;
// CHECK-NEXT:     *result_5 = condition_6 ? condition_2 : condition_3;
// CHECK-NEXT:     *result_6 = true;
// CHECK-NEXT:     *result_7 = condition_6;
// CHECK-NEXT:     return condition_4;
// CHECK-NEXT: }

func.func @integers(%a: i32, %b: i32, %k: i64, %i: index) -> (i32, i32, i32, i32, i32, i64, index, i32) {
  %c7 = arith.constant 7 : i32
  %0 = arith.divsi %a, %b : i32
  %1 = arith.remui %a, %c7 : i32
  %2 = arith.floordivsi %a, %b : i32
  %3 = arith.minsi %a, %b : i32
  %4 = arith.shli %a, %c7 : i32
  %5 = arith.xori %4, %b : i32
  %big = arith.constant 1099511627776 : i64
  %6 = arith.addi %k, %big : i64
  %c3 = arith.constant 3 : index
  %7 = arith.ceildivsi %i, %c3 : index
  %least = arith.constant -2147483648 : i32
  %8 = arith.maxsi %a, %least : i32
  func.return %0, %1, %2, %3, %5, %6, %7, %8 : i32, i32, i32, i32, i32, i64, index, i32
}

// CHECK: int integers(tf_tape *tf, int a, int b, int64_t k, ptrdiff_t i, int *restrict result_1,
// CHECK-NEXT:              int *restrict result_2, int *restrict result_3, int *restrict result_4,
// CHECK-NEXT:              int64_t *restrict result_5, ptrdiff_t *restrict result_6, int *restrict result_7)
// CHECK:     TF_STEP();
// CHECK-NEXT:     const int bits = (int)((uint32_t)a << 7) ^ b;
// CHECK-NEXT:     const int most = (int)tf_max(a, INT32_MIN);
// CHECK-NEXT:     *result_1 = (int)((uint32_t)a % 7);
// CHECK-NEXT:     *result_2 = (int)tf_floordiv(a, b);
// CHECK-NEXT:     *result_3 = (int)tf_min(a, b);
// CHECK-NEXT:     *result_4 = bits;
// CHECK-NEXT:     *result_5 = k + INT64_C(1099511627776);
// CHECK-NEXT:     *result_6 = tf_ceildiv(i, 3);
// CHECK-NEXT:     *result_7 = most;
// CHECK-NEXT:     return a / b;
// CHECK-NEXT: }

// Literals read back as what they are.
func.func @literals(%a: f64) -> (f64, f64, f64, f64, f32, f64) {
  %0 = arith.constant 0.1 : f64
  %1 = arith.constant 1.0e300 : f64
  %inf = arith.constant 0x7FF0000000000000 : f64
  %nan = arith.constant 0x7FF8000000000000 : f64
  %f = arith.constant 0.1 : f32
  %minus = arith.constant -1.5 : f64
  %2 = arith.subf %a, %minus : f64
  func.return %0, %1, %inf, %nan, %f, %2 : f64, f64, f64, f64, f32, f64
}

// CHECK: double literals(tf_tape *tf, double a, double *restrict result_1, double *restrict result_2,
// CHECK-NEXT:                 double *restrict result_3, float *restrict result_4, double *restrict result_5)
// CHECK:     TF_STEP();
// CHECK-NEXT:     *result_1 = 1e+300;
// CHECK-NEXT:     *result_2 = INFINITY;
// CHECK-NEXT:     *result_3 = NAN;
// CHECK-NEXT:     *result_4 = 0.1f;
// CHECK-NEXT:     *result_5 = a - (-1.5);
// CHECK-NEXT:     return 0.1;
// CHECK-NEXT: }
