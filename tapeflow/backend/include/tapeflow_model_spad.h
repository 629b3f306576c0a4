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

/* Move one tile by DMA from cycle `t` on; returns the cycle at which the transfer has ended. */
static TF_SLOW uint64_t tf_m_dma(struct tf_model *m, uint64_t t, uint64_t address, uint64_t bytes, bool write)
{
    const uint64_t first = address / TF_DRAM_BURST_BYTES;
    const uint64_t last = (address + bytes - 1) / TF_DRAM_BURST_BYTES;
    const uint64_t words = TF_DRAM_BURST_BYTES / TF_DMA_PORT_BYTES;
    uint64_t ended = t;
    m->count.dma_descriptors++;
    t += TF_DMA_SETUP_CYCLES;
    for (uint64_t burst = first; burst <= last; burst++) {
        uint64_t *flight = &m->dma_flight[m->dma_next++ % TF_DMA_OUTSTANDING];
        const uint64_t issue = t > *flight ? t : *flight;
        if (write) {
            m->dma_free = (issue > m->dma_free ? issue : m->dma_free) + words;
            m->count.spad_dma_reads += words;
            m->count.dram_dma_writes++;
            *flight = tf_m_dram(m, m->dma_free, burst * TF_DRAM_BURST_BYTES, true);
        } else {
            const uint64_t arrives = tf_m_dram(m, issue, burst * TF_DRAM_BURST_BYTES, false);
            m->dma_free = (arrives > m->dma_free ? arrives : m->dma_free) + words;
            m->count.spad_dma_writes += words;
            m->count.dram_dma_reads++;
            *flight = m->dma_free;
        }
        if (*flight > ended) ended = *flight;
    }
    return ended;
}

static TF_COLD void tf_m_stream_open(tf_tape *tf, tf_stream *stream, tf_buffer *buffers, uint32_t copies, size_t record,
                                     size_t records)
{
    struct tf_model *m = tf_m(tf);
    const uint64_t tile_bytes = (uint64_t)record * records;
    memset(stream, 0, sizeof *stream);
    memset(buffers, 0, copies * sizeof *buffers);
    stream->streamed = true;
    stream->buffers = buffers;
    stream->copies = copies;
    stream->tile_bytes = tile_bytes;
    const uint64_t base = (m->spad_used + 7) / 8 * 8;
    const uint64_t end = base + copies * tile_bytes;
    if (end > TF_SPAD_BYTES) {
        (void)snprintf(m->message, sizeof m->message,
                       "scratchpad: its buffers need %" PRIu64 " bytes, the machine has %" PRIu64, end,
                       (uint64_t)TF_SPAD_BYTES);
        tf_m_fail(tf, m->message);
        stream->bytes = tf_m_block(m, copies * tile_bytes); /* go on outside, so that the call ends in order */
        if (stream->bytes == NULL) abort();
    } else {
        stream->bytes = m->spad + base;
        m->spad_used = end;
        if (end > m->count.spad_bytes_used) m->count.spad_bytes_used = end;
    }
    memset(stream->bytes, TF_POISON, (size_t)(copies * tile_bytes));
    stream->low = stream->top = stream->bytes;
    stream->high = stream->low + tile_bytes;
    buffers[0].holds = true;
    m->count.spad_copies += copies;
    for (uint32_t k = 1; k < copies; k++) buffers[k].since = TF_NEVER;
    buffers[0].since = m->tau + m->stalled;
    tf_m_timeline_open(m, &stream->track, m->tau + m->stalled);
}

static TF_COLD void tf_m_stream_open_reserved(tf_tape *tf, tf_stream *stream, tf_buffer *buffers, uint32_t copies,
                                              size_t record, size_t records, ptrdiff_t count, void *bytes)
{
    tf_m_stream_open(tf, stream, buffers, copies, record, records);
    tf_m_home_reserved(tf, &stream->home, stream->tile_bytes, (count > 0 ? (uint64_t)count : 0) / records, bytes);
}

static TF_COLD void tf_m_stream_open_growing(tf_tape *tf, tf_stream *stream, tf_buffer *buffers, uint32_t copies,
                                             size_t record, size_t records)
{
    tf_m_stream_open(tf, stream, buffers, copies, record, records);
    tf_m_home_growing(&stream->home, stream->tile_bytes);
}

/* The schedule time at which the datapath stands for this stream. */
static inline uint64_t tf_m_stream_at(const struct tf_model *m, const tf_stream *stream)
{
    return stream->used > m->tau ? stream->used : m->tau;
}

/* The cycle at which the datapath stands for this stream, the stalls known of by now included. */
static inline uint64_t tf_m_stream_now(const struct tf_model *m, const tf_stream *stream)
{
    const uint64_t at = tf_m_stream_at(m, stream);
    return at + tf_m_stalled(m, at);
}

/* Start a transfer of `tile`; the datapath is held while it writes the descriptor. */
static TF_SLOW uint64_t tf_m_stream_transfer(tf_tape *tf, tf_stream *stream, uint64_t tile, bool write)
{
    struct tf_model *m = tf_m(tf);
    const uint64_t at = tf_m_stream_at(m, stream);
    uint64_t t = at + tf_m_stalled(m, at) + TF_DMA_START_CYCLES;
    unsigned char *home = NULL;
    uint64_t address = 0;
    unsigned char *low = stream->bytes + (tile % stream->copies) * stream->tile_bytes;
    tf_m_wait(m, at, t, TF_WAIT_START);
    if (write && !tf_m_home_find(&stream->home, tile, &home, &address) && tf_m_home_grow(tf, &stream->home))
        (void)tf_m_home_find(&stream->home, tile, &home, &address);
    if (!write && !tf_m_home_find(&stream->home, tile, &home, &address))
        tf_m_fail(tf, "stream: a tile was fetched that was never pushed");
    if (home == NULL) return t;
    if (write) memcpy(home, low, (size_t)stream->tile_bytes);
    else memcpy(low, home, (size_t)stream->tile_bytes);
    if (!write && stream->drained > t) t = stream->drained; /* it may still be on its way out */
    const uint64_t ended = tf_m_dma(m, t, address, stream->tile_bytes, write);
    stream->transfer = m->count.dma_descriptors;
    tf_m_timeline_transfer(m, &stream->track, tile, stream->transfer, write, t, ended);
    if (write) stream->drained = ended;
    if (ended > stream->ended) stream->ended = ended;
    return ended;
}

/* Wait for `transfer`, which is over at cycle `until`; 0 when there is none to wait for. */
static TF_SLOW void tf_m_stream_wait(tf_tape *tf, tf_stream *stream, uint64_t transfer, uint64_t until)
{
    struct tf_model *m = tf_m(tf);
    m->count.dma_waits++;
    tf_m_timeline_wait(m, &stream->track, stream->tile, transfer, tf_m_stream_now(m, stream), until);
    tf_m_wait(m, tf_m_stream_at(m, stream), until, TF_WAIT_DMA);
}

/* Make `tile` current: empty, or as full as it was when it left. */
static TF_SLOW void tf_m_stream_turn(struct tf_model *m, tf_stream *stream, uint64_t tile, bool full)
{
    tf_m_timeline_turn(m, &stream->track, stream->tile, tile > stream->tile, tf_m_stream_now(m, stream));
    stream->tile = tile;
    stream->low = stream->bytes + (tile % stream->copies) * stream->tile_bytes;
    stream->high = stream->low + stream->tile_bytes;
    stream->top = full ? stream->high : stream->low;
}

/* Start to drain the current, full tile, and turn to the next, whose buffer may still be busy. */
static TF_SLOW tf_buffer *tf_m_stream_out(tf_tape *tf, tf_stream *stream)
{
    tf_buffer *buffer = &stream->buffers[stream->tile % stream->copies];
    if (stream->top != stream->high) tf_m_fail(tf, "stream: a tile was pushed before it was full");
    buffer->ready = tf_m_stream_transfer(tf, stream, stream->tile, true);
    buffer->transfer = stream->transfer;
    buffer->fetched = false;
    stream->pushed++;
    tf_m(tf)->count.tiles_pushed++;
    buffer = &stream->buffers[(stream->tile + 1) % stream->copies];
    if (buffer->holds && buffer->fetched) stream->discarded++; /* fetched, then written over: a second forward sweep */
    tf_m_stream_turn(tf_m(tf), stream, stream->tile + 1, false);
    return buffer;
}

/* The tile in `buffer`, if there is one, is needed no more. */
static TF_SLOW void tf_m_stream_release(struct tf_model *m, const tf_stream *stream, tf_buffer *buffer)
{
    const uint64_t copy = (uint64_t)(buffer - stream->buffers);
    tf_m_timeline_release(m, &stream->track, copy, buffer->tile, &buffer->since, tf_m_stream_now(m, stream));
    buffer->holds = false;
}

/* The buffer of the tile just made current may be written from now on. */
static TF_SLOW void tf_m_stream_free(struct tf_model *m, tf_stream *stream, tf_buffer *buffer)
{
    tf_m_stream_release(m, stream, buffer);
    buffer->since = tf_m_stream_now(m, stream);
    buffer->tile = stream->tile;
    buffer->holds = true;
    buffer->fetched = false;
    memset(stream->low, TF_POISON, (size_t)stream->tile_bytes);
}

/* Turn to the tile below, which must be on chip or on its way. */
static TF_SLOW void tf_m_stream_below(tf_tape *tf, tf_stream *stream)
{
    if (stream->top != stream->low) tf_m_fail(tf, "stream: a tile was popped before the one above was used up");
    if (stream->tile == 0) {
        tf_m_fail(tf, "stream: popped more tiles than were pushed");
        return;
    }
    const tf_buffer *buffer = &stream->buffers[(stream->tile - 1) % stream->copies];
    if (!buffer->holds || buffer->tile != stream->tile - 1) tf_m_fail(tf, "stream: popped a tile that is not on chip");
    tf_m_stream_turn(tf_m(tf), stream, stream->tile - 1, true);
    stream->popped++;
    if (!buffer->fetched) {
        stream->resident++;
        tf_m(tf)->count.tiles_resident++;
    }
}

/* Start to fetch `tile` into its buffer. */
static TF_SLOW void tf_m_stream_fetch(tf_tape *tf, tf_stream *stream, uint64_t tile)
{
    tf_buffer *buffer = &stream->buffers[tile % stream->copies];
    buffer->ready = tf_m_stream_transfer(tf, stream, tile, false);
    buffer->transfer = stream->transfer;
    tf_m_stream_release(tf_m(tf), stream, buffer);
    buffer->since = tf_m_stream_now(tf_m(tf), stream);
    buffer->tile = tile;
    buffer->holds = true;
    buffer->fetched = true;
    stream->fetched++;
    tf_m(tf)->count.tiles_fetched++;
}

/* Stage streams: drain the current tile while the next fills. */
static TF_SLOW void tf_m_stream_push(tf_tape *tf, tf_stream *stream)
{
    tf_buffer *buffer = tf_m_stream_out(tf, stream);
    tf_m_stream_wait(tf, stream, buffer->transfer, buffer->ready);
    tf_m_stream_free(tf_m(tf), stream, buffer);
}

/* Stage streams: the current tile is used up; fetch into its buffer what will be needed there next. */
static TF_SLOW void tf_m_stream_prefetch(tf_tape *tf, tf_stream *stream)
{
    if (stream->top != stream->low) {
        tf_m_fail(tf, "stream: a buffer was fetched into before it was used up");
        return;
    }
    tf_m_stream_release(tf_m(tf), stream, &stream->buffers[stream->tile % stream->copies]);
    if (stream->tile >= stream->copies) tf_m_stream_fetch(tf, stream, stream->tile - stream->copies);
}

/* Stage streams: turn to the tile below, and wait for it if it is on its way. */
static TF_SLOW void tf_m_stream_pop(tf_tape *tf, tf_stream *stream)
{
    tf_m_stream_below(tf, stream);
    const tf_buffer *buffer = &stream->buffers[stream->tile % stream->copies];
    tf_m_stream_wait(tf, stream, buffer->transfer, buffer->ready);
}

/* Stage layers: drain the current tile; TF_DMA_WAIT follows before anything is written. */
static TF_SLOW void tf_m_dma_out(tf_tape *tf, tf_stream *stream)
{
    tf_buffer *buffer = tf_m_stream_out(tf, stream);
    tf_m_stream_free(tf_m(tf), stream, buffer);
}

/* Stage layers: turn to the tile below, and fetch it unless it is still on chip. */
static TF_SLOW void tf_m_dma_in(tf_tape *tf, tf_stream *stream)
{
    if (stream->tile > 0 && stream->top == stream->low) {
        tf_buffer *used_up = &stream->buffers[stream->tile % stream->copies];
        const tf_buffer *below = &stream->buffers[(stream->tile - 1) % stream->copies];
        tf_m_stream_release(tf_m(tf), stream, used_up);
        if (!below->holds || below->tile != stream->tile - 1) tf_m_stream_fetch(tf, stream, stream->tile - 1);
    }
    tf_m_stream_below(tf, stream);
}

static TF_SLOW void tf_m_dma_wait(tf_tape *tf, tf_stream *stream)
{
    tf_m_stream_wait(tf, stream, stream->transfer, stream->ended);
}

/* The end of a stream: what was pushed was popped, and no record is left. */
static TF_COLD void tf_m_stream_close(tf_tape *tf, tf_stream *stream)
{
    struct tf_model *m = tf_m(tf);
    tf_m_timeline_turn(m, &stream->track, stream->tile, false, tf_m_stream_now(m, stream));
    for (uint32_t k = 0; k < stream->copies; k++) tf_m_stream_release(m, stream, &stream->buffers[k]);
    if (stream->ended > m->last_write) m->last_write = stream->ended;
    if (tf->error != NULL) return;
    if (stream->tile != 0 || stream->top != stream->low) tf_m_fail(tf, "stream: closed with records left in it");
    else if (stream->pushed != stream->popped) tf_m_fail(tf, "stream: tiles pushed and popped differ");
    else if (stream->pushed + stream->discarded != stream->fetched + stream->resident)
        tf_m_fail(tf, "stream: tiles pushed are not those fetched and those resident");
}

/* Bytes that a tape of either kind holds. */
static TF_COLD uint64_t tf_m_handle_bytes(const void *handle)
{
    if (*(const bool *)handle) {
        const tf_stream *stream = (const tf_stream *)handle;
        return stream->tile * stream->tile_bytes + (uint64_t)(stream->top - stream->low);
    }
    const tf_region *region = (const tf_region *)handle;
    const uint64_t below = region->home.first * (((uint64_t)1 << region->chunk) - 1) * region->home.item_bytes;
    return below + (uint64_t)(region->top - region->low);
}

static TF_COLD void tf_m_close(tf_tape *tf, void *handle)
{
    if (*(const bool *)handle) tf_m_stream_close(tf, (tf_stream *)handle);
    else if (tf->error == NULL && tf_m_handle_bytes(handle) != 0)
        tf_m_fail(tf, "tape: closed with records left on it");
}

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

#if TF_SPAD_PORTS > 1
/* A record goes through a port, a word a cycle from schedule time `at` on. Words are interleaved over the banks; where
 * several ports meet in one bank in one cycle, the datapath is held until the fullest bank has served them all. */
static TF_SLOW void tf_m_banks(tf_tape *tf, const unsigned char *record, size_t bytes, uint64_t at)
{
    struct tf_model *m = tf_m(tf);
    if (tf->error != NULL) return; /* the record may lie elsewhere */
    const uint64_t first = (uint64_t)(record - m->spad) / TF_SPAD_PORT_BYTES;
    const uint64_t words = (bytes + TF_SPAD_PORT_BYTES - 1) / TF_SPAD_PORT_BYTES;
    for (uint64_t k = 0; k < words; k++) {
        tf_bank_use *use = &m->bank_use[(at + k) % TF_BANK_CYCLES];
        if (use->at != at + k) {
            memset(use, 0, sizeof *use);
            use->at = at + k;
        }
        if (++use->used[(first + k) % TF_SPAD_BANKS] <= use->held + 1) continue;
        use->held++;
        tf_m_hold(m, &m->count.stall_bank, TF_WAIT_BANK);
    }
}
#else
TF_HOT void tf_m_banks(tf_tape *tf, const unsigned char *record, size_t bytes, uint64_t at)
{
    (void)tf, (void)record, (void)bytes, (void)at; /* with one port no two accesses are in one cycle */
}
#endif

TF_HOT void tf_m_write(tf_tape *tf, tf_stream *stream, const void *record, size_t bytes, uint32_t offset)
{
    struct tf_model *m = tf_m(tf);
    if (!TF_LIKELY(stream->top != stream->high)) {
        tf_m_fail(tf, "scratchpad: a record was written into a full buffer");
        return;
    }
    memcpy(stream->top, record, bytes);
    tf_m_banks(tf, stream->top, bytes, m->tau + offset);
    stream->top += bytes;
    stream->used = m->tau + offset + 1;
    m->count.spad_writes += (bytes + TF_SPAD_PORT_BYTES - 1) / TF_SPAD_PORT_BYTES;
    tf_m_tape_pushed(m, bytes);
}

TF_HOT void tf_m_read(tf_tape *tf, tf_stream *stream, void *record, size_t bytes, uint32_t offset)
{
    struct tf_model *m = tf_m(tf);
    if (!TF_LIKELY(stream->top != stream->low)) {
        tf_m_fail(tf, "scratchpad: a record was read from an empty buffer");
        memset(record, 0, bytes);
        return;
    }
    stream->top -= bytes;
    memcpy(record, stream->top, bytes);
    memset(stream->top, TF_POISON, bytes);
    tf_m_banks(tf, stream->top, bytes, m->tau + offset);
    stream->used = m->tau + offset + 1;
    m->count.spad_reads += (bytes + TF_SPAD_PORT_BYTES - 1) / TF_SPAD_PORT_BYTES;
    tf_m_tape_popped(m, bytes);
}

#endif
