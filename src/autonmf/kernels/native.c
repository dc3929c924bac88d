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
#define VECTORS 10 /* accumulators of one block column: they fit sixteen registers */
#define PANEL 8 /* vectors of a row that a sparse product sums at a time */
#define BLOCK_BYTES (VECTOR_BYTES * VECTORS)

#define REAL double
#define INTEGER int64_t /* as wide as REAL */
#define NAME(function) function##_f64
#include "native_template.h"
#undef REAL
#undef INTEGER
#undef NAME

#define REAL float
#define INTEGER int32_t
#define NAME(function) function##_f32
#include "native_template.h"
#undef REAL
#undef INTEGER
#undef NAME

/* Sparse products need rows that are a multiple of so many bytes. */
const int vector_bytes = VECTOR_BYTES;

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
