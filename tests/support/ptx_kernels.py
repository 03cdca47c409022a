"""Whole kernels in PTX, executed block by block: what ptx.Block has, loops, floats, tensor cores, asynchronous copies.

Written from the PTX ISA manual for what Triton compiles these kernels to; imports nothing from tla. Any other
instruction is an error, and so is an access of global memory outside of its array. Threads that take a branch wait
there for the others, which come without a barrier between.
"""

import re

import numpy as np

import ptx

_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
    "ltu": lambda a, b: ~(a >= b),
    "neu": lambda a, b: ~(a == b),
}
#: How a float becomes an integer: to the nearest, down.
_ROUND = {"rni": np.rint, "rmi": np.floor}


def run(text, grid, threads, arguments):
    """Execute PTX for every block of a grid, writing the arrays among the arguments in place; the wavefronts
    of shared memory."""
    (statements, labels, shared), wavefronts = _parsed(text), 0
    for at in np.indices(grid).reshape(len(grid), -1).T:
        block = Kernel(threads, arguments, at, shared)
        block.execute(statements, labels)
        wavefronts += block.wavefronts
    return wavefronts


def _parsed(text):
    """The statements of the kernel, and the statement behind each label."""
    shared = re.findall(r"^\s*(?:\.extern )?\.(?:shared|local) .*?(\w+)\[", text, re.M)
    body = text[text.index(".entry") :]
    body = body[body.index("{") + 1 : [*re.finditer(r"^}$", body, re.M)][-1].start()]
    body = re.sub(r"//[^\n]*|^\s*\.(loc|pragma|reg|shared|file|section)\b.*$", "", body, flags=re.M)
    body = re.sub(r"^\s*([$\w]+):\s*$", r"label \1;", body, flags=re.M)
    body = re.sub(r"waitLoop:|@!complete bra.uni waitLoop;", "", body)  # a wait that goes on at once, or never
    statements, labels = [], {}
    for statement in body.split(";"):
        found = " ".join(statement.split()).removeprefix("{ ").removeprefix("} ")
        if found.startswith("label "):
            labels[found.removeprefix("label ")] = len(statements)
        elif found not in ("", "{", "}") and not found.startswith("."):
            statements.append(_statement(found))
    return statements, labels, dict.fromkeys(shared, 0)


def _statement(text):
    guard, text = re.fullmatch(r"(?:@(!?%p\d+) )?(.*)", text).groups()
    op, rest = text.split(" ", 1) if " " in text else (text, "")
    name, *kind = op.split(".")
    return guard, name, kind, [x.strip() for x in re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)]


class Kernel(ptx.Block):
    """A block of threads that executes a kernel."""

    def __init__(self, threads, arguments, block, shared):
        super().__init__(threads, np.zeros(1, np.uint8), 1)
        self.arguments, self.symbols = arguments, shared
        self.memory = {k: x.reshape(-1).view(np.uint8) for k, x in enumerate(arguments) if isinstance(x, np.ndarray)}
        self.values |= {f"%ctaid.{axis}": np.full(threads, n, np.uint64) for axis, n in zip("xyz", block)}
        self.groups = [[]]
        self.mbarriers, self.coming = {}, {}
        self.columns, self.products = np.full((128, 512), np.nan, np.float32), []
        maps = {k: x for k, x in enumerate(arguments) if hasattr(x, "block_shape")}
        self.maps = {k << 8: x for k, x in maps.items()}
        self.symbols |= {f"kernel_main_param_{k}": k << 8 for k in maps}

    def execute(self, statements, labels):
        at, here, apart = 0, np.full(self.threads, True), []
        while at < len(statements):
            while apart and apart[-1][0] == at:  # where threads wait that took a branch
                here = here | apart.pop()[1]
            guard, name, kind, operands = statements[at]
            at += 1
            chosen = here
            if guard:
                chosen = here & (self.get(guard.strip("!")).astype(bool) ^ guard.startswith("!"))
            assert not apart or name not in ("ret", "bar", "barrier"), f"{name} of some threads"
            if name == "ret":
                assert chosen.all(), "some threads end"
                return
            if name == "bra":
                if (chosen != here).any() and chosen.any():
                    apart.append((labels[operands[0]], chosen))
                    here = here & ~chosen
                elif chosen.any():
                    at = labels[operands[0]]
                continue
            self.active, before = chosen, dict(self.values) if apart else {}
            getattr(self, f"do_{name}")(kind, operands)
            for x, old in before.items():
                if self.values[x] is not old:
                    self.values[x] = np.where(here, self.values[x], old)

    # memory

    def _places(self, kind, place, size, memory):
        """The array, and the elements of it that active threads access."""
        at = self._address(place)[self.active]
        assert (at % size == 0).all(), f"misaligned: {kind} {place}"
        if memory == "shared":
            return self.shared, at & 0xFFFFFFFF
        found = self.memory[int(at[0]) >> 40]
        at = at & (1 << 40) - 1
        assert (at + size <= len(found)).all(), f"outside of its array: {kind} {place}"
        return found, at

    @staticmethod
    def _width(kind):
        count = next((int(k[1:]) for k in kind if re.fullmatch(r"v\d", k)), 1)
        return count, int(re.sub(r"\D", "", kind[-1])) // 8

    def do_ld(self, kind, operands):
        if kind[0] == "param":
            number = int(operands[1].strip("[]").rsplit("_", 1)[1])
            given = self.arguments[number] if number < len(self.arguments) else 0
            value = (
                number << 40
                if isinstance(given, np.ndarray)
                else int(np.float32(given).view(np.uint32))
                if isinstance(given, float)
                else given
            )
            self.put(operands[0], np.full(self.threads, value % (1 << 64), np.uint64), kind)
            return
        if not self.active.any():
            return
        count, size = self._width(kind)
        memory, at = self._places(kind, operands[1], count * size, kind[0])
        if kind[0] == "shared":
            self.wavefronts += ptx.wavefronts(self._address(operands[1]) & 0xFFFFFFFF, count * size, self.active)
        for k, name in enumerate(x.strip() for x in operands[0].strip("{}").split(",")):
            value = np.array(self.values.get(name, np.zeros(self.threads, np.uint64)))
            value[self.active] = _view(memory, size)[at // size + k]
            self.values[name] = value

    def do_st(self, kind, operands):
        if not self.active.any():
            return
        count, size = self._width(kind)
        memory, at = self._places(kind, operands[0], count * size, kind[0])
        if kind[0] == "shared":
            self.wavefronts += ptx.wavefronts(self._address(operands[0]) & 0xFFFFFFFF, count * size, self.active)
        for k, name in enumerate(operands[1].strip("{}").split(",")):
            value = self.get(name)[self.active] & np.uint64((1 << 8 * size) - 1)
            _view(memory, size)[at // size + k] = value.astype(f"u{size}")

    def do_cp(self, kind, operands):
        """cp.async: what is copied comes when the group that it is of is waited for."""
        if kind[1] == "commit_group":
            self.groups.append([])
        elif kind[1] == "wait_group":
            done = len(self.groups) - 1 - int(operands[0], 0)
            for target, data in (x for group in self.groups[: max(done, 0)] for x in group):
                self.shared[target] = data
            self.groups = self.groups[max(done, 0) :]
        elif kind[1] == "bulk":
            self._bulk(kind, operands)
        elif self.active.any():
            size, given = (
                int(operands[2], 0),
                self.get(operands[3]) if len(operands) > 3 else np.full(self.threads, int(operands[2], 0)),
            )
            target = (self._address(operands[0])[self.active] & 0xFFFFFFFF)[:, None] + np.arange(size)
            self.shared[target] = 255  # nobody reads it before
            data, whole = np.zeros(target.shape, np.uint8), given[self.active].astype(np.int64)
            chosen, self.active = self.active, self.active & (given > 0)
            if self.active.any():
                memory, at = self._places(kind, operands[1], size, "global")
                data[whole > 0] = memory[at[:, None] + np.arange(size)]
            data[np.arange(size) >= whole[:, None]] = 0
            self.active = chosen
            self.groups[-1].append((target, data))

    # what TMA moves, and mbarriers

    def _bulk(self, kind, operands):
        """A box of a tensor map, of each active thread one: what is loaded comes when its mbarrier is waited for."""
        if kind[2] != "tensor":
            return  # of stores, which have been made at once: commit_group, wait_group
        assert kind[3] == "2d", kind
        loads = "mbarrier::complete_tx::bytes" in kind
        place, there = (operands[0], operands[1]) if loads else (operands[1], operands[0])
        name, x, y = re.fullmatch(r"\[(%\w+), \{(%\w+|\d+), (%\w+|\d+)\}\]", there).groups()
        addresses, maps, xs, ys = self._address(place), self.get(name), self._signed("s32", x), self._signed("s32", y)
        for t in np.flatnonzero(self.active):
            of = self.maps[int(maps[t])]
            at, valid, element = _box(of, int(xs[t]), int(ys[t]))
            places = (int(addresses[t]) + at).reshape(-1, 1) + np.arange(element)
            memory = of.base.reshape(-1).view(np.uint8)
            row, column = np.indices(valid.shape)
            offsets = ((row + int(ys[t])) * of.strides[0] + column + int(xs[t])).reshape(-1, 1) * element + np.arange(
                element
            )
            inside = valid.ravel()
            if loads:
                data = np.zeros(places.shape, np.uint8)
                data[inside] = memory[offsets[inside]]
                barrier = int(self._address(operands[2])[t])
                self.mbarriers[barrier]["bytes"] -= data.size
                self.coming.setdefault(barrier, []).append(lambda p=places, d=data: self.shared.__setitem__(p, d))
                self._advance(barrier)
            else:
                memory[offsets[inside]] = self.shared[places[inside]]

    def do_elect(self, kind, operands):
        """The first lane of each warp."""
        self.values[operands[0].split("|")[1]] = self.lanes % ptx.WARP == 0

    def do_mbarrier(self, kind, operands):
        assert kind[-1] == "b64", kind
        word, where = kind[0], operands[1 if kind[0] in ("try_wait", "arrive") else 0]
        active = np.flatnonzero(self.active)
        if word == "try_wait":
            barrier, parity = int(self._address(where)[0]), int(self.get(operands[2])[0])
            assert self.mbarriers[barrier]["phase"] & 1 != parity, f"a wait that never ends: {operands}"
            for come in self.coming.pop(barrier, []):
                come()
            self.values[operands[0]] = np.full(self.threads, True)
            return
        assert len(active) <= 1, "one thread arrives"
        for t in active:
            barrier, number = int(self._address(where)[t]), int(operands[-1])
            if word == "init":
                self.mbarriers[barrier] = {"phase": 0, "count": number, "left": number, "bytes": 0}
                continue
            assert word in ("arrive", "inval"), kind
            self.mbarriers[barrier]["left"] -= 1 if "expect_tx" in kind else number
            self.mbarriers[barrier]["bytes"] += number if "expect_tx" in kind else 0
            self._advance(barrier)

    def do_tcgen05(self, kind, operands):
        """Tensor memory: products, which are made when what they arrive at is waited for, and loads; the manual's
        tables of descriptors."""
        if kind[0] == "alloc":
            self.shared[self._address(operands[0])[:1, None] + np.arange(4)] = 0
        elif kind[0] == "mma" and self.active.any():
            assert kind[1:] == ["cta_group::1", "kind::f16"], kind
            (t,) = np.flatnonzero(self.active)
            at, form, adds = int(self._address(operands[0])[t]), int(self.get(operands[3])[t]), self.get(operands[4])[t]
            n, m = (form >> 17 & 63) * 8, (form >> 24 & 31) * 16
            assert (m, form >> 4 & 3, form & 7 << 7, form & 3 << 13) == (128, 1, 0, 0), hex(form)
            a, b = (int(self.get(x)[t]) for x in operands[1:3])
            self.products.append((at, n, [(a, m, form >> 15 & 1), (b, n, form >> 16 & 1)], bool(adds)))
        elif kind[0] == "commit" and self.active.any():
            (t,) = np.flatnonzero(self.active)
            barrier, made = int(self._address(operands[0])[t]), self.products
            self.coming.setdefault(barrier, []).append(lambda: [self._multiply(*x) for x in made])
            self.products = []
            self.mbarriers[barrier]["left"] -= 1
            self._advance(barrier)
        elif kind[0] == "ld":
            assert kind[3] == "32x32b", kind
            at = self._address(operands[1])
            for k, name in enumerate(_names(operands[0])):
                found = self.columns[(at >> 16) + self.lanes % ptx.WARP, (at & 0xFFFF) + k]
                self.put(name, found.view(np.uint32), ["b32"])

    def _multiply(self, at, n, operands, adds):
        a, b = (self._matrix(value, rows, bool(mn)) for value, rows, mn in operands)
        here = slice(at, at + n)
        self.columns[:, here] = (self.columns[:, here] if adds else 0) + a @ b.T

    def do_barrier(self, kind, operands):
        """All threads go step by step."""

    def _advance(self, barrier):
        """Begin the next phase of an mbarrier that all has come for."""
        x = self.mbarriers[barrier]
        assert x["left"] >= 0, "more arrivals than a phase waits for"
        if not x["left"] and not x["bytes"]:
            x.update(phase=x["phase"] + 1, left=x["count"])

    # values

    def _floats(self, kind, names):
        bits = int(kind[-1][1:])
        return [self._number(name, bits) for name in names]

    def _number(self, name, bits):
        if name.startswith(("0f", "0d")):
            assert name[1] == "f", name
            return np.full(self.threads, np.uint32(int(name[2:], 16)).view(np.float32))
        return self.get(name).astype(f"u{bits // 8}").view(f"f{bits // 8}")

    def get(self, text):
        if text.startswith(("0f", "0d")):
            return np.full(self.threads, int(text[2:], 16), np.uint64)
        return super().get(text)

    def _put_float(self, name, value, kind):
        bits = int(kind[-1][1:])
        self.put(name, np.asarray(value).astype(f"f{bits // 8}").view(f"u{bits // 8}"), kind)

    def _float_operation(self, f, kind, operands):
        with np.errstate(all="ignore"):
            exact = f(*(x.astype(np.float64) for x in self._floats(kind, operands[1:])))
            if "rz" in kind:
                near = exact.astype(np.float32)
                exact = np.where(abs(near) > abs(exact), np.nextafter(near, np.float32(0)), near)
            self._put_float(operands[0], exact, kind)

    def do_mov(self, kind, operands):
        if kind == ["pred"]:
            self.values[operands[0]] = self.get(operands[1]) != 0
        else:
            super().do_mov(kind, operands)

    def do_add(self, kind, operands):
        self._float_operation(np.add, kind, operands) if kind[-1][0] == "f" else super().do_add(kind, operands)

    def do_sub(self, kind, operands):
        self._float_operation(np.subtract, kind, operands) if kind[-1][0] == "f" else super().do_sub(kind, operands)

    def do_neg(self, kind, operands):
        self._float_operation(np.negative, kind, operands) if kind[-1][0] == "f" else super().do_neg(kind, operands)

    def do_fma(self, kind, operands):
        self._float_operation(lambda a, b, c: a * b + c, kind, operands)

    def do_div(self, kind, operands):
        assert kind[-1] == "f32", kind
        self._float_operation(np.divide, kind, operands)

    def do_sqrt(self, kind, operands):
        self._float_operation(np.sqrt, kind, operands)

    def do_ex2(self, kind, operands):
        self._float_operation(np.exp2, kind, operands)

    def do_rcp(self, kind, operands):
        self._float_operation(lambda a: 1 / a, kind, operands)

    def do_abs(self, kind, operands):
        self._float_operation(np.abs, kind, operands)

    def do_max(self, kind, operands):
        self._least_or_largest(np.fmax, np.maximum, kind, operands)

    def do_min(self, kind, operands):
        self._least_or_largest(np.fmin, np.minimum, kind, operands)

    def _least_or_largest(self, of_floats, of_integers, kind, operands):
        if kind[-1][0] == "f":
            self._float_operation(of_floats, kind, operands)
        else:
            given = (self._integer(kind[-1], x) for x in operands[1:])
            self.put(operands[0], of_integers(*given).astype(np.uint64), kind)

    def _integer(self, kind, operand):
        if kind[0] == "s":
            return self._signed(kind, operand)
        return self.get(operand) & np.uint64((1 << int(re.sub(r"\D", "", kind))) - 1)

    def do_mul(self, kind, operands):
        if kind[-1][0] == "f":
            self._float_operation(np.multiply, kind, operands)
            return
        a, b = (self._integer(kind[-1], x) for x in operands[1:3])
        product = (a * b).astype(np.uint64)
        if "hi" in kind:
            assert kind[-1] in ("u32", "s32"), kind
            product >>= np.uint64(32)
        self.put(operands[0], product, ["u64"] if "wide" in kind else kind)

    def do_mad(self, kind, operands):
        a, b = (self._integer(kind[-1], x) for x in operands[1:3])
        product = (a * b).astype(np.uint64) + self.get(operands[3])
        self.put(operands[0], product, ["u64"] if "wide" in kind else kind)

    def do_setp(self, kind, operands):
        assert len(kind) - ("ftz" in kind) == 2, kind
        if kind[-1][0] == "f":
            a, b = self._floats(kind, operands[1:])
        else:
            a, b = (self._integer(kind[-1], x) for x in operands[1:])
        self.values[operands[0]] = _COMPARE[kind[0]](a, b)

    def do_cvt(self, kind, operands):
        to, source = kind[-2:]
        if to[0] != "f" and source[0] != "f":
            super().do_cvt(kind, operands)
            return
        value = self._floats([source], operands[1:])[0] if source[0] == "f" else self._integer(source, operands[1])
        rounded = next((_ROUND[k] for k in kind if k in _ROUND), None)
        if to[0] != "f":  # not a number is 0
            assert (to, rounded) == ("s32", np.rint), kind
            found = np.clip(np.nan_to_num(rounded(value.astype(np.float64))), -(2.0**31), 2.0**31 - 1)
            self.put(operands[0], found.astype(np.int64).astype(np.uint64), [to])
            return
        with np.errstate(over="ignore"):
            self._put_float(operands[0], value if rounded is None else rounded(value), [to])

    def do_mma(self, kind, operands):
        """mma.sync m16n8k16 of halves: the manual's figures of its fragments."""
        assert kind[:3] == ["sync", "aligned", "m16n8k16"], kind
        lane = np.arange(ptx.WARP)
        group, rest = lane[:, None] // 4, lane[:, None] % 4 * 2
        i, j = np.arange(8), np.arange(4)
        a, b = (self._halves(x).reshape(-1, ptx.WARP, n) for x, n in zip(operands[1:3], (8, 4)))
        full_a, full_b = np.zeros((len(a), 16, 16)), np.zeros((len(a), 16, 8))
        full_a[:, group + i // 2 % 2 * 8, rest + i % 2 + i // 4 * 8] = a
        full_b[:, rest + j % 2 + j // 2 * 8, np.broadcast_to(group, (ptx.WARP, 4))] = b
        wide = kind[-1] == "f32"
        c = np.stack(self._floats(["f32"], _names(operands[3])), -1) if wide else self._halves(operands[3])
        at = group + j // 2 * 8, rest + j % 2
        sums = (full_a @ full_b)[:, at[0], at[1]].reshape(self.threads, 4) + c
        if wide:
            for k, name in enumerate(_names(operands[0])):
                self._put_float(name, sums[:, k], ["f32"])
        else:
            words = np.ascontiguousarray(sums.astype(np.float16)).view(np.uint32)
            for k, name in enumerate(_names(operands[0])):
                self.put(name, words[:, k], ["b32"])

    def do_fence(self, kind, operands):
        """What threads wrote is seen at once."""

    def do_wgmma(self, kind, operands):
        """wgmma of halves, whose operands of 128 bytes' swizzle are read at once; the manual's tables
        of descriptors and of D."""
        if kind[0] in ("fence", "commit_group", "wait_group"):
            return
        found = re.fullmatch(r"m64n(\d+)k16", kind[3])
        assert (kind[:3], kind[-3:]) == (["mma_async", "sync", "aligned"], ["f16"] * 3), kind
        d, a, b, adds, *signs = operands
        assert (signs[:2], self.get(adds).all()) == (["1", "1"], True), operands
        a, b = (self._described(x, rows, mn == "1") for x, rows, mn in zip((a, b), (64, int(found[1])), signs[2:]))
        words = np.stack([self.get(name) for name in _names(d)], -1).astype(np.uint32)
        before = np.ascontiguousarray(words).view(np.float16)
        j, t = np.arange(before.shape[1])[None, :], np.arange(self.threads)[:, None]
        assert self.threads == 128, "one warpgroup"
        row, column = t // 32 * 16 + t % 32 // 4 + j // 2 % 2 * 8, j // 4 * 8 + t % 4 * 2 + j % 2
        sums = (before + (a @ b.T)[row, column]).astype(np.float16)
        for k, name in enumerate(_names(d)):
            self.put(name, np.ascontiguousarray(sums).view(np.uint32)[:, k], ["b32"])

    def _described(self, name, rows, mn):
        """A matrix (rows, 16) of halves by its descriptor; mn: whether rows are contiguous, not k."""
        value = self.get(name)
        assert (value == value[0]).all(), "one descriptor"
        return self._matrix(int(value[0]), rows, mn)

    def _matrix(self, value, rows, mn):
        width = {2: 128, 4: 64, 6: 32}[value >> 61]  # of the swizzle, in bytes
        start, lbo, sbo = ((value >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
        i, k = np.arange(rows)[:, None], np.arange(16)[None, :]
        if mn:
            each = width // 2
            place = start + i % each * 2 + i // each * lbo + k % 8 * width + k // 8 * sbo
        else:
            place = start + i % 8 * width + i // 8 * sbo + k * 2
        place ^= (place >> 7 & width // 16 - 1) << 4
        return self.shared.view(np.float16)[place // 2].astype(np.float64)

    def _halves(self, text):
        words = np.stack([self.get(name) for name in _names(text)], -1).astype(np.uint32)
        return np.ascontiguousarray(words).view(np.float16).astype(np.float64)


def _box(of, x, y):
    """Of a box of a tensor map the places of its elements from where it lies, which are valid, and an element's bytes."""
    element, swizzle = of.base.itemsize, of.layout.swizzle_byte_width
    rows, columns = (min(n, 256) for n in of.block_shape)
    columns = swizzle // element if swizzle else columns
    row, column = np.indices((rows, columns))
    at = (row * columns + column) * element
    if swizzle:
        at ^= (at >> 7 & swizzle // 16 - 1) << 4
    inside = (row + y >= 0) & (row + y < of.shape[0]) & (column + x >= 0) & (column + x < of.shape[1])
    return at, inside, element


def _names(text):
    return [x.strip() for x in text.strip("{} ").split(",")]


def _view(memory, size):
    return memory[: len(memory) // size * size].view(f"u{size}")
