/* What tapeflow_rt.h promises, checked in C: one function a promise, run under sanitizers by test_runtime.py. */
#include <stdio.h>
#include <stdlib.h>

static long allocations;     /* since the start */
static long failing_from = -1; /* the number of the first allocation that fails, or -1 */

static void *counted_malloc(size_t bytes)
{
    if (failing_from >= 0 && allocations >= failing_from) return NULL;
    allocations++;
    return malloc(bytes);
}

#define malloc counted_malloc
#include "tapeflow_rt.h"
#undef malloc

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct {
    double t;
    bool c;
} record;

static void sizes(void)
{
    CHECK(TF_BYTES(double, 0) == 0);
    CHECK(TF_BYTES(double, -5) == 0);
    CHECK(TF_BYTES(double, 1) == 64);
    CHECK(TF_BYTES(double, 8) == 64);
    CHECK(TF_BYTES(double, 9) == 128);
    CHECK(TF_BYTES(record, PTRDIFF_MAX) == TF_MOST_BYTES);
    CHECK(TF_BYTES(double, PTRDIFF_MAX) + TF_BYTES(double, PTRDIFF_MAX) == 2 * TF_MOST_BYTES);
    CHECK(tf_times(1 << 30, 1 << 30) == (ptrdiff_t)1 << 60);
    CHECK(tf_times(PTRDIFF_MAX, 2) == PTRDIFF_MAX);
    CHECK(tf_times(PTRDIFF_MIN, -1) == PTRDIFF_MAX);
    CHECK(tf_times(PTRDIFF_MAX, -2) == PTRDIFF_MIN);
    CHECK(tf_times(-2, PTRDIFF_MAX) == PTRDIFF_MIN);
    CHECK(tf_times(-3, -5) == 15 && tf_times(0, PTRDIFF_MIN) == 0 && tf_times(-3, 5) == -15);
    CHECK(tf_plus(PTRDIFF_MAX, 1) == PTRDIFF_MAX && tf_plus(PTRDIFF_MIN, -1) == PTRDIFF_MIN && tf_plus(2, 3) == 5);
}

static void arena(void)
{
    tf_tape *tf = tf_new();
    CHECK(tf && !tf->error);
    CHECK(tf_reserve(tf, 0));
    CHECK(tf_reserve(tf, 1000));
    unsigned char *before = tf->arena;
    CHECK((uintptr_t)before % TF_ALIGNMENT == 0);
    memset(tf_take(tf, 1000), 1, 1000);
    CHECK(tf_reserve(tf, 500) && tf->arena == before); /* used again */
    CHECK(tf_reserve(tf, 100000));
    memset(tf_take(tf, 100000), 2, 100000);
    CHECK(!tf_reserve(tf, TF_MOST_BYTES) && tf->error && !strcmp(tf->error, TF_OUT_OF_MEMORY));
    CHECK(!tf_reserve(tf, 3 * TF_MOST_BYTES) && tf->error);
    CHECK(tf_reserve(tf, 64) && !tf->error); /* the next call works */
    memset(tf_take(tf, 64), 3, 64);
    tf_free(tf);
    tf_free(NULL);
}

/* Record n values and replay them; false if memory ran out on the way. */
static bool round_trip(tf_tape *tf, int n)
{
    if (!tf_reserve(tf, 0)) return false;
    TF_TAPE_GROW(tape_i, record);
    for (int i = 0; i < n; i++) TF_RECORD_GROW(tape_i, (record){i, i % 3 == 0});
    if (tf->error) return false;
    TF_TURN_GROW(tape_i);
    CHECK(tf->use_count == 1 && tf->uses[0].bytes == n * sizeof(record));
    for (int i = n - 1; i >= 0; i--) {
        const record at_i = TF_REPLAY_GROW(tape_i);
        CHECK(at_i.t == i && at_i.c == (i % 3 == 0));
    }
    TF_CLOSE_GROW(tape_i);
    return true;
}

static void growing(void)
{
    tf_tape *tf = tf_new();
    for (int n = 0; n < 2000; n = n * 3 / 2 + 1) CHECK(round_trip(tf, n));
    CHECK(round_trip(tf, 100000));
    const long before = allocations;
    CHECK(round_trip(tf, 100000) && round_trip(tf, 70000));
    CHECK(allocations == before); /* chunks are used again */
    tf_free(tf);
}

static void failing(void)
{
    for (long k = 0; k < 12; k++) {
        tf_tape *tf = tf_new();
        failing_from = allocations + k;
        const bool enough = round_trip(tf, 100000);
        CHECK(enough == (tf->error == NULL));
        CHECK(enough || !strcmp(tf->error, TF_OUT_OF_MEMORY));
        failing_from = -1;
        CHECK(round_trip(tf, 100000) && !tf->error); /* the next call works */
        tf_free(tf);
    }
    tf_tape *tf = tf_new();
    failing_from = allocations;
    CHECK(!tf_reserve(tf, 64) && tf->error);
    failing_from = -1;
    CHECK(tf_reserve(tf, 64) && !tf->error);
    tf_free(tf);
}

static void arithmetic(void)
{
    CHECK(tf_floordiv(7, 2) == 3 && tf_floordiv(-7, 2) == -4 && tf_floordiv(7, -2) == -4 && tf_floordiv(-6, 2) == -3);
    CHECK(tf_ceildiv(7, 2) == 4 && tf_ceildiv(-7, 2) == -3 && tf_ceildiv(7, -2) == -3 && tf_ceildiv(6, 2) == 3);
    CHECK(tf_ceildivu(7, 2) == 4 && tf_ceildivu(6, 2) == 3);
    CHECK(tf_min(-1, 2) == -1 && tf_max(-1, 2) == 2 && tf_abs(-3) == 3);
    CHECK(tf_minu((uint64_t)-1, 2) == 2 && tf_maxu((uint64_t)-1, 2) == (uint64_t)-1);
    CHECK(isnan(tf_minimum(NAN, 1)) && isnan(tf_maximum(1, NAN)) && isnan(tf_minimumf(NAN, 1)));
    CHECK(signbit(tf_minimum(0.0, -0.0)) && signbit(tf_minimum(-0.0, 0.0)));
    CHECK(!signbit(tf_maximum(0.0, -0.0)) && !signbit(tf_maximum(-0.0, 0.0)));
    CHECK(tf_minimum(1, 2) == 1 && tf_maximum(1, 2) == 2 && tf_maximumf(-1, -2) == -1);
}

int main(void)
{
    sizes();
    arena();
    growing();
    failing();
    arithmetic();
    return 0;
}
