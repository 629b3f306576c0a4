// What the stream dialect refuses.
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A tile holds at least one record.

func.func private @f(!stream.fifo<0 x {x: f64}>) -> ()

// CHECK: {{^}}a tile needs at least one record, not 0

// -----

func.func private @f(!stream.fifo<4 x {}>) -> ()

// CHECK: {{^}}a record needs at least one field

// -----

func.func private @f(!stream.fifo<4 x {x: memref<f64>}>) -> ()

// CHECK: {{^}}a record field must be a scalar (float, integer, index or i1), not memref<f64>

// -----

func.func private @f(!stream.fifo<{x: f64}>) -> ()

// CHECK: Expected integer literal

// -----

func.func @f() {
  %fifo_x = stream.create : !tape.region<{x: f64}, aos>
  func.return
}

// CHECK: {{^}}!tape.region<{x: f64}, aos> should be of base attribute stream.fifo

// -----

func.func @f(%n: i32) {
  %fifo_x = "stream.create"(%n) : (i32) -> !stream.fifo<4 x {x: f64}>
  func.return
}

// CHECK:      {{^}}operand 'reserve' at position 0 does not verify:
// CHECK-NEXT: i32 should be of base attribute index

// -----

// A FIFO and the buffer that it is moved through agree on the tile: its records, and their fields' names and types.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %fifo_x: !stream.fifo<8 x {x: f64}>) {
  stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  func.return
}

// CHECK: operand is used with type !stream.fifo<4 x {x: f64}>, but has been previously used or defined with type !stream.fifo<8 x {x: f64}>

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %fifo_x: !stream.fifo<8 x {x: f64}>) {
  "stream.push"(%spad_x, %fifo_x) : (!spad.buffer<2 x 4 x {x: f64}>, !stream.fifo<8 x {x: f64}>) -> ()
  func.return
}

// CHECK:      {{^}}operand 'fifo' at position 1 does not verify:
// CHECK-NEXT: attribute #builtin.int<4> expected from variable 'Records', but got #builtin.int<8>

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %fifo_x: !stream.fifo<4 x {y: f64}>) {
  "stream.prefetch"(%spad_x, %fifo_x) : (!spad.buffer<2 x 4 x {x: f64}>, !stream.fifo<4 x {y: f64}>) -> ()
  func.return
}

// CHECK:      {{^}}operand 'fifo' at position 1 does not verify:
// CHECK-NEXT: attribute ["x"] expected from variable 'Names', but got ["y"]

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %fifo_x: !stream.fifo<4 x {x: f32}>) {
  "stream.pop"(%spad_x, %fifo_x) : (!spad.buffer<2 x 4 x {x: f64}>, !stream.fifo<4 x {x: f32}>) -> ()
  func.return
}

// CHECK:      {{^}}operand 'fifo' at position 1 does not verify:
// CHECK-NEXT: attribute [f64] expected from variable 'Types', but got [f32]

// -----

// A FIFO that is written is read, one that is read is written, and both end in a close.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  %fifo_x = stream.create : !stream.fifo<4 x {x: f64}>
  stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.close %fifo_x : !stream.fifo<4 x {x: f64}>
  func.return
}

// CHECK: {{^}}this FIFO is pushed into, but never popped: what it holds is lost

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  %fifo_x = stream.create : !stream.fifo<4 x {x: f64}>
  stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.prefetch %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.close %fifo_x : !stream.fifo<4 x {x: f64}>
  func.return
}

// CHECK: {{^}}this FIFO is pushed into, but never popped: what it holds is lost

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  %fifo_x = stream.create : !stream.fifo<4 x {x: f64}>
  stream.prefetch %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.pop %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.close %fifo_x : !stream.fifo<4 x {x: f64}>
  func.return
}

// CHECK: {{^}}this FIFO is popped, but nothing is ever pushed into it

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  %fifo_x = stream.create : !stream.fifo<4 x {x: f64}>
  stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.prefetch %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  stream.pop %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  func.return
}

// CHECK: {{^}}this FIFO is used, but never closed: nothing says that it ends empty

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  stream.close %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  func.return
}

// CHECK: {{^}}!spad.buffer<2 x 4 x {x: f64}> should be of base attribute stream.fifo

// -----

// Iterations of a parallel loop have no order, so they do not share a FIFO.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index, %fifo_x: !stream.fifo<4 x {x: f64}>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'stream.push' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index, %fifo_x: !stream.fifo<4 x {x: f64}>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    stream.prefetch %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'stream.prefetch' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index, %fifo_x: !stream.fifo<4 x {x: f64}>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    stream.pop %spad_x from %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'stream.pop' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index, %fifo_x: !stream.fifo<4 x {x: f64}>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    stream.close %fifo_x : !stream.fifo<4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'stream.close' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

// One that is handed on may be popped and closed elsewhere.

func.func private @callee(!stream.fifo<4 x {x: f64}>) -> ()
func.func @handed_on(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  %fifo_x = stream.create : !stream.fifo<4 x {x: f64}>
  stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  func.call @callee(%fifo_x) : (!stream.fifo<4 x {x: f64}>) -> ()
  func.return
}

// CHECK-LABEL: func.func @handed_on
// CHECK:         stream.push %spad_x into %fifo_x
