// Parts of arrays that are given to functions which stay calls, as they are recursive.

// The product of sines by halves; the size is asked of the part.
func.func private @tree(%v: memref<?xf64, strided<[1], offset: ?>>) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %n = memref.dim %v, %zero : memref<?xf64, strided<[1], offset: ?>>
  %small = arith.cmpi sle, %n, %one : index
  %r = scf.if %small -> (f64) {
    %e = memref.load %v[%zero] : memref<?xf64, strided<[1], offset: ?>>
    %s = math.sin %e : f64
    scf.yield %s : f64
  } else {
    %half = arith.divsi %n, %two : index
    %rest = arith.subi %n, %half : index
    %left = memref.subview %v[0] [%half] [1] : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64, strided<[1], offset: ?>>
    %right = memref.subview %v[%half] [%rest] [1] : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64, strided<[1], offset: ?>>
    %a = func.call @tree(%left) : (memref<?xf64, strided<[1], offset: ?>>) -> f64
    %b = func.call @tree(%right) : (memref<?xf64, strided<[1], offset: ?>>) -> f64
    %c = arith.mulf %a, %b : f64
    scf.yield %c : f64
  }
  func.return %r : f64
}

// v[0]^2 + v[0] * (the same of every second element from v[1] on): strides that grow with the depth.
func.func private @sparse(%v: memref<?xf64, strided<[?], offset: ?>>) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %n = memref.dim %v, %zero : memref<?xf64, strided<[?], offset: ?>>
  %small = arith.cmpi sle, %n, %two : index
  %e = memref.load %v[%zero] : memref<?xf64, strided<[?], offset: ?>>
  %q = arith.mulf %e, %e : f64
  %r = scf.if %small -> (f64) {
    scf.yield %q : f64
  } else {
    %half = arith.divsi %n, %two : index
    %odd = memref.subview %v[1] [%half] [2] : memref<?xf64, strided<[?], offset: ?>> to memref<?xf64, strided<[?], offset: ?>>
    %s = func.call @sparse(%odd) : (memref<?xf64, strided<[?], offset: ?>>) -> f64
    %t = arith.mulf %s, %e : f64
    %u = arith.addf %t, %q : f64
    scf.yield %u : f64
  }
  func.return %r : f64
}

// Two functions that call one another write to what is left: w[0] = sin(w[0] * w[1]), then w[1:] with other numbers.
func.func private @ping(%n: index, %w: memref<?xf64>, %s: f64) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %one : index
  %r = scf.if %more -> (f64) {
    %a = memref.load %w[%zero] : memref<?xf64>
    %b = memref.load %w[%one] : memref<?xf64>
    %ab = arith.mulf %a, %b : f64
    %p = math.sin %ab : f64
    memref.store %p, %w[%zero] : memref<?xf64>
    %m = arith.subi %n, %one : index
    %part = memref.subview %w[%one] [%m] [1] : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
    %rest = "memref.cast"(%part) : (memref<?xf64, strided<[1], offset: ?>>) -> memref<?xf64>
    %q = func.call @pong(%m, %rest, %p) : (index, memref<?xf64>, f64) -> f64
    %t = arith.addf %q, %p : f64
    scf.yield %t : f64
  } else {
    scf.yield %s : f64
  }
  func.return %r : f64
}
func.func private @pong(%n: index, %w: memref<?xf64>, %s: f64) -> f64 {
  %zero = arith.constant 0 : index
  %a = memref.load %w[%zero] : memref<?xf64>
  %b = arith.addf %a, %s : f64
  memref.store %b, %w[%zero] : memref<?xf64>
  %r = func.call @ping(%n, %w, %b) : (index, memref<?xf64>, f64) -> f64
  func.return %r : f64
}

// Blocks of a matrix, each without the first row and the first column of the one before it.
func.func private @corners(%B: memref<?x?xf64, strided<[?, 1], offset: ?>>, %corner: memref<f64, strided<[], offset: ?>>) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %B, %zero : memref<?x?xf64, strided<[?, 1], offset: ?>>
  %m = memref.dim %B, %one : memref<?x?xf64, strided<[?, 1], offset: ?>>
  %less = arith.minsi %n, %m : index
  %done = arith.cmpi sle, %less, %one : index
  %e = memref.load %corner[] : memref<f64, strided<[], offset: ?>>
  %r = scf.if %done -> (f64) {
    scf.yield %e : f64
  } else {
    %rows = arith.subi %n, %one : index
    %columns = arith.subi %m, %one : index
    %d = memref.load %B[%rows, %zero] : memref<?x?xf64, strided<[?, 1], offset: ?>>
    %inner = memref.subview %B[1, 1] [%rows, %columns] [1, 1] : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    %next = memref.subview %inner[0, 0] [1, 1] [1, 1] : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<f64, strided<[], offset: ?>>
    %s = func.call @corners(%inner, %next) : (memref<?x?xf64, strided<[?, 1], offset: ?>>, memref<f64, strided<[], offset: ?>>) -> f64
    %p = arith.mulf %s, %d : f64
    %q = arith.addf %p, %e : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}

// Two parts of one array that overlap, which are only read: the sum of a[i] * b[i].
func.func private @dot(%n: index, %a: memref<?xf64, strided<[1], offset: ?>>, %b: memref<?xf64, strided<[?], offset: ?>>) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %zero : index
  %r = scf.if %more -> (f64) {
    %m = arith.subi %n, %one : index
    %u = memref.load %a[%m] : memref<?xf64, strided<[1], offset: ?>>
    %v = memref.load %b[%m] : memref<?xf64, strided<[?], offset: ?>>
    %p = arith.mulf %u, %v : f64
    %s = func.call @dot(%m, %a, %b) : (index, memref<?xf64, strided<[1], offset: ?>>, memref<?xf64, strided<[?], offset: ?>>) -> f64
    %t = arith.addf %p, %s : f64
    scf.yield %t : f64
  } else {
    %none = arith.constant 0.0 : f64
    scf.yield %none : f64
  }
  func.return %r : f64
}

// Not recursive: inlined, or a call by the limit. Row i of the first four columns, and the last row.
func.func private @rows(%B: memref<?x4xf64, strided<[?, 1], offset: ?>>, %i: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %B, %zero : memref<?x4xf64, strided<[?, 1], offset: ?>>
  %last = arith.subi %n, %one : index
  %row = memref.subview %B[%i, 0] [1, 4] [1, 1] : memref<?x4xf64, strided<[?, 1], offset: ?>> to memref<4xf64, strided<[1], offset: ?>>
  %row_cast = "memref.cast"(%row) : (memref<4xf64, strided<[1], offset: ?>>) -> memref<?xf64, strided<[1], offset: ?>>
  %a = func.call @tree(%row_cast) : (memref<?xf64, strided<[1], offset: ?>>) -> f64
  %b = memref.load %B[%last, %i] : memref<?x4xf64, strided<[?, 1], offset: ?>>
  %c = arith.mulf %a, %b : f64
  func.return %c : f64
}

func.func @f(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"},
             %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]},
             %A: memref<?x5xf64> {tapeflow.name = "A", tapeflow.extents = ["m", "5"]},
             %c: memref<3x?x4xf64> {tapeflow.name = "c", tapeflow.extents = ["3", "n", "4"]},
             %s: f64 {tapeflow.name = "s"}) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %four = arith.constant 4 : index
  %five = arith.constant 5 : index
  %length = arith.index_cast %n : i32 to index
  %rows = arith.index_cast %m : i32 to index
  %less = arith.subi %length, %one : index

  // A whole array, and a line of an array of three dimensions.
  %whole = "memref.cast"(%x) : (memref<?xf64>) -> memref<?xf64, strided<[1], offset: ?>>
  %r0 = func.call @tree(%whole) : (memref<?xf64, strided<[1], offset: ?>>) -> f64
  %line = memref.subview %c[2, %one, 0] [1, 1, 4] [1, 1, 1] : memref<3x?x4xf64> to memref<4xf64, strided<[1], offset: ?>>
  %line_cast = "memref.cast"(%line) : (memref<4xf64, strided<[1], offset: ?>>) -> memref<?xf64, strided<[1], offset: ?>>
  %r1 = func.call @tree(%line_cast) : (memref<?xf64, strided<[1], offset: ?>>) -> f64

  // Columns, of the matrix and of a part of it.
  %column = memref.subview %A[0, 3] [%rows, 1] [1, 1] : memref<?x5xf64> to memref<?xf64, strided<[5], offset: 3>>
  %column_cast = "memref.cast"(%column) : (memref<?xf64, strided<[5], offset: 3>>) -> memref<?xf64, strided<[?], offset: ?>>
  %r2 = func.call @sparse(%column_cast) : (memref<?xf64, strided<[?], offset: ?>>) -> f64
  %depth = memref.subview %c[0, %less, %one] [3, 1, 1] [1, 1, 1] : memref<3x?x4xf64> to memref<3xf64, strided<[?], offset: ?>>
  %depth_cast = "memref.cast"(%depth) : (memref<3xf64, strided<[?], offset: ?>>) -> memref<?xf64, strided<[?], offset: ?>>
  %r3 = func.call @sparse(%depth_cast) : (memref<?xf64, strided<[?], offset: ?>>) -> f64

  // Rows that are written to, one after another, and a part of an array of this function.
  %r4 = scf.for %i = %zero to %rows step %one iter_args(%before = %s) -> (f64) {
    %row = memref.subview %A[%i, 1] [1, 4] [1, 1] : memref<?x5xf64> to memref<4xf64, strided<[1], offset: ?>>
    %row_cast = "memref.cast"(%row) : (memref<4xf64, strided<[1], offset: ?>>) -> memref<?xf64>
    %after = func.call @ping(%four, %row_cast, %before) : (index, memref<?xf64>, f64) -> f64
    scf.yield %after : f64
  }
  %local = memref.alloc() : memref<8xf64>
  %eight = arith.constant 8 : index
  scf.for %k = %zero to %eight step %one {
    %j = arith.remsi %k, %length : index
    %e = memref.load %x[%j] : memref<?xf64>
    %g = arith.mulf %e, %r4 : f64
    memref.store %g, %local[%k] : memref<8xf64>
  }
  %piece = memref.subview %local[%two] [5] [1] : memref<8xf64> to memref<5xf64, strided<[1], offset: ?>>
  %piece_cast = "memref.cast"(%piece) : (memref<5xf64, strided<[1], offset: ?>>) -> memref<?xf64>
  %r5 = func.call @pong(%five, %piece_cast, %s) : (index, memref<?xf64>, f64) -> f64
  %kept = memref.load %local[%three] : memref<8xf64>

  // Blocks, and single elements.
  %block = memref.subview %A[0, 1] [%rows, 4] [1, 1] : memref<?x5xf64> to memref<?x4xf64, strided<[5, 1], offset: 1>>
  %block_cast = "memref.cast"(%block) : (memref<?x4xf64, strided<[5, 1], offset: 1>>) -> memref<?x?xf64, strided<[?, 1], offset: ?>>
  %element = memref.subview %x[%less] [1] [1] : memref<?xf64> to memref<f64, strided<[], offset: ?>>
  %r6 = func.call @corners(%block_cast, %element) : (memref<?x?xf64, strided<[?, 1], offset: ?>>, memref<f64, strided<[], offset: ?>>) -> f64

  // x[i] * x[i + 1], and x[i] * A[i][2] of whole arrays and parts.
  %next = memref.subview %x[1] [%less] [1] : memref<?xf64> to memref<?xf64, strided<[1], offset: 1>>
  %next_cast = "memref.cast"(%next) : (memref<?xf64, strided<[1], offset: 1>>) -> memref<?xf64, strided<[?], offset: ?>>
  %r7 = func.call @dot(%less, %whole, %next_cast) : (index, memref<?xf64, strided<[1], offset: ?>>, memref<?xf64, strided<[?], offset: ?>>) -> f64

  // A part of a part, in a function that may be inlined.
  %plane = memref.subview %c[%one, 0, 0] [1, %length, 4] [1, 1, 1] : memref<3x?x4xf64> to memref<?x4xf64, strided<[4, 1], offset: ?>>
  %plane_cast = "memref.cast"(%plane) : (memref<?x4xf64, strided<[4, 1], offset: ?>>) -> memref<?x4xf64, strided<[?, 1], offset: ?>>
  %r8 = func.call @rows(%plane_cast, %two) : (memref<?x4xf64, strided<[?, 1], offset: ?>>, index) -> f64

  %t1 = arith.mulf %r0, %r1 : f64
  %t2 = arith.addf %t1, %r2 : f64
  %t3 = arith.mulf %r3, %r4 : f64
  %t4 = arith.addf %t2, %t3 : f64
  %t5 = arith.mulf %r5, %kept : f64
  %t6 = arith.addf %t4, %t5 : f64
  %t7 = arith.mulf %r6, %r7 : f64
  %t8 = arith.addf %t6, %t7 : f64
  %t9 = arith.addf %t8, %r8 : f64
  func.return %t9 : f64
}

func.func @g(%m: i32 {tapeflow.name = "m"}, %A: memref<?x5xf64> {tapeflow.name = "A", tapeflow.extents = ["m", "5"]}) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %s = arith.constant 0.5 : f64
  %rows = arith.index_cast %m : i32 to index
  scf.for %i = %zero to %rows step %one {
    %row = memref.subview %A[%i, 1] [1, 4] [1, 1] : memref<?x5xf64> to memref<4xf64, strided<[1], offset: ?>>
    %row_cast = "memref.cast"(%row) : (memref<4xf64, strided<[1], offset: ?>>) -> memref<?xf64>
    %after = func.call @ping(%four, %row_cast, %s) : (index, memref<?xf64>, f64) -> f64
  }
  %column = memref.subview %A[0, 3] [%rows, 1] [1, 1] : memref<?x5xf64> to memref<?xf64, strided<[5], offset: 3>>
  %column_cast = "memref.cast"(%column) : (memref<?xf64, strided<[5], offset: 3>>) -> memref<?xf64, strided<[?], offset: ?>>
  %r = func.call @sparse(%column_cast) : (memref<?xf64, strided<[?], offset: ?>>) -> f64
  func.return %r : f64
}
