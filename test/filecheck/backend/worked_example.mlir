// The worked example in C: the whole of it with streams, and what differs at the stages before.
//
// RUN: tapeflow-opt %S/Inputs/worked_example.mlir -t tapeflow-c | filecheck %s --check-prefix TAPES
// RUN: tapeflow-opt %S/Inputs/worked_example.mlir -p "tape-form-regions{layout=soa}" -t tapeflow-c | filecheck %s --check-prefix SOA
// RUN: tapeflow-opt %S/Inputs/worked_example.mlir -p tape-form-regions -t tapeflow-c | filecheck %s --check-prefix AOS
// RUN: tapeflow-opt %S/Inputs/worked_example.mlir -p tape-form-regions,spad-form-layers -t tapeflow-c | filecheck %s --check-prefix LAYERS
// RUN: tapeflow-opt %S/Inputs/worked_example.mlir -p tape-form-regions,spad-form-layers,stream-form-fifos -t tapeflow-c | filecheck %s
// RUN: tapeflow-opt %S/Inputs/worked_example.mlir -p "canonicalize,cse,tape-form-regions,cse,spad-form-layers,cse,licm,stream-form-fifos,canonicalize,cse,dce" -t tapeflow-c | filecheck %s

// CHECK: #include "f_grad.h"
// CHECK-EMPTY:
// CHECK-NEXT: typedef struct { double t; } f_i;        /* each i:             8 bytes */
// CHECK-NEXT: typedef struct { bool c; } f_j;          /* each i, j:          1 byte  */
// CHECK-NEXT: typedef struct { double t, v; } f_j_if;  /* each i, j where c: 16 bytes */
// CHECK-EMPTY:
// CHECK-NEXT: double f_grad(tf_tape *tf, int n, int m, const double *restrict A, double *restrict w, double s_b,
// CHECK-NEXT:               double *restrict A_b, double *restrict w_b)
// CHECK-NEXT: {
// CHECK-NEXT:     const ptrdiff_t NM = (ptrdiff_t)n * m;
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(f_i, n) + TF_BYTES(f_j, NM) + TF_BYTES(f_j_if, NM)))
// CHECK-NEXT:         return NAN;
// CHECK-NEXT:     TF_ARRAY(A, (ptrdiff_t)n * m);
// CHECK-NEXT:     TF_ARRAY(w, TF_ANY_COUNT);
// CHECK-NEXT:     TF_ARRAY(A_b, (ptrdiff_t)n * m);
// CHECK-NEXT:     TF_ARRAY(w_b, TF_ANY_COUNT);
// CHECK-NEXT:     TF_OPEN(tape_i, f_i, 2, 8, n);
// CHECK-NEXT:     TF_OPEN(tape_j, f_j, 2, 64, NM);
// CHECK-NEXT:     TF_OPEN(tape_j_if, f_j_if, 2, 24, NM);
// CHECK-EMPTY:
// CHECK-NEXT:     /* forward sweep */
// CHECK-NEXT:     double s = 0.0;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         double t = 1.0;
// CHECK-NEXT:         for (ptrdiff_t j = 0; j < m;) {  /* layers: a tile of tape_j each */
// CHECK-NEXT:             const ptrdiff_t j_end = TF_REACH(tape_j, j, m, 1);
// CHECK-NEXT:             for (; j < j_end; j++) {
// CHECK-NEXT:                 TF_STEP_SUM();
// CHECK-NEXT:                 const double a = TF_LOAD(A, i * m + j);
// CHECK-NEXT:                 const bool c = a > 0.0;
// CHECK-NEXT:                 if (c) {
// CHECK-NEXT:                     TF_ARM();
// CHECK-NEXT:                     const double wj = TF_LOAD(w, j);
// CHECK-NEXT:                     const double v = a + wj;
// CHECK-NEXT:                     TF_WRITE(tape_j_if, (f_j_if){t, v});
// CHECK-NEXT:                     if (TF_FULL(tape_j_if)) TF_PUSH(tape_j_if);
// CHECK-NEXT:                     t *= v;
// CHECK-NEXT:                 }
// CHECK-NEXT:                 const double w_old = TF_LOAD(w, j);
// CHECK-NEXT:                 TF_STORE(w, j, w_old * 0.5);
// CHECK-NEXT:                 TF_WRITE(tape_j, (f_j){c});
// CHECK-NEXT:             }
// CHECK-NEXT:             if (TF_FULL(tape_j)) TF_PUSH(tape_j);
// CHECK-NEXT:         }
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         s += sin(t);
// CHECK-NEXT:         TF_WRITE(tape_i, (f_i){t});
// CHECK-NEXT:         if (TF_FULL(tape_i)) TF_PUSH(tape_i);
// CHECK-NEXT:     }
// CHECK-EMPTY:
// CHECK-NEXT:     /* turn-around */
// CHECK-NEXT:     TF_TURN(tape_i);
// CHECK-NEXT:     TF_TURN(tape_j);
// CHECK-NEXT:     TF_TURN(tape_j_if);
// CHECK-EMPTY:
// CHECK-NEXT:     /* reverse sweep */
// CHECK-NEXT:     for (ptrdiff_t i = n - 1; i >= 0; i--) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         if (TF_EMPTY(tape_i)) { TF_PREFETCH(tape_i); TF_POP(tape_i); }
// CHECK-NEXT:         const f_i at_i = TF_READ(tape_i);
// CHECK-NEXT:         double t_b = s_b * cos(at_i.t);
// CHECK-NEXT:         for (ptrdiff_t j = m - 1; j >= 0;) {  /* layers: a tile of tape_j each */
// CHECK-NEXT:             if (TF_EMPTY(tape_j)) { TF_PREFETCH(tape_j); TF_POP(tape_j); }
// CHECK-NEXT:             const ptrdiff_t j_end = TF_REACH_DOWN(tape_j, j, -1, 1);
// CHECK-NEXT:             for (; j > j_end; j--) {
// CHECK-NEXT:                 TF_STEP_SUM();
// CHECK-NEXT:                 const f_j at_j = TF_READ(tape_j);
// CHECK-NEXT:                 const double w_new_b = TF_LOAD(w_b, j);
// CHECK-NEXT:                 TF_STORE(w_b, j, w_new_b * 0.5);
// CHECK-NEXT:                 if (at_j.c) {
// CHECK-NEXT:                     TF_ARM();
// CHECK-NEXT:                     if (TF_EMPTY(tape_j_if)) { TF_PREFETCH(tape_j_if); TF_POP(tape_j_if); }
// CHECK-NEXT:                     const f_j_if at_j_if = TF_READ(tape_j_if);
// CHECK-NEXT:                     const double v_b = t_b * at_j_if.t;
// CHECK-NEXT:                     t_b *= at_j_if.v;
// CHECK-NEXT:                     TF_ADD(A_b, i * m + j, v_b);
// CHECK-NEXT:                     TF_ADD(w_b, j, v_b);
// CHECK-NEXT:                 }
// CHECK-NEXT:             }
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     TF_CLOSE(tape_j_if);
// CHECK-NEXT:     TF_CLOSE(tape_j);
// CHECK-NEXT:     TF_CLOSE(tape_i);
// CHECK-NEXT:     return s;
// CHECK-NEXT: }

// One-value tapes: each value where it is needed.
// TAPES:     TF_TAPE(tape_t_i, double, n);
// TAPES:     TF_TAPE(tape_c, bool, NM);
// TAPES:     TF_TAPE(tape_t, double, NM);
// TAPES:     TF_TAPE(tape_v, double, NM);
// TAPES:         for (ptrdiff_t j = 0; j < m; j++) {
// TAPES:             TF_RECORD(tape_c, c);
// TAPES:                 TF_RECORD(tape_t, t);
// TAPES:                 TF_RECORD(tape_v, v);
// TAPES:                 t *= v;
// TAPES:         TF_RECORD(tape_t_i, t);
// TAPES:         const double t = TF_REPLAY(tape_t_i);
// TAPES:         for (ptrdiff_t j = m - 1; j >= 0; j--) {
// TAPES:             const bool c = TF_REPLAY(tape_c);
// TAPES:                 const double v = TF_REPLAY(tape_v);
// TAPES:                 const double t_j = TF_REPLAY(tape_t);

// An array a field.
// SOA:     TF_TAPE(tape_i_t, double, n);
// SOA:     TF_TAPE(tape_j_c, bool, NM);
// SOA:     TF_TAPE(tape_j_if_t, double, NM);
// SOA:     TF_TAPE(tape_j_if_v, double, NM);
// SOA:                 TF_RECORD(tape_j_if_t, t);
// SOA:                 TF_RECORD(tape_j_if_v, v);
// SOA:     TF_TURN(tape_j_if_v);
// SOA:                 const double t_j = TF_REPLAY(tape_j_if_t);
// SOA:                 const double v = TF_REPLAY(tape_j_if_v);

// Records side by side, in cache.
// AOS:     TF_TAPE(tape_j_if, f_j_if, NM);
// AOS:         for (ptrdiff_t j = 0; j < m; j++) {
// AOS:                 TF_RECORD(tape_j_if, (f_j_if){t, v});
// AOS:                 t *= v;
// AOS:             TF_RECORD(tape_j, (f_j){c});
// AOS:         const f_i at_i = TF_REPLAY(tape_i);
// AOS:         for (ptrdiff_t j = m - 1; j >= 0; j--) {
// AOS:             const f_j at_j = TF_REPLAY(tape_j);
// AOS:                 const f_j_if at_j_if = TF_REPLAY(tape_j_if);

// Transfers that block.
// LAYERS:     TF_OPEN(tape_j, f_j, 2, 64, NM);
// LAYERS:                     if (TF_FULL(tape_j_if)) { TF_DMA_OUT(tape_j_if); TF_DMA_WAIT(tape_j_if); }
// LAYERS:             if (TF_FULL(tape_j)) { TF_DMA_OUT(tape_j); TF_DMA_WAIT(tape_j); }
// LAYERS:         if (TF_EMPTY(tape_i)) { TF_DMA_IN(tape_i); TF_DMA_WAIT(tape_i); }
// LAYERS:             if (TF_EMPTY(tape_j)) { TF_DMA_IN(tape_j); TF_DMA_WAIT(tape_j); }
// LAYERS:     TF_CLOSE(tape_j_if);
// LAYERS:     TF_CLOSE(tape_j);
// LAYERS:     TF_CLOSE(tape_i);
