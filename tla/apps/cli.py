"""The command `tla`: layouts from a shell."""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from .. import __version__
from ..core.build import build_info
from ..core.errors import TlaError
from ..core.on_demand import OnDemand
from ..core.reader import nearest
from . import terminal
from .terminal import LAYOUT, OWNERS, option

# A command loads its own module.
_advise = OnDemand("tla.apps.advise")
_accesses, _arrays, _code = OnDemand("tla.apps.accesses"), OnDemand("tla.apps.arrays"), OnDemand("tla.apps.code")
_hlo, _layouts, _page = OnDemand("tla.apps.hlo"), OnDemand("tla.apps.layouts"), OnDemand("tla.apps.page")
_recovered, _ttgir = OnDemand("tla.apps.recovered"), OnDemand("tla.apps.ttgir")

FAILED, WRONG, INTERRUPTED = 1, 2, 130  # argparse exits with WRONG too


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for input that is refused, 2 for a wrong command line.

    >>> main(["offset", "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))", "1,5"])
    37
    0
    """
    return _run(sys.argv[1:] if argv is None else argv, lambda answer: None)


def process() -> NoReturn:
    """Run the command line of this process, which ends as soon as all is said: what was read of a long file would be
    taken apart object by object."""
    kept: list[terminal.Answer] = []
    code = _run(sys.argv[1:], kept.append)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on
        pass
    except OSError as error:
        code = _fail(str(error.strerror))
    os._exit(code)


def _run(given: Sequence[str], keep: Callable[[terminal.Answer], object]) -> int:
    """Run a command line and return its exit code; `keep` is given its answer."""
    terminal.open_missing_streams()
    if not given:
        _parser(given).print_help()
        return 0
    if (command := _command(given)) is not None and command not in COMMANDS:
        return _unknown(command, given)
    arguments = _parser(given).parse_args(given)
    try:
        if (answer := arguments.run(arguments)) is not None:
            keep(answer)
            terminal.say(answer, arguments.json, arguments.json or getattr(arguments, "all", True))
    except BrokenPipeError:  # the reader has seen enough: `tla hlo FILE | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return INTERRUPTED
    except TlaError as error:
        return _fail(str(terminal.in_shell_words(error.reason)))
    except ModuleNotFoundError as error:  # of an extra: it says how to install it
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))
    verdict = getattr(arguments, "verdict", "")  # of an answer that is given, all of it read or not, and fails a check
    return _fail(verdict) if verdict else 0


def _command(given: Sequence[str]) -> str | None:
    """The first word of a command line that is no option."""
    return next((x for x in given if not x.startswith("-")), None)


def _unknown(command: str, given: Sequence[str]) -> int:
    """Say that a command is not known, and the line that was meant, where it is like one."""
    near = nearest(command, COMMANDS)
    rest = given[given.index(command) + 1 :] if near else ["--help"]
    fix = "tla " + " ".join([*([near] if near else []), *map(shlex.quote, rest)])
    terminal.complain(
        f"tla: {command:.40}: no such command\n  expected  one of {', '.join(COMMANDS)}\n  fix       type {fix}"
    )
    return WRONG


def _fail(message: str) -> int:
    terminal.complain(f"tla: {message}")
    return FAILED


class _Overview(argparse.ArgumentParser):
    """The parser of all commands, whose help groups them by what one wants."""

    def format_help(self) -> str:
        lines = ["usage: tla COMMAND ...", "", str(self.description)]
        for title, names in GROUPS.items():
            lines += ["", title, *(f"  {name:<10} {WANTS[name]}" for name in names)]
        lines += ["", "begin with", *(f"  {line}" for line in BEGIN)]
        return "\n".join([*lines, "", "tla COMMAND --help: its options, with examples", ""])


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help whose examples keep their lines."""

    def add_text(self, text: str | None) -> None:
        super().add_text(text and terminal.filled(text))


#: The formatter with which argparse checks each argument that is added: without a width it would load shutil, to ask
#: for the terminal's.
_UNSIZED = functools.partial(argparse.HelpFormatter, width=80)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line: of the command that it gives, with its options; else of all by their names."""
    description = "Memory layouts: CuTe's, Ascend's and XLA's, as one algebra."
    parser = _Overview(prog="tla", description=description, formatter_class=_UNSIZED)
    parser.add_argument("--version", action="version", version=f"tla {__version__}, {build_info()}")
    kind = argparse.ArgumentParser
    # prog is given, so that it costs no help
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog, parser_class=kind)
    chosen = _command(given)
    for name in [chosen] if chosen in COMMANDS else COMMANDS:
        module, arguments = COMMANDS[name]
        run = getattr(module, name.replace("-", "_"))
        epilog = "\n".join(["examples:", *(f"  tla {name} {given}" for given in EXAMPLES[name])])
        sub = commands.add_parser(name, description=terminal.summary(run), epilog=epilog, formatter_class=_UNSIZED)
        if name != chosen:  # options name what is loaded for their command alone
            continue
        option(sub, "--json", "print JSON")
        if name not in WHOLE:
            option(sub, "--all", "more lines than the screen has, too")
        for argument, text in arguments.items():
            option(sub, f"{argument} {argument.upper()}", text)
        if options := getattr(module, f"{run.__name__}_options", None):
            options(sub)
        sub.set_defaults(run=run)
        sub.formatter_class = _Help
    return parser


#: Command -> the module that has it and its options, and its arguments with what the help says of each.
COMMANDS: dict[str, tuple[OnDemand, dict[str, str]]] = {
    "lower": (_layouts, {"shape": "an XLA shape, such as 'bf16[16,256]{1,0:T(8,128)(2,1)}'"}),
    "show": (_layouts, {"layout": LAYOUT}),
    "offset": (
        _layouts,
        {
            "layout": LAYOUT,
            "coord": "a coordinate, such as 5 or 1,5 or '(1,0),5'; in parentheses if it begins with a minus",
        },
    ),
    "read": (
        _recovered,
        {"expression": "an index expression, such as 'smem[(i/8)*64 + j]', or a function that is one"},
    ),
    "hlo": (_hlo, {"file": "the text of an HLO module, a dump's folder with one program, or - for standard input"}),
    "advise": (_advise, {"function": "a file of Python and a function of JAX in it, such as script.py:step"}),
    "explain": (_arrays, {"shape": "an XLA shape, such as 'f32[3,5]{1,0:T(2,2)}'"}),
    "relayout": (_arrays, {"source": "an XLA shape", "destination": "an XLA shape of the same elements"}),
    "default": (_arrays, {"array": "an element type and dimensions, such as 'bf16[8,300]'"}),
    "sharding": (
        _arrays,
        {"sharding": "a sharding, such as '{devices=[2,4]<=[8]}'", "array": "an XLA shape, or a type and dimensions"},
    ),
    "draw": (_layouts, {}),
    "emit": (_code, {"layout": LAYOUT}),
    "emit-copy": (_code, {"source": LAYOUT, "destination": "a layout of the same valid extents"}),
    "prove": (_code, {"layout": LAYOUT}),
    "access": (
        _accesses,
        {"owners": OWNERS, "memory_layout": "where the tile lies: a layout, or '#ttg...' of shared memory"},
    ),
    "swizzle": (_accesses, {}),
    "ttgir": (
        _ttgir,
        {"file": "the TTGIR of a kernel of Triton's or Gluon's, or the IR of one of CuTe's DSL; - for standard input"},
    ),
    "explore": (_page, {}),
}

#: What one wants -> the commands for it.
GROUPS = {
    "see a layout": ("explore", "show", "draw", "offset", "read"),
    "shared memory: conflicts, and what mends them": ("access", "swizzle", "ttgir"),
    "TPU and XLA": ("hlo", "advise", "lower", "explain", "relayout", "default", "sharding"),
    "code": ("emit", "emit-copy", "prove"),
}
#: What each is for, in a few words.
WANTS = {
    "explore": "a page where you type, paste and look",
    "show": "the grid of offsets, here",
    "draw": "the grid, or who holds what, as SVG, HTML, TikZ, PNG",
    "offset": "the offset of a coordinate",
    "read": "the layout of an index expression of C, CUDA, Triton, ...",
    "access": "what an access costs: wavefronts, conflicts, the lanes that collide",
    "swizzle": "the layout with the fewest conflicts, and why none is better",
    "ttgir": "what a compiled kernel of Triton's does with memory",
    "hlo": "where a program's memory goes, and what could take less",
    "advise": "changes of a function of JAX, compiled for a TPU and measured",
    "lower": "the layout of an XLA shape, with its padding",
    "explain": "each step from an index to its offset",
    "relayout": "what a copy from one layout to another moves",
    "default": "the layout that the TPU compiler gives an argument",
    "sharding": "what each device holds",
    "emit": "the offset as C, CUDA, Triton, Pallas, MLIR, ...",
    "emit-copy": "a copy from one layout to another as C or CUDA",
    "prove": "the emitted offset against the definition, by z3",
}
#: What a new user may type first.
BEGIN = (
    "tla explore",
    "tla show 'A = (8,12):(12,1); zipped_divide(A, (4,3))'",
    "tla access ldmatrix '(64,64):(64,1)' --bits 16",
)

#: What these print is code, or an address: it is never cut.
WHOLE = "emit", "emit-copy", "prove", "explore"
#: Of each command, what its help shows that it can be given.
EXAMPLES = {
    "lower": ["'bf16[16,256]{1,0:T(8,128)(2,1)}'"],
    "show": ["'((4,2),(4,3)):((4,16),(1,32))'", "'A = (8,12):(12,1); zipped_divide(A, (4,3))'"],
    "offset": ["'((_4,_2),(_4,_3)):((_4,_16),(_1,_32))' 1,5", "'f32[3,5]{1,0:T(2,2)}' 2,3 --json"],
    "read": [
        "'(i/8)*512 + (i%8)*64 + ((j/8) ^ (i%8))*8 + j%8' --shape 16,64 --bits 16",
        "'i // 8 + i % 8 * 4' --shape 32 --language python",
    ],
    "advise": ["train.py:step --topology v6e:2x2"],
    "hlo": [
        "module.txt",
        "module.txt -o report.html",
        "dump/module_0007.*.txt",
        "module.txt --by peak",
        "module.txt --advise",
        "new.txt --against old.txt --fail-if-peak-grows 2%",
    ],
    "ttgir": ["kernel.ttgir", "kernel.ttgir --size K=4096", "kernel.ttgir --advise", "before.ttgir after.ttgir"],
    "explain": ["'f32[3,5]{1,0:T(2,2)}' 2,3", "'f32[M,N]{1,0:T(8,128)}'", "'f32[3,5]{1,0:T(2,2)}' --strip"],
    "relayout": ["'f32[16,32]{1,0:T(8,16)}' 'f32[16,32]{0,1}'"],
    "default": ["'bf16[8,300]'", "'bf16[8,300]' --target v5e"],
    "sharding": ["'{devices=[2,4]<=[8]}' 'f32[16,128]'"],
    "draw": [
        "'Sw<3,3,3> o (8,64):(64,1)' --color-by bank --bits 16",
        "'((4,2),(4,3)):((4,16),(1,32))' -o layout.svg",
        "SM80_16x8x16_F32F16F16F32_TN --thread 5",
    ],
    "emit": ["'MakeLayout[half, zN](M, N)' --target cuda", "'((_4,_2),(_4,_3)):((_4,_16),(_1,_32))' --target cute_cpp"],
    "emit-copy": ["'(64,64):(64,1)' '(64,64):(1,64)'"],
    "prove": [
        "'Sw<3,3,3> o _0 o (_8,_64):(_64,_1)' --target cuda",
        "'MakeLayout[half, zN](M, N)' --multiple-of M=16 N=16",
    ],
    "access": ["ldmatrix '(64,64):(64,1)' --bits 16", "'(32,4):(4,1)' '(128):(1)' --bits 32"],
    "swizzle": [
        "--write cp.async.16 --read ldmatrix --tile 64,64 --bits 16",
        "--write '(32,8):(8,1)' --read '((8,4),8):((1,64),8)' --tile 256 --bits 16",
    ],
    "explore": ["", "'A = (8,6):(1,8); logical_divide(A, (4,2))'", "--site folder --pyodide node_modules/pyodide"],
}


if __name__ == "__main__":
    process()
