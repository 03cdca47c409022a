"""The page of tla explore at 256 x 256: the answer to a keystroke, and in Chromium, where there is one, from the
key to the picture.

    python tests/bench/explore.py

Of an answer milliseconds of processor time, the best of several, and how often as many numbers could be written as JSON
meanwhile. Of the browser milliseconds of a clock, the best too: they say something on an idle machine alone.
"""

import json
import shutil
import sys
from pathlib import Path

from draw import milliseconds

TEXTS = {
    "the first page": "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))",
    "plain": "(_256,_256):(_256,_1)",
    "swizzled": "Sw<3,3,3> o _0 o (_256,_256):(_256,_1)",
    "swizzled, not injective": "Sw<3,3,3> o _0 o (256,256):(255,1)",
    "a divide": "A = (_256,_256):(_256,_1); zipped_divide(A, (_16,_16))",
}
KEY = """const [text, done] = arguments, frame = () => new Promise(requestAnimationFrame);
(async () => {
  const start = performance.now(), box = at('text');
  box.value = text;
  box.dispatchEvent(new Event('input'));
  while (!settled()) await new Promise(found => setTimeout(found));
  await frame();
  await frame();
  done(performance.now() - start);
})();"""


def answers():
    from tla.apps.explore.answer import as_json

    numbers = [*range(2**16)]
    plain = milliseconds(lambda: json.dumps(numbers))
    print(f"{'65,536 numbers as JSON':32}{plain:8.2f} ms")
    for name, text in TEXTS.items():
        took = milliseconds(lambda text=text: as_json("/answer", text, "auto", None, ""))
        print(f"{name:32}{took:8.2f} ms{took / plain:8.1f}")


def pictures():
    sys.path.append(str(Path(__file__).parent.parent / "support"))
    from tla.apps.explore.server import Server

    from page import Page, chromium, served

    with served(Server(0)) as server:
        page = Page(chromium(), server)
        page.emulate("light", 1440)
        first = []
        for _ in range(5):
            page.open()
            first.append(page.run("return performance.now()"))
        print(f"{'the first page, opened':32}{min(first):8.0f} ms")
        for name, text in TEXTS.items():
            took = min(page.driver.execute_async_script(KEY, text) for _ in range(9))
            print(f"{f'{name}, key to picture':40}{took:8.0f} ms")
        page.driver.quit()


if __name__ == "__main__":
    answers()
    if shutil.which("chromium") and shutil.which("chromedriver"):
        pictures()
