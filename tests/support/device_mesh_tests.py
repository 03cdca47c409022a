"""PyTorch's tests of DeviceMesh, one line for each outcome: `python device_mesh_tests.py PATH [exchanged]`.

Each test starts up to eight processes. Here they are forks of this one, which has imported torch already: spawned ones
take minutes each.
"""

import importlib.util
import sys
import unittest

if __name__ == "__main__":  # doctests are looked for in every file: read so, it needs no torch
    if sys.argv[2:] == ["exchanged"]:
        from tla.compat import torch as lexicographic

        sys.modules["torch.distributed._pycute"] = lexicographic

    import torch.distributed._mesh_layout
    import torch.multiprocessing
    from torch.testing._internal.common_distributed import MultiProcessTestCase


class Outcomes(unittest.TestResult):
    """Prints the name of each test that ends, and how."""

    def addSuccess(self, test):
        print(test.id(), "passed", flush=True)

    def addSkip(self, test, reason):
        print(test.id(), "skipped", flush=True)

    def addFailure(self, test, error):
        print(test.id(), "failed", flush=True)
        print(self._exc_info_to_string(error, test), file=sys.stderr)

    addError = addFailure


def main(path):
    MultiProcessTestCase._spawn_processes = lambda self: self._start_processes(
        torch.multiprocessing.get_context("fork").Process
    )
    spec = importlib.util.spec_from_file_location("test_device_mesh", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    unittest.defaultTestLoader.loadTestsFromModule(module).run(Outcomes())
    print(torch.distributed._mesh_layout.composition.__module__)


if __name__ == "__main__":
    main(sys.argv[1])
