"""Kernels as text, built on those of :mod:`sash.kernels.rolling.kernels`: slides above 1, and many groups of rows."""

from __future__ import annotations

from sash.kernels.rolling.kernels import backward_pass

__all__ = ["AS_ONE", "BY_SLICE", "GROUPS"]

_CLOSE = '@part\ndef close(n, B):\n    """lcs in place of saa."""'

BY_SLICE = (
    backward_pass(_CLOSE, "{load B[j]}", "{store B[j] = g}")
    + '''
@part
def fold(X, size, part, count, W, P):
    """Slices, one after the other, and the first part of each. Whether one is spoilt."""
    s, m = u64(size), u64(part)
    b = ZERO
    spoilt = False
    for c in range(count):
        w = {lift X[b] from origin}
        spoilt |= {spoils X[b]}
        middle, end = b + m, b + s
        b += ONE
        while b < middle:
            w = combine(w, {lift X[b] from origin})
            spoilt |= {spoils X[b]}
            b += ONE
        {store P[c] = w}
        while b < end:
            w = combine(w, {lift X[b] from origin})
            spoilt |= {spoils X[b]}
            b += ONE
        {store W[c] = w}
    return spoilt


@kernel
def by_slice(xs, n, s, m, early, state, A, B, C, out, null, o):
    """Any slide: s values are folded to a slice first; m is what the range has beyond n slices. B is saa, then lcs."""
    size = xs[0].shape[0]
    q, closed, filled = state[0], state[1], state[3]
    if state[2]:
        A, B = B, A
    f = {load C[0]}
    w = {load C[1]}
    P = {empty B[4096]}
    i = 0
    while i < size:
        count = min((size - i) // s, n - q, max(1, 4096 // s)) if filled == 0 else 0
        if count:
            stop = i + count * s
            W = {partials B[q:]}
            if fold({inputs xs[i:stop]}, s, m, count, W, P):
                break
            a = {partials A[q:]}
            for k in range(count):
                if m and (closed or early):
                    w = {load P[k]}
                    p = combine(f, w) if q else w
                    emit(out, null, o, combine({load a[k]}, p) if closed else p, n)
                    o += 1
                w = {load W[k]}
                f = combine(f, w) if q else w
                q += 1
                if m == 0 and (closed or early or q == n):
                    emit(out, null, o, combine({load A[q]}, f) if closed and q < n else f, n)
                    o += 1
            i = stop
        else:
            stop = min(size, i + (m if filled < m else s) - filled)
            X = {inputs xs[i:stop]}
            if spoils(X):
                break
            begin = 0
            if not filled:
                w = {lift X[0] from origin}
                begin = 1
            for k in range(begin, stop - i):
                w = combine(w, {lift X[k] from origin})
            filled += stop - i
            i = stop
            if filled == m and (closed or early):
                p = combine(f, w) if q else w
                emit(out, null, o, combine({load A[q]}, p) if closed else p, n)
                o += 1
            if filled < s:
                continue
            filled = 0
            f = combine(f, w) if q else w
            {store B[q] = w}
            q += 1
            if m == 0 and (closed or early or q == n):
                emit(out, null, o, combine({load A[q]}, f) if closed and q < n else f, n)
                o += 1
        if q == n:
            close(n, B)
            A, B = B, A
            state[2] ^= 1
            closed = 1
            q = 0
    state[0], state[1], state[3], state[4] = q, closed, filled, i
    {store C[0] = f}
    {store C[1] = w}
    return o
'''
)

GROUPS = '''
@kernel
def groups_{by}(xs, starts, at, r, s, early, A, B, C, R, out, null, ends, o):
    """One group after the other, group g being rows starts[g] … starts[g + 1] - 1. Which is spoilt; results so far."""
    n, m = r // s, r % s
    first = (m if m else s) if early else r
    state = np.zeros(5, np.int64)
    for g in range(at, starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        if end - begin < first:
            continue
        for k in range(state.shape[0]):
            state[k] = 0
        before = o
        o = {call}
        if state[4] < end - begin:
            return g, before
        if ends.shape[0]:
            for k in range(before, o):
                ends[k] = begin + first - 1 + (k - before) * s
    return starts.shape[0] - 1, o
'''

AS_ONE = '''
@kernel
def groups_as_one(xs, starts, g, i, n, state, A, B, C, R, found, absent, out, null, ends, o):
    """Slide 1: all rows as one column, and of its windows those that lie in one group. Where it is spoilt."""
    size = xs[0].shape[0]
    while i < size:
        stop = min(size, i + found[0].shape[0] // n * n - state[0])
        for k in range(absent.shape[0]):
            absent[k] = False
        count = by_value({inputs xs[i:stop]}, n, False, state, A, B, C, R, found, absent, 0)
        spoilt = state[4] < stop - i
        i += state[4]
        row = i - count  # in which the first of these windows ends
        while g < starts.shape[0] - 1 and starts[g] < i:
            begin = max(row, starts[g] + n - 1)
            many = max(0, min(i, starts[g + 1]) - begin)
            Y = {results out[o : o + many]}
            F = {results found[begin - row :]}
            for k in range(many):
                {copy_results Y[k] = F[k]}
            if ends.shape[0]:
                E = ends[o : o + many]
                for k in range(many):
                    E[k] = begin + k
            if null.shape[0]:
                for k in range(many):
                    null[o + k] = absent[begin - row + k]
            o += many
            if starts[g + 1] > i:
                break
            g += 1
        if spoilt:
            break
    return g, i, o
'''
