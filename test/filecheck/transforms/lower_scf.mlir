// RUN: tapeflow-opt %s -p ad-prepare --split-input-file 2>&1 | filecheck %s

// A parallel nest is a nest of loops, one a dimension, that carries the reductions; the combiners get what there is so
// far first. A remark says so.

func.func @parallel(%n: index, %m: index, %x: memref<?x?xf64>, %y: memref<?x?xf64>) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %s, %p = scf.parallel (%i, %j) = (%c0, %c1) to (%n, %m) step (%c1, %c2) init (%zero, %one) -> (f64, f64) {
    %v = memref.load %x[%i, %j] : memref<?x?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %y[%i, %j] : memref<?x?xf64>
    scf.reduce(%v, %w : f64, f64) {
    ^bb0(%a: f64, %b: f64):
      %c = arith.addf %a, %b : f64
      scf.reduce.return %c : f64
    }, {
    ^bb0(%a: f64, %b: f64):
      %e = math.exp %b : f64
      %d = arith.divf %a, %e : f64
      scf.reduce.return %d : f64
    }
  } loc("f.mlir":7:3)
  return %s, %p : f64, f64
}

// CHECK-LABEL: func.func @parallel
// CHECK:         %s, %p = scf.for %i = %c0 to %n step %c1 iter_args([[S:%.*]] = %zero, [[P:%.*]] = %one) -> (f64, f64) {
// CHECK-NEXT:      [[IS:%.*]], [[IP:%.*]] = scf.for %j = %c1 to %m step %c2 iter_args([[JS:%.*]] = [[S]], [[JP:%.*]] = [[P]]) -> (f64, f64) {
// CHECK-NEXT:        %v = memref.load %x[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:        %w = arith.mulf %v, %v : f64
// CHECK-NEXT:        memref.store %w, %y[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:        %c = arith.addf [[JS]], %v : f64
// CHECK-NEXT:        %e = math.exp %w : f64
// CHECK-NEXT:        %d = arith.divf [[JP]], %e : f64
// CHECK-NEXT:        scf.yield %c, %d : f64, f64
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield [[IS]], [[IP]] : f64, f64
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s, %p : f64, f64

// -----

// A switch asks for one case after the other; the default is the last else.

func.func @switch(%k: index, %x: f64, %y: memref<?xf64>) -> f64 {
  %one = arith.constant 1.0 : f64
  %r, %f = scf.index_switch %k -> f64, f64
  case 2 {
    %a = arith.mulf %x, %x : f64
    scf.yield %a, %x : f64, f64
  }
  case -5 {
    %b = math.sin %x : f64
    scf.yield %b, %one : f64, f64
  }
  default {
    memref.store %x, %y[%k] : memref<?xf64>
    scf.yield %x, %one : f64, f64
  }
  %z = arith.mulf %r, %f : f64
  return %z : f64
}

// CHECK-LABEL: func.func @switch
// CHECK:         [[TWO:%.*]] = arith.constant 2 : index
// CHECK:         [[FIVE:%.*]] = arith.constant -5 : index
// CHECK:         [[IS:%.*]] = arith.cmpi eq, %k, [[TWO]] : index
// CHECK-NEXT:    %r, %f = scf.if [[IS]] -> (f64, f64) {
// CHECK-NEXT:      %a = arith.mulf %x, %x : f64
// CHECK-NEXT:      scf.yield %a, %x : f64, f64
// CHECK-NEXT:    } else {
// CHECK-NEXT:      [[IS5:%.*]] = arith.cmpi eq, %k, [[FIVE]] : index
// CHECK-NEXT:      [[R:%.*]], [[F:%.*]] = scf.if [[IS5]] -> (f64, f64) {
// CHECK-NEXT:        %b = math.sin %x : f64
// CHECK-NEXT:        scf.yield %b, %one : f64, f64
// CHECK-NEXT:      } else {
// CHECK-NEXT:        memref.store %x, %y[%k] : memref<?xf64>
// CHECK-NEXT:        scf.yield %x, %one : f64, f64
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield [[R]], [[F]] : f64, f64
// CHECK-NEXT:    }

// -----

// Without cases there is nothing to ask. Without results the arms only act.

func.func @cases(%k: index, %x: f64, %y: memref<?xf64>) -> f64 {
  %r = scf.index_switch %k -> f64
  default {
    %b = math.sin %x : f64
    scf.yield %b : f64
  }
  scf.index_switch %k
  case 2 {
    memref.store %x, %y[%k] : memref<?xf64>
    scf.yield
  }
  default {
    scf.yield
  }
  return %r : f64
}

// CHECK-LABEL: func.func @cases
// CHECK-NOT:     scf.if
// CHECK:         %b = math.sin %x : f64
// CHECK-NEXT:    [[IS:%.*]] = arith.cmpi eq, %k, %{{.*}} : index
// CHECK-NEXT:    scf.if [[IS]] {
// CHECK-NEXT:      memref.store %x, %y[%k] : memref<?xf64>
// CHECK-NEXT:    }

// -----

// What a region of one block does is done in place.

func.func @region(%k: index, %x: f64, %y: memref<?xf64>) -> f64 {
  %r, %q = scf.execute_region -> (f64, f64) {
    %b = math.sin %x : f64
    %c = scf.execute_region -> (f64) {
      %d = math.cos %b : f64
      scf.yield %d : f64
    }
    scf.yield %c, %x : f64, f64
  }
  scf.execute_region {
    memref.store %r, %y[%k] : memref<?xf64>
    scf.yield
  }
  return %q : f64
}

// CHECK-LABEL: func.func @region
// CHECK-NEXT:    %b = math.sin %x : f64
// CHECK-NEXT:    %d = math.cos %b : f64
// CHECK-NEXT:    memref.store %d, %y[%k] : memref<?xf64>
// CHECK-NEXT:    func.return %x : f64

// CHECK: f.mlir:7:3: remark: 'scf.parallel' is differentiated in sequence, in the order of its dimensions
