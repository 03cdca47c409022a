"""A block of threads that executes PTX whose branches go forward, all threads at once, and counts what its accesses
of shared memory cost.

Written from the PTX ISA manual for the few instructions that copies are compiled to; imports nothing from tla. Any
other instruction is an error. What ldmatrix and stmatrix hand out is in ptx_rules. Shared memory has 32 banks of 4
bytes; 32, 16 or 8 lanes go together at up to 32, 64 and 128 bits.
"""

import collections
import re

import numpy as np

import ptx_rules

BANKS, WARP = 32, 32
TOGETHER = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
_WIDTH = {"8": 1, "16": 2, "32": 4, "64": 8}


class Block:
    """The registers of all threads, shared memory, global memory of two arrays; `counts` by opcode, and wavefronts."""

    def __init__(self, threads, given, result_bytes):
        self.threads, self.lanes = threads, np.arange(threads)
        self.values = {"%tid.x": self.lanes.astype(np.uint64)}
        self.memory = [np.frombuffer(given.tobytes(), np.uint8).copy(), np.zeros(result_bytes, np.uint8)]
        self.shared = np.zeros(1 << 18, np.uint8)
        self.symbols, self.counts, self.wavefronts = {}, collections.Counter(), 0
        self.active, self.away = np.full(threads, True), {}

    def run(self, ptx):
        self.symbols = dict.fromkeys(re.findall(r"^\.extern \.shared .*?(\w+)\[", ptx, re.M), 0)
        body = ptx[ptx.index(".entry") :]
        body = re.sub(
            r"//[^\n]*|^\s*\.loc.*$",
            "",
            body[body.index("{") + 1 : re.search(r"^}$", body, re.M).start()],
            flags=re.M,
        )
        for statement in re.sub(r"^(\S+):\s*$", r"label \1;", body, flags=re.M).split(";"):
            text = " ".join(statement.split())
            if text.startswith(".shared"):
                self.symbols[re.search(r"(\w+)\[", text)[1]] = 0
            elif text and not text.startswith(".") and text != "ret":
                self.step(text)
        return self.memory[1]

    def step(self, text):
        guard, text = re.fullmatch(r"(?:@(!?%p\d+) )?(.*)", text).groups()
        assert not re.match("bra.uni|call", text), f"a branch of all: {text}"
        op, rest = text.split(" ", 1) if " " in text else (text, "")
        operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)
        self.counts[op] += 1
        name, *kind = op.split(".")
        if guard:
            assert name in ("st", "bra"), f"a guard of what is neither a store nor a branch: {text}"
            self.active = self.active & (self.get(guard.strip("!")).astype(bool) ^ guard.startswith("!"))
        getattr(self, f"do_{name}")(kind, operands)
        self.active = ~np.any([np.full(self.threads, False), *self.away.values()], 0)

    def do_bra(self, kind, operands):
        """Threads that branch do nothing until the label, which has to follow."""
        self.away[operands[0]] = self.active

    def do_label(self, kind, operands):
        self.away.pop(operands[0], None)

    def get(self, text):
        text = text.strip()
        if text in self.values:
            return self.values[text]
        if text in self.symbols:
            return np.full(self.threads, self.symbols[text], np.uint64)
        return np.full(self.threads, int(text.rstrip("U"), 0) % (1 << 64), np.uint64)

    def put(self, name, value, kind):
        bits = int(re.sub(r"\D", "", kind[-1]) or 64)
        self.keep(name, np.asarray(value).astype(np.uint64) & np.uint64((1 << bits) - 1))

    def keep(self, name, value):
        """The values of a register in the threads that are here; others keep theirs."""
        self.values[name] = np.where(self.active, value, self.values.get(name, np.zeros_like(value)))

    # memory

    def _address(self, text):
        base, _, more = text.strip("[]").partition("+")
        return (self.get(base) + np.uint64(int(more or 0) % (1 << 64))).astype(np.int64)

    def _access(self, kind, place):
        count = next((int(k[1:]) for k in kind if re.fullmatch(r"v\d", k)), 1)
        size = _WIDTH[re.sub(r"\D", "", kind[-1])]
        at = self._address(place)
        assert (at % (count * size) == 0)[self.active].all(), f"misaligned: {kind} {place}"
        if "shared" in kind:
            self.wavefronts += wavefronts(at, count * size, self.active)
            memory, at = self.shared, at & 0xFFFFFFFF
        else:
            memory, at = self.memory[at[0] >> 40], at & (1 << 40) - 1
        return memory, np.where(self.active, at, 0), size

    def do_ld(self, kind, operands):
        if kind[0] == "param":
            which = int(operands[1].strip("[]").rsplit("_", 1)[1])
            self.values[operands[0]] = np.full(self.threads, which << 40, np.uint64)
            return
        memory, at, size = self._access(kind, operands[1])
        for k, name in enumerate(operands[0].strip("{}").split(",")):
            raw = np.stack([memory[at + k * size + b] for b in range(size)], -1)
            places = 8 * np.arange(size, dtype=np.uint64)
            self.keep(name.strip(), (raw.astype(np.uint64) << places).sum(-1, dtype=np.uint64))

    def do_st(self, kind, operands):
        memory, at, size = self._access(kind, operands[0])
        for k, name in enumerate(operands[1].strip("{}").split(",")):
            value = self.get(name)
            for b in range(size):
                memory[(at + k * size + b)[self.active]] = (value >> np.uint64(8 * b) & np.uint64(255))[self.active]

    def _rows(self, kind, place):
        """The number of matrices, whether transposed, and the addresses of rows (warp, row of all matrices)."""
        assert kind[:3] == ["sync", "aligned", "m8n8"], kind
        assert kind[-2:] == ["shared", "b16"], kind
        count = int(kind[3].removeprefix("x"))
        at = self._address(place).reshape(-1, WARP)[:, : 8 * count]
        assert (at % 16 == 0).all(), f"misaligned: {kind} {place}"
        self.wavefronts += wavefronts(at.ravel(), 16)
        return count, "trans" in kind, at

    def do_ldmatrix(self, kind, operands):
        count, transposed, at = self._rows(kind, operands[1])
        rows = self.shared[at[..., None] + np.arange(16)].view(np.uint16)[..., None]
        found = ptx_rules.matrix_loaded(count, transposed, rows)[..., 0].reshape(self.threads, -1).astype(np.uint64)
        for k, name in enumerate(operands[0].strip("{}").split(",")):
            self.put(name.strip(), found[:, 2 * k] | found[:, 2 * k + 1] << np.uint64(16), [*kind[:-1], "b32"])

    def do_stmatrix(self, kind, operands):
        count, transposed, at = self._rows(kind, operands[0])
        words = np.stack([self.get(name) for name in operands[1].strip("{}").split(",")], -1).astype(np.uint32)
        rows = ptx_rules.matrix_stored(count, transposed, words.view(np.uint16).reshape(-1, WARP, 2 * count, 1))[..., 0]
        self.shared[at[..., None] + np.arange(16)] = np.ascontiguousarray(rows).view(np.uint8)

    # values

    def do_mov(self, kind, operands):
        to, source = operands
        if kind == ["pred"]:
            self.keep(to, self.get(source).astype(bool))
            return
        bits = int(re.sub(r"\D", "", kind[-1]))
        if to.startswith("{"):
            names = to.strip("{}").split(",")
            part = bits // len(names)
            for k, name in enumerate(names):
                self.put(name.strip(), self.get(source) >> np.uint64(part * k), [f"b{part}"])
        elif source.startswith("{"):
            names = source.strip("{}").split(",")
            part = np.uint64(bits // len(names))
            self.put(to, sum((self.get(n) << (np.uint64(k) * part) for k, n in enumerate(names)), np.uint64(0)), kind)
        else:
            self.put(to, self.get(source), kind)

    def do_cvta(self, kind, operands):
        self.put(operands[0], self.get(operands[1]), kind)  # shared memory begins at 0

    def do_cvt(self, kind, operands):
        to, source = kind[-2:]
        assert {to[0], source[0]} <= {"u", "s"}, kind
        value = (
            self._signed(source, operands[1])
            if source[0] == "s"
            else self.get(operands[1]) & np.uint64((1 << int(source[1:])) - 1)
        )
        self.put(operands[0], value, [to])

    def _signed(self, kind, operand):
        """The values of an operand of a signed type: its sign in all bits above it."""
        above = 64 - int(re.sub(r"\D", "", kind))
        return (self.get(operand) << np.uint64(above)).astype(np.int64) >> above

    def do_add(self, kind, operands):
        self.put(operands[0], self.get(operands[1]) + self.get(operands[2]), kind)

    def do_sub(self, kind, operands):
        self.put(operands[0], self.get(operands[1]) - self.get(operands[2]), kind)

    def do_and(self, kind, operands):
        self._logic(np.bitwise_and, kind, operands)

    def do_or(self, kind, operands):
        self._logic(np.bitwise_or, kind, operands)

    def do_xor(self, kind, operands):
        self._logic(np.bitwise_xor, kind, operands)

    def _logic(self, f, kind, operands):
        a, b = map(self.get, operands[1:])
        if kind[-1] == "pred":
            self.keep(operands[0], f(a.astype(bool), b.astype(bool)))
        else:
            self.put(operands[0], f(a, b), kind)

    def do_not(self, kind, operands):
        a = self.get(operands[1])
        if kind[-1] == "pred":
            self.keep(operands[0], ~a.astype(bool))
        else:
            self.put(operands[0], ~a, kind)

    def do_shl(self, kind, operands):
        self.put(operands[0], self.get(operands[1]) << self.get(operands[2]), kind)

    def do_shr(self, kind, operands):
        value = self._signed(kind[-1], operands[1]) if kind[-1][0] == "s" else self.get(operands[1])
        self.put(operands[0], value >> self.get(operands[2]).astype(value.dtype), kind)

    def do_neg(self, kind, operands):
        self.put(operands[0], np.uint64(0) - self.get(operands[1]), kind)

    def do_mul(self, kind, operands):
        low = np.uint64(
            0xFFFFFFFF if kind[-1] == "u32" else 2**64 - 1
        )  # of wide products a constant is printed as a signed one
        product = (self.get(operands[1]) & low) * (self.get(operands[2]) & low)
        self.put(operands[0], product, ["u64"] if "wide" in kind else kind)

    def do_mad(self, kind, operands):
        a, b, c = map(self.get, operands[1:])
        self.put(operands[0], a * b + c, ["u64"] if "wide" in kind else kind)

    def do_bfi(self, kind, operands):
        part, whole, start, count = map(self.get, operands[1:])
        mask = ((np.uint64(1) << count) - np.uint64(1)) << start
        self.put(operands[0], whole & ~mask | part << start & mask, kind)

    def do_bfe(self, kind, operands):
        whole, start, count = map(self.get, operands[1:])
        part = whole >> start & (np.uint64(1) << count) - np.uint64(1)
        if kind[-1][0] == "s":  # the highest bit of the part goes into all above
            above = np.uint64(64) - count
            part = (part << above).astype(np.int64) >> above.astype(np.int64)
        self.put(operands[0], part, kind)

    def do_popc(self, kind, operands):
        a = self.get(operands[1])
        self.put(operands[0], sum((a >> np.uint64(k)) & np.uint64(1) for k in range(64)), ["b32"])

    def do_setp(self, kind, operands):
        compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "gt": np.greater}[kind[0]]
        assert kind[1][0] != "s" or kind[0] in ("eq", "ne"), kind
        self.keep(operands[0], compare(self.get(operands[1]), self.get(operands[2])))

    def do_selp(self, kind, operands):
        a, b = map(self.get, operands[1:3])
        self.put(operands[0], np.where(self.get(operands[3]).astype(bool), a, b), kind)

    def do_prmt(self, kind, operands):
        a, b, which = map(self.get, operands[1:])
        both, out = a | b << np.uint64(32), np.zeros(self.threads, np.uint64)
        for k in range(4):
            nibble = which >> np.uint64(4 * k) & np.uint64(15)
            assert (nibble < 8).all(), "a sign is replicated"
            out |= (both >> (nibble * np.uint64(8)) & np.uint64(255)) << np.uint64(8 * k)
        self.put(operands[0], out, kind)

    # threads

    def do_bar(self, kind, operands):
        assert self.active.all(), "a barrier of some threads"  # all go step by step

    def do_shfl(self, kind, operands):
        """idx, and bfly: the lane, or what it is xored with, within the segment that the clamp operand masks: the
        manual's pseudocode."""
        assert kind[:2] in (["sync", "idx"], ["sync", "bfly"]), kind
        assert self.active.all(), "a shuffle of some threads"
        value, lane, clamp = map(self.get, operands[1:4])
        segment, limit = clamp >> np.uint64(8) & np.uint64(31), clamp & np.uint64(31)
        own = (self.lanes % WARP).astype(np.uint64)
        source = own ^ lane if kind[1] == "bfly" else own & segment | lane & ~segment & np.uint64(31)
        assert (source <= (own & segment | limit & ~segment & np.uint64(31))).all()
        self.put(operands[0].split("|")[0], value[self.lanes // WARP * WARP + source.astype(int)], kind)


def wavefronts(at, size, active=None):
    """The wavefronts of one access by all warps: for lanes that go together, the most words of one bank; without those
    not active."""
    total, active = 0, np.full(len(at), True) if active is None else active
    for start in range(0, len(at), TOGETHER[size]):
        together = slice(start, start + TOGETHER[size])
        words = {w for a in at[together][active[together]] for w in range(a // 4, (a + size - 1) // 4 + 1)}
        total += max(collections.Counter(w % BANKS for w in words).values(), default=0)
    return total
