/* driver.h: what the generated driver of a batch of random programs is written in. See batches.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tapeflow_rt.h"

#include "dual.h"

/* A floating-point parameter: a scalar or an array, flat; its numbers are drawn in double and held in its own type. */
typedef struct {
    const char *name;
    int single, differentiated, scalar, left_out;
    ptrdiff_t count;
    double *values, *tangents, *cotangents;
    dual *duals;
} input;

/* The buffers of one call: what the program gets, and a shadow for each. */
typedef struct {
    void *arrays[16], *shadows[16], *drawn[16];
    double value;
} run;

static const char *program_name;
static int program_n, program_m, failures;
static uint64_t draw_state;

#define FAIL(stage, ...) \
    do { \
        printf("FAIL %s n=%d m=%d %s: ", program_name, program_n, program_m, stage); \
        printf(__VA_ARGS__); \
        printf("\n"); \
        failures++; \
    } while (0)

/* splitmix64 */
static uint64_t draw_bits(void)
{
    uint64_t z = (draw_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number in [-1.5, 1.5). */
static double draw(int single)
{
    const double value = (double)(draw_bits() >> 11) * 0x1p-53 * 3.0 - 1.5;
    return single ? (double)(float)value : value;
}

static void *allocate(size_t count, size_t size)
{
    void *block = malloc(count * size);
    if (!block) abort();
    return block;
}

static int *draw_integers(ptrdiff_t count)
{
    int *block = allocate((size_t)count, sizeof(int));
    for (ptrdiff_t k = 0; k < count; k++) block[k] = (int)(draw_bits() % 1000u);
    return block;
}

static void draw_inputs(input *inputs, int count)
{
    for (int k = 0; k < count; k++) {
        input *in = &inputs[k];
        in->values = allocate((size_t)in->count, sizeof(double));
        in->tangents = allocate((size_t)in->count, sizeof(double));
        in->cotangents = allocate((size_t)in->count, sizeof(double));
        in->duals = allocate((size_t)in->count, sizeof(dual));
        for (ptrdiff_t j = 0; j < in->count; j++) {
            in->values[j] = draw(in->single);
            in->tangents[j] = in->differentiated ? draw(in->single) : 0.0;
            in->cotangents[j] = in->scalar || in->left_out ? 0.0 : draw(in->single);
            in->duals[j] = (dual){in->values[j], in->tangents[j], fabs(in->tangents[j])};
        }
    }
}

static void free_inputs(input *inputs, int count)
{
    for (int k = 0; k < count; k++) {
        free(inputs[k].values), free(inputs[k].tangents), free(inputs[k].cotangents), free(inputs[k].duals);
    }
}

static double get(const input *in, const void *block, ptrdiff_t k)
{
    return in->single ? (double)((const float *)block)[k] : ((const double *)block)[k];
}

static void *filled(const input *in, const double *from)
{
    void *block = allocate((size_t)in->count, in->single ? sizeof(float) : sizeof(double));
    for (ptrdiff_t k = 0; k < in->count; k++) {
        if (in->single) ((float *)block)[k] = (float)from[k];
        else ((double *)block)[k] = from[k];
    }
    return block;
}

static run begin_run(const input *inputs, int count)
{
    run r;
    for (int k = 0; k < count; k++) {
        r.arrays[k] = filled(&inputs[k], inputs[k].values);
        r.shadows[k] = filled(&inputs[k], inputs[k].cotangents);
    }
    r.value = 0.0;
    return r;
}

/* A run whose shadows are tangents. */
static run begin_forward_run(const input *inputs, int count)
{
    run r;
    for (int k = 0; k < count; k++) {
        r.arrays[k] = filled(&inputs[k], inputs[k].values);
        r.shadows[k] = filled(&inputs[k], inputs[k].tangents);
    }
    r.value = 0.0;
    return r;
}

/* A run for several derivatives: the shadows of all are side by side; what was drawn for them is kept. */
static run begin_batch_run(const input *inputs, int count, int members)
{
    run r;
    for (int k = 0; k < count; k++) {
        const input *in = &inputs[k];
        const size_t size = in->single ? sizeof(float) : sizeof(double), total = (size_t)in->count * (size_t)members;
        r.arrays[k] = filled(in, in->values);
        r.drawn[k] = allocate(total, size);
        for (size_t j = 0; j < total; j++) {
            if (in->single) ((float *)r.drawn[k])[j] = in->left_out ? 0.0f : (float)draw(1);
            else ((double *)r.drawn[k])[j] = in->left_out ? 0.0 : draw(0);
        }
        r.shadows[k] = memcpy(allocate(total, size), r.drawn[k], total * size);
    }
    r.value = 0.0;
    return r;
}

/* A run for one of them alone. */
static run begin_member_run(const input *inputs, int count, const run *batch, int members, int member)
{
    run r;
    for (int k = 0; k < count; k++) {
        const input *in = &inputs[k];
        r.arrays[k] = filled(in, in->values);
        r.shadows[k] = allocate((size_t)in->count, in->single ? sizeof(float) : sizeof(double));
        for (ptrdiff_t j = 0; j < in->count; j++) {
            const double drawn = get(in, batch->drawn[k], j * members + member);
            if (in->single) ((float *)r.shadows[k])[j] = (float)drawn;
            else ((double *)r.shadows[k])[j] = drawn;
        }
    }
    r.value = 0.0;
    return r;
}

static void end_batch_run(run *r, int count)
{
    for (int k = 0; k < count; k++) free(r->arrays[k]), free(r->shadows[k]), free(r->drawn[k]);
}

static void end_run(run *r, int count)
{
    for (int k = 0; k < count; k++) free(r->arrays[k]), free(r->shadows[k]);
}

/* Whether two numbers are the same bits; zeros of either sign are. */
static int same(double a, double b) { return a == b || memcmp(&a, &b, sizeof a) == 0; }

/* The program as C against the program on dual numbers: their values are computed by the same operations. */
static void compare_values(const char *stage, const input *inputs, int count, const run *r, dual value)
{
    if (!same(r->value, value.v)) FAIL(stage, "value %.17g, should be %.17g", r->value, value.v);
    for (int k = 0; k < count; k++) {
        for (ptrdiff_t j = 0; j < inputs[k].count && !inputs[k].scalar; j++) {
            const double is = get(&inputs[k], r->arrays[k], j);
            if (!same(is, inputs[k].duals[j].v)) {
                FAIL(stage, "final %s[%td] is %.17g, should be %.17g", inputs[k].name, j, is, inputs[k].duals[j].v);
                break;
            }
        }
    }
}

/* Whether a stage gives the very gradient that another gave. */
static void compare_runs(const char *stage, const char *other, const input *inputs, int count, const run *r, const run *s)
{
    for (int k = 0; k < count; k++) {
        for (ptrdiff_t j = 0; j < inputs[k].count; j++) {
            const double is = get(&inputs[k], r->shadows[k], j), was = get(&inputs[k], s->shadows[k], j);
            if (!same(is, was)) {
                FAIL(stage, "adjoint of %s[%td] is %.17g, but %.17g in %s", inputs[k].name, j, is, was, other);
                break;
            }
        }
    }
}

/* Whether a derivative of a batch is the very one that a call for it alone gave. */
static void compare_member(
    const char *stage, const input *inputs, int count, const run *r, const run *batch, int members, int member)
{
    for (int k = 0; k < count; k++) {
        for (ptrdiff_t j = 0; j < inputs[k].count; j++) {
            const double is = get(&inputs[k], batch->shadows[k], j * members + member);
            const double was = get(&inputs[k], r->shadows[k], j);
            if (!same(is, was)) {
                FAIL(stage, "derivative %d of %s[%td] is %.17g, alone %.17g", member, inputs[k].name, j, is, was);
                break;
            }
        }
    }
}

/* Every tangent against that of the dual numbers, in units of what was added up in it. Tangents of an array that is
 * neither written nor active stay what they were. */
static void compare_tangents(
    const char *stage, const input *inputs, int count, const run *r, dual value, double tangent, double tolerance)
{
    if (!(fabs(tangent - value.d) <= tolerance * (value.m + 1e-6)))
        FAIL(stage, "tangent %.17g, should be %.17g", tangent, value.d);
    for (int k = 0; k < count; k++) {
        for (ptrdiff_t j = 0; j < inputs[k].count && !inputs[k].scalar; j++) {
            const dual should = inputs[k].duals[j];
            const double is = get(&inputs[k], r->shadows[k], j);
            if (!(fabs(is - should.d) <= tolerance * (should.m + 1e-6))) {
                FAIL(stage, "tangent of %s[%td] is %.17g, should be %.17g", inputs[k].name, j, is, should.d);
                break;
            }
        }
    }
}

/* <J v, w> against <v, J^T w>, both in units of all that was added up. */
static void compare_products(
    const char *stage, const input *inputs, int count, const run *r, dual value, double seed, double tolerance)
{
    double left = value.d * seed, right = 0.0, scale = fabs(value.m * seed);
    for (int k = 0; k < count; k++) {
        for (ptrdiff_t j = 0; j < inputs[k].count; j++) {
            if (!inputs[k].scalar) {
                left += inputs[k].duals[j].d * inputs[k].cotangents[j];
                scale += fabs(inputs[k].duals[j].m * inputs[k].cotangents[j]);
            }
            if (inputs[k].differentiated) right += get(&inputs[k], r->shadows[k], j) * inputs[k].tangents[j];
        }
    }
    if (!(fabs(left - right) <= tolerance * (scale + 1e-6)))
        FAIL(stage, "<J v, w> = %.17g, but <v, J^T w> = %.17g; rounding is of order %.1e", left, right, scale * 1e-16);
}

static void print_numbers(const char *key, const char *name, const input *in, const void *block)
{
    printf("RUN %s %s%s", program_name, key, name);
    for (ptrdiff_t j = 0; j < in->count; j++) printf(" %a", get(in, block, j));
    printf("\n");
}

/* The arguments and results of a run, for the interpreter. */
static void print_run(const input *inputs, int count, const run *r, double seed)
{
    printf("RUN %s seed %a\nRUN %s value %a\n", program_name, seed, program_name, r->value);
    for (int k = 0; k < count; k++) {
        const input *in = &inputs[k];
        printf("RUN %s input:%s", program_name, in->name);
        for (ptrdiff_t j = 0; j < in->count; j++) printf(" %a", in->values[j]);
        printf("\nRUN %s seed:%s", program_name, in->name);
        for (ptrdiff_t j = 0; j < in->count; j++) printf(" %a", in->cotangents[j]);
        printf("\n");
        print_numbers("adjoint:", in->name, in, r->shadows[k]);
        print_numbers("final:", in->name, in, r->arrays[k]);
    }
}

static void print_integers(const char *name, const int *block, ptrdiff_t count)
{
    printf("RUN %s input:%s", program_name, name);
    for (ptrdiff_t j = 0; j < count; j++) printf(" %a", (double)block[j]);
    printf("\n");
}
