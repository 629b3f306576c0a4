/* Drives the parts of the modelled machine directly, from Python through ctypes, or from main under sanitizers. */
#define TF_MODEL
#define TF_MODEL_EXPORTS
#include "tapeflow_rt.h"

tf_tape *drive_new(void);
void drive_free(tf_tape *tf);
const char *drive_error(tf_tape *tf);
void drive_accesses(tf_tape *tf, size_t n, const uint64_t *address, const uint8_t *write, uint32_t slack);
void drive_chase(tf_tape *tf, size_t n, const uint64_t *address);
void drive_lifo(tf_tape *tf, size_t records, size_t bytes, int grow);
void drive_loops(tf_tape *tf, size_t loops, const uint32_t *ii, const uint32_t *depth, const uint32_t *iterations,
                 size_t tile);
void drive_tape(tf_tape *tf, size_t n, const uint8_t *push, size_t bytes);
void drive_activates(tf_tape *tf, size_t n, uint64_t *clock);
uint64_t drive_dram(tf_tape *tf, size_t n, const uint64_t *address, const uint8_t *write, size_t in_flight);
void drive_bus(tf_tape *tf, size_t n, const uint32_t *at, const uint32_t *bursts, const uint8_t *out, uint64_t *done);
void drive_stack(tf_tape *tf, size_t n, const uint8_t *push, uint64_t *popped, uint32_t copies, size_t records,
                 int blocking, int grow);
void drive_tiles(tf_tape *tf, uint32_t copies, size_t records, size_t tiles, uint32_t compute);
ptrdiff_t drive_reach(ptrdiff_t j, ptrdiff_t end, ptrdiff_t step, uint64_t records, int down);
void drive_banks(tf_tape *tf, size_t steps, size_t each, const uint32_t *offset, const uint32_t *bytes, const int8_t *turn);
void drive_mixed(tf_tape *tf, size_t steps, size_t each, const uint64_t *address, const uint8_t *what,
                 const uint32_t *offset, uint32_t slack);
size_t drive_poison(tf_tape *tf, size_t records);
void drive_reserved(tf_tape *tf, size_t reserved, size_t recorded, int stream);

ptrdiff_t drive_reach(ptrdiff_t j, ptrdiff_t end, ptrdiff_t step, uint64_t records, int down)
{
    return down ? tf_m_reach_down(j, end, step, records) : tf_m_reach(j, end, step, records);
}

/* Writes and reads back `records` records; returns how many bytes of the scratchpad are not poisoned then. */
size_t drive_poison(tf_tape *tf, size_t records)
{
    tf_stream stream;
    tf_buffer buffers[2];
    uint64_t value = 0;
    size_t fresh = 0;
    tf_m_stream_open_growing(tf_m(tf), &stream, buffers, 2, sizeof value, 4);
    for (size_t k = 0; k < records; k++) {
        tf_m_write(tf_m(tf), &stream, &value, sizeof value, 0);
        if (TF_FULL(stream)) TF_PUSH(stream);
    }
    for (size_t k = 0; k < records; k++) {
        if (TF_EMPTY(stream)) {
            TF_PREFETCH(stream);
            TF_POP(stream);
        }
        tf_m_read(tf_m(tf), &stream, &value, sizeof value, 0);
    }
    TF_CLOSE(stream);
    for (size_t k = 0; k < TF_SPAD_BYTES; k++) fresh += tf_m(tf)->pad->bytes[k] != TF_POISON;
    return fresh;
}

/* Records more than was reserved, or not. */
void drive_reserved(tf_tape *tf, size_t reserved, size_t recorded, int stream)
{
    const uint64_t value = 1;
    uint64_t back;
    if (!tf_reserve(tf, tf_bytes(sizeof value, (ptrdiff_t)reserved))) return;
    void *bytes = tf_take(tf, tf_bytes(sizeof value, (ptrdiff_t)reserved));
    if (stream) {
        tf_stream tiles;
        tf_buffer buffers[2];
        tf_m_stream_open_reserved(tf_m(tf), &tiles, buffers, 2, sizeof value, 1, (ptrdiff_t)reserved, bytes);
        for (size_t k = 0; k < recorded; k++) {
            tf_m_write(tf_m(tf), &tiles, &value, sizeof value, 0);
            TF_PUSH(tiles);
        }
    } else {
        tf_region region;
        tf_m_region_open(tf_m(tf), &region, sizeof value, (ptrdiff_t)reserved, bytes);
        for (size_t k = 0; k < recorded; k++) tf_m_record(tf_m(tf), &region, &value, sizeof value, 0, 1);
        for (size_t k = 0; k <= recorded; k++) tf_m_replay(tf_m(tf), &region, &back, sizeof back, 0, 0, 1);
    }
}

/* Records into three buffers that never travel: in each step, a cycle after the one before, `each` accesses that begin
 * `offset` cycles into it; `turn` is the buffer to write, counted from 1, or with a minus to read back. */
void drive_banks(tf_tape *tf, size_t steps, size_t each, const uint32_t *offset, const uint32_t *bytes, const int8_t *turn)
{
    static const unsigned char record[64];
    unsigned char back[64];
    tf_stream streams[3];
    tf_buffer buffers[3];
    for (int k = 0; k < 3; k++) tf_m_stream_open_growing(tf_m(tf), &streams[k], &buffers[k], 1, 8, 42);
    for (size_t k = 0; k < steps; k++) {
        tf_m_step(tf_m(tf), 1, 1, 1);
        for (size_t j = k * each; j < (k + 1) * each; j++) {
            tf_stream *stream = &streams[(turn[j] > 0 ? turn[j] : -turn[j]) - 1];
            if (turn[j] > 0) tf_m_write(tf_m(tf), stream, record, bytes[j], offset[j]);
            else tf_m_read(tf_m(tf), stream, back, bytes[j], offset[j]);
        }
    }
}

/* In each step, a cycle after the one before, `each` accesses `offset` cycles into it: loads (0), stores (1), and records
 * of a buffer that never travels, written (2) or read back (3). */
void drive_mixed(tf_tape *tf, size_t steps, size_t each, const uint64_t *address, const uint8_t *what,
                 const uint32_t *offset, uint32_t slack)
{
    struct tf_model *m = tf_m(tf);
    tf_stream stream;
    tf_buffer buffer;
    uint64_t value = 1;
    tf_m_stream_open_growing(m, &stream, &buffer, 1, sizeof value, 64);
    for (size_t k = 0; k < steps; k++) {
        tf_m_step(m, 1, 1, 1);
        for (size_t j = k * each; j < (k + 1) * each; j++)
            if (what[j] == 2) tf_m_write(m, &stream, &value, sizeof value, offset[j]);
            else if (what[j] == 3) tf_m_read(m, &stream, &value, sizeof value, offset[j]);
            else tf_m_array_access(m, address[j], what[j] != 0, offset[j], slack, 1);
    }
}

tf_tape *drive_new(void)
{
    tf_tape *tf = tf_new();
    if (tf == NULL || !tf_reserve(tf, 1 << 20)) abort();
    return tf;
}

void drive_free(tf_tape *tf)
{
    tf_free(tf);
}

const char *drive_error(tf_tape *tf)
{
    return tf->error;
}

/* One access a cycle. */
void drive_accesses(tf_tape *tf, size_t n, const uint64_t *address, const uint8_t *write, uint32_t slack)
{
    struct tf_model *m = tf_m(tf);
    for (size_t k = 0; k < n; k++) {
        tf_m_step(m, 1, 1, 1);
        tf_m_array_access(m, address[k], write[k] != 0, 0, slack, 1);
    }
}

/* Loads each of which needs the one before: an iteration a load, as long as a hit takes. */
void drive_chase(tf_tape *tf, size_t n, const uint64_t *address)
{
    struct tf_model *m = tf_m(tf);
    for (size_t k = 0; k < n; k++) {
        tf_m_step(m, 1, TF_CACHE_HIT_CYCLES, TF_CACHE_HIT_CYCLES);
        tf_m_array_access(m, address[k], false, 0, 0, 1);
    }
}

/* A tape in the cache: `records` recorded, then replayed. */
void drive_lifo(tf_tape *tf, size_t records, size_t bytes, int grow)
{
    static const unsigned char record[256];
    unsigned char back[256];
    tf_region region;
    if (!tf_reserve(tf, records * bytes + 64)) return;
    if (grow) tf_m_region_open_growing(&region, bytes);
    else tf_m_region_open(tf_m(tf), &region, bytes, (ptrdiff_t)records, tf_take(tf, tf_bytes(bytes, (ptrdiff_t)records)));
    const uint32_t ii = (uint32_t)((bytes + TF_CACHE_PORT_BYTES - 1) / TF_CACHE_PORT_BYTES); /* with one port */
    for (size_t k = 0; k < records; k++) {
        tf_m_step(tf_m(tf), 1, ii, ii);
        tf_m_record(tf_m(tf), &region, record, bytes, 0, 1);
    }
    for (size_t k = 0; k < records; k++) {
        tf_m_step(tf_m(tf), 2, ii, ii);
        tf_m_replay(tf_m(tf), &region, back, bytes, 0, 0, 2);
    }
    tf_m_close(tf_m(tf), &region);
}

/* Loops one after the other; a record is written each iteration, and the layer ends after `tile` of them. */
void drive_loops(tf_tape *tf, size_t loops, const uint32_t *ii, const uint32_t *depth, const uint32_t *iterations,
                 size_t tile)
{
    tf_stream stream;
    tf_buffer buffers[2];
    const uint64_t value = 7;
    tf_m_stream_open_growing(tf_m(tf), &stream, buffers, 2, sizeof value, tile);
    for (size_t loop = 0; loop < loops; loop++)
        for (uint32_t k = 0; k < iterations[loop]; k++) {
            tf_m_step(tf_m(tf), (uint32_t)loop + 1, ii[loop], depth[loop]);
            tf_m_write(tf_m(tf), &stream, &value, sizeof value, 0);
            if (TF_FULL(stream)) TF_PUSH(stream);
        }
}

/* A tape in the cache: a record is pushed or popped each cycle. */
void drive_tape(tf_tape *tf, size_t n, const uint8_t *push, size_t bytes)
{
    static const unsigned char record[256];
    unsigned char back[256];
    tf_region region;
    if (!tf_reserve(tf, n * bytes + 64)) return;
    tf_m_region_open(tf_m(tf), &region, bytes, (ptrdiff_t)n, tf_take(tf, tf_bytes(bytes, (ptrdiff_t)n)));
    for (size_t k = 0; k < n; k++) {
        tf_m_step(tf_m(tf), 1, 1, 1);
        if (push[k]) tf_m_record(tf_m(tf), &region, record, bytes, 0, 1);
        else tf_m_replay(tf_m(tf), &region, back, bytes, 0, 0, 2);
    }
    tf_m_close(tf_m(tf), &region);
}

/* Activates of one rank, wanted at `clock` or later; afterwards these are the clocks at which they are. */
void drive_activates(tf_tape *tf, size_t n, uint64_t *clock)
{
    for (size_t k = 0; k < n; k++) clock[k] = tf_m_take_activate(&tf_m(tf)->dram->activates[0], clock[k]);
}

/* Requests to DRAM, the next as soon as one of `in_flight` is done; returns the cycle at which the last one is. */
uint64_t drive_dram(tf_tape *tf, size_t n, const uint64_t *address, const uint8_t *write, size_t in_flight)
{
    struct tf_model *m = tf_m(tf);
    uint64_t flight[64] = {0};
    uint64_t t = 0, end = 0;
    for (size_t k = 0; k < n; k++) {
        size_t first = 0;
        for (size_t j = 1; j < in_flight; j++)
            if (flight[j] < flight[first]) first = j;
        if (flight[first] > t) t = flight[first];
        flight[first] = tf_m_dram(m->dram, t, address[k], write[k] != 0);
        if (flight[first] > end) end = flight[first];
    }
    return tf_m_later(tf_m_dram_finish(m->dram, t), end);
}

/* The cache and the DMA engine on one bus, in this order: at cycle `at[k]` a store misses, if `bursts[k]` is 0, or the
 * engine begins to move so many, out or in. `done` is then the cycle at which the line, or all of the bursts, are there. */
void drive_bus(tf_tape *tf, size_t n, const uint32_t *at, const uint32_t *bursts, const uint8_t *out, uint64_t *done)
{
    struct tf_model *m = tf_m(tf);
    for (size_t k = 0; k < n; k++) {
        const uint64_t address = TF_TAPE_SPACE + k * 65 * TF_DRAM_BURST_BYTES; /* sets of their own, for some time */
        m->tau = at[k];
        if (bursts[k] > 0) {
            done[k] = tf_m_dma(m, at[k], address, bursts[k] * TF_DRAM_BURST_BYTES, out[k] != 0);
            continue;
        }
#if TF_CACHE_LEVELS > 0
        tf_m_array_access(m, address, true, 0, 0, 1);
        done[k] = tf_m_set(m, address / TF_LINE_BYTES)->ready;
#endif
    }
}

/* A stack of tiles: `push[k]` writes record k + 1, else a record is read into `popped`, in order. */
void drive_stack(tf_tape *tf, size_t n, const uint8_t *push, uint64_t *popped, uint32_t copies, size_t records,
                 int blocking, int grow)
{
    struct tf_model *m = tf_m(tf);
    tf_stream stream;
    tf_buffer buffers[16];
    if (grow) tf_m_stream_open_growing(tf_m(tf), &stream, buffers, copies, sizeof(uint64_t), records);
    else
        tf_m_stream_open_reserved(tf_m(tf), &stream, buffers, copies, sizeof(uint64_t), records, (ptrdiff_t)n,
                                  tf_take(tf, tf_bytes(sizeof(uint64_t), (ptrdiff_t)n)));
    size_t read = 0;
    for (size_t k = 0; k < n; k++) {
        tf_m_step(m, 1, 1, 1);
        if (push[k]) {
            const uint64_t value = k + 1;
            tf_m_write(tf_m(tf), &stream, &value, sizeof value, 0);
            if (TF_FULL(stream)) {
                if (blocking) {
                    TF_DMA_OUT(stream);
                    TF_DMA_WAIT(stream);
                } else {
                    TF_PUSH(stream);
                }
            }
        } else {
            if (TF_EMPTY(stream)) {
                if (blocking) {
                    TF_DMA_IN(stream);
                    TF_DMA_WAIT(stream);
                } else {
                    TF_PREFETCH(stream);
                    TF_POP(stream);
                }
            }
            tf_m_read(tf_m(tf), &stream, &popped[read++], sizeof(uint64_t), 0);
        }
    }
    TF_CLOSE(stream);
}

/* Reads `tiles` tiles that all have to be fetched, `compute` cycles each, as the DMA closed form has it. */
void drive_tiles(tf_tape *tf, uint32_t copies, size_t records, size_t tiles, uint32_t compute)
{
    struct tf_model *m = tf_m(tf);
    const uint64_t bytes = records * sizeof(uint64_t);
    uint64_t arrives[16] = {0};
    for (size_t k = 0; k < copies && k < tiles; k++) arrives[k] = tf_m_dma(m, 0, TF_TAPE_SPACE + k * bytes, bytes, false);
    for (size_t k = 0; k < tiles; k++) {
        const uint64_t at = m->tau;
        tf_m_wait(m, at, arrives[k % copies], TF_WAIT_DMA);
        m->tau += compute;
        tf_m_settle(m);
        if (k + copies < tiles)
            arrives[k % copies] =
                tf_m_dma(m, m->tau + m->stalled, TF_TAPE_SPACE + (k + copies) * bytes, bytes, false);
    }
}

#ifdef DRIVE_MAIN
#define RUN(copies, records, blocking, grow) run(copies, records, blocking, grow)

static void run(uint32_t copies, size_t records, int blocking, int grow)
{
    enum { N = 400 };
    uint8_t push[N];
    uint64_t popped[N];
    tf_tape *tf = drive_new();
    for (size_t k = 0; k < N; k++) push[k] = k < N / 2;
    drive_stack(tf, N, push, popped, copies, records, blocking, grow);
    for (size_t k = 0; k < N / 2; k++)
        if (popped[k] != N / 2 - k) abort();
    if (tf->error != NULL) abort();
    tf_model_finish(tf);
    drive_lifo(tf, 100, 24, grow);
    drive_lifo(tf, 100, 24, grow);
    if (tf->error != NULL) abort();
    tf_model_finish(tf);
    drive_free(tf);
}

int main(void)
{
    for (uint32_t copies = 1; copies <= 3; copies++)
        for (size_t records = 1; records <= 9; records += 4)
            for (int mode = 0; mode < 4; mode++) RUN(copies, records, mode & 1, mode >> 1);
    tf_tape *tf = drive_new();
    if (drive_poison(tf, 50) != 0) abort();
    drive_reserved(tf, 3, 5, 0);
    drive_reserved(tf, 3, 5, 1);
    uint64_t address[4000];
    uint8_t write[4000];
    for (size_t k = 0; k < 4000; k++) {
        address[k] = TF_ARRAY_SPACE + (k * 2654435761u) % 100000 / 8 * 8;
        write[k] = k % 3 == 0;
    }
    drive_accesses(tf, 4000, address, write, 0);
    tf_model_finish(tf);
    (void)drive_dram(tf, 4000, address, write, 8);
    drive_free(tf);
    return 0;
}
#endif
