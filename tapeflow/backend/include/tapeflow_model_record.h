/* Records of a tape in the cache: pushed and popped, they are accesses of its lines. */
#ifndef TAPEFLOW_MODEL_RECORD_H
#define TAPEFLOW_MODEL_RECORD_H

#include "tapeflow_model_cache.h"
#include "tapeflow_model_memory.h"

TF_HOT void tf_m_record(struct tf_model *m, tf_region *region, const void *record, size_t bytes, uint32_t offset,
                        uint32_t site)
{
    if (!TF_LIKELY(region->top != region->high) && !tf_m_region_next(m, region)) return;
    memcpy(region->top, record, bytes);
    tf_m_tape_pushed(m, bytes);
    tf_m_tape_access(m, region->address + (uint64_t)(region->top - region->low), bytes, true, offset, 0, site);
    region->top += bytes;
}

TF_HOT void tf_m_replay(struct tf_model *m, tf_region *region, void *record, size_t bytes, uint32_t offset,
                        uint32_t slack, uint32_t site)
{
    if (!TF_LIKELY(region->top != region->low) && !tf_m_region_previous(m, region)) {
        memset(record, 0, bytes);
        return;
    }
    region->top -= bytes;
    memcpy(record, region->top, bytes);
    tf_m_tape_popped(m, bytes);
    tf_m_tape_access(m, region->address + (uint64_t)(region->top - region->low), bytes, false, offset, slack, site);
}

#endif
