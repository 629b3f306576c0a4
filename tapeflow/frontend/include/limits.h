/* <limits.h> for Tapeflow's C frontend: the limits of int and long. */
#ifndef TAPEFLOW_LIMITS_H
#define TAPEFLOW_LIMITS_H

#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-LONG_MAX - 1L)
#define ULONG_MAX 18446744073709551615UL

#endif
