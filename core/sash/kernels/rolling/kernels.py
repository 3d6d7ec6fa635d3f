"""The kernels as text, to be filled in for one shape of partials by :mod:`sash.kernels.codegen.shape`.

They run SBA with chunks as long as a window, n slices: `A` is the ``lcs`` of the last closed chunk, `f` the ``csa`` of
the open one. When a chunk lies whole in the input, the next ``lcs`` is computed in the same loop as the windows,
backward beside forward, from `A` into `B` and then from `B` into `A`. Of a chunk that does not, `R` keeps the rows.
Whatever the batches, the merges are the same, and so are the results, to the bit.

Some functions are for clean values only, and faster for it. They go on until a value spoils them, and the caller goes
on from there with others.

`X`, `Y`, `Z`, `a` and `r` are views of input, output, nulls, `A` and `R`: a loop over a view, or one with unsigned
indices, needs no look at whether an index is negative, which would take half of its time.
"""

from __future__ import annotations

__all__ = ["FULL_WALK", "KERNELS", "MASKED", "WALK"]

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

WALK = """
        while j < last:
            spoilt |= {spoils_b_j}
            f = combine(f, {lift_b_j})
            emit(Y, Z, b + j, combine({load_A_j_one}, f), size)
            k = last - j
            g = combine({lift_b_k}, g)
            {store_B_k}
            j += ONE
"""

# What lower does to a full window, it does to many at once: divisions and roots of a whole vector take little more time
# than one of them.
FULL_WALK = """
        while j < last:
            begin, end = j, min(last, j + BLOCK)
            while j < end:
                f = combine(f, {lift_b_j})
                w = combine({load_A_j_one}, f)
                t = j - begin
                {store_T_t}
                k = last - j
                g = combine({lift_b_k}, g)
                {store_B_k}
                j += ONE
            V = {Y_block}
            for t in range(V[0].shape[0]):
                y = lower({load_T_t}, size)
                {store_V_t}
"""

KERNELS = '''
BLOCK = np.uint64(512)


@njit(nogil=True, error_model="numpy"{cache})
def emit(out, null, o, r, n):
    {emit}


@njit(nogil=True, error_model="numpy"{cache})
def spoils(X):
    """Whether one of the values is none for these functions."""
    spoilt = False
    for k in range({watched}):
        spoilt |= {spoils_k}
    return spoilt


@njit(nogil=True, error_model="numpy"{cache})
def backward(X, n, B):
    """The lcs of one chunk."""
    final = X[0][n - 1]
    g = {lift_last}
    {store_B_last}
    for j in range(n - 2, -1, -1):
        g = combine({lift_j}, g)
        {store_B_j}


@njit(nogil=True, error_model="numpy"{cache})
def both(X, size, count, A, B, R, Y, Z):
    """Forward and backward in one loop, chunk by chunk. How many chunks come before one that is spoilt."""
    n = np.uint64(size)
    last = n - ONE
    b = ZERO
    origin = R[0][size]
    {scratch}
    for c in range(count):
        final = X[0][b + last]
        spoilt = {spoils_b_last}
        f = {lift_b}
        g = {lift_b_last}
        {store_B_ulast}
        emit(Y, Z, b, combine({load_A_one}, f), size)
        j = ONE
        {walk}
        spoilt |= {spoils_b}
        if spoilt:
            return c
        g = combine({lift_back_b}, g)
        {store_B_zero}
        emit(Y, Z, b + last, g, size)
        b += n
        origin = final
        A, B = B, A
    return count


@njit(nogil=True, error_model="numpy"{cache})
def by_value(xs, n, early, state, A, B, C, R, out, null, o):
    """Slide 1: every value is a slice. R has the rows of the open chunk and, behind them, the last one before it."""
    size = xs[0].shape[0]
    q, closed = state[0], state[1]
    if state[2]:
        A, B = B, A
    f = {load_C_0}
    i = 0
    while i < size:
        whole = (size - i) // n if q == 0 and n > 1 and (closed or not early) else 0
        if whole and closed:
            stop = i + whole * n
            done = both({xs_part}, n, whole, A, B, R, {out_part}, null[o : o + stop - i])
            if done % 2:
                A, B = B, A
                state[2] ^= 1
            o += done * n
            i += done * n
            if done:
                R[0][n] = xs[0][i - 1]
            if done < whole:
                break
            continue
        stop = i + n if whole else min(size, i + n - q)
        X = {xs_part}
        if spoils(X):
            break
        if whole:
            backward(X, n, A)
            q = n
        else:
            origin = R[0][n]
            Y = {out_part}
            Z = null[o : o + stop - i]
            a = {A_part}
            r = {R_part}
            for k in range(stop - i):
                p = {lift_k}
                f = combine(f, p) if q else p
                {store_r_k}
                q += 1
                if q < n and (closed or early):
                    emit(Y, Z, k, combine({load_a_k}, f) if closed else f, n)
                    o += 1
            if q == n:
                backward({R_chunk}, n, A)
        i = stop
        if q == n:
            emit(out, null, o, {load_A_0}, n)
            o += 1
            R[0][n] = xs[0][i - 1]
            closed = 1
            q = 0
    state[0], state[1], state[4] = q, closed, i
    {store_C_0}
    return o
'''
