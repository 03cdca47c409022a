"""The picture of the packages: `python docs/_sphinx/packages.py` writes docs/packages.svg. A package stands above all
that it imports.

An arrow goes from a package to each that it imports, but for those that another arrow leads to on the way. In a package
stand the names of its rooms, the folders in it, each before those that import it.
"""

import ast
import functools
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2] / "tla"
WIDTH, HEIGHT, APART, LEVEL = 160, 62, 18, 104
TEXT = 'font-family="system-ui, sans-serif" text-anchor="middle"'


@functools.cache
def imported(path):
    """The modules of tla that a module imports, as their names' parts: tla.core.ints is ["core", "ints"]."""
    return [*_imported(path.relative_to(ROOT).parts[:-1], path.read_text(encoding="utf-8"))]


def _imported(inside, source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "OnDemand":
            yield node.args[0].value.split(".")[1:]  # none of a module of Python's own
        elif isinstance(node, ast.ImportFrom) and node.level:
            parts = [*inside[: len(inside) - node.level + 1], *(node.module or "").split(".")]
            yield from ([*filter(None, parts), alias.name] for alias in node.names)


def folders(at):
    return sorted(path.parent.name for path in at.glob("*/__init__.py"))


def graph():
    """package -> the packages that it imports, from the imports as they are."""
    packages = folders(ROOT)
    return {
        name: {parts[0] for path in (ROOT / name).rglob("*.py") for parts in imported(path) if parts}
        & {*packages} - {name}
        for name in packages
    }


def rooms(package):
    """The rooms of a package, each before those that import it."""
    names = folders(ROOT / package)
    inner = {
        name: [parts for path in (ROOT / package / name).rglob("*.py") for parts in imported(path)] for name in names
    }
    below = {
        name: sorted({p[1] for p in found if p[:1] == [package] and len(p) > 1} & {*names} - {name})
        for name, found in inner.items()
    }
    return [*TopologicalSorter(below).static_order()]


def lines_of(names, most=26):
    """Names in lines of at most so many characters."""
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 1 > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {name}".strip()
    return lines


def drawn(below):
    """The picture as SVG."""
    order = [*TopologicalSorter(below).static_order()]
    every, level = {}, {}
    for name in order:
        every[name] = below[name].union(*(every[b] for b in below[name]))
        level[name] = 1 + max((level[b] for b in below[name]), default=-1)
    rows = [sorted(name for name in order if level[name] == k) for k in range(max(level.values()) + 1)]
    width = max(len(row) for row in rows) * (WIDTH + APART) + APART
    height = len(rows) * LEVEL + APART
    place = {}
    for k, row in enumerate(rows):
        for n, name in enumerate(row):
            place[name] = (
                width / 2 + (n - (len(row) - 1) / 2) * (WIDTH + APART),
                height - APART - k * LEVEL - HEIGHT / 2,
            )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    ]
    lines.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    for name in order:
        for b in sorted(below[name] - set().union(*(every[c] for c in below[name]))):
            (x, y), (u, v) = place[name], place[b]
            curve = f"M{x:g} {y + HEIGHT / 2:g} C{x:g} {y + 50:g} {u:g} {v - 50:g} {u:g} {v - HEIGHT / 2:g}"
            lines.append(f'<path d="{curve}" fill="none" stroke="#888888"/>')
    for name in order:
        x, y = place[name]
        box = f'x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"'
        lines.append(f'<rect {box} fill="#eef4fb" stroke="#0072b2"/>')
        inner = lines_of(rooms(name)) if rooms(name) else []
        lines.append(
            f'<text x="{x:g}" y="{y + 5 - 8 * len(inner):g}" {TEXT} font-size="15" fill="#000000">{name}</text>'
        )
        for k, text in enumerate(inner):
            lines.append(
                f'<text x="{x:g}" y="{y + 12 + 13 * k - 6 * (len(inner) - 1):g}" {TEXT} font-size="11" fill="#444444">{text}</text>'
            )
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    (ROOT.parent / "docs" / "packages.svg").write_text(drawn(graph()), encoding="utf-8")
