// RUN: tapeflow-opt %s | filecheck %s

struct Point {double x, y;};
struct Body {double mass; double w[3]; struct Point at;};

// What comes from outside keeps its layout: an array of numbers whose last dimension is one struct.
double energy(int n, const struct Body bodies[n])
{
  double e = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++)
      e += bodies[i].mass * bodies[i].w[k] * bodies[i].at.y;
  return e;
}
// CHECK-LABEL: func.func @energy
// CHECK-SAME:    %bodies: memref<?x6xf64> {tapeflow.name = "bodies", tapeflow.extents = ["n", "6"], tapeflow.const, tapeflow.record = {name = "bodies", type = "struct Body", bytes = 48 : i64
// CHECK:           memref.load %bodies[%i, %c0] : memref<?x6xf64>
// CHECK:           %[[K:.*]] = arith.addi %k, %c1 : index
// CHECK-NEXT:      memref.load %bodies[%i, %[[K]]] : memref<?x6xf64>
// CHECK:           memref.load %bodies[%i, %c5] : memref<?x6xf64>

// Where the members have several types, one such array for each: the same memory seen as that type.
struct Cell {double u; int kind; float f;};
double choose(struct Cell *c) { return c->kind ? c->u : c->f; }
// CHECK-LABEL: func.func @choose
// CHECK-SAME:    %c_double: memref<?x2xf64> {
// CHECK-SAME:    %c_int: memref<?x4xi32> {
// CHECK-SAME:    %c_float: memref<?x4xf32> {
// CHECK:         memref.load %c_int[%c0, %c2] : memref<?x4xi32>

// A struct of the function's own is its members, and so is a copy; an array of structs has an array for each.
double local(int i, const struct Body *b)
{
  struct Body c = *b;
  struct Point p[4] = {{1, 2}};
  return c.at.x + p[i].y;
}
// CHECK-LABEL: func.func @local
// CHECK:         %c_mass = memref.alloca() : memref<f64>
// CHECK-NEXT:    %c_w = memref.alloca() : memref<3xf64>
// CHECK-NEXT:    %c_at_x = memref.alloca() : memref<f64>
// CHECK-NEXT:    %c_at_y = memref.alloca() : memref<f64>
// CHECK:         %p_x = memref.alloca() : memref<4xf64>
// CHECK-NEXT:    %p_y = memref.alloca() : memref<4xf64>
// CHECK:         memref.load %p_y[%{{.*}}] : memref<4xf64>

// By value, as a result and by pointer: the memory is passed, and where in it the struct lies.
static struct Point middle(struct Point p, const struct Point *q)
{
  return (struct Point){(p.x + q->x) / 2, (p.y + q->y) / 2};
}
double between(const struct Body *b, struct Point to) { return middle(b[1].at, &to).y; }
// CHECK-LABEL: func.func @between
// CHECK:         %middle_x = memref.alloca() : memref<f64>
// CHECK-NEXT:    %middle_y = memref.alloca() : memref<f64>
// CHECK-NEXT:    func.call @middle_at(%b, %c1, %to, %middle_x, %middle_y) : (memref<?x6xf64>, index, memref<2xf64>, memref<f64>, memref<f64>) -> ()
// CHECK-NEXT:    memref.load %middle_y[] : memref<f64>
// CHECK-LABEL: func.func private @middle_at(%p: memref<?x6xf64>
// CHECK-SAME:    %p_at: index
// CHECK-SAME:    %q: memref<2xf64>
