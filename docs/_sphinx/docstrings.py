"""The docstrings of tla as reStructuredText: they are plain text, written for help().

A docstring is made of blocks between blank lines: examples, which begin with >>>; tables, "name meaning" with what goes
on indented; and paragraphs. A backquote holds code, and nothing else is markup.
"""

import re

ROW = re.compile(r"(\S.*?) {2,}(\S.*)")
CODE = re.compile(r"`([^`]+)`")
MARKUP = re.compile(r"([\\*`|_<>\[\]])")
CALL = re.compile(r"`\w+((?:\[[A-Za-z][\w, ]*\])?\([^`]*\))`:")
LABEL = re.compile(r"\n(?=(?:Law|Source|Raises|Returns)\b)")


def inline(text):
    """Code in double backquotes, all else escaped."""
    parts = CODE.split(text)
    return "".join(f"``{part}``" if k % 2 else MARKUP.sub(r"\\\1", part) for k, part in enumerate(parts))


def table(lines):
    """A definition list: names are code, words such as Returns are not."""
    for line in lines:
        row = ROW.match(line)
        if row and not line.startswith(" "):
            name, meaning = row.groups()
            yield f"**{name}**" if name in ("Returns", "Raises") else f"``{name}``"
            yield f"   {inline(meaning)}"
        else:
            yield f"   {inline(line.strip())}"


def block(lines):
    if lines[0].startswith(">>>"):
        return lines
    if ROW.match(lines[0]):
        return [*table(lines)]
    return "\n\n".join(map(inline, LABEL.split("\n".join(lines)))).split("\n")


def restructured(lines):
    """The lines of a docstring, as reStructuredText."""
    out = []
    for text in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        out += [*block(text.split("\n")), ""]
    return out


def process(_app, _kind, _name, _value, _options, lines):
    lines[:] = restructured(lines)


def signature(_app, _kind, _name, value, _options, given, returns):
    """Where a docstring begins with how it is called, as `group[begin, end](x)`, that is the signature."""
    call = CALL.match(value.__doc__ or "")
    return (call[1], None) if call else (given, returns)


def setup(app):
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}
