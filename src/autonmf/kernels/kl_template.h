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
#define task NAME(kl_task)
#define row NAME(kl_row)
#define begin_sweep NAME(kl_begin_sweep)
#define begin_row NAME(kl_begin_row)
#define settle NAME(kl_settle)
#define step_row NAME(kl_step_row)
#define solve_symmetric NAME(kl_solve_symmetric)
#define compare_fits NAME(kl_compare_fits)
#define bound_step NAME(kl_bound_step)
#define newton_step NAME(kl_newton_step)
#define rows NAME(kl_rows)
#define next_row NAME(kl_next_row)
#define end_row NAME(kl_end_row)
#define sweep_rows NAME(kl_sweep_rows)
#define row_loss NAME(kl_row_loss)
#define gather_row NAME(kl_gather_row)
#define transpose NAME(kl_transpose)
#define LANES (VECTOR_BYTES / sizeof(REAL))
#define LINE (ptrdiff_t)(LINE_BYTES / sizeof(REAL))
#define WHOLE(length) (((length) + LINE - 1) / LINE * LINE)

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

/* fit = sum_k w_k H_k, at least TINY; H_k begins at H + k ld. Like every array of a row, here and below, it fills whole
 * cache lines, so that the compiler may take vectors as wide as the machine has. */
INLINE void fit_row(ptrdiff_t length, ptrdiff_t r, const REAL *restrict H, ptrdiff_t ld, const REAL *w,
                    REAL *restrict fit)
{
    ptrdiff_t k = 0;
    length &= -LINE;
    memset(fit, 0, length * sizeof(REAL));
    for (; k + 4 <= r; k += 4) {
        const REAL *a = H + k * ld, *b = a + ld, *c = b + ld, *d = c + ld;
        REAL p = w[k], q = w[k + 1], u = w[k + 2], v = w[k + 3];
#pragma omp simd aligned(fit, a, b, c, d : LINE_BYTES)
        for (ptrdiff_t j = 0; j < length; j++)
            fit[j] += (p * a[j] + q * b[j]) + (u * c[j] + v * d[j]);
    }
    for (; k < r; k++) {
        const REAL *a = H + k * ld;
#pragma omp simd aligned(fit, a : LINE_BYTES)
        for (ptrdiff_t j = 0; j < length; j++)
            fit[j] += w[k] * a[j];
    }
#pragma omp simd aligned(fit : LINE_BYTES)
    for (ptrdiff_t j = 0; j < length; j++)
        fit[j] = fit[j] > (REAL)TINY ? fit[j] : (REAL)TINY;
}

/* fit += change * last, and no less than what the component that changed contributes. */
INLINE void add_change(ptrdiff_t length, const REAL *restrict last, REAL change, REAL reached, REAL *restrict fit)
{
    length &= -LINE;
#pragma omp simd aligned(last, fit : LINE_BYTES)
    for (ptrdiff_t j = 0; j < length; j++) {
        REAL now = fit[j] + change * last[j], least = reached * last[j] + (REAL)TINY;
        fit[j] = now > least ? now : least;
    }
}

/* `add_change`, and in the same pass g = sum x h / fit and q = sum x h^2 / fit^2 of another component. */
INLINE void add_and_sum(ptrdiff_t length, const REAL *restrict last, REAL change, REAL reached, REAL *restrict fit,
                        const REAL *restrict h, const REAL *restrict x, double *g, double *q)
{
    REAL first = 0, second = 0;
    length &= -LINE;
#pragma omp simd reduction(+ : first, second) aligned(last, fit, h, x : LINE_BYTES)
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
}

/* The weight after one step, with g = sum x h / fit, q = sum x h^2 / fit^2 and the sum s of h. Where g > s,
 * Newton's step on 1/g(w) = 1/s, which never passes the minimum since 1/g is concave; where g < s, the minimum of
 * a majoriser that agrees to second order (docs/counts.md). Either lowers the loss. */
INLINE REAL step_weight(double old, double g, double q, double s)
{
    double new = old;
    if (s > 0 && g != s) { /* one division and no branch that depends on the case */
        int grows = g > s;
        new = (grows ? g * (g - s) : old * old * q) / (grows ? q * s : old * q + s - g);
        new += grows ? old : 0;
    }
    return (REAL)(new > FLOOR ? new : FLOOR);
}

/* Which weights from ``start`` on that are SMALL have g > s, and will grow; ``ratio`` gets x / fit. */
INLINE ptrdiff_t find_growing(ptrdiff_t length, ptrdiff_t start, ptrdiff_t r, const REAL *H, ptrdiff_t ld,
                              const REAL *x, const REAL *fit, REAL *ratio, const double *s, const REAL *w,
                              int32_t *growing)
{
    ptrdiff_t small = 0, count = 0;
    for (ptrdiff_t k = start; k < r; k++) {
        growing[small] = (int32_t)k;
        small += (w[k] <= (REAL)SMALL) & (s[k] > 0);
    }
    if (small == 0)
        return 0;
    length &= -LINE;
#pragma omp simd aligned(ratio, x, fit : LINE_BYTES)
    for (ptrdiff_t j = 0; j < length; j++)
        ratio[j] = x[j] / fit[j];
    for (ptrdiff_t i = 0; i < small; i += 4) {
        ptrdiff_t last = small - 1, size = small - i < 4 ? small - i : 4;
        int32_t group[4] = {growing[i], growing[i + 1 < last ? i + 1 : last], growing[i + 2 < last ? i + 2 : last],
                            growing[i + 3 < last ? i + 3 : last]};
        const REAL *a = H + group[0] * ld, *b = H + group[1] * ld, *c = H + group[2] * ld, *d = H + group[3] * ld;
        REAL of_a = 0, of_b = 0, of_c = 0, of_d = 0;
#pragma omp simd aligned(ratio, a, b, c, d : LINE_BYTES) reduction(+ : of_a, of_b, of_c, of_d)
        for (ptrdiff_t j = 0; j < length; j++) {
            of_a += ratio[j] * a[j];
            of_b += ratio[j] * b[j];
            of_c += ratio[j] * c[j];
            of_d += ratio[j] * d[j];
        }
        const double g[4] = {of_a, of_b, of_c, of_d};
        for (ptrdiff_t l = 0; l < size; l++) {
            growing[count] = group[l];
            count += g[l] > s[group[l]];
        }
    }
    return count;
}

/* The weights from ``start`` on that are not SMALL. */
INLINE ptrdiff_t find_large(ptrdiff_t start, ptrdiff_t r, const REAL *w, int32_t *large)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = start; k < r; k++) {
        large[count] = (int32_t)k;
        count += w[k] > (REAL)SMALL;
    }
    return count;
}

/* What the rows of a call have in common. */
typedef struct {
    ptrdiff_t r, first; /* components, and the first of them that is updated */
    int sweeps;
    double tol;
} task;

/* A row on its way through its sweeps. */
typedef struct {
    ptrdiff_t index, length, ld;
    const REAL *H, *x;
    REAL *fit, *ratio, *w;
    const double *s;
    int32_t *order; /* of the weights to be updated, ``count`` of them */
    ptrdiff_t at, count;
    int sweep, searched;
    double moved, size;
    double *step, *curvature; /* of Newton's step, where ``tol`` is to be met */
    const REAL *last; /* the component that changed last, which is still to be added to the fit */
    REAL change, reached;
} row;

INLINE void begin_sweep(row *p, const task *t)
{
    p->moved = p->size = 0;
    p->count = find_large(t->first, t->r, p->w, p->order);
    p->searched = p->sweep > 0 && !(t->tol > 0);
    p->at = 0;
}

INLINE void begin_row(row *p, const task *t)
{
    fit_row(p->length, t->r, p->H, p->ld, p->w, p->fit);
    p->last = p->H;
    p->change = p->reached = 0;
    p->sweep = 0;
    begin_sweep(p, t);
}

INLINE void settle(row *p)
{
    if (p->change != 0)
        add_change(p->length, p->last, p->change, p->reached, p->fit);
    p->change = p->reached = 0;
}

/* Solve A d = d for a symmetric positive definite matrix of which the lower half is given, in place. */
INLINE void solve_symmetric(ptrdiff_t n, double *A, double *d)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        double pivot = A[k * n + k];
        for (ptrdiff_t j = 0; j < k; j++) {
            double sum = A[k * n + j];
            for (ptrdiff_t i = 0; i < j; i++)
                sum -= A[k * n + i] * A[j * n + i];
            A[k * n + j] = sum /= A[j * n + j];
            pivot -= sum * sum;
        }
        A[k * n + k] = sqrt(pivot);
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        for (ptrdiff_t i = 0; i < k; i++)
            d[k] -= A[k * n + i] * d[i];
        d[k] /= A[k * n + k];
    }
    for (ptrdiff_t k = n; k-- > 0;) {
        for (ptrdiff_t i = k + 1; i < n; i++)
            d[k] -= A[i * n + k] * d[i];
        d[k] /= A[k * n + k];
    }
}

/* sum of x log(after / before) */
INLINE double compare_fits(ptrdiff_t length, const REAL *x, const REAL *after, const REAL *before)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < length; j += LANES)
        sum += total(*(const loose *)(x + j)
                     * logarithm(*(const loose *)(after + j) / *(const loose *)(before + j)));
    return sum;
}

/* The step d with A d = g for symmetric A, where no weight loses more than all but KEPT of itself: those that would
 * lose exactly that much, and the others make the best of it. ``room`` is as large as A. */
INLINE void bound_step(ptrdiff_t n, const double *A, const double *g, const double *least, double *d, double *room,
                       double *part, unsigned char *bound)
{
    memset(bound, 0, n);
    for (int again = 1; again;) {
        ptrdiff_t count = 0;
        for (ptrdiff_t k = 0; k < n; k++)
            count += !bound[k];
        for (ptrdiff_t k = 0, a = 0; k < n; k++) {
            if (bound[k])
                continue;
            part[a] = g[k];
            for (ptrdiff_t l = 0, b = 0; l < n; l++) {
                double here = l <= k ? A[k * n + l] : A[l * n + k];
                if (bound[l])
                    part[a] -= here * least[l];
                else
                    room[a * count + b++] = here;
            }
            a++;
        }
        solve_symmetric(count, room, part);
        again = 0;
        for (ptrdiff_t k = 0, a = 0; k < n; k++) {
            d[k] = bound[k] ? least[k] : part[a++];
            if (d[k] < least[k])
                bound[k] = again = 1;
        }
    }
}

/* Newton's step on all weights that are not small at once, if it lowers the loss: coordinate descent is slow where
 * components are nearly multiples of each other. If the loss rises, a tenth of the step is tried. */
INLINE void newton_step(row *p, const task *t)
{
    const ptrdiff_t n = find_large(t->first, t->r, p->w, p->order), r = t->r, length = p->length & -LINE;
    double size = 0;
    settle(p);
    for (ptrdiff_t j = 0; j < length; j++)
        p->ratio[j] = p->x[j] / p->fit[j];
    for (ptrdiff_t k = 0; k < n; k++) {
        const REAL *h = p->H + p->order[k] * p->ld;
        double sum = 0;
        for (ptrdiff_t j = 0; j < length; j++)
            sum += p->ratio[j] * h[j];
        p->step[k] = sum - p->s[p->order[k]];
        size += p->s[p->order[k]] * p->w[p->order[k]];
    }
    for (ptrdiff_t j = 0; j < length; j++)
        p->ratio[j] = p->fit[j] > (REAL)TINY ? p->ratio[j] / p->fit[j] : 0; /* no component has mass there */
    for (ptrdiff_t k = 0; k < n; k++)
        for (ptrdiff_t l = 0; l <= k; l += 4) {
            const REAL *h = p->H + p->order[k] * p->ld, *a = p->H + p->order[l] * p->ld,
                       *b = p->H + p->order[l + 1 < k ? l + 1 : k] * p->ld,
                       *c = p->H + p->order[l + 2 < k ? l + 2 : k] * p->ld,
                       *d = p->H + p->order[l + 3 < k ? l + 3 : k] * p->ld;
            double of_a = 0, of_b = 0, of_c = 0, of_d = 0;
            for (ptrdiff_t j = 0; j < length; j++) {
                double here = p->ratio[j] * h[j];
                of_a += here * a[j];
                of_b += here * b[j];
                of_c += here * c[j];
                of_d += here * d[j];
            }
            const double sums[4] = {of_a, of_b, of_c, of_d};
            for (ptrdiff_t i = 0; i < 4 && l + i <= k; i++)
                p->curvature[k * n + l + i] = sums[i];
        }
    double ridge = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        if (RIDGE * p->curvature[k * n + k] > ridge)
            ridge = RIDGE * p->curvature[k * n + k];
    for (ptrdiff_t k = 0; k < n; k++)
        p->curvature[k * n + k] += ridge;
    double *least = p->step + r, *part = least + r, *found = part + r, *room = p->curvature + r * r;
    for (ptrdiff_t k = 0; k < n; k++)
        least[k] = (KEPT - 1) * p->w[p->order[k]];
    bound_step(n, p->curvature, p->step, least, found, room, part, (unsigned char *)(room + r * r));
    REAL *old = (REAL *)room;
    memcpy(old, p->w, r * sizeof(REAL));
    for (double length = 1; length > 0.05; length *= 0.1) {
        double rise = 0;
        for (ptrdiff_t k = 0; k < n; k++) {
            double before = old[p->order[k]];
            p->w[p->order[k]] = (REAL)(before + length * found[k]);
            rise += p->s[p->order[k]] * (p->w[p->order[k]] - before);
        }
        fit_row(p->length, r, p->H, p->ld, p->w, p->ratio);
        rise -= compare_fits(p->length, p->x, p->ratio, p->fit);
        if (rise <= ROUNDING * size) {
            memcpy(p->fit, p->ratio, p->length * sizeof(REAL));
            return;
        }
    }
    memcpy(p->w, old, r * sizeof(REAL));
}

/* Scalar coordinate descent on the weights from ``first`` on, at most ``sweeps`` times over them: until one moves less
 * than ``tol`` of the fit. This is one step of it: of one weight. Returns whether there is another one.
 *
 * Most weights of counts are as small as they can be, and stay there while g <= s. The others are updated first;
 * then one pass without a division finds the small ones that will grow. As they do, the fit grows and every other g
 * falls, so that this pass overlooks none. Further sweeps leave the small ones alone, unless ``tol`` is to be met. */
INLINE int step_row(row *p, const task *t)
{
    if (p->at == p->count && !p->searched) {
        settle(p);
        p->count = find_growing(p->length, t->first, t->r, p->H, p->ld, p->x, p->fit, p->ratio, p->s, p->w,
                                p->order);
        p->searched = 1;
        p->at = 0;
    }
    if (p->at < p->count) {
        ptrdiff_t k = p->order[p->at++];
        const REAL *h = p->H + k * p->ld;
        double g, q;
        add_and_sum(p->length, p->last, p->change, p->reached, p->fit, h, p->x, &g, &q);
        p->reached = step_weight(p->w[k], g, q, p->s[k]);
        p->change = p->reached - p->w[k];
        p->w[k] = p->reached;
        p->last = h;
        p->moved += p->s[k] * (p->change < 0 ? -p->change : p->change);
        p->size += p->s[k] * p->reached;
        return 1;
    }
    p->sweep++;
    if (p->sweep >= t->sweeps || p->moved < t->tol * p->size) {
        settle(p);
        return 0;
    }
    if (t->tol > 0 && p->sweep >= SWEEPS_BEFORE_NEWTON)
        newton_step(p, t);
    begin_sweep(p, t);
    return 1;
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

/* X, the other factor H and the weights W of a call. Rows are taken in turns, several at a time: a step of a short row
 * waits for the step before it, and meanwhile another row can go on. */
typedef struct {
    ptrdiff_t n, m; /* m of a dense X */
    const REAL *X;
    const int64_t *starts; /* of the rows of a sparse X; NULL if X is dense */
    const int32_t *columns;
    const REAL *H;
    ptrdiff_t ld; /* between columns of H (dense) or its rows (sparse) */
    const double *sums;
    ptrdiff_t stride;
    REAL *W;
    ptrdiff_t apart;
    REAL *ratio;
} rows;

/* Begin with the next row that has an entry. Returns 0 if there is none. */
INLINE int next_row(const rows *all, const task *t, ptrdiff_t *next, row *p)
{
    for (; *next < all->n; ++*next) {
        ptrdiff_t i = *next, start = all->starts ? all->starts[i] : i * all->m;
        ptrdiff_t count = all->starts ? all->starts[i + 1] - start : all->m, seen = 0;
        if (all->starts)
            seen = count;
        else
            for (ptrdiff_t j = 0; j < count; j++)
                seen += all->X[start + j] != 0;
        if (seen == 0 && t->sweeps) { /* an empty row has no weights */
            for (ptrdiff_t k = t->first; k < t->r; k++)
                all->W[k * all->apart + i] = 0;
            continue;
        }
        if (count == 0)
            continue;
        p->index = i;
        p->length = WHOLE(count);
        p->s = all->sums + i * all->stride;
        for (ptrdiff_t k = 0; k < t->r; k++)
            p->w[k] = all->W[k * all->apart + i];
        if (all->starts) {
            p->ld = p->length;
            gather_row(count, p->length, all->ld, all->columns + start, all->X + start, all->H, (REAL *)p->H,
                       (REAL *)p->x);
        } else {
            memcpy((REAL *)p->x, all->X + start, count * sizeof(REAL));
        }
        begin_row(p, t);
        ++*next;
        return 1;
    }
    return 0;
}

/* Write the weights of a row that has had its sweeps. Returns its loss. */
INLINE double end_row(const rows *all, const task *t, const row *p)
{
    ptrdiff_t i = p->index, start = all->starts ? all->starts[i] : i * all->m;
    ptrdiff_t count = all->starts ? all->starts[i + 1] - start : all->m;
    if (all->ratio != NULL)
        for (ptrdiff_t j = 0; j < count; j++)
            all->ratio[start + j] = p->x[j] / p->fit[j];
    for (ptrdiff_t k = t->first; t->sweeps && k < t->r; k++)
        all->W[k * all->apart + i] = p->w[k];
    return row_loss(p->length, p->x, p->fit);
}

INLINE double sweep_rows(const rows *all, const task *t, ptrdiff_t longest)
{
    row flight[ROWS_AT_ONCE];
    const int at_once = longest > SHORT_ROW ? 2 : ROWS_AT_ONCE;
    ptrdiff_t length = WHOLE(longest), width = all->starts ? all->ld : 0, next = 0;
    ptrdiff_t rank = WHOLE(t->r > width ? t->r : width);
    size_t room = LINE_BYTES + ((width + 3) * length + rank) * sizeof(REAL) + rank * sizeof(int32_t);
    if (t->tol > 0)
        room += (2 * t->r + 5) * t->r * sizeof(double); /* of Newton's steps */
    room = (room / LINE_BYTES + 1) * LINE_BYTES;
    char *memory = aligned_alloc(LINE_BYTES, at_once * room);
    if (memory == NULL)
        return NAN;
    for (int f = 0; f < at_once; f++) {
        row *p = flight + f;
        REAL *x = (REAL *)(memory + f * room);
        memset(x, 0, length * sizeof(REAL));
        p->x = x;
        p->fit = x + length;
        p->ratio = p->fit + length;
        p->w = p->ratio + length;
        p->H = all->starts ? p->w + rank : all->H;
        p->ld = all->ld;
        p->step = (double *)(p->w + rank + width * length);
        p->curvature = p->step + 4 * t->r;
        p->order = (int32_t *)(t->tol > 0 ? p->curvature + (2 * t->r + 1) * t->r : p->step);
    }
    double loss = 0;
    ptrdiff_t busy = 0;
    while (busy < at_once && next_row(all, t, &next, flight + busy))
        busy++;
    while (busy > 0)
        for (ptrdiff_t f = 0; f < busy; f++) {
            row *p = flight + f;
            if (t->sweeps && step_row(p, t))
                continue;
            loss += end_row(all, t, p);
            if (!next_row(all, t, &next, p)) {
                row idle = *p;
                *p = flight[--busy];
                flight[busy] = idle;
            }
        }
    free(memory);
    return loss;
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
    const rows all = {n, 0, values, starts, columns, H, width, sums, stride, W, apart, ratio};
    const task t = {r, first, sweeps, tol};
    return sweep_rows(&all, &t, longest);
}

/* The same for contiguous rows of a dense X; columns of H begin on a cache line, ``ld`` numbers apart, and are zero
 * beyond their m numbers. */
MULTIVERSION double NAME(kl_dense)(
    ptrdiff_t n, ptrdiff_t m, ptrdiff_t r, const REAL *X, const REAL *H, ptrdiff_t ld, const double *sums,
    ptrdiff_t stride, REAL *W, ptrdiff_t apart, int sweeps, double tol, REAL *ratio, ptrdiff_t first)
{
    const rows all = {n, m, X, NULL, NULL, H, ld, sums, stride, W, apart, ratio};
    const task t = {r, first, sweeps, tol};
    return sweep_rows(&all, &t, m);
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
#undef task
#undef row
#undef begin_sweep
#undef begin_row
#undef settle
#undef step_row
#undef solve_symmetric
#undef compare_fits
#undef bound_step
#undef newton_step
#undef rows
#undef next_row
#undef end_row
#undef sweep_rows
#undef row_loss
#undef gather_row
#undef transpose
#undef LANES
#undef LINE
#undef WHOLE
#undef INLINE
