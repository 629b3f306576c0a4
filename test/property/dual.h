/* dual.h: numbers with a tangent, a forward mode in C for the oracle of random programs.
 *
 * The tangent of a program is exact to rounding. `m` is the sum over all paths of the absolute values of what is added
 * up in `d`: rounding errors of any mode of differentiation are a small multiple of the machine's epsilon times `m`, so
 * it says how sharp a comparison can be.
 */
#include <complex.h>
#include <math.h>

typedef struct { double v, d, m; } dual;

static inline dual dual_of(double v) { return (dual){v, 0.0, 0.0}; }

/* Of a value `v` with partials `p` and `q`. */
static inline dual dual_chain(double v, double p, dual a, double q, dual b)
{
    return (dual){v, p * a.d + q * b.d, fabs(p) * a.m + fabs(q) * b.m};
}

/* A value rounded to single precision; the tangent stays exact. */
static inline dual dual_float(dual a) { return (dual){(float)a.v, a.d, a.m}; }

static inline dual dual_add(dual a, dual b) { return dual_chain(a.v + b.v, 1.0, a, 1.0, b); }
static inline dual dual_sub(dual a, dual b) { return dual_chain(a.v - b.v, 1.0, a, -1.0, b); }
static inline dual dual_mul(dual a, dual b) { return dual_chain(a.v * b.v, b.v, a, a.v, b); }
static inline dual dual_div(dual a, dual b) { return dual_chain(a.v / b.v, 1.0 / b.v, a, -a.v / b.v / b.v, b); }

/* One function for each precision: a value by the C library, a partial by mathematics. */
#define DUAL_UNARY(name, partial) DUAL_UNARY_AS(name, double, partial) DUAL_UNARY_AS(name##f, float, partial)
#define DUAL_UNARY_AS(name, T, partial) \
    static inline dual dual_##name(dual a) \
    { \
        const double x = a.v, y = name((T)x); \
        return dual_chain(y, partial, a, 0.0, a); \
    }
#define DUAL_BINARY(name, partial_x, partial_z) \
    DUAL_BINARY_AS(name, double, partial_x, partial_z) DUAL_BINARY_AS(name##f, float, partial_x, partial_z)
#define DUAL_BINARY_AS(name, T, partial_x, partial_z) \
    static inline dual dual_##name(dual a, dual b) \
    { \
        const double x = a.v, z = b.v; \
        return dual_chain(name((T)x, (T)z), partial_x, a, partial_z, b); \
    }

DUAL_UNARY(sin, cos(x))
DUAL_UNARY(cos, -sin(x))
DUAL_UNARY(exp, exp(x))
DUAL_UNARY(sqrt, 0.5 / sqrt(x))
DUAL_UNARY(log, 1.0 / x)
DUAL_UNARY(fabs, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0)
DUAL_UNARY(atan, 1.0 / (1.0 + x * x))
DUAL_UNARY(log1p, 1.0 / (1.0 + x))
DUAL_UNARY(expm1, exp(x))
DUAL_UNARY(cbrt, 1.0 / (3.0 * cbrt(x) * cbrt(x)))
DUAL_UNARY(erf, 1.1283791670955125739 * exp(-x * x))

/* Ours is made from the result r, (1 - r)(1 + r), which adds up to as little as r's own rounding where r is next to 1. */
#define DUAL_TANH(name, T) \
    static inline dual dual_##name(dual a) \
    { \
        const double y = name((T)a.v), p = 1.0 / (cosh(a.v) * cosh(a.v)); \
        return (dual){y, p * a.d, (1.0 + fabs(y)) * a.m}; \
    }
DUAL_TANH(tanh, double)
DUAL_TANH(tanhf, float)

DUAL_BINARY(fmax, x > z ? 1.0 : x < z ? 0.0 : 0.5, x > z ? 0.0 : x < z ? 1.0 : 0.5)
DUAL_BINARY(fmin, x < z ? 1.0 : x > z ? 0.0 : 0.5, x < z ? 0.0 : x > z ? 1.0 : 0.5)
DUAL_BINARY(atan2, z / (x * x + z * z), -x / (x * x + z * z))
DUAL_BINARY(pow, z * pow(x, z - 1.0), log(x) * pow(x, z))

/* A complex number; operands that C leaves real stay so. */
typedef struct { dual re, im; } cdual;

static inline cdual cdual_of(dual re, dual im) { return (cdual){re, im}; }
static inline cdual cdual_conj(cdual a) { return (cdual){a.re, dual_sub(dual_of(0.0), a.im)}; }
static inline dual cdual_creal(cdual a) { return a.re; }
static inline dual cdual_cimag(cdual a) { return a.im; }
static inline dual cdual_cabs(cdual a)
{
    const double v = cabs(a.re.v + a.im.v * I);
    return dual_chain(v, a.re.v / v, a.re, a.im.v / v, a.im);
}

static inline cdual cdual_add(cdual a, cdual b) { return (cdual){dual_add(a.re, b.re), dual_add(a.im, b.im)}; }
static inline cdual cdual_sub(cdual a, cdual b) { return (cdual){dual_sub(a.re, b.re), dual_sub(a.im, b.im)}; }
static inline cdual cdual_mul(cdual a, cdual b)
{
    return (cdual){
        dual_sub(dual_mul(a.re, b.re), dual_mul(a.im, b.im)), dual_add(dual_mul(a.re, b.im), dual_mul(a.im, b.re))};
}
static inline cdual cdual_add_real(cdual a, dual b) { return (cdual){dual_add(a.re, b), a.im}; }
static inline cdual cdual_sub_real(cdual a, dual b) { return (cdual){dual_sub(a.re, b), a.im}; }
static inline cdual cdual_mul_real(cdual a, dual b) { return (cdual){dual_mul(a.re, b), dual_mul(a.im, b)}; }
static inline cdual cdual_div_real(cdual a, dual b) { return (cdual){dual_div(a.re, b), dual_div(a.im, b)}; }
static inline cdual cdual_real_add(dual a, cdual b) { return cdual_add_real(b, a); }
static inline cdual cdual_real_mul(dual a, cdual b) { return cdual_mul_real(b, a); }
