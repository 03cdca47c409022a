"""Drawing a grid of 64 x 64 cells, beside writing as many numbers as strings.

    python tests/bench/draw.py

Milliseconds of process time, the best of several, and how often the numbers could be written meanwhile.
"""

import math
import time

ROUNDS = 9


def operations():
    """name -> a function that draws."""
    from tla import parse, viz

    zN = parse("((_16,_4),(_16,_4)):((_16,_256),(_1,_1024))")
    swizzled = parse("Sw<3,3,3> o _0 o (_64,_64):(_64,_1)")
    for name, layout in (("zN", zN), ("swizzle", swizzled)):
        for target in (viz.svg, viz.tikz, viz.text):
            yield f"{name}, {target.__name__}", lambda layout=layout, target=target: target(viz.draw(layout))
    yield "zN, svg, by bank", lambda: viz.svg(viz.draw(zN, color_by="bank", bits=16))
    yield (
        "zN beside its transpose, svg",
        lambda: viz.svg(viz.draw(zN, parse("((_16,_4),(_16,_4)):((_1,_1024),(_16,_256))"))),
    )


def milliseconds(run):
    best = math.inf
    for _round in range(ROUNDS):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best * 1e3


def main():
    plain = milliseconds(
        lambda: "\n".join(f'<text x="{n % 64 * 26}" y="{n // 64 * 24}">{n}</text>' for n in range(64 * 64))
    )
    print(f"{'4096 numbers as strings':32}{plain:8.2f} ms")
    for name, run in operations():
        took = milliseconds(run)
        print(f"{name:32}{took:8.2f} ms{took / plain:8.1f}")


if __name__ == "__main__":
    main()
