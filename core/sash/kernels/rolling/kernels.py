"""The kernels as text, to be filled in for one shape of partials by :mod:`sash.kernels.source`.

They run SBA with chunks as long as a window, n slices: `A` is the ``lcs`` of the last closed chunk, `f` the ``csa`` of
the open one. When a chunk lies whole in the input, the next ``lcs`` is computed in the same loop as the windows,
backward beside forward, from `A` into `B` and then from `B` into `A`. Of a chunk that does not, `R` keeps the rows.
Whatever the batches, the merges are the same, and so are the results, to the bit.

A loop of one chunk waits for its own additions, and for memory. Where partials are floats, two chunks go side by side
(:data:`PAIRS`), and what they need next is prefetched.

Some functions are for clean values only, and faster for it. They go on until a value spoils them, and the caller goes
on from there with others.

`X`, `Y`, `Z`, `a` and `r` are views of input, output, nulls, `A` and `R`: a loop over a view, or one with unsigned
indices, needs no look at whether an index is negative, which would take half of its time.
"""

from __future__ import annotations

__all__ = ["BY_VALUE", "FULL_WALK", "LIFT", "LIFT_FLAGGED", "PAIRED", "PAIRS", "PAIRS_FIRST", "WALK", "backward_pass"]


def backward_pass(head: str, slice_: str, store: str = "pass", context: str = "", merge: str = "combine") -> str:
    """The text of a function that computes the ``lcs`` of the n slices of a chunk.

    ``slice_`` is the partial at j, or what stands for it, ``store`` puts the suffix g there, and ``context`` is what
    ``merge`` takes beside two partials.
    """
    return f"""
{head}
    j = n - 1
    g = {slice_}
    {store}
    for j in range(n - 2, -1, -1):
        g = {merge}({context}{slice_}, g)
        {store}

"""


LIFT = """
@part
def lift({names}):
    return lift_given({given})

"""

LIFT_FLAGGED = """
@part
def lift({names}, null):
    return (not null, lift_given({given}))

"""

WALK = """
        while j < last:
            spoilt |= {spoils X[b + j]}
            f = combine(f, {lift X[b + j] from origin})
            emit(Y, Z, b + j, combine({load A[j + ONE]}, f), size)
            k = last - j
            g = combine({lift X[b + k] from final}, g)
            {store B[k] = g}
            j += ONE
"""

# What lower does to a full window, it does to many at once: divisions and roots of a whole vector take little more time
# than one of them.
FULL_WALK = """
        while j < last:
            begin, end = j, min(last, j + BLOCK)
            while j < end:
                f = combine(f, {lift X[b + j] from origin})
                w = combine({load A[j + ONE]}, f)
                t = j - begin
                {store T[t] = w}
                k = last - j
                g = combine({lift X[b + k] from final}, g)
                {store B[k] = g}
                j += ONE
            V = {results Y[b + begin : b + end]}
            for t in range(V[0].shape[0]):
                y = lower({load T[t]}, size)
                {put V[t] = y}
"""

PAIRED = 32, 8192
"""The smallest and the largest chunk of which two are run side by side: larger ones leave no room in the cache."""

# A is the lcs of the chunk before these two and, behind it, that of the first of them; B will be those of the second
# and of the chunk behind it. Windows are put where their results will be, and lowered many at once.
PAIRS = """
NEAR = u64(1024)


@part
def pairs(X, size, count, A, B, R, Y, Z):
    \"""Two chunks at a time, as :func:`both` has each. How many chunks it has done, none that is spoilt.\"""
    n = u64(size)
    last = n - ONE
    done, b = 0, ZERO
    origin = R[0][size]
    backward({inputs X[:n]}, size, {partials A[n:]})
    while done + 3 <= count:
        c = b + n
        d = c + n
        middle, final = X[0][b + last], X[0][c + last]
        beyond = X[0][d + last]
        spoilt = {spoils X[b + last]}
        spoilt |= {spoils X[c + last]}
        f = {lift X[b] from origin}
        e = {lift X[c] from middle}
        g = {lift X[c + last] from final}
        h = {lift X[d + last] from beyond}
        {store B[last] = g}
        {store B[n + last] = h}
        w = combine({load A[ONE]}, f)
        {store Y[b] = w}
        w = combine({load A[n + ONE]}, e)
        {store Y[c] = w}
        j = ONE
        while j < last:
            f = combine(f, {lift X[b + j] from origin})
            w = combine({load A[j + ONE]}, f)
            {store Y[b + j] = w}
            e = combine(e, {lift X[c + j] from middle})
            w = combine({load A[n + j + ONE]}, e)
            {store Y[c + j] = w}
            spoilt |= {spoils X[b + j]}
            spoilt |= {spoils X[c + j]}
            k = last - j
            g = combine({lift X[c + k] from final}, g)
            {store B[k] = g}
            h = combine({lift X[d + k] from beyond}, h)
            {store B[n + k] = h}
            ahead = d + n + NEAR + j + j
            prefetch(X[0], ahead)
            prefetch(Y[0], ahead)
            j += ONE
        spoilt |= {spoils X[b]}
        spoilt |= {spoils X[c]}
        if spoilt:
            break
        g = combine({lift X[c] from final}, g)
        {store B[ZERO] = g}
        h = combine({lift X[d] from beyond}, h)
        {store B[n] = h}
        w = {load A[n]}
        {store Y[b + last] = w}
        {store Y[c + last] = g}
        V = {results Y[b:d]}
        for t in range(V[0].shape[0]):
            emit(V, Z, t, {load V[t]}, size)
        b, done, origin = d, done + 2, final
        A, B = B, A
    return done

"""

PAIRS_FIRST = """
            if whole > 3 and FEWEST <= n <= MOST:
                done = pairs({inputs xs[i:]}, n, whole, A, B, R, {results out[o:]}, null[o:])
                if done % 4:
                    A, B = B, A
                    state[2] ^= 1
                o += done * n
                i += done * n
                whole -= done
                if done:
                    R[0][n] = xs[0][i - 1]
"""

_BACKWARD = '@kernel\ndef backward(X, n, B):\n    """The lcs of one chunk."""\n    final = X[0][n - 1]'

BY_VALUE = (
    backward_pass(_BACKWARD, "{lift X[j] from final}", "{store B[j] = g}")
    + '''
BLOCK = u64(512)


@part
def emit(out, null, o, r, n):
    {emit}


@kernel
def spoils(X):
    """Whether one of the values is none for these functions."""
    spoilt = False
    for k in range({watched}):
        spoilt |= {spoils X[k]}
    return spoilt


@part
def both(X, size, count, A, B, R, Y, Z):
    """Forward and backward in one loop, chunk by chunk. How many chunks come before one that is spoilt."""
    n = u64(size)
    last = n - ONE
    b = ZERO
    origin = R[0][size]
    {block}
    for c in range(count):
        final = X[0][b + last]
        spoilt = {spoils X[b + last]}
        f = {lift X[b] from origin}
        g = {lift X[b + last] from final}
        {store B[last] = g}
        emit(Y, Z, b, combine({load A[ONE]}, f), size)
        j = ONE
        {walk}
        spoilt |= {spoils X[b]}
        if spoilt:
            return c
        g = combine({lift X[b] from final}, g)
        {store B[ZERO] = g}
        emit(Y, Z, b + last, g, size)
        b += n
        origin = final
        A, B = B, A
    return count


{pairs}
@kernel
def by_value(xs, n, early, state, A, B, C, R, out, null, o):
    """Slide 1: every value is a slice. R has the rows of the open chunk and, behind them, the last one before it."""
    size = xs[0].shape[0]
    q, closed = state[0], state[1]
    if state[2]:
        A, B = B, A
    f = {load C[0]}
    i = 0
    while i < size:
        whole = (size - i) // n if q == 0 and n > 1 and (closed or not early) else 0
        if whole and closed:
            stop = i + whole * n
            {pairs_first}
            done = both({inputs xs[i:stop]}, n, whole, A, B, R, {results out[o : o + stop - i]}, null[o : o + stop - i])
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
        X = {inputs xs[i:stop]}
        if spoils(X):
            break
        if whole:
            backward(X, n, A)
            q = n
        else:
            origin = R[0][n]
            Y = {results out[o : o + stop - i]}
            Z = null[o : o + stop - i]
            a = {partials A[q + 1 :]}
            r = {inputs R[q:]}
            for k in range(stop - i):
                p = {lift X[k] from origin}
                f = combine(f, p) if q else p
                {copy_inputs r[k] = X[k]}
                q += 1
                if q < n and (closed or early):
                    emit(Y, Z, k, combine({load a[k]}, f) if closed else f, n)
                    o += 1
            if q == n:
                backward({inputs R[:n]}, n, A)
        i = stop
        if q == n:
            emit(out, null, o, {load A[0]}, n)
            o += 1
            R[0][n] = xs[0][i - 1]
            closed = 1
            q = 0
    state[0], state[1], state[4] = q, closed, i
    {store C[0] = f}
    return o
'''
)
