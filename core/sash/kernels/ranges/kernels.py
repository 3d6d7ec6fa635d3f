"""The kernels of slices as text, filled in for one shape of partials by :mod:`sash.kernels.codegen.slicing_source`.

Each partial has a flag beside it, which is False for the identity: the partial of nothing but nulls. `X` are input
columns, `P` partials, `L` the ``lcs`` of one chunk and `C` the ``csa`` of two: see :mod:`sash.kernels.ranges.levels`.
The kernels of ranges come twice: where no partial is the identity, as usual, those without flags take half the time.

Loops run over views, or with unsigned indices: else each access would look whether its index is negative.
"""

from __future__ import annotations

__all__ = ["KERNELS", "RANGES"]

KERNELS = '''
@njit(nogil=True, error_model="numpy"{cache})
def lift({names}):
    y = lift_given({given})
    return {cast}


@njit(nogil=True, error_model="numpy"{cache})
def combine(a, b):
    y = combine_given(a, b)
    return {cast}


@njit(nogil=True, error_model="numpy"{cache})
def merged(a, b):
    if not a[0]:
        return b
    if not b[0]:
        return a
    return (True, combine(a[1], b[1]))


@njit(nogil=True, error_model="numpy"{cache})
def reduce(X, starts, P):
    """Segments of rows to partials. Long ones in four parts at a time: none has to wait for the others."""
    for i in range(starts.shape[0] - 1):
        begin, end = starts[i], starts[i + 1]
        x = {X_segment}
        size = end - begin
        part = size // 4
        if part > 1:
            a, b, c, d = {X_parts}
            f, g, h, e = {lift_a_0}, {lift_b_0}, {lift_c_0}, {lift_d_0}
            for k in range(1, part):
                f = combine(f, {lift_a_k})
                g = combine(g, {lift_b_k})
                h = combine(h, {lift_c_k})
                e = combine(e, {lift_d_k})
            f = combine(combine(f, g), combine(h, e))
            for k in range(4 * part, size):
                f = combine(f, {lift_x_k})
        else:
            f = {lift_x_0}
            for k in range(1, size):
                f = combine(f, {lift_x_k})
        P[0][i] = True
        {store_P_i_f}


@njit(nogil=True, error_model="numpy"{cache})
def reduce_nulls(X, nulls, starts, P):
    """The same where some rows are null, which are skipped."""
    for i in range(starts.shape[0] - 1):
        begin, end = starts[i], starts[i + 1]
        while begin < end and nulls[begin]:
            begin += 1
        P[0][i] = begin < end
        if begin == end:
            continue
        x = {X_segment}
        null = nulls[begin:end]
        f = {lift_x_0}
        for k in range(1, end - begin):
            if not null[k]:
                f = combine(f, {lift_x_k})
        {store_P_i_f}


@njit(nogil=True, error_model="numpy"{cache})
def scatter(X, slots, P):
    """Each row into its slot."""
    for k in range(slots.shape[0]):
        s = np.uint64(slots[k])
        f = {lift_X_k}
        if P[0][s]:
            f = combine({load_P_s}, f)
        P[0][s] = True
        {store_P_s_f}


@njit(nogil=True, error_model="numpy"{cache})
def scatter_nulls(X, nulls, slots, P):
    """The same where some rows are null, which are skipped."""
    for k in range(slots.shape[0]):
        if nulls[k]:
            continue
        s = np.uint64(slots[k])
        f = {lift_X_k}
        if P[0][s]:
            f = combine({load_P_s}, f)
        P[0][s] = True
        {store_P_s_f}


@njit(nogil=True, error_model="numpy"{cache})
def merge(A, B, P):
    """Partials of two arrays, one by one."""
    for k in range(P[0].shape[0]):
        f = merged({pair_A_k}, {pair_B_k})
        {save_P_k_f}
'''

RANGES = '''
@njit(nogil=True, error_model="numpy"{cache})
def emit{real}(out, null, o, r):
    {emit}


@njit(nogil=True, error_model="numpy"{cache})
def fold{real}(P, lo, hi, out, null):
    """Ranges of up to three slices, which have no use for chunks; how many merges they took."""
    merges = 0
    for q in range(lo.shape[0]):
        i = np.uint64(lo[q])
        f = {pair_P_i}
        for _ in range(hi[q] - lo[q] - 1):
            i += ONE
            f = {merge}(f, {pair_P_i})
            merges += 1
        emit{real}(out, null, q, f)
    return merges


@njit(nogil=True, error_model="numpy"{cache})
def chunks{real}(P, begin, edge, known, end, mask, L, C):
    """lcs from begin up to the edge of a chunk, csa of the two behind it, on from where it is known.

    Both in one loop, in which neither has to wait for the other.
    """
    j = np.uint64(edge - 1)
    g = {pair_P_j}
    {save_L_j_g}
    i = np.uint64(known)
    f = {pair_C_before}
    for _ in range(min(edge - 1 - begin, end - known)):
        j -= ONE
        g = {merge}({pair_P_j}, g)
        {save_L_j_g}
        f = {pair_P_i} if i & mask == ZERO else {merge}(f, {pair_P_i})
        {save_C_i_f}
        i += ONE
    for _ in range(edge - 1 - begin, end - known):
        f = {pair_P_i} if i & mask == ZERO else {merge}(f, {pair_P_i})
        {save_C_i_f}
        i += ONE
    for _ in range(end - known, edge - 1 - begin):
        j -= ONE
        g = {merge}({pair_P_j}, g)
        {save_L_j_g}


@njit(nogil=True, error_model="numpy"{cache})
def totals{real}(P, lo, hi, level, L, C, out, null):
    """Ranges of one level, in the order of their first chunks; how many merges they took."""
    size = 1 << level
    mask, mask2 = np.uint64(size - 1), np.uint64(2 * size - 1)
    merges = known = q = 0
    while q < lo.shape[0]:
        chunk = lo[q] >> level
        edge = (chunk + 1) << level
        begin, end = lo[q], hi[q]
        stop = q + 1
        while stop < lo.shape[0] and lo[stop] >> level == chunk:
            begin, end = min(begin, lo[stop]), max(end, hi[stop])
            stop += 1
        known = max(known, edge)
        end = max(known, end)
        chunks{real}(P, begin, edge, known, end, mask, L, C)
        begun = ((end + size - 1) >> level) - ((known + size - 1) >> level)
        merges += edge - 1 - begin + end - known - begun
        known = end
        whole = np.uint64(edge + size - 1) & mask2
        for k in range(q, stop):
            i = np.uint64(lo[k]) & mask
            f = {pair_L_i}
            if hi[k] > edge:
                i = np.uint64(hi[k] - 1) & mask2
                if hi[k] > edge + size:
                    f = {merge}(f, {pair_C_whole})
                    merges += 1
                f = {merge}(f, {pair_C_i})
                merges += 1
            emit{real}(out, null, k, f)
        q = stop
    return merges
'''
