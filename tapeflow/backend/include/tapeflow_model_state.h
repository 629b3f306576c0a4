/* The state of the modelled machine: its counters, its clock's variables, and what each part remembers.
 *
 * Nothing here acts; the parts do (tapeflow_model_clock.h, _dram.h, _cache.h, _spad.h). One `struct tf_model` hangs on
 * `tf->model`, so that there are no globals. Geometry comes from "tf_machine.h", written by tapeflow.hardware.
 */
#ifndef TAPEFLOW_MODEL_STATE_H
#define TAPEFLOW_MODEL_STATE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tf_machine.h"

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

/* A cache line. Its key is the line number shifted left once, with the dirty bit below. */
typedef struct {
    uint64_t key;   /* (address / line bytes) << 1 | dirty; TF_NO_LINE when empty */
    uint64_t ready; /* cycle at which its fill arrives, plus TF_PREFETCHED until it is first used */
} tf_way;

#define TF_PREFETCHED ((uint64_t)1 << 63)

/* What the prefetcher knows of one access in the source: the lines it asked for, and how far apart. */
typedef struct {
    uint64_t last;
    int64_t stride;
    bool steady; /* `stride` came twice in a row */
} tf_site;

#define TF_NO_LINE (~(uint64_t)1)

#if TF_CACHE_LEVELS > 0
#define TF_CACHE_LINES (TF_CACHE_BYTES / TF_LINE_BYTES)
#define TF_CACHE_SETS (TF_CACHE_LINES / TF_CACHE_WAYS)
#else
#define TF_CACHE_LINES 1
#define TF_CACHE_SETS 1
#endif
#if TF_CACHE_LEVELS > 1
#define TF_SECOND_LINES (TF_SECOND_BYTES / TF_LINE_BYTES)
#define TF_SECOND_SETS (TF_SECOND_LINES / TF_SECOND_WAYS)
#endif

/* Lines of tape that are being written past the caches: how many of their bytes are there. */
typedef struct {
    uint64_t number;
    uint64_t bytes;
} tf_combined;

/* A wait that the datapath reaches later: at schedule time `at` it must have stalled `need` cycles in all. */
typedef struct {
    uint64_t at;
    uint64_t need;
    uint32_t cause;
} tf_wait;

enum { TF_WAIT_FILL = 0, TF_WAIT_MSHR = 1, TF_WAIT_DMA = 2, TF_WAIT_START = 3, TF_WAIT_FLUSH = 4, TF_WAIT_BANK = 5 };

#define TF_WAITS 64

#if TF_SPAD_PORTS > 1
/* Accesses of the scratchpad in one cycle of the schedule, by bank, and how long it has been held for them. */
typedef struct {
    uint64_t at;
    uint32_t held;
    uint32_t used[TF_SPAD_BANKS];
} tf_bank_use;

#define TF_BANK_CYCLES 1024 /* no iteration's accesses lie further apart; a power of two */
#endif

/* Memory of tapes without a reservation, and buffers that the scratchpad has no room for. */
typedef struct tf_block {
    struct tf_block *next;
} tf_block;

/* Slots of a resource that can never be had any more. */
typedef struct {
    uint64_t from, until; /* `until` is the first slot after it */
} tf_stretch;

#define TF_CALENDAR_WORDS 64 /* of 64 slots each */

typedef struct {
    uint64_t first;                    /* slot number of bit 0 of the window, a multiple of 64 */
    uint64_t taken[TF_CALENDAR_WORDS]; /* a bit a slot, a ring of words */
    tf_stretch busy;                   /* where no run of free slots begins */
} tf_calendar;

#define TF_ACTIVATES 64u

/* The latest activates of a rank, in rising order of their clocks. */
typedef struct {
    uint64_t at[TF_ACTIVATES]; /* a ring: number k is at k % TF_ACTIVATES */
    uint64_t count;
    tf_stretch busy; /* clocks that no activate can have any more */
} tf_activates;

typedef struct {
    uint64_t row;
    bool open;
    uint64_t activate;  /* earliest clock of each command to this bank */
    uint64_t precharge;
    uint64_t column;
} tf_bank;

/* Column commands of a bank group in one window of time. */
typedef struct {
    uint64_t window;
    uint32_t used;
} tf_window;

#define TF_COLUMN_WINDOWS 64

#define TF_NO_WRITE (~(uint64_t)0)

/* Whether the run is recorded for a picture (tapeflow_model_timeline.h). */
#ifndef TF_TIMELINE
#define TF_TIMELINE 0
#endif

/* Where a stream is on the timeline: its track, when it turned to its tile, and the latest cycle shown there. */
typedef struct {
    uint32_t number;
    bool fell; /* it turned to its tile from the one above */
    uint64_t begin, latest;
} tf_track;

#define TF_NEVER (~(uint64_t)0)

#if TF_TIMELINE
#ifndef TF_TIMELINE_EVENTS
#define TF_TIMELINE_EVENTS 65536
#endif
#define TF_TIMELINE_WINDOW 4096 /* cycles */
#define TF_TIMELINE_TRACKS 256

enum {
    TF_EVENT_BLOCK = 0, /* track: its line */
    TF_EVENT_STALL = 1, /* track: its cause, TF_WAIT_* */
    TF_EVENT_FILL = 2,  /* a layer of the forward sweep; of this and all below, track: the stream; number: the tile */
    TF_EVENT_USE = 3,   /* a layer of the reverse sweep */
    TF_EVENT_WAIT = 4,  /* for a transfer, also when it is over already */
    TF_EVENT_OUT = 5,   /* a transfer to DRAM */
    TF_EVENT_IN = 6,    /* a transfer from DRAM */
    TF_EVENT_TILE = 7,  /* a copy of a buffer holds a tile; transfer: the copy */
    TF_EVENT_TURN = 8   /* a layer that is filled and used: the turn-around */
};

typedef struct {
    uint64_t begin, end; /* cycles */
    uint64_t number;
    uint64_t transfer; /* counted from 1 */
    uint32_t kind;     /* TF_EVENT_* */
    uint32_t track;
} tf_event;

typedef struct {
    uint64_t seen;   /* spans in all */
    uint64_t stride; /* of so many windows one is kept */
    uint64_t stalled_until;
    uint64_t block_begin;
    uint32_t block; /* line of the block at hand */
    uint32_t kept;
    uint32_t tracks;
    const char *opening; /* the stream that is opened next */
    const char *names[TF_TIMELINE_TRACKS];
    tf_event events[TF_TIMELINE_EVENTS];
} tf_timeline;
#endif

/* Whether distances between accesses of a line are counted (tapeflow_model_reuse.h). */
#ifndef TF_REUSE
#define TF_REUSE 0
#endif

#if TF_REUSE
#ifndef TF_REUSE_LINES
#define TF_REUSE_LINES 65536u /* a power of two */
#endif
#define TF_REUSE_PLACES (4u * TF_REUSE_LINES)
#define TF_REUSE_TIMES (4u * TF_REUSE_LINES)
#define TF_REUSE_EXACT_LOG 16u
#define TF_REUSE_EXACT (1u << TF_REUSE_EXACT_LOG) /* distances with a bin each */
#define TF_REUSE_BINS (TF_REUSE_EXACT + (64u - TF_REUSE_EXACT_LOG) * 256u)

typedef struct {
    uint32_t halvings; /* of 2 to the power of so many lines one is followed */
    uint32_t lines;    /* followed */
    uint32_t now;      /* the last time given out */
    uint64_t line[TF_REUSE_PLACES];
    uint32_t time[TF_REUSE_PLACES]; /* of its last access, from 1; 0 for an empty place */
    uint64_t line_at[TF_REUSE_TIMES + 1]; /* last accessed at that time, or TF_NEVER */
    uint32_t tree[TF_REUSE_TIMES + 1];
    uint64_t cold[2];                  /* first accesses, by TF_OF_* */
    uint64_t counts[2][TF_REUSE_BINS]; /* accesses at each distance */
} tf_reuse;
#endif

struct tf_model {
    /* clock */
    uint64_t tau;     /* schedule time at which the iteration at hand begins, stalls not counted */
    uint64_t stalled; /* cycles stalled before `tau` */
    uint64_t drain;   /* cycles from `tau` to the end of the block at hand */
    uint32_t line;    /* of the last TF_STEP */
    uint32_t waiting; /* entries of `waits` */
    tf_wait waits[TF_WAITS];

    tf_counter_set count;
    uint64_t executions[TF_LINE_COUNT];

    /* memory */
    uint64_t array_end; /* the next array's virtual address */
    uint64_t tape_end;  /* the next tape's virtual address */
    uint64_t tape_bytes;
    tf_block *blocks;
    tf_way ways[TF_CACHE_SETS * (TF_CACHE_LEVELS > 0 ? TF_CACHE_WAYS : 1)];
#if TF_CACHE_LEVELS > 1
    tf_way second[TF_SECOND_LINES];
#endif
#if TF_STREAMING_BUFFERS > 0
    tf_combined combined[TF_STREAMING_BUFFERS]; /* in order of use, the last used first */
    uint32_t combining;                         /* how many there are */
#endif
    uint64_t mshr[TF_MSHRS]; /* cycle at which each is free again, in rising order */
#if TF_CACHE_BLOCKING
    uint64_t blocked; /* cycle at which the cache is done with its last miss */
#endif
    tf_site sites[TF_PREFETCH_LINES > 0 ? TF_LINE_COUNT : 1];

    /* DRAM, in its own clocks */
    tf_calendar bus;
    tf_activates activates[TF_DRAM_RANKS];
    tf_bank banks[TF_DRAM_RANKS * TF_DRAM_GROUPS * TF_DRAM_BANKS];
    tf_window columns[TF_DRAM_RANKS * TF_DRAM_GROUPS][TF_COLUMN_WINDOWS];
    tf_stretch columns_busy[TF_DRAM_RANKS * TF_DRAM_GROUPS]; /* slots of the bus that the group cannot have */
    uint64_t refresh_due[TF_DRAM_RANKS];
    uint64_t write_queue[TF_DRAM_WRITE_QUEUE];
    uint64_t write_done[2][TF_DRAM_WRITE_QUEUE]; /* end of the last writes: one half collects while the other drains */
    uint32_t write_half;
    uint32_t writes;       /* entries of `write_queue` */
    uint64_t writes_from;  /* the last run of writes on the bus */
    uint64_t writes_until;
    uint64_t reads_from;   /* the first read data after it */
    uint64_t bus_end;      /* end of the last read on the bus */
    uint64_t rank_end[TF_DRAM_RANKS]; /* end of the last burst of each rank */
    bool writing;          /* no read since the last run of writes */

    /* DMA */
    uint64_t dma_free;                       /* cycle at which the engine's scratchpad port is free */
    uint64_t dma_flight[TF_DMA_OUTSTANDING]; /* cycle at which each outstanding request is done */
    uint32_t dma_next;                       /* requests issued so far, for the next place in `dma_flight` */
    uint64_t last_write;                     /* cycle at which the last write is in DRAM */

    uint64_t spad_used;
#if TF_SPAD_PORTS > 1
    tf_bank_use bank_use[TF_BANK_CYCLES];
#endif
    unsigned char *spad; /* TF_SPAD_BYTES */
    char message[256];
#if TF_REUSE
    tf_reuse reuse;
#endif
#if TF_TIMELINE
    tf_timeline timeline;
#endif
};

#endif
