"""The PTX manual's rules of copies and matrix instructions, asked of addresses. Imports nothing from tla.

What a layout means is given as addresses: where the source has each value of each thread, and where the target is to
have it. What an instruction does is here: which bytes it reads at the addresses that it is given, and where it puts
them. A rule is broken where these are not the same, or where the manual says that the behaviour is not defined. A
function that asks for rules returns the name of one that is broken, or None; one that executes returns what
the machine has then.

Source: the PTX manual: "Addresses as operands", "ld", "st", "cp.async", "ldmatrix", "stmatrix", "wgmma", "tcgen05",
their "Matrix descriptor" and "Canonical layouts".
"""

import numpy as np

#: Bytes of ld and st, of cp.async.ca and of cp.async.cg.
WIDTHS = {"ld": (1, 2, 4, 8, 16), "cp.async.ca": (4, 8, 16), "cp.async.cg": (16,)}
#: Swizzle modes: the bytes that a row has, and the bits of the address that change, by those three above.
MODES = {"none": (16, 0), "32B": (32, 1), "64B": (64, 2), "128B": (128, 3)}
#: A field of a matrix descriptor has 14 bits, in units of 16 bytes.
FIELD = 16 << 14


# ------------------------------------------------------------------------------------------------------ copies


def vector_copy(width, source, target, inside=True, executed=None, kind="ld", fills=False):
    """The rule that accesses of `width` bytes break, from the address of the first value of each to that of its target.

    source, target   byte addresses (thread, value, access)
    inside           whether each is an element of the tensors
    executed         the predicate of each value; None for none
    fills            whether zeros are written where it is false
    """
    if width not in WIDTHS[kind]:
        return "an access that there is"
    executed = np.ones(source.shape, bool) if executed is None else executed
    if (executed.any(1) != executed.all(1)).any():
        return "one predicate"
    written = executed | fills
    if not (inside | ~written).all():
        return "elements of the tensor"
    for places, runs in ((source, executed), (target, written)):
        steps = places - places[:, :1]
        if (runs[:, 0] & (places[:, 0] % width != 0)).any():
            return "a multiple of its size"
        whole = np.arange(0, width, width // places.shape[1]).reshape(1, -1, 1)
        if (np.sort(steps, 1) != whole).any() or (
            steps != source - source[:, :1]
        ).any():  # whether it runs or not: the code is one
            return "bytes that lie together"
    return one_place(target[written], np.where(executed, source, -1)[written])


def one_place(target, source):
    """The rule that what is written twice is the same element of the source."""
    once = np.unique(np.stack([target, source], 1), axis=0)
    return None if len(np.unique(once[:, 0])) == len(once) else "a place for each"


def vectors_moved(width, source, target, data, out, runs, zeros=None):
    """The bytes of the target after accesses from source to target addresses, (access), of those that run; zeros where
    others fill them."""
    out, byte = out.copy(), np.arange(width)
    out[target[runs][:, None] + byte] = data[source[runs][:, None] + byte]
    if zeros is not None:
        out[target[zeros][:, None] + byte] = 0
    return out


def matrix_copy(matrices, memory, registers, executed=None, stores=False):
    """The rule that ldmatrix or stmatrix of so many m8n8 of 16 bits breaks.

    memory      byte addresses (warp, lane, value of 8, access): the row that a lane has the address of
    registers   byte places in each lane's registers (warp, lane, value, access)
    executed    the predicate of each lane (warp, lane, access); None for none
    """
    executed = np.ones(memory[:, :, 0].shape, bool) if executed is None else executed
    if (executed.any(1) != executed.all(1)).any():
        return "one predicate"
    rows, runs = memory[:, : 8 * matrices], executed[:, : 8 * matrices]
    if (runs & (rows[:, :, 0] % 16 != 0)).any():
        return "a multiple of its size"
    if (runs[:, :, None] & (rows != rows[:, :, :1] + 2 * np.arange(8)[:, None])).any():
        return "rows of 16 bytes"
    if rule := packed_registers(np.moveaxis(registers.reshape(-1, *registers.shape[2:]), 1, -1), 2):
        return rule
    starts = rows[:, :, 0][runs]
    return "a place for each" if stores and len(np.unique(starts)) != len(starts) else None


def matrix_loaded(matrices, transposed, rows):
    """The values of each lane, (warp, lane, value, access), after ldmatrix of rows (warp, lane, 8, access): row t//4 of
    matrix r has in register r of lane t its elements 2*(t%4) and on; with .trans column t//4 has."""
    t, v = np.arange(32)[:, None], np.arange(2 * matrices)
    along, across = 2 * (t % 4) + v % 2, t // 4 + 0 * v
    row, column = (along, across) if transposed else (across, along)
    return rows[:, v // 2 * 8 + row, column]


def matrix_stored(matrices, transposed, values):
    """The rows (warp, lane, 8, access) that stmatrix writes of the lanes' values (warp, lane, value, access)."""
    lane, column = np.arange(8 * matrices)[:, None], np.arange(8)
    across, along = (column, lane % 8) if transposed else (lane % 8, column)
    return values[:, across * 4 + along // 2, lane // 8 * 2 + along % 2]


# ------------------------------------------------------------------------------------------------------ products


def packed_registers(places, element, register=4):
    """The rule that narrow elements of a thread's registers, (thread, ..., value) [bytes], break: side by side, from a
    register's start on."""
    count = min(max(register // element, 1), places.shape[-1])
    groups = places.reshape(*places.shape[:-1], -1, count)
    if (groups != groups[..., :1] + element * np.arange(count)).any():
        return "side by side in registers"
    first = places.min(tuple(range(1, places.ndim)), keepdims=True)[..., None]
    return "whole registers" if ((groups[..., :1] - first) % (element * count) != 0).any() else None


def swizzled(address, bits):
    """The address at which shared memory has a byte, of the one that a descriptor means; and back."""
    return address ^ ((address >> 3) & (((1 << bits) - 1) << 4))


def described(address, element, major, mode, bases=(0,)):
    """The start of a descriptor that says where a tile is, from that of the buffer, LBO and SBO; a text, the rule,
    where none does.

    address   of each element (row along M or N, column along K), from the start of the buffer [bytes]
    mode      the swizzle mode, a name of MODES
    bases     addresses that the buffer may have: a kernel adds one of them to the start, and nothing else
    """
    width, bits = MODES[mode]
    found = set()
    for base in bases:
        logical = swizzled(base + address, bits)
        found.add((int(logical[0, 0]) - base, _strides(logical, element, major, mode, width)))
    if len(found) == 1 and (one := found.pop())[1] is not None:
        return one[0], *one[1]
    return "a canonical layout"


def _strides(logical, element, major, mode, width):
    """LBO and SBO of one mode, or None: the first address past a group says a step, and then all have to be
    where they say.

    K-major: 8 rows of the mode's width; SBO from these to the next 8, and LBO between the two 16 bytes of K where
    nothing is swizzled. MN-major: 8 lines along K, of the mode's width along M; LBO from these to the next along M, SBO
    to the next 8 along K, the other way round where nothing is swizzled.
    """
    m, k = np.indices(logical.shape)
    if major == "K":
        byte = k * element
        within = m % 8 * width + (byte % 16 if mode == "none" else byte)
        groups = {"SBO": m // 8, "LBO": byte // 16 * (mode == "none")}
    else:
        byte = m * element
        within = byte % width + k % 8 * width
        groups = dict(zip(("SBO", "LBO") if mode == "none" else ("LBO", "SBO"), (byte // width, k // 8)))
    steps = logical - logical[0, 0] - within
    sizes = {name: int(steps[tuple(np.argwhere(g == 1)[0])]) if (g == 1).any() else 0 for name, g in groups.items()}
    fields = [logical[0, 0], *sizes.values()]
    if any(n % 16 or not 0 <= n < FIELD for n in fields) or (major == "K" and logical.shape[1] * element != 32):
        return None
    return (sizes["LBO"], sizes["SBO"]) if (steps == sum(sizes[name] * g for name, g in groups.items())).all() else None
