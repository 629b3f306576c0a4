/* Buffers, transfers and banks of the scratchpad; see tapeflow_model_spad.h. */
#include "tapeflow_model_spad.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tapeflow_model_dram.h"

#if TF_SPAD_PORTS > 1
/* Accesses of the scratchpad in one cycle of the schedule, by bank, and how long it has been held for them. */
typedef struct {
    uint64_t at;
    uint32_t held;
    uint32_t used[TF_SPAD_BANKS];
} tf_bank_use;

#define TF_BANK_CYCLES 1024 /* no iteration's accesses lie further apart; a power of two */
#endif

struct tf_pad {
    uint64_t used;                           /* bytes of it given to buffers */
    uint64_t dma_free;                       /* cycle at which the engine's port is free */
    uint64_t dma_flight[TF_DMA_OUTSTANDING]; /* cycle at which each outstanding request is done */
    uint32_t dma_next;                       /* requests issued so far, for the next place in `dma_flight` */
    char message[256];
#if TF_SPAD_PORTS > 1
    tf_bank_use bank_use[TF_BANK_CYCLES];
#endif
    unsigned char bytes[TF_SPAD_BYTES > 0 ? TF_SPAD_BYTES : 1];
};

TF_PART TF_COLD size_t tf_m_pad_bytes(void)
{
    return sizeof(struct tf_pad);
}

/* A scratchpad with nothing in it, in memory that is 0. */
TF_PART TF_COLD void tf_m_pad_reset(struct tf_pad *pad)
{
    memset(pad->bytes, TF_POISON, sizeof pad->bytes);
}

/* Move one tile by DMA from cycle `t` on; returns the cycle at which the transfer has ended. */
TF_PART TF_SLOW uint64_t tf_m_dma(struct tf_model *m, uint64_t t, uint64_t address, uint64_t bytes, bool write)
{
    tf_m_up_to_date(m);
    struct tf_pad *pad = m->pad;
    const uint64_t first = address / TF_DRAM_BURST_BYTES;
    const uint64_t last = (address + bytes - 1) / TF_DRAM_BURST_BYTES;
    const uint64_t words = TF_DRAM_BURST_BYTES / TF_DMA_PORT_BYTES;
    uint64_t ended = t;
    m->count.dma_descriptors++;
    t += TF_DMA_SETUP_CYCLES;
    for (uint64_t burst = first; burst <= last; burst++) {
        uint64_t *flight = &pad->dma_flight[pad->dma_next++ % TF_DMA_OUTSTANDING];
        const uint64_t issue = t > *flight ? t : *flight;
        if (write) {
            pad->dma_free = (issue > pad->dma_free ? issue : pad->dma_free) + words;
            m->count.spad_dma_reads += words;
            m->count.dram_dma_writes++;
            *flight = tf_m_dram(m->dram, pad->dma_free, burst * TF_DRAM_BURST_BYTES, true);
        } else {
            const uint64_t arrives = tf_m_dram(m->dram, issue, burst * TF_DRAM_BURST_BYTES, false);
            pad->dma_free = (arrives > pad->dma_free ? arrives : pad->dma_free) + words;
            m->count.spad_dma_writes += words;
            m->count.dram_dma_reads++;
            *flight = pad->dma_free;
        }
        if (*flight > ended) ended = *flight;
    }
    return ended;
}

static TF_COLD void tf_m_stream_open(struct tf_model *m, tf_stream *stream, tf_buffer *buffers, uint32_t copies,
                                     size_t record, size_t records)
{
    struct tf_pad *pad = m->pad;
    const uint64_t tile_bytes = (uint64_t)record * records;
    memset(stream, 0, sizeof *stream);
    memset(buffers, 0, copies * sizeof *buffers);
    stream->streamed = true;
    stream->buffers = buffers;
    stream->copies = copies;
    stream->tile_bytes = tile_bytes;
    const uint64_t base = (pad->used + 7) / 8 * 8;
    const uint64_t end = base + copies * tile_bytes;
    if (end > TF_SPAD_BYTES) {
        (void)snprintf(pad->message, sizeof pad->message,
                       "scratchpad: its buffers need %" PRIu64 " bytes, the machine has %" PRIu64, end,
                       (uint64_t)TF_SPAD_BYTES);
        tf_m_fail(m, pad->message);
        stream->bytes = tf_m_block(m, copies * tile_bytes); /* go on outside, so that the call ends in order */
        if (stream->bytes == NULL) abort();
    } else {
        stream->bytes = pad->bytes + base;
        pad->used = end;
        if (end > m->count.spad_bytes_used) m->count.spad_bytes_used = end;
    }
    memset(stream->bytes, TF_POISON, (size_t)(copies * tile_bytes));
    stream->low = stream->top = stream->bytes;
    stream->high = stream->low + tile_bytes;
    buffers[0].holds = true;
    m->count.spad_copies += copies;
    for (uint32_t k = 1; k < copies; k++) buffers[k].since = TF_NEVER;
    tf_m_up_to_date(m);
    buffers[0].since = m->tau + m->stalled;
    tf_m_timeline_open(m, &stream->track, m->tau + m->stalled);
}

TF_PART TF_COLD void tf_m_stream_open_reserved(struct tf_model *m, tf_stream *stream, tf_buffer *buffers,
                                               uint32_t copies, size_t record, size_t records, ptrdiff_t count,
                                               void *bytes)
{
    tf_m_stream_open(m, stream, buffers, copies, record, records);
    tf_m_home_reserved(m, &stream->home, stream->tile_bytes, (count > 0 ? (uint64_t)count : 0) / records, bytes);
}

TF_PART TF_COLD void tf_m_stream_open_growing(struct tf_model *m, tf_stream *stream, tf_buffer *buffers,
                                              uint32_t copies, size_t record, size_t records)
{
    tf_m_stream_open(m, stream, buffers, copies, record, records);
    tf_m_home_growing(&stream->home, stream->tile_bytes);
}

/* The schedule time at which the datapath stands for this stream. */
static inline uint64_t tf_m_stream_at(const struct tf_model *m, const tf_stream *stream)
{
    return stream->used > m->tau ? stream->used : m->tau;
}

/* The cycle at which the datapath stands for this stream, the stalls known of by now included. */
static inline uint64_t tf_m_stream_now(struct tf_model *m, const tf_stream *stream)
{
    const uint64_t at = tf_m_stream_at(m, stream);
    return at + tf_m_stalled(m, at);
}

/* Start a transfer of `tile`; the datapath is held while it writes the descriptor. */
static TF_SLOW uint64_t tf_m_stream_transfer(struct tf_model *m, tf_stream *stream, uint64_t tile, bool write)
{
    const uint64_t at = tf_m_stream_at(m, stream);
    uint64_t t = at + tf_m_stalled(m, at) + TF_DMA_START_CYCLES;
    unsigned char *home = NULL;
    uint64_t address = 0;
    unsigned char *low = stream->bytes + (tile % stream->copies) * stream->tile_bytes;
    tf_m_wait(m, at, t, TF_WAIT_START);
    if (write && !tf_m_home_find(&stream->home, tile, &home, &address) && tf_m_home_grow(m, &stream->home))
        (void)tf_m_home_find(&stream->home, tile, &home, &address);
    if (!write && !tf_m_home_find(&stream->home, tile, &home, &address))
        tf_m_fail(m, "stream: a tile was fetched that was never pushed");
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
static TF_SLOW void tf_m_stream_wait(struct tf_model *m, tf_stream *stream, uint64_t transfer, uint64_t until)
{
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
static TF_SLOW tf_buffer *tf_m_stream_out(struct tf_model *m, tf_stream *stream)
{
    tf_buffer *buffer = &stream->buffers[stream->tile % stream->copies];
    if (stream->top != stream->high) tf_m_fail(m, "stream: a tile was pushed before it was full");
    buffer->ready = tf_m_stream_transfer(m, stream, stream->tile, true);
    buffer->transfer = stream->transfer;
    buffer->fetched = false;
    stream->pushed++;
    m->count.tiles_pushed++;
    buffer = &stream->buffers[(stream->tile + 1) % stream->copies];
    if (buffer->holds && buffer->fetched) stream->discarded++; /* fetched, then written over: a second forward sweep */
    tf_m_stream_turn(m, stream, stream->tile + 1, false);
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
static TF_SLOW void tf_m_stream_below(struct tf_model *m, tf_stream *stream)
{
    if (stream->top != stream->low) tf_m_fail(m, "stream: a tile was popped before the one above was used up");
    if (stream->tile == 0) {
        tf_m_fail(m, "stream: popped more tiles than were pushed");
        return;
    }
    const tf_buffer *buffer = &stream->buffers[(stream->tile - 1) % stream->copies];
    if (!buffer->holds || buffer->tile != stream->tile - 1) tf_m_fail(m, "stream: popped a tile that is not on chip");
    tf_m_stream_turn(m, stream, stream->tile - 1, true);
    stream->popped++;
    if (!buffer->fetched) {
        stream->resident++;
        m->count.tiles_resident++;
    }
}

/* Start to fetch `tile` into its buffer. */
static TF_SLOW void tf_m_stream_fetch(struct tf_model *m, tf_stream *stream, uint64_t tile)
{
    tf_buffer *buffer = &stream->buffers[tile % stream->copies];
    buffer->ready = tf_m_stream_transfer(m, stream, tile, false);
    buffer->transfer = stream->transfer;
    tf_m_stream_release(m, stream, buffer);
    buffer->since = tf_m_stream_now(m, stream);
    buffer->tile = tile;
    buffer->holds = true;
    buffer->fetched = true;
    stream->fetched++;
    m->count.tiles_fetched++;
}

/* Stage streams: drain the current tile while the next fills. */
TF_PART TF_SLOW void tf_m_stream_push(struct tf_model *m, tf_stream *stream)
{
    tf_buffer *buffer = tf_m_stream_out(m, stream);
    tf_m_stream_wait(m, stream, buffer->transfer, buffer->ready);
    tf_m_stream_free(m, stream, buffer);
}

/* Stage streams: the current tile is used up; fetch into its buffer what will be needed there next. */
TF_PART TF_SLOW void tf_m_stream_prefetch(struct tf_model *m, tf_stream *stream)
{
    if (stream->top != stream->low) {
        tf_m_fail(m, "stream: a buffer was fetched into before it was used up");
        return;
    }
    tf_m_stream_release(m, stream, &stream->buffers[stream->tile % stream->copies]);
    if (stream->tile >= stream->copies) tf_m_stream_fetch(m, stream, stream->tile - stream->copies);
}

/* Stage streams: turn to the tile below, and wait for it if it is on its way. */
TF_PART TF_SLOW void tf_m_stream_pop(struct tf_model *m, tf_stream *stream)
{
    tf_m_stream_below(m, stream);
    const tf_buffer *buffer = &stream->buffers[stream->tile % stream->copies];
    tf_m_stream_wait(m, stream, buffer->transfer, buffer->ready);
}

/* Stage layers: drain the current tile; TF_DMA_WAIT follows before anything is written. */
TF_PART TF_SLOW void tf_m_dma_out(struct tf_model *m, tf_stream *stream)
{
    tf_buffer *buffer = tf_m_stream_out(m, stream);
    tf_m_stream_free(m, stream, buffer);
}

/* Stage layers: turn to the tile below, and fetch it unless it is still on chip. */
TF_PART TF_SLOW void tf_m_dma_in(struct tf_model *m, tf_stream *stream)
{
    if (stream->tile > 0 && stream->top == stream->low) {
        tf_buffer *used_up = &stream->buffers[stream->tile % stream->copies];
        const tf_buffer *below = &stream->buffers[(stream->tile - 1) % stream->copies];
        tf_m_stream_release(m, stream, used_up);
        if (!below->holds || below->tile != stream->tile - 1) tf_m_stream_fetch(m, stream, stream->tile - 1);
    }
    tf_m_stream_below(m, stream);
}

TF_PART TF_SLOW void tf_m_dma_wait(struct tf_model *m, tf_stream *stream)
{
    tf_m_stream_wait(m, stream, stream->transfer, stream->ended);
}

/* The end of a stream: what was pushed was popped, and no record is left. */
static TF_COLD void tf_m_stream_close(struct tf_model *m, tf_stream *stream)
{
    tf_m_timeline_turn(m, &stream->track, stream->tile, false, tf_m_stream_now(m, stream));
    for (uint32_t k = 0; k < stream->copies; k++) tf_m_stream_release(m, stream, &stream->buffers[k]);
    if (stream->ended > m->last_write) m->last_write = stream->ended;
    if (*m->error != NULL) return;
    if (stream->tile != 0 || stream->top != stream->low) tf_m_fail(m, "stream: closed with records left in it");
    else if (stream->pushed != stream->popped) tf_m_fail(m, "stream: tiles pushed and popped differ");
    else if (stream->pushed + stream->discarded != stream->fetched + stream->resident)
        tf_m_fail(m, "stream: tiles pushed are not those fetched and those resident");
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

TF_PART TF_COLD void tf_m_close(struct tf_model *m, void *handle)
{
    if (*(const bool *)handle) tf_m_stream_close(m, (tf_stream *)handle);
    else if (*m->error == NULL && tf_m_handle_bytes(handle) != 0)
        tf_m_fail(m, "tape: closed with records left on it");
}

#if TF_SPAD_PORTS > 1
/* A record goes through a port, a word a cycle from schedule time `at` on. Words are interleaved over the banks; where
 * several ports meet in one bank in one cycle, the datapath is held until the fullest bank has served them all. */
TF_PART TF_SLOW void tf_m_banks(struct tf_model *m, const unsigned char *record, size_t bytes, uint64_t at)
{
    if (*m->error != NULL) return; /* the record may lie elsewhere */
    const uint64_t first = (uint64_t)(record - m->pad->bytes) / TF_SPAD_PORT_BYTES;
    const uint64_t words = (bytes + TF_SPAD_PORT_BYTES - 1) / TF_SPAD_PORT_BYTES;
    for (uint64_t k = 0; k < words; k++) {
        tf_bank_use *use = &m->pad->bank_use[(at + k) % TF_BANK_CYCLES];
        if (use->at != at + k) {
            memset(use, 0, sizeof *use);
            use->at = at + k;
        }
        if (++use->used[(first + k) % TF_SPAD_BANKS] <= use->held + 1) continue;
        use->held++;
        tf_m_hold(m, &m->count.stall_bank, TF_WAIT_BANK);
    }
}
#endif
