/* DRAM: banks with open rows, a data bus, activates, refresh and a write queue, all shared by cache and DMA.
 *
 * Every request is timed when it is made, from a few timestamps: per bank the earliest precharge, activate and column
 * command; per bank group how many column commands a window has (tCCD_L); per rank the latest activates (tRRD apart, four
 * in tFAW) and the next refresh; a calendar of the data bus. A request that finds its bank busy does not hold up another one, which is what
 * a scheduler that picks the first ready request gives. Writes are posted: a queue collects them, and when it is full
 * they go out together, row by row, with a turnaround of the bus on either side, while the next ones are collected.
 * Inside, time is in DRAM clocks; addresses map as row : rank : bank : bank group : column.
 * With TF_DRAM_BANKED 0 there is only a latency and the bus, for closed forms.
 */
#ifndef TAPEFLOW_MODEL_DRAM_H
#define TAPEFLOW_MODEL_DRAM_H

#include "tapeflow_model_calendar.h"
#include "tapeflow_model_clock.h"

TF_HOT uint64_t tf_m_to_dram_clock(uint64_t cycle)
{
    return (cycle * TF_PS_PER_CYCLE + TF_DRAM_CK_PS - 1) / TF_DRAM_CK_PS;
}

TF_HOT uint64_t tf_m_to_cycle(uint64_t clock)
{
    return (clock * TF_DRAM_CK_PS + TF_PS_PER_CYCLE - 1) / TF_PS_PER_CYCLE;
}

TF_HOT uint64_t tf_m_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

typedef struct {
    uint64_t row;
    uint32_t bank;  /* over all ranks */
    uint32_t group; /* over all ranks */
    uint32_t rank;
} tf_place;

static inline tf_place tf_m_place(uint64_t address)
{
    tf_place place;
    uint64_t rest = address / TF_DRAM_ROW_BYTES;
    const uint64_t group = rest % TF_DRAM_GROUPS;
    rest /= TF_DRAM_GROUPS;
    const uint64_t bank = rest % TF_DRAM_BANKS;
    rest /= TF_DRAM_BANKS;
    place.rank = (uint32_t)(rest % TF_DRAM_RANKS);
    place.row = rest / TF_DRAM_RANKS;
    place.group = (uint32_t)(place.rank * TF_DRAM_GROUPS + group);
    place.bank = (uint32_t)(place.group * TF_DRAM_BANKS + bank);
    return place;
}

/* Refreshes of `rank` that fell due by clock `t`: what was under way ends, its rows are closed, and it is busy until the
 * last refresh is over. */
static inline void tf_m_refresh(struct tf_model *m, uint32_t rank, uint64_t t)
{
    if (TF_LIKELY(t < m->refresh_due[rank])) return;
    const uint64_t start = m->refresh_due[rank] + (t - m->refresh_due[rank]) / TF_DRAM_TREFI * TF_DRAM_TREFI;
    const uint64_t over = tf_m_later(start, m->rank_end[rank]) + TF_DRAM_TRFC;
    m->refresh_due[rank] = start + TF_DRAM_TREFI;
    if (t < over) m->count.dram_refreshes++;
    for (uint32_t k = 0; k < TF_DRAM_GROUPS * TF_DRAM_BANKS; k++) {
        tf_bank *bank = &m->banks[rank * TF_DRAM_GROUPS * TF_DRAM_BANKS + k];
        bank->open = false;
        bank->activate = tf_m_later(bank->activate, over);
    }
}

#define TF_ACTIVATE(k) activates->at[(k) % TF_ACTIVATES]

/* Whether an activate at clock `t`, before number `next`, is one of five in tFAW with activates that come after it. */
static inline bool tf_m_five_in_window(const tf_activates *activates, uint64_t first, uint64_t next, uint64_t t)
{
    for (uint64_t before = 0; before < 4 && next >= first + before; before++) {
        const uint64_t last = next + 3 - before;
        const uint64_t begin = before == 0 ? t : TF_ACTIVATE(next - before);
        if (last < activates->count && TF_ACTIVATE(last) < begin + TF_DRAM_TFAW) return true;
    }
    return false;
}

/* An activate at the first clock from `t` on that is tRRD from every other one of the rank, with no five in tFAW. Like
 * the bus's, its clock may lie before those of activates that were asked for earlier. Where tRRD alone decides, clocks
 * are multiples of it: gaps of less would be lost, which a scheduler that sees all that wait does not let happen. */
static inline uint64_t tf_m_take_activate(tf_activates *activates, uint64_t t)
{
    const uint64_t count = activates->count;
    const uint64_t first = count > TF_ACTIVATES ? count - TF_ACTIVATES : 0;
    t = tf_m_stretch_skip(&activates->busy, t);
    const uint64_t asked = t;
    if (4 * TF_DRAM_TRRD >= TF_DRAM_TFAW) t = (t + TF_DRAM_TRRD - 1) / TF_DRAM_TRRD * TF_DRAM_TRRD;
    if (first > 0) t = tf_m_later(t, TF_ACTIVATE(first)); /* what was before is not known any more */
    uint64_t next = count;
    while (next > first && TF_ACTIVATE(next - 1) > t) next--;
    for (;; next++) {
        if (next > first) t = tf_m_later(t, TF_ACTIVATE(next - 1) + TF_DRAM_TRRD);
        if (next >= first + 4) t = tf_m_later(t, TF_ACTIVATE(next - 4) + TF_DRAM_TFAW);
        if (next == count) break;
        if (TF_ACTIVATE(next) >= t + TF_DRAM_TRRD && !tf_m_five_in_window(activates, first, next, t)) break;
    }
    for (uint64_t k = count; k > next; k--) TF_ACTIVATE(k) = TF_ACTIVATE(k - 1);
    TF_ACTIVATE(next) = t;
    activates->count++;
    tf_m_stretch_add(&activates->busy, asked, t + 1);
    return t;
}

/* Open the row of `place` from clock `t` on if it is not open; returns the earliest clock for a column command. */
static inline uint64_t tf_m_open_row(struct tf_model *m, const tf_place *place, uint64_t t)
{
    tf_bank *bank = &m->banks[place->bank];
    tf_m_refresh(m, place->rank, t);
    if (bank->open && bank->row == place->row) return tf_m_later(t, bank->column);
    uint64_t activate = tf_m_later(t, bank->activate);
    if (bank->open) activate = tf_m_later(activate, tf_m_later(t, bank->precharge) + TF_DRAM_TRP);
    activate = tf_m_take_activate(&m->activates[place->rank], activate);
    m->count.dram_activates++;
    bank->open = true;
    bank->row = place->row;
    bank->precharge = activate + TF_DRAM_TRAS;
    bank->activate = activate + TF_DRAM_TRAS + TF_DRAM_TRP;
    bank->column = activate + TF_DRAM_TRCD;
    return bank->column;
}

/* Column commands of one bank group are tCCD_L apart, those of different groups interleave. Windows of eight such
 * distances with room for eight commands leave their order open, as a scheduler does. */
#define TF_COLUMN_WINDOW (8u * TF_DRAM_TCCD_L)

/* The data bus for one burst of bank group `group`, at clock `slot` or later. */
static inline uint64_t tf_m_take_bus(struct tf_model *m, uint32_t group, uint64_t slot)
{
    slot = tf_m_stretch_skip(&m->columns_busy[group], slot);
    const uint64_t asked = slot;
    for (;;) {
        slot = tf_m_calendar_find(&m->bus, slot, TF_DRAM_BURST_CK);
        const uint64_t window = slot / TF_COLUMN_WINDOW;
        tf_window *columns = &m->columns[group][window % TF_COLUMN_WINDOWS];
        if (columns->window < window || columns->used == 0) {
            columns->window = window;
            columns->used = 0;
        }
        if (columns->window == window && columns->used < 8) {
            columns->used++;
            tf_m_calendar_mark(&m->bus, slot, TF_DRAM_BURST_CK);
            if (slot != asked) tf_m_stretch_add(&m->columns_busy[group], asked, slot + TF_DRAM_BURST_CK);
            return slot;
        }
        slot = (window + 1) * TF_COLUMN_WINDOW;
    }
}

/* A read that arrives at clock `t`; returns the clock at which its last data is there. */
static inline uint64_t tf_m_dram_read(struct tf_model *m, uint64_t t, uint64_t address)
{
    const tf_place place = tf_m_place(address);
    uint64_t slot = tf_m_open_row(m, &place, t) + TF_DRAM_CL;
    if (slot + TF_DRAM_BURST_CK > m->writes_from && slot < m->reads_from) slot = m->reads_from;
    slot = tf_m_take_bus(m, place.group, slot);
    tf_bank *bank = &m->banks[place.bank];
    bank->precharge = tf_m_later(bank->precharge, slot - TF_DRAM_CL + TF_DRAM_TRTP);
    m->rank_end[place.rank] = tf_m_later(m->rank_end[place.rank], slot + TF_DRAM_BURST_CK);
    m->bus_end = tf_m_later(m->bus_end, slot + TF_DRAM_BURST_CK);
    m->writing = false;
    return slot + TF_DRAM_BURST_CK;
}

/* One queued write, its data on the bus at `from` or later; returns the clock at which it is over. */
static inline uint64_t tf_m_dram_write(struct tf_model *m, uint64_t t, uint64_t from, uint64_t address)
{
    const tf_place place = tf_m_place(address);
    uint64_t slot = tf_m_later(tf_m_open_row(m, &place, t) + TF_DRAM_CWL, from);
    slot = tf_m_take_bus(m, place.group, slot);
    tf_bank *bank = &m->banks[place.bank];
    bank->precharge = tf_m_later(bank->precharge, slot + TF_DRAM_BURST_CK + TF_DRAM_TWR);
    m->rank_end[place.rank] = tf_m_later(m->rank_end[place.rank], slot + TF_DRAM_BURST_CK);
    return slot + TF_DRAM_BURST_CK;
}

#define TF_ROW_BUCKETS 64u

/* For each queued write the next one to the same row; itself if there is none. */
static inline void tf_m_link_rows(const struct tf_model *m, uint32_t *next)
{
    uint32_t latest[TF_ROW_BUCKETS];           /* write to a row of this bucket, plus 1; 0 for none */
    uint32_t before[TF_DRAM_WRITE_QUEUE];      /* the write before it in its bucket, likewise */
    memset(latest, 0, sizeof latest);
    for (uint32_t k = 0; k < m->writes; k++) {
        const uint64_t row = m->write_queue[k] / TF_DRAM_ROW_BYTES;
        uint32_t *bucket = &latest[row % TF_ROW_BUCKETS];
        uint32_t same = *bucket;
        while (same != 0 && m->write_queue[same - 1] / TF_DRAM_ROW_BYTES != row) same = before[same - 1];
        if (same != 0) next[same - 1] = k;
        next[k] = k;
        before[k] = *bucket;
        *bucket = k + 1;
    }
}

/* Send out all queued writes, those of one row together, from clock `t` on. */
static TF_SLOW void tf_m_drain_writes(struct tf_model *m, uint64_t t)
{
    if (!m->writing) { /* the bus turns; nothing fits any more into the run of writes before */
        tf_m_calendar_mark_far(&m->bus, m->writes_from, m->writes_until - m->writes_from);
        m->writes_from = tf_m_later(tf_m_later(t, m->bus_end) + TF_DRAM_RTW, m->writes_until);
        m->writing = true;
    }
    const uint64_t from = tf_m_later(m->writes_from, t);
    uint32_t next[TF_DRAM_WRITE_QUEUE];
    tf_m_link_rows(m, next);
    for (uint32_t k = 0; k < m->writes; k++) {
        for (uint32_t j = k; m->write_queue[j] != TF_NO_WRITE; j = next[j]) {
            m->write_done[m->write_half][j] = tf_m_dram_write(m, t, from, m->write_queue[j]);
            m->writes_until = tf_m_later(m->writes_until, m->write_done[m->write_half][j]);
            m->write_queue[j] = TF_NO_WRITE;
        }
    }
    m->writes = 0;
    m->write_half ^= 1u;
    m->reads_from = m->writes_until + TF_DRAM_TWTR + TF_DRAM_CL;
    m->last_write = tf_m_later(m->last_write, tf_m_to_cycle(m->writes_until));
}

/* One burst at cycle `t`; returns the cycle at which it is done: data there, or write taken by the queue. */
static TF_SLOW uint64_t tf_m_dram(struct tf_model *m, uint64_t t, uint64_t address, bool write)
{
    const uint64_t clock = tf_m_to_dram_clock(t) + TF_DRAM_CONTROLLER_CK;
#if TF_DRAM_BANKED
    if (!write) return tf_m_to_cycle(tf_m_dram_read(m, clock, address));
    const uint64_t taken = tf_m_later(t, tf_m_to_cycle(m->write_done[m->write_half][m->writes])); /* a free entry */
    m->write_queue[m->writes++] = address;
    if (m->writes == TF_DRAM_WRITE_QUEUE) tf_m_drain_writes(m, tf_m_later(clock, tf_m_to_dram_clock(taken)));
    return taken;
#else
    (void)address;
    const uint64_t slot = tf_m_calendar_find(&m->bus, clock + TF_DRAM_LATENCY_CK, TF_DRAM_BURST_CK);
    tf_m_calendar_mark(&m->bus, slot, TF_DRAM_BURST_CK);
    const uint64_t done = tf_m_to_cycle(slot + TF_DRAM_BURST_CK);
    if (write) m->last_write = tf_m_later(m->last_write, done);
    return done;
#endif
}

static TF_COLD void tf_m_dram_reset(struct tf_model *m)
{
    for (uint32_t rank = 0; rank < TF_DRAM_RANKS; rank++) /* staggered over the ranks */
        m->refresh_due[rank] = (uint64_t)(rank + 1) * TF_DRAM_TREFI / TF_DRAM_RANKS;
}

/* The end: what still waits in the write queue goes out. */
static TF_COLD void tf_m_dram_finish(struct tf_model *m, uint64_t t)
{
    if (m->writes > 0) tf_m_drain_writes(m, tf_m_to_dram_clock(t));
}

#endif
