"""The command of each kernel: its text, `--target cuda --arch sm_80 --variant NAME`; without a target it runs and is compared."""

import argparse


def main(variants, demonstrate):
    """variants: name -> (kernel, arguments of its text, names of the text's parameters)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", choices=("c", "cuda", "gluon", "hip"), help="print the kernel in this language")
    parser.add_argument("--arch", help="the architecture that it is for: sm_80, gfx942")
    parser.add_argument("--variant", choices=variants, default=next(iter(variants)))
    chosen = parser.parse_args()
    if chosen.target is None:
        demonstrate()
        return
    kernel, arguments, parameters = variants[chosen.variant]
    print(kernel.source(chosen.target, *arguments, arch=chosen.arch, parameters=parameters), end="")
