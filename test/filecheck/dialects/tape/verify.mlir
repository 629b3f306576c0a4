// What the tape dialect refuses.
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Only scalars are remembered.

func.func private @f(!tape.tape<memref<4xf64>>) -> ()

// CHECK: {{^}}a record field must be a scalar (float, integer, index or i1), not memref<4xf64>

// -----

func.func private @f(!tape.tape<i7>) -> ()

// CHECK: {{^}}a record field must be a scalar (float, integer, index or i1), not i7

// -----

func.func private @f(!tape.region<{t: !tape.tape<f64>}, aos>) -> ()

// CHECK: {{^}}a record field must be a scalar (float, integer, index or i1), not !tape.tape<f64>

// -----

// A record has fields, with different names that C can have too.

func.func private @f(!tape.region<{}, aos>) -> ()

// CHECK: {{^}}a record needs at least one field

// -----

func.func private @f(!tape.region<{t: f64, t: i1}, aos>) -> ()

// CHECK: {{^}}two fields are named 't'

// -----

func.func private @f(!tape.region<{a.b: f64}, aos>) -> ()

// CHECK: {{^}}'a.b' cannot name a field: letters, digits and _ only

// -----

func.func private @f(!tape.region<{t: f64}>) -> ()

// CHECK: Expected ','

// -----

func.func private @f(!tape.region<{t: f64}, rows>) -> ()

// CHECK: Expected `aos`, or `soa`.

// -----

// What is created is a tape or a region, and its reservation an index.

func.func @f() {
  %t = tape.create : f64
  func.return
}

// CHECK: {{^}}what is created is a !tape.tape or a !tape.region

// -----

func.func @f(%n: i32) {
  %tape_v = "tape.create"(%n) : (i32) -> !tape.tape<f64>
  func.return
}

// CHECK:      {{^}}operand 'reserve' at position 0 does not verify:
// CHECK-NEXT: i32 should be of base attribute index

// -----

// A value has the type of its tape. In the short form it is told from the tape, and a wrong one is a located error.

func.func @f(%tape_v: !tape.tape<f64>, %v: f32) {
  tape.push %v onto %tape_v : !tape.tape<f64>
  func.return
}

// CHECK:      {{.*}}:[[# @LINE - 4]]:13
// CHECK-NEXT: tape.push %v onto %tape_v : !tape.tape<f64>
// CHECK-NEXT:           ^^
// CHECK-NEXT: operand is used with type f64, but has been previously used or defined with type f32

// -----

func.func @f(%tape_v: !tape.tape<f64>, %v: f32) {
  "tape.push"(%v, %tape_v) : (f32, !tape.tape<f64>) -> ()
  func.return
}

// CHECK:      {{^}}operand 'tape' at position 1 does not verify:
// CHECK-NEXT: attribute f32 expected from variable 'T', but got f64

// -----

func.func @f(%tape_v: !tape.tape<f64>) {
  %v = "tape.pop"(%tape_v) : (!tape.tape<f64>) -> f32
  func.return
}

// CHECK:      {{^}}result 'value' at position 0 does not verify:
// CHECK-NEXT: attribute f64 expected from variable 'T', but got f32

// -----

// Regions are recorded and replayed, tapes pushed and popped.

func.func @f(%tape_j: !tape.region<{t: f64}, aos>) {
  %t = tape.pop %tape_j : !tape.region<{t: f64}, aos>
  func.return
}

// CHECK: {{^}}!tape.region<{t: f64}, aos> should be of base attribute tape.tape

// -----

// A record has a value a field, in the field's type.

func.func @f(%tape_j: !tape.region<{t: f64, c: i1}, aos>, %t: f64) {
  tape.record %t onto %tape_j : !tape.region<{t: f64, c: i1}, aos>
  func.return
}

// CHECK: expected 2 operand types but had 1

// -----

func.func @f(%tape_j: !tape.region<{t: f64, c: i1}, aos>, %t: f64) {
  tape.record %t, %t onto %tape_j : !tape.region<{t: f64, c: i1}, aos>
  func.return
}

// CHECK: operand is used with type i1, but has been previously used or defined with type f64

// -----

func.func @f(%tape_j: !tape.region<{t: f64, c: i1}, aos>, %t: f64, %c: i1) {
  "tape.record"(%c, %t, %tape_j) : (i1, f64, !tape.region<{t: f64, c: i1}, aos>) -> ()
  func.return
}

// CHECK:      {{^}}operand 'region' at position 2 does not verify:
// CHECK-NEXT: attributes ('i1', 'f64') expected from range variable 'FieldTypes', but got ('f64', 'i1')

// -----

func.func @f(%tape_j: !tape.region<{t: f64, c: i1}, aos>) {
  %t = "tape.replay"(%tape_j) : (!tape.region<{t: f64, c: i1}, aos>) -> f64
  func.return
}

// CHECK:      {{^}}result 'values' at position 0 does not verify:
// CHECK-NEXT: attributes ('f64', 'i1') expected from range variable 'FieldTypes', but got ('f64',)

// -----

// Iterations of a parallel loop have no order, so they do not share a tape.

func.func @f(%tape_v: !tape.tape<f64>, %v: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    tape.push %v onto %tape_v : !tape.tape<f64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'tape.push' in an scf.parallel uses a handle from outside of it, whose order would be lost; make the loop sequential (scf.for) or create the handle inside

// -----

func.func @f(%tape_v: !tape.tape<f64>, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.for %j = %c0 to %i step %c1 {
      %v = tape.pop %tape_v : !tape.tape<f64>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'tape.pop' in an scf.parallel uses a handle from outside of it

// -----

func.func @f(%tape_j: !tape.region<{t: f64}, aos>, %t: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    tape.record %t onto %tape_j : !tape.region<{t: f64}, aos>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'tape.record' in an scf.parallel uses a handle from outside of it

// -----

func.func @f(%tape_j: !tape.region<{t: f64}, aos>, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %t = tape.replay %tape_j : !tape.region<{t: f64}, aos>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK: {{^}}'tape.replay' in an scf.parallel uses a handle from outside of it

// -----

// One of its own is each iteration's affair.

func.func @own(%v: f64, %c0: index, %c1: index) {
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %tape_v = tape.create : !tape.tape<f64>
    tape.push %v onto %tape_v : !tape.tape<f64>
    %v_1 = tape.pop %tape_v : !tape.tape<f64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @own
// CHECK:         tape.pop %tape_v
