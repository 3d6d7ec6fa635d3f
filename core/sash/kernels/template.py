"""The kernels as text, to be filled in for one shape of partials by :mod:`sash.kernels.source`.

They run SBA with chunks as long as a window, n slices: `A` is the ``lcs`` of the last closed chunk, `B` the slices
(``saa``) of the open one, `f` its ``csa`` and `w` the begun slice. When a chunk lies whole in the input, the next
``lcs`` is computed in the same loop as the windows, backward beside forward, and without a detour over its slices.
Whatever the batches, the merges are the same, and so are the results, to the bit.

`X`, `Y`, `Z`, `a` and `b` are views of input, output, nulls, `A` and `B`: a loop over a view, or one with unsigned
indices, needs no look at whether an index is negative, which would take half of its time.
"""

from __future__ import annotations

__all__ = ["KERNELS", "MASKED"]

MASKED = """
@njit(nogil=True, error_model="numpy"{cache})
def lift({names}, null):
    return (not null, lift_real({names}))


@njit(nogil=True, error_model="numpy"{cache})
def combine(a, b):
    if not a[0]:
        return b
    if not b[0]:
        return a
    return (True, combine_real(a[1], b[1]))
"""

KERNELS = '''
@njit(nogil=True, error_model="numpy"{cache})
def emit(out, null, o, r):
    {emit}


@njit(nogil=True, error_model="numpy"{cache})
def backward(X, n, B):
    """The lcs of a chunk that lies in the input, alone: where a second thread begins."""
    g = {lift_last}
    {store_B_last}
    for j in range(n - 2, -1, -1):
        g = combine({lift_j}, g)
        {store_B_j}


@njit(nogil=True, error_model="numpy"{cache})
def both(X, size, count, A, B, Y, Z):
    """Forward and backward in one loop, chunk by chunk."""
    n = np.uint64(size)
    last = n - ONE
    b = ZERO
    for c in range(count):
        f = {lift_b}
        g = {lift_b_last}
        {store_B_ulast}
        emit(Y, Z, b, combine({load_A_one}, f))
        j = ONE
        while j < last:
            f = combine(f, {lift_b_j})
            emit(Y, Z, b + j, combine({load_A_j_one}, f))
            k = last - j
            g = combine({lift_b_k}, g)
            {store_B_k}
            j += ONE
        emit(Y, Z, b + last, combine(f, {lift_b_last}))
        g = combine({lift_b}, g)
        {store_B_zero}
        b += n
        A, B = B, A


@njit(nogil=True, error_model="numpy"{cache})
def close(n, B):
    """lcs in place of saa."""
    g = {load_B_last}
    for j in range(n - 2, -1, -1):
        g = combine({load_B_j}, g)
        {store_B_j}


@njit(nogil=True, error_model="numpy"{cache})
def by_value(xs, n, early, state, A, B, C, out, null, o):
    """Slide 1: every value is a slice."""
    size = xs[0].shape[0]
    q, closed = state[0], state[1]
    if state[2]:
        A, B = B, A
    f = {load_C_0}
    i = 0
    while i < size:
        if q == 0 and not closed and not early and n > 1 and size - i >= n:
            stop = i + n
            X = {xs_part}
            f = {lift_0}
            for k in range(1, n):
                f = combine(f, {lift_k})
            emit(out, null, o, f)
            o += 1
            backward(X, n, B)
            A, B = B, A
            state[2] ^= 1
            closed = 1
            i = stop
            continue
        whole = (size - i) // n if q == 0 and closed and n > 1 else 0
        stop = i + whole * n if whole else min(size, i + n - q)
        X = {xs_part}
        Y = {out_part}
        Z = null[o : o + stop - i]
        if whole:
            both(X, n, whole, A, B, Y, Z)
            o += whole * n
            if whole % 2:
                A, B = B, A
                state[2] ^= 1
        else:
            a = {A_part}
            b = {B_part}
            for k in range(stop - i):
                p = {lift_k}
                f = combine(f, p) if q else p
                {store_b_k}
                q += 1
                if closed:
                    emit(Y, Z, k, combine({load_a_k}, f) if q < n else f)
                    o += 1
                elif early:
                    emit(Y, Z, k, f)
                    o += 1
                elif q == n:
                    emit(Y, Z, 0, f)
                    o += 1
            if q == n:
                close(n, B)
                A, B = B, A
                state[2] ^= 1
                closed = 1
                q = 0
        i = stop
    state[0], state[1] = q, closed
    {store_C_0}
    return o


@njit(nogil=True, error_model="numpy"{cache})
def by_slice(xs, n, s, m, early, state, A, B, C, out, null, o):
    """Any slide: s values are folded to a slice first; m is what the range has beyond n slices."""
    size = xs[0].shape[0]
    q, closed, filled = state[0], state[1], state[3]
    if state[2]:
        A, B = B, A
    f = {load_C_0}
    w = {load_C_1}
    i = 0
    while i < size:
        slices = 1
        if m == 0 and filled == 0 and size - i >= 2 * s:
            slices = 2
            X = {xs_slice}
            V = {xs_next_slice}
            w = {lift_0}
            v = {lift_V_0}
            for k in range(1, s):  # two slices at a time: neither has to wait for the other
                w = combine(w, {lift_k})
                v = combine(v, {lift_V_k})
            i += 2 * s
            filled = s
        else:
            stop = min(size, i + (m if filled < m else s) - filled)
            X = {xs_part}
            begin = 0
            if not filled:
                w = {lift_0}
                begin = 1
            for k in range(begin, stop - i):
                w = combine(w, {lift_k})
            filled += stop - i
            i = stop
            v = w
        if filled == m and (closed or early):
            r = combine(f, w) if q else w
            if closed:
                r = combine({load_A_q}, r)
            emit(out, null, o, r)
            o += 1
        if filled < s:
            continue
        filled = 0
        for half in range(slices):
            if half:
                w = v
            f = combine(f, w) if q else w
            {store_B_qw}
            q += 1
            if m == 0:
                if closed:
                    emit(out, null, o, combine({load_A_q}, f) if q < n else f)
                    o += 1
                elif early or q == n:
                    emit(out, null, o, f)
                    o += 1
            if q == n:
                close(n, B)
                A, B = B, A
                state[2] ^= 1
                closed = 1
                q = 0
    state[0], state[1], state[3] = q, closed, filled
    {store_C_0}
    {store_C_1w}
    return o


@njit(nogil=True, error_model="numpy"{cache})
def by_group(xs, starts, r, s, early, A, B, C, out, null, ends):
    """One group after the other, group g being rows starts[g] … starts[g + 1] - 1."""
    n, m = r // s, r % s
    first = (m if m else s) if early else r
    state = np.zeros(4, np.int64)
    o = 0
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        if end - begin < first:
            continue
        state[:] = 0
        before = o
        if s == 1:
            o = by_value({xs_begin_end}, n, early, state, A, B, C, out, null, o)
        else:
            o = by_slice({xs_begin_end}, n, s, m, early, state, A, B, C, out, null, o)
        for k in range(before, o):
            ends[k] = begin + first - 1 + (k - before) * s
    return o
'''
