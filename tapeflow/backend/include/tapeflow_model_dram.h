/* DRAM, as the cache and the DMA engine see it: requests, one burst each, and when they are done. */
#ifndef TAPEFLOW_MODEL_DRAM_H
#define TAPEFLOW_MODEL_DRAM_H

#include "tapeflow_model_state.h"

TF_PART size_t tf_m_dram_bytes(void);
TF_PART void tf_m_dram_reset(struct tf_dram *dram, tf_counter_set *count);
TF_PART uint64_t tf_m_dram(struct tf_dram *dram, uint64_t t, uint64_t address, bool write);
TF_PART uint64_t tf_m_dram_finish(struct tf_dram *dram, uint64_t t);

#endif
