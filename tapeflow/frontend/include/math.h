/* The part of <math.h> that Tapeflow differentiates. A function that is not here is refused as undeclared. */
#ifndef TAPEFLOW_MATH_H
#define TAPEFLOW_MATH_H

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)

#define TAPEFLOW_UNARY(name) \
  double name(double);       \
  float name##f(float);
#define TAPEFLOW_BINARY(name)  \
  double name(double, double); \
  float name##f(float, float);

TAPEFLOW_UNARY(acos)
TAPEFLOW_UNARY(acosh)
TAPEFLOW_UNARY(asin)
TAPEFLOW_UNARY(asinh)
TAPEFLOW_UNARY(atan)
TAPEFLOW_UNARY(atanh)
TAPEFLOW_UNARY(cbrt)
TAPEFLOW_UNARY(ceil)
TAPEFLOW_UNARY(cos)
TAPEFLOW_UNARY(cosh)
TAPEFLOW_UNARY(erf)
TAPEFLOW_UNARY(erfc)
TAPEFLOW_UNARY(exp)
TAPEFLOW_UNARY(exp2)
TAPEFLOW_UNARY(expm1)
TAPEFLOW_UNARY(fabs)
TAPEFLOW_UNARY(floor)
TAPEFLOW_UNARY(lgamma)
TAPEFLOW_UNARY(log)
TAPEFLOW_UNARY(log10)
TAPEFLOW_UNARY(log1p)
TAPEFLOW_UNARY(log2)
TAPEFLOW_UNARY(nearbyint)
TAPEFLOW_UNARY(rint)
TAPEFLOW_UNARY(round)
TAPEFLOW_UNARY(sin)
TAPEFLOW_UNARY(sinh)
TAPEFLOW_UNARY(sqrt)
TAPEFLOW_UNARY(tan)
TAPEFLOW_UNARY(tanh)
TAPEFLOW_UNARY(tgamma)
TAPEFLOW_UNARY(trunc)

TAPEFLOW_BINARY(atan2)
TAPEFLOW_BINARY(copysign)
TAPEFLOW_BINARY(fdim)
TAPEFLOW_BINARY(fmax)
TAPEFLOW_BINARY(fmin)
TAPEFLOW_BINARY(fmod)
TAPEFLOW_BINARY(hypot)
TAPEFLOW_BINARY(pow)
TAPEFLOW_BINARY(remainder)

double fma(double, double, double);
float fmaf(float, float, float);

#undef TAPEFLOW_UNARY
#undef TAPEFLOW_BINARY

#endif
