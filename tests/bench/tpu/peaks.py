"""Peaks of programs by `xla.memory`, beside what XLA's compiler reports of the same programs.

pip install jax libtpu
python tests/bench/tpu/peaks.py [NAME...]      # FAMILY:SEED:TOPOLOGY of harness.py, or a seed alone: 60 fresh ones
"""

import sys

import harness

from tla import TlaError, xla

#: With larger ones for programs of several devices.
TOPOLOGIES = (*harness.TOPOLOGIES, "v5e:4x4", "v6e:4x4", "v5p:2x2x2")


def compared(folder):
    """The account of one program: peaks here and there, and the values whose ranges or sizes differ."""
    truth = harness.facts(folder)
    memory = xla.memory(folder / "program.txt", target=truth["topology"].split(":")[0])
    return memory, truth


def ranges(memory):
    """The values of a program as XLA names them, with their steps."""
    return {b.name if b.name.endswith("}") else b.name + "{}": (b.first, b.last) for b in memory.buffers}


def fresh(seed):
    """Sixty programs of all families and topologies; of those with several devices more of them."""
    import programs

    several = ("fsdp", "megatron", "ring", "collectives", "offload", "dlrm")
    families = [*programs.FAMILIES, *several, *programs.FAMILIES][:60]
    return [f"{family}:{seed + k}:{TOPOLOGIES[k % len(TOPOLOGIES)]}" for k, family in enumerate(families)]


def main(names):
    near = exact = above = count = 0
    for name in names:
        folder = harness.compiled(name)
        if folder is None:
            print(f"{name:32} refused by the compiler")
            continue
        try:
            memory, truth = compared(folder)
        except TlaError as error:
            print(f"{name:32} ERROR {str(error).splitlines()[0]}")
            continue
        count += 1
        off = memory.reported - truth["peak"]
        good = abs(off) <= 0.003 * truth["peak"]
        near, exact = near + good, exact + (off == 0)
        spaces = []
        for space, heap in sorted(truth["heap"].items()):
            peak = memory.peak[int(space)].bytes if int(space) in memory.peak else 0
            over = peak > heap
            above += over and space == "0"
            spaces.append(f"S({space}) {peak:,}/{heap:,}{' ABOVE' if over else ''}")
        flag = "" if good else " OFF"
        print(
            f"{name:26} {memory.reported:>13,} {truth['peak']:>13,} {off / truth['peak']:+8.3%}{flag:4} "
            f"{' '.join(spaces)} {memory.warnings[:2] or ''}"
        )
    print(f"{count} programs: {near} within 0.3 %, {exact} to the byte; HBM above the heap in {above}")


if __name__ == "__main__":
    asked = sys.argv[1:] or ["11000"]
    main(fresh(int(asked[0])) if asked[0].isdecimal() else asked)
