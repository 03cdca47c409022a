"""An integer whose truth value and number cannot be asked: no path looks at an unknown size."""

import operator


class Unknown:
    """An integer that is not known. It keeps the expression that made it, to be evaluated when its value is."""

    is_undeclared = True  # nothing is said of its sign

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __str__(self):
        return self.name

    def __eq__(self, other):
        return isinstance(other, Unknown) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __bool__(self):
        raise AssertionError(f"the truth of {self.name} was asked")

    def __index__(self):
        raise AssertionError(f"the value of {self.name} was asked")

    __int__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __index__

    def __abs__(self):
        return Unknown(f"abs({self.name})", abs(self.value))


def _give(op):
    def forward(a, b):
        return Unknown(f"({a} {op.__name__} {b})", op(a.value, getattr(b, "value", b)))

    def backward(a, b):
        return Unknown(f"({b} {op.__name__} {a})", op(getattr(b, "value", b), a.value))

    return forward, backward


for _op, _name in (
    (operator.add, "add"),
    (operator.sub, "sub"),
    (operator.mul, "mul"),
    (operator.floordiv, "floordiv"),
    (operator.mod, "mod"),
):
    _forward, _backward = _give(_op)
    setattr(Unknown, f"__{_name}__", _forward)
    setattr(Unknown, f"__r{_name}__", _backward)


M, N = Unknown("M", 12), Unknown("N", 10)


def value(x):
    return tuple(map(value, x)) if isinstance(x, tuple) else getattr(x, "value", x)
