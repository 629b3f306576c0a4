// What the spad dialect refuses.
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A buffer has room for a record, in a tile, in a copy.

func.func private @f(!spad.buffer<0 x 4 x {x: f64}>) -> ()

// CHECK: {{^}}a buffer needs at least one copy, not 0

// -----

func.func private @f(!spad.buffer<-1 x 4 x {x: f64}>) -> ()

// CHECK: {{^}}a buffer needs at least one copy, not -1

// -----

func.func private @f(!spad.buffer<2 x 0 x {x: f64}>) -> ()

// CHECK: {{^}}a tile needs at least one record, not 0

// -----

func.func private @f(!spad.buffer<2 x 4 x {}>) -> ()

// CHECK: {{^}}a record needs at least one field

// -----

func.func private @f(!spad.buffer<2 x 4 x {x: f64, x: f64}>) -> ()

// CHECK: {{^}}two fields are named 'x'

// -----

func.func private @f(!spad.buffer<4 x {x: f64}>) -> ()

// CHECK: Expected integer literal

// -----

func.func @f() {
  %spad_x = spad.alloc : !tape.region<{x: f64}, aos>
  func.return
}

// CHECK: {{^}}!tape.region<{x: f64}, aos> should be of base attribute spad.buffer

// -----

// A record has a value a field, in the field's type.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f32) {
  spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  func.return
}

// CHECK: operand is used with type f64, but has been previously used or defined with type f32

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f32) {
  "spad.write"(%x, %spad_x) : (f32, !spad.buffer<2 x 4 x {x: f64}>) -> ()
  func.return
}

// CHECK:      {{^}}operand 'buffer' at position 1 does not verify:
// CHECK-NEXT: attributes ('f32',) expected from range variable 'FieldTypes', but got ('f64',)

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  %x:2 = "spad.read"(%spad_x) : (!spad.buffer<2 x 4 x {x: f64}>) -> (f64, f64)
  func.return
}

// CHECK:      {{^}}result 'values' at positions 0 to 1 does not verify:
// CHECK-NEXT: attributes ('f64',) expected from range variable 'FieldTypes', but got ('f64', 'f64')

// -----

func.func @f(%tape_x: !tape.region<{x: f64}, aos>) {
  %full = spad.full %tape_x : !tape.region<{x: f64}, aos>
  func.return
}

// CHECK: {{^}}!tape.region<{x: f64}, aos> should be of base attribute spad.buffer

// -----

// A transfer is between a buffer and the aos region that is its home.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>) {
  spad.dma_start %spad_x to %spad_x : !spad.buffer<2 x 4 x {x: f64}> to !spad.buffer<2 x 4 x {x: f64}>
  func.return
}

// CHECK: {{^}}a transfer has a !spad.buffer on one side and a !tape.region on the other

// -----

func.func @f(%tape_x: !tape.region<{x: f64}, aos>) {
  spad.dma_start %tape_x to %tape_x : !tape.region<{x: f64}, aos> to !tape.region<{x: f64}, aos>
  func.return
}

// CHECK: {{^}}a transfer has a !spad.buffer on one side and a !tape.region on the other

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %tape_x: !tape.tape<f64>) {
  spad.dma_start %spad_x to %tape_x : !spad.buffer<2 x 4 x {x: f64}> to !tape.tape<f64>
  func.return
}

// CHECK: {{^}}a transfer is between a !spad.buffer and a !tape.region

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %tape_x: !tape.region<{x: f64}, soa>) {
  spad.dma_start %tape_x to %spad_x : !tape.region<{x: f64}, soa> to !spad.buffer<2 x 4 x {x: f64}>
  func.return
}

// CHECK: {{^}}only an aos region can be moved by tiles: its records lie side by side

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %tape_y: !tape.region<{y: f64}, aos>) {
  spad.dma_start %spad_x to %tape_y : !spad.buffer<2 x 4 x {x: f64}> to !tape.region<{y: f64}, aos>
  func.return
}

// CHECK: {{^}}the buffer's record differs from its home's: !spad.buffer<2 x 4 x {x: f64}> and !tape.region<{y: f64}, aos>

// -----

// A layer that is cut when full writes one record an iteration, whatever the iteration does.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
  } when full {
  }
  func.return
}

// CHECK: {{^}}a layer cut when full has exactly one spad.write of its buffer in its body, outside of any loop or branch there

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
  }
  func.return
}

// CHECK: {{^}}a layer cut when full has exactly one spad.write of its buffer in its body, outside of any loop or branch there

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64, %c: i1) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    scf.if %c {
      spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    }
  } when full {
  }
  func.return
}

// CHECK: {{^}}a layer cut when full has exactly one spad.write of its buffer in its body, outside of any loop or branch there

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    %y = spad.read %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
  }
  func.return
}

// CHECK: {{^}}a layer cut when full has exactly one spad.write of its buffer in its body, outside of any loop or branch there

// -----

// One that is cut when empty reads one.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when empty {
  }
  func.return
}

// CHECK: {{^}}a layer cut when empty has exactly one spad.read of its buffer in its body, outside of any loop or branch there

// -----

// Tiles move in the clause and records in the body, so that the next cut is known when a layer begins.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
    %y = spad.read %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  }
  func.return
}

// CHECK: {{^}}the clause of a layer moves tiles, not records

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64, %tape_x: !tape.region<{x: f64}, aos>) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    spad.dma_start %spad_x to %tape_x : !spad.buffer<2 x 4 x {x: f64}> to !tape.region<{x: f64}, aos>
  } when full {
  }
  func.return
}

// CHECK: {{^}}the tiles of a layer's buffer move in its clause, not in its body

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    spad.dma_wait %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
  }
  func.return
}

// CHECK: {{^}}the tiles of a layer's buffer move in its clause, not in its body

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64, %fifo_x: !stream.fifo<4 x {x: f64}>) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    stream.push %spad_x into %fifo_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
  }
  func.return
}

// CHECK: {{^}}the tiles of a layer's buffer move in its clause, not in its body

// -----

func.func private @g(!spad.buffer<2 x 4 x {x: f64}>) -> ()
func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    func.call @g(%spad_x) : (!spad.buffer<2 x 4 x {x: f64}>) -> ()
  } when full {
  }
  func.return
}

// CHECK: {{^}}the tiles of a layer's buffer move in its clause, not in its body

// -----

// What a layer carries is what its body takes and yields, and what it results in.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  %r = spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> iter_args(%x_i = %x) -> (f64) {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
  }
  func.return
}

// CHECK: {{^}}the body of a layer ends with spad.yield of (f64)

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  %r = spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> iter_args(%x_i = %x) -> (f64) {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    spad.yield %n : index
  } when full {
  }
  func.return
}

// CHECK: {{^}}the body of a layer ends with spad.yield of (f64)

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    spad.yield %x : f64
  } when full {
  }
  func.return
}

// CHECK: {{^}}the body of a layer ends with spad.yield of ()

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  %r = spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> iter_args(%x_i = %x) -> (f64, f64) {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    spad.yield %x_i : f64
  } when full {
  }
  func.return
}

// CHECK: expected 2 operand types but had 1

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  "spad.layer"(%n, %n, %spad_x) <{boundary = #spad<boundary full>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}> ({
  ^bb0(%i: i32):
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    "spad.yield"() : () -> ()
  }, {
    "spad.yield"() : () -> ()
  }) : (index, index, !spad.buffer<2 x 4 x {x: f64}>) -> ()
  func.return
}

// CHECK: {{^}}the body of a layer takes the counter (index) and then what is carried: (index)

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  %r = "spad.layer"(%n, %n, %spad_x, %x) <{boundary = #spad<boundary full>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}> ({
  ^bb0(%i: index):
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    "spad.yield"(%x) : (f64) -> ()
  }, {
    "spad.yield"() : () -> ()
  }) : (index, index, !spad.buffer<2 x 4 x {x: f64}>, f64) -> f64
  func.return
}

// CHECK: {{^}}the body of a layer takes the counter (index) and then what is carried: (index, f64)

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  %r = "spad.layer"(%n, %n, %spad_x, %x) <{boundary = #spad<boundary full>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}> ({
  ^bb0(%i: index, %x_i: f64):
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    "spad.yield"(%x) : (f64) -> ()
  }, {
    "spad.yield"() : () -> ()
  }) : (index, index, !spad.buffer<2 x 4 x {x: f64}>, f64) -> f32
  func.return
}

// CHECK: {{^}}the results of a layer have the types of what it carries

// -----

// The clause has a boundary, and neither takes nor yields values.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  "spad.layer"(%n, %n, %spad_x) <{boundary = #spad<boundary full>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}> ({
  ^bb0(%i: index):
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    "spad.yield"() : () -> ()
  }, {
  ^bb1(%j: index):
    "spad.yield"() : () -> ()
  }) : (index, index, !spad.buffer<2 x 4 x {x: f64}>) -> ()
  func.return
}

// CHECK: {{^}}the clause of a layer takes no arguments

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when full {
    spad.yield %x : f64
  }
  func.return
}

// CHECK: {{^}}the clause of a layer yields nothing

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %n: index, %x: f64) {
  spad.layer %i = %n to %n in %spad_x : !spad.buffer<2 x 4 x {x: f64}> {
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
  } when late {
  }
  func.return
}

// CHECK: Expected `full`, or `empty`.

// -----

func.func @f(%x: f64) {
  spad.yield %x : f64
}

// CHECK: {{^}}'spad.yield' expects parent op 'spad.layer'

// -----

// Iterations of a parallel loop have no order, so they do not share a buffer.

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    spad.write %x onto %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.write' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %y = spad.read %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.read' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %full = spad.full %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.full' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %empty = spad.empty %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.empty' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index, %tape_x: !tape.region<{x: f64}, aos>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    spad.dma_start %spad_x to %tape_x : !spad.buffer<2 x 4 x {x: f64}> to !tape.region<{x: f64}, aos>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.dma_start' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

// Nor do they share a home, if each has a buffer of its own: the tiles of all would lie in it in no order.

func.func @f(%x: f64, %c0: index, %c1: index, %tape_x: !tape.region<{x: f64}, aos>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %spad_x = spad.alloc : !spad.buffer<2 x 4 x {x: f64}>
    spad.dma_start %spad_x to %tape_x : !spad.buffer<2 x 4 x {x: f64}> to !tape.region<{x: f64}, aos>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.dma_start' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%x: f64, %c0: index, %c1: index, %tape_x: !tape.region<{x: f64}, aos>) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %spad_x = spad.alloc : !spad.buffer<2 x 4 x {x: f64}>
    spad.dma_start %tape_x to %spad_x : !tape.region<{x: f64}, aos> to !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.dma_start' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%spad_x: !spad.buffer<2 x 4 x {x: f64}>, %x: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    spad.dma_wait %spad_x : !spad.buffer<2 x 4 x {x: f64}>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'spad.dma_wait' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside
