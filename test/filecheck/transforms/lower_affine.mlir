// RUN: tapeflow-opt %s -p ad-prepare --split-input-file 2>&1 | filecheck %s

// Loops keep what they carry. Of several lower bounds the largest holds, of several upper bounds the smallest.

func.func @bounds(%n: index, %x: memref<?xf64>) -> f64 {
  %zero = arith.constant 0.0 : f64
  %s = affine.for %i = max affine_map<(d0) -> (0, d0 - 2)>(%n) to min affine_map<(d0)[s0] -> (d0, s0 + 3)>(%n)[%n] step 2 iter_args(%a = %zero) -> (f64) {
    %v = affine.load %x[%i + 1] : memref<?xf64>
    %b = arith.addf %a, %v : f64
    affine.yield %b : f64
  }
  return %s : f64
}

// CHECK-LABEL: func.func @bounds
// CHECK:         [[A:%.*]] = arith.addi %n, %{{.*}} : index
// CHECK-NEXT:    [[LOW:%.*]] = arith.maxsi %{{.*}}, [[A]] : index
// CHECK-NEXT:    [[B:%.*]] = arith.addi %n, %{{.*}} : index
// CHECK-NEXT:    [[HIGH:%.*]] = arith.minsi %n, [[B]] : index
// CHECK-NEXT:    %s = scf.for %i = [[LOW]] to [[HIGH]] step %{{.*}} iter_args(%a = %zero) -> (f64) {
// CHECK-NEXT:      [[K:%.*]] = arith.addi %i, %{{.*}} : index
// CHECK-NEXT:      %v = memref.load %x[[[K]]] : memref<?xf64>

// -----

// Division rounds down and a remainder is not negative, also of negative numbers; min and max are over a map's results.

func.func @divisions(%i: index, %n: index) -> index {
  %q = affine.apply affine_map<(d0)[s0] -> (d0 floordiv 3 + (d0 - s0) mod 5)>(%i)[%n]
  %m = affine.max affine_map<(d0)[s0] -> (d0 ceildiv 4, s0)>(%q)[%n]
  return %m : index
}

// CHECK-LABEL: func.func @divisions
// CHECK:         arith.floordivsi %i, %{{.*}} : index
// CHECK:         [[D:%.*]] = arith.addi %i, %{{.*}} : index
// CHECK-NEXT:    [[F:%.*]] = arith.floordivsi [[D]], [[FIVE:%.*]] : index
// CHECK-NEXT:    [[M:%.*]] = arith.muli [[F]], [[FIVE]] : index
// CHECK-NEXT:    arith.subi [[D]], [[M]] : index
// CHECK:         [[C:%.*]] = arith.ceildivsi %{{.*}} : index
// CHECK-NEXT:    arith.maxsi [[C]], %n : index

// -----

// A branch is taken where all constraints of its set hold.

#inside = affine_set<(d0)[s0] : (d0 - 1 >= 0, s0 - d0 - 2 >= 0, d0 mod 2 == 0)>

func.func @branch(%i: index, %n: index, %x: memref<?xf64>) -> f64 {
  %zero = arith.constant 0.0 : f64
  %r = affine.if #inside(%i)[%n] -> f64 {
    %v = affine.load %x[%i] : memref<?xf64>
    affine.yield %v : f64
  } else {
    affine.yield %zero : f64
  }
  affine.if #inside(%i)[%n] {
    affine.store %r, %x[symbol(%n) - 1] : memref<?xf64>
  }
  return %r : f64
}

// CHECK-LABEL: func.func @branch
// CHECK:         arith.cmpi sge
// CHECK:         arith.cmpi sge
// CHECK:         arith.andi
// CHECK:         arith.cmpi eq
// CHECK:         [[C:%.*]] = arith.andi
// CHECK-NEXT:    %r = scf.if [[C]] -> (f64) {
// CHECK-NEXT:      %v = memref.load %x[%i] : memref<?xf64>
// CHECK:         scf.if [[C]] {
// CHECK-NEXT:      [[K:%.*]] = arith.addi %n, %{{.*}} : index
// CHECK-NEXT:      memref.store %r, %x[[[K]]] : memref<?xf64>

// -----

// A parallel nest is a nest of loops, one a dimension, that carries the reductions. A remark says so.

func.func @parallel(%n: index, %x: memref<?x?xf64>) -> f64 {
  %s = affine.parallel (%i, %j) = (0, max(%n - 4, 0)) to (%n, min(%n, 10)) step (1, 2) reduce ("maximumf") -> f64 {
    %v = affine.load %x[%i, %j] : memref<?x?xf64>
    affine.yield %v : f64
  }
  return %s : f64
}

// CHECK-LABEL: func.func @parallel
// CHECK:         [[LOWEST:%.*]] = arith.constant 0xfff0000000000000 : f64
// CHECK:         %s = scf.for %i = %{{.*}} to %n step %{{.*}} iter_args([[I:%.*]] = [[LOWEST]]) -> (f64) {
// CHECK-NEXT:      [[INNER:%.*]] = scf.for %j = {{.*}} iter_args([[J:%.*]] = [[I]]) -> (f64) {
// CHECK-NEXT:        %v = memref.load %x[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:        [[MAX:%.*]] = arith.maximumf [[J]], %v : f64
// CHECK-NEXT:        scf.yield [[MAX]] : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield [[INNER]] : f64

// -----

// Integers are reduced too.

func.func @integers(%m: memref<4xi32>) -> i32 {
  %a = affine.parallel (%i) = (0) to (4) reduce ("andi") -> i32 {
    %v = affine.load %m[%i] : memref<4xi32>
    affine.yield %v : i32
  }
  return %a : i32
}

// CHECK-LABEL: func.func @integers
// CHECK:         [[ALL:%.*]] = arith.constant -1 : i32
// CHECK:         %a = scf.for %i = {{.*}} iter_args([[I:%.*]] = [[ALL]]) -> (i32) {
// CHECK-NEXT:      %v = memref.load %m[%i] : memref<4xi32>
// CHECK-NEXT:      [[AND:%.*]] = arith.andi [[I]], %v : i32
// CHECK-NEXT:      scf.yield [[AND]] : i32
// CHECK:         remark: 'affine.parallel' is differentiated in sequence, in the order of its dimensions
