/* The cache: set-associative, least recently used out first, write-back, write-allocate, with miss registers.
 *
 * A set keeps its ways in order of use, so the commonest hit touches one entry. A miss takes a miss register (MSHR)
 * until its line arrives; another access to a line on its way merges with it, also when that line has been replaced since
 * and so is missing again. When all registers are taken the datapath stalls until the first is free. With no cache
 * (TF_CACHE_LEVELS 0) every access is a burst of its own.
 *
 * With TF_CACHE_BLOCKING the cache does nothing beside a miss: the next access of any kind waits until it is over, a
 * load for the store before it too.
 *
 * With TF_PREFETCH_LINES a stride prefetcher watches, for each access in the source, the lines that miss or that it
 * fetched itself: when two steps in a row are alike, of either sign, it fetches so many lines further along, where a
 * miss register is free.
 *
 * Where three of four accesses miss, or more, they are put off, and then done many at a time. Nothing but times and
 * counters depends on when they are, and the program's own accesses follow one another so closely meanwhile that they
 * overlap where they miss in the machine that simulates. What is put off is done before anybody asks how long the datapath has
 * stalled (tf_m_up_to_date). A blocking cache asks at every access, and a timeline wants to know at every block.
 */
#include "tapeflow_model_cache.h"

#include "tapeflow_model_below.h"

#ifndef TF_PUTS_OFF /* the tests compare both */
#define TF_PUTS_OFF (!TF_CACHE_BLOCKING && !TF_TIMELINE)
#endif

/* Write a line back; returns the cycle at which the level below has taken it. */
static TF_SLOW uint64_t tf_m_write_back(struct tf_model *m, uint64_t t, uint64_t key)
{
    const uint64_t number = key >> 1;
    if (tf_m_owner(number * TF_LINE_BYTES) == TF_OF_TAPE) m->count.tape_writebacks++;
    else m->count.array_writebacks++;
    return tf_m_below_write(m, t, number);
}

/* The cycle at which a miss register is free. They are kept in rising order of that. */
TF_HOT uint64_t tf_m_mshr_free(struct tf_model *m)
{
    return tf_m_caches(m)->mshr[0];
}

/* Wait at schedule time `at`, cycle `t`, for a miss register if need be; returns the cycle at which one is free. */
static inline uint64_t tf_m_take_mshr(struct tf_model *m, uint64_t at, uint64_t t)
{
    const uint64_t free = tf_m_mshr_free(m);
    if (free <= t) return t;
    tf_m_wait(m, at, free, TF_WAIT_MSHR);
    return free;
}

/* A miss register is in use from cycle `t`, at which one is free, until cycle `until`. It is the one that was free last:
 * accesses are not met in the exact order of their times, and the others were free for one that is a bit earlier. */
static inline void tf_m_hold_mshr(struct tf_model *m, uint64_t t, uint64_t until)
{
    uint64_t *mshr = tf_m_caches(m)->mshr;
    uint32_t free = 0, place = TF_MSHRS - 1;
    if (TF_MSHRS > 1 && mshr[TF_MSHRS > 1] <= t) /* the second one, where there is one */
        for (free = TF_MSHRS - 1; mshr[free] > t;) free--;
    while (place > free && mshr[place] > until) place--;
    memmove(mshr + free, mshr + free + 1, (place - free) * sizeof *mshr);
    mshr[place] = until;
}

#if TF_CACHE_LEVELS > 0
/* The cycle at which the level below has taken `victim`, which is replaced at cycle `t`; 0 if it has not to. */
static inline uint64_t tf_m_evict(struct tf_model *m, uint64_t t, tf_way victim)
{
    if (victim.key == TF_NO_LINE || (victim.key & 1u) == 0) return 0;
    return tf_m_write_back(m, t + TF_CACHE_HIT_CYCLES, victim.key);
}

/* Fetch line `number` from cycle `t` on, when a miss register is free; returns the cycle at which it is there, which is
 * not before the level below has taken the `victim`. */
static inline uint64_t tf_m_fill(struct tf_model *m, uint64_t t, uint64_t number, tf_way victim)
{
    m->count.cache_fills++;
    uint64_t fill = tf_m_below_read(m, t + TF_CACHE_HIT_CYCLES, number * TF_LINE_BYTES);
    fill = tf_m_later(fill, tf_m_evict(m, t, victim));
    tf_m_hold_mshr(m, t, fill);
    return fill;
}

/* Line `number`, replaced on its way, is remembered until it arrives at cycle `ready`. At most as many are on their way
 * as there are registers, so one that has arrived makes place. */
static TF_SLOW void tf_m_remember_replaced(tf_cache *cache, uint64_t number, uint64_t ready)
{
    tf_way *place = cache->replaced;
    for (uint32_t k = 0; k < TF_MSHRS; k++) {
        tf_way *known = &cache->replaced[k];
        if (known->ready < place->ready) place = known;
        if (known->ready != 0 && known->key >> 1 == number) {
            place = known;
            break;
        }
    }
    *place = (tf_way){number << 1, ready};
    cache->replaced_until = tf_m_later(cache->replaced_until, ready);
}

/* What is on its way at cycle `t` is replaced by another line. */
static inline void tf_m_replaced(struct tf_model *m, uint64_t t, tf_way victim)
{
    const uint64_t ready = victim.ready & ~TF_PREFETCHED;
    if (ready > t) tf_m_remember_replaced(tf_m_caches(m), victim.key >> 1, ready);
}

/* The cycle at which line `number` arrives, if it was replaced and is on its way at cycle `t`; otherwise 0. */
static TF_SLOW uint64_t tf_m_find_replaced(const tf_cache *cache, uint64_t t, uint64_t number)
{
    for (uint32_t k = 0; k < TF_MSHRS; k++)
        if (cache->replaced[k].ready > t && cache->replaced[k].key >> 1 == number) return cache->replaced[k].ready;
    return 0;
}

/* The register that is in use until cycle `until` is so until cycle `longer`. */
static TF_SLOW void tf_m_hold_longer(tf_cache *cache, uint64_t until, uint64_t longer)
{
    uint32_t k = 0;
    while (k < TF_MSHRS && cache->mshr[k] != until) k++;
    if (k == TF_MSHRS) return;
    for (; k + 1 < TF_MSHRS && cache->mshr[k + 1] < longer; k++) cache->mshr[k] = cache->mshr[k + 1];
    cache->mshr[k] = longer;
}

/* Line `number` is missing at cycle `t`. If it is on its way, replaced there, it takes the place of `victim` when it
 * arrives; returns that cycle, or 0 if it must be fetched. */
static inline uint64_t tf_m_merge_replaced(struct tf_model *m, uint64_t t, uint64_t number, tf_way victim)
{
    tf_cache *cache = tf_m_caches(m);
    if (TF_LIKELY(cache->replaced_until <= t)) return 0;
    const uint64_t ready = tf_m_find_replaced(cache, t, number);
    if (ready == 0) return 0;
    m->count.replaced_merges++;
    const uint64_t there = tf_m_later(ready, tf_m_evict(m, t, victim));
    if (there > ready) tf_m_hold_longer(cache, ready, there);
    return there;
}

/* Bring in the missing line `number` in place of `victim`, from cycle `t` on, at which a miss register is free if it has
 * to be fetched; returns the cycle at which it is there. */
static inline uint64_t tf_m_bring(struct tf_model *m, uint64_t t, uint64_t number, tf_way victim)
{
    uint64_t ready = tf_m_merge_replaced(m, t, number, victim);
    if (TF_LIKELY(ready == 0)) ready = tf_m_fill(m, t, number, victim);
    tf_m_replaced(m, t, victim);
    return ready;
}

/* The same at schedule time `at`, where it may have to wait for a miss register. */
static inline uint64_t tf_m_miss(struct tf_model *m, uint64_t at, uint64_t number, tf_way victim)
{
    uint64_t t = at + tf_m_stalled_now(m, at);
    uint64_t ready = tf_m_merge_replaced(m, t, number, victim);
    if (TF_LIKELY(ready == 0)) {
        t = tf_m_take_mshr(m, at, t);
        ready = tf_m_fill(m, t, number, victim);
    }
    tf_m_replaced(m, t, victim);
    return ready;
}

/* The way of `set` that holds line `number`; TF_CACHE_WAYS if none does. */
static inline uint32_t tf_m_find_way(const tf_way *set, uint64_t number)
{
    const uint64_t key = number << 1 | 1u;
    TF_UNROLL
    for (uint32_t way = 0; way < TF_CACHE_WAYS; way++)
        if ((set[way].key | 1u) == key) return way;
    return TF_CACHE_WAYS;
}

/* Put `line` in front of `set` in place of its last way. */
static inline void tf_m_replace_last(tf_way *set, tf_way line)
{
#if TF_CACHE_WAYS > 1 && TF_CACHE_WAYS <= 16
    struct { tf_way ways[TF_CACHE_WAYS - 1]; } before; /* so few are copied without a call */
    memcpy(&before, set, sizeof before);
    memcpy(set + 1, &before, sizeof before);
#else
    memmove(set + 1, set, (TF_CACHE_WAYS - 1) * sizeof *set);
#endif
    set[0] = line;
}
#endif

#if TF_CACHE_LEVELS > 0 && TF_PREFETCH_LINES > 0
/* Bring in line `number` if it is not there and a miss register is free at cycle `t`. */
static TF_SLOW void tf_m_prefetch(struct tf_model *m, uint64_t t, uint64_t number)
{
    tf_way *set = tf_m_set(m, number);
    if (tf_m_find_way(set, number) < TF_CACHE_WAYS || tf_m_mshr_free(m) > t) return;
    m->count.prefetches++;
    tf_m_replace_last(set, (tf_way){number << 1, tf_m_bring(m, t, number, set[TF_CACHE_WAYS - 1]) | TF_PREFETCHED});
}

/* The access at line `site` of the source came to line `number` of memory, which was missing or prefetched. */
static TF_SLOW void tf_m_train(struct tf_model *m, uint64_t t, uint64_t number, uint32_t site)
{
    tf_site *known = &tf_m_caches(m)->sites[site];
    const int64_t step = (int64_t)(number - known->last);
    known->steady = step == known->stride;
    known->stride = step;
    known->last = number;
    if (!known->steady || step == 0) return;
    for (uint64_t k = 1; k <= TF_PREFETCH_LINES; k++) tf_m_prefetch(m, t, number + k * (uint64_t)step);
}
#endif

TF_HOT void tf_m_count_miss(struct tf_model *m, uint64_t address, bool write)
{
    if (tf_m_owner(address) == TF_OF_TAPE) {
        if (write) m->count.tape_write_misses++;
        else m->count.tape_read_misses++;
    } else {
        if (write) m->count.array_write_misses++;
        else m->count.array_read_misses++;
    }
}

/* From now on accesses are put off. */
static inline void tf_m_put_off(struct tf_model *m)
{
    tf_cache *cache = tf_m_caches(m);
    cache->put_off_end = cache->put_off;
    cache->settled = m->tau;
    cache->stalled = m->stalled;
    cache->waiting = m->waiting;
    m->stalled = TF_PUT_OFF;
    m->waiting = 0; /* no step asks for them */
}

/* Put accesses off from now on if three of four, or more, have missed since this was asked before. */
static TF_SLOW void tf_m_put_off_if_most_miss(struct tf_model *m)
{
    tf_cache *cache = tf_m_caches(m);
    const tf_counter_set *count = &m->count;
    const uint64_t accesses = count->array_reads + count->array_writes + count->tape_reads + count->tape_writes;
    const uint64_t misses = count->array_read_misses + count->array_write_misses + count->tape_read_misses +
                            count->tape_write_misses;
    const bool most = 3 * (accesses - cache->accesses_then) <= 4 * (misses - cache->misses_then);
    cache->accesses_then = accesses;
    cache->misses_then = misses;
    cache->until_asked = TF_MOST_PUT_OFF + 1; /* more than are put off */
    if (most) tf_m_put_off(m);
}

/* An access to any way of the cache, to a line that is there, on its way, or missing. */
static TF_SLOW void tf_m_access(struct tf_model *m, uint64_t address, bool write, uint64_t at, uint64_t slack,
                                uint32_t site)
{
    uint64_t ready;
    (void)site;
#if TF_CACHE_LEVELS > 0
    const uint64_t number = address / TF_LINE_BYTES;
    tf_way *set = tf_m_set(m, number);
    const uint32_t way = tf_m_find_way(set, number);
    bool watched = true;
    tf_way line;
    if (way < TF_CACHE_WAYS) {
        line = set[way];
        watched = (line.ready & TF_PREFETCHED) != 0;
        if (watched) m->count.prefetches_used++;
        line.ready &= ~TF_PREFETCHED;
        if (line.ready > at + tf_m_stalled_now(m, at)) m->count.mshr_merges++;
        line.key |= write;
        memmove(set + 1, set, way * sizeof *set);
        set[0] = line;
    } else {
        tf_m_count_miss(m, address, write);
        tf_m_caches(m)->until_asked--;
        line.key = number << 1 | write;
        line.ready = tf_m_miss(m, at, number, set[TF_CACHE_WAYS - 1]);
        tf_m_replace_last(set, line);
    }
    ready = line.ready;
#if TF_PREFETCH_LINES > 0
    if (watched) tf_m_train(m, at + tf_m_stalled_now(m, at), number, site);
#else
    (void)watched;
#endif
#else
    const uint64_t t = tf_m_take_mshr(m, at, at + tf_m_stalled_now(m, at));
    tf_m_count_miss(m, address, write);
    tf_m_caches(m)->until_asked--;
    if (!write) {
        ready = tf_m_memory_read(m, t + TF_CACHE_HIT_CYCLES, address);
    } else {
        if (tf_m_owner(address) == TF_OF_TAPE) m->count.dram_cache_tape_writes++;
        else m->count.dram_cache_array_writes++;
        ready = tf_m_dram(m->dram, t, address, true);
    }
    tf_m_hold_mshr(m, t, ready);
#endif
#if TF_CACHE_BLOCKING
    m->blocked = tf_m_later(m->blocked, ready);
#endif
    if (!write) tf_m_wait(m, at + TF_CACHE_HIT_CYCLES + slack, ready, TF_WAIT_FILL);
    if (TF_PUTS_OFF && tf_m_caches(m)->until_asked == 0) tf_m_put_off_if_most_miss(m);
}

/* The iteration at hand begins at schedule time `tau`: what was stalled before it is settled there, as a step does it. */
static inline void tf_m_settle_at(struct tf_model *m, uint64_t tau)
{
    tf_cache *cache = tf_m_caches(m);
    m->tau = tau;
    if (m->waiting != 0 && tau > cache->settled) tf_m_settle(m);
    cache->settled = tau;
}

/* What was put off is done now, in its order and at its times. */
TF_PART TF_SLOW void tf_m_catch_up(struct tf_model *m)
{
    tf_cache *cache = tf_m_caches(m);
    const uint64_t tau = m->tau;
    m->stalled = cache->stalled;
    m->waiting = cache->waiting;
    for (const tf_put_off *put = cache->put_off; put < cache->put_off_end; put++) {
        tf_m_settle_at(m, put->tau);
        tf_m_access(m, put->address_write >> 1, (put->address_write & 1u) != 0, put->at, put->slack_site >> 32,
                    (uint32_t)put->slack_site);
    }
    tf_m_settle_at(m, tau);
}

/* As many are put off as there is room for. */
static TF_SLOW void tf_m_put_off_full(struct tf_model *m)
{
    tf_m_catch_up(m);
    tf_m_put_off_if_most_miss(m);
}

/* An access that is not a plain hit on the most recent way. To put it off takes few stores, and no registers of the
 * caller's: a processor keeps only so many stores behind one that waits for its line. */
TF_PART TF_SLOW void tf_m_cache_slow(struct tf_model *m, uint64_t address, bool write, uint64_t at, uint64_t slack,
                                     uint32_t site)
{
    if (!TF_PUTS_OFF || m->stalled != TF_PUT_OFF) {
        tf_m_access(m, address, write, at, slack, site);
        return;
    }
    tf_cache *cache = tf_m_caches(m);
    tf_put_off *put = cache->put_off_end;
    *put = (tf_put_off){address << 1 | write, m->tau, at, slack << 32 | site};
    cache->put_off_end = put + 1;
    if (put + 1 == cache->put_off + TF_MOST_PUT_OFF) tf_m_put_off_full(m);
}

/* A load and a store of the same element of which the load is no plain hit. */
TF_PART TF_SLOW void tf_m_update_slow(struct tf_model *m, uint64_t address, uint32_t offset, uint32_t slack,
                                     uint32_t site)
{
    tf_m_cache(m, address, false, offset, slack, site);
    tf_m_cache(m, address, true, offset, 0, site);
}

#if TF_STREAMING_BUFFERS > 0
/* Write the line in buffer `k` to DRAM, at schedule time `at`. */
static TF_SLOW void tf_m_stream_out_line(struct tf_model *m, uint32_t k, uint64_t at)
{
    tf_cache *cache = tf_m_caches(m);
    const uint64_t number = cache->combined[k].number;
    const uint64_t t = tf_m_take_mshr(m, at, at + tf_m_stalled_now(m, at));
    m->count.streamed_lines++;
    tf_m_hold_mshr(m, t, tf_m_memory_write(m, t, number));
    tf_m_below_forget(m, number);
    cache->combining--;
    memmove(cache->combined + k, cache->combined + k + 1, (cache->combining - k) * sizeof *cache->combined);
}

/* The buffer that collects line `number`; `combining` if none does. */
static inline uint32_t tf_m_combined(const tf_cache *cache, uint64_t number)
{
    uint32_t k = 0;
    while (k < cache->combining && cache->combined[k].number != number) k++;
    return k;
}

/* Store `bytes` of line `number` past the caches; false when the first cache holds the line, which takes them then. */
static TF_SLOW bool tf_m_combine(struct tf_model *m, uint64_t number, uint64_t bytes, uint64_t at)
{
#if TF_CACHE_LEVELS > 0
    if (tf_m_find_way(tf_m_set(m, number), number) < TF_CACHE_WAYS) return false;
#endif
    tf_cache *cache = tf_m_caches(m);
    uint32_t k = tf_m_combined(cache, number);
    tf_combined line = {number, bytes};
    if (k < cache->combining) {
        line.bytes += cache->combined[k].bytes;
    } else {
        if (cache->combining == TF_STREAMING_BUFFERS) tf_m_stream_out_line(m, cache->combining - 1, at);
        k = cache->combining++;
    }
    memmove(cache->combined + 1, cache->combined, k * sizeof *cache->combined);
    cache->combined[0] = line;
    if (line.bytes >= TF_LINE_BYTES) tf_m_stream_out_line(m, 0, at);
    return true;
}

TF_PART TF_SLOW bool tf_m_goes_past(struct tf_model *m, uint64_t number, uint64_t bytes, bool write, uint64_t at)
{
    tf_m_up_to_date(m);
    if (write) return tf_m_combine(m, number, bytes, at);
    const tf_cache *cache = tf_m_caches(m);
    const uint32_t k = tf_m_combined(cache, number);
    if (k < cache->combining) tf_m_stream_out_line(m, k, at);
    return false;
}
#endif

/* At the end every dirty line goes to DRAM, and is charged. Returns the cycle at which the last line fetched is there. */
TF_PART TF_COLD uint64_t tf_m_cache_flush(struct tf_model *m, uint64_t t)
{
    tf_cache *cache = tf_m_caches(m);
#if TF_STREAMING_BUFFERS > 0
    while (cache->combining > 0) {
        m->count.streamed_lines++;
        (void)tf_m_memory_write(m, t, cache->combined[--cache->combining].number);
        tf_m_below_forget(m, cache->combined[cache->combining].number);
    }
#endif
#if TF_CACHE_LEVELS > 0
    for (uint32_t k = 0; k < TF_CACHE_LINES; k++)
        if (cache->ways[k].key != TF_NO_LINE && (cache->ways[k].key & 1u) != 0) {
            (void)tf_m_write_back(m, t, cache->ways[k].key);
            cache->ways[k].key &= ~(uint64_t)1;
        }
    tf_m_below_flush(m, t);
#else
    (void)t;
#endif
    return cache->mshr[TF_MSHRS - 1];
}

/* Bytes of the caches for a program with so many places that access memory. */
TF_PART TF_COLD size_t tf_m_cache_bytes(size_t sites)
{
    return sizeof(tf_cache) + (TF_PREFETCH_LINES > 0 ? sites * sizeof(tf_site) : 0);
}

/* Empty caches, in memory that is 0. */
TF_PART TF_COLD void tf_m_cache_reset(struct tf_model *m)
{
    tf_cache *cache = tf_m_caches(m);
    for (size_t k = 0; k < TF_CACHE_LINES; k++) cache->ways[k].key = TF_NO_LINE;
    cache->until_asked = TF_MOST_PUT_OFF + 1;
#if TF_CACHE_LEVELS > 1
    for (size_t k = 0; k < TF_SECOND_LINES; k++) cache->second[k].key = TF_NO_LINE;
#endif
}
