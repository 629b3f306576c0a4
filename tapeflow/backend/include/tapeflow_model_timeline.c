/* The spans of a run that is recorded; see tapeflow_model_timeline.h. */
#include "tapeflow_model_timeline.h"

#if TF_TIMELINE

TF_PART TF_COLD size_t tf_m_timeline_bytes(void)
{
    return sizeof(tf_timeline);
}

TF_HOT bool tf_m_timeline_keeps(const tf_timeline *line, uint64_t begin)
{
    return begin / TF_TIMELINE_WINDOW % line->stride == 0;
}

/* Drop every second window of those kept so far. */
static TF_COLD void tf_m_timeline_thin(tf_timeline *line)
{
    uint32_t kept = 0;
    line->stride *= 2;
    for (uint32_t k = 0; k < line->kept; k++)
        if (tf_m_timeline_keeps(line, line->events[k].begin)) line->events[kept++] = line->events[k];
    line->kept = kept;
}

static TF_SLOW void tf_m_timeline_add(struct tf_model *m, uint32_t kind, uint32_t track, uint64_t number,
                                      uint64_t transfer, uint64_t begin, uint64_t end)
{
    tf_timeline *line = m->timeline;
    line->seen++;
    while (line->kept == TF_TIMELINE_EVENTS && line->stride < (uint64_t)1 << 50) tf_m_timeline_thin(line);
    if (!tf_m_timeline_keeps(line, begin) || line->kept == TF_TIMELINE_EVENTS) return;
    line->events[line->kept++] = (tf_event){begin, end, number, transfer, kind, track};
}

TF_PART TF_COLD void tf_m_timeline_reset(struct tf_model *m)
{
    m->timeline->stride = 1;
}

/* The datapath stood still from `begin` on. Waits that were made part of the past early may come out of order. */
TF_PART TF_SLOW void tf_m_timeline_stall(struct tf_model *m, uint32_t cause, uint64_t begin, uint64_t cycles)
{
    if (begin < m->timeline->stalled_until) begin = m->timeline->stalled_until;
    m->timeline->stalled_until = begin + cycles;
    if (cycles > 0) tf_m_timeline_add(m, TF_EVENT_STALL, cause, 0, 0, begin, begin + cycles);
}

/* At cycle `now` the datapath turns from one block to that of `line`; 0 for the end. */
TF_PART TF_SLOW void tf_m_timeline_block(struct tf_model *m, uint32_t line, uint64_t now)
{
    if (m->timeline->block != 0 && now > m->timeline->block_begin)
        tf_m_timeline_add(m, TF_EVENT_BLOCK, m->timeline->block, 0, 0, m->timeline->block_begin, now);
    m->timeline->block = line;
    m->timeline->block_begin = now;
}

/* The next stream to be opened is called `name`. */
TF_PART TF_COLD void tf_m_timeline_name(struct tf_model *m, const char *name)
{
    m->timeline->opening = name;
}

TF_PART TF_COLD void tf_m_timeline_open(struct tf_model *m, tf_track *track, uint64_t now)
{
    const char *name = m->timeline->opening != NULL ? m->timeline->opening : "tape";
    uint32_t k = 0;
    while (k < m->timeline->tracks && strcmp(m->timeline->names[k], name) != 0) k++;
    if (k == TF_TIMELINE_TRACKS) k--; /* the last one takes all that are too many */
    else if (k == m->timeline->tracks) m->timeline->names[m->timeline->tracks++] = name;
    track->number = k;
    track->fell = false;
    track->begin = track->latest = now;
}

/* The stream turns from `tile` to the one above or below at cycle `now`. */
TF_PART TF_SLOW void tf_m_timeline_turn(struct tf_model *m, tf_track *track, uint64_t tile, bool above, uint64_t now)
{
    const uint32_t kind = above != track->fell ? (above ? TF_EVENT_FILL : TF_EVENT_USE) : TF_EVENT_TURN;
    if (now < track->latest) now = track->latest;
    if (now > track->begin) tf_m_timeline_add(m, kind, track->number, tile, 0, track->begin, now);
    track->fell = !above;
    track->begin = track->latest = now;
}

/* The stream's datapath waits for `transfer`, from `now` until `until` if that is later. */
TF_PART TF_SLOW void tf_m_timeline_wait(struct tf_model *m, tf_track *track, uint64_t tile, uint64_t transfer,
                                       uint64_t now, uint64_t until)
{
    if (now < track->latest) now = track->latest;
    if (until < now) until = now;
    track->latest = until;
    tf_m_timeline_add(m, TF_EVENT_WAIT, track->number, tile, transfer, now, until);
}

TF_PART TF_SLOW void tf_m_timeline_transfer(struct tf_model *m, const tf_track *track, uint64_t tile, uint64_t transfer,
                                           bool write, uint64_t begin, uint64_t end)
{
    tf_m_timeline_add(m, write ? TF_EVENT_OUT : TF_EVENT_IN, track->number, tile, transfer, begin, end);
}

/* Copy `copy` of the buffer lets go of the tile that it held since cycle `since`; TF_NEVER if it held none. */
TF_PART TF_SLOW void tf_m_timeline_release(struct tf_model *m, const tf_track *track, uint64_t copy, uint64_t tile,
                                          uint64_t *since, uint64_t now)
{
    if (*since != TF_NEVER && now > *since)
        tf_m_timeline_add(m, TF_EVENT_TILE, track->number, tile, copy, *since, now);
    *since = TF_NEVER;
}

#endif
