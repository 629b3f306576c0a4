/* What happened when: blocks, stalls, layers, tiles and transfers as spans of cycles, for a picture of the run.
 *
 * On with TF_TIMELINE 1; otherwise every function here is empty and costs nothing. Memory is bounded: at most
 * TF_TIMELINE_EVENTS spans are kept. When there is no more room, only every second window of TF_TIMELINE_WINDOW cycles
 * is kept from then on, then every fourth, and so on; spans that begin in other windows are dropped, whole.
 */
#ifndef TAPEFLOW_MODEL_TIMELINE_H
#define TAPEFLOW_MODEL_TIMELINE_H

#include "tapeflow_model_state.h"

/* Whether the run is recorded for a picture (tapeflow_model_timeline.h). */
#ifndef TF_TIMELINE
#define TF_TIMELINE 0
#endif

/* Where a stream is on the timeline: its track, when it turned to its tile, and the latest cycle shown there. */
typedef struct {
    uint32_t number;
    bool fell; /* it turned to its tile from the one above */
    uint64_t begin, latest;
} tf_track;

#define TF_NEVER (~(uint64_t)0)

#if TF_TIMELINE

#ifndef TF_TIMELINE_EVENTS
#define TF_TIMELINE_EVENTS 65536
#endif
#define TF_TIMELINE_WINDOW 4096 /* cycles */
#define TF_TIMELINE_TRACKS 256

enum {
    TF_EVENT_BLOCK = 0, /* track: its line */
    TF_EVENT_STALL = 1, /* track: its cause, TF_WAIT_* */
    TF_EVENT_FILL = 2,  /* a layer of the forward sweep; of this and all below, track: the stream; number: the tile */
    TF_EVENT_USE = 3,   /* a layer of the reverse sweep */
    TF_EVENT_WAIT = 4,  /* for a transfer, also when it is over already */
    TF_EVENT_OUT = 5,   /* a transfer to DRAM */
    TF_EVENT_IN = 6,    /* a transfer from DRAM */
    TF_EVENT_TILE = 7,  /* a copy of a buffer holds a tile; transfer: the copy */
    TF_EVENT_TURN = 8   /* a layer that is filled and used: the turn-around */
};

typedef struct {
    uint64_t begin, end; /* cycles */
    uint64_t number;
    uint64_t transfer; /* counted from 1 */
    uint32_t kind;     /* TF_EVENT_* */
    uint32_t track;
} tf_event;

typedef struct tf_timeline {
    uint64_t seen;   /* spans in all */
    uint64_t stride; /* of so many windows one is kept */
    uint64_t stalled_until;
    uint64_t block_begin;
    uint32_t block; /* line of the block at hand */
    uint32_t kept;
    uint32_t tracks;
    const char *opening; /* the stream that is opened next */
    const char *names[TF_TIMELINE_TRACKS];
    tf_event events[TF_TIMELINE_EVENTS];
} tf_timeline;

TF_PART size_t tf_m_timeline_bytes(void);
TF_PART void tf_m_timeline_reset(struct tf_model *m);
TF_PART void tf_m_timeline_stall(struct tf_model *m, uint32_t cause, uint64_t begin, uint64_t cycles);
TF_PART void tf_m_timeline_block(struct tf_model *m, uint32_t line, uint64_t now);
TF_PART void tf_m_timeline_name(struct tf_model *m, const char *name);
TF_PART void tf_m_timeline_open(struct tf_model *m, tf_track *track, uint64_t now);
TF_PART void tf_m_timeline_turn(struct tf_model *m, tf_track *track, uint64_t tile, bool above, uint64_t now);
TF_PART void tf_m_timeline_wait(struct tf_model *m, tf_track *track, uint64_t tile, uint64_t transfer, uint64_t now,
                                uint64_t until);
TF_PART void tf_m_timeline_transfer(struct tf_model *m, const tf_track *track, uint64_t tile, uint64_t transfer,
                                    bool write, uint64_t begin, uint64_t end);
TF_PART void tf_m_timeline_release(struct tf_model *m, const tf_track *track, uint64_t copy, uint64_t tile,
                                   uint64_t *since, uint64_t now);

#else

TF_HOT size_t tf_m_timeline_bytes(void)
{
    return 0;
}

TF_HOT void tf_m_timeline_reset(struct tf_model *m)
{
    (void)m;
}

TF_HOT void tf_m_timeline_stall(struct tf_model *m, uint32_t cause, uint64_t begin, uint64_t cycles)
{
    (void)m, (void)cause, (void)begin, (void)cycles;
}

TF_HOT void tf_m_timeline_block(struct tf_model *m, uint32_t line, uint64_t now)
{
    (void)m, (void)line, (void)now;
}

TF_HOT void tf_m_timeline_name(struct tf_model *m, const char *name)
{
    (void)m, (void)name;
}

TF_HOT void tf_m_timeline_open(struct tf_model *m, tf_track *track, uint64_t now)
{
    (void)m, (void)track, (void)now;
}

TF_HOT void tf_m_timeline_turn(struct tf_model *m, tf_track *track, uint64_t tile, bool above, uint64_t now)
{
    (void)m, (void)track, (void)tile, (void)above, (void)now;
}

TF_HOT void tf_m_timeline_wait(struct tf_model *m, tf_track *track, uint64_t tile, uint64_t transfer, uint64_t now,
                               uint64_t until)
{
    (void)m, (void)track, (void)tile, (void)transfer, (void)now, (void)until;
}

TF_HOT void tf_m_timeline_transfer(struct tf_model *m, const tf_track *track, uint64_t tile, uint64_t transfer,
                                   bool write, uint64_t begin, uint64_t end)
{
    (void)m, (void)track, (void)tile, (void)transfer, (void)write, (void)begin, (void)end;
}

TF_HOT void tf_m_timeline_release(struct tf_model *m, const tf_track *track, uint64_t copy, uint64_t tile,
                                  uint64_t *since, uint64_t now)
{
    (void)m, (void)track, (void)copy, (void)tile, (void)since, (void)now;
}

#endif

#endif
