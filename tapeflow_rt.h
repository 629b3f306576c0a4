/* tapeflow_rt.h: what the C that Tapeflow generates is written in.
 *
 * Header-only C99 (C++ may include it too). A generated f_grad.c, f_grad.h and this file build alone:
 *
 *     cc -std=c99 -O2 -ffp-contract=off -c f_grad.c        (link with -lm)
 *
 *     tf_tape *tf = tf_new();                  one a thread; memory is reused by later calls
 *     double s = f_grad(tf, n, x, 1.0, x_b);   x_b: zeros, or what to add to
 *     if (tf->error) { ... }                   out of memory, or of stack
 *     tf_free(tf);
 *
 * The generated text is the same for two machines. Here is the native one: a region of the tape is one array, a
 * scratchpad buffer is a pointer into it, "full" and "empty" are never, and so layers collapse to plain loops. With
 * TF_MODEL defined, tapeflow_model.h gives the same macros to a model of the hardware; what a macro costs there is said
 * behind "model:". All macros take the name of an array or tape first, and may use the parameter `tf`.
 */
#ifndef TAPEFLOW_RT_H
#define TAPEFLOW_RT_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- the runtime object ------------------------------------------------------------------------------------------ */

#define TF_ALIGNMENT 64u
#define TF_FIRST_CHUNK_BYTES 4096u
#define TF_OUT_OF_MEMORY "out of memory"
#define TF_STACK_OVERFLOW "this recursion is too deep for the stack"

/* A piece of a tape that has no reservation; its records follow it in memory. Chunks never move. */
typedef struct tf_chunk {
    struct tf_chunk *below, *above; /* within one tape */
    struct tf_chunk *next;          /* among all of a tf_tape, in use or idle */
    uint64_t bytes;
} tf_chunk;

/* What one tape held at the turn-around of the last call. */
typedef struct {
    const char *name;
    uint64_t bytes;
} tf_use;

/* Everything that a gradient keeps between two calls; zero-initialised is a valid state. */
typedef struct tf_tape {
    const char *error;     /* what went wrong in the last call, or NULL */
    void *model;           /* state of the modelled machine, or NULL */
    uintptr_t stack_limit; /* the lowest address that the stack of a recursion may reach, or 0: see tf_limit_stack */

    unsigned char *arena; /* the memory of all tapes and arrays with a reservation, aligned to TF_ALIGNMENT */
    void *arena_block;    /* ... as malloc gave it */
    uint64_t arena_bytes, arena_used;

    tf_chunk *chunks_in_use, *chunks_idle;

    tf_use *uses; /* in order of the turn-around */
    size_t use_count, use_room;
} tf_tape;

/* --- memory ------------------------------------------------------------------------------------------------------ */

/* Counts and byte counts saturate far above what any machine has, so that sums of them cannot wrap. */
#define TF_MOST_BYTES ((uint64_t)1 << 52)

/* Bytes that `count` elements of `size` bytes take in the arena: none if `count` is negative, padded, saturating. */
static inline uint64_t tf_bytes(size_t size, ptrdiff_t count)
{
    if (count <= 0) return 0;
    if ((uint64_t)count > TF_MOST_BYTES / size) return TF_MOST_BYTES;
    return ((uint64_t)count * size + (TF_ALIGNMENT - 1)) / TF_ALIGNMENT * TF_ALIGNMENT;
}

#define TF_BYTES(T, count) tf_bytes(sizeof(T), count)

/* The product of two counts, and their sum; at most PTRDIFF_MAX instead of an overflow. */
static inline ptrdiff_t tf_times(ptrdiff_t a, ptrdiff_t b)
{
    if (a > 0 && b > PTRDIFF_MAX / a) return PTRDIFF_MAX;
    if (a < 0 && b < PTRDIFF_MAX / a) return PTRDIFF_MAX;
    if (a > 0 && b < PTRDIFF_MIN / a) return PTRDIFF_MIN;
    if (b > 0 && a < PTRDIFF_MIN / b) return PTRDIFF_MIN;
    return a * b;
}

static inline ptrdiff_t tf_plus(ptrdiff_t a, ptrdiff_t b)
{
    if (b > 0 && a > PTRDIFF_MAX - b) return PTRDIFF_MAX;
    if (b < 0 && a < PTRDIFF_MIN - b) return PTRDIFF_MIN;
    return a + b;
}

/* The next `bytes` of the arena, of which tf_reserve has made sure. Where nothing was ever reserved there is no arena,
 * and no byte to take: any address will do but NULL, to which C does not even let one add 0. */
static inline void *tf_take(tf_tape *tf, uint64_t bytes)
{
    void *taken = tf->arena ? (void *)(tf->arena + tf->arena_used) : (void *)tf;
    tf->arena_used += bytes;
    assert(tf->arena_used <= tf->arena_bytes);
    return taken;
}

/* Note that the tape `name` holds `bytes`; forgotten silently if there is no memory to note it. */
static inline void tf_note_use(tf_tape *tf, const char *name, uint64_t bytes)
{
    if (tf->use_count == tf->use_room) {
        const size_t room = 2 * tf->use_room + 8;
        tf_use *uses = (tf_use *)realloc(tf->uses, room * sizeof(tf_use));
        if (!uses) return;
        tf->uses = uses;
        tf->use_room = room;
    }
    tf->uses[tf->use_count].name = name;
    tf->uses[tf->use_count].bytes = bytes;
    tf->use_count++;
}

/* A tape without a reservation: the chunk at hand, and how much the chunks below it hold. */
typedef struct {
    void *low, *high;
    tf_chunk *chunk;
    uint64_t bytes_below;
} tf_stack;

/* The same, shared by functions that call one another: with its top, and a place for a record when there is no memory. */
typedef struct {
    tf_stack stack;
    void *top;
    void *scrap;
} tf_shared;

static inline unsigned char *tf_chunk_records(tf_chunk *chunk)
{
    return (unsigned char *)(chunk + 1) + (TF_ALIGNMENT - sizeof(tf_chunk) % TF_ALIGNMENT) % TF_ALIGNMENT;
}

/* A chunk for at least `bytes`: an idle one, or a new one; NULL when there is no memory. */
static inline tf_chunk *tf_chunk_for(tf_tape *tf, uint64_t bytes)
{
    tf_chunk **link = &tf->chunks_idle;
    while (*link && (*link)->bytes < bytes) link = &(*link)->next;
    tf_chunk *chunk = *link;
    if (chunk) {
        *link = chunk->next;
    } else {
        if (bytes > TF_MOST_BYTES || bytes > SIZE_MAX - 2 * TF_ALIGNMENT - sizeof(tf_chunk)) return NULL;
        chunk = (tf_chunk *)malloc(sizeof(tf_chunk) + TF_ALIGNMENT + (size_t)bytes);
        if (!chunk) return NULL;
        chunk->bytes = bytes;
    }
    chunk->next = tf->chunks_in_use;
    tf->chunks_in_use = chunk;
    chunk->above = NULL;
    return chunk;
}

/* Where the next record goes when the chunk at hand is full. Without memory that is `scrap`, again and again: the
 * forward sweep runs to its end in order, and the function returns there because tf->error is set. */
static inline void *tf_grow(tf_tape *tf, tf_stack *stack, size_t record_bytes, void *scrap)
{
    tf_chunk *chunk = stack->chunk ? stack->chunk->above : NULL;
    if (!tf->error && !chunk) {
        uint64_t bytes = stack->chunk ? 2 * stack->chunk->bytes : TF_FIRST_CHUNK_BYTES;
        if (bytes < record_bytes) bytes = record_bytes;
        chunk = tf_chunk_for(tf, bytes);
        if (!chunk) tf->error = TF_OUT_OF_MEMORY;
    }
    if (tf->error) {
        stack->low = scrap;
        stack->high = (unsigned char *)scrap + record_bytes;
        return scrap;
    }
    if (stack->chunk) {
        stack->bytes_below += stack->chunk->bytes / record_bytes * record_bytes;
        stack->chunk->above = chunk;
    }
    chunk->below = stack->chunk;
    stack->chunk = chunk;
    stack->low = tf_chunk_records(chunk);
    stack->high = tf_chunk_records(chunk) + chunk->bytes / record_bytes * record_bytes;
    return stack->low;
}

/* One past the newest record when the chunk at hand is used up. */
static inline void *tf_shrink(tf_stack *stack, size_t record_bytes)
{
    stack->chunk = stack->chunk->below;
    const uint64_t bytes = stack->chunk->bytes / record_bytes * record_bytes;
    stack->bytes_below -= bytes;
    stack->low = tf_chunk_records(stack->chunk);
    stack->high = tf_chunk_records(stack->chunk) + bytes;
    return stack->high;
}

/* Give back a chunk that was taken for a local array. */
static inline void tf_chunk_back(tf_tape *tf, tf_chunk *chunk)
{
    tf_chunk **link = &tf->chunks_in_use;
    while (*link != chunk) link = &(*link)->next;
    *link = chunk->next;
    chunk->next = tf->chunks_idle;
    tf->chunks_idle = chunk;
}

/* --- arithmetic that C lacks ------------------------------------------------------------------------------------- */

static inline int64_t tf_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tf_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline uint64_t tf_minu(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t tf_maxu(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline int64_t tf_abs(int64_t a) { return a < 0 ? -a : a; }

/* The quotient rounded down, and up. */
static inline int64_t tf_floordiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t tf_ceildiv(int64_t a, int64_t b) { return a / b + (a % b != 0 && (a < 0) == (b < 0)); }
static inline uint64_t tf_ceildivu(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* The lesser and the greater of two floats as IEEE 754-2019 has them: NaN if either is, -0 below +0.
 * (fmin and fmax give the other operand when one is NaN.) */
static inline double tf_minimum(double a, double b)
{
    if (isnan(a) || isnan(b)) return a + b;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static inline double tf_maximum(double a, double b)
{
    if (isnan(a) || isnan(b)) return a + b;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

static inline float tf_minimumf(float a, float b) { return (float)tf_minimum(a, b); }
static inline float tf_maximumf(float a, float b) { return (float)tf_maximum(a, b); }

/* The derivatives of pi cot(pi x), |x| <= 1/2: polynomials in c = cot(pi x), as c' = -pi (1 + c c). */
static inline double tf_cotangent(int n, double x)
{
    const double pi = 3.14159265358979323846;
    const double tangent = tan(pi * x);
    const double cotangent = 1.0 / tangent;
    double coefficients[34] = {0.0, 1.0}, scale = pi;
    for (int order = 0; order < n; order++) {
        double derived[34] = {0.0};
        for (int k = 1; k < order + 2; k++) {
            derived[k - 1] -= k * coefficients[k];
            derived[k + 1] -= k * coefficients[k];
        }
        for (int k = 0; k < 34; k++) coefficients[k] = derived[k];
        scale *= pi;
    }
    double value = 0.0;
    for (int k = n + 1; k >= 0; k--) value = value * cotangent + coefficients[k];
    return scale * value;
}

/* The derivative of order n of the digamma function for x > 0: recurrence to where the asymptotic series converges
 * (Abramowitz and Stegun 6.3.18, 6.4.11). */
static inline double tf_polygamma_right(int n, double x)
{
    static const double bernoulli[10] = {1 / 6.0, -1 / 30.0, 1 / 42.0, -1 / 30.0, 5 / 66.0, -691 / 2730.0, 7 / 6.0,
                                         -3617 / 510.0, 43867 / 798.0, -174611 / 330.0};
    double factorial = 1.0, sum = 0.0, power;
    for (int k = 2; k <= n; k++) factorial *= k;
    while (x < n + 12.0) {
        power = x;
        for (int k = 0; k < n; k++) power *= x;
        sum += factorial / power;
        x += 1.0;
    }
    power = 1.0;
    for (int k = 0; k < n; k++) power *= x;
    double term = factorial * (n + 1.0) / 2 / power / x / x;
    double series = (n ? factorial / n / power : -log(x)) + factorial / 2 / power / x;
    for (int k = 1; k <= 10; k++) {
        series += bernoulli[k - 1] * term;
        term = term * ((2.0 * k + n) * (2.0 * k + n + 1.0)) / ((2.0 * k + 1.0) * (2.0 * k + 2.0)) / x / x;
    }
    series += sum;
    return n % 2 ? series : -series;
}

/* The derivative of an order from 0 to 30 of the digamma function; NaN at its poles, the integers up to 0.
 * Within 1e-13 (1 + |result|) for orders up to 3. */
static inline double tf_polygamma(double order, double x)
{
    if (!(0.0 <= order && order <= 30.0) || order != floor(order)) return (double)NAN;
    const int n = (int)order;
    if (x > 0 || isnan(x)) return tf_polygamma_right(n, x);
    const double nearest = rint(x);
    if (x == nearest) return (double)NAN;
    const double mirrored = tf_polygamma_right(n, 1.0 - x);
    return (n % 2 ? -mirrored : mirrored) - tf_cotangent(n, x - nearest);
}

static inline float tf_polygammaf(float order, float x) { return (float)tf_polygamma(order, x); }

#ifdef TF_MODEL
#include "tapeflow_model.h"
#endif

/* The number of elements of an array whose outermost extent no parameter gives: more than it has. */
#define TF_ANY_COUNT ((ptrdiff_t)1 << 30)

/* --- a call's begin and end -------------------------------------------------------------------------------------- */

/* Begin a call that needs `bytes` of the arena in all. False, with tf->error set, when there is no memory.
 * model: free; the machine starts cold. */
static inline bool tf_reserve(tf_tape *tf, uint64_t bytes)
{
    tf->error = NULL;
    tf->arena_used = 0;
    tf->use_count = 0;
    while (tf->chunks_in_use) {
        tf_chunk *chunk = tf->chunks_in_use;
        tf->chunks_in_use = chunk->next;
        chunk->next = tf->chunks_idle;
        tf->chunks_idle = chunk;
    }
#ifdef TF_MODEL
    if (!tf_m_reset(tf)) {
        tf->error = TF_OUT_OF_MEMORY;
        return false;
    }
#endif
    if (bytes <= tf->arena_bytes) return true;
    free(tf->arena_block);
    tf->arena_block = bytes <= SIZE_MAX / 2 && bytes < TF_MOST_BYTES ? malloc((size_t)bytes + TF_ALIGNMENT) : NULL;
    if (!tf->arena_block) {
        tf->arena = NULL;
        tf->arena_bytes = 0;
        tf->error = TF_OUT_OF_MEMORY;
        return false;
    }
    tf->arena = (unsigned char *)tf->arena_block;
    tf->arena += (TF_ALIGNMENT - (uintptr_t)tf->arena_block % TF_ALIGNMENT) % TF_ALIGNMENT;
    tf->arena_bytes = bytes;
    return true;
}

/* From here on calls may use `bytes` more of the stack, which grows downwards: a recursion that goes deeper ends with
 * tf->error set, instead of the program. Without it the stack is the caller's concern. */
static inline void tf_limit_stack(tf_tape *tf, size_t bytes)
{
#ifdef __GNUC__
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    tf->stack_limit = here > bytes ? here - bytes : 0;
#else
    (void)tf, (void)bytes;
#endif
}

static inline bool tf_too_deep(tf_tape *tf)
{
#ifdef __GNUC__
    if ((uintptr_t)__builtin_frame_address(0) < tf->stack_limit && !tf->error) tf->error = TF_STACK_OVERFLOW;
#endif
    return tf->error != NULL;
}

/* A function that calls itself, directly or not, begins; it ends at once if the stack, or memory, is used up. model:
 * there are no calls. */
#define TF_TOO_DEEP(tf) tf_too_deep(tf)

/* A runtime object without memory yet; NULL when there is none to have. */
static inline tf_tape *tf_new(void)
{
    return (tf_tape *)calloc(1, sizeof(tf_tape));
}

static inline void tf_free_chunks(tf_chunk *chunk)
{
    while (chunk) {
        tf_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

/* Give everything back; `tf` may be NULL. */
static inline void tf_free(tf_tape *tf)
{
    if (!tf) return;
#ifdef TF_MODEL
    tf_m_delete(tf);
#endif
    tf_free_chunks(tf->chunks_in_use);
    tf_free_chunks(tf->chunks_idle);
    free(tf->uses);
    free(tf->arena_block);
    free(tf);
}

#ifdef TF_MODEL

/* A tape without a reservation is a matter of where its memory comes from, which the model's own object knows. */
#define TF_WRITE_GROW TF_WRITE
#define TF_READ_GROW TF_READ
#define TF_CLOSE_GROW TF_CLOSE
#define TF_TURN(tape) ((void)0)
#define TF_TURN_GROW(tape) ((void)0)

/* Layers whose loop goes the other way: up while records are read, down while they are written. */
#define TF_REACH_READING(tape, j, end, step)                                                                           \
    tf_m_reach((j), (end), (step), tf_m_stream_left(&tape, sizeof(tf_type_##tape)))
#define TF_REACH_DOWN_WRITING(tape, j, end, step)                                                                      \
    tf_m_reach_down((j), (end), (step), tf_m_stream_room(&tape, sizeof(tf_type_##tape)))

#else

/* --- the native machine: schedule -------------------------------------------------------------------------------- */

/* A loop body, or a straight piece of code between loops, begins. model: the time of the block, by its schedule. */
#define TF_STEP() ((void)0)

/* The body of a loop that adds floats, in order, to a scalar or to an element that stays the same, begins: as TF_STEP().
 * Vectorising such a loop gcc may count elements twice before its version 14 (its bug 110381), without a word, so it
 * is kept from it by a statement that it cannot vectorise and that does nothing. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14
#define TF_STEP_SUM() __asm__ volatile("")
#else
#define TF_STEP_SUM() ((void)0)
#endif

/* An arm of a branch begins. model: no time (the schedule of its block has it), only the energy of its operations. */
#define TF_ARM() ((void)0)

/* --- arrays ------------------------------------------------------------------------------------------------------ */

/* Array A has `count` elements. model: free; gives A its virtual address. */
#define TF_ARRAY(A, count) ((void)(A), (void)(count))

/* A local array of `count` elements of T, from the arena. model: free; as TF_ARRAY. */
#define TF_LOCAL(A, T, count) T *restrict A = (T *)tf_take(tf, TF_BYTES(T, count))

/* A local array of a function that others call, which cannot reserve; NULL, with tf->error set, without memory. */
#define TF_LOCAL_NESTED(A, T, count)                                                                                   \
    tf_chunk *const A##_chunk = tf_chunk_for(tf, TF_BYTES(T, count));                                                  \
    T *A = A##_chunk ? (T *)(void *)tf_chunk_records(A##_chunk) : NULL;                                                \
    if (!A) tf->error = TF_OUT_OF_MEMORY
#define TF_FREE_NESTED(A) tf_chunk_back(tf, A##_chunk)

/* A[k]. model: a read of the cache. */
#define TF_LOAD(A, k) ((A)[k])

/* A[k] = v. model: a write of the cache. */
#define TF_STORE(A, k, v) ((void)((A)[k] = (v)))

/* A[k] += v. model: a read and a write of the cache, and an addition. */
#define TF_ADD(A, k, v) ((void)((A)[k] += (v)))

/* --- tapes in cache ---------------------------------------------------------------------------------------------- */

/* A stack of at most `count` records of T, in the arena. model: free. */
#define TF_TAPE(tape, T, count)                                                                                        \
    T *const tape##_base = (T *)tf_take(tf, TF_BYTES(T, count));                                                       \
    T *restrict tape = tape##_base

/* Put a record on top. model: a write of the cache for every 8 bytes. */
#define TF_RECORD(tape, ...) ((void)(*tape++ = __VA_ARGS__))

/* Take the newest record off. model: a read of the cache for every 8 bytes. */
#define TF_REPLAY(tape) (*--tape)

/* The same without a reservation: chunks of doubling size. model: the same costs. */
#define TF_TAPE_GROW(tape, T)                                                                                          \
    tf_stack tape##_stack = {NULL, NULL, NULL, 0};                                                                     \
    T tape##_scrap;                                                                                                    \
    T *tape = NULL

#define TF_RECORD_GROW(tape, ...)                                                                                      \
    do {                                                                                                               \
        if ((void *)tape == tape##_stack.high) tape = tf_grow(tf, &tape##_stack, sizeof *tape, &tape##_scrap);         \
        *tape++ = __VA_ARGS__;                                                                                         \
    } while (0)

#define TF_REPLAY_GROW(tape)                                                                                           \
    (tape = (void *)tape == tape##_stack.low ? tf_shrink(&tape##_stack, sizeof *tape) : tape, *--tape)

/* The same for functions that call one another and share it: one makes it, the others are handed a pointer to it.
 * `T` is the record's type. */
#define TF_TAPE_SHARED(tape, T)                                                                                        \
    T tape##_scrap;                                                                                                    \
    tf_shared tape = {{NULL, NULL, NULL, 0}, NULL, &tape##_scrap}

#define TF_RECORD_SHARED(tape, T, ...)                                                                                 \
    do {                                                                                                               \
        T *tf_top = (T *)tape->top;                                                                                    \
        if ((void *)tf_top == tape->stack.high) tf_top = (T *)tf_grow(tf, &tape->stack, sizeof(T), tape->scrap);       \
        *tf_top = __VA_ARGS__;                                                                                         \
        tape->top = tf_top + 1;                                                                                        \
    } while (0)

#define TF_REPLAY_SHARED(tape, T)                                                                                      \
    (tape->top = (T *)(tape->top == tape->stack.low ? tf_shrink(&tape->stack, sizeof(T)) : tape->top) - 1,             \
     *(T *)tape->top)

/* --- tapes that go through the scratchpad ------------------------------------------------------------------------ */

/* A stack of at most `count` records of T: tiles of `records`, `buffers` of them on chip. model: free. */
#define TF_OPEN(tape, T, buffers, records, count) TF_TAPE(tape, T, count)
#define TF_OPEN_GROW(tape, T, buffers, records) TF_TAPE_GROW(tape, T)

/* Put a record on top; the tile is not full. model: a write of the scratchpad for every word of its port. */
#define TF_WRITE(tape, ...) TF_RECORD(tape, __VA_ARGS__)
#define TF_WRITE_GROW(tape, ...) TF_RECORD_GROW(tape, __VA_ARGS__)

/* Take the newest record off; the tile is not empty. model: a read of the scratchpad for every word of its port. */
#define TF_READ(tape) TF_REPLAY(tape)
#define TF_READ_GROW(tape) TF_REPLAY_GROW(tape)

/* Whether the tile has no room, or no record. model: an integer comparison. */
#define TF_FULL(tape) false
#define TF_EMPTY(tape) false

/* Where a loop over j that writes a record an iteration must stop for the tile: at `end`, or before. `_DOWN`: where a
 * loop that counts down and reads a record an iteration must; then two for the other directions.
 * model: an integer comparison. */
#define TF_REACH(tape, j, end, step) (end)
#define TF_REACH_DOWN(tape, j, end, step) (end)
#define TF_REACH_READING(tape, j, end, step) (end)
#define TF_REACH_DOWN_WRITING(tape, j, end, step) (end)

/* Transfers that block. Drain the full tile and turn to the next; turn to the tile below, fetching it unless it is on
 * chip; wait. model: a descriptor and its bursts, a stall until they are done. */
#define TF_DMA_OUT(tape) ((void)0)
#define TF_DMA_IN(tape) ((void)0)
#define TF_DMA_WAIT(tape) ((void)0)

/* Streams. Start to drain the full tile and turn to the next; start to fetch what the buffer just emptied needs next;
 * turn to the tile below. model: a descriptor and its bursts in the background, a stall only for what is not ready. */
#define TF_PUSH(tape) ((void)0)
#define TF_PREFETCH(tape) ((void)0)
#define TF_POP(tape) ((void)0)

/* --- the turn-around and the end --------------------------------------------------------------------------------- */

/* The forward sweep is over: note what the tape holds. model: free. */
#define TF_TURN(tape) tf_note_use(tf, #tape, (uint64_t)(tape - tape##_base) * sizeof *tape)
#define TF_TURN_SHARED(tape)                                                                                           \
    tf_note_use(tf, #tape, tape.stack.bytes_below + (uint64_t)((char *)tape.top - (char *)tape.stack.low))
#define TF_TURN_GROW(tape)                                                                                             \
    tf_note_use(tf, #tape, tape##_stack.bytes_below + (uint64_t)((char *)tape - (char *)tape##_stack.low))

/* Nothing is left (checked unless NDEBUG is defined). model: free; the last transfers end, and are checked. */
#define TF_CLOSE(tape) assert(tape == tape##_base)
#define TF_CLOSE_GROW(tape) assert((void *)tape == tape##_stack.low && tape##_stack.bytes_below == 0)

#endif /* TF_MODEL */

#endif /* TAPEFLOW_RT_H */
