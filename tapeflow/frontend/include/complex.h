/* The part of <complex.h> that Tapeflow differentiates; the last ones are declared to be refused with a hint. */
#ifndef TAPEFLOW_COMPLEX_H
#define TAPEFLOW_COMPLEX_H

#define complex _Complex
#define _Complex_I (__extension__ 1.0iF)
#define I _Complex_I
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))

#define TAPEFLOW_COMPLEX(name)           \
  double _Complex name(double _Complex); \
  float _Complex name##f(float _Complex);
#define TAPEFLOW_REAL(name)     \
  double name(double _Complex); \
  float name##f(float _Complex);

TAPEFLOW_REAL(cabs)
TAPEFLOW_REAL(carg)
TAPEFLOW_REAL(cimag)
TAPEFLOW_REAL(creal)
TAPEFLOW_COMPLEX(ccos)
TAPEFLOW_COMPLEX(ccosh)
TAPEFLOW_COMPLEX(cexp)
TAPEFLOW_COMPLEX(clog)
TAPEFLOW_COMPLEX(conj)
TAPEFLOW_COMPLEX(csin)
TAPEFLOW_COMPLEX(csinh)
TAPEFLOW_COMPLEX(csqrt)
TAPEFLOW_COMPLEX(ctan)
TAPEFLOW_COMPLEX(ctanh)
double _Complex cpow(double _Complex, double _Complex);
float _Complex cpowf(float _Complex, float _Complex);

TAPEFLOW_COMPLEX(cacos)
TAPEFLOW_COMPLEX(cacosh)
TAPEFLOW_COMPLEX(casin)
TAPEFLOW_COMPLEX(casinh)
TAPEFLOW_COMPLEX(catan)
TAPEFLOW_COMPLEX(catanh)
TAPEFLOW_COMPLEX(cproj)

#undef TAPEFLOW_COMPLEX
#undef TAPEFLOW_REAL
#endif
