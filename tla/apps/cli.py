"""The command `tla`: layouts from a shell."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__, xla
from ..core.build import build_info
from ..core.errors import LeafTypeError, LoweringError, ParseError, RangeError, RankError, TlaError, Unproven
from ..core.int_tuple import IntTuple, product, product_each, size
from ..core.layout import require_origin
from ..core.on_demand import OnDemand
from ..notation.text import parse
from ..xla.grammar import named_shape
from . import arrays, hlo, terminal
from .terminal import Answer, plain

if TYPE_CHECKING:
    from .. import codegen, symbolic, viz
    from .explore.operations import Program
else:
    codegen, symbolic, viz = OnDemand("tla.codegen"), OnDemand("tla.symbolic"), OnDemand("tla.viz")

# Each command loads what it needs itself: numpy and a server of HTTP are of few.
_colouring, _kernels, _linear = OnDemand("tla.viz.colouring"), OnDemand("tla.viz.kernels"), OnDemand("tla.linear")
_accesses, _offsets, _triton = OnDemand("tla.access"), OnDemand("tla.tensors.offsets"), OnDemand("tla.linear.triton")
_explore, _server = OnDemand("tla.apps.explore"), OnDemand("tla.apps.explore.server")
_site = OnDemand("tla.apps.explore.site")

_Options = Callable[[argparse.ArgumentParser], None]

FAILED, INTERRUPTED = 1, 130  # argparse exits with 2 for a wrong command line
PORT = 8642
#: More offsets than this are not listed as JSON.
MAX_LISTED = 2**20


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
            _print(answer, arguments.json)
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
    print(f"tla: {message}", file=sys.stderr)
    return FAILED


def _print(answer: Answer, as_json: bool) -> None:
    value, text = answer
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a text of a program may hold what the terminal cannot show
    print(json.dumps(value, indent=2) if as_json else text(value), flush=True)


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
        sub = commands.add_parser(name, help=doc, description=doc, epilog=epilog, formatter_class=kind)
        if name != chosen:  # options name what is loaded for their command alone
            return
        sub.add_argument("--json", action="store_true", help="print JSON")
        for argument, text in arguments.items():
            sub.add_argument(argument, metavar=argument.upper(), help=text)
        if options is not None:
            options(sub)
        sub.set_defaults(run=run)

    command(lower, shape="an XLA shape, such as 'bf16[16,256]{1,0:T(8,128)(2,1)}'")
    command(show, _show_options, layout=LAYOUT)
    command(offset, layout=LAYOUT, coord="a coordinate, such as 5 or 1,5 or '(1,0),5'; in parentheses if it begins with a minus")
    command(hlo.hlo, hlo.options, file="the text of an HLO module, or - for standard input")
    command(arrays.explain, arrays.explain_options, shape="an XLA shape, such as 'f32[3,5]{1,0:T(2,2)}'")
    command(arrays.relayout, arrays.relayout_options, source="an XLA shape", destination="an XLA shape of the same elements")
    command(arrays.default, arrays.default_options, array="an element type and dimensions, such as 'bf16[8,300]'")
    sharded = "an XLA shape, or a type and dimensions"
    command(arrays.sharding, arrays.sharding_options, sharding="a sharding, such as '{devices=[2,4]<=[8]}'", array=sharded)
    command(draw, _draw_options)
    command(emit, _emit_options, layout=LAYOUT)
    command(emit_copy, _emit_copy_options, source=LAYOUT, destination="a layout of the same valid extents")
    command(access, _access_options, owners=OWNERS, memory_layout="where the tile lies: a layout, or '#ttg...' of shared memory")
    command(swizzle, _swizzle_options)
    command(explore, _explore_options)
    return parser


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
LAYOUT = "shape:stride, such as '((4,2),3):((3,12),1)', an XLA shape, or an expression, such as 'MakeLayout[half, zN](100, 60)'"
OWNERS = "who holds what: a (thread, value) layout onto the tile, or of Triton 'tensor<64x64xf16, #ttg...>', or '#ttg...' with --tile"


def _show_options(show: argparse.ArgumentParser) -> None:
    show.add_argument("--all", action="store_true", help="more lines than the screen has, too")


def _tile_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--bits", metavar="N", type=int, default=32, help="bits of an element; 32 by default")
    sub.add_argument("--tile", metavar="TILE", help="the extents of the tile, such as 64,64; '#ttg...' need it")
    sub.add_argument("--memory", metavar="NAME", default="NVIDIA_SHARED", help="a row of the table of memories; NVIDIA_SHARED by default")


def _access_options(access: argparse.ArgumentParser) -> None:
    _tile_options(access)
    access.add_argument("--width", metavar="N", type=int, help="bits of a lane's access; by default the widest")


def _swizzle_options(swizzle: argparse.ArgumentParser) -> None:
    _tile_options(swizzle)
    for name in ("write", "read"):
        swizzle.add_argument(f"--{name}", metavar="OWNERS", action="append", default=[], help=f"who {name}s: {OWNERS}")


def _code_options(sub: argparse.ArgumentParser, targets: Iterable[str]) -> None:
    sub.add_argument("--target", default="c", help=f"one of {', '.join(targets)}; c by default")
    sub.add_argument("--name", metavar="NAME", help="the name of the function")
    sub.add_argument("--multiple-of", metavar="NAME=N", nargs="+", default=[], help="what divides the sizes that have names")
    sub.add_argument("--check", choices=["function", "assert"], default="", help="write what the sizes have to meet as code, too")
    sub.add_argument("--at-most", metavar="NAME=N", nargs="+", default=[], help="how large they are at most")


def _emit_options(emit: argparse.ArgumentParser) -> None:
    _code_options(emit, (*codegen.TARGETS, *codegen.SYSTEMS))
    emit.add_argument("--coords", metavar="NAMES", help="the names of the coordinates, such as i,j or (i0,i1),j; i,j,... by default")
    emit.add_argument("--integer", metavar="TYPE", help="int32, int64, uint32 or uint64; by default int32 where all is proved to fit")


def _emit_copy_options(emit_copy: argparse.ArgumentParser) -> None:
    _code_options(emit_copy, codegen.WRITERS)
    emit_copy.add_argument("--bits", metavar="N", type=int, help="bits of an element: 8, 16, 32 or 64; 32, or as the layout says")


def _draw_options(draw: argparse.ArgumentParser) -> None:
    draw.add_argument("layouts", metavar="LAYOUT", nargs="+", help=LAYOUT)
    _show_options(draw)
    draw.add_argument("-o", dest="output", metavar="FILE", help="write it to FILE, which ends in .svg, .html, .tex, .txt or .png")
    rules = ", ".join(_colouring.RULES)
    draw.add_argument("--color-by", metavar="RULE", help=f"what colours mean: {rules}; with --threads thread or value")
    draw.add_argument("--tile", metavar="TILE", help="the extents of a tile of the first layout, such as 4,8")
    draw.add_argument(
        "--bits", metavar="N", type=int, help="bits of an element, for --color-by bank; by default as the layout says, else 32"
    )
    draw.add_argument("--thread", metavar="N", type=int, help="of an atom, a tiled MMA or a tiled copy: show what this thread holds")
    draw.add_argument("--threads", action="store_true", help="LAYOUT is (thread, value) -> element of --tile: draw who holds each")


def _explore_options(page: argparse.ArgumentParser) -> None:
    begin = "what the page begins with, such as 'A = (8,6):(1,8); logical_divide(A, (4,2))'"
    page.add_argument("expression", metavar="EXPRESSION", nargs="?", default="", help=begin)
    page.add_argument("--port", metavar="N", type=int, default=PORT, help=f"a port of this machine, {PORT} by default; 0 takes a free one")
    site = "write the page to FOLDER, as files for any web server: Python in the browser answers"
    page.add_argument("--site", metavar="FOLDER", help=site)
    page.add_argument("--pyodide", metavar="FOLDER", default="node_modules/pyodide", help="npm's package pyodide, for --site")
    page.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


# ------------------------------------------------------------------------------------------------- commands


def lower(arguments: argparse.Namespace) -> Answer:
    """The layout of an XLA array, what each of its modes is, and what memory it takes."""
    shape = named_shape(arguments.shape, {})
    layout = xla.lower(shape)
    dimensions = [
        {
            "extent": plain(extent),
            "padded": plain(padded),
            "digits": [{"extent": plain(d.extent), "stride": plain(d.stride), "role": d.role} for d in digits],
        }
        for extent, padded, digits in zip(require_origin("lower", layout), product_each(layout.shape), _digits(shape))
    ]
    value = {
        "shape": str(shape),
        "layout": str(layout),
        "origin_shape": str(layout.origin_shape),
        "dimensions": dimensions,
        "elements": plain(xla.element_count(shape)),
        "padded_elements": plain(xla.padded_element_count(shape)),
        "bits": shape.bits,
        "bytes": plain(xla.byte_size(shape)),
        "waste_bytes": plain(xla.waste(shape)),
    }
    return value, _lowered


def _digits(shape: xla.ArrayShape) -> tuple[tuple[xla.Digit, ...], ...]:
    """The digits of each dimension; none where a tile cuts what is no digit."""
    try:
        return xla.digits(shape)
    except LoweringError:
        return ((),) * len(shape.dimensions)


def _lowered(value: dict[str, Any]) -> str:
    grouped = terminal.grouped
    rows = [["dim", "extent", "padded", "extent:stride, fastest first"]]
    for k, d in enumerate(value["dimensions"]):
        digits = ", ".join(f"{x['extent']}:{x['stride']} {x['role']}" for x in d["digits"])
        rows.append([str(k), str(d["extent"]), str(d["padded"]), digits or ("1:0" if d["padded"] == 1 else "see the layout")])
    return "\n".join(
        [
            value["layout"],
            "",
            *terminal.table(rows, 1, terminal.width()),
            "",
            f"elements  {grouped(value['elements'])}, {grouped(value['padded_elements'])} with padding, {value['bits']} bits each",
            f"bytes     {terminal.grouped(value['bytes'])}{terminal.binary(value['bytes'])}",
            f"waste     {terminal.grouped(value['waste_bytes'])} bytes{_share(value['waste_bytes'], value['bytes'])}",
        ]
    )


def show(arguments: argparse.Namespace) -> Answer:
    """The grid of offsets of a layout; padding is a dot. Of a layout that is too large, its corner."""
    program = _closed(arguments.layout)
    if not arguments.json:
        scene = viz.draw(*_drawables(arguments.layout, program))
        return None, lambda _: _as_text(scene, arguments.all)
    layout = _layout_of(_one(arguments.layout, _drawn(arguments.layout, program)))
    if size(layout) > MAX_LISTED:
        raise RangeError(f"{size(layout)} offsets of {layout}", f"{MAX_LISTED} at most", "leave --json out: then it is the corner")
    return {"layout": str(layout), "origin_shape": str(layout.origin_shape), "offsets": _offsets.offsets(layout).tolist()}, str


def draw(arguments: argparse.Namespace) -> Answer:
    """Layouts drawn beside each other, as a picture in a file, or as text."""
    programs = [(text, _closed(text)) for text in arguments.layouts]
    drawables = [x for text, program in programs for x in _drawables(text, program)]
    tile = None if arguments.tile is None else _read_coord(arguments.tile)
    if arguments.threads:
        if len(drawables) > 1:
            raise RankError(f"{len(drawables)} layouts with --threads", "one", "draw them one by one")
        scene = viz.draw_threads(drawables[0], tile, arguments.color_by or "thread")
    else:
        rule = arguments.color_by or "tile"
        scene = viz.draw(*drawables, color_by=rule, tile=tile, bits=arguments.bits, thread=arguments.thread)
    if arguments.output is None:
        return _data(scene), lambda _: _as_text(scene, arguments.all)
    viz.save(scene, arguments.output)
    return {"file": arguments.output}, lambda value: f"wrote {value['file']}"


def _drawables(text: str, program: Program) -> tuple[Any, ...]:
    """What is drawn of an expression: its layouts, or an atom, a tiled MMA or a tiled copy."""
    value = program.value.value
    if isinstance(value, _kernels.KINDS):
        return (value,)
    _drawn(text, program)
    return _subjects(program)


def emit(arguments: argparse.Namespace) -> Answer:
    """The offset of a coordinate as a function of C, CUDA, Python, ...; or the layout as source of CuTe, TLA or XLA."""
    (subject,), target = _with_sizes(arguments, arguments.layout), arguments.target
    layout = _layout_of(subject)
    if target in codegen.SYSTEMS:
        return {"target": target, "text": codegen.source(layout, target)}, _text_of
    options = {"integer": arguments.integer, "check": arguments.check}
    text = codegen.emit(layout, target, arguments.coords, name=arguments.name or "offset", **options)
    return {"target": target, "text": text}, _text_of


def emit_copy(arguments: argparse.Namespace) -> Answer:
    """A copy from one layout to another as the text of a function, in C, C++, CUDA, HIP or OpenCL."""
    subjects = _with_sizes(arguments, arguments.source, arguments.destination)
    source, destination = map(_layout_of, subjects)
    widths = [_width(text) for text in (arguments.source, arguments.destination)]
    found = {bits: name for bits, name in widths if bits}
    if len(found) > 1 and arguments.bits is None:
        raise RangeError(f"a copy of {' to '.join(found.values())}", "elements of one width", "give it: --bits 16")
    options = {"element": next(iter(found), 32) if arguments.bits is None else arguments.bits, "check": arguments.check}
    text = codegen.emit_copy(source, destination, arguments.target, name=arguments.name or "copy", **options)
    return {"target": arguments.target, "text": text}, _text_of


def _text_of(value: dict[str, Any]) -> str:
    return str(value["text"]).rstrip("\n")


def _with_sizes(arguments: argparse.Namespace, *texts: str) -> list[Any]:
    """The layouts, or XLA arrays, that expressions say, whose sizes may be open; options say what is known of these."""
    names = {name: None for text in texts for name in _read(text).sizes}
    units, ends = (
        _facts(option, given, names) for option, given in (("multiple-of", arguments.multiple_of), ("at-most", arguments.at_most))
    )
    sizes = {name: symbolic.dim(name, multiple_of=units.get(name, 1), at_most=ends.get(name)) for name in names}
    return [_with_symbols(text, sizes) for text in texts]


def _with_symbols(text: str, sizes: dict[str, symbolic.SymInt]) -> Any:
    program = _read(text, sizes)
    if program.assumed:
        raise Unproven(f"{text}: whether {', and '.join(program.assumed)}", "sizes that fit", "say it, as in --multiple-of M=64")
    return _one(text, _drawn(text, program))


def _facts(option: str, given: Sequence[str], names: Iterable[str]) -> dict[str, int]:
    """The numbers that an option gives to names."""
    found = {}
    for fact in given:
        name, _, n = fact.partition("=")
        if not (n.isascii() and n.isdecimal() and len(n) < 20):
            raise LeafTypeError(f"--{option} {fact}", "a name and a number", f"write --{option} M=16")
        if name not in names:
            raise LeafTypeError(f"--{option} {fact}", f"a name in the layout: {', '.join(names) or 'it has none'}", "leave it out")
        found[name] = int(n)
    return found


def offset(arguments: argparse.Namespace) -> Answer:
    """The offset of a coordinate, in elements; a warning of one that is outside. The index of an XLA array has to be inside of it."""
    coord = _read_coord(arguments.coord)
    subject = _one(arguments.layout, _read_subjects(arguments.layout))
    if isinstance(subject, xla.ArrayShape):
        found = xla.linear_index(subject, coord if isinstance(coord, tuple) else (coord,))
    else:
        found = subject(coord)
    outside = _is_outside(coord, subject.shape) if not isinstance(subject, xla.ArrayShape) else False
    if outside:
        print(
            f"tla: {arguments.coord} is outside of the shape {subject.shape}: the layout goes on there, as it is written", file=sys.stderr
        )
    value = {"layout": arguments.layout, "coord": str(coord), "offset": plain(found), "outside": outside}
    return value, lambda value: str(value["offset"])


def _is_outside(coord: Any, shape: Any) -> bool:
    """Whether a part of a coordinate is past the extent of its mode, or before it."""
    if isinstance(coord, tuple):
        return any(_is_outside(c, s) for c, s in zip(coord, shape if isinstance(shape, tuple) else (shape,)))
    return not 0 <= int(coord) < int(product(shape))


def access(arguments: argparse.Namespace) -> Answer:
    """The cost of an access: wavefronts, the fewest there could be, the lanes that collide; sectors of global memory."""
    owners, place = (_owners(text, arguments.tile) for text in (arguments.owners, arguments.memory_layout))
    found = _accesses.access(owners, place, arguments.bits, arguments.width, arguments.memory)
    value = {
        name: getattr(found, name)
        for name in ("wavefronts", "least", "degree", "vector", "instructions", "total", "used", "moved", "lines")
    }
    value |= {
        "witness": found.witness._asdict() if found.witness else None,
        "memory": found.memory.name,
        "convention": found.memory.convention,
    }
    return value, lambda _: str(found)


def swizzle(arguments: argparse.Namespace) -> Answer:
    """The layout of shared memory with the fewest wavefronts for who writes and who reads, and why there is none better."""
    tile = None if arguments.tile is None else _extents(arguments.tile)
    writes, reads = ([_owners(text, arguments.tile) for text in texts] for texts in (arguments.write, arguments.read))
    found = _accesses.best_swizzle(writes, reads, arguments.bits, arguments.memory, tile)
    why = found.certificate
    value = {
        "layout": str(found.layout),
        "wavefronts": found.cost,
        "bound": why.bound,
        "met": why.met,
        "vectors": found.vectors,
        "why": why.text,
    }
    return value, lambda v: f"{v['layout']}\n{v['wavefronts']} wavefronts, accesses of {', '.join(map(str, v['vectors']))} bits: {v['why']}"


def _owners(text: str, tile: str | None) -> Any:
    """A layout, or the linear layout of one of Triton's, whose tensor is the tile."""
    if not text.lstrip().startswith("#"):
        value = _closed(text).value.value
        return value if isinstance(value, _linear.LinearLayout) else _layout_of(_one(text, _read_subjects(text)))
    found = _triton.from_text(text)
    if tile is None:
        raise RankError(f"{text:.60} without a tile", "the shape of the tensor", "add --tile 64,64")
    return found if isinstance(found, _triton.PaddedSharedLayout) else found.linear(_extents(tile))


def _extents(text: str) -> tuple[int, ...]:
    coord = _read_coord(text)
    return tuple(map(int, coord)) if isinstance(coord, tuple) else (int(coord),)


def explore(arguments: argparse.Namespace) -> Answer | None:
    """A page on which layouts, and expressions of them, are typed and looked at; served to this machine until Ctrl-C, or SIGTERM."""
    if arguments.site is not None:
        names = _site.build(Path(arguments.site), Path(arguments.pyodide))
        found = {"folder": arguments.site, "files": names}
        return found, lambda value: f"wrote {len(value['files'])} files to {value['folder']}; any web server serves them, without tla"
    _server.serve(arguments.port, arguments.expression, not arguments.no_browser, lambda url: _print_url(url, arguments.json))
    return None


def _print_url(url: str, as_json: bool) -> None:
    _print(({"url": url}, lambda value: f"{value['url']}\nCtrl-C ends it"), as_json)


# ------------------------------------------------------------------------------------------------- input, output


def _read(text: str, names: dict[str, Any] | None = None) -> Program:
    program: Program = _explore.read(text, names)
    return program


def _read_subjects(text: str) -> tuple[Any, ...]:
    """The layouts that an expression says, all of whose sizes are known."""
    return _drawn(text, _closed(text))


def _closed(text: str) -> Program:
    program = _read(text)
    if program.sizes:
        given = "".join(f"{name} = 64; " for name in program.sizes)
        raise Unproven(f"the sizes of {text}: {', '.join(program.sizes)}", "numbers", f"put them before it: '{given}{text}'")
    return program


def _subjects(program: Program) -> tuple[viz.Subject, ...]:
    subjects: tuple[viz.Subject, ...] = _explore.subjects(program)
    return subjects


def _width(text: str) -> tuple[int | None, str]:
    """The width of an element that a text says, and how it says it."""
    value = _read(text).value
    return value.bits, value.value.element_type if isinstance(value.value, xla.ArrayShape) else f"{value.bits} bits"


def _drawn(text: str, program: Program) -> tuple[Any, ...]:
    """The layouts of a program, and XLA arrays, with what their digits are: two of a relayout, all of a tuple."""
    found: tuple[Any, ...] = _explore.drawn(program.value.value)
    if found:
        return found
    fix = "write (4,2):(1,4), or f32[4,2], or MakeLayout[half, zN](100, 60)"
    raise LeafTypeError(f"{text} is no layout", "shape:stride, an XLA shape, or an expression of these", fix)


def _one(text: str, subjects: tuple[Any, ...]) -> Any:
    if len(subjects) != 1:
        raise RankError(f"{text}: {len(subjects)} layouts", "one", "give one of them; tla draw takes several")
    return subjects[0]


def _layout_of(subject: object) -> Any:
    return xla.lower(subject) if isinstance(subject, xla.ArrayShape) else subject


def _read_coord(text: str) -> Any:
    """`1,5` and `(1,5)` are the same coordinate."""
    try:
        inner = parse(f"({text})")
    except ParseError as error:
        raise ParseError(text, min(max(error.position - 1, 0), len(text)), *error.args[2:]) from None
    if not isinstance(inner, IntTuple):
        raise LeafTypeError(f"{text} is no coordinate", "an integer, or integers between commas", "write it as in 1,5 or (1,0),5")
    return inner[0] if len(inner) == 1 else inner


def _as_text(scene: viz.Scene, whole: bool) -> str:
    """A scene as the terminal can show it; no more lines than its screen has, if not all are asked for."""
    text = viz.text(scene, width=terminal.width(), color=terminal.colours(), ascii=not terminal.holds("│"))
    return text if whole else terminal.within_screen(text, "--all shows them, tla draw -o layout.svg draws them")


def _data(x: Any) -> Any:
    """A scene for JSON: its parts by name."""
    if hasattr(x, "_asdict"):
        return {name: _data(part) for name, part in x._asdict().items()}
    return [*map(_data, x)] if isinstance(x, tuple) else x


def _share(part: int | str, whole: int | str) -> str:
    return f", {terminal.percent(part, whole)}" if isinstance(part, int) and isinstance(whole, int) else ""


if __name__ == "__main__":
    sys.exit(main())
