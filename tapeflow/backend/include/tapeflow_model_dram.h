/* DRAM: a latency, and a data bus that all requests share.
 *
 * The bus is a calendar of slots of one burst each: a request takes the first free slot at or after the time its data
 * is ready, so a late long transfer does not hold up an early short one.
 */
#ifndef TAPEFLOW_MODEL_DRAM_H
#define TAPEFLOW_MODEL_DRAM_H

#include "tapeflow_model_clock.h"

#define TF_CALENDAR_SLOTS (64u * TF_CALENDAR_WORDS)

/* Move the window so that `slot` lies in its last word. What falls out is past. */
static TF_COLD void tf_m_calendar_advance(tf_calendar *calendar, uint64_t slot)
{
    const uint64_t first = (slot & ~(uint64_t)63) + 64 - TF_CALENDAR_SLOTS;
    if (first - calendar->first >= TF_CALENDAR_SLOTS) {
        memset(calendar->taken, 0, sizeof calendar->taken);
    } else {
        for (uint64_t at = calendar->first; at < first; at += 64) calendar->taken[(at / 64) % TF_CALENDAR_WORDS] = 0;
    }
    calendar->first = first;
}

/* The first free slot at or after `slot`, which it takes. */
static inline uint64_t tf_m_calendar_take(tf_calendar *calendar, uint64_t slot)
{
    if (slot < calendar->first) slot = calendar->first;
    for (;;) {
        if (slot >= calendar->first + TF_CALENDAR_SLOTS) tf_m_calendar_advance(calendar, slot);
        uint64_t *word = &calendar->taken[(slot / 64) % TF_CALENDAR_WORDS];
        uint64_t bit = slot % 64;
        uint64_t taken = *word >> bit;
        while ((taken & 1u) != 0) { /* at most 64 turns */
            taken >>= 1;
            bit++;
        }
        if (bit < 64) {
            *word |= (uint64_t)1 << bit;
            return (slot & ~(uint64_t)63) + bit;
        }
        slot = (slot & ~(uint64_t)63) + 64;
    }
}

/* One burst at cycle `t`; returns the cycle at which it is done. */
static TF_COLD uint64_t tf_m_dram(struct tf_model *m, uint64_t t, uint64_t address, bool write)
{
    (void)address;
    const uint64_t ready = t * TF_PS_PER_CYCLE + TF_DRAM_LATENCY_PS;
    const uint64_t slot = tf_m_calendar_take(&m->bus, (ready + TF_DRAM_BURST_PS - 1) / TF_DRAM_BURST_PS);
    const uint64_t done = ((slot + 1) * TF_DRAM_BURST_PS + TF_PS_PER_CYCLE - 1) / TF_PS_PER_CYCLE;
    if (write && done > m->last_write) m->last_write = done;
    return done;
}

#endif
