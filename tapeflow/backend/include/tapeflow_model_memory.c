/* Addresses given out, and homes of tapes; see tapeflow_model_memory.h. */
#include "tapeflow_model_memory.h"

#include <stdlib.h>

/* An array of unknown extent gets this much of the address space. */
#define TF_UNKNOWN_BYTES ((uint64_t)1 << 36)

/* Memory of tapes without a reservation, and buffers that the scratchpad has no room for. */
struct tf_block {
    struct tf_block *next;
};

TF_HOT uint64_t tf_m_lines_up(uint64_t bytes)
{
    return (bytes + TF_LINE_BYTES - 1) / TF_LINE_BYTES * TF_LINE_BYTES;
}

/* The virtual base of the next array, of `count` elements (0: not known). */
TF_PART TF_COLD uint64_t tf_m_array(struct tf_model *m, ptrdiff_t count, size_t element)
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
TF_PART TF_COLD unsigned char *tf_m_block(struct tf_model *m, uint64_t bytes)
{
    if (bytes > SIZE_MAX - 2 * sizeof(struct tf_block)) return NULL;
    struct tf_block *block = (struct tf_block *)malloc(2 * sizeof *block + (size_t)bytes);
    if (block == NULL) return NULL;
    block->next = m->blocks;
    m->blocks = block;
    return (unsigned char *)(block + 2);
}

TF_PART TF_COLD void tf_m_home_reserved(struct tf_model *m, tf_home *home, uint64_t item_bytes, uint64_t items,
                                        void *bytes)
{
    home->item_bytes = item_bytes;
    home->first = items;
    home->grows = false;
    home->chunks = 1;
    home->bytes[0] = (unsigned char *)bytes;
    home->address[0] = tf_m_tape_base(m, item_bytes * items);
}

TF_PART TF_COLD void tf_m_home_growing(tf_home *home, uint64_t item_bytes)
{
    home->item_bytes = item_bytes;
    home->first = item_bytes < TF_FIRST_CHUNK_BYTES ? TF_FIRST_CHUNK_BYTES / item_bytes : 1;
    home->grows = true;
    home->chunks = 0;
}

/* One chunk more; false when the reservation is used up or there is no memory, which is an error of the call. */
TF_PART TF_COLD bool tf_m_home_grow(struct tf_model *m, tf_home *home)
{
    if (!home->grows) {
        tf_m_fail(m, "tape: more was recorded than reserved");
        return false;
    }
    const uint64_t bytes = home->item_bytes * (home->first << home->chunks);
    unsigned char *chunk = home->chunks < TF_CHUNKS ? tf_m_block(m, bytes) : NULL;
    if (chunk == NULL) {
        tf_m_fail(m, TF_OUT_OF_MEMORY);
        return false;
    }
    home->bytes[home->chunks] = chunk;
    home->address[home->chunks] = tf_m_tape_base(m, bytes);
    home->chunks++;
    return true;
}

/* Where item `item` lies; false when it lies nowhere. */
TF_PART TF_SLOW bool tf_m_home_find(const tf_home *home, uint64_t item, unsigned char **bytes, uint64_t *address)
{
    uint32_t chunk = 0;
    uint64_t start = 0;
    while (chunk < home->chunks && item - start >= home->first << chunk) start += home->first << chunk++;
    if (chunk == home->chunks) return false;
    *bytes = home->bytes[chunk] + (item - start) * home->item_bytes;
    *address = home->address[chunk] + (item - start) * home->item_bytes;
    return true;
}

static TF_SLOW void tf_m_region_turn(tf_region *region, uint32_t chunk, bool at_end)
{
    const uint64_t bytes = (region->home.first << chunk) * region->home.item_bytes;
    region->chunk = chunk;
    region->low = region->home.bytes[chunk];
    region->high = region->low + bytes;
    region->top = at_end ? region->high : region->low;
    region->address = region->home.address[chunk];
}

TF_PART TF_COLD void tf_m_region_open(struct tf_model *m, tf_region *region, size_t record, ptrdiff_t count,
                                      void *bytes)
{
    region->streamed = false;
    tf_m_home_reserved(m, &region->home, record, count > 0 ? (uint64_t)count : 0, bytes);
    tf_m_region_turn(region, 0, false);
}

TF_PART TF_COLD void tf_m_region_open_growing(tf_region *region, size_t record)
{
    region->streamed = false;
    tf_m_home_growing(&region->home, record);
    region->top = region->low = region->high = NULL;
    region->address = 0;
    region->chunk = 0;
}

TF_PART TF_SLOW bool tf_m_region_next(struct tf_model *m, tf_region *region)
{
    const uint32_t next = region->low == NULL ? 0 : region->chunk + 1;
    if (next >= region->home.chunks && !tf_m_home_grow(m, &region->home)) return false;
    tf_m_region_turn(region, next, false);
    return true;
}

TF_PART TF_SLOW bool tf_m_region_previous(struct tf_model *m, tf_region *region)
{
    if (region->low == NULL || region->chunk == 0) {
        tf_m_fail(m, "tape: a record was replayed that was never recorded");
        return false;
    }
    tf_m_region_turn(region, region->chunk - 1, true);
    return true;
}

/* Give all such memory back. */
TF_PART TF_COLD void tf_m_free_blocks(struct tf_model *m)
{
    while (m->blocks != NULL) {
        struct tf_block *block = m->blocks;
        m->blocks = block->next;
        free(block);
    }
}
