/* The datapath's clock: static schedules plus stalls.
 *
 * The compiler schedules every block, so without stalls each operation has a known time: schedule time. A stall freezes
 * the whole datapath, so real time = schedule time + all stalls met so far. A load that misses does not stall when it
 * is issued but where its value is first used: it leaves a wait (`at` = schedule time of the use, `need` = total stall
 * needed there). Loads issued before that use overlap with it; this gives stall = max(0, fill - (t + hit + slack))
 * for a single load, and the maximum, not the sum, for loads that are in flight together.
 */
#ifndef TAPEFLOW_MODEL_CLOCK_H
#define TAPEFLOW_MODEL_CLOCK_H

#include "tapeflow_model_timeline.h"

/* Stop at the first violated rule; the caller of the gradient sees the message. */
static TF_COLD void tf_m_fail(tf_tape *tf, const char *message)
{
    if (tf->error == NULL) tf->error = message;
}

TF_HOT void tf_m_count_stall(struct tf_model *m, uint64_t cycles, uint32_t cause)
{
    if (cause == TF_WAIT_FILL) m->count.stall_fill += cycles;
    else if (cause == TF_WAIT_MSHR) m->count.stall_mshr += cycles;
    else if (cause == TF_WAIT_DMA) m->count.stall_dma += cycles;
    else m->count.stall_start += cycles;
}

/* Make the first `n` waits part of the past. */
static TF_SLOW void tf_m_settle_first(struct tf_model *m, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        tf_m_count_stall(m, m->waits[k].need - m->stalled, m->waits[k].cause);
        tf_m_timeline_stall(m, m->waits[k].cause, m->waits[k].at + m->stalled, m->waits[k].need - m->stalled);
        m->stalled = m->waits[k].need;
    }
    m->waiting -= n;
    for (uint32_t k = 0; k < m->waiting; k++) m->waits[k] = m->waits[k + n];
}

/* Waits that lie at or before the start of the iteration at hand can no longer change. */
static TF_SLOW void tf_m_settle(struct tf_model *m)
{
    uint32_t n = 0;
    while (n < m->waiting && m->waits[n].at <= m->tau) n++;
    tf_m_settle_first(m, n);
}

/* Cycles stalled by schedule time `at`. Waits are kept in rising order of both `at` and `need`. */
TF_HOT uint64_t tf_m_stalled(const struct tf_model *m, uint64_t at)
{
    uint64_t stalled = m->stalled;
    for (uint32_t k = 0; k < m->waiting && m->waits[k].at <= at; k++) stalled = m->waits[k].need;
    return stalled;
}

/* At schedule time `at` the datapath cannot go on before cycle `until`. */
static TF_SLOW void tf_m_wait(struct tf_model *m, uint64_t at, uint64_t until, uint32_t cause)
{
    if (until <= at || until - at <= tf_m_stalled(m, at)) return;
    const uint64_t need = until - at;
    if (m->waiting == TF_WAITS) tf_m_settle_first(m, 1);
    uint32_t place = 0;
    while (place < m->waiting && m->waits[place].at <= at) place++;
    uint32_t keep = place; /* later waits for less are met by this one */
    while (keep < m->waiting && m->waits[keep].need <= need) keep++;
    const uint32_t after = m->waiting - keep;
    if (keep == place)
        for (uint32_t k = after; k-- > 0;) m->waits[place + 1 + k] = m->waits[keep + k];
    else
        for (uint32_t k = 0; k < after; k++) m->waits[place + 1 + k] = m->waits[keep + k];
    m->waits[place].at = at;
    m->waits[place].need = need;
    m->waits[place].cause = cause;
    m->waiting = place + 1 + after;
}

/* Hold the datapath for a cycle from the start of the iteration at hand on. Unlike a wait for something that comes at a
 * known cycle, this adds to the waits before it; those after it that it meets are over. */
static TF_SLOW void tf_m_hold(struct tf_model *m, uint64_t *counter, uint32_t cause)
{
    uint32_t met = 0;
    tf_m_timeline_stall(m, cause, m->tau + m->stalled, 1);
    m->stalled++;
    (*counter)++;
    while (met < m->waiting && m->waits[met].need <= m->stalled) met++;
    m->waiting -= met;
    for (uint32_t k = 0; k < m->waiting; k++) m->waits[k] = m->waits[k + met];
}

/* The next iteration of a block, or the first of another one, which waits for the end of the block before it. */
TF_HOT void tf_m_step(struct tf_model *m, uint32_t line, uint32_t ii, uint32_t depth)
{
    const bool same = m->line == line;
    m->executions[line]++;
    if (TF_LIKELY(same)) {
        m->tau += ii;
    } else {
        m->tau += m->drain;
        m->line = line;
        m->drain = depth;
    }
    if (m->waiting != 0) tf_m_settle(m);
    if (!same) tf_m_timeline_block(m, line, m->tau + m->stalled);
}

/* The end of all blocks: the cycle at which the last operation is done. */
static TF_COLD uint64_t tf_m_now_after_all(struct tf_model *m)
{
    m->tau += m->drain;
    m->drain = 0;
    m->line = 0;
    tf_m_settle(m);
    tf_m_settle_first(m, m->waiting);
    tf_m_timeline_block(m, 0, m->tau + m->stalled);
    return m->tau + m->stalled;
}

#endif
