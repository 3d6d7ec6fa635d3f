"""More kernels as text, from those in :mod:`sash.kernels.rolling.kernels`: slides above 1, and many groups of rows."""

from __future__ import annotations

__all__ = ["AS_ONE", "GROUPS", "SLICES"]

SLICES = '''
@njit(nogil=True, error_model="numpy"{cache})
def fold(X, size, part, count, W, P):
    """Slices, one after the other, and the first part of each. Whether one is spoilt."""
    s, m = np.uint64(size), np.uint64(part)
    b = ZERO
    spoilt = False
    for c in range(count):
        w = {lift_b}
        spoilt |= {spoils_b}
        middle, end = b + m, b + s
        b += ONE
        while b < middle:
            w = combine(w, {lift_b})
            spoilt |= {spoils_b}
            b += ONE
        {store_P_c}
        while b < end:
            w = combine(w, {lift_b})
            spoilt |= {spoils_b}
            b += ONE
        {store_W_c}
    return spoilt


@njit(nogil=True, error_model="numpy"{cache})
def close(n, B):
    """lcs in place of saa."""
    g = {load_B_last}
    for j in range(n - 2, -1, -1):
        g = combine({load_B_j}, g)
        {store_B_j}


@njit(nogil=True, error_model="numpy"{cache})
def by_slice(xs, n, s, m, early, state, A, B, C, out, null, o):
    """Any slide: s values are folded to a slice first; m is what the range has beyond n slices. B is saa, then lcs."""
    size = xs[0].shape[0]
    q, closed, filled = state[0], state[1], state[3]
    if state[2]:
        A, B = B, A
    f = {load_C_0}
    w = {load_C_1}
    P = {P_room}
    i = 0
    while i < size:
        count = min((size - i) // s, n - q, max(1, 4096 // s)) if filled == 0 else 0
        if count:
            stop = i + count * s
            W = {B_part}
            if fold({xs_part}, s, m, count, W, P):
                break
            a = {A_at}
            for k in range(count):
                if m and (closed or early):
                    w = {load_P_k}
                    p = combine(f, w) if q else w
                    emit(out, null, o, combine({load_a_k}, p) if closed else p, n)
                    o += 1
                w = {load_W_k}
                f = combine(f, w) if q else w
                q += 1
                if m == 0 and (closed or early or q == n):
                    emit(out, null, o, combine({load_A_q}, f) if closed and q < n else f, n)
                    o += 1
            i = stop
        else:
            stop = min(size, i + (m if filled < m else s) - filled)
            X = {xs_part}
            if spoils(X):
                break
            begin = 0
            if not filled:
                w = {lift_0}
                begin = 1
            for k in range(begin, stop - i):
                w = combine(w, {lift_k})
            filled += stop - i
            i = stop
            if filled == m and (closed or early):
                p = combine(f, w) if q else w
                emit(out, null, o, combine({load_A_q}, p) if closed else p, n)
                o += 1
            if filled < s:
                continue
            filled = 0
            f = combine(f, w) if q else w
            {store_B_qw}
            q += 1
            if m == 0 and (closed or early or q == n):
                emit(out, null, o, combine({load_A_q}, f) if closed and q < n else f, n)
                o += 1
        if q == n:
            close(n, B)
            A, B = B, A
            state[2] ^= 1
            closed = 1
            q = 0
    state[0], state[1], state[3], state[4] = q, closed, filled, i
    {store_C_0}
    {store_C_1w}
    return o
'''

GROUPS = '''
@njit(nogil=True, error_model="numpy"{cache})
def groups_{by}(xs, starts, at, r, s, early, A, B, C, R, out, null, ends, o):
    """One group after the other, group g being rows starts[g] … starts[g + 1] - 1. Which is spoilt; results so far."""
    n, m = r // s, r % s
    first = (m if m else s) if early else r
    state = np.zeros(5, np.int64)
    for g in range(at, starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        if end - begin < first:
            continue
        state[:] = 0
        before = o
        o = {call}
        if state[4] < end - begin:
            return g, before
        for k in range(before, o):
            ends[k] = begin + first - 1 + (k - before) * s
    return starts.shape[0] - 1, o
'''

AS_ONE = '''
@njit(nogil=True, error_model="numpy"{cache})
def groups_as_one(xs, starts, g, i, n, state, A, B, C, R, found, absent, out, null, ends, o):
    """Slide 1: all rows as one column, and of its windows those that lie in one group. Where it is spoilt."""
    size = xs[0].shape[0]
    while i < size:
        stop = min(size, i + found[0].shape[0] // n * n - state[0])
        absent[:] = False
        count = by_value({xs_part}, n, False, state, A, B, C, R, found, absent, 0)
        spoilt = state[4] < stop - i
        i += state[4]
        row = i - count  # in which the first of these windows ends
        while g < starts.shape[0] - 1 and starts[g] < i:
            begin = max(row, starts[g] + n - 1)
            many = max(0, min(i, starts[g + 1]) - begin)
            Y = {out_many}
            F = {found_many}
            E = ends[o : o + many]
            for k in range(many):
                {store_Y_k}
                E[k] = begin + k
            if null.shape[0]:
                null[o : o + many] = absent[begin - row : begin - row + many]
            o += many
            if starts[g + 1] > i:
                break
            g += 1
        if spoilt:
            break
    return g, i, o
'''
