"""The command `tla`: layouts from a shell."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from .. import __version__
from ..core.build import build_info
from ..core.errors import TlaError
from ..core.on_demand import OnDemand
from . import accesses, arrays, code, hlo, layouts, terminal
from .accesses import OWNERS
from .expressions import LAYOUT
from .terminal import Answer

_server = OnDemand("tla.apps.explore.server")  # of HTTP, which one command needs
_site = OnDemand("tla.apps.explore.site")

_Options = Callable[[argparse.ArgumentParser], None]

FAILED, INTERRUPTED = 1, 130  # argparse exits with 2 for a wrong command line
PORT = 8642


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
            _print(answer, arguments)
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
    lines = f"tla: {message}".split("\n")
    on_terminal = sys.stderr.isatty()
    print(terminal.wrapped(lines, shutil.get_terminal_size().columns) if on_terminal else "\n".join(lines), file=sys.stderr)
    return FAILED


def _print(answer: Answer, arguments: argparse.Namespace) -> None:
    value, text = answer
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a text of a program may hold what the terminal cannot show
    shown = json.dumps(value, indent=2) if arguments.json else text(value)
    whole = arguments.json or getattr(arguments, "all", True)
    print(shown if whole else terminal.within_screen(shown, "--all shows them"), flush=True)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line: of the command that it gives, with its options; else of all by their names."""
    parser = argparse.ArgumentParser(prog="tla", description="Memory layouts: CuTe's, Ascend's and XLA's, as one algebra.")
    parser.add_argument("--version", action="version", version=f"tla {__version__}, {build_info()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = next((x for x in given if not x.startswith("-")), None)

    def command(run: Callable[[argparse.Namespace], Answer | None], options: _Options | None = None, **arguments: str) -> None:
        name = run.__name__.replace("_", "-")
        if chosen in EXAMPLES and name != chosen:
            return
        doc = terminal.summary(run)
        epilog = "\n".join(["examples:", *(f"  tla {name} {given}" for given in EXAMPLES[name])])
        kind = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(
            name, help=doc, description=textwrap.fill(doc, shutil.get_terminal_size().columns - 2), epilog=epilog, formatter_class=kind
        )
        if name != chosen:  # options name what is loaded for their command alone
            return
        sub.add_argument("--json", action="store_true", help="print JSON")
        if name not in WHOLE:
            sub.add_argument("--all", action="store_true", help="more lines than the screen has, too")
        for argument, text in arguments.items():
            sub.add_argument(argument, metavar=argument.upper(), help=text)
        if options is not None:
            options(sub)
        sub.set_defaults(run=run)

    command(layouts.lower, shape="an XLA shape, such as 'bf16[16,256]{1,0:T(8,128)(2,1)}'")
    command(layouts.show, layout=LAYOUT)
    command(layouts.offset, layout=LAYOUT, coord="a coordinate, such as 5 or 1,5 or '(1,0),5'; in parentheses if it begins with a minus")
    command(hlo.hlo, hlo.options, file="the text of an HLO module, or - for standard input")
    command(arrays.explain, arrays.explain_options, shape="an XLA shape, such as 'f32[3,5]{1,0:T(2,2)}'")
    command(arrays.relayout, arrays.relayout_options, source="an XLA shape", destination="an XLA shape of the same elements")
    command(arrays.default, arrays.default_options, array="an element type and dimensions, such as 'bf16[8,300]'")
    sharded = "an XLA shape, or a type and dimensions"
    command(arrays.sharding, arrays.sharding_options, sharding="a sharding, such as '{devices=[2,4]<=[8]}'", array=sharded)
    command(layouts.draw, layouts.draw_options)
    command(code.emit, code.emit_options, layout=LAYOUT)
    command(code.emit_copy, code.emit_copy_options, source=LAYOUT, destination="a layout of the same valid extents")
    command(
        accesses.access,
        accesses.access_options,
        owners=OWNERS,
        memory_layout="where the tile lies: a layout, or '#ttg...' of shared memory",
    )
    command(accesses.swizzle, accesses.swizzle_options)
    command(explore, _explore_options)
    return parser


#: What these print is code, or an address: it is never cut.
WHOLE = "emit", "emit-copy", "explore"
#: Of each command, what its help shows that it can be given.
EXAMPLES = {
    "lower": ["'bf16[16,256]{1,0:T(8,128)(2,1)}'"],
    "show": ["'((4,2),(4,3)):((4,16),(1,32))'", "'A = (8,12):(12,1); zipped_divide(A, (4,3))'"],
    "offset": ["'((_4,_2),(_4,_3)):((_4,_16),(_1,_32))' 1,5", "'f32[3,5]{1,0:T(2,2)}' 2,3 --json"],
    "hlo": ["module.txt", "module.txt --by peak", "module.txt --advise"],
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
    "access": ["'(32,4):(4,1)' '(128):(1)' --bits 32"],
    "swizzle": ["--write '(32,8):(8,1)' --read '((8,4),8):((1,64),8)' --tile 256 --bits 16"],
    "explore": ["", "'A = (8,6):(1,8); logical_divide(A, (4,2))'", "--site folder --pyodide node_modules/pyodide"],
}


def _explore_options(page: argparse.ArgumentParser) -> None:
    begin = "what the page begins with, such as 'A = (8,6):(1,8); logical_divide(A, (4,2))'"
    page.add_argument("expression", metavar="EXPRESSION", nargs="?", default="", help=begin)
    page.add_argument("--port", metavar="N", type=int, default=PORT, help=f"a port of this machine, {PORT} by default; 0 takes a free one")
    site = "write the page to FOLDER, as files for any web server: Python in the browser answers"
    page.add_argument("--site", metavar="FOLDER", help=site)
    page.add_argument("--pyodide", metavar="FOLDER", default="node_modules/pyodide", help="npm's package pyodide, for --site")
    page.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


def explore(arguments: argparse.Namespace) -> Answer | None:
    """A page on which layouts, and expressions of them, are typed and looked at; served to this machine until Ctrl-C, or SIGTERM."""
    if arguments.site is not None:
        names = _site.build(Path(arguments.site), Path(arguments.pyodide))
        found = {"folder": arguments.site, "files": names}
        return found, lambda value: f"wrote {len(value['files'])} files to {value['folder']}; any web server serves them, without tla"
    _server.serve(arguments.port, arguments.expression, not arguments.no_browser, lambda url: _print_url(url, arguments))
    return None


def _print_url(url: str, arguments: argparse.Namespace) -> None:
    _print(({"url": url}, lambda value: f"{value['url']}\nCtrl-C ends it"), arguments)


if __name__ == "__main__":
    sys.exit(main())
