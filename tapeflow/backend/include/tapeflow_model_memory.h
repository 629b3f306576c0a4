/* Where things lie: virtual addresses of arrays and tapes, and the real bytes behind a tape.
 *
 * Addresses are virtual so that counters repeat exactly: arrays in argument order, each on a line of its own, with
 * TF_ARRAY_SKEW_BYTES between two so that arrays of equal, round size do not fall on the same sets.
 * A home holds the items (records, or tiles of records) of one tape. Reserved, it is one chunk; without a reservation
 * it is a list of chunks of doubling size that never move.
 */
#ifndef TAPEFLOW_MODEL_MEMORY_H
#define TAPEFLOW_MODEL_MEMORY_H

#include "tapeflow_model_cache.h"

#define TF_CHUNKS 40

/* An array of unknown extent gets this much of the address space. */
#define TF_UNKNOWN_BYTES ((uint64_t)1 << 36)

typedef struct {
    uint64_t item_bytes;
    uint64_t first; /* items of chunk 0; chunk c has first << c */
    bool grows;
    uint32_t chunks;
    unsigned char *bytes[TF_CHUNKS];
    uint64_t address[TF_CHUNKS];
} tf_home;

TF_HOT uint64_t tf_m_lines_up(uint64_t bytes)
{
    return (bytes + TF_LINE_BYTES - 1) / TF_LINE_BYTES * TF_LINE_BYTES;
}

/* The virtual base of the next array, of `count` elements (0: not known). */
static TF_COLD uint64_t tf_m_array(struct tf_model *m, ptrdiff_t count, size_t element)
{
    const uint64_t base = m->array_end;
    const uint64_t bytes = count > 0 ? (uint64_t)count * element : TF_UNKNOWN_BYTES;
    m->array_end += tf_m_lines_up(bytes) + TF_ARRAY_SKEW_BYTES;
    return base;
}

static TF_COLD uint64_t tf_m_tape_base(struct tf_model *m, uint64_t bytes)
{
    const uint64_t base = m->tape_end;
    m->tape_end += tf_m_lines_up(bytes) + TF_ARRAY_SKEW_BYTES;
    return base;
}

/* Memory that lives until the next cold start; NULL when there is none. */
static TF_COLD unsigned char *tf_m_block(struct tf_model *m, uint64_t bytes)
{
    if (bytes > SIZE_MAX - 2 * sizeof(tf_block)) return NULL;
    tf_block *block = (tf_block *)malloc(2 * sizeof(tf_block) + (size_t)bytes);
    if (block == NULL) return NULL;
    block->next = m->blocks;
    m->blocks = block;
    return (unsigned char *)(block + 2);
}

static TF_COLD void tf_m_home_reserved(tf_tape *tf, tf_home *home, uint64_t item_bytes, uint64_t items, void *bytes)
{
    struct tf_model *m = tf_m(tf);
    home->item_bytes = item_bytes;
    home->first = items;
    home->grows = false;
    home->chunks = 1;
    home->bytes[0] = (unsigned char *)bytes;
    home->address[0] = tf_m_tape_base(m, item_bytes * items);
}

static TF_COLD void tf_m_home_growing(tf_home *home, uint64_t item_bytes)
{
    home->item_bytes = item_bytes;
    home->first = item_bytes < TF_FIRST_CHUNK_BYTES ? TF_FIRST_CHUNK_BYTES / item_bytes : 1;
    home->grows = true;
    home->chunks = 0;
}

/* One chunk more; false when the reservation is used up or there is no memory, which is an error of the call. */
static TF_COLD bool tf_m_home_grow(tf_tape *tf, tf_home *home)
{
    if (!home->grows) {
        tf_m_fail(tf, "tape: more was recorded than reserved");
        return false;
    }
    const uint64_t bytes = home->item_bytes * (home->first << home->chunks);
    unsigned char *chunk = home->chunks < TF_CHUNKS ? tf_m_block(tf_m(tf), bytes) : NULL;
    if (chunk == NULL) {
        tf_m_fail(tf, TF_OUT_OF_MEMORY);
        return false;
    }
    home->bytes[home->chunks] = chunk;
    home->address[home->chunks] = tf_m_tape_base(tf_m(tf), bytes);
    home->chunks++;
    return true;
}

/* Where item `item` lies; false when it lies nowhere. */
static TF_SLOW bool tf_m_home_find(const tf_home *home, uint64_t item, unsigned char **bytes, uint64_t *address)
{
    uint32_t chunk = 0;
    uint64_t start = 0;
    while (chunk < home->chunks && item - start >= home->first << chunk) start += home->first << chunk++;
    if (chunk == home->chunks) return false;
    *bytes = home->bytes[chunk] + (item - start) * home->item_bytes;
    *address = home->address[chunk] + (item - start) * home->item_bytes;
    return true;
}

TF_HOT void tf_m_tape_pushed(struct tf_model *m, size_t bytes)
{
    m->count.tape_bytes_pushed += bytes;
    m->tape_bytes += bytes;
}

TF_HOT void tf_m_tape_popped(struct tf_model *m, size_t bytes)
{
    if (m->tape_bytes > m->count.tape_bytes_peak) m->count.tape_bytes_peak = m->tape_bytes;
    m->count.tape_bytes_popped += bytes;
    m->tape_bytes -= bytes;
}

/* A tape in the cache: a stack of records. */
typedef struct {
    bool streamed; /* false; first in both kinds of handle */
    unsigned char *top, *low, *high; /* of the chunk at hand */
    uint64_t address;                /* of `low` */
    uint32_t chunk;
    tf_home home;
} tf_region;

static TF_SLOW void tf_m_region_turn(tf_region *region, uint32_t chunk, bool at_end)
{
    const uint64_t bytes = (region->home.first << chunk) * region->home.item_bytes;
    region->chunk = chunk;
    region->low = region->home.bytes[chunk];
    region->high = region->low + bytes;
    region->top = at_end ? region->high : region->low;
    region->address = region->home.address[chunk];
}

static TF_COLD void tf_m_region_open(tf_tape *tf, tf_region *region, size_t record, ptrdiff_t count, void *bytes)
{
    region->streamed = false;
    tf_m_home_reserved(tf, &region->home, record, count > 0 ? (uint64_t)count : 0, bytes);
    tf_m_region_turn(region, 0, false);
}

static TF_COLD void tf_m_region_open_growing(tf_region *region, size_t record)
{
    region->streamed = false;
    tf_m_home_growing(&region->home, record);
    region->top = region->low = region->high = NULL;
    region->address = 0;
    region->chunk = 0;
}

static TF_SLOW bool tf_m_region_next(tf_tape *tf, tf_region *region)
{
    const uint32_t next = region->low == NULL ? 0 : region->chunk + 1;
    if (next >= region->home.chunks && !tf_m_home_grow(tf, &region->home)) return false;
    tf_m_region_turn(region, next, false);
    return true;
}

static TF_SLOW bool tf_m_region_previous(tf_tape *tf, tf_region *region)
{
    if (region->low == NULL || region->chunk == 0) {
        tf_m_fail(tf, "tape: a record was replayed that was never recorded");
        return false;
    }
    tf_m_region_turn(region, region->chunk - 1, true);
    return true;
}

TF_HOT void tf_m_record(tf_tape *tf, tf_region *region, const void *record, size_t bytes, uint32_t offset,
                        uint32_t site)
{
    struct tf_model *m = tf_m(tf);
    if (!TF_LIKELY(region->top != region->high) && !tf_m_region_next(tf, region)) return;
    memcpy(region->top, record, bytes);
    tf_m_tape_pushed(m, bytes);
    tf_m_tape_access(m, region->address + (uint64_t)(region->top - region->low), bytes, true, offset, 0, site);
    region->top += bytes;
}

TF_HOT void tf_m_replay(tf_tape *tf, tf_region *region, void *record, size_t bytes, uint32_t offset, uint32_t slack,
                        uint32_t site)
{
    struct tf_model *m = tf_m(tf);
    if (!TF_LIKELY(region->top != region->low) && !tf_m_region_previous(tf, region)) {
        memset(record, 0, bytes);
        return;
    }
    region->top -= bytes;
    memcpy(record, region->top, bytes);
    tf_m_tape_popped(m, bytes);
    tf_m_tape_access(m, region->address + (uint64_t)(region->top - region->low), bytes, false, offset, slack, site);
}

#endif
