"""The numbers that element types have: one question for every store of a value, whether its type holds it.

Integers have to fit. Floats are rounded; a number past the ends, an infinity and a NaN are refused where the
type has none.

Source: IEEE 754; OCP 8-bit Floating Point and Microscaling Formats; ml_dtypes, whose names tell the formats apart; the
PTX manual, alternate floating point data formats.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .arrays import range_of
from .cache import plain_memo
from .element import DTYPES
from .errors import LeafTypeError, RangeError

if TYPE_CHECKING:
    import numpy.typing as npt

#: Compared exactly, whatever it is.
Number: TypeAlias = "int | float | Fraction"


class Format(NamedTuple):
    """The numbers of an element type.

    kind            "bool", "integer", "real" or "complex", whose two parts are these
    low, high       the least and the largest finite one
    first, last     what is rounded to a finite one lies between them; of integers the ends
    closed          whether first and last themselves are rounded to one: of two that are as near to the one without a
                    last odd digit
    infinite, nan   whether it has infinities, and NaN
    digits, least   of floats: the bits behind the point, and the exponent of the least number that has all of them
    """

    kind: str
    low: Number
    high: Number
    first: Number
    last: Number
    closed: bool = True
    infinite: bool = False
    nan: bool = False
    digits: int = 0
    least: int = 0

    def rounds(self, low: Number, high: Number) -> bool:
        """Whether all finite numbers from low to high are rounded to one of its own."""
        return self.first <= low and high <= self.last if self.closed else self.first < low and high < self.last

    def holds_all_of(self, other: Format) -> bool:
        """Whether each number of another format is one of these, once it is rounded."""
        specials = self.infinite >= other.infinite and self.nan >= other.nan
        return _KINDS.index(self.kind) >= _KINDS.index(other.kind) and specials and self.rounds(other.low, other.high)

    @property
    def text(self) -> str:
        """The numbers in words."""
        ends = f"{_text(self.low)} to {_text(self.high)}"
        names = [name for name, has in (("infinities", self.infinite), ("NaN", self.nan)) if has]
        return f"{ends}, {' and '.join(names)}" if names else ends


#: A kind takes the numbers of those before it.
_KINDS = ("bool", "integer", "real", "complex")


def _text(end: Number) -> str:
    end = Fraction(end)
    return (
        str(end) if end.denominator == 1 and abs(end) < 1 << 64 else f"{Decimal(end.numerator) / end.denominator:.6g}"
    )


def _integers(low: float, high: float) -> Format:
    return Format("integer", low, high, low, high)


def _reals(
    mantissa: int,
    exponent: int,
    infinite: bool = True,
    nan: bool = True,
    spare: int = 0,
    low: Fraction | None = None,
    least: int | None = None,
) -> Format:
    """A float format.

    mantissa   the bits behind the point
    exponent   of the largest number
    spare      how many codes with this exponent are no number: NaN of what has no infinities
    low        the least number, where that is not the negative of the largest
    least      the exponent of the least number with all bits; by default that of IEEE's formats
    """
    step = Fraction(2) ** (exponent - mantissa)
    digits = (2 << mantissa) - 1 - spare  # of the largest number, in steps
    high, beyond = digits * step, step / 2
    first = -high - beyond if low is None else low * Fraction(3, 4) if low else low
    ends = -high if low is None else low, high, first, high + beyond
    return Format("real", *ends, digits % 2 == 0, infinite, nan, mantissa, 1 - exponent if least is None else least)


_FORMATS: dict[str, Format] = {
    "object": _integers(-math.inf, math.inf),  # of Python, as sums are that were made exact
    "bool": _integers(0, 1)._replace(kind="bool"),
    "float16": _reals(10, 15),
    "bfloat16": _reals(7, 127),
    "float32": _reals(23, 127),
    "tf32": _reals(10, 127),
    "float64": _reals(52, 1023),
    "float8_e3m4": _reals(4, 3),
    "float8_e4m3": _reals(3, 7),
    "float8_e5m2": _reals(2, 15),
    "float8_e4m3fn": _reals(3, 8, infinite=False, spare=1, least=-6),
    "float8_e4m3fnuz": _reals(3, 7, infinite=False, least=-7),
    "float8_e4m3b11fnuz": _reals(3, 4, infinite=False, least=-10),
    "float8_e5m2fnuz": _reals(2, 15, infinite=False, least=-15),
    "float8_e8m0fnu": _reals(0, 127, infinite=False, low=Fraction(1, 2**127), least=-127),
    "fp8_ue4m3": _reals(3, 8, infinite=False, spare=1, low=Fraction(0), least=-6),
    "float6_e2m3fn": _reals(3, 2, infinite=False, nan=False, least=0),
    "float6_e3m2fn": _reals(2, 4, infinite=False, nan=False, least=-2),
    "float4_e2m1fn": _reals(1, 2, infinite=False, nan=False, least=0),
    "fp4_e1m2": _reals(2, 0, infinite=False, nan=False, least=0),
}
_FORMATS |= {f"complex{2 * bits}": _FORMATS[f"float{bits}"]._replace(kind="complex") for bits in (32, 64)}


def format_of(kind: Any) -> Format | None:
    """The numbers of an element type, or of a dtype of numpy or ml_dtypes; None where they are not known, and
    of what has none.

    >>> import numpy
    >>> from tla.ascend import fp4_e2m1, int4b
    >>> format_of(fp4_e2m1).text, format_of(int4b).text, format_of(numpy.dtype("float16")).text
    ('-6 to 6', '-8 to 7', '-65504 to 65504, infinities and NaN')
    """
    name: str = kind.name
    return _named(DTYPES.get(name, name), getattr(kind, "kind", ""))


@plain_memo
def _named(name: str, kind: str) -> Format | None:
    """The format of a dtype's name; kind: numpy's letter of it."""
    if ends := range_of(name):
        return _integers(*ends)
    return _of_numpy(name, kind) if kind and kind in "fc" and name not in _FORMATS else _FORMATS.get(name)


def _of_numpy(name: str, kind: str) -> Format:
    """The format of one of numpy's own floats that the table has not, such as long double."""
    import numpy as np

    found = np.finfo(name)
    return _reals(int(found.nmant), int(found.maxexp) - 1)._replace(kind="complex" if kind == "c" else "real")


def integers_of(dtype: Any) -> tuple[int, int] | None:
    """The least and the largest integer of an element type, the int4 of ml_dtypes included; None where it
    has other values."""
    return range_of(dtype.name)


def holds_all(wanted: Any, given: Any) -> bool:
    """Whether an element type holds all values of another, floats being rounded: then no value has to be looked at.

    >>> import numpy
    >>> [holds_all(numpy.dtype("float16"), numpy.dtype(name)) for name in ("int8", "float16", "float32", "int32")]
    [True, True, False, False]
    """
    import numpy as np

    formats = format_of(wanted), format_of(given)
    return (
        formats[0].holds_all_of(formats[1]) if formats[0] and formats[1] else bool(np.can_cast(given, wanted, "safe"))
    )


def require_castable(given: object, wanted: object) -> None:
    """LeafTypeError for a type of elements that another cannot hold: integers must fit, floats may be rounded.

    Whether a float type holds the numbers themselves is asked of these: `held`.
    """
    numbers, own = format_of(wanted), format_of(given)
    if numbers and own and numbers.kind in ("real", "complex"):
        fits = _KINDS.index(own.kind) <= _KINDS.index(numbers.kind)
    else:
        fits = holds_all(wanted, given)
    if not fits:
        fix = f"convert them first: x.astype({str(wanted)!r})"
        raise LeafTypeError(f"elements of {given} into {wanted}", f"a type that holds every {given}", fix)


def require_numbers(what: str, values: Any, kind: object) -> None:
    """RangeError where an element type does not hold numbers of an array: an integer or a finite number past its ends,
    an infinity, a NaN.

    what   the store, for the message
    kind   a dtype, or an element type whose values another dtype carries
    """
    numbers = format_of(kind)
    if numbers is None or values.size == 0 or format_of(values.dtype) is None:
        return
    for part in (values.real, values.imag) if values.dtype.kind == "c" else (values,):
        _require_real(what, part, kind, numbers)


def _require_real(what: str, values: npt.NDArray[Any], kind: object, numbers: Format) -> None:
    import numpy as np

    with np.errstate(invalid="ignore", over="ignore"):  # ml_dtypes compares NaN aloud
        ends = values.min(), values.max()
        if not all(isinstance(x, int) or np.isfinite(x) for x in ends):
            for has, name, found in (
                (numbers.nan, "NaN", np.isnan(values)),
                (numbers.infinite, "an infinity", np.isinf(values)),
            ):
                if not has and found.any():
                    raise RangeError(
                        f"{what}: {name} as {kind}", numbers.text, "replace it first, or use another element type"
                    )
            values = values[np.isfinite(values)]
            if not values.size:
                return
            ends = values.min(), values.max()
        exact = [_exact(x, kind) for x in ends]
    if lost := [end for end, x in zip(ends, exact) if not numbers.rounds(x, x)]:
        several = numbers.kind == "integer" and ends[0] != ends[1]
        given = f"integers from {ends[0]} to {ends[1]}" if several else f"{lost[-1]} as {kind}"
        raise RangeError(f"{what}: {given}", numbers.text, "use a wider element type")


def _exact(x: Any, kind: object) -> Number:
    """A number as one of Python's, as it stands when it is rounded: to ml_dtypes' types it goes by way of float32."""
    import numpy as np

    if getattr(kind, "isbuiltin", None) == 2:
        return float(np.float32(x))
    if isinstance(x, (int, np.bool_, np.integer)):
        return int(x)
    return Fraction(*x.as_integer_ratio()) if x.dtype.itemsize > 8 else float(x)


def held(what: str, values: Any, dtype: Any) -> Any:
    """An array as one of another type, which holds what is in it: floats are rounded, all else is refused.

    >>> import numpy
    >>> held("a store", numpy.array([1.2, -3]), numpy.dtype("float16"))
    array([ 1.2, -3. ], dtype=float16)
    >>> held("a store", numpy.array([300]), numpy.dtype("int8"))
    Traceback (most recent call last):
    tla.core.errors.RangeError: a store: 300 as int8
      expected  -128 to 127
      fix       use a wider element type

    Raises     RangeError for what does not fit. That the types go together is for the caller to
               ask: require_castable, or converted
    """
    if not holds_all(dtype, values.dtype):
        require_numbers(what, values, dtype)
    if values.dtype == object and dtype.kind not in "iu":
        values = values.astype("float64")  # of Python's integers ml_dtypes makes none of its own
    return values.astype(dtype, copy=False)


def rounded(values: Any, dtype: Any) -> Any:
    """An array or tracer as one of another type, as hardware stores it: floats are rounded, past the largest
    one is infinity.

    Nothing is asked: it is for integers that are known to fit. Numbers that a user gives go through held or converted.

    >>> import numpy
    >>> rounded(numpy.array([1.2, 1e9]), numpy.dtype("float16"))
    array([1.2, inf], dtype=float16)
    """
    import numpy as np

    with np.errstate(over="ignore"):
        return values.astype(dtype)


def nearest(values: Any, kind: Any) -> Any:
    """Numbers rounded to those of a float type that numpy has not, in float64: to the nearest, of two to the one whose
    last bit is 0; past the largest to an infinity, where the type has infinities. See `rounded`.

    >>> import numpy
    >>> from tla.ascend import bf16, fp8_e4m3
    >>> nearest(numpy.array([918.75, 44.625, 44.875, 1e39]), bf16), nearest(numpy.array([1.3, 0.001, 460]), fp8_e4m3)
    (array([920. ,  44.5,  45. ,   inf]), array([1.250000e+00, 1.953125e-03, 4.480000e+02]))
    """
    import numpy as np

    numbers = format_of(kind)
    if numbers is None or numbers.kind != "real":
        raise LeafTypeError(
            f"rounding to {kind}", "a float type whose numbers are known", "leave the values as they are"
        )
    values = np.asarray(values, np.float64)
    exponents = np.maximum(np.frexp(values)[1] - 1, numbers.least)
    step = np.ldexp(1.0, exponents - numbers.digits)
    found = np.rint(values / step) * step
    return np.where(abs(found) > float(numbers.high), np.copysign(np.inf, found), found) if numbers.infinite else found


def converted(what: str, values: Any, dtype: Any) -> Any:
    """An array as one of another type, as `held`: integers have to fit by value, whatever else their type has; 0 and 1
    as truth values.

    >>> import numpy
    >>> converted("a store", numpy.array([3]), numpy.dtype("int8"))
    array([3], dtype=int8)

    Raises     what require_castable raises of other types, and what held raises
    """
    kinds = [numbers.kind if numbers else "" for numbers in map(format_of, (values.dtype, dtype))]
    if kinds[0] != "integer" or kinds[1] not in ("bool", "integer"):
        require_castable(values.dtype, dtype)
    return held(what, values, dtype)
