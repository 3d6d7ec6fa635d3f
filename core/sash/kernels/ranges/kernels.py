"""The kernels of slices as text, filled in for one shape of partials by :mod:`sash.kernels.source`.

Each partial has a flag beside it, which is False for the identity: the partial of nothing but nulls. `X` are input
columns, `P` partials, `L` the ``lcs`` of one chunk and `C` the ``csa`` of two: see :mod:`sash.kernels.ranges.partials`.
The kernels of ranges come twice: where no partial is the identity, as usual, those without flags take half the time.

What `lift` and `combine` return is cast to the partial's numbers, so that a whole number that one branch of a user's
function returns where another returns a float is a float too.

Loops run over views, or with unsigned indices: else each access would look whether its index is negative.
"""

from __future__ import annotations

from sash.kernels.rolling.kernels import backward_pass

__all__ = ["ACCUMULATE", "FUNCTIONS", "KEEP", "MERGE", "RANGES", "REDUCE", "SCATTER", "SLIDE", "SUFFIXES"]

FUNCTIONS = """
@part
def lift({names}):
    y = lift_given({given})
    return {cast}


@part
def combine(a, b):
    y = combine_given(a, b)
    return {cast}

"""

REDUCE = '''
@kernel
def reduce(X, starts, P):
    """Segments of rows to partials. Long ones in four parts at a time: none has to wait for the others."""
    for i in range(starts.shape[0] - 1):
        begin, end = starts[i], starts[i + 1]
        x = {inputs X[begin:end]}
        size = end - begin
        part = size // 4
        if part > 1:
            a, b = {inputs x[:part]}, {inputs x[part : 2 * part]}
            c, d = {inputs x[2 * part : 3 * part]}, {inputs x[3 * part : 4 * part]}
            f, g, h, e = {lift a[0]}, {lift b[0]}, {lift c[0]}, {lift d[0]}
            for k in range(1, part):
                f = combine(f, {lift a[k]})
                g = combine(g, {lift b[k]})
                h = combine(h, {lift c[k]})
                e = combine(e, {lift d[k]})
            f = combine(combine(f, g), combine(h, e))
            for k in range(4 * part, size):
                f = combine(f, {lift x[k]})
        else:
            f = {lift x[0]}
            for k in range(1, size):
                f = combine(f, {lift x[k]})
        P[0][i] = True
        {store P[i] = f}


@kernel
def reduce_nulls(X, nulls, starts, P):
    """The same where some rows are null, which are skipped."""
    for i in range(starts.shape[0] - 1):
        begin, end = starts[i], starts[i + 1]
        while begin < end and nulls[begin]:
            begin += 1
        P[0][i] = begin < end
        if begin == end:
            continue
        x = {inputs X[begin:end]}
        null = nulls[begin:end]
        f = {lift x[0]}
        for k in range(1, end - begin):
            if not null[k]:
                f = combine(f, {lift x[k]})
        {store P[i] = f}
'''

SCATTER = '''

@kernel
def scatter{nulls}(X, {null_rows}slots, P):
    """Each row into its slot; null rows are skipped."""
    for k in range(slots.shape[0]):
        {skip}
        s = u64(slots[k])
        f = {lift X[k]}
        if P[0][s]:
            f = combine({load P[s]}, f)
        P[0][s] = True
        {store P[s] = f}
'''

MERGE = '''

@kernel
def merge(A, B, P):
    """Partials of two arrays, one by one."""
    for k in range(P[0].shape[0]):
        f = merged({load A[k]}, {load B[k]})
        {store P[k] = f}
'''

ACCUMULATE = '''

@kernel
def accumulate(P, begins, S):
    """Each partial with all before it, back to the last one that begins a run."""
    f = {load P[0]}
    for k in range(P[0].shape[0]):
        f = {load P[k]} if begins[k] else merged(f, {load P[k]})
        {store S[k] = f}
'''

SUFFIXES = backward_pass("\n@kernel\ndef suffixes(n, P, S):", "{load P[j]}", "{store S[j] = g}", merge="merged")

KEEP = "{store out[o] = r}"
"""What ranges emit where their partials are wanted and not their results."""

RANGES = '''
@part
def emit{real}(out, null, o, r):
    {emit}


@kernel
def fold{real}(P, lo, hi, out, null):
    """Ranges of up to three slices, which have no use for chunks; how many merges they took."""
    merges = 0
    for q in range(lo.shape[0]):
        i = u64(lo[q])
        f = {load P[i]}
        for _ in range(hi[q] - lo[q] - 1):
            i += ONE
            f = {merge}(f, {load P[i]})
            merges += 1
        emit{real}(out, null, q, f)
    return merges


@part
def chunks{real}(P, begin, edge, known, end, mask, L, C):
    """lcs from begin up to the edge of a chunk, csa of the two behind it, on from where it is known.

    Both in one loop, in which neither has to wait for the other.
    """
    j = u64(edge - 1)
    g = {load P[j]}
    {store L[j & mask] = g}
    i = u64(known)
    f = {load C[(i - ONE) & (mask + mask + ONE)]}
    for _ in range(min(edge - 1 - begin, end - known)):
        j -= ONE
        g = {merge}({load P[j]}, g)
        {store L[j & mask] = g}
        f = {load P[i]} if i & mask == ZERO else {merge}(f, {load P[i]})
        {store C[i & (mask + mask + ONE)] = f}
        i += ONE
    for _ in range(edge - 1 - begin, end - known):
        f = {load P[i]} if i & mask == ZERO else {merge}(f, {load P[i]})
        {store C[i & (mask + mask + ONE)] = f}
        i += ONE
    for _ in range(end - known, edge - 1 - begin):
        j -= ONE
        g = {merge}({load P[j]}, g)
        {store L[j & mask] = g}


@kernel
def chunk{real}(P, lo, hi, L, C, out, null):
    """Ranges that begin in one chunk, from lo in its lcs, and go on behind it; how many merges they took.

    C is csa up to P, which are the slices behind; hi says how many of them a range takes in.
    """
    f = {load C[0]}
    i, known = ZERO, 0
    for q in range(lo.shape[0]):
        for _ in range(hi[q] - known):
            f = {merge}(f, {load P[i]})
            i += ONE
        known = hi[q]
        j = u64(lo[q])
        emit{real}(out, null, q, {merge}({load L[j]}, f))
    {store C[0] = f}
    return known + lo.shape[0]


@kernel
def totals{real}(P, lo, hi, level, L, C, out, null):
    """Ranges of one level, in the order of their first chunks; how many merges they took."""
    size = 1 << level
    mask, mask2 = u64(size - 1), u64(2 * size - 1)
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
        whole = u64(edge + size - 1) & mask2
        for k in range(q, stop):
            i = u64(lo[k]) & mask
            f = {load L[i]}
            if hi[k] > edge:
                i = u64(hi[k] - 1) & mask2
                if hi[k] > edge + size:
                    f = {merge}(f, {load C[whole]})
                    merges += 1
                f = {merge}(f, {load C[i]})
                merges += 1
            emit{real}(out, null, k, f)
        q = stop
    return merges
'''

SLIDE = '''

@kernel
def slide{real}(P, lo, hi, mask, L, out, null):
    """Ranges whose bounds never go back, of any size and perhaps empty, by two stacks; how many merges they took.

    L holds what each slice from the last begin up to the edge adds up to with those behind it there; f goes on from
    the edge.
    """
    edge = known = hi[0]
    merges = 0
    f = {load P[0]}
    for q in range(lo.shape[0]):
        begin, end = lo[q], hi[q]
        if begin == end:
            null[q] = True
            continue
        if begin >= edge or q == 0:
            j = u64(end - 1)
            g = {load P[j]}
            {store L[j & mask] = g}
            for _ in range(end - 1 - begin):
                j -= ONE
                g = {merge}({load P[j]}, g)
                {store L[j & mask] = g}
            merges += end - 1 - begin
            edge = known = end
        i = u64(known)
        for _ in range(end - known):
            f = {load P[i]} if i == u64(edge) else {merge}(f, {load P[i]})
            i += ONE
        merges += end - known - (known == edge < end)
        known = end
        i = u64(begin)
        g = {load L[i & mask]}
        if end > edge:
            g = {merge}(g, f)
            merges += 1
        emit{real}(out, null, q, g)
    return merges
'''
