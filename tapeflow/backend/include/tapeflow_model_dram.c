/* DRAM: banks with open rows, a data bus, activates, refresh and a write queue, all shared by cache and DMA: one translation unit.
 *
 * Every request is timed when it is made, from a few timestamps: per bank the earliest precharge, activate and column
 * command; per bank group how many column commands a window has (tCCD_L); per rank the latest activates (tRRD apart, four
 * in tFAW) and the next refresh; a calendar of the data bus. A request that finds its bank busy does not hold up another one, which is what
 * a scheduler that picks the first ready request gives. Writes are posted: a queue collects them, and when it is full
 * they go out together, row by row, with a turnaround of the bus on either side, while the next ones are collected.
 * Inside, time is in DRAM clocks; addresses map as row : rank : bank : bank group : column.
 * With TF_DRAM_BANKED 0 there is only a latency and the bus, for closed forms.
 */
#include "tapeflow_model_dram.h"

#include "tapeflow_model_calendar.h"

#define TF_ACTIVATE_WORDS 64u

/* What is known of the activates of 64 clocks, a bit each. */
typedef struct {
    uint64_t closed; /* where no activate can be any more, because of tRRD or tFAW */
    uint64_t ones;   /* how many there are in the tFAW that begins there, in two binary digits */
    uint64_t twos;
} tf_activate_word;

/* The activates of a rank in a window of clocks that moves with time. */
typedef struct {
    uint64_t first;                            /* slot of the window's bit 0, a multiple of 64; see TF_ACTIVATE_SLOT */
    tf_activate_word words[TF_ACTIVATE_WORDS]; /* a ring */
} tf_activates;

typedef struct {
    uint64_t row;
    bool open;
    uint64_t activate;  /* earliest clock of each command to this bank */
    uint64_t precharge;
    uint64_t column;
} tf_bank;

/* Column commands of a bank group in one window of time. */
typedef struct {
    uint64_t window;
    uint32_t used;
} tf_window;

#define TF_COLUMN_WINDOWS 64

#define TF_NO_WRITE (~(uint64_t)0)

struct tf_dram {
    tf_counter_set *count; /* the model's */
    tf_calendar bus;
    tf_activates activates[TF_DRAM_RANKS];
    tf_bank banks[TF_DRAM_RANKS * TF_DRAM_GROUPS * TF_DRAM_BANKS];
    tf_window columns[TF_DRAM_RANKS * TF_DRAM_GROUPS][TF_COLUMN_WINDOWS];
    tf_stretch columns_busy[TF_DRAM_RANKS * TF_DRAM_GROUPS]; /* slots of the bus that the group cannot have */
    uint64_t refresh_due[TF_DRAM_RANKS];
    uint64_t write_queue[TF_DRAM_WRITE_QUEUE];
    uint64_t write_done[2][TF_DRAM_WRITE_QUEUE]; /* end of the last writes: one half collects while the other drains */
    uint32_t write_half;
    uint32_t writes;       /* entries of `write_queue` */
    uint64_t writes_from;  /* the last run of writes on the bus */
    uint64_t writes_until;
    uint64_t reads_from;   /* the first read data after it */
    uint64_t bus_end;      /* end of the last read on the bus */
    uint64_t rank_end[TF_DRAM_RANKS]; /* end of the last burst of each rank */
    bool writing;          /* no read since the last run of writes */
    uint64_t last_write;   /* cycle at which the last write is in DRAM */
};

TF_HOT uint64_t tf_m_to_dram_clock(uint64_t cycle)
{
    return (cycle * TF_PS_PER_CYCLE + TF_DRAM_CK_PS - 1) / TF_DRAM_CK_PS;
}

TF_HOT uint64_t tf_m_to_cycle(uint64_t clock)
{
    return (clock * TF_DRAM_CK_PS + TF_PS_PER_CYCLE - 1) / TF_PS_PER_CYCLE;
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
static inline void tf_m_refresh(struct tf_dram *dram, uint32_t rank, uint64_t t)
{
    if (TF_LIKELY(t < dram->refresh_due[rank])) return;
    const uint64_t start = dram->refresh_due[rank] + (t - dram->refresh_due[rank]) / TF_DRAM_TREFI * TF_DRAM_TREFI;
    const uint64_t over = tf_m_later(start, dram->rank_end[rank]) + TF_DRAM_TRFC;
    dram->refresh_due[rank] = start + TF_DRAM_TREFI;
    if (t < over) dram->count->dram_refreshes++;
    for (uint32_t k = 0; k < TF_DRAM_GROUPS * TF_DRAM_BANKS; k++) {
        tf_bank *bank = &dram->banks[rank * TF_DRAM_GROUPS * TF_DRAM_BANKS + k];
        bank->open = false;
        bank->activate = tf_m_later(bank->activate, over);
    }
}

/* Slot k + TF_ACTIVATE_SLOT is clock k, so that the window begins before whatever an activate closes. */
#define TF_ACTIVATE_SLOT 64u
#define TF_ACTIVATE_SLOTS (64u * TF_ACTIVATE_WORDS)

/* Whether tFAW closes any clock that tRRD leaves open, and how far an activate can close clocks on either side. */
#define TF_FOUR_MATTER (TF_DRAM_TFAW > 4 * TF_DRAM_TRRD)
#define TF_CLOSES (TF_FOUR_MATTER ? TF_DRAM_TFAW - 1u : TF_DRAM_TRRD - 1u)

typedef char tf_what_an_activate_closes_fits_in_a_word[2 * TF_CLOSES + 1 <= 64 ? 1 : -1];

/* Move the window so that `slot` is three quarters into it: seldom needed again, and enough of the past is kept. */
static TF_SLOW void tf_m_activates_advance(tf_activates *activates, uint64_t slot)
{
    const uint64_t first = (slot & ~(uint64_t)63) - TF_ACTIVATE_SLOTS / 4 * 3;
    uint64_t at = activates->first;
    if (first - at > TF_ACTIVATE_SLOTS) at = first - TF_ACTIVATE_SLOTS;
    for (; at < first; at += 64) activates->words[at / 64 % TF_ACTIVATE_WORDS] = (tf_activate_word){0, 0, 0};
    activates->first = first;
}

/* The 64 bits from bit `bit` of `low` on, which `high` comes after. */
#define TF_LOOK(low, high, bit) ((low) >> (bit) | (high) << 1 << (63 - (bit)))

/* Put an activate at `slot`, which is in the window and open. A tFAW in which it is the fourth is closed; all of these have
 * `slot` in them, so together they close one run of clocks. Without branches: nobody can tell how they would go. */
TF_HOT void tf_m_put_activate(tf_activates *activates, uint64_t slot)
{
    const uint64_t from = slot - TF_CLOSES;
    const uint64_t bit = from % 64;
    tf_activate_word *low = &activates->words[from / 64 % TF_ACTIVATE_WORDS];
    tf_activate_word *high = &activates->words[(from / 64 + 1) % TF_ACTIVATE_WORDS];
    uint64_t closed = (((uint64_t)1 << (2 * TF_DRAM_TRRD - 1)) - 1) << (TF_CLOSES - (TF_DRAM_TRRD - 1u)); /* from `from` on */
    if (TF_FOUR_MATTER) {
        const uint64_t begins = ((uint64_t)2 << TF_CLOSES) - 1; /* of the tFAWs that have `slot` in them */
        const uint64_t begins_low = begins << bit, begins_high = begins >> 1 >> (63 - bit);
        const uint64_t odd_low = low->ones & begins_low, odd_high = high->ones & begins_high;
        const uint64_t four_low = low->twos & odd_low, four_high = high->twos & odd_high; /* had three */
        const uint64_t four = TF_LOOK(four_low, four_high, bit);
        low->ones ^= begins_low;
        high->ones ^= begins_high;
        low->twos ^= odd_low;
        high->twos ^= odd_high;
        const uint64_t first = tf_m_lowest_bit(four | (uint64_t)1 << 63);
        const uint64_t above = tf_m_leading_zeros(four | 1u); /* the last one's */
        closed |= ~(uint64_t)0 << first & ~(uint64_t)0 >> (above - TF_CLOSES); /* none if `four` is 0 */
    }
    low->closed |= closed << bit;
    high->closed |= closed >> 1 >> (63 - bit);
}

/* An activate at the first clock from `t` on that is tRRD from every other one of the rank, with no five in tFAW. Like
 * the bus's, its clock may lie before those of activates that were asked for earlier. */
static inline uint64_t tf_m_take_activate(tf_activates *activates, uint64_t t)
{
    uint64_t slot = tf_m_later(t, activates->first) + TF_ACTIVATE_SLOT; /* what was before is not known any more */
    uint64_t open;
    for (;; slot += 64) {
        if (!TF_LIKELY(slot + 128 <= activates->first + TF_ACTIVATE_SLOTS)) tf_m_activates_advance(activates, slot);
        const uint64_t low = activates->words[slot / 64 % TF_ACTIVATE_WORDS].closed;
        open = ~TF_LOOK(low, activates->words[(slot / 64 + 1) % TF_ACTIVATE_WORDS].closed, slot % 64);
        if (TF_LIKELY(open != 0)) break;
    }
    slot += tf_m_lowest_bit(open);
    tf_m_put_activate(activates, slot);
    return slot - TF_ACTIVATE_SLOT;
}

/* Open the row of `place` from clock `t` on if it is not open; returns the earliest clock for a column command. */
static inline uint64_t tf_m_open_row(struct tf_dram *dram, const tf_place *place, uint64_t t)
{
    tf_bank *bank = &dram->banks[place->bank];
    tf_m_refresh(dram, place->rank, t);
    if (bank->open && bank->row == place->row) return tf_m_later(t, bank->column);
    uint64_t activate = tf_m_later(t, bank->activate);
    if (bank->open) activate = tf_m_later(activate, tf_m_later(t, bank->precharge) + TF_DRAM_TRP);
    activate = tf_m_take_activate(&dram->activates[place->rank], activate);
    dram->count->dram_activates++;
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
TF_HOT uint64_t tf_m_take_bus(struct tf_dram *dram, uint32_t group, uint64_t slot)
{
    slot = tf_m_stretch_skip(&dram->columns_busy[group], slot);
    const uint64_t asked = slot;
    for (;;) {
        slot = tf_m_calendar_find(&dram->bus, slot, TF_DRAM_BURST_CK);
        const uint64_t window = slot / TF_COLUMN_WINDOW;
        tf_window *columns = &dram->columns[group][window % TF_COLUMN_WINDOWS];
        const bool fresh = (columns->window < window) | (columns->used == 0);
        const uint32_t used = columns->used & ((uint32_t)fresh - 1u); /* 0 if fresh, and no branch */
        if (TF_LIKELY((fresh | (columns->window == window)) && used < 8)) {
            columns->window = window;
            columns->used = used + 1;
            tf_m_calendar_mark(&dram->bus, slot, TF_DRAM_BURST_CK);
            if (slot != asked) tf_m_stretch_add(&dram->columns_busy[group], asked, slot + TF_DRAM_BURST_CK);
            return slot;
        }
        slot = (window + 1) * TF_COLUMN_WINDOW;
    }
}

/* A read that arrives at clock `t`; returns the cycle at which its last data is there. */
static TF_SLOW uint64_t tf_m_dram_read(struct tf_dram *dram, uint64_t t, uint64_t address)
{
    const tf_place place = tf_m_place(address);
    uint64_t slot = tf_m_open_row(dram, &place, t) + TF_DRAM_CL;
    if (slot + TF_DRAM_BURST_CK > dram->writes_from && slot < dram->reads_from) slot = dram->reads_from;
    slot = tf_m_take_bus(dram, place.group, slot);
    tf_bank *bank = &dram->banks[place.bank];
    bank->precharge = tf_m_later(bank->precharge, slot - TF_DRAM_CL + TF_DRAM_TRTP);
    dram->rank_end[place.rank] = tf_m_later(dram->rank_end[place.rank], slot + TF_DRAM_BURST_CK);
    dram->bus_end = tf_m_later(dram->bus_end, slot + TF_DRAM_BURST_CK);
    dram->writing = false;
    return tf_m_to_cycle(slot + TF_DRAM_BURST_CK);
}

/* The queued writes `k`, `next[k]` and so on, which are to one row, their data on the bus at `from` or later. What the
 * bus had not for one of them it has not for those after it either. */
static inline void tf_m_write_row(struct tf_dram *dram, uint64_t t, uint64_t from, uint32_t k, const uint32_t *next)
{
    const tf_place place = tf_m_place(dram->write_queue[k]);
    uint64_t *done = dram->write_done[dram->write_half];
    uint64_t slot = tf_m_later(tf_m_open_row(dram, &place, t) + TF_DRAM_CWL, from);
    for (; dram->write_queue[k] != TF_NO_WRITE; k = next[k]) {
        slot = tf_m_take_bus(dram, place.group, slot) + TF_DRAM_BURST_CK;
        done[k] = slot;
        dram->write_queue[k] = TF_NO_WRITE;
    }
    tf_bank *bank = &dram->banks[place.bank];
    bank->precharge = tf_m_later(bank->precharge, slot + TF_DRAM_TWR);
    dram->rank_end[place.rank] = tf_m_later(dram->rank_end[place.rank], slot);
    dram->writes_until = tf_m_later(dram->writes_until, slot);
}

#define TF_ROW_BUCKETS 64u

/* For each queued write the next one to the same row; itself if there is none. */
static inline void tf_m_link_rows(const struct tf_dram *dram, uint32_t *next)
{
    uint32_t latest[TF_ROW_BUCKETS];           /* write to a row of this bucket, plus 1; 0 for none */
    uint32_t before[TF_DRAM_WRITE_QUEUE];      /* the write before it in its bucket, likewise */
    memset(latest, 0, sizeof latest);
    for (uint32_t k = 0; k < dram->writes; k++) {
        const uint64_t row = dram->write_queue[k] / TF_DRAM_ROW_BYTES;
        uint32_t *bucket = &latest[row % TF_ROW_BUCKETS];
        uint32_t same = *bucket;
        while (same != 0 && dram->write_queue[same - 1] / TF_DRAM_ROW_BYTES != row) same = before[same - 1];
        if (same != 0) next[same - 1] = k;
        next[k] = k;
        before[k] = *bucket;
        *bucket = k + 1;
    }
}

/* Send out all queued writes, those of one row together, from clock `t` on. */
static TF_SLOW void tf_m_drain_writes(struct tf_dram *dram, uint64_t t)
{
    if (!dram->writing) { /* the bus turns; nothing fits any more into the run of writes before */
        tf_m_calendar_mark_far(&dram->bus, dram->writes_from, dram->writes_until - dram->writes_from);
        dram->writes_from = tf_m_later(tf_m_later(t, dram->bus_end) + TF_DRAM_RTW, dram->writes_until);
        dram->writing = true;
    }
    const uint64_t from = tf_m_later(dram->writes_from, t);
    uint32_t next[TF_DRAM_WRITE_QUEUE];
    tf_m_link_rows(dram, next);
    for (uint32_t k = 0; k < dram->writes; k++)
        if (dram->write_queue[k] != TF_NO_WRITE) tf_m_write_row(dram, t, from, k, next);
    dram->writes = 0;
    dram->write_half ^= 1u;
    dram->reads_from = dram->writes_until + TF_DRAM_TWTR + TF_DRAM_CL;
    dram->last_write = tf_m_later(dram->last_write, tf_m_to_cycle(dram->writes_until));
}

/* One burst at cycle `t`; returns the cycle at which it is done: data there, or write taken by the queue. */
TF_PART TF_SLOW uint64_t tf_m_dram(struct tf_dram *dram, uint64_t t, uint64_t address, bool write)
{
    const uint64_t clock = tf_m_to_dram_clock(t) + TF_DRAM_CONTROLLER_CK;
#if TF_DRAM_BANKED
    if (!write) return tf_m_dram_read(dram, clock, address);
    const uint64_t taken = tf_m_later(t, tf_m_to_cycle(dram->write_done[dram->write_half][dram->writes])); /* a free entry */
    dram->write_queue[dram->writes++] = address;
    if (dram->writes == TF_DRAM_WRITE_QUEUE) tf_m_drain_writes(dram, tf_m_later(clock, tf_m_to_dram_clock(taken)));
    return taken;
#else
    (void)address;
    const uint64_t slot = tf_m_calendar_find(&dram->bus, clock + TF_DRAM_LATENCY_CK, TF_DRAM_BURST_CK);
    tf_m_calendar_mark(&dram->bus, slot, TF_DRAM_BURST_CK);
    const uint64_t done = tf_m_to_cycle(slot + TF_DRAM_BURST_CK);
    if (write) dram->last_write = tf_m_later(dram->last_write, done);
    return done;
#endif
}

TF_PART TF_COLD size_t tf_m_dram_bytes(void)
{
    return sizeof(struct tf_dram);
}

/* All idle, in memory that is 0; activates and refreshes are added to `count`. */
TF_PART TF_COLD void tf_m_dram_reset(struct tf_dram *dram, tf_counter_set *count)
{
    dram->count = count;
    for (uint32_t rank = 0; rank < TF_DRAM_RANKS; rank++) /* staggered over the ranks */
        dram->refresh_due[rank] = (uint64_t)(rank + 1) * TF_DRAM_TREFI / TF_DRAM_RANKS;
}

/* The end: what still waits in the write queue goes out. Returns the cycle at which the last write is there. */
TF_PART TF_COLD uint64_t tf_m_dram_finish(struct tf_dram *dram, uint64_t t)
{
    if (dram->writes > 0) tf_m_drain_writes(dram, tf_m_to_dram_clock(t));
    return dram->last_write;
}
