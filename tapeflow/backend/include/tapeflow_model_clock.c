/* The clock where the datapath stalls, or may; see tapeflow_model_clock.h. */
#include "tapeflow_model_clock.h"

/* Stop at the first violated rule; the caller of the gradient sees the message. */
TF_PART TF_COLD void tf_m_fail(struct tf_model *m, const char *message)
{
    if (*m->error == NULL) *m->error = message;
}

static inline void tf_m_count_stall(struct tf_model *m, uint64_t cycles, uint32_t cause)
{
    if (cause == TF_WAIT_FILL) m->count.stall_fill += cycles;
    else if (cause == TF_WAIT_MSHR) m->count.stall_mshr += cycles;
    else if (cause == TF_WAIT_DMA) m->count.stall_dma += cycles;
    else m->count.stall_start += cycles;
}

/* A wait is met: the stall that it needs, if any is missing, is past. */
static inline void tf_m_meet(struct tf_model *m, const tf_wait *wait)
{
    tf_m_count_stall(m, wait->need - m->stalled, wait->cause);
    tf_m_timeline_stall(m, wait->cause, wait->at + m->stalled, wait->need - m->stalled);
    m->stalled = wait->need;
}

/* Make the first `n` waits part of the past. */
static inline void tf_m_settle_first(struct tf_model *m, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) tf_m_meet(m, &m->waits[k]);
    m->waiting -= n;
    for (uint32_t k = 0; k < m->waiting; k++) m->waits[k] = m->waits[k + n];
}

/* Waits that lie at or before the start of the iteration at hand can no longer change. */
TF_PART TF_SLOW void tf_m_settle(struct tf_model *m)
{
    uint32_t n = 1;
    if (m->waiting == 0 || m->waits[0].at > m->tau) return;
    if (m->waiting == 1) { /* mostly */
        tf_m_meet(m, &m->waits[0]);
        m->waiting = 0;
        return;
    }
    while (n < m->waiting && m->waits[n].at <= m->tau) n++;
    tf_m_settle_first(m, n);
}

/* At schedule time `at` the datapath cannot go on before cycle `until`. */
TF_PART TF_SLOW void tf_m_wait(struct tf_model *m, uint64_t at, uint64_t until, uint32_t cause)
{
    tf_m_up_to_date(m);
    if (until <= at || until - at <= tf_m_stalled_now(m, at)) return;
    const uint64_t need = until - at;
    if (m->waiting == 0) { /* mostly */
        m->waits[m->waiting++] = (tf_wait){at, need, cause};
        return;
    }
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
TF_PART TF_SLOW void tf_m_hold(struct tf_model *m, uint64_t *counter, uint32_t cause)
{
    uint32_t met = 0;
    tf_m_up_to_date(m);
    tf_m_timeline_stall(m, cause, m->tau + m->stalled, 1);
    m->stalled++;
    (*counter)++;
    while (met < m->waiting && m->waits[met].need <= m->stalled) met++;
    m->waiting -= met;
    for (uint32_t k = 0; k < m->waiting; k++) m->waits[k] = m->waits[k + met];
}

/* The end of all blocks: the cycle at which the last operation is done. */
TF_PART TF_COLD uint64_t tf_m_now_after_all(struct tf_model *m)
{
    tf_m_up_to_date(m);
    m->tau += m->drain;
    m->drain = 0;
    m->line = 0;
    tf_m_settle_first(m, m->waiting);
    tf_m_timeline_block(m, 0, m->tau + m->stalled);
    return m->tau + m->stalled;
}
