/* A calendar: which clocks of a shared resource are taken, in a window that moves with time.
 *
 * Requests are served as they are known, not in the order of their times, so a resource needs a memory of its free
 * gaps: with only a "free from" time, one late request would hold up every earlier one behind it.
 */
#ifndef TAPEFLOW_MODEL_CALENDAR_H
#define TAPEFLOW_MODEL_CALENDAR_H

#include "tapeflow_model_state.h"

/* Slots of a resource that can never be had any more. */
typedef struct {
    uint64_t from, until; /* `until` is the first slot after it */
} tf_stretch;

#define TF_CALENDAR_WORDS 64 /* of 64 slots each */

typedef struct {
    uint64_t first;                    /* slot number of bit 0 of the window, a multiple of 64 */
    uint64_t taken[TF_CALENDAR_WORDS]; /* a bit a slot, a ring of words */
    tf_stretch busy;                   /* where no run of free slots begins */
} tf_calendar;

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
TF_HOT uint64_t tf_m_calendar_look(tf_calendar *calendar, uint64_t slot)
{
    if (slot + 64 > calendar->first + TF_CALENDAR_SLOTS) tf_m_calendar_advance(calendar, slot + 64);
    const uint64_t bit = slot % 64;
    uint64_t taken = calendar->taken[(slot / 64) % TF_CALENDAR_WORDS] >> bit;
    if (bit != 0) taken |= calendar->taken[(slot / 64 + 1) % TF_CALENDAR_WORDS] << (64 - bit);
    return taken;
}

/* Take the `length` slots from `slot` on, free or not. */
static TF_SLOW void tf_m_calendar_mark_far(tf_calendar *calendar, uint64_t slot, uint64_t length)
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

/* The same for slots that were found free, most of which lie in one word. */
TF_HOT void tf_m_calendar_mark(tf_calendar *calendar, uint64_t slot, uint64_t length)
{
    const uint64_t bit = slot % 64;
    if (TF_LIKELY(bit + length <= 64))
        calendar->taken[(slot / 64) % TF_CALENDAR_WORDS] |= (~(uint64_t)0 >> (64 - length)) << bit;
    else tf_m_calendar_mark_far(calendar, slot, length);
}

/* The number of the lowest bit set in `bits`, which is not 0. */
TF_HOT uint64_t tf_m_lowest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return (uint64_t)__builtin_ctzll(bits);
#else
    uint64_t bit = 0;
    while ((bits >> bit & 1u) == 0) bit++;
    return bit;
#endif
}

/* How many bits lie above the highest one set in `bits`, which is not 0. */
TF_HOT uint64_t tf_m_leading_zeros(uint64_t bits)
{
#if defined(__GNUC__)
    return (uint64_t)__builtin_clzll(bits);
#else
    uint64_t zeros = 0;
    while ((bits << zeros >> 63) == 0) zeros++;
    return zeros;
#endif
}

/* The slots of `taken`'s 64 that begin a run of `length` (at most 32) free ones within them, a bit each. */
TF_HOT uint64_t tf_m_calendar_runs(uint64_t taken, uint64_t length)
{
    uint64_t runs = ~taken; /* of 1, 2, 4, ...; zeros come in from above: what lies there is not known */
    if (length > 1) runs &= runs >> 1;
    if (length > 2) runs &= runs >> (length < 4 ? length - 2 : 2);
    if (length > 4) runs &= runs >> (length < 8 ? length - 4 : 4);
    if (length > 8) runs &= runs >> (length < 16 ? length - 8 : 8);
    if (length > 16) runs &= runs >> (length < 32 ? length - 16 : 16);
    return runs;
}

/* `slot`, or the first slot after `busy` if it lies in there. Without branches, like the next one: nobody can tell how
 * they would go. */
TF_HOT uint64_t tf_m_stretch_skip(const tf_stretch *busy, uint64_t slot)
{
    return slot - busy->from < busy->until - busy->from ? busy->until : slot;
}

/* The slots from `from` to before `until` cannot be had either. One stretch is remembered, the one that ends last: under
 * load requests come for it again and again. */
TF_HOT void tf_m_stretch_add(tf_stretch *busy, uint64_t from, uint64_t until)
{
    const uint64_t merged = until >= busy->from && from < busy->from ? from : busy->from;
    busy->from = from > busy->until ? from : merged;
    busy->until = until > busy->until ? until : busy->until;
}

/* The first run of `length` (at most 32) free slots at or after `slot`, which is not before the window. */
static TF_SLOW uint64_t tf_m_calendar_search(tf_calendar *calendar, uint64_t slot, uint64_t length)
{
    const uint64_t asked = slot;
    uint64_t runs;
    while ((runs = tf_m_calendar_runs(tf_m_calendar_look(calendar, slot), length)) == 0) slot += 65 - length;
    slot += tf_m_lowest_bit(runs);
    tf_m_stretch_add(&calendar->busy, asked, slot);
    return slot;
}

/* The same for any `slot`; for one calendar always of the same length. Mostly there is one in the word of `slot`. */
TF_HOT uint64_t tf_m_calendar_find(tf_calendar *calendar, uint64_t slot, uint64_t length)
{
    slot = tf_m_stretch_skip(&calendar->busy, slot);
    if (slot < calendar->first) slot = calendar->first;
    if (TF_LIKELY(slot + 64 <= calendar->first + TF_CALENDAR_SLOTS)) {
        const uint64_t taken = calendar->taken[(slot / 64) % TF_CALENDAR_WORDS];
        const uint64_t runs = tf_m_calendar_runs(taken, length) >> (slot % 64);
        if (TF_LIKELY((runs & 1u) != 0)) return slot;
        if (TF_LIKELY(runs != 0)) {
            const uint64_t found = slot + tf_m_lowest_bit(runs);
            tf_m_stretch_add(&calendar->busy, slot, found);
            return found;
        }
    }
    return tf_m_calendar_search(calendar, slot, length);
}

#endif
