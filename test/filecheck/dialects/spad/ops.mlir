// Every operation and type of the spad dialect, as text, in the generic form, and back.
// RUN: tapeflow-opt %s | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: tapeflow-opt %s --print-op-generic | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-debuginfo | tapeflow-opt --print-debuginfo | filecheck %s --check-prefix LOCATION

!tape_j = !tape.region<{t: f64, c: i1}, aos>
!spad_j = !spad.buffer<2 x 64 x {t: f64, c: i1}>

func.func @records(%t: f64, %c: i1) -> (f64, i1, i1, i1) {
  %spad_j = spad.alloc : !spad_j loc("spad_j"("f.c":4:5))
  spad.write %t, %c onto %spad_j : !spad_j
  %full = spad.full %spad_j : !spad_j
  %empty = spad.empty %spad_j : !spad_j
  %t_1, %c_1 = spad.read %spad_j : !spad_j loc(fused["t"("f.c":5:3), "c"("f.c":6:3)])
  func.return %t_1, %c_1, %full, %empty : f64, i1, i1, i1
}

// The direction of a transfer is the order of its sides.
func.func @transfers(%spad_j: !spad_j, %tape_j: !tape_j) {
  spad.dma_start %spad_j to %tape_j : !spad_j to !tape_j
  spad.dma_wait %spad_j : !spad_j
  spad.dma_start %tape_j to %spad_j : !tape_j to !spad_j
  spad.dma_wait %spad_j : !spad_j
  func.return
}

// Layers: with and without a step, with and without values carried, cut when full and when empty.
func.func @layers(%n: index, %two: index, %c: i1, %x: f64, %spad_j: !spad_j, %tape_j: !tape_j) -> f64 {
  spad.layer %i = %n to %n in %spad_j : !spad_j {
    spad.write %x, %c onto %spad_j : !spad_j
  } when full {
    spad.dma_start %spad_j to %tape_j : !spad_j to !tape_j
  }
  %last, %end = spad.layer %i = %n to %n step %two in %spad_j : !spad_j iter_args(%x_i = %x, %k = %n) -> (f64, index) {
    %t, %d = spad.read %spad_j : !spad_j
    spad.yield %t, %i : f64, index
  } when empty {
  } {note = "reverse"} loc("f.c":8:3)
  func.return %last : f64
}

func.func private @callee(!spad.buffer<1 x 1 x {k: index}>) -> ()

// CHECK:       %spad_j = spad.alloc : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  spad.write %t, %c onto %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  %full = spad.full %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  %empty = spad.empty %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  %t_1, %c_1 = spad.read %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK:       spad.dma_start %spad_j to %tape_j : !spad.buffer<2 x 64 x {t: f64, c: i1}> to !tape.region<{t: f64, c: i1}, aos>
// CHECK-NEXT:  spad.dma_wait %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  spad.dma_start %tape_j to %spad_j : !tape.region<{t: f64, c: i1}, aos> to !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK:       spad.layer %i = %n to %n in %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}> {
// CHECK-NEXT:    spad.write %x, %c onto %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  } when full {
// CHECK-NEXT:    spad.dma_start %spad_j to %tape_j
// CHECK-NEXT:  }
// CHECK-NEXT:  %last, %end = spad.layer %i_1 = %n to %n step %two in %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}> iter_args(%x_i = %x, %k = %n) -> (f64, index) {
// CHECK-NEXT:    %t, %d = spad.read %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:    spad.yield %t, %i_1 : f64, index
// CHECK-NEXT:  } when empty {
// CHECK-NEXT:  } {note = "reverse"}
// CHECK:       @callee(!spad.buffer<1 x 1 x {k: index}>) -> ()

// GENERIC:      %spad_j = "spad.alloc"() : () -> !spad.buffer<2 x 64 x {t: f64, c: i1}>
// GENERIC-NEXT: "spad.write"(%t, %c, %spad_j) : (f64, i1, !spad.buffer<2 x 64 x {t: f64, c: i1}>) -> ()
// GENERIC-NEXT: %full = "spad.full"(%spad_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>) -> i1
// GENERIC-NEXT: %empty = "spad.empty"(%spad_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>) -> i1
// GENERIC-NEXT: %t_1, %c_1 = "spad.read"(%spad_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>) -> (f64, i1)
// GENERIC:      "spad.dma_start"(%spad_j, %tape_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>, !tape.region<{t: f64, c: i1}, aos>) -> ()
// GENERIC-NEXT: "spad.dma_wait"(%spad_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>) -> ()
// GENERIC:      "spad.layer"(%n, %n, %spad_j) <{boundary = #spad<boundary full>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}> ({
// GENERIC-NEXT: ^bb0(%i: index):
// GENERIC-NEXT:   "spad.write"(%x, %c, %spad_j)
// GENERIC-NEXT:   "spad.yield"() : () -> ()
// GENERIC-NEXT: }, {
// GENERIC-NEXT:   "spad.dma_start"(%spad_j, %tape_j)
// GENERIC-NEXT:   "spad.yield"() : () -> ()
// GENERIC-NEXT: }) : (index, index, !spad.buffer<2 x 64 x {t: f64, c: i1}>) -> ()
// GENERIC-NEXT: %last, %end = "spad.layer"(%n, %n, %two, %spad_j, %x, %n) <{boundary = #spad<boundary empty>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}> ({
// GENERIC-NEXT: ^bb0(%i_1: index, %x_i: f64, %k: index):
// GENERIC:      }) {note = "reverse"} : (index, index, index, !spad.buffer<2 x 64 x {t: f64, c: i1}>, f64, index) -> (f64, index)

// LOCATION:     spad.alloc : !spad.buffer<2 x 64 x {t: f64, c: i1}> loc("spad_j"("f.c":4:5))
// LOCATION:     spad.read %spad_j : !spad.buffer<2 x 64 x {t: f64, c: i1}> loc(fused["t"("f.c":5:3), "c"("f.c":6:3)])
// LOCATION:     } {note = "reverse"} loc("f.c":8:3)
