/* The Kullback-Leibler loss; included once for each REAL, see native.c.
 *
 * Rows of X are independent given the other factor H (m x r): a row x and its weights w (r numbers) need
 * the columns of H at the entries of x that are positive, and the sums s of H over all entries that count.
 */

#define vector NAME(kl_vector)
#define mask NAME(kl_mask)
#define loose NAME(kl_loose)
#define larger NAME(kl_larger)
#define logarithm NAME(kl_logarithm)
#define total NAME(kl_total)
#define fit_row NAME(kl_fit_row)
#define add_change NAME(kl_add_change)
#define add_and_sum NAME(kl_add_and_sum)
#define step_weight NAME(kl_step_weight)
#define find_growing NAME(kl_find_growing)
#define find_large NAME(kl_find_large)
#define sweep_row NAME(kl_sweep_row)
#define row_loss NAME(kl_row_loss)
#define gather_row NAME(kl_gather_row)
#define transpose NAME(kl_transpose)
#define LANES (VECTOR_BYTES / sizeof(REAL))
#define WHOLE(length) (((length) + (ptrdiff_t)LANES - 1) / (ptrdiff_t)LANES * (ptrdiff_t)LANES)

typedef INTEGER mask __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL vector __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL loose __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias)); /* anywhere */

#define INLINE static inline __attribute__((always_inline))

INLINE vector larger(vector a, vector b)
{
    mask first = a > b;
    return (vector)(((mask)a & first) | ((mask)b & ~first));
}

/* The natural logarithm of positive normal numbers: m 2^e with m around 1, and 2 artanh((m - 1)/(m + 1)). */
INLINE vector logarithm(vector value)
{
    const vector one = (vector){0} + (REAL)1;
    mask exponent = ((mask)value - ROOT_HALF) >> MANTISSA_BITS;
    vector m = (vector)((mask)value - (exponent << MANTISSA_BITS));
    vector s = (m - one) / (m + one), square = s * s, series = (vector){0};
    for (int n = LOG_TERMS; n > 0; n--)
        series = (series + (REAL)1 / (2 * n + 1)) * square;
    return __builtin_convertvector(exponent, vector) * (REAL)0.693147180559945309 + 2 * s * (one + series);
}

INLINE double total(vector value)
{
    double part[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        part[lane] = value[lane];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            part[lane] += part[lane + half];
    return part[0];
}

/* fit = sum_k w_k H_k, at least TINY; ``length`` is a multiple of LANES, H_k begins at H + k ld. */
INLINE void fit_row(ptrdiff_t length, ptrdiff_t r, const REAL *H, ptrdiff_t ld, const REAL *w, REAL *fit)
{
    const vector tiny = (vector){0} + (REAL)TINY;
    ptrdiff_t j = 0;
    for (; j + 4 * (ptrdiff_t)LANES <= length; j += 4 * LANES) {
        vector sum[4] = {{0}};
        for (ptrdiff_t k = 0; k < r; k++)
            for (int v = 0; v < 4; v++)
                sum[v] += w[k] * ((const loose *)(H + k * ld + j))[v];
        for (int v = 0; v < 4; v++)
            ((loose *)(fit + j))[v] = larger(sum[v], tiny);
    }
    for (; j < length; j += LANES) {
        vector sum = {0};
        for (ptrdiff_t k = 0; k < r; k++)
            sum += w[k] * *(const loose *)(H + k * ld + j);
        *(loose *)(fit + j) = larger(sum, tiny);
    }
}

/* fit += change * last, and no less than what the component that changed contributes. */
INLINE void add_change(ptrdiff_t length, const REAL *last, REAL change, REAL reached, REAL *fit)
{
    for (ptrdiff_t j = 0; j < length; j += LANES) {
        vector before = *(const loose *)(last + j), now = *(loose *)(fit + j) + change * before;
        *(loose *)(fit + j) = larger(now, reached * before + (REAL)TINY);
    }
}

/* `add_change`, and in the same pass g = sum x h / fit and q = sum x h^2 / fit^2 of another component. Long rows take
 * vectors as wide as the machine has, which short ones do not fill. */
INLINE void add_and_sum(ptrdiff_t length, const REAL *restrict last, REAL change, REAL reached, REAL *restrict fit,
                        const REAL *restrict h, const REAL *restrict x, double *g, double *q)
{
    if (length >= LONG_ROW) {
        REAL first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
        for (ptrdiff_t j = 0; j < length; j++) {
            REAL now = fit[j] + change * last[j], least = reached * last[j] + (REAL)TINY;
            now = now > least ? now : least;
            fit[j] = now;
            REAL share = h[j] / now, part = x[j] * share;
            first += part;
            second += part * share;
        }
        *g = first;
        *q = second;
    } else {
        vector first = {0}, second = {0};
        for (ptrdiff_t j = 0; j < length; j += LANES) {
            vector before = *(const loose *)(last + j), now = *(loose *)(fit + j) + change * before;
            now = larger(now, reached * before + (REAL)TINY);
            *(loose *)(fit + j) = now;
            vector share = *(const loose *)(h + j) / now, part = *(const loose *)(x + j) * share;
            first += part;
            second += part * share;
        }
        *g = total(first);
        *q = total(second);
    }
}

/* The weight after one step, with g = sum x h / fit, q = sum x h^2 / fit^2 and the sum s of h. Where g > s,
 * Newton's step on 1/g(w) = 1/s, which never passes the minimum since 1/g is concave; where g < s, the minimum of
 * a majoriser that agrees to second order (docs/counts.md). Either lowers the loss. */
INLINE REAL step_weight(double old, double g, double q, double s)
{
    double new = old;
    if (s > 0 && g != s) { /* one division that depends on the case, and no branch */
        int grows = g > s;
        double quotient = (grows ? g : old * old * q) / (grows ? q : old * q + s - g);
        new = grows ? old + quotient * (g / s - 1) : quotient;
    }
    return (REAL)(new > FLOOR ? new : FLOOR);
}

/* Which weights from ``start`` on that are SMALL have g > s, and will grow; ``ratio`` gets x / fit. */
INLINE ptrdiff_t find_growing(ptrdiff_t length, ptrdiff_t start, ptrdiff_t r, const REAL *H, ptrdiff_t ld,
                              const REAL *x, const REAL *fit, REAL *ratio, const double *s, const REAL *w,
                              int32_t *growing)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t j = 0; j < length; j += LANES)
        *(loose *)(ratio + j) = *(const loose *)(x + j) / *(const loose *)(fit + j);
    for (ptrdiff_t k = start; k < r;) {
        ptrdiff_t group[4], size = 0;
        for (; k < r && size < 4; k++)
            if (w[k] <= (REAL)SMALL && s[k] > 0)
                group[size++] = k;
        if (size == 0)
            break;
        const REAL *h[4];
        for (ptrdiff_t i = 0; i < 4; i++)
            h[i] = H + group[i < size ? i : 0] * ld;
        vector sum[4] = {{0}};
        for (ptrdiff_t j = 0; j < length; j += LANES) {
            vector here = *(const loose *)(ratio + j);
            for (int i = 0; i < 4; i++)
                sum[i] += here * *(const loose *)(h[i] + j);
        }
        for (ptrdiff_t i = 0; i < size; i++)
            if (total(sum[i]) > s[group[i]])
                growing[count++] = (int32_t)group[i];
    }
    return count;
}

/* The weights from ``start`` on that are not SMALL. */
INLINE ptrdiff_t find_large(ptrdiff_t start, ptrdiff_t r, const REAL *w, int32_t *large)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = start; k < r; k++)
        if (w[k] > (REAL)SMALL)
            large[count++] = (int32_t)k;
    return count;
}

/* Scalar coordinate descent on the weights from ``start`` on, at most ``sweeps`` times over them: until one moves
 * less than ``tol`` of the fit. x is zero beyond its entries; ``ratio`` has room for ``length`` numbers, ``order``
 * for r.
 *
 * Most weights of counts are as small as they can be, and stay there while g <= s. The others are updated first;
 * then one pass without a division finds the small ones that will grow. As they do, the fit grows and every other g
 * falls, so that this pass overlooks none. Further sweeps leave the small ones alone, unless ``tol`` is to be met. */
INLINE void sweep_row(ptrdiff_t length, ptrdiff_t start, ptrdiff_t r, const REAL *H, ptrdiff_t ld, const REAL *x,
                      REAL *fit, REAL *ratio, const double *s, REAL *w, int32_t *order, int sweeps, double tol)
{
    REAL change = 0, reached = 0;
    const REAL *last = H;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        double moved = 0, size = 0;
        ptrdiff_t count = find_large(start, r, w, order);
        int searched = sweep > 0 && !(tol > 0);
        for (ptrdiff_t i = 0;; i++) {
            if (i == count && !searched) {
                if (change != 0)
                    add_change(length, last, change, reached, fit);
                change = 0;
                count = find_growing(length, start, r, H, ld, x, fit, ratio, s, w, order);
                searched = 1;
                i = 0;
            }
            if (i == count)
                break;
            ptrdiff_t k = order[i];
            const REAL *h = H + k * ld;
            double g, q;
            add_and_sum(length, last, change, reached, fit, h, x, &g, &q);
            reached = step_weight(w[k], g, q, s[k]);
            change = reached - w[k];
            w[k] = reached;
            last = h;
            moved += s[k] * (change < 0 ? -change : change);
            size += s[k] * reached;
        }
        if (moved < tol * size)
            break;
    }
    if (change != 0)
        add_change(length, last, change, reached, fit);
}

/* sum of x log(x / fit) - x */
INLINE double row_loss(ptrdiff_t length, const REAL *x, const REAL *fit)
{
    const vector tiny = (vector){0} + (REAL)TINY;
    double sum = 0;
    for (ptrdiff_t start = 0; start < length; start += 64 * LANES) { /* few terms in single precision */
        ptrdiff_t stop = start + 64 * (ptrdiff_t)LANES < length ? start + 64 * (ptrdiff_t)LANES : length;
        vector part = {0};
        for (ptrdiff_t j = start; j < stop; j += LANES) {
            vector here = *(const loose *)(x + j);
            part += here * (logarithm(larger(here / *(const loose *)(fit + j), tiny)) - (REAL)1);
        }
        sum += total(part);
    }
    return sum;
}

/* LANES rows of LANES numbers as columns. */
INLINE void transpose(vector *rows)
{
    vector a[8], b[8];
#define PAIR(to, from, i, j, k, low, high)                                                                   \
    to[k] = __builtin_shuffle(from[i], from[j], (mask)low);                                                  \
    to[k + 1] = __builtin_shuffle(from[i], from[j], (mask)high);
    if (LANES == 8) {
        for (int k = 0; k < 8; k += 2) {
            PAIR(a, rows, k, k + 1, k, UNPACK_LOW, UNPACK_HIGH)
        }
        for (int k = 0; k < 8; k += 4) {
            PAIR(b, a, k, k + 2, k, PAIRS_LOW, PAIRS_HIGH)
            PAIR(b, a, k + 1, k + 3, k + 2, PAIRS_LOW, PAIRS_HIGH)
        }
        for (int k = 0; k < 4; k++) {
            rows[k] = __builtin_shuffle(b[k], b[k + 4], (mask)HALVES_LOW);
            rows[k + LANES / 2] = __builtin_shuffle(b[k], b[k + 4], (mask)HALVES_HIGH);
        }
    } else {
        for (int k = 0; k < 4; k += 2) {
            PAIR(a, rows, k, k + 1, k, UNPACK_LOW, UNPACK_HIGH)
        }
        for (int k = 0; k < 2; k++) {
            rows[k] = __builtin_shuffle(a[k], a[k + 2], (mask)HALVES_LOW);
            rows[k + LANES / 2] = __builtin_shuffle(a[k], a[k + 2], (mask)HALVES_HIGH);
        }
    }
#undef PAIR
}

/* The columns of H at the entries of a sparse row, as r rows of ``length`` numbers, and x padded with zeros. Rows
 * of H are contiguous with ``width`` numbers, a multiple of LANES, and there are WHOLE(r) rows of room. */
INLINE void gather_row(ptrdiff_t count, ptrdiff_t length, ptrdiff_t width, const int32_t *columns,
                       const REAL *values, const REAL *H, REAL *gathered, REAL *x)
{
    for (ptrdiff_t j = 0; j < length; j += LANES) {
        for (ptrdiff_t k = 0; k < width; k += LANES) {
            vector tile[8];
            for (size_t lane = 0; lane < LANES; lane++)
                tile[lane] = j + (ptrdiff_t)lane < count
                    ? (vector) * (const loose *)(H + (ptrdiff_t)columns[j + lane] * width + k) : (vector){0};
            transpose(tile);
            for (size_t lane = 0; lane < LANES; lane++)
                *(loose *)(gathered + (k + lane) * length + j) = tile[lane];
        }
    }
    memcpy(x, values, count * sizeof(REAL));
    memset(x + count, 0, (length - count) * sizeof(REAL));
}

/* Rows of a sparse X: sweeps over their weights W (n x r, its columns ``apart`` numbers apart), in place, from
 * column ``first`` on; with none W is only read. Returns the sum of x log(x / fit) - x after them, or NaN if there
 * is no memory for one row; ``ratio``, if not NULL, gets x / fit. Rows of H are contiguous and ``width`` numbers
 * long, a multiple of LANES; the sums of row i begin at sums + i * stride. */
MULTIVERSION double NAME(kl_sparse)(
    ptrdiff_t n, ptrdiff_t r, const int64_t *starts, const int32_t *columns, const REAL *values, const REAL *H,
    ptrdiff_t width, const double *sums, ptrdiff_t stride, REAL *W, ptrdiff_t apart, int sweeps, double tol,
    REAL *ratio, ptrdiff_t first)
{
    ptrdiff_t longest = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (starts[i + 1] - starts[i] > longest)
            longest = starts[i + 1] - starts[i];
    longest = WHOLE(longest);
    size_t room = ((width + 3) * longest + width) * sizeof(REAL) + width * sizeof(int32_t);
    REAL *gathered = aligned_alloc(VECTOR_BYTES, (room / VECTOR_BYTES + 1) * VECTOR_BYTES);
    if (gathered == NULL)
        return NAN;
    REAL *x = gathered + width * longest, *fit = x + longest, *quotient = fit + longest, *w = quotient + longest;
    int32_t *order = (int32_t *)(w + width);
    double loss = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t start = starts[i], count = starts[i + 1] - start, length = WHOLE(count);
        if (count == 0) { /* an empty row has no weights */
            for (ptrdiff_t k = first; sweeps && k < r; k++)
                W[k * apart + i] = 0;
            continue;
        }
        for (ptrdiff_t k = 0; k < r; k++)
            w[k] = W[k * apart + i];
        gather_row(count, length, width, columns + start, values + start, H, gathered, x);
        fit_row(length, r, gathered, length, w, fit);
        sweep_row(length, first, r, gathered, length, x, fit, quotient, sums + i * stride, w, order, sweeps, tol);
        loss += row_loss(length, x, fit);
        if (ratio != NULL)
            for (ptrdiff_t j = 0; j < count; j++)
                ratio[start + j] = x[j] / fit[j];
        for (ptrdiff_t k = first; sweeps && k < r; k++)
            W[k * apart + i] = w[k];
    }
    free(gathered);
    return loss;
}

/* The same for contiguous rows of a dense X; columns of H begin ``ld`` numbers apart, a multiple of LANES, and are
 * zero beyond their m numbers. */
MULTIVERSION double NAME(kl_dense)(
    ptrdiff_t n, ptrdiff_t m, ptrdiff_t r, const REAL *X, const REAL *H, ptrdiff_t ld, const double *sums,
    ptrdiff_t stride, REAL *W, ptrdiff_t apart, int sweeps, double tol, REAL *ratio, ptrdiff_t first)
{
    ptrdiff_t length = WHOLE(m);
    size_t room = (3 * length + r) * sizeof(REAL) + r * sizeof(int32_t);
    REAL *x = aligned_alloc(VECTOR_BYTES, (room / VECTOR_BYTES + 1) * VECTOR_BYTES);
    if (x == NULL)
        return NAN;
    REAL *fit = x + length, *quotient = fit + length, *w = quotient + length;
    int32_t *order = (int32_t *)(w + r);
    double loss = 0;
    memset(x, 0, length * sizeof(REAL));
    for (ptrdiff_t i = 0; i < n; i++) {
        int empty = 1;
        for (ptrdiff_t j = 0; j < m; j++) {
            x[j] = X[i * m + j];
            empty &= x[j] == 0;
        }
        for (ptrdiff_t k = 0; k < r; k++) {
            if (empty && sweeps && k >= first)
                W[k * apart + i] = 0;
            w[k] = W[k * apart + i];
        }
        if (empty && sweeps)
            continue;
        fit_row(length, r, H, ld, w, fit);
        sweep_row(length, first, r, H, ld, x, fit, quotient, sums + i * stride, w, order, sweeps, tol);
        loss += row_loss(length, x, fit);
        if (ratio != NULL)
            for (ptrdiff_t j = 0; j < m; j++)
                ratio[i * m + j] = x[j] / fit[j];
        for (ptrdiff_t k = first; sweeps && k < r; k++)
            W[k * apart + i] = w[k];
    }
    free(x);
    return loss;
}

/* distances[j r + k] = sum (p_j - p_k)^2 / (share p_j + (1 - share) p_k) for columns p of P (n x r), with
 * share = sizes_j / (sizes_j + sizes_k); zero on the diagonal. */
MULTIVERSION void NAME(kl_pairs)(
    ptrdiff_t n, ptrdiff_t r, const REAL *P, const double *sizes, double *distances)
{
    ptrdiff_t whole = n / (ptrdiff_t)LANES * (ptrdiff_t)LANES;
    for (ptrdiff_t j = 0; j < r; j++) {
        distances[j * r + j] = 0;
        for (ptrdiff_t k = j + 1; k < r; k++) {
            const REAL *p = P + j * n, *q = P + k * n;
            const REAL share = (REAL)(sizes[j] / (sizes[j] + sizes[k]));
            vector part = {0};
            for (ptrdiff_t i = 0; i < whole; i += LANES) {
                vector a = *(const loose *)(p + i), b = *(const loose *)(q + i), gap = a - b;
                part += gap * gap / (share * a + (1 - share) * b + (REAL)TINY);
            }
            double sum = total(part);
            for (ptrdiff_t i = whole; i < n; i++) {
                REAL gap = p[i] - q[i];
                sum += gap * gap / (share * p[i] + (1 - share) * q[i] + (REAL)TINY);
            }
            distances[j * r + k] = distances[k * r + j] = sum;
        }
    }
}

#undef vector
#undef mask
#undef loose
#undef larger
#undef logarithm
#undef total
#undef fit_row
#undef add_change
#undef add_and_sum
#undef step_weight
#undef find_growing
#undef find_large
#undef sweep_row
#undef row_loss
#undef gather_row
#undef transpose
#undef LANES
#undef WHOLE
#undef INLINE
