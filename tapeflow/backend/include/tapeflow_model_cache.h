/* The cache as a program meets it: an access that hits the line used last in its set ends here, all else does not.
 *
 * What is behind a hit is in tapeflow_model_cache.c. A set keeps its ways in order of use, so the commonest hit touches
 * one entry. The lines of the cache follow the model in memory.
 */
#ifndef TAPEFLOW_MODEL_CACHE_H
#define TAPEFLOW_MODEL_CACHE_H

#include "tapeflow_model_clock.h"
#include "tapeflow_model_reuse.h"

/* A cache line. Its key is the line number shifted left once, with the dirty bit below. */
typedef struct {
    uint64_t key;   /* (address / line bytes) << 1 | dirty; TF_NO_LINE when empty */
    uint64_t ready; /* cycle at which its fill arrives, plus TF_PREFETCHED until it is first used */
} tf_way;

#define TF_PREFETCHED ((uint64_t)1 << 62)
#define TF_NO_LINE (~(uint64_t)1)

#if TF_CACHE_LEVELS > 0
#define TF_CACHE_LINES (TF_CACHE_BYTES / TF_LINE_BYTES)
#define TF_CACHE_SETS (TF_CACHE_LINES / TF_CACHE_WAYS)
#else
#define TF_CACHE_LINES 1
#define TF_CACHE_SETS 1
#endif

TF_PART size_t tf_m_cache_bytes(size_t sites);
TF_PART void tf_m_cache_reset(struct tf_model *m);
TF_PART void tf_m_cache_slow(struct tf_model *m, uint64_t address, bool write, uint64_t at, uint64_t slack,
                             uint32_t site);
TF_PART void tf_m_update_slow(struct tf_model *m, uint64_t address, uint32_t offset, uint32_t slack, uint32_t site);
TF_PART uint64_t tf_m_cache_flush(struct tf_model *m, uint64_t t);

/* Whom the line of an address belongs to. */
TF_HOT uint32_t tf_m_owner(uint64_t address)
{
    return address >= TF_TAPE_SPACE ? TF_OF_TAPE : TF_OF_ARRAY;
}

#if TF_CACHE_LEVELS > 0
/* The set that line `number` falls in. */
TF_HOT tf_way *tf_m_set(struct tf_model *m, uint64_t number)
{
    return (tf_way *)(m + 1) + (number % TF_CACHE_SETS) * TF_CACHE_WAYS;
}
#endif

/* Whether what `way` holds is there at the start of the iteration at hand. */
TF_HOT bool tf_m_there(const struct tf_model *m, const tf_way *way)
{
    return (int64_t)way->ready <= (int64_t)(m->tau + m->stalled); /* a negative time while accesses are put off */
}

/* One access that lies within a line, by line `site` of the source; its energy is counted by the caller. */
TF_HOT void tf_m_cache(struct tf_model *m, uint64_t address, bool write, uint32_t offset, uint32_t slack, uint32_t site)
{
    tf_m_reuse(m, address / TF_LINE_BYTES, tf_m_owner(address));
#if TF_CACHE_BLOCKING
    if (m->blocked > m->tau + m->stalled) tf_m_wait(m, m->tau + offset, m->blocked, TF_WAIT_FILL);
#endif
#if TF_CACHE_LEVELS > 0
    const uint64_t number = address / TF_LINE_BYTES;
    tf_way *way = tf_m_set(m, number);
    if (TF_LIKELY((way->key | 1u) == (number << 1 | 1u) && tf_m_there(m, way))) {
        if (write) way->key = number << 1 | 1u;
        return;
    }
#endif
    tf_m_cache_slow(m, address, write, m->tau + offset, slack, site);
}

/* A load or store of an array element. */
TF_HOT void tf_m_array_access(struct tf_model *m, uint64_t address, bool write, uint32_t offset, uint32_t slack,
                              uint32_t site)
{
    if (write) m->count.array_writes++;
    else m->count.array_reads++;
    tf_m_cache(m, address, write, offset, slack, site);
}

/* A load and a store of the same element at the same time: where the load is a plain hit, the store is one too. */
TF_HOT void tf_m_array_update(struct tf_model *m, uint64_t address, uint32_t offset, uint32_t slack, uint32_t site)
{
    m->count.array_reads++;
    m->count.array_writes++;
#if TF_CACHE_LEVELS > 0 && !TF_REUSE && !TF_CACHE_BLOCKING
    const uint64_t number = address / TF_LINE_BYTES;
    tf_way *way = tf_m_set(m, number);
    if (TF_LIKELY((way->key | 1u) == (number << 1 | 1u) && tf_m_there(m, way))) {
        way->key = number << 1 | 1u;
        return;
    }
#endif
    tf_m_update_slow(m, address, offset, slack, site);
}

/* Whether a tape's access to line `number` goes past the caches; if it reads what waits there, that is written first. */
#if TF_STREAMING_BUFFERS > 0
TF_PART bool tf_m_goes_past(struct tf_model *m, uint64_t number, uint64_t bytes, bool write, uint64_t at);
#else
TF_HOT bool tf_m_goes_past(struct tf_model *m, uint64_t number, uint64_t bytes, bool write, uint64_t at)
{
    (void)m, (void)number, (void)bytes, (void)write, (void)at;
    return false;
}
#endif

/* A record of a tape that lives in the cache: as many accesses as it has words of the port, one look-up a line. */
TF_HOT void tf_m_tape_access(struct tf_model *m, uint64_t address, size_t bytes, bool write, uint32_t offset,
                             uint32_t slack, uint32_t site)
{
    const uint64_t words = (bytes + TF_CACHE_PORT_BYTES - 1) / TF_CACHE_PORT_BYTES;
    if (write) m->count.tape_writes += words;
    else m->count.tape_reads += words;
#if TF_CACHE_LEVELS > 0
    const uint64_t last = (address + bytes - 1) / TF_LINE_BYTES;
    for (uint64_t number = address / TF_LINE_BYTES; number <= last; number++) {
        const uint64_t begin = tf_m_later(address, number * TF_LINE_BYTES);
        const uint64_t end = (number < last ? (number + 1) * TF_LINE_BYTES : address + bytes);
        if (tf_m_goes_past(m, number, end - begin, write, m->tau + offset)) continue;
        tf_m_cache(m, number * TF_LINE_BYTES, write, offset, slack, site);
    }
#else
    for (uint64_t word = 0; word < words; word++)
        tf_m_cache(m, address + word * TF_CACHE_PORT_BYTES, write, offset, slack, site);
#endif
}

#endif
