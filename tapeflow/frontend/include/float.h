/* <float.h> for Tapeflow's C frontend: the limits of float and double. */
#ifndef TAPEFLOW_FLOAT_H
#define TAPEFLOW_FLOAT_H

#define DBL_DIG 15
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define FLT_DIG 6
#define FLT_EPSILON 1.19209290e-7F
#define FLT_MAX 3.40282347e+38F
#define FLT_MIN 1.17549435e-38F

#endif
