/* Stack distances of a run in which they are counted; see tapeflow_model_reuse.h. */
#include "tapeflow_model_reuse.h"

#if TF_REUSE

/* A structure that is 0 is one that has seen nothing. */
TF_PART TF_COLD size_t tf_m_reuse_bytes(void)
{
    return sizeof(tf_reuse);
}

static inline uint32_t tf_m_reuse_hash(uint64_t number)
{
    return (uint32_t)((number + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* Whether line `number` is among those followed. Its low bits choose the place in the table, its high ones this. */
static inline bool tf_m_reuse_follows(const tf_reuse *reuse, uint64_t number)
{
    return ((uint64_t)tf_m_reuse_hash(number) << reuse->halvings & ~(uint64_t)UINT32_MAX) == 0;
}

/* The place of line `number` in the table, or the empty one where it belongs. */
static inline uint32_t tf_m_reuse_place(const tf_reuse *reuse, uint64_t number)
{
    uint32_t place = tf_m_reuse_hash(number) & (TF_REUSE_PLACES - 1);
    while (reuse->time[place] != 0 && reuse->line[place] != number) place = (place + 1) & (TF_REUSE_PLACES - 1);
    return place;
}

static inline void tf_m_reuse_mark(tf_reuse *reuse, uint32_t time, uint32_t change)
{
    for (; time <= TF_REUSE_TIMES; time += time & (0u - time)) reuse->tree[time] += change;
}

/* How many lines were last accessed at `time` or before. */
static inline uint32_t tf_m_reuse_until(const tf_reuse *reuse, uint32_t time)
{
    uint32_t lines = 0;
    for (; time > 0; time &= time - 1) lines += reuse->tree[time];
    return lines;
}

/* Where distances of `distance` are counted: each has its own bin at first, further up 256 share a power of two. */
static inline uint32_t tf_m_reuse_bin(uint64_t distance)
{
    if (distance < TF_REUSE_EXACT) return (uint32_t)distance;
    uint32_t power = 0;
    while (distance >> (power + 1) != 0) power++;
    return TF_REUSE_EXACT + (power - TF_REUSE_EXACT_LOG) * 256u + (uint32_t)(distance >> (power - 8) & 255);
}

/* Number the times anew from 1, leaving out lines that are not followed any more. */
static TF_COLD void tf_m_reuse_renumber(tf_reuse *reuse)
{
    uint32_t kept = 0;
    for (uint32_t time = 1; time <= reuse->now; time++) {
        const uint64_t number = reuse->line_at[time];
        if (number == TF_NEVER || !tf_m_reuse_follows(reuse, number)) continue;
        reuse->line_at[++kept] = number;
    }
    memset(reuse->time, 0, sizeof reuse->time);
    memset(reuse->tree, 0, sizeof reuse->tree);
    for (uint32_t time = 1; time <= kept; time++) {
        const uint32_t place = tf_m_reuse_place(reuse, reuse->line_at[time]);
        reuse->line[place] = reuse->line_at[time];
        reuse->time[place] = time;
        tf_m_reuse_mark(reuse, time, 1);
    }
    reuse->now = reuse->lines = kept;
}

/* Line `number` is accessed for `owner`. */
TF_PART TF_SLOW void tf_m_reuse(struct tf_model *m, uint64_t number, uint32_t owner)
{
    tf_reuse *reuse = m->reuse;
    if (!tf_m_reuse_follows(reuse, number)) return;
    const uint64_t weight = (uint64_t)1 << reuse->halvings;
    if (reuse->now == TF_REUSE_TIMES) tf_m_reuse_renumber(reuse);
    const uint32_t place = tf_m_reuse_place(reuse, number);
    const uint32_t last = reuse->time[place];
    if (last != 0) {
        const uint64_t distance = reuse->lines - tf_m_reuse_until(reuse, last);
        reuse->counts[owner][tf_m_reuse_bin(distance << reuse->halvings)] += weight;
        tf_m_reuse_mark(reuse, last, 0u - 1u);
        reuse->line_at[last] = TF_NEVER;
    } else {
        reuse->cold[owner] += weight;
        reuse->line[place] = number;
        reuse->lines++;
    }
    reuse->time[place] = ++reuse->now;
    reuse->line_at[reuse->now] = number;
    tf_m_reuse_mark(reuse, reuse->now, 1);
    while (reuse->lines > TF_REUSE_LINES) {
        reuse->halvings++;
        tf_m_reuse_renumber(reuse);
    }
}

#endif
