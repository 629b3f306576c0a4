/* A calendar: which clocks of a shared resource are taken, in a window that moves with time.
 *
 * Requests are served as they are known, not in the order of their times, so a resource needs a memory of its free
 * gaps: with only a "free from" time, one late request would hold up every earlier one behind it.
 */
#ifndef TAPEFLOW_MODEL_CALENDAR_H
#define TAPEFLOW_MODEL_CALENDAR_H

#include "tapeflow_model_state.h"

#define TF_CALENDAR_SLOTS (64u * TF_CALENDAR_WORDS)

/* Move the window so that `slot` lies in its last word. What falls out is past. */
static TF_SLOW void tf_m_calendar_advance(tf_calendar *calendar, uint64_t slot)
{
    const uint64_t first = (slot & ~(uint64_t)63) + 64 - TF_CALENDAR_SLOTS;
    if (first - calendar->first >= TF_CALENDAR_SLOTS) {
        memset(calendar->taken, 0, sizeof calendar->taken);
    } else {
        for (uint64_t at = calendar->first; at < first; at += 64) calendar->taken[(at / 64) % TF_CALENDAR_WORDS] = 0;
    }
    calendar->first = first;
}

/* The 64 slots from `slot` on, bit 0 first. */
static inline uint64_t tf_m_calendar_look(tf_calendar *calendar, uint64_t slot)
{
    if (slot + 64 > calendar->first + TF_CALENDAR_SLOTS) tf_m_calendar_advance(calendar, slot + 64);
    const uint64_t bit = slot % 64;
    uint64_t taken = calendar->taken[(slot / 64) % TF_CALENDAR_WORDS] >> bit;
    if (bit != 0) taken |= calendar->taken[(slot / 64 + 1) % TF_CALENDAR_WORDS] << (64 - bit);
    return taken;
}

/* Take the `length` slots from `slot` on, free or not. */
static inline void tf_m_calendar_mark(tf_calendar *calendar, uint64_t slot, uint64_t length)
{
    if (slot < calendar->first) {
        length = slot + length > calendar->first ? slot + length - calendar->first : 0;
        slot = calendar->first;
    }
    while (length > 0) {
        const uint64_t bit = slot % 64;
        const uint64_t run = length < 64 - bit ? length : 64 - bit;
        if (slot >= calendar->first + TF_CALENDAR_SLOTS) tf_m_calendar_advance(calendar, slot);
        calendar->taken[(slot / 64) % TF_CALENDAR_WORDS] |= (~(uint64_t)0 >> (64 - run)) << bit;
        slot += run;
        length -= run;
    }
}

/* The number of the highest bit set in `bits`, which is not 0. */
static inline uint64_t tf_m_highest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return 63u - (uint64_t)__builtin_clzll(bits);
#else
    uint64_t bit = 0;
    while ((bits >>= 1) != 0) bit++;
    return bit;
#endif
}

/* The first run of `length` (at most 32) free slots at or after `slot`. */
static inline uint64_t tf_m_calendar_find(tf_calendar *calendar, uint64_t slot, uint64_t length)
{
    const uint64_t wanted = ((uint64_t)1 << length) - 1;
    if (slot < calendar->first) slot = calendar->first;
    for (;;) {
        const uint64_t taken = tf_m_calendar_look(calendar, slot);
        uint64_t skip = 0;
        uint64_t in_the_way;
        while (skip + length <= 64 && (in_the_way = taken >> skip & wanted) != 0) skip += tf_m_highest_bit(in_the_way) + 1;
        if (skip + length <= 64) return slot + skip;
        slot += skip;
    }
}

#endif
