// Every operation and type of the stream dialect, as text, in the generic form, and back.
// RUN: tapeflow-opt %s | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: tapeflow-opt %s --print-op-generic | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-debuginfo | tapeflow-opt --print-debuginfo | filecheck %s --check-prefix LOCATION

!spad_j = !spad.buffer<2 x 64 x {t: f64, c: i1}>
!fifo_j = !stream.fifo<64 x {t: f64, c: i1}>

func.func @stream(%n: index, %spad_j: !spad_j) {
  %fifo_j = stream.create reserve %n : !fifo_j loc("fifo_j"("f.c":4:5))
  stream.push %spad_j into %fifo_j : !spad_j
  stream.prefetch %spad_j from %fifo_j : !spad_j
  stream.pop %spad_j from %fifo_j : !spad_j loc("f.c":5:3)
  stream.close %fifo_j : !fifo_j
  func.return
}

func.func @grows() {
  %fifo_k = stream.create : !stream.fifo<1 x {k: index}>
  func.return
}

// CHECK:       %fifo_j = stream.create reserve %n : !stream.fifo<64 x {t: f64, c: i1}>
// CHECK-NEXT:  stream.push %spad_j into %fifo_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  stream.prefetch %spad_j from %fifo_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  stream.pop %spad_j from %fifo_j : !spad.buffer<2 x 64 x {t: f64, c: i1}>
// CHECK-NEXT:  stream.close %fifo_j : !stream.fifo<64 x {t: f64, c: i1}>
// CHECK:       %fifo_k = stream.create : !stream.fifo<1 x {k: index}>

// GENERIC:      %fifo_j = "stream.create"(%n) : (index) -> !stream.fifo<64 x {t: f64, c: i1}>
// GENERIC-NEXT: "stream.push"(%spad_j, %fifo_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>, !stream.fifo<64 x {t: f64, c: i1}>) -> ()
// GENERIC-NEXT: "stream.prefetch"(%spad_j, %fifo_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>, !stream.fifo<64 x {t: f64, c: i1}>) -> ()
// GENERIC-NEXT: "stream.pop"(%spad_j, %fifo_j) : (!spad.buffer<2 x 64 x {t: f64, c: i1}>, !stream.fifo<64 x {t: f64, c: i1}>) -> ()
// GENERIC-NEXT: "stream.close"(%fifo_j) : (!stream.fifo<64 x {t: f64, c: i1}>) -> ()

// LOCATION:     stream.create reserve %n : !stream.fifo<64 x {t: f64, c: i1}> loc("fifo_j"("f.c":4:5))
// LOCATION:     stream.pop %spad_j from %fifo_j : !spad.buffer<2 x 64 x {t: f64, c: i1}> loc("f.c":5:3)
