/* The part of <stdlib.h> that Tapeflow imports. */
#ifndef TAPEFLOW_STDLIB_H
#define TAPEFLOW_STDLIB_H

#include <stddef.h>

int abs(int);
long labs(long);
long long llabs(long long);

#endif
