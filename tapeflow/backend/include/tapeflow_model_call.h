/* A call of a program on the machine: a cold start, and the end. */
#ifndef TAPEFLOW_MODEL_CALL_H
#define TAPEFLOW_MODEL_CALL_H

#include "tapeflow_model_state.h"

TF_PART struct tf_model *tf_m_call_begin(struct tf_model *m, size_t lines, const char **error);
TF_PART void tf_m_call_end(struct tf_model *m);
TF_PART void tf_m_call_delete(struct tf_model *m);

#endif
