/* Included once for each REAL; see native.c. */

#define vector NAME(vector)
#define mask NAME(mask)
#define positive_part(value) ((vector)((mask)(value) & ((value) > zero))) /* max(0, value) */
#define block_load NAME(block_load)
#define block_store NAME(block_store)
#define block_multiply NAME(block_multiply)
#define hals_sweeps NAME(hals_sweeps)
#define forward_step NAME(forward_step)
#define loose NAME(loose)
#define gather NAME(gather)
#define scatter NAME(scatter)
#define csr_times NAME(csr_times)
#define csr_transposed_times NAME(csr_transposed_times)
#define LANES (VECTOR_BYTES / sizeof(REAL)) /* numbers in a vector */
#define ROWS (BLOCK_BYTES / sizeof(REAL))   /* rows of a block */

typedef INTEGER mask __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL vector __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL loose __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias)); /* anywhere */

/* Copy rows [row, row + count) of an n x r matrix into r packed columns of ROWS numbers, zero-padded.
 * Packing also avoids the cache conflicts of columns that are a power of two apart. */
static inline __attribute__((always_inline)) void block_load(
    REAL *packed, const REAL *matrix, ptrdiff_t n, ptrdiff_t r, ptrdiff_t row, ptrdiff_t count)
{
    for (ptrdiff_t j = 0; j < r; j++) {
        memcpy(packed + j * ROWS, matrix + j * n + row, count * sizeof(REAL));
        if (count < (ptrdiff_t)ROWS)
            memset(packed + j * ROWS + count, 0, (ROWS - count) * sizeof(REAL));
    }
}

static inline __attribute__((always_inline)) void block_store(
    REAL *matrix, const REAL *packed, ptrdiff_t n, ptrdiff_t r, ptrdiff_t row, ptrdiff_t count)
{
    for (ptrdiff_t j = 0; j < r; j++)
        memcpy(matrix + j * n + row, packed + j * ROWS, count * sizeof(REAL));
}

/* sum += packed * column, over r packed columns. */
static inline __attribute__((always_inline)) void block_multiply(
    vector *sum, const vector *packed, const REAL *column, ptrdiff_t r)
{
    for (ptrdiff_t l = 0; l < r; l++) {
        const vector *source = packed + l * VECTORS;
        REAL weight = column[l];
        for (int v = 0; v < VECTORS; v++)
            sum[v] += weight * source[v];
    }
}

/* In place, sweeps times over j: B_j = max(0, (A_j - sum_{l != j} B_l G_lj) / (G_jj + mu)).
 * Returns 0, or 1 if there is no memory for one block. */
MULTIVERSION int hals_sweeps(
    ptrdiff_t n, ptrdiff_t r, REAL *block, const REAL *product, const REAL *gram, double mu, int sweeps)
{
    vector *packed = aligned_alloc(VECTOR_BYTES, 2 * r * BLOCK_BYTES + VECTOR_BYTES);
    if (packed == NULL)
        return 1;
    vector *targets = packed + r * VECTORS;
    const vector zero = {0};
    for (ptrdiff_t row = 0; row < n; row += ROWS) {
        ptrdiff_t count = n - row < (ptrdiff_t)ROWS ? n - row : (ptrdiff_t)ROWS;
        block_load((REAL *)packed, block, n, r, row, count);
        block_load((REAL *)targets, product, n, r, row, count);
        for (int sweep = 0; sweep < sweeps; sweep++) {
            for (ptrdiff_t j = 0; j < r; j++) {
                const REAL *column = gram + j * r;
                REAL own = column[j], curvature = own + (REAL)mu;
                REAL inverse = curvature > 0 ? 1 / curvature : 0;
                vector sum[VECTORS] = {zero};
                block_multiply(sum, packed, column, r);
                for (int v = 0; v < VECTORS; v++) {
                    vector *here = packed + j * VECTORS + v;
                    vector value = (targets[j * VECTORS + v] - sum[v] + own * *here) * inverse;
                    *here = positive_part(value);
                }
            }
        }
        block_store(block, (REAL *)packed, n, r, row, count);
    }
    free(packed);
    return 0;
}

/* forward = max(0, B - (B G - A + mu B) / gamma), and the squared norms of its columns.
 * Returns 0, or 1 if there is no memory for one block. */
MULTIVERSION int forward_step(
    ptrdiff_t n, ptrdiff_t r, const REAL *block, const REAL *product, const REAL *gram, double mu,
    double gamma, REAL *forward, double *squared_norms)
{
    vector *packed = aligned_alloc(VECTOR_BYTES, r * BLOCK_BYTES + VECTOR_BYTES);
    if (packed == NULL)
        return 1;
    const vector zero = {0};
    const REAL shrink = (REAL)(1.0 - mu / gamma), step = (REAL)(1.0 / gamma);
    for (ptrdiff_t j = 0; j < r; j++)
        squared_norms[j] = 0;
    for (ptrdiff_t row = 0; row < n; row += ROWS) {
        ptrdiff_t count = n - row < (ptrdiff_t)ROWS ? n - row : (ptrdiff_t)ROWS;
        block_load((REAL *)packed, block, n, r, row, count);
        for (ptrdiff_t j = 0; j < r; j++) {
            vector target[VECTORS] = {zero}, sum[VECTORS] = {zero}, square = zero;
            memcpy(target, product + j * n + row, count * sizeof(REAL));
            block_multiply(sum, packed, gram + j * r, r);
            for (int v = 0; v < VECTORS; v++) {
                vector value = shrink * packed[j * VECTORS + v] + step * (target[v] - sum[v]);
                target[v] = positive_part(value);
                square += target[v] * target[v];
            }
            memcpy(forward + j * n + row, target, count * sizeof(REAL));
            for (size_t lane = 0; lane < LANES; lane++)
                squared_norms[j] += square[lane];
        }
    }
    free(packed);
    return 0;
}

/* target += sum of values[k] * factor[columns[k]] over k in [start, stop), for ``width`` vectors of each row. */
static inline __attribute__((always_inline)) void gather(
    ptrdiff_t start, ptrdiff_t stop, ptrdiff_t r, const int32_t *columns, const REAL *values,
    const REAL *factor, REAL *target, const int width)
{
    vector sum[PANEL] = {{0}};
    for (ptrdiff_t k = start; k < stop; k++) {
        const loose *source = (const loose *)(factor + (ptrdiff_t)columns[k] * r);
        for (int v = 0; v < width; v++)
            sum[v] += values[k] * source[v];
    }
    for (int v = 0; v < width; v++)
        ((loose *)target)[v] += sum[v];
}

/* out[columns[k]] += values[k] * source over k in [start, stop), for ``width`` vectors of each row. */
static inline __attribute__((always_inline)) void scatter(
    ptrdiff_t start, ptrdiff_t stop, ptrdiff_t r, const int32_t *columns, const REAL *values,
    REAL *out, const REAL *source, const int width)
{
    vector row[PANEL];
    for (int v = 0; v < width; v++)
        row[v] = ((const loose *)source)[v];
    for (ptrdiff_t k = start; k < stop; k++) {
        loose *target = (loose *)(out + (ptrdiff_t)columns[k] * r);
        for (int v = 0; v < width; v++)
            target[v] += values[k] * row[v];
    }
}

/* For rows [first, last) of a CSR matrix, its columns of the factors in panels of at most PANEL vectors:
 * the width of a panel is known to the compiler, so that its sums stay in registers. */
#define BY_PANELS(step, there, here)                                                                         \
    for (ptrdiff_t j = 0; j < r; j += PANEL * LANES) {                                                       \
        ptrdiff_t left = (r - j) / (ptrdiff_t)LANES;                                                         \
        switch (left < PANEL ? left : PANEL) {                                                               \
            ROWS_OF(1, step, there, here)                                                                    \
            ROWS_OF(2, step, there, here)                                                                    \
            ROWS_OF(3, step, there, here)                                                                    \
            ROWS_OF(4, step, there, here)                                                                    \
            ROWS_OF(5, step, there, here)                                                                    \
            ROWS_OF(6, step, there, here)                                                                    \
            ROWS_OF(7, step, there, here)                                                                    \
            ROWS_OF(8, step, there, here)                                                                    \
        }                                                                                                    \
    }
#define ROWS_OF(width, step, there, here)                                                                    \
    case width:                                                                                              \
        for (ptrdiff_t i = first; i < last; i++)                                                             \
            step(starts[i], starts[i + 1], r, columns, values, there + j, here + i * r + j, width);          \
        break;

/* out += A F for rows [first, last) of a CSR matrix A; F and out have contiguous rows of r numbers, a multiple
 * of LANES. */
MULTIVERSION void csr_times(
    ptrdiff_t first, ptrdiff_t last, ptrdiff_t r, const int32_t *starts, const int32_t *columns,
    const REAL *values, const REAL *factor, REAL *out)
{
    BY_PANELS(gather, factor, out)
}

/* out += A' F for rows [first, last) of A, the same layouts. */
MULTIVERSION void csr_transposed_times(
    ptrdiff_t first, ptrdiff_t last, ptrdiff_t r, const int32_t *starts, const int32_t *columns,
    const REAL *values, const REAL *factor, REAL *out)
{
    BY_PANELS(scatter, out, factor)
}

#undef vector
#undef mask
#undef positive_part
#undef block_load
#undef block_store
#undef block_multiply
#undef hals_sweeps
#undef forward_step
#undef loose
#undef gather
#undef scatter
#undef BY_PANELS
#undef ROWS_OF
#undef csr_times
#undef csr_transposed_times
#undef LANES
#undef ROWS
