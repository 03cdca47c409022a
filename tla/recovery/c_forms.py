"""The forms of declarations and statements of the C family, as regular expressions: what a line may begin with."""

from __future__ import annotations

import re

from .languages import FRACTIONS, SIZES

GAP = r"\s{0,99}"
WORD = r"[A-Za-z_][\w:]*(?:<[\w\s:,]*>)?"
#: The words of a type, and the name that is declared behind it.
DECLARED = re.compile(
    rf"((?:{WORD}(?:{GAP}[*&]{{1,2}}{GAP}|\s{{1,99}})){{1,9}})([A-Za-z_]\w*){GAP}(?==(?!=)|[;,\[({{])"
)
PARAMETER = re.compile(
    rf"{GAP}((?:{WORD}(?:{GAP}[*&]{{1,2}}{GAP}|\s{{1,99}})){{1,9}})([A-Za-z_]\w*){GAP}((?:\[\w*\])*){GAP}\Z"
)
BODY = re.compile(
    r"\(([^(){};]*)\)\s*(?:(?:const|noexcept|mutable|__[a-z]{1,40}__)\s*)*(?:->\s{0,9}([\w:]+(?:\s{1,9}[\w:]+){0,9})\s{0,9})?\{"
)
LAMBDA = re.compile(r"\[([\w\s,=&]*)\]\s*(?:__[a-z]{1,40}__\s{0,9})*(?=\()")
USING = re.compile(
    r"using\s+(\w+)\s*=\s{0,9}([\w:]+(?:\s{1,9}[\w:]+){0,9})\s{0,9};|typedef\s+((?:[\w:]+\s{1,9}){1,9})(\w+)\s*;"
)
FRACTION = re.compile(
    rf"(?:const\s{{1,9}})?(?:{'|'.join(sorted({*FRACTIONS, *SIZES}))})\s{{1,9}}\w+\s{{0,9}}=[^;{{}}]{{0,9999}};"
)
EMPTY = re.compile(r"\[\s*\]")
TEMPLATE = re.compile(r"template\s*<([^<>(){};]*)>")
TEMPLATE_PARAMETER = re.compile(r"\s{0,99}((?:[A-Za-z_][\w:]*\s{1,99}){1,9})([A-Za-z_]\w*)\s{0,99}(=\s{0,99})?")
STRUCT = re.compile(r"(?:struct|class|namespace)\s+([A-Za-z_]\w*)\s*\{")
ENUM = re.compile(r"enum(?:\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*))?\s*(?::\s*([\w:]+(?:\s+\w+){0,2})\s*)?\{")
ACCESS = re.compile(r"(?:public|private|protected)\s*:")
IGNORED = re.compile(
    r"\(\s*void\s*\)\s*\w+\s*;|(?:static_assert|assert|__builtin_assume|__syncthreads)\s*\((?:[^()]|\([^()]*\))*\)\s*;"
)
#: What a loop passes over: a value that is stored, up to the end of the statement.
STORED = re.compile(r"[^;{}]{0,9999};")
#: Words in front of a type that say nothing of its integers.
QUALIFIERS = re.compile(
    r"\b(?:__\w+__|__restrict|restrict|extern|static|inline|constexpr|consteval|typename|auto|const|volatile|KERNEL|void)\b"
)
