/* How far apart two accesses of a line are: Mattson's stack distances, for caches of every size at once.
 *
 * On with TF_REUSE 1; otherwise the function here is empty and costs nothing. The distance of an access is the number of
 * other lines accessed since the last access of its line; a fully associative cache of K lines hits if it is below K.
 * Each line that was seen stands in a table with the time of its last access, and a Fenwick tree over times counts the
 * lines accessed after any time. Times are renumbered when they run out.
 *
 * At most TF_REUSE_LINES lines are followed. When there are more, only half of them are from then on, chosen by a hash
 * of the line, then a quarter, and so on; distances and counts of those stand for all (Waldspurger et al., Efficient MRC
 * construction with SHARDS, 2015). Until then everything is exact.
 */
#ifndef TAPEFLOW_MODEL_REUSE_H
#define TAPEFLOW_MODEL_REUSE_H

#include "tapeflow_model_state.h"

/* Whether distances between accesses of a line are counted (tapeflow_model_reuse.h). */
#ifndef TF_REUSE
#define TF_REUSE 0
#endif

#if TF_REUSE

#ifndef TF_REUSE_LINES
#define TF_REUSE_LINES 65536u /* a power of two */
#endif
#define TF_REUSE_PLACES (4u * TF_REUSE_LINES)
#define TF_REUSE_TIMES (4u * TF_REUSE_LINES)
#define TF_REUSE_EXACT_LOG 16u
#define TF_REUSE_EXACT (1u << TF_REUSE_EXACT_LOG) /* distances with a bin each */
#define TF_REUSE_BINS (TF_REUSE_EXACT + (64u - TF_REUSE_EXACT_LOG) * 256u)

typedef struct tf_reuse {
    uint32_t halvings; /* of 2 to the power of so many lines one is followed */
    uint32_t lines;    /* followed */
    uint32_t now;      /* the last time given out */
    uint64_t line[TF_REUSE_PLACES];
    uint32_t time[TF_REUSE_PLACES]; /* of its last access, from 1; 0 for an empty place */
    uint64_t line_at[TF_REUSE_TIMES + 1]; /* last accessed at that time, or TF_NEVER */
    uint32_t tree[TF_REUSE_TIMES + 1];
    uint64_t cold[2];                  /* first accesses, by TF_OF_* */
    uint64_t counts[2][TF_REUSE_BINS]; /* accesses at each distance */
} tf_reuse;

TF_PART size_t tf_m_reuse_bytes(void);
TF_PART void tf_m_reuse(struct tf_model *m, uint64_t number, uint32_t owner);

#else

TF_HOT size_t tf_m_reuse_bytes(void)
{
    return 0;
}

TF_HOT void tf_m_reuse(struct tf_model *m, uint64_t number, uint32_t owner)
{
    (void)m, (void)number, (void)owner;
}

#endif

#endif
