/* The hot loops of autonmf in plain C, for float and double.
 *
 * Each function is compiled several times for different vector units and the best one is chosen when
 * the library is loaded (function multiversioning); elsewhere the portable version is used. There is no
 * Python in this file: it is called through ctypes, without the interpreter lock.
 *
 * Layout: a factor is n x r with contiguous columns (Fortran order). Rows are independent of each other
 * given the Gram matrix, so work goes in blocks of rows that stay in the first-level cache; within a block
 * every column is ten vector registers long.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__gnu_linux__)
#define MULTIVERSION __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define MULTIVERSION
#endif

#define VECTOR_BYTES 32 /* as wide as AVX2; wider vectors are no faster, and slow without AVX-512 */
#define ROWS_AT_ONCE 4 /* rows of a Kullback-Leibler sweep taken in turns; two if they are longer than SHORT_ROW */
#define SHORT_ROW 512
#define SWEEPS_BEFORE_NEWTON 3 /* of a row whose sweeps go on until they settle; one between Newton's steps */
#define RIDGE 1e-10 /* what is added to the curvature of such a step, as a fraction of its largest element */
#define KEPT 0.1 /* the fraction of a weight that such a step keeps at least */
#define ROUNDING 1e-14 /* a change of the loss by this fraction of the fit says nothing */
#define LINE_BYTES 64 /* a cache line, and the widest vector */
#define VECTORS 10 /* accumulators of one block column: they fit sixteen registers */
#define PANEL 8 /* vectors of a row that a sparse product sums at a time */
#define BLOCK_BYTES (VECTOR_BYTES * VECTORS)

#define REAL double
#define INTEGER int64_t /* as wide as REAL */
#define NAME(function) function##_f64
#define MANTISSA_BITS 52
#define ROOT_HALF 0x3fe6a09e667f3bcdLL /* the bits of sqrt(1/2) */
#define LOG_TERMS 11                   /* of a series that is then exact to the last digits */
#define TINY 1e-200                    /* no fit is smaller */
#define FLOOR 1e-20                    /* no step leads to a smaller weight */
#define SMALL 1e-17                    /* such weights are left alone unless they have to grow */
#define UNPACK_LOW {0, 4, 2, 6}        /* parts of a transposition */
#define UNPACK_HIGH {1, 5, 3, 7}
#define PAIRS_LOW {0}
#define PAIRS_HIGH {0}
#define HALVES_LOW {0, 1, 4, 5}
#define HALVES_HIGH {2, 3, 6, 7}
#include "native_template.h"
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "associative-math", "no-signed-zeros", "no-trapping-math")
#include "kl_template.h"
#pragma GCC pop_options
#undef REAL
#undef INTEGER
#undef NAME
#undef MANTISSA_BITS
#undef ROOT_HALF
#undef LOG_TERMS
#undef TINY
#undef FLOOR
#undef SMALL
#undef UNPACK_LOW
#undef UNPACK_HIGH
#undef PAIRS_LOW
#undef PAIRS_HIGH
#undef HALVES_LOW
#undef HALVES_HIGH

#define REAL float
#define INTEGER int32_t
#define NAME(function) function##_f32
#define MANTISSA_BITS 23
#define ROOT_HALF 0x3f3504f3
#define LOG_TERMS 5
#define TINY 1e-30f
#define FLOOR 1e-12f
#define SMALL 1e-9f
#define UNPACK_LOW {0, 8, 1, 9, 4, 12, 5, 13}
#define UNPACK_HIGH {2, 10, 3, 11, 6, 14, 7, 15}
#define PAIRS_LOW {0, 1, 8, 9, 4, 5, 12, 13}
#define PAIRS_HIGH {2, 3, 10, 11, 6, 7, 14, 15}
#define HALVES_LOW {0, 1, 2, 3, 8, 9, 10, 11}
#define HALVES_HIGH {4, 5, 6, 7, 12, 13, 14, 15}
#include "native_template.h"
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "associative-math", "no-signed-zeros", "no-trapping-math")
#include "kl_template.h"
#pragma GCC pop_options
#undef REAL
#undef INTEGER
#undef NAME

/* Sparse products need rows that are a multiple of so many bytes. */
const int vector_bytes = VECTOR_BYTES;

/* Columns of a factor that meet a dense X begin on a cache line. */
const int line_bytes = LINE_BYTES;

/* The vector unit that the loops above use on this machine. */
const char *vector_unit(void)
{
#if defined(__x86_64__) && defined(__gnu_linux__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "AVX2";
    return "SSE2";
#else
    return "portable";
#endif
}
