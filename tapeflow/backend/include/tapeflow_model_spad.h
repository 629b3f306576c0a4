/* The scratchpad, the DMA engine, and the stacks of tiles that they move.
 *
 * Records really pass through the scratchpad's bytes: what is written lands in the current tile's buffer, a transfer
 * copies a whole tile between that buffer and its home, and a freed record is overwritten with TF_POISON, so that a
 * wrong order of transfers gives wrong values, not only wrong counters. Tile t lives in buffer t mod B.
 *
 * A transfer is a descriptor: the engine splits it in bursts, of which TF_DMA_OUTSTANDING may be in flight, and moves
 * each through its port of the scratchpad, TF_DMA_PORT_BYTES a cycle. Descriptors are served in order.
 */
#ifndef TAPEFLOW_MODEL_SPAD_H
#define TAPEFLOW_MODEL_SPAD_H

#include "tapeflow_model_memory.h"

#define TF_POISON 0xA5

/* One copy of a buffer: the tile it holds, and the cycle at which its transfer has ended. */
typedef struct {
    uint64_t tile;
    uint64_t ready;
    bool holds;   /* whether `tile` is on chip, or on its way */
    bool fetched; /* it came back from DRAM, and was not left from the forward sweep */
    uint64_t transfer; /* number of its last transfer */
    uint64_t since;    /* for the timeline: cycle at which it took `tile` */
} tf_buffer;

typedef struct {
    bool streamed;                   /* true; first in both kinds of handle */
    unsigned char *top, *low, *high; /* of the current tile */
    uint64_t used;                   /* schedule time after the last access */
    uint64_t tile;                   /* number of the current tile */
    uint64_t tile_bytes;
    uint64_t ended;   /* cycle at which every transfer of this stream has ended */
    uint64_t drained; /* cycle at which the last tile pushed is in its home */
    uint64_t pushed, popped, fetched, resident, discarded;
    unsigned char *bytes;
    tf_buffer *buffers;
    uint32_t copies;
    uint64_t transfer; /* number of the last transfer */
    tf_track track;
    tf_home home;
} tf_stream;

TF_PART uint64_t tf_m_dma(struct tf_model *m, uint64_t t, uint64_t address, uint64_t bytes, bool write);
TF_PART void tf_m_stream_open_reserved(struct tf_model *m, tf_stream *stream, tf_buffer *buffers, uint32_t copies,
                                       size_t record, size_t records, ptrdiff_t count, void *bytes);
TF_PART void tf_m_stream_open_growing(struct tf_model *m, tf_stream *stream, tf_buffer *buffers, uint32_t copies,
                                      size_t record, size_t records);
TF_PART void tf_m_stream_push(struct tf_model *m, tf_stream *stream);
TF_PART void tf_m_stream_prefetch(struct tf_model *m, tf_stream *stream);
TF_PART void tf_m_stream_pop(struct tf_model *m, tf_stream *stream);
TF_PART void tf_m_dma_out(struct tf_model *m, tf_stream *stream);
TF_PART void tf_m_dma_in(struct tf_model *m, tf_stream *stream);
TF_PART void tf_m_dma_wait(struct tf_model *m, tf_stream *stream);
TF_PART void tf_m_close(struct tf_model *m, void *handle);
TF_PART size_t tf_m_pad_bytes(void);
TF_PART void tf_m_pad_reset(struct tf_pad *pad);

/* Records that fit in the current tile, and records that are left in it. */
TF_HOT uint64_t tf_m_stream_room(const tf_stream *stream, size_t bytes)
{
    return (uint64_t)(stream->high - stream->top) / bytes;
}

TF_HOT uint64_t tf_m_stream_left(const tf_stream *stream, size_t bytes)
{
    return (uint64_t)(stream->top - stream->low) / bytes;
}

/* The value of a loop variable going from `j` by `step`, after at most `records` iterations, but not past `end`. */
TF_HOT ptrdiff_t tf_m_reach(ptrdiff_t j, ptrdiff_t end, ptrdiff_t step, uint64_t records)
{
    const uint64_t distance = j < end ? (uint64_t)end - (uint64_t)j : 0;
    const uint64_t iterations = distance / (uint64_t)step + (distance % (uint64_t)step != 0);
    return records < iterations ? j + (ptrdiff_t)records * step : end;
}

TF_HOT ptrdiff_t tf_m_reach_down(ptrdiff_t j, ptrdiff_t end, ptrdiff_t step, uint64_t records)
{
    const uint64_t distance = j > end ? (uint64_t)j - (uint64_t)end : 0;
    const uint64_t iterations = distance / (uint64_t)step + (distance % (uint64_t)step != 0);
    return records < iterations ? j - (ptrdiff_t)records * step : end;
}

/* A record goes through a port. */
#if TF_SPAD_PORTS > 1
TF_PART void tf_m_banks(struct tf_model *m, const unsigned char *record, size_t bytes, uint64_t at);
#else
TF_HOT void tf_m_banks(struct tf_model *m, const unsigned char *record, size_t bytes, uint64_t at)
{
    (void)m, (void)record, (void)bytes, (void)at; /* with one port no two accesses are in one cycle */
}
#endif

TF_HOT void tf_m_write(struct tf_model *m, tf_stream *stream, const void *record, size_t bytes, uint32_t offset)
{
    if (!TF_LIKELY(stream->top != stream->high)) {
        tf_m_fail(m, "scratchpad: a record was written into a full buffer");
        return;
    }
    memcpy(stream->top, record, bytes);
    tf_m_banks(m, stream->top, bytes, m->tau + offset);
    stream->top += bytes;
    stream->used = m->tau + offset + 1;
    m->count.spad_writes += (bytes + TF_SPAD_PORT_BYTES - 1) / TF_SPAD_PORT_BYTES;
    tf_m_tape_pushed(m, bytes);
}

TF_HOT void tf_m_read(struct tf_model *m, tf_stream *stream, void *record, size_t bytes, uint32_t offset)
{
    if (!TF_LIKELY(stream->top != stream->low)) {
        tf_m_fail(m, "scratchpad: a record was read from an empty buffer");
        memset(record, 0, bytes);
        return;
    }
    stream->top -= bytes;
    memcpy(record, stream->top, bytes);
    memset(stream->top, TF_POISON, bytes);
    tf_m_banks(m, stream->top, bytes, m->tau + offset);
    stream->used = m->tau + offset + 1;
    m->count.spad_reads += (bytes + TF_SPAD_PORT_BYTES - 1) / TF_SPAD_PORT_BYTES;
    tf_m_tape_popped(m, bytes);
}

#endif
