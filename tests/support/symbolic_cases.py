"""Index expressions of kernels, as a survey found them."""

import json

from tla import dim, index, parse

from places import DATA

CASES = json.loads((DATA / "symbolic/cases.json").read_text())["cases"]


def built(case):
    names = {n: dim(n, multiple_of=unit) for n, unit in case["sizes"].items()}
    for v, below in case["below"].items():
        names[v] = index(v, parse(below, symbols=names))
    return parse(case["expr"], symbols=names)
