/* What is below the first cache: DRAM, or a second cache (TF_CACHE_LEVELS 2) and then DRAM.
 *
 * The second cache is write-back, least recently used out first, and neither includes nor excludes what the first one
 * holds. It is asked for whole lines. A line that the first one writes back is whole, so it is taken without being
 * fetched. It has no miss registers of its own: those of the first cache stand for a miss on its way through both.
 */
#ifndef TAPEFLOW_MODEL_BELOW_H
#define TAPEFLOW_MODEL_BELOW_H

#include "tapeflow_model_cache.h"
#include "tapeflow_model_dram.h"

#if TF_CACHE_LEVELS > 1
#define TF_SECOND_LINES (TF_SECOND_BYTES / TF_LINE_BYTES)
#define TF_SECOND_SETS (TF_SECOND_LINES / TF_SECOND_WAYS)
#endif

/* What the prefetcher knows of one access in the source: the lines it asked for, and how far apart. */
typedef struct {
    uint64_t last;
    int64_t stride;
    bool steady; /* `stride` came twice in a row */
} tf_site;

/* Lines of tape that are being written past the caches: how many of their bytes are there. */
typedef struct {
    uint64_t number;
    uint64_t bytes;
} tf_combined;

/* An access that is put off. */
typedef struct {
    uint64_t address_write; /* the address, shifted left once, with a bit for a store below */
    uint64_t tau;           /* schedule time at which its iteration begins */
    uint64_t at;            /* ... and at which it is issued */
    uint64_t slack_site;    /* cycles until a loaded value is needed, and below, in 32 bits, the line of the source */
} tf_put_off;

#define TF_MOST_PUT_OFF 128

/* The caches, behind the model in memory. */
typedef struct {
    tf_way ways[TF_CACHE_LINES]; /* first: tf_m_set finds them */
#if TF_CACHE_LEVELS > 1
    tf_way second[TF_SECOND_LINES];
#endif
#if TF_STREAMING_BUFFERS > 0
    tf_combined combined[TF_STREAMING_BUFFERS]; /* in order of use, the last used first */
    uint32_t combining;                         /* how many there are */
#endif
    uint64_t mshr[TF_MSHRS]; /* cycle at which each is free again, in rising order */
#if TF_CACHE_LEVELS > 0
    tf_way replaced[TF_MSHRS]; /* lines that were replaced on their way, which their registers still know */
    uint64_t replaced_until;   /* cycle at which the last of them arrives */
#endif
    uint64_t until_asked;                /* misses until it is asked whether most accesses miss */
    uint64_t misses_then, accesses_then; /* when it was asked last */
    uint64_t stalled;                    /* while accesses are put off: the model's own */
    uint64_t settled;                    /* ... up to which schedule time its waits are the past */
    uint32_t waiting;                    /* ... likewise the model's own */
    tf_put_off *put_off_end;
    tf_put_off put_off[TF_MOST_PUT_OFF];
    tf_site sites[];         /* of each access in the source, where there is a prefetcher */
} tf_cache;

static inline tf_cache *tf_m_caches(struct tf_model *m)
{
    return (tf_cache *)(m + 1);
}

/* Returns the cycle at which DRAM has taken line `number`. */
static inline uint64_t tf_m_memory_write(struct tf_model *m, uint64_t t, uint64_t number)
{
    const uint64_t address = number * TF_LINE_BYTES;
    if (tf_m_owner(address) == TF_OF_TAPE) m->count.dram_cache_tape_writes++;
    else m->count.dram_cache_array_writes++;
    return tf_m_dram(m->dram, t, address, true);
}

/* Returns the cycle at which the line of `address` has come from DRAM. */
static inline uint64_t tf_m_memory_read(struct tf_model *m, uint64_t t, uint64_t address)
{
    if (tf_m_owner(address) == TF_OF_TAPE) m->count.dram_cache_tape_reads++;
    else m->count.dram_cache_array_reads++;
    return tf_m_dram(m->dram, t, address, false);
}

#if TF_CACHE_LEVELS > 1

/* Move line `number` of the second cache to the front of its set, or put it there in place of the last, at cycle `t`.
 * `was` tells whether it was there; returns the cycle at which the memory has taken what it replaced. */
static TF_SLOW uint64_t tf_m_second_front(struct tf_model *m, uint64_t t, uint64_t number, tf_way **set, bool *was)
{
    tf_way *ways = *set = &tf_m_caches(m)->second[(number % TF_SECOND_SETS) * TF_SECOND_WAYS];
    uint32_t way = 0;
    while (way < TF_SECOND_WAYS && (ways[way].key | 1u) != (number << 1 | 1u)) way++;
    *was = way < TF_SECOND_WAYS;
    uint64_t taken = t;
    tf_way line = {number << 1, t};
    if (*was) {
        line = ways[way];
    } else {
        way = TF_SECOND_WAYS - 1;
        if (ways[way].key != TF_NO_LINE && (ways[way].key & 1u) != 0) {
            m->count.second_writebacks++;
            taken = tf_m_memory_write(m, t, ways[way].key >> 1);
        }
    }
    memmove(ways + 1, ways, way * sizeof *ways);
    ways[0] = line;
    return taken;
}

/* Read the line of `address`, from cycle `t` on; returns the cycle at which it is there. */
static TF_SLOW uint64_t tf_m_below_read(struct tf_model *m, uint64_t t, uint64_t address)
{
    tf_way *set;
    bool was;
    t += TF_SECOND_HIT_CYCLES;
    const uint64_t taken = tf_m_second_front(m, t, address / TF_LINE_BYTES, &set, &was);
    if (was) {
        m->count.second_hits++;
    } else {
        m->count.second_misses++;
        set[0].ready = tf_m_later(tf_m_memory_read(m, t, address), taken);
    }
    return tf_m_later(t, set[0].ready);
}

/* Take line `number` from the first cache; returns the cycle at which it is taken. */
static TF_SLOW uint64_t tf_m_below_write(struct tf_model *m, uint64_t t, uint64_t number)
{
    tf_way *set;
    bool was;
    m->count.second_writes++;
    const uint64_t taken = tf_m_second_front(m, t, number, &set, &was);
    set[0].key |= 1u;
    return taken;
}

/* Forget line `number`, which was written past both caches. */
static TF_SLOW void tf_m_below_forget(struct tf_model *m, uint64_t number)
{
    tf_way *set = &tf_m_caches(m)->second[(number % TF_SECOND_SETS) * TF_SECOND_WAYS];
    for (uint32_t way = 0; way < TF_SECOND_WAYS; way++)
        if ((set[way].key | 1u) == (number << 1 | 1u)) set[way].key = TF_NO_LINE;
}

static TF_COLD void tf_m_below_flush(struct tf_model *m, uint64_t t)
{
    tf_way *second = tf_m_caches(m)->second;
    for (uint32_t k = 0; k < TF_SECOND_LINES; k++) {
        if (second[k].key == TF_NO_LINE || (second[k].key & 1u) == 0) continue;
        m->count.second_writebacks++;
        (void)tf_m_memory_write(m, t, second[k].key >> 1);
        second[k].key &= ~(uint64_t)1;
    }
}

#else

static inline uint64_t tf_m_below_read(struct tf_model *m, uint64_t t, uint64_t address)
{
    return tf_m_memory_read(m, t, address);
}

static inline uint64_t tf_m_below_write(struct tf_model *m, uint64_t t, uint64_t number)
{
    return tf_m_memory_write(m, t, number);
}

TF_HOT void tf_m_below_forget(struct tf_model *m, uint64_t number)
{
    (void)m, (void)number;
}

TF_HOT void tf_m_below_flush(struct tf_model *m, uint64_t t)
{
    (void)m, (void)t;
}

#endif

#endif
