/* <stddef.h> for Tapeflow's C frontend. */
#ifndef TAPEFLOW_STDDEF_H
#define TAPEFLOW_STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#define NULL ((void *)0)

#endif
