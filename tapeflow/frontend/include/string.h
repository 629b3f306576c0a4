/* The part of <string.h> that Tapeflow imports: clearing and copying whole arrays. */
#ifndef TAPEFLOW_STRING_H
#define TAPEFLOW_STRING_H

#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);
void *memset(void *, int, size_t);

#endif
