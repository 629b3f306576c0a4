/* A call of a program on the machine; see tapeflow_model_call.h. */
#include "tapeflow_model_call.h"

#include <stdlib.h>

#include "tapeflow_model_dram.h"
#include "tapeflow_model_memory.h"
#include "tapeflow_model_reuse.h"
#include "tapeflow_model_spad.h"

/* Of the cache, which the program knows, these are all that a call needs; its header would bring in its geometry. */
TF_PART size_t tf_m_cache_bytes(size_t sites);
TF_PART void tf_m_cache_reset(struct tf_model *m);
TF_PART uint64_t tf_m_cache_flush(struct tf_model *m, uint64_t t);

/* The next `bytes` of a block of memory of which `*used` are given out; all parts begin on a line of the machine that
 * simulates. NULL without a block: then only sizes are added up. */
static void *tf_m_next(unsigned char *block, size_t *used, size_t bytes)
{
    void *part = block != NULL ? (void *)(block + *used) : NULL;
    *used += (bytes + 63) / 64 * 64;
    return part;
}

/* Place the model and its parts in `block`; returns how many bytes they take. */
static size_t tf_m_place_parts(struct tf_model *m, size_t lines, unsigned char *block)
{
    struct tf_model parts;
    size_t used = 0;
    memset(&parts, 0, sizeof parts);
    (void)tf_m_next(block, &used, sizeof *m + tf_m_cache_bytes(lines));
    parts.executions = (uint64_t *)tf_m_next(block, &used, lines * sizeof(uint64_t));
    parts.lines = lines;
    parts.dram = (struct tf_dram *)tf_m_next(block, &used, tf_m_dram_bytes());
    parts.pad = (struct tf_pad *)tf_m_next(block, &used, tf_m_pad_bytes());
    parts.timeline = (struct tf_timeline *)tf_m_next(block, &used, tf_m_timeline_bytes());
    parts.reuse = (struct tf_reuse *)tf_m_next(block, &used, tf_m_reuse_bytes());
    if (m != NULL) *m = parts;
    return used;
}

TF_PART TF_COLD void tf_m_call_delete(struct tf_model *m)
{
    if (m == NULL) return;
    tf_m_free_blocks(m);
    free(m);
}

/* Cold start: empty cache and scratchpad, all banks idle, counters and clock at 0. Returns the model, which is made if
 * `m` is NULL, for a program of so many `lines`, that reports what goes wrong to `error`; NULL when there is no memory. */
TF_PART TF_COLD struct tf_model *tf_m_call_begin(struct tf_model *m, size_t lines, const char **error)
{
    const size_t bytes = tf_m_place_parts(NULL, lines, NULL);
    if (m != NULL) tf_m_free_blocks(m);
    else m = (struct tf_model *)malloc(bytes);
    if (m == NULL) return NULL;
    memset(m, 0, bytes);
    (void)tf_m_place_parts(m, lines, (unsigned char *)m);
    m->error = error;
    m->array_end = TF_ARRAY_SPACE;
    m->tape_end = TF_TAPE_SPACE;
    tf_m_cache_reset(m);
    tf_m_dram_reset(m->dram, &m->count);
    tf_m_pad_reset(m->pad);
    tf_m_timeline_reset(m);
    return m;
}

/* The end of a call: dirty lines go to DRAM, and the clock stops when the last write is there, and the last line that
 * was fetched, though nobody may have waited for it. */
TF_PART TF_COLD void tf_m_call_end(struct tf_model *m)
{
    const uint64_t now = tf_m_now_after_all(m);
    if (m->tape_bytes > m->count.tape_bytes_peak) m->count.tape_bytes_peak = m->tape_bytes;
    const uint64_t fetched = tf_m_cache_flush(m, now);
    const uint64_t written = tf_m_later(tf_m_dram_finish(m->dram, now), m->last_write);
    m->count.cycles = tf_m_later(tf_m_later(written, now), fetched);
    m->count.stall_flush += m->count.cycles - now;
    tf_m_timeline_stall(m, TF_WAIT_FLUSH, now, m->count.cycles - now);
    if (*m->error == NULL && m->count.tape_bytes_pushed != m->count.tape_bytes_popped + m->tape_bytes)
        tf_m_fail(m, "model: bytes pushed are not bytes popped and bytes resident");
}
