import itertools
import pickle
import random
import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tla import LeafTypeError, LoweringError, ParseError, RangeError, RankError, TlaError, size, xla
from tla.core.basis import as_coordinate
from tla.xla import Axis, DimSharding, Iota, Mesh, MeshSharding, ShardGroup, Sharding, TupleSharding, parse_sharding
from tla.xla.shardings.sharding import shown_sharding

from night import amount, some
from truth import rows

TRUTH = rows("xla/sharding.json")


# ------------------------------------------------------------------------------------------------------- truth


def test_the_slices_of_every_truth_row():
    for row in TRUTH:
        bounds = parse_sharding(row["annotation"]).slices(row["dims"], row["num_devices"])
        assert {str(d): [*map(list, b)] for d, b in bounds.items()} == row["bounds"], row["annotation"]
        assert [*bounds] == sorted(bounds)
    assert len(TRUTH) == 106


def test_the_canonical_text_and_the_older_form_of_every_truth_row():
    older = 0
    for row in TRUTH:
        sharding = parse_sharding(row["annotation"])
        assert str(sharding) == row.get("canonical", row["annotation"])
        assert parse_sharding(str(sharding)) == sharding
        if "v2" in row:
            assert str(sharding.tiled()) == row["v2"]
            older += 1
        if "tile_shape" in row and sharding.tiled().kind == "tiled":
            assert sharding.tiled().pieces(row["dims"]) == row["tile_shape"]
    assert older == 15


def test_devices_of_and_the_layouts_agree_with_every_truth_row():
    mapped = 0
    for row in TRUTH:
        sharding, dims, count = parse_sharding(row["annotation"]), row["dims"], row["num_devices"]
        slices = sharding.slices(dims, count)
        for index in itertools.product(*({0, n // 2, n - 1} for n in dims)):
            assert sharding.devices_of(index, dims, count) == holders(slices, index)
        mapped += layouts_agree(sharding, slices, dims, count)
    assert mapped == 100  # all but five lists of devices, and a maximal one


# ------------------------------------------------------------------------------------------------------ oracles


def holders(slices, index):
    return tuple(sorted(d for d, bounds in slices.items() if all(lo <= i < hi for i, (lo, hi) in zip(index, bounds))))


def coordinate(value, rank):
    """A value of a layout as a tuple of `rank` integers."""
    value = as_coordinate(value)
    value = tuple(map(int, value)) if isinstance(value, tuple) else (int(value),)
    assert not any(value[rank:])
    return (value + (0,) * rank)[:rank]


def layouts_agree(sharding, slices, dims, count):
    """Whether there are layouts; where there are, they must give the slices."""
    try:
        origins, tiles = sharding.origin_layout(dims, count), sharding.tile_layout(count)
    except LoweringError:
        return False
    assert size(origins) == size(tiles) == count == len(slices)
    pieces = sharding.tiled(len(dims)).pieces(dims) or dims
    for device, bounds in slices.items():
        origin, tile = coordinate(origins(device), len(dims)), coordinate(tiles(device), len(dims))
        assert tuple(min(o, n) for o, n in zip(origin, dims)) == tuple(lo for lo, _ in bounds)
        assert origin == tuple(t * c for t, c in zip(tile, pieces))
    return True


def brute_slices(array, dims):
    """The slice of each device of an array of device numbers; dimensions of the array past those of
    `dims` are members."""
    out = {}
    for place, device in np.ndenumerate(array):
        steps = [-(-n // m) for n, m in zip(dims, array.shape)]
        out[int(device)] = tuple((min(k * c, n), min((k + 1) * c, n)) for k, c, n in zip(place, steps, dims))
    return out


def factors(rng, n, parts):
    """n as a product of `parts` factors."""
    out = [1] * parts
    for p in (2, 3, 5, 7):
        while n % p == 0:
            out[rng.randrange(parts)] *= p
            n //= p
    return out


def random_tiled(rng):
    """The text of a V1 or V2 annotation, its array of devices, and how many of the tile dimensions are the array's."""
    count = rng.choice([2, 4, 6, 8, 12, 16, 24, 36, 64])
    rank, groups = rng.randint(0, 3), rng.randint(0, 3)
    if rank + groups == 0:
        rank = 1
    tiles = factors(rng, count, rank + groups)
    extents = factors(rng, count, rng.randint(1, 4))
    order = rng.sample(range(len(extents)), len(extents))
    array = np.arange(count).reshape(extents).transpose(order).reshape(tiles)
    text = f"<=[{','.join(map(str, extents))}]" + (f"T({','.join(map(str, order))})" if len(extents) > 1 else "")
    if rng.random() < 0.3:
        array = rng.sample(range(count), count)
        text, array = ",".join(map(str, array)), np.array(array).reshape(tiles)
    kinds = [rng.choice(["replicated", "manual", "unreduced"]) for _ in range(groups)]
    words = f" last_tile_dims={{{', '.join(kinds)}}}" if kinds else ""
    if kinds == ["replicated"] and rng.random() < 0.5:
        words = " last_tile_dim_replicate"
    return f"{{devices=[{','.join(map(str, tiles))}]{text}{words}}}", array, rank, kinds


@pytest.mark.parametrize("seed", range(amount(10, 100)))
def test_random_tiles_against_arrays_of_devices(seed):
    rng = random.Random(seed)
    mapped = 0
    for _ in range(60):
        text, array, rank, kinds = random_tiled(rng)
        dims = [rng.randint(0, 12) for _ in range(rank)]
        sharding = parse_sharding(text)
        assert parse_sharding(str(sharding)) == sharding
        assert hash(parse_sharding(str(sharding))) == hash(sharding)
        if sharding.kind in ("manual", "unreduced"):
            assert set(kinds) >= {sharding.kind}
            assert int(np.prod(array.shape[:rank])) == 1
            continue
        slices = sharding.slices(dims, array.size)
        assert slices == brute_slices(array, dims), text
        mapped += layouts_agree(sharding, slices, dims, array.size)
        if all(dims):
            index = [rng.randrange(n) for n in dims]
            assert sharding.devices_of(index, dims, array.size) == holders(slices, index)
    assert mapped > 15


@pytest.mark.parametrize("seed", range(20))
def test_subgroups_are_the_same_after_they_are_put_in_order(seed):
    """The sets of members stay, and replicated members ascend; XLA sorts these even where that mixes other
    kinds of members."""
    rng = random.Random(1000 + seed)
    for _ in range(60):
        text, array, rank, kinds = random_tiled(rng)
        sharding = parse_sharding(text)
        if sharding.kind != "tiled":
            continue
        mine = np.array([*sharding.devices]).reshape(sharding.tiles)
        assert sharding.tiles[:rank] == array.shape[:rank]
        for kind in ("replicated",) if "replicated" in sharding.subgroups else ("manual", "unreduced"):
            assert members(mine, rank, sharding.subgroups, kind) == members(array, rank, kinds, kind), text
        if "replicated" in sharding.subgroups:
            assert (np.diff(mine, axis=-1) > 0).all()


def members(array, rank, kinds, kind):
    """The sets of devices that differ only in their place along subgroups of a kind."""
    along = [d for d, k in enumerate(kinds, rank) if k == kind]
    rest = [d for d in range(array.ndim) if d not in along]
    count = int(np.prod([array.shape[d] for d in along]))
    return {frozenset(map(int, row)) for row in array.transpose(rest + along).reshape(-1, count)}


# --------------------------------------------------------------------------------------------------------- mesh


def random_mesh(rng):
    """A mesh, its devices as an array of its axes, and the digits of its axes: (axis, number, pre, size)."""
    sizes = [rng.choice([1, 2, 2, 3, 4, 6, 8]) for _ in range(rng.randint(1, 3))]
    names = [f"x{k}" for k in range(len(sizes))]
    count = int(np.prod(sizes))
    devices, array = None, np.arange(count)
    if rng.random() < 0.3:
        extents = factors(rng, count, 2)
        devices, array = Iota(extents, (1, 0)), array.reshape(extents).T
    elif rng.random() < 0.3 and count > 2:
        array = np.array([*range(1, count), 0])
        devices = tuple(map(int, array))
    digits = []
    for k, n in enumerate(sizes):
        cuts = [*itertools.accumulate(factors(rng, n, rng.randint(1, 2)), lambda a, b: a * b, initial=1)]
        pairs = [(p, q // p) for p, q in itertools.pairwise(cuts) if q > p]
        digits += [(k, *((0, 1, n) if len(pairs) < 2 else (s, p, s))) for p, s in pairs] or [(k, 0, 1, n)]
    return Mesh(tuple(zip(names, sizes)), devices or ()), array.reshape(sizes), digits


@pytest.mark.parametrize("seed", some(range(amount(10, 100)), 2))
def test_random_meshes_against_their_digits(seed):
    rng = random.Random(2000 + seed)
    held = 0
    for _ in range(60):
        mesh, array, digits = random_mesh(rng)
        rank = rng.randint(0, 3)
        parts = [[] for _ in range(rank + 4)]  # the last is of the digits that nothing names
        for digit in rng.sample(digits, len(digits)):
            rng.choice(parts[: rank + 1] if rng.random() < 0.7 else parts).append(digit)
        for part in parts[rank:]:
            part.sort(key=lambda d: (d[0], d[2]))
        named = [[Axis(f"x{k}", n, pre if n else 1) for k, n, pre, _ in part] for part in parts]
        dims = [DimSharding(axes, rng.random() < 0.3) for axes in named[:rank]]
        try:
            sharding = MeshSharding(mesh, dims, *named[rank : rank + 3])
        except RangeError as refused:
            assert "are one digit" in str(refused)
            continue
        assert parse_sharding(str(sharding)) == sharding
        if sharding.tiled().kind in ("manual", "unreduced"):
            continue
        shape = [rng.randint(0, 12) for _ in range(rank)]
        slices = sharding.slices(shape, array.size)
        assert slices == mesh_slices(mesh, array, parts[:rank], shape), str(sharding)
        layouts_agree(sharding, slices, shape, array.size)
        held += 1
    assert held > 20


def mesh_slices(mesh, array, parts, shape):
    """By the definition: the shard index of a dimension is a mixed radix over its digits, the first the most
    significant."""
    out = {}
    for place, device in np.ndenumerate(array):
        bounds = []
        for part, n in zip(parts, shape):
            index, cuts = 0, 1
            for k, _, pre, n_digit in part:
                extent = mesh.axes[k][1]
                index, cuts = index * n_digit + place[k] // (extent // (pre * n_digit)) % n_digit, cuts * n_digit
            c = -(-n // cuts)
            bounds.append((min(index * c, n), min((index + 1) * c, n)))
        out[int(device)] = tuple(bounds)
    return out


# --------------------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("{ devices=[2,4] <= [ 2,2,2 ] T(2,0,1) /* a comment */ }", "{devices=[2,4]<=[4,2]T(1,0)}"),
        ("{devices=[60]<=[3,4,5]T(0,1,2)}", "{devices=[60]<=[60]}"),
        ("{devices=[60]<=[3,4,5]T(1,2,0)}", "{devices=[60]<=[3,20]T(1,0)}"),
        ("{devices=[60]<=[3,4,5]T(2,0,1)}", "{devices=[60]<=[12,5]T(1,0)}"),
        ("{devices=[60]<=[3,4,5]T(1,0,2)}", "{devices=[60]<=[3,4,5]T(1,0,2)}"),
        ("{devices=[60]<=[1,3,1,4,1,5]T(4,3,2,5,1,0)}", "{devices=[60]<=[3,20]T(1,0)}"),
        (
            "{devices=[2,4]<=[2,4]T(1,0) last_tile_dim_replicate}",
            "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
        ),
        (
            "{devices=[2,3]<=[3,2]T(1,0) last_tile_dim_replicate}",
            "{devices=[2,3]<=[3,2]T(1,0) last_tile_dim_replicate}",
        ),
        ("{devices=[3,2]<=[3,2]T(1,0) last_tile_dim_replicate}", "{devices=[3,2]0,2,1,4,3,5 last_tile_dim_replicate}"),
        ("{devices=[2,4,1]<=[8] last_tile_dim_replicate}", "{devices=[2,4]<=[8]}"),
        ("{devices=[1,8]<=[8] last_tile_dims={manual}}", "{manual}"),
        ("{devices=[1,2,4]<=[8] last_tile_dims={unreduced, unreduced}}", "{unreduced}"),
        ("{devices=[1,1,8]<=[8] last_tile_dims={manual, replicated}}", "{replicated}"),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={replicated,manual}}",
            "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}",
        ),
        ("{devices=[2,2,2]<=[8] last_tile_dims={manual,manual}}", "{devices=[2,4]<=[8] last_tile_dims={manual}}"),
        ("{devices=[2,2]<=[4] last_tile_dims={maximal}}", "{devices=[2,2]<=[4] last_tile_dims={maximal}}"),
        ("{device=3 maximal}", "{maximal device=3}"),
        ("{shard_as 5 replicated}", "{replicated shard_as 5}"),
        ("{devices=[2]1,0 shard_like 7}", "{devices=[2]1,0 shard_like 7}"),
        ('{replicated metadata={op_name="a}b\\"{" source_line=3}}', "{replicated}"),
        ('{metadata={{op_name="x"}, {}} manual}', "{manual}"),
        ("{unknown}", "{unknown}"),
        ("{}", "{}"),
        ("{{replicated}}", "{{replicated}}"),
        ("{{replicated}, {manual}, {mesh['a'=2], replicated}}", "{{replicated}, {manual}, {mesh['a'=2], replicated}}"),
        (
            "{{manual},{manual},{manual},{manual},{manual},{manual}}",
            "{{manual}, {manual}, {manual}, {manual}, {manual}, /*index=5*/{manual}}",
        ),
        ("{maximal_mesh[device_id=3]}", "{maximal_mesh[device_id=3]}"),
        ("{maximal_mesh[device_id=3], metadata={}}", "{maximal_mesh[device_id=3]}"),
        ("{mesh['a'=2]}", "{mesh['a'=2], replicated}"),
        # from here on as jaxlib 0.10.2 prints: dimensions stay where none is cut, one word only without them
        ("{mesh['a'=2], [{}, {?}]}", "{mesh['a'=2], [{}, {?}]}"),
        ("{mesh['a'=2,'b'=2], []}", "{mesh['a'=2,'b'=2], replicated}"),
        ("{mesh['a'=2,'b'=2], [{}], manual={'a','b'}}", "{mesh['a'=2,'b'=2], [{}], manual={'a', 'b'}}"),
        ("{mesh['a'=2,'b'=2], [], unreduced={'a','b'}}", "{mesh['a'=2,'b'=2], unreduced}"),
        ("{mesh['a'=2,'b'=2], unreduced}", "{mesh['a'=2,'b'=2], unreduced}"),
        ("{mesh['a'=2,'b'=2], [{?}], replicated={'a'}}", "{mesh['a'=2,'b'=2], [{?}], replicated={'a'}}"),
        ("{mesh['a'=2], [{}], unreduced=max{'a'}}", "{mesh['a'=2], [{}], unreduced=max{'a'}}"),
        ("{mesh['a'=2], [], unreduced=min{'a'}}", "{mesh['a'=2], [], unreduced=min{'a'}}"),
        ("{mesh['a'=2,'b'=2], [{'a'}], unreduced=sum{'b'}}", "{mesh['a'=2,'b'=2], [{'a'}], unreduced={'b'}}"),
        ("{mesh['a'=2], [{'a'}], unreduced=max{}}", "{mesh['a'=2], [{'a'}]}"),
        ("{mesh[], replicated}", "{replicated}"),  # a mesh without axes and devices
        ("{mesh[ ], [{}, {?}], metadata={}}", "{replicated}"),
        ("{{mesh[], []}, {manual}}", "{{replicated}, {manual}}"),
        (
            '{mesh["a"=2, "b"=2] , device_ids=([2,2]T(1,0)), [{"a",?},{}]}',
            "{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a', ?}, {}]}",
        ),
        ("{mesh['a'=2,'b'=2], device_ids=([4]), [{'a'}], metadata={}}", "{mesh['a'=2,'b'=2], [{'a'}]}"),
        ("{mesh['a'=8], [{'a':(2)2}], manual={'a':(1)2}}", "{mesh['a'=8], [{'a':(2)2}], manual={'a':(1)2}}"),
    ],
)
def test_canonical_texts(text, canonical):
    sharding = parse_sharding(text)
    assert str(sharding) == canonical
    assert parse_sharding(canonical) == sharding
    assert pickle.loads(pickle.dumps(sharding)) == sharding
    assert len({sharding, parse_sharding(canonical)}) == 1


@pytest.mark.parametrize(
    ("text", "what", "at"),
    [
        ("", "the text ends", 0),
        ("{", "the text ends", 1),
        ("{replicated} x", "unexpected 'x'", 13),
        ("{replicated, manual}", "unexpected ','", 11),
        ("{replicated manual}", "'manual': the kind is given twice", 12),
        ("{Replicated}", "unexpected 'Replicated'", 1),
        ("{maximal}", "without a device", 1),
        ("{maximal device=-1}", "device -1", 1),
        ("{maximal devices=[1]3}", "devices beside maximal", 9),
        ("{device=3}", "device= without maximal", 1),
        ("{replicated device=1}", "device= without maximal", 12),
        ("{manual devices=[2]<=[2]}", "devices beside manual", 8),
        ("{unknown last_tile_dim_replicate}", "subgroups beside unknown", 9),
        ("{devices=[2,4]0,1,2}", "3 devices for 8 tiles", 1),  # XLA fills up with zeros
        ("{devices=[2,2]0,1,2,2}", "device 2 is listed twice", 1),
        ("{devices=[2,2]0,1,2,-3}", "device -3", 1),
        ("{devices=[2,4]<=[4]}", "4 devices for 8 tiles", 1),
        ("{devices=[2,4]<=[2,4]}", "unexpected '}'", 21),
        ("{devices=[2,4]<=[8]T(0)}", "unexpected 'T'", 19),
        ("{devices=[2,4]<=[2,4]T(0,0)}", "order (0,0)", 16),
        ("{devices=[2,4]<=[2,4]T(0,2)}", "order (0,2)", 16),
        ("{devices=[2,4]<=[2,4]T(0)}", "order (0)", 16),
        ("{devices=[]<=[8]}", "unexpected ']'", 10),
        ("{devices=[8]<=[]}", "unexpected ']'", 15),
        ("{devices=[0]<=[0]}", "an iota of (0)", 14),
        ("{devices=[-2,-4]<=[8]}", "tiles of (-2,-4)", 1),
        ("{devices=[1]0}", "tiles on one device", 1),
        ("{devices=[2]0,1 last_tile_dims={}}", "unexpected '}'", 32),
        ("{devices=[2]0,1 last_tile_dims={tuple}}", "unexpected 'tuple'", 32),
        ("{devices=[2]0,1 last_tile_dims={manual, manual}}", "2 subgroups in 1 tile", 1),
        ("{devices=[2]0,1 last_tile_dim_replicate last_tile_dims={manual}}", "is given twice", 40),
        ("{devices=[2]0,1 shard_as 1 shard_like 2}", "is given twice", 27),
        ("{devices=[2]0,1 shard_as -1}", "shard_as -1", 1),
        ("{devices=[2]0,1,}", "unexpected '}'", 16),
        ("{devices =[2]0,1}", "unexpected 'devices'", 1),
        ("{{{replicated}}}", "a tuple in a tuple", 2),
        ("{{}}", "without devices", 2),
        ("{{replicated},}", "unexpected '}'", 14),
        ("{{replicated} {manual}}", "unexpected '{'", 14),
        ("{replicated metadata={}", "the text ends", 23),
        ("{replicated metadata={", "metadata that does not end", 12),
        ("{replicated metadata=3}", "metadata that does not end", 12),
        ('{replicated metadata={"}}', "metadata that does not end", 12),
        ("{replicated /*", "not closed", 12),
        ("{\0}", "unexpected '\\x00'", 1),
        ("{devices=[\u0662]<=[2]}", "unexpected '\u0662'", 10),
        ("{devices=[18446744073709551616]<=[1]}", "does not fit", 10),
        ("{devices=[2]<=[4294967296,4294967296]T(1,0)}", "an iota of", 14),
        ("{mesh[]}", "unexpected '}'", 7),
        ("{mesh[], unreduced}", "unexpected 'unreduced'", 9),
        ("{mesh[], [{'a'}]}", "axis 'a' is not in the mesh", 11),
        ("{mesh[], replicated, manual={'a'}}", "unexpected 'manual='", 21),
        ("{mesh[], device_ids=(0), replicated}", "unexpected 'device_ids='", 9),
        ("{mesh['a'=2], [{}], unreduced=product{'a'}}", "unexpected 'product'", 30),
        ("{mesh['a'=2], [{}], replicated=max{'a'}}", "unexpected 'max'", 31),
        ("{mesh['a'=0]}", "a mesh of (0)", 1),
        ("{mesh['a'=2,'a'=2]}", "two axes named 'a'", 1),
        ("{mesh['a=2], replicated}", "not closed", 6),
        ("{mesh[''=2], replicated}", "an axis named ''", 1),
        ("{mesh['a'=2], [{'b'}]}", "axis 'b' is not in the mesh", 16),
        ("{mesh['a'=2], [{'a'}, {'a'}]}", "axis 'a' is used twice", 14),
        ("{mesh['a'=2], [{'a'}], manual={'a'}}", "axis 'a' is used twice", 23),
        ("{mesh['a'=2], [{'a',}]}", "unexpected '}'", 20),
        ("{mesh['a'=2], [{?, 'a'}]}", "an axis after ?", 17),
        ("{mesh['a'=4], [{'a':(1)4}]}", "'a':(1)4 of an axis of 4", 14),
        ("{mesh['a'=4], [{'a':(4)2}]}", "'a':(4)2 of an axis of 4", 14),
        ("{mesh['a'=4], [{'a':(0)2}]}", "the digit (0)2", 23),
        ("{mesh['a'=4], [{'a':(1)0}]}", "a digit of size 0", 23),
        ("{mesh['a'=8], [{'a':(1)2,'a':(2)2}]}", "are one digit", 14),
        ("{mesh['a'=8], [{'a':(1)4,'a':(2)2}]}", "used twice", 14),
        ("{mesh['a'=12], [{'a':(1)2,'a':(3)4}]}", "digits of axis 'a'", 15),
        ("{mesh['a'=2,'b'=2], [{}], replicated={'b','a'}}", "replicated={'b', 'a'}", 26),
        ("{mesh['a'=2,'b'=2], device_ids=(0,1,2,3), replicated}", "device_ids 0, 1, 2", 1),
        ("{mesh['a'=2,'b'=2], device_ids=(0,1,2), replicated}", "3 devices for a mesh of 4", 1),
        ("{mesh['a'=2,'b'=2], device_ids=(0,1,2,4), replicated}", "device_ids (0,1,2,4)", 1),
        ("{mesh['a'=2,'b'=2], device_ids=([3]), replicated}", "3 devices for a mesh of 4", 1),
        ("{mesh['a'=2], replicated, manual={'a'}}", "unexpected 'manual='", 26),
        ("{mesh['a'=2], [{}], [{}]}", "unexpected '['", 20),
        ("{mesh['a'=2], unknown}", "unexpected 'unknown'", 14),
        ("{mesh['a'=2,'b'=2], replicated={'a'}, [{}]}", "unexpected '['", 38),
        ("{mesh['a'=2,'b'=2], replicated={'a'}, replicated={'b'}}", "unexpected 'replicated='", 38),
        ("{mesh['a'=2,'b'=2], [{}], replicated}", "unexpected 'replicated'", 26),
        ("{mesh['a'=2,'b'=2], replicated={'a'}, manual}", "unexpected 'manual'", 38),
        ("{mesh['a'=2], replicated, [{}]}", "unexpected '['", 26),
        ("{mesh['a'=2], replicated, manual}", "unexpected 'manual'", 26),
        ("{mesh['a'=2] replicated}", "unexpected 'replicated'", 13),
        ("{maximal_mesh[3]}", "unexpected '3'", 14),
        ("{devices=[8]<=[2,2,2]T(2,1,0)(2,1,0)}", "unexpected '('", 29),
        ("{maximal_mesh[device_id=-1]}", "a mesh without axes", 24),
        ("{maximal_mesh[device_id=3], replicated}", "unexpected 'replicated'", 28),
    ],
)
def test_what_is_refused_and_where(text, what, at):
    with pytest.raises(ParseError) as caught:
        parse_sharding(text)
    assert what in caught.value.reason.what
    assert caught.value.position == at
    assert caught.value.reason.expected
    assert caught.value.reason.fix


@pytest.mark.parametrize(
    "text",
    [
        "{" * 10**5,
        "{{replicated}," * 10**4,
        "{devices=[" + "9" * 10**5 + "]<=[8]}",
        "{devices=[" + "9223372036854775807," * 10**4 + "2]<=[4]}",
        "{devices=[" + "1," * 10**5 + "2]<=[4]}",
        "{devices=[2]" + "1," * 10**5 + "0}",
        '{replicated metadata={"' + '\\"' * 10**5,
        '{replicated metadata={{{{{"' + "}{" * 10**5,
        "'" * (10**5 + 1),
        "{mesh['a'=2]," + " " * 10**5 + "x}",
        "/*" * 10**5,
        "{mesh[" + ",".join(f"'a{k}'=1" for k in range(10**4)) + "], replicated}",
        "{mesh['a'=4], [" + "{'a':(1)2}, " * 10**4 + "{}]}",
        "{devices=[1431655765,3]<=[1431655765,3]T(1,0) last_tile_dims={replicated,manual}}",  # no iota, too many to list
    ],
)
def test_huge_texts_are_refused_soon(text):
    start = time.process_time()
    with pytest.raises(ParseError) as caught:
        parse_sharding(text)
    assert time.process_time() - start < 5
    assert len(str(caught.value)) < 2000


@given(
    st.text(alphabet="{}[]()<=,:?'T0123 ab", max_size=40)
    | st.lists(
        st.sampled_from(
            [
                "{",
                "}",
                "[2,4]",
                "<=",
                "devices=",
                "[8]",
                "replicated",
                "manual",
                "maximal",
                "device=",
                "3",
                " ",
                "mesh",
                "['a'=2]",
                ",",
                "[{'a'}]",
                "T(1,0)",
                "last_tile_dim_replicate",
                "metadata=",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_any_text_is_a_sharding_or_a_parse_error(text):
    try:
        sharding = parse_sharding(text)
    except ParseError as refused:
        assert 0 <= refused.position <= len(text)
        return
    assert parse_sharding(str(sharding)) == sharding


@pytest.mark.parametrize(
    "text",
    [
        "{{replicated}, {replicated}, {replicated}}",
        "{" + ", ".join(f"/*index={k}*/{{replicated}}" if k in (5, 10) else "{replicated}" for k in range(12)) + "}",
        "{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}",
        "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
        "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
    ],
)
def test_annotations_of_real_programs_print_back(text):
    assert str(parse_sharding(text)) == text


def test_no_text_is_a_type_error():
    for wrong in (None, 3, b"{replicated}", ["{replicated}"]):
        with pytest.raises(LeafTypeError):
            parse_sharding(wrong)


# ------------------------------------------------------------------------------------------------------- values


def test_any_number_of_devices_without_a_list():
    n = 2**30
    sharding = parse_sharding(f"{{devices=[{n},{n // 2}]<=[{n // 2},{n}]T(1,0)}}")
    count = n * n // 2
    assert str(sharding.tile_layout(count)) == f"(_{n},_{n // 2}):(_1@0,_1@1)"
    assert sharding.devices_of((5, 7), (n, n), count) == (3 * n + 5,)
    assert len(sharding.devices) == count
    for ask in (
        lambda: [*sharding.devices],
        lambda: sharding.slices((n, n), count),
        lambda: parse_sharding("{replicated}").slices((4,), 2**40),
    ):
        with pytest.raises(RangeError, match="one by one"):
            ask()
    assert coordinate(parse_sharding("{replicated}").tile_layout(2**40)(12345), 2) == (0, 0)
    with pytest.raises(RangeError, match="one by one"):
        parse_sharding("{replicated}").devices_of((0,), (4,), 2**70 // 2**10)
    assert Iota((2**31, 2**31), (1, 0))[2**31 + 1] == 2**31 + 1


def test_the_least_number_of_devices_is_one_more_than_the_largest():
    """XLA's shardings name devices by number, so that a sharding is about all up to the largest one that it names."""
    for text, least in (
        ("{devices=[3]5,7,3}", 8),
        ("{devices=[2,2]0,3,1,2}", 4),
        ("{devices=[4]<=[2,2]T(1,0)}", 4),
        ("{maximal device=3}", 4),
    ):
        sharding = parse_sharding(text)
        assert sharding.least_devices == least
        assert len(sharding.slices((8, 8)[: max(1, sharding.rank)], least)) <= least
        with pytest.raises(RangeError, match=f"{least - 1} devices\n +expected  {least} or more"):
            sharding.slices((8, 8)[: max(1, sharding.rank)], least - 1)
    assert [parse_sharding(text).least_devices for text in ("{replicated}", "{manual}")] == [1, 1]


def test_what_has_no_slices():
    for text in ("{manual}", "{unknown}", "{unreduced}", "{mesh['a'=8], manual}", "{{replicated}, {replicated}}", "{}"):
        sharding = parse_sharding(text)
        for ask in (lambda s: s.slices((8,), 8), lambda s: s.devices_of((0,), (8,), 8), lambda s: s.tile_layout(8)):
            with pytest.raises(LoweringError):
                ask(sharding)


def test_what_has_no_layout():
    for text, count, why in (
        ("{devices=[2,2]0,1,2,3}", 4, "lists its devices"),
        ("{devices=[2,3]<=[2,3]T(1,0)}", 6, "unevenly"),
        ("{devices=[2,2]<=[4]}", 8, "devices from 4 to 7 hold nothing"),
        ("{maximal device=0}", 2, "lists its devices"),
        ("{mesh['a'=4], device_ids=(3,2,1,0), [{'a'}]}", 4, "lists its devices"),
    ):
        with pytest.raises(LoweringError, match=why):
            parse_sharding(text).tile_layout(count)
    assert parse_sharding("{maximal device=0}").tile_layout(1)(0) == 0


def test_arguments_that_do_not_fit():
    tiled = parse_sharding("{devices=[2,4]<=[8]}")
    for error, ask in (
        (RankError, lambda: tiled.slices((8,), 8)),
        (RankError, lambda: tiled.devices_of((0,), (8, 8), 8)),
        (RangeError, lambda: tiled.devices_of((0, 8), (8, 8), 8)),
        (RangeError, lambda: tiled.devices_of((-1, 0), (8, 8), 8)),
        (RangeError, lambda: tiled.slices((8, -1), 8)),
        (RangeError, lambda: tiled.slices((8, 8), 7)),
        (RangeError, lambda: tiled.tile_layout(7)),
        (RangeError, lambda: parse_sharding("{maximal device=3}").slices((8,), 3)),
        (RangeError, lambda: parse_sharding("{replicated}").slices((8,), 0)),
        (LeafTypeError, lambda: tiled.slices((8.0, 8), 8)),
        (LeafTypeError, lambda: tiled.slices(8, 8)),
        (LeafTypeError, lambda: tiled.slices((8, 8), True)),
        (RangeError, lambda: Sharding("tiles")),
        (RankError, lambda: Sharding("replicated", (2,), (0, 1))),
        (RankError, lambda: Sharding("maximal")),
        (RangeError, lambda: Sharding("tiled", (2,), (0, 10**400))),
        (LeafTypeError, lambda: Sharding("tiled", (2,), (0, 1.0))),
        (LeafTypeError, lambda: Sharding("replicated", group="shard_as 3")),
        (LeafTypeError, lambda: TupleSharding((TupleSharding(()),))),
        (LeafTypeError, lambda: MeshSharding(Mesh((("a", 2),)), ("a",))),
        (LeafTypeError, lambda: DimSharding(("a",))),
        (RangeError, lambda: Axis("a", 1)),
        (RangeError, lambda: MeshSharding(Mesh((("a", 2),)), (DimSharding((Axis("b"),)),))),
        (RankError, lambda: Iota(())),
        (RangeError, lambda: Iota((2, 0))),
        (RangeError, lambda: Iota((2, 4), (1, 0))[8]),
        (RangeError, lambda: Iota((2, 4), (1, 0))[-1]),
        (RangeError, lambda: Iota.of([(2, 7)])),
        (RangeError, lambda: Iota.of([(0, 1)])),
        (RankError, lambda: Mesh(())),
    ):
        with pytest.raises(error) as caught:
            ask()
        assert isinstance(caught.value, TlaError)
        assert len(str(caught.value)) < 1000


def test_axes_of_size_1_cut_nothing():
    """As XLA makes V2 of V3: jaxlib's v3_to_v2_sharding."""
    cases = {
        "[{'a'}]": "{replicated}",
        "[{'a','b'}]": "{replicated}",
        "[{'a'}], manual={'b'}": "{manual}",
        "[{'a'}], unreduced={'b'}": "{unreduced}",
        "[{'a'}], replicated={'b'}": "{replicated}",
    }
    for text, tiles in cases.items():
        assert str(parse_sharding(f"{{mesh['a'=1,'b'=1], {text}}}").tiled()) == tiles
    assert str(parse_sharding("{maximal_mesh[device_id=3]}").tiled()) == "{maximal device=3}"
    assert str(parse_sharding("{mesh['a'=2,'b'=1], [{'a','b'}]}").tiled()) == "{devices=[2]<=[2]}"


def test_texts_of_shardings_in_errors_are_short():
    lengths = set()
    for count, number in itertools.product((18, 20), range(18)):
        sharding = Sharding("tiled", (count,), tuple(reversed(range(count))), (), ShardGroup("shard_as", 10**number))
        text = str(sharding)
        assert shown_sharding(sharding) == (text if len(text) <= 80 else f"{text[:77]}...")
        lengths.add(len(text))
    assert lengths > {79, 80, 81}
    for count, text in ((63, "{devices=[63]62,61"), (64, "a sharding of listed devices")):
        assert shown_sharding(Sharding("tiled", (count,), tuple(reversed(range(count))))).startswith(text)
    assert shown_sharding(Sharding("tiled", (64,), Iota((64,)))) == "{devices=[64]<=[64]}"


def test_tiles_of_subgroups_alone_are_one_word_but_for_maximal():
    for kind, text in (("manual", "{manual}"), ("replicated", "{replicated}"), ("unreduced", "{unreduced}")):
        assert str(Sharding("tiled", (1, 2), (0, 1), (kind,))) == text
        assert str(Sharding("tiled", (2, 2), (0, 1, 2, 3), (kind,))).startswith("{devices=[2,2]")
    assert str(Sharding("tiled", (1, 2), (0, 1), ("maximal",))) == "{devices=[1,2]0,1 last_tile_dims={maximal}}"
    assert (
        str(Sharding("tiled", (1, 2, 2), (0, 1, 2, 3), ("manual", "unreduced")))
        == "{devices=[1,2,2]0,1,2,3 last_tile_dims={manual, unreduced}}"
    )


def test_values():
    assert parse_sharding("{devices=[2,4]<=[8] shard_as 3}") == Sharding(
        "tiled", (2, 4), Iota((8,)), group=ShardGroup("shard_as", 3)
    )
    assert parse_sharding("{mesh['a'=2], [{'a'}]}") == MeshSharding(Mesh((("a", 2),)), (DimSharding((Axis("a"),)),))
    assert parse_sharding("{{replicated}}").elements == (Sharding("replicated"),)
    with pytest.raises(AttributeError):
        parse_sharding("{replicated}").kind = "manual"
    assert parse_sharding("{mesh['a'=1], [{'a'}]}").slices((5,), 1) == {0: ((0, 5),)}
    assert parse_sharding("{maximal_mesh[device_id=3]}").slices((5,), 8) == {3: ((0, 5),)}
    partial = parse_sharding("{mesh['a'=2,'b'=2], [{'a'}], unreduced=max{'b'}}")
    assert partial.slices((4,), 4) == {0: ((0, 2),), 1: ((0, 2),), 2: ((2, 4),), 3: ((2, 4),)}
    assert partial != parse_sharding("{mesh['a'=2,'b'=2], [{'a'}], unreduced={'b'}}")
    with pytest.raises(LoweringError, match="as tiles"):
        partial.tiled()
    with pytest.raises(RangeError, match="reduction by 'product'"):
        MeshSharding(Mesh((("a", 2),)), (), (), (Axis("a"),), (), "product")
    with pytest.raises(RankError, match="on one device"):
        MeshSharding(Mesh((), (3,)), (DimSharding(),))
    assert parse_sharding("{mesh['a'=1], [{}]}").slices((5,), 2) == {0: ((0, 5),), 1: ((0, 5),)}
    assert parse_sharding("{devices=[4]<=[4]}").slices((5,), 8) == {
        0: ((0, 2),),
        1: ((2, 4),),
        2: ((4, 5),),
        3: ((5, 5),),
    }


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5).flatmap(
        lambda r: st.tuples(st.just(r), st.permutations(range(len(r))))
    )
)
def test_an_iota_is_its_array_and_its_layouts(case):
    extents, order = case
    iota, array = Iota(extents, order), np.arange(np.prod(extents)).reshape(extents).transpose(order).ravel()
    assert [*iota] == [iota[k] for k in range(len(iota))] == [*array]
    assert [iota.layout(k) for k in range(len(iota))] == [*array]
    assert [iota.inverse(iota[k]) for k in range(len(iota))] == [*range(len(iota))]
    assert Iota(iota.extents, iota.order) == iota
    assert xla.Iota.of(iota.digits) == iota
