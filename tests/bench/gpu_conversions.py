"""Conversions on a GPU: the values that they give, and the wavefronts of shared memory that the hardware
counts, beside their plans.

    python tests/bench/gpu_conversions.py write FOLDER [COUNT]    # where NVRTC is: compiles COUNT random plans
    python tests/bench/gpu_conversions.py run FOLDER # where a GPU is; needs Python alone, and ncu for the wavefronts

The plans are those of tests/access/test_access_machine.py, from another seed.
"""

import ctypes
import json
import random
import shutil
import sys
from pathlib import Path

import hardware_counters

ARCH = "sm_90"
#: Counted in the machine code's own instructions; l1tex__ counters have what waits for other warps as well.
COUNTERS = [f"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st", "ldsm", "stsm")]


def write(folder, count):
    """Compile random plans; beside each its data, and what the plan states."""
    tests = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(tests / "support"), str(tests / "access")]
    from test_access_machine import plans, values

    import nvrtc
    from conversions import kernel, threads

    rows = []
    for k, plan in enumerate(plans(random.Random(1009), count)):
        n = threads(plan)
        _text, cubin = nvrtc.compiled(kernel(plan, plan.cuda("f")), ARCH)
        (folder / f"{k}.cubin").write_bytes(cubin)
        given, wanted = (values(layout, n, plan.element_bits) for layout in (plan.src, plan.dst))
        (folder / f"{k}.in").write_bytes(given.tobytes())
        (folder / f"{k}.out").write_bytes(wanted.tobytes())
        whole = plan.src.get_in_dim_size("lane") == 32
        rows.append(
            {
                "threads": n,
                "wavefronts": plan.wavefronts if whole else None,
                "kind": plan.kind,
                "bits": plan.element_bits,
            }
        )
    (folder / "plans.json").write_text(json.dumps(rows))


class Driver:
    """CUDA's driver: a context, modules, launches."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        if failed := getattr(self.library, name)(*arguments):
            raise SystemExit(f"{name}: CUDA error {failed}")

    def launch(self, cubin, threads, given, size):
        """The bytes that the kernel of a module writes."""
        module, function, a, b = (ctypes.c_void_p() for _ in range(4))
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"kernel_main")
        self.call("cuMemAlloc_v2", ctypes.byref(a), ctypes.c_size_t(len(given)))
        self.call("cuMemAlloc_v2", ctypes.byref(b), ctypes.c_size_t(size))
        self.call("cuMemcpyHtoD_v2", a, given, ctypes.c_size_t(len(given)))
        pointers = (ctypes.c_void_p * 2)(ctypes.addressof(a), ctypes.addressof(b))
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, pointers, None)
        out = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", out, b, ctypes.c_size_t(size))
        for memory in (a, b):
            self.call("cuMemFree_v2", memory)
        return out.raw


def execute(folder):
    """Run every plan, and count those whose values are wrong."""
    driver, wrong = Driver(), 0
    rows = json.loads((folder / "plans.json").read_text())
    for k, row in enumerate(rows):
        wanted = (folder / f"{k}.out").read_bytes()
        out = driver.launch(
            (folder / f"{k}.cubin").read_bytes(), row["threads"], (folder / f"{k}.in").read_bytes(), len(wanted)
        )
        if out != wanted:
            wrong += 1
            print(f"plan {k}, {row}: values WRONG", flush=True)
    print(f"{len(rows)} plans, {wrong} wrong", flush=True)


def counted(folder):
    """The wavefronts of each plan by the hardware's counter, beside those of the plan."""
    found = [
        sum(launch.values())
        for launch in hardware_counters.counted([sys.executable, __file__, "execute", folder], COUNTERS)
    ]
    rows = json.loads((folder / "plans.json").read_text())
    if len(found) != len(rows):
        raise SystemExit(f"ncu counted {len(found)} of {len(rows)} kernels")
    pairs = [(row, n) for row, n in zip(rows, found) if row["wavefronts"] is not None]
    differ = [(row, n) for row, n in pairs if row["wavefronts"] != n]
    for row, n in differ[:20]:
        print(f"{row}: the hardware counts {n}")
    print(
        f"{len(pairs)} plans, {len(differ)} with other wavefronts; of all: planned "
        f"{sum(r['wavefronts'] for r, _ in pairs)}, counted {sum(n for _, n in pairs)}"
    )


def main():
    mode, folder = sys.argv[1], Path(sys.argv[2])
    if mode == "write":
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, int(sys.argv[3]) if sys.argv[3:] else 200)
    else:
        execute(folder)
        if mode == "run" and shutil.which("ncu"):
            counted(folder)


if __name__ == "__main__":
    main()
