"""Element types: each has the width that its name says."""

import re

import tla
from tla.core import element
from tla.core.element import Element

#: Those whose names say no width, or another: a complex number has two parts, one accumulator of their product by Gauss
#: is three products.
WIDTHS = {"half": 16, "float": 32, "double": 64, "gauss_complex128": 3 * 64, "complex_tf32": 2 * 32}


def test_each_element_has_the_width_of_its_name():
    found = {name: x for name, x in vars(element).items() if isinstance(x, Element)}
    assert len(found) >= 30
    for name, x in found.items():
        digits = re.search(r"\d+", name)
        assert (x.name, x.bits) == (name, WIDTHS.get(name) or int(digits[0]))
        assert x.group == (2 if name.startswith("fp4") else 1)  # which are stored in pairs
        assert x.C0 == 256 // x.bits
        assert tla.is_static(x.C0)
        assert x == Element(x.name, x.bits, group=x.group) != Element(x.name, x.bits, group=3)
