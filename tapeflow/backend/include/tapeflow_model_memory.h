/* Where things lie: virtual addresses of arrays and tapes, and the real bytes behind a tape.
 *
 * Addresses are virtual so that counters repeat exactly: arrays in argument order, each on a line of its own, with
 * TF_ARRAY_SKEW_BYTES between two so that arrays of equal, round size do not fall on the same sets.
 * A home holds the items (records, or tiles of records) of one tape. Reserved, it is one chunk; without a reservation
 * it is a list of chunks of doubling size that never move.
 */
#ifndef TAPEFLOW_MODEL_MEMORY_H
#define TAPEFLOW_MODEL_MEMORY_H

#include "tapeflow_model_clock.h"

#define TF_CHUNKS 40

typedef struct {
    uint64_t item_bytes;
    uint64_t first; /* items of chunk 0; chunk c has first << c */
    bool grows;
    uint32_t chunks;
    unsigned char *bytes[TF_CHUNKS];
    uint64_t address[TF_CHUNKS];
} tf_home;

/* A tape in the cache: a stack of records. */
typedef struct {
    bool streamed; /* false; first in both kinds of handle */
    unsigned char *top, *low, *high; /* of the chunk at hand */
    uint64_t address;                /* of `low` */
    uint32_t chunk;
    tf_home home;
} tf_region;

TF_PART uint64_t tf_m_array(struct tf_model *m, ptrdiff_t count, size_t element);
TF_PART unsigned char *tf_m_block(struct tf_model *m, uint64_t bytes);
TF_PART void tf_m_home_reserved(struct tf_model *m, tf_home *home, uint64_t item_bytes, uint64_t items, void *bytes);
TF_PART void tf_m_home_growing(tf_home *home, uint64_t item_bytes);
TF_PART bool tf_m_home_grow(struct tf_model *m, tf_home *home);
TF_PART bool tf_m_home_find(const tf_home *home, uint64_t item, unsigned char **bytes, uint64_t *address);
TF_PART void tf_m_region_open(struct tf_model *m, tf_region *region, size_t record, ptrdiff_t count, void *bytes);
TF_PART void tf_m_region_open_growing(tf_region *region, size_t record);
TF_PART bool tf_m_region_next(struct tf_model *m, tf_region *region);
TF_PART bool tf_m_region_previous(struct tf_model *m, tf_region *region);
TF_PART void tf_m_free_blocks(struct tf_model *m);

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

#endif
