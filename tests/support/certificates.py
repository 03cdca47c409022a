"""Certificates made by hand, slowly: right ones of each kind, and damaged ones. It imports nothing of tla."""

import copy

import oracle

#: The kinds, in the order of tests/proofs/main.ml, each with what its lines hold.
ORDER = {
    "coalesce": ("a", "r"),
    "composition": ("by_bounds", "a", "b", "cut"),
    "no composition": ("a", "b", "coordinate"),
    "complement": ("a", "r", "woven", "covered"),
    "right_inverse": ("by_bounds", "a", "pieces"),
    "left_inverse": ("by_bounds", "a", "r", "cut"),
    "logical_divide": ("by_bounds", "a", "b", "r", "woven", "covered", "cut"),
    "logical_product": ("by_bounds", "a", "b", "r", "woven", "cut"),
    "no mode": ("a", "b", "mode"),
}


def line(certificate):
    """A certificate as the extracted checker reads it: integers, each list with its length in front."""
    kind = certificate["of"]
    words = [[*ORDER].index(kind)]
    for name in ORDER[kind]:
        words += _written(certificate[name], name)
    return " ".join(map(str, words))


def _written(x, name=""):
    if isinstance(x, (bool, int)):
        return [int(x)]
    fixed = isinstance(x, tuple)  # a mode or a piece
    return [*([] if fixed else [len(x)]), *(word for y in x for word in _written(y))]


def at(modes, x):
    total = 0
    for n, d in modes[:-1]:
        total, x = total + x % n * d, x // n
    return total + (x * modes[-1][1] if modes else 0)


def cut(f, s, d):
    """The runs of f(0), f(d), ..., each a piece (n, x, t); None where one does not divide what is left."""
    out = []
    while s > 1:
        n = next((n for n in range(2, s) if f(n * d) != n * f(d)), s)
        if s % n:
            return None
        out.append((n, d, f(d)))
        s, d = s // n, d * n
    return out


def composed(a, b):
    """The pieces of a o b, and a coordinate where they do not add up; None for the one that is not there."""
    pieces = [cut(lambda x: at(a, x), s, d) for s, d in b]
    for c in oracle.coordinates(tuple(s for s, _d in b)):
        if at(a, sum(k * d for k, (_s, d) in zip(c, b))) != sum(at(a, k * d) for k, (_s, d) in zip(c, b)):
            return None, list(c)
    if None in pieces or not _add_up(a, [piece for one in pieces for piece in one]):
        return None, None
    return pieces, None


def _add_up(a, pieces):
    """Whether a goes evenly along the pieces together, at every coordinate of theirs."""
    every = oracle.coordinates(tuple(n for n, _x, _t in pieces))
    sums = ([sum(k * piece[i] for k, piece in zip(c, pieces)) for i in (1, 2)] for c in every)
    return all(at(a, x) == t for x, t in sums)


def merged(modes):
    """The modes of one function of every integer: the last stays where it does not go on past the one before."""
    out = [modes[0]]
    for n, d in modes[1:]:
        m, e = out[-1]
        if d == m * e:
            out[-1] = (m * n, e)
        elif m == 1:
            out[-1] = (n, d)
        else:
            out.append((n, d))
    return [m for k, m in enumerate(out) if m[0] > 1 or k == len(out) - 1]


def below_bounds(a, pieces):
    """Whether the pieces do not carry together past any place where a changes its step."""
    p, outer = 1, merged(a)
    for n, _d in outer[:-1]:
        p *= n
        if sum((m - 1) * (x % p) for m, x, _t in pieces) >= p:
            return False
    return True


# ------------------------------------------------------------------------------------------ random ones


def layout(rng, most=3, strides=(-3, -1, 0, 1, 2, 3, 4, 6, 8, 12)):
    return [(rng.choice((1, 2, 2, 3, 4, 6)), rng.choice(strides)) for _ in range(rng.randint(1, most))]


def chain(rng, most=3):
    """Modes in the order of their strides, each stride a multiple of where the one before ends; the gaps, and both
    woven without extents of 1."""
    modes, gaps, woven, period = [], [], [], 1
    for _ in range(rng.randint(1, most)):
        gap, n = rng.choice((1, 1, 2, 3)), rng.choice((2, 3, 4))
        gaps.append((gap, period))
        modes.append((n, period * gap))
        woven += [gaps[-1], modes[-1]]
        period *= gap * n
    last = (rng.choice((1, 2, 5)), period)
    return modes, [*gaps, last], [m for m in (*woven, last) if m[0] > 1], period * last[0]


def coalesced(a):
    out = [a[0]]
    for n, d in a[1:]:
        if n == 1:
            continue
        m, e = out[-1]
        out[-1:] = [(n, d)] if m == 1 else [(m * n, e)] if d == m * e else [(m, e), (n, d)]
    return out


def linear(a, cut):
    pieces = [piece for one in cut for piece in one]
    return below_bounds(a, pieces)


def random_certificate(rng):
    """A right certificate of a kind, at random."""
    while True:
        kind = rng.choice([*ORDER])
        found = MAKERS[kind](rng)
        if found:
            return {"of": kind, **found}


def _coalesce(rng):
    a = layout(rng, 4)
    return {"a": a, "r": coalesced(a)}


def _composition(rng):
    a, b = layout(rng), layout(rng)
    pieces, _witness = composed(a, b)
    return pieces and {"by_bounds": linear(a, pieces), "a": a, "b": b, "cut": pieces}


def _no_composition(rng):
    a, b = layout(rng), layout(rng)
    _pieces, witness = composed(a, b)
    return witness and {"a": a, "b": b, "coordinate": witness}


def _no_mode(rng):
    a, b = layout(rng), layout(rng)
    bad = [k for k, (s, d) in enumerate(b) if not _is_layout(lambda x: at(a, x), s, d)]
    return bad and {"a": a, "b": b, "mode": rng.choice(bad)}


def _is_layout(f, s, d):
    pieces = cut(f, s, d)
    return pieces is not None and all(at([(n, t) for n, _x, t in pieces], i) == f(i * d) for i in range(s))


def _complement(rng):
    modes, gaps, woven, end = chain(rng)
    a = rng.sample(modes, len(modes))
    return {"a": a, "r": gaps, "woven": woven, "covered": rng.choice((0, end, end // 2))}


def _right_inverse(rng):
    order = [rng.choice((2, 3, 4)) for _ in range(rng.randint(1, 4))]
    strides, d = [], 1
    for n in order:
        strides.append(d)
        d *= n
    modes = [(n, d) for n, d in zip(order, strides)]
    a = rng.sample(modes, len(modes))
    places, p = {}, 1
    for n, d in a:
        places[d] = p
        p *= n
    pieces = [(n, places[d], d) for n, d in modes[: rng.randint(1, len(modes))]]
    return {"by_bounds": below_bounds(a, pieces), "a": a, "pieces": pieces}


def _left_inverse(rng):
    modes, _gaps, _woven, _end = chain(rng)
    a = rng.sample(modes, len(modes))
    place, places = 1, {}
    for n, d in a:
        places[d] = place
        place *= n
    r, period, last = [], 1, (1, 0)
    for n, d in modes:
        r.append((d // period, last[1]))
        period, last = d, (n, places[d])
    r.append(last)
    pieces, _witness = composed(r, a)
    return pieces and {"by_bounds": linear(r, pieces), "a": a, "r": r, "cut": pieces}


def _divide(rng):
    modes, gaps, woven, end = chain(rng, 2)
    a, b = layout(rng), rng.sample(modes, len(modes))
    pieces, _witness = composed(a, [*b, *gaps])
    return pieces and {
        "by_bounds": linear(a, pieces),
        "a": a,
        "b": b,
        "r": gaps,
        "woven": woven,
        "covered": end,
        "cut": pieces,
    }


def _product(rng):
    modes, gaps, woven, _end = chain(rng, 2)
    a, b = rng.sample(modes, len(modes)), layout(rng, 2, (1, 2, 3, 4))
    pieces, _witness = composed(gaps, b)
    return pieces and {"by_bounds": linear(gaps, pieces), "a": a, "b": b, "r": gaps, "woven": woven, "cut": pieces}


MAKERS = dict(
    zip(
        ORDER,
        (
            _coalesce,
            _composition,
            _no_composition,
            _complement,
            _right_inverse,
            _left_inverse,
            _divide,
            _product,
            _no_mode,
        ),
    )
)


def damaged(rng, certificate, count=3):
    """The certificate with one integer changed: a stride, an extent, a place, what is claimed to be covered."""
    for _ in range(count):
        bad = copy.deepcopy(certificate)
        name = rng.choice([n for n in ORDER[bad["of"]] if n != "by_bounds"])
        bad[name] = _changed(rng, bad[name])
        if bad != certificate:
            yield bad


def _changed(rng, x):
    if isinstance(x, int):
        return x + rng.choice((-2, -1, 1, 2, 5))
    if not x:
        return x
    k = rng.randrange(len(x))
    return type(x)((*x[:k], _changed(rng, x[k]), *x[k + 1 :]))
