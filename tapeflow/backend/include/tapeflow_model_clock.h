/* The datapath's clock: static schedules plus stalls.
 *
 * The compiler schedules every block, so without stalls each operation has a known time: schedule time. A stall freezes
 * the whole datapath, so real time = schedule time + all stalls met so far. A load that misses does not stall when it
 * is issued but where its value is first used: it leaves a wait (`at` = schedule time of the use, `need` = total stall
 * needed there). Loads issued before that use overlap with it; this gives stall = max(0, fill - (t + hit + slack))
 * for a single load, and the maximum, not the sum, for loads that are in flight together.
 *
 * Schedule time does not depend on stalls. So where most accesses miss, the cache puts them off (tapeflow_model_cache.c)
 * and nobody knows how long the datapath has stalled until it catches up.
 */
#ifndef TAPEFLOW_MODEL_CLOCK_H
#define TAPEFLOW_MODEL_CLOCK_H

#include "tapeflow_model_timeline.h"

TF_PART void tf_m_fail(struct tf_model *m, const char *message);
TF_PART void tf_m_settle(struct tf_model *m);
TF_PART void tf_m_wait(struct tf_model *m, uint64_t at, uint64_t until, uint32_t cause);
TF_PART void tf_m_hold(struct tf_model *m, uint64_t *counter, uint32_t cause);
TF_PART uint64_t tf_m_now_after_all(struct tf_model *m);
TF_PART void tf_m_catch_up(struct tf_model *m);

/* Before anything that depends on the stalls, or on what is on its way from memory: no access is put off any more. */
TF_HOT void tf_m_up_to_date(struct tf_model *m)
{
    if (m->stalled == TF_PUT_OFF) tf_m_catch_up(m);
}

/* Cycles stalled by schedule time `at`, where no access is put off. Waits are kept in rising order of both `at` and
 * `need`. */
TF_HOT uint64_t tf_m_stalled_now(const struct tf_model *m, uint64_t at)
{
    uint64_t stalled = m->stalled;
    for (uint32_t k = 0; k < m->waiting && m->waits[k].at <= at; k++) stalled = m->waits[k].need;
    return stalled;
}

/* Cycles stalled by schedule time `at`. */
TF_HOT uint64_t tf_m_stalled(struct tf_model *m, uint64_t at)
{
    tf_m_up_to_date(m);
    return tf_m_stalled_now(m, at);
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

#endif
