"""Advice of `xla.try_advice` on fresh programs, beside XLA's own account of each compile: does what is recommended
help, does nothing grow.

    pip install jax libtpu
    python tests/bench/tpu/advice.py [NAME...] # FAMILY:SEED:TOPOLOGY of harness.py; by default 20 of many kinds,
    24 changes each

Recommended is what makes HBM at its peak, the moves or what is sent smaller, and nothing larger, by the account of `tla`. XLA's
`peak_memory_in_bytes` of the same compiles is the judge here: larger than before is FALSE. A prediction is of
HBM at its peak.
"""

import os
import random
import sys

import harness

os.environ.update(harness.ENVIRONMENT)

MOST = 24
NAMES = """mlp:11101:v5e:2x2 adam:11102:v6e:2x2 attention:11103:v5p:2x2x1 decode:11104:v5e:2x2
convolution:11105:v4:2x2x1 vit:11106:v3:2x2 quantised:11107:v6e:2x2 recurrent:11108:v5e:2x2 dlrm:11109:v4:2x2x1
moe:11110:v5e:2x2 remat:11111:v6e:2x2 fourier:11112:v5p:2x2x1 sorting:11113:v5e:2x2 scans:11114:v2:2x2
fsdp:11115:v5e:2x2 megatron:11116:v6e:2x2 adam:11117:tpu7x:2x2x1 shuffles:11118:v5e:2x2 solver:11119:v4:2x2x1
scatter:11120:v6e:2x2""".split()


def watch():
    """By each Measure that tla takes from now on, XLA's own peak of that compile."""
    import jax

    from tla.xla.advice import bench

    peaks, last = [], [None]
    compile_, measure = jax.stages.Lowered.compile, bench.Bench.measured

    def compiled(self, *args, **kwargs):
        done = compile_(self, *args, **kwargs)
        last[0] = done.memory_analysis().peak_memory_in_bytes
        return done

    def taken(self, change):
        found = measure(self, change)
        peaks.append((found[0], last[0]))
        return found

    jax.stages.Lowered.compile, bench.Bench.measured = compiled, taken
    return lambda m: next(peak for found, peak in peaks if found is m)


def program(name):
    """The function of a name, and its arguments."""
    import jax
    import programs
    from jax.experimental import topologies

    family, seed, topology = name.split(":", 2)
    devices = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    made = programs.FAMILIES[family](random.Random(f"{family}:{seed}"), devices)
    return jax.jit(made.function, **made.options), made.arguments, topology


def main(names):
    from tla import xla

    peak_of = watch()
    recommended = worse = predicted = near = tried = 0
    for name in names:
        function, arguments, topology = program(name)
        found = xla.try_advice(function, *arguments, topology=topology, most=MOST)
        tried += len(found.tried)
        print(
            f"{name}: {len(found.tried)} tried, {len(found.recommended)} recommended; HBM "
            f"{found.before.peaks.get(0, 0):,}, XLA's peak {peak_of(found.before):,}",
            flush=True,
        )
        for t in found.tried:
            if t.measured is None:
                continue
            hbm, flag = t.measured.peaks.get(0, 0), ""
            if t.predicted is not None:
                predicted, near = predicted + 1, near + (abs(t.predicted - hbm) <= 0.01 * hbm)
                flag = "" if abs(t.predicted - hbm) <= 0.01 * hbm else f" PREDICTED {t.predicted:,}"
            if t.helps:
                recommended += 1
                worse += peak_of(t.measured) > peak_of(found.before)
                flag += " FALSE" if peak_of(t.measured) > peak_of(found.before) else ""
            if t.helps or flag:
                moves = f"moved {found.before.moved:,} -> {t.measured.moved:,}"
                print(
                    f"    {t.verdict} {t.what}: HBM {hbm:,}, XLA's peak {peak_of(t.measured):,}, {moves}{flag}",
                    flush=True,
                )
    print(f"{len(names)} programs, {tried} changes, {recommended} recommended, of which XLA's peak grew in {worse}")
    print(f"{near} of {predicted} predictions of HBM within 1 %")


if __name__ == "__main__":
    main(sys.argv[1:] or NAMES)
