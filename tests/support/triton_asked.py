"""Triton 3.9 itself, asked in another process: its linear layout and its text of layouts that are given
as Gluon's Python.

Its C++ asserts abort the process, so that one is begun anew behind each layout that does so. Run as a script it
is that process.
"""

import json
import re
import subprocess
import sys

_FIELDS = {
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "block_bases": "block",
    "offset_bases": "offset",
    "rows": "row",
    "cols": "col",
}


def asked(layouts):
    """For each (Python text, shape) the bases and the attribute's text, or None where Triton refuses or aborts."""
    found = []
    while len(found) < len(layouts):
        rest = "\n".join(map(json.dumps, layouts[len(found) :]))
        done = subprocess.run([sys.executable, __file__], input=rest, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("{", "null"))]
        found += map(json.loads, lines)
        if len(found) < len(layouts):
            found.append(None)  # it aborted on this one
    return found


def main():
    from triton._C.libtriton import gluon_ir, ir
    from triton.experimental.gluon import language
    from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout
    from triton.experimental.gluon.language.amd.cdna5 import PartitionedSharedLayout
    from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout, TensorMemoryScalesLayout

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    classes = (AMDMFMALayout, AMDWMMALayout, PartitionedSharedLayout, TensorMemoryLayout, TensorMemoryScalesLayout)
    names = {**vars(language), **{c.__name__: c for c in classes}, "repeated_scales": RepeatedScales}
    for line in sys.stdin:
        text, shape = json.loads(line)
        try:
            layout = eval(text, {}, names)
            attribute = layout._to_ir(builder)
            linear = vars(builder.to_linear_layout(attribute, shape))
            answer = {
                "bases": {name: linear[f] for f, name in _FIELDS.items() if f in linear},
                "text": printed(builder, attribute, text, shape),
            }
        except Exception:
            answer = None
        print(json.dumps(answer), flush=True)


class RepeatedScales:
    """Scale factors in tensor memory, of which Gluon's class says no order of repetition."""

    def __init__(self, cga_layout, order):
        self.arguments = cga_layout, order

    def _to_ir(self, builder):
        return builder.get_tensor_memory_scales_layout(*self.arguments)


def printed(builder, attribute, text, shape):
    """The attribute as the IR of a function prints it whose argument has it."""
    if text.startswith("TensorMemory"):
        kind = builder.get_tensor_mem_desc_ty(builder.get_int8_ty(), shape, attribute, shape)
    elif "Shared" in text.split("(", 1)[0]:
        kind = builder.get_shared_mem_desc_ty(builder.get_int8_ty(), shape, attribute, shape)
    else:
        kind = builder.get_distributed_ty(builder.get_int8_ty(), shape, attribute)
    module = builder.create_module()
    module.push_back(builder.get_or_insert_function(module, "f", builder.get_function_ty([kind], []), "public", False))
    aliases = dict(line.split(" = ", 1) for line in module.str().splitlines() if line.startswith("#"))
    argument = next(line for line in module.str().splitlines() if "tt.func" in line)
    return expanded(re.search(r"[, ]*(#[a-z_]+\d*|#t\w*\.\w+<.*?>)[,>]", argument.partition("xi8")[2])[1], aliases)


def expanded(text, aliases):
    """A text without its aliases: each stands for its own text."""
    return re.sub(r"#[a-z_]+\d*(?![\w.])", lambda found: expanded(aliases.get(found[0], "?"), aliases), text)


if __name__ == "__main__":
    main()
