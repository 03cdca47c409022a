"""The command `tla`: layouts from a shell."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..core.build import build_info
from ..core.errors import TlaError
from ..core.on_demand import OnDemand
from . import terminal
from .terminal import LAYOUT, OWNERS

# A command loads its own module.
_accesses, _arrays, _code = OnDemand("tla.apps.accesses"), OnDemand("tla.apps.arrays"), OnDemand("tla.apps.code")
_hlo, _layouts, _page = OnDemand("tla.apps.hlo"), OnDemand("tla.apps.layouts"), OnDemand("tla.apps.page")

FAILED, INTERRUPTED = 1, 130  # argparse exits with 2 for a wrong command line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for input that is refused, 2 for a wrong command line.

    >>> main(["offset", "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))", "1,5"])
    37
    0
    """
    terminal.open_missing_streams()
    given = sys.argv[1:] if argv is None else argv
    if not given:
        _parser(given).print_help()
        return 0
    arguments = _parser(given).parse_args(given)
    try:
        if (answer := arguments.run(arguments)) is not None:
            terminal.say(answer, arguments.json, arguments.json or getattr(arguments, "all", True))
        if verdict := getattr(arguments, "verdict", ""):  # of an answer that is given, and fails a check
            return _fail(verdict)
    except BrokenPipeError:  # the reader has seen enough: `tla hlo FILE | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return INTERRUPTED
    except TlaError as error:
        return _fail(str(terminal.in_shell_words(error.reason)))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))
    return 0


def _fail(message: str) -> int:
    terminal.complain(f"tla: {message}")
    return FAILED


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help whose examples keep their lines."""

    def add_text(self, text: str | None) -> None:
        super().add_text(text and terminal.filled(text))


#: The formatter with which argparse checks each argument that is added: without a width it would load shutil, to ask for the terminal's.
_UNSIZED = functools.partial(argparse.HelpFormatter, width=80)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line: of the command that it gives, with its options; else of all by their names."""
    description = "Memory layouts: CuTe's, Ascend's and XLA's, as one algebra."
    parser = argparse.ArgumentParser(prog="tla", description=description, formatter_class=_UNSIZED)
    parser.add_argument("--version", action="version", version=f"tla {__version__}, {build_info()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog)  # given, it costs no help to be written
    chosen = next((x for x in given if not x.startswith("-")), None)
    for name in [chosen] if chosen in COMMANDS else COMMANDS:
        module, arguments = COMMANDS[name]
        run = getattr(module, name.replace("-", "_"))
        doc, epilog = terminal.summary(run), "\n".join(["examples:", *(f"  tla {name} {given}" for given in EXAMPLES[name])])
        sub = commands.add_parser(name, help=doc, description=doc, epilog=epilog, formatter_class=_UNSIZED)
        if name != chosen:  # options name what is loaded for their command alone
            continue
        sub.add_argument("--json", action="store_true", help="print JSON")
        if name not in WHOLE:
            sub.add_argument("--all", action="store_true", help="more lines than the screen has, too")
        for argument, text in arguments.items():
            sub.add_argument(argument, metavar=argument.upper(), help=text)
        if options := getattr(module, f"{run.__name__}_options", None):
            options(sub)
        sub.set_defaults(run=run)
        sub.formatter_class = _Help
    parser.formatter_class = argparse.HelpFormatter
    return parser


#: Command -> the module that has it and its options, and its arguments with what the help says of each.
COMMANDS: dict[str, tuple[OnDemand, dict[str, str]]] = {
    "lower": (_layouts, {"shape": "an XLA shape, such as 'bf16[16,256]{1,0:T(8,128)(2,1)}'"}),
    "show": (_layouts, {"layout": LAYOUT}),
    "offset": (
        _layouts,
        {"layout": LAYOUT, "coord": "a coordinate, such as 5 or 1,5 or '(1,0),5'; in parentheses if it begins with a minus"},
    ),
    "hlo": (_hlo, {"file": "the text of an HLO module, or - for standard input"}),
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
    "access": (_accesses, {"owners": OWNERS, "memory_layout": "where the tile lies: a layout, or '#ttg...' of shared memory"}),
    "swizzle": (_accesses, {}),
    "explore": (_page, {}),
}

#: What these print is code, or an address: it is never cut.
WHOLE = "emit", "emit-copy", "explore"
#: Of each command, what its help shows that it can be given.
EXAMPLES = {
    "lower": ["'bf16[16,256]{1,0:T(8,128)(2,1)}'"],
    "show": ["'((4,2),(4,3)):((4,16),(1,32))'", "'A = (8,12):(12,1); zipped_divide(A, (4,3))'"],
    "offset": ["'((_4,_2),(_4,_3)):((_4,_16),(_1,_32))' 1,5", "'f32[3,5]{1,0:T(2,2)}' 2,3 --json"],
    "hlo": ["module.txt", "module.txt --by peak", "module.txt --advise", "new.txt --against old.txt --fail-if-peak-grows 2%"],
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
    "access": ["ldmatrix '(64,64):(64,1)' --bits 16", "'(32,4):(4,1)' '(128):(1)' --bits 32"],
    "swizzle": [
        "--write cp.async.16 --read ldmatrix --tile 64,64 --bits 16",
        "--write '(32,8):(8,1)' --read '((8,4),8):((1,64),8)' --tile 256 --bits 16",
    ],
    "explore": ["", "'A = (8,6):(1,8); logical_divide(A, (4,2))'", "--site folder --pyodide node_modules/pyodide"],
}


if __name__ == "__main__":
    sys.exit(main())
