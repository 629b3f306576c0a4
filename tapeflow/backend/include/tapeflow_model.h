/* The machine that generated C runs on: the model half of every macro of tapeflow_rt.h.
 *
 * The program computes its values as it always does; beside that each macro drives a datapath with a static schedule, a
 * cache, a scratchpad with a DMA engine, and DRAM. What comes out are integers (TF_COUNTERS); Python turns them into
 * seconds, joules and bytes. See docs/model.md.
 *
 * Included by tapeflow_rt.h when TF_MODEL is defined. Two generated headers give the machine and the schedule:
 * "tf_machine.h" (tapeflow.hardware) and TF_SCHEDULE (tapeflow.backend.schedule_header). One translation unit of a
 * shared library that Python drives is compiled with TF_MODEL_EXPORTS.
 */
#ifndef TAPEFLOW_MODEL_H
#define TAPEFLOW_MODEL_H

#include "tapeflow_model_record.h"
#include "tapeflow_model_spad.h"

#ifndef TF_MODEL_UNITS
#include "tapeflow_model_cache.c"
#include "tapeflow_model_call.c"
#include "tapeflow_model_clock.c"
#include "tapeflow_model_dram.c"
#include "tapeflow_model_memory.c"
#include "tapeflow_model_reuse.c"
#include "tapeflow_model_spad.c"
#include "tapeflow_model_timeline.c"
#else
#include "tapeflow_model_call.h"
#endif

/* What a source line costs: written by tapeflow.backend.schedule_header, indexed by __LINE__. */
typedef struct {
    uint32_t kind;   /* TF_LINE_* */
    uint32_t ii;     /* cycles between two iterations that follow one another (TF_STEP lines) */
    uint32_t depth;  /* cycles from the first operation of one iteration to the end of its last (TF_STEP lines) */
    uint32_t offset; /* cycles from the start of the iteration to the issue of this access (access lines) */
    uint32_t slack;  /* cycles from the earliest arrival of the loaded value to its first use (access lines) */
} tf_line;

enum { TF_LINE_NONE = 0, TF_LINE_LOOP = 1, TF_LINE_SEGMENT = 2, TF_LINE_ARM = 3, TF_LINE_ACCESS = 4 };

/* The generated table `tf_lines` and its length TF_LINE_COUNT. */
#ifndef TF_SCHEDULE
#define TF_SCHEDULE "tf_schedule.h"
#endif
#include TF_SCHEDULE

TF_HOT struct tf_model *tf_m(tf_tape *tf)
{
    return (struct tf_model *)tf->model;
}

/* ---- a call: cold start, end, counters ---- */

/* The model's memory goes with the tape's. */
static inline void tf_m_delete(tf_tape *tf)
{
    tf_m_call_delete(tf_m(tf));
    tf->model = NULL;
}

/* A cold start; false when there is no memory. */
static inline bool tf_m_reset(tf_tape *tf)
{
    tf->model = tf_m_call_begin(tf_m(tf), TF_LINE_COUNT, &tf->error);
    return tf->model != NULL;
}

#ifdef TF_MODEL_EXPORTS
/* What Python calls. A call is: tf_model_reset, the function, tf_model_finish, then the counters. */
bool tf_model_reset(tf_tape *tf);
void tf_model_finish(tf_tape *tf);
const char *const *tf_counter_names(void);
size_t tf_counter_count(void);
const uint64_t *tf_counters(tf_tape *tf);
const uint64_t *tf_executions(tf_tape *tf);
size_t tf_line_count(void);

bool tf_model_reset(tf_tape *tf)
{
    return tf_m_reset(tf);
}

void tf_model_finish(tf_tape *tf)
{
    tf_m_call_end(tf_m(tf));
}

const char *const *tf_counter_names(void)
{
    static const char *const names[] = {
#define TF_COUNTER_NAME(name) #name,
        TF_COUNTERS(TF_COUNTER_NAME)
#undef TF_COUNTER_NAME
            NULL};
    return names;
}

size_t tf_counter_count(void)
{
    return sizeof(tf_counter_set) / sizeof(uint64_t);
}

const uint64_t *tf_counters(tf_tape *tf)
{
    return (const uint64_t *)&tf_m(tf)->count;
}

/* How often each line's TF_STEP or TF_ARM ran; tf_line_count entries. */
const uint64_t *tf_executions(tf_tape *tf)
{
    return tf_m(tf)->executions;
}

size_t tf_line_count(void)
{
    return TF_LINE_COUNT;
}

#if TF_REUSE
/* Distances between accesses of a line: bins, accesses in each, first accesses, by owner; and how sampled they are. */
size_t tf_reuse_bins(void);
size_t tf_reuse_exact(void);
const uint64_t *tf_reuse_counts(tf_tape *tf, uint32_t owner);
uint64_t tf_reuse_cold(tf_tape *tf, uint32_t owner);
uint32_t tf_reuse_halvings(tf_tape *tf);

size_t tf_reuse_bins(void)
{
    return TF_REUSE_BINS;
}

size_t tf_reuse_exact(void)
{
    return TF_REUSE_EXACT;
}

const uint64_t *tf_reuse_counts(tf_tape *tf, uint32_t owner)
{
    return tf_m(tf)->reuse->counts[owner];
}

uint64_t tf_reuse_cold(tf_tape *tf, uint32_t owner)
{
    return tf_m(tf)->reuse->cold[owner];
}

uint32_t tf_reuse_halvings(tf_tape *tf)
{
    return tf_m(tf)->reuse->halvings;
}
#endif

#if TF_TIMELINE
/* The run's spans in the order of their ends: those kept, how many there were, one window of how many is kept, and the
 * name of a stream's track, NULL past the last. */
const tf_event *tf_timeline_events(tf_tape *tf);
size_t tf_timeline_kept(tf_tape *tf);
uint64_t tf_timeline_seen(tf_tape *tf);
uint64_t tf_timeline_stride(tf_tape *tf);
const char *tf_timeline_name(tf_tape *tf, size_t track);

const tf_event *tf_timeline_events(tf_tape *tf)
{
    return tf_m(tf)->timeline->events;
}

size_t tf_timeline_kept(tf_tape *tf)
{
    return tf_m(tf)->timeline->kept;
}

uint64_t tf_timeline_seen(tf_tape *tf)
{
    return tf_m(tf)->timeline->seen;
}

uint64_t tf_timeline_stride(tf_tape *tf)
{
    return tf_m(tf)->timeline->stride;
}

const char *tf_timeline_name(tf_tape *tf, size_t track)
{
    return track < tf_m(tf)->timeline->tracks ? tf_m(tf)->timeline->names[track] : NULL;
}
#endif
#endif

/* ---- the macros ---- */

#define TF_M_LINE tf_lines[__LINE__]
#define TF_M_SITE ((uint32_t)__LINE__)
#define TF_M_ADDRESS(A, k) (tf_va_##A + (uint64_t)(k) * sizeof *(A))

/* Where the model takes long, at a miss, the value's own way from memory passes meanwhile. */
#if defined(__GNUC__)
#define TF_M_SOON(A, k) __builtin_prefetch(&(A)[k])
#else
#define TF_M_SOON(A, k) ((void)0)
#endif

/* costs nothing: gives the array its virtual base */
#define TF_ARRAY(A, count)                                                                                             \
    const uint64_t tf_va_##A = tf_m_array(tf_m(tf), (count), sizeof *(A));                                             \
    (void)tf_va_##A

/* costs nothing: memory of a local array, and its virtual base */
#define TF_LOCAL(d, T, count)                                                                                          \
    T *restrict d = (T *)tf_take(tf, TF_BYTES(T, count));                                                              \
    TF_ARRAY(d, count)

/* costs one cache access, and a stall where the value is first used if it has not arrived by then */
#define TF_LOAD(A, k)                                                                                                  \
    (TF_M_SOON(A, k),                                                                                                  \
     tf_m_array_access(tf_m(tf), TF_M_ADDRESS(A, k), false, TF_M_LINE.offset, TF_M_LINE.slack, TF_M_SITE), (A)[k])

/* costs one cache access; a miss fetches the line, but nobody waits for it */
#define TF_STORE(A, k, v)                                                                                              \
    do {                                                                                                               \
        TF_M_SOON(A, k);                                                                                               \
        tf_m_array_access(tf_m(tf), TF_M_ADDRESS(A, k), true, TF_M_LINE.offset, 0, TF_M_SITE);                         \
        (A)[k] = (v);                                                                                                  \
    } while (0)

/* costs two cache accesses, a load and a store */
#define TF_ADD(A, k, v)                                                                                                \
    do {                                                                                                               \
        TF_M_SOON(A, k);                                                                                               \
        tf_m_array_update(tf_m(tf), TF_M_ADDRESS(A, k), TF_M_LINE.offset, TF_M_LINE.slack, TF_M_SITE);                 \
        (A)[k] += (v);                                                                                                 \
    } while (0)

/* costs the block's initiation interval when it follows itself, else the rest of the block before it */
#define TF_STEP() tf_m_step(tf_m(tf), TF_M_SITE, TF_M_LINE.ii, TF_M_LINE.depth)
#define TF_STEP_SUM() TF_STEP()

/* costs no time (the schedule of the block covers its arms), the energy of its operations */
#define TF_ARM() ((void)tf_m(tf)->executions[__LINE__]++)

/* costs nothing: a tape in the cache, with its memory reserved */
#define TF_TAPE(name, T, count)                                                                                        \
    typedef T tf_type_##name;                                                                                          \
    tf_region name;                                                                                                    \
    tf_type_##name tf_at_##name;                                                                                       \
    memset(&tf_at_##name, 0, sizeof tf_at_##name);                                                                     \
    tf_m_region_open(tf_m(tf), &name, sizeof(T), (count), tf_take(tf, TF_BYTES(T, count)))

/* costs nothing: a tape in the cache, of chunks of doubling size */
#define TF_TAPE_GROW(name, T)                                                                                          \
    typedef T tf_type_##name;                                                                                          \
    tf_region name;                                                                                                    \
    tf_type_##name tf_at_##name;                                                                                       \
    memset(&tf_at_##name, 0, sizeof tf_at_##name);                                                                     \
    tf_m_region_open_growing(&name, sizeof(T))

/* costs ceil(bytes / port) cache accesses, stores */
#define TF_RECORD(name, ...)                                                                                           \
    do {                                                                                                               \
        const tf_type_##name tf_record = __VA_ARGS__;                                                                  \
        tf_m_record(tf_m(tf), &name, &tf_record, sizeof tf_record, TF_M_LINE.offset, TF_M_SITE);                             \
    } while (0)

/* costs ceil(bytes / port) cache accesses, loads, and a stall where a field is first used if it is not there by then */
#define TF_REPLAY(name)                                                                                                \
    (tf_m_replay(tf_m(tf), &name, &tf_at_##name, sizeof tf_at_##name, TF_M_LINE.offset, TF_M_LINE.slack, TF_M_SITE),         \
     tf_at_##name)

#define TF_RECORD_GROW TF_RECORD
#define TF_REPLAY_GROW TF_REPLAY

/* costs nothing: takes the scratchpad's bytes for `copies` tiles of `records`, and reserves their home in DRAM */
#define TF_OPEN(name, T, copies, records, count)                                                                       \
    TF_M_OPEN(name, T, copies);                                                                                        \
    tf_m_stream_open_reserved(tf_m(tf), &name, tf_buffers_##name, (copies), sizeof(T), (records), (count),                   \
                              tf_take(tf, TF_BYTES(T, count)))

/* costs nothing: the same, with a home of chunks of doubling size */
#define TF_OPEN_GROW(name, T, copies, records)                                                                         \
    TF_M_OPEN(name, T, copies);                                                                                        \
    tf_m_stream_open_growing(tf_m(tf), &name, tf_buffers_##name, (copies), sizeof(T), (records))

#define TF_M_OPEN(name, T, copies)                                                                                     \
    typedef T tf_type_##name;                                                                                          \
    tf_stream name;                                                                                                    \
    tf_buffer tf_buffers_##name[copies];                                                                               \
    tf_type_##name tf_at_##name;                                                                                       \
    memset(&tf_at_##name, 0, sizeof tf_at_##name);                                                                     \
    tf_m_timeline_name(tf_m(tf), #name)

/* costs ceil(bytes / port) scratchpad accesses */
#define TF_WRITE(name, ...)                                                                                            \
    do {                                                                                                               \
        const tf_type_##name tf_record = __VA_ARGS__;                                                                  \
        tf_m_write(tf_m(tf), &name, &tf_record, sizeof tf_record, TF_M_LINE.offset);                                         \
    } while (0)

/* costs ceil(bytes / port) scratchpad accesses */
#define TF_READ(name) (tf_m_read(tf_m(tf), &name, &tf_at_##name, sizeof tf_at_##name, TF_M_LINE.offset), tf_at_##name)

/* costs an integer comparison (in the schedule's operation mix) */
#define TF_FULL(name) ((name).top == (name).high)
#define TF_EMPTY(name) ((name).top == (name).low)

/* costs nothing: where a loop that records once an iteration must be cut */
#define TF_REACH(name, j, end, step)                                                                                   \
    tf_m_reach((j), (end), (step), tf_m_stream_room(&name, sizeof(tf_type_##name)))

/* costs nothing: where a loop that goes down and reads once an iteration must be cut; `step` > 0 */
#define TF_REACH_DOWN(name, j, end, step)                                                                              \
    tf_m_reach_down((j), (end), (step), tf_m_stream_left(&name, sizeof(tf_type_##name)))

/* blocking transfers: each costs a descriptor and its bursts, TF_DMA_WAIT a stall until they are done */
#define TF_DMA_OUT(name) tf_m_dma_out(tf_m(tf), &name)
#define TF_DMA_IN(name) tf_m_dma_in(tf_m(tf), &name)
#define TF_DMA_WAIT(name) tf_m_dma_wait(tf_m(tf), &name)

/* costs a descriptor and its bursts, and a stall if the next buffer still drains */
#define TF_PUSH(name) tf_m_stream_push(tf_m(tf), &name)

/* costs a descriptor and its bursts */
#define TF_PREFETCH(name) tf_m_stream_prefetch(tf_m(tf), &name)

/* costs a stall if the tile below is still on its way */
#define TF_POP(name) tf_m_stream_pop(tf_m(tf), &name)

/* costs nothing: checks that nothing is left */
#define TF_CLOSE(name) tf_m_close(tf_m(tf), &name)

#endif
