/* What all parts of the modelled machine share: its counters, its clock's variables, where each part's own memory is.
 *
 * Nothing here acts; the parts do (tapeflow_model_clock.h, _dram.h, _cache.h, _memory.h, _spad.h). One `struct tf_model`
 * hangs on `tf->model`, so that there are no globals. Geometry comes from "tf_machine.h", written by tapeflow.hardware.
 *
 * The model is built in one of two ways. Without TF_MODEL_UNITS whatever includes tapeflow_rt.h has all of it. With
 * TF_MODEL_UNITS that has only the way of a hit, and the parts are translation units of their own: none of them knows
 * the program, and each mentions only those constants of "tf_machine.h" that it depends on, so that it is compiled
 * again when one of these changes (tapeflow/backend/model_build.py).
 */
#ifndef TAPEFLOW_MODEL_STATE_H
#define TAPEFLOW_MODEL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tf_machine.h"

#if defined(__GNUC__)
#define TF_COLD __attribute__((noinline, cold, unused)) /* once a call, or never */
#define TF_SLOW __attribute__((noinline, unused))       /* a miss, a tile */
#define TF_HOT static inline __attribute__((always_inline, unused))
#define TF_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define TF_COLD
#define TF_SLOW
#define TF_HOT static inline
#define TF_LIKELY(x) (x)
#endif

/* Before a short loop that is gone through in full nearly always. */
#if defined(__GNUC__) && !defined(__clang__)
#define TF_UNROLL _Pragma("GCC unroll 8")
#else
#define TF_UNROLL
#endif

/* What one part offers the others. */
#if !defined(TF_MODEL_UNITS)
#define TF_PART static
#elif defined(__GNUC__) && !defined(_WIN32)
#define TF_PART __attribute__((visibility("hidden")))
#else
#define TF_PART
#endif

/* As in tapeflow_rt.h, which the parts do not include. Where both are seen the compiler compares them. */
#define TF_FIRST_CHUNK_BYTES 4096u
#define TF_OUT_OF_MEMORY "out of memory"

TF_HOT uint64_t tf_m_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Every counter, in the order in which Python reads them. Unit in the comment; "bursts" are TF_DRAM_BURST_BYTES. */
#define TF_COUNTERS(X)                                                                                                 \
    X(cycles)                   /* from the first operation to the last line fetched or written back */                \
    X(stall_fill)               /* cycles waited for a line to arrive */                                               \
    X(stall_mshr)               /* cycles waited for a miss register */                                                \
    X(stall_dma)                /* cycles waited for a tile to drain or to arrive */                                   \
    X(stall_start)              /* cycles taken to write a descriptor */                                               \
    X(stall_bank)               /* cycles in which a bank of the scratchpad served a second access of one cycle */     \
    X(stall_flush)              /* cycles after the last operation until the last line has come or gone */                 \
    X(array_reads)              /* accesses of arrays by the datapath: loads */                                        \
    X(array_writes)             /* ... stores */                                                                       \
    X(tape_reads)               /* accesses of tapes in the cache: words of the cache's port */                        \
    X(tape_writes)              /* ... */                                                                              \
    X(array_read_misses)        /* accesses that missed */                                                             \
    X(array_write_misses)       /* ... */                                                                              \
    X(tape_read_misses)         /* ... */                                                                              \
    X(tape_write_misses)        /* ... */                                                                              \
    X(mshr_merges)              /* hits on a line still on its way */                                                  \
    X(replaced_merges)          /* lines missing that were on their way still, replaced there: not fetched again */     \
    X(prefetches)               /* lines fetched by the prefetcher */                                                  \
    X(prefetches_used)          /* ... and accessed before they were evicted */                                        \
    X(array_writebacks)         /* dirty lines written back, the final ones included */                                \
    X(tape_writebacks)          /* ... */                                                                              \
    X(cache_fills)              /* lines brought into the first cache */                                               \
    X(second_hits)              /* lines that the first cache found in the second */                                   \
    X(second_misses)            /* ... and did not */                                                                  \
    X(second_writes)            /* lines written back into the second cache */                                         \
    X(second_writebacks)        /* dirty lines that the second cache wrote back, the final ones included */            \
    X(streamed_lines)           /* lines of tape written past the caches */                                            \
    X(spad_reads)               /* accesses of the scratchpad by the datapath: ceil(bytes / port) a record */          \
    X(spad_writes)              /* ... */                                                                              \
    X(spad_dma_reads)           /* accesses of the scratchpad by the DMA engine */                                     \
    X(spad_dma_writes)          /* ... */                                                                              \
    X(dma_descriptors)          /* transfers started */                                                                \
    X(dma_waits)                /* transfers waited for (also when already done) */                                    \
    X(dram_cache_array_reads)   /* bursts read for cache misses on arrays */                                           \
    X(dram_cache_tape_reads)    /* bursts read for cache misses on tapes */                                            \
    X(dram_cache_array_writes)  /* bursts written back, arrays */                                                      \
    X(dram_cache_tape_writes)   /* bursts written back, tapes */                                                       \
    X(dram_dma_reads)           /* bursts read by the DMA engine */                                                    \
    X(dram_dma_writes)          /* bursts written by the DMA engine */                                                 \
    X(dram_activates)           /* rows opened */                                                                      \
    X(dram_refreshes)           /* refreshes that delayed a request */                                                 \
    X(tape_bytes_pushed)        /* bytes recorded or written by the forward sweep */                                   \
    X(tape_bytes_popped)        /* bytes replayed or read by the reverse sweep */                                      \
    X(tape_bytes_peak)          /* most bytes of tape alive at once */                                                 \
    X(tiles_pushed)             /* tiles that left the chip */                                                         \
    X(tiles_fetched)            /* tiles that came back */                                                             \
    X(tiles_resident)           /* tiles read where they were written: the turn-around */                              \
    X(spad_bytes_used)          /* bytes of the scratchpad given to buffers, at most */                                \
    X(spad_copies)              /* copies of buffers in it: tiles that may be on their way at a time */

typedef struct {
#define TF_COUNTER_FIELD(name) uint64_t name;
    TF_COUNTERS(TF_COUNTER_FIELD)
#undef TF_COUNTER_FIELD
} tf_counter_set;

/* Whom an access serves. */
enum { TF_OF_ARRAY = 0, TF_OF_TAPE = 1, TF_OF_DMA = 2 };

/* Virtual addresses: arrays from here on, tapes from there on, so that an address tells whose it is. */
#define TF_ARRAY_SPACE ((uint64_t)1 << 32)
#define TF_TAPE_SPACE ((uint64_t)1 << 44)

/* A wait that the datapath reaches later: at schedule time `at` it must have stalled `need` cycles in all. */
typedef struct {
    uint64_t at;
    uint64_t need;
    uint32_t cause;
} tf_wait;

enum { TF_WAIT_FILL = 0, TF_WAIT_MSHR = 1, TF_WAIT_DMA = 2, TF_WAIT_START = 3, TF_WAIT_FLUSH = 4, TF_WAIT_BANK = 5 };

#define TF_WAITS 64

/* In place of the cycles stalled: no line is ever there in time. */
#define TF_PUT_OFF ((uint64_t)0 - ((uint64_t)1 << 61))

struct tf_model {
    /* clock */
    uint64_t tau;     /* schedule time at which the iteration at hand begins, stalls not counted */
    uint64_t stalled; /* cycles stalled before `tau`; TF_PUT_OFF while accesses are put off */
    uint64_t drain;   /* cycles from `tau` to the end of the block at hand */
    uint32_t line;    /* of the last TF_STEP */
    uint32_t waiting; /* entries of `waits` */
    tf_wait waits[TF_WAITS];

    tf_counter_set count;
    uint64_t *executions; /* of each line's TF_STEP or TF_ARM */
    size_t lines;
    const char **error; /* the caller's: what went wrong, or NULL */

    /* memory */
    uint64_t array_end; /* the next array's virtual address */
    uint64_t tape_end;  /* the next tape's virtual address */
    uint64_t tape_bytes;
    struct tf_block *blocks; /* of tapes without a reservation, and buffers that the scratchpad has no room for */
    uint64_t blocked;    /* cycle at which a blocking cache is done with its last miss */
    uint64_t last_write; /* cycle at which the last tile is in DRAM */

    /* what the parts keep for themselves; the cache's memory follows this structure */
    struct tf_dram *dram;
    struct tf_pad *pad;
    struct tf_timeline *timeline;
    struct tf_reuse *reuse;
};

#endif
