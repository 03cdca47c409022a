"""The page of tla explore in headless Chromium; skipped where there is none. TLA_SCREENSHOTS=folder keeps a
picture of each state.

By default each test runs once, on the server, dark or light, wide or narrow: every test has one of the four; and some
of them on the static site. With --night each runs in all four, and on the static site in one.
"""

import contextlib
import itertools
import json
import shutil
import time
import zlib

import pytest

from tla import logical_divide, parse, xla
from tla.apps.explore.answer import as_json
from tla.apps.explore.server import Server
from tla.apps.explore.site import build

from night import NIGHT

pytest.importorskip("selenium", reason="needs selenium: pip install selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from page import NPM, SCHEMES, WIDTHS, Folder, Page, chromium, served
from truth import DATA

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs a browser: apt-get install chromium chromium-driver",
)
AXE = next((path for path in [NPM / "axe-core" / "axe.min.js"] if path.exists()), None)
PYODIDE = pytest.mark.skipif(
    not (NPM / "pyodide").is_dir(), reason="needs Pyodide: npm install pyodide, and its folder node_modules in TLA_NPM"
)
SEED = "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"


def looks(name):
    """Where a test runs: the host, dark or light, and the width [pixels]."""
    looks = [*itertools.product(SCHEMES, WIDTHS)]
    one = looks[zlib.crc32(name.encode()) % len(looks)]
    if not NIGHT:
        return [("server", *one)]
    return [*(("server", *look) for look in looks), pytest.param(("site", *one), marks=PYODIDE)]


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        name = metafunc.function.__name__
        metafunc.parametrize("page", looks(name), indirect=True, ids=lambda look: "-".join(map(str, look)))


@pytest.fixture(scope="module")
def browser():
    driver = chromium()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def server():
    with served(Server(0)) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build(folder, NPM / "pyodide")
    return folder


@pytest.fixture(scope="module")
def site(browser, folder):
    """The static site in a tab of its own: Python is loaded there once."""
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    tab = browser.current_window_handle
    browser.switch_to.window(first)
    with served(Folder(folder)) as server:
        yield server, tab


@contextlib.contextmanager
def watched(browser, url):
    """What is asked for meanwhile comes from one server, and nothing is said against it."""
    browser.get_log("performance")
    browser.get_log("browser")
    yield
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert all(x.startswith((url, "data:", "about:")) for x in asked), asked
    assert browser.get_log("browser") == []


@pytest.fixture
def page(browser, request):
    """The page of the server or of the static site, dark or light, of a width."""
    host, scheme, width = request.param
    first = browser.current_window_handle
    server, tab = request.getfixturevalue("site") if host == "site" else (request.getfixturevalue("server"), first)
    browser.switch_to.window(tab)
    page = Page(browser, server, f"{host}_{scheme}_{width}")
    page.emulate(scheme, width)
    with watched(browser, server.url()):
        yield page
        if tab == first:  # what it still asks for is not the next test's
            browser.get("about:blank")
    page.emulate(*SCHEMES[:1], *WIDTHS[:1])
    browser.switch_to.window(first)


LINKED = {  # a text, a cell of the result -> the cells of what it was made of
    "A = (_8,_12):(_12,_1); zipped_divide(A, (_4, _3))": ((3, 2), {"A": "(3,3) at 39"}),
    "composition((6,2):(8,2), (4,3):(3,1))": ((1, 2), {"A": "(5,0) at 40", "B": "(1,2) at 5"}),
    "A = (_4,_2):(_1,_4); coalesce(A)": ((0, 5), {"A": "(1,1) at 5"}),
    "right_inverse((_4,_2):(_2,_1))": ((0, 3), {"A": "(3,0) at 6"}),
    "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)": ((1, 2), {"before the swizzle": "(1,2) at 66"}),
    "relayout(f32[4,6], f32[4,6]{0,1})": ((1, 2), {"f32[4,6]{0,1}": "(1,2) at 9"}),
}


def test_typing_shows_the_grid(page):
    page.open()
    assert page.driver.switch_to.active_element == page.at("text")
    assert (
        page.text("value") == SEED == page.at("text").get_attribute("placeholder")
    )  # an example is drawn while nothing is typed
    assert page.at("start").is_displayed()
    page.shot("empty")
    page.write(SEED)
    assert page.text("value") == SEED
    assert not page.at("start").is_displayed()
    assert page.pairs("facts")["size"] == "_96"
    assert page.at("grid").get_attribute("aria-label") == f"{SEED} , 8 by 12"
    first, same, below = page.colours([0, 0], [3, 3], [4, 0])
    assert first == same != below  # colours by tile
    page.shot("grid")


def test_hovering_says_what_a_cell_is(page):
    page.open(SEED)
    assert page.point(5, 9) == {"coordinate": "(5,9)", "offset": "85", "natural": "((1,1),(1,2))", "index": "77"}
    page.shot("hover")
    page.open("f32[3,5]{1,0:T(2,2)}")
    cell = page.point(2, 3)
    assert cell == {
        "coordinate": "(2,3)",
        "natural": "((0,1),(1,1))",
        "index": "14",
        "offset": "17",
        "mode 0": "tile 1, sublane 0",
        "mode 1": "tile 1, lane 1",
    }
    assert int(cell["offset"]) == xla.linear_index("f32[3,5]{1,0:T(2,2)}", (2, 3))
    assert page.point(3, 0)["offset"] == "14, padding"
    page.shot("hover_padding")


def test_the_keyboard_alone(page):
    """From the text on with the tab key: to the grid, through it, through the steps, and numbers in the text
    with the arrows."""
    page.open("A = (8,6):(1,8); zipped_divide(A, (4, 2))")
    reached = []
    if page.at("more").is_displayed():
        page.at("more").click()
        page.at("text").click()
    for _ in range(24):
        page.type(Keys.TAB)
        reached.append(page.driver.switch_to.active_element.get_attribute("id"))
        if reached[-1] == "grid":
            page.type(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
            assert page.pairs("cell")["coordinate"] == "(2,1)"
            page.type(Keys.END)
            assert page.pairs("cell")["coordinate"] == "(2,5)"
            page.type(Keys.CONTROL, Keys.HOME, Keys.NULL)
            assert page.pairs("cell")["coordinate"] == "(0,0)"
            page.type(Keys.ARROW_UP, Keys.ARROW_LEFT)
            assert page.pairs("cell")["coordinate"] == "(0,0)"
            page.shot("keyboard_grid")
        if page.driver.switch_to.active_element.tag_name == "summary":
            page.type(Keys.ENTER)
            assert page.steps()[0][1] is False
            break
    tools = [
        "who",
        "bits",
        *(["more"] if page.at("more").is_displayed() else []),
        "view",
        "colours",
        "shown",
        "zoom",
        "export",
        "link",
        "command",
    ]
    assert [x for x in reached if x] == [*tools, "grid"]
    page.write("(8,6):(1,8)")
    page.type(*[Keys.ARROW_LEFT] * 8)  # to the 6
    page.type(Keys.ALT, Keys.ARROW_UP, Keys.NULL)
    assert page.at("text").get_attribute("value") == "(8,7):(1,8)"
    page.type(Keys.ALT, Keys.SHIFT, Keys.ARROW_UP, Keys.NULL)
    assert page.text("value") == "(8,14):(1,8)"
    page.type(Keys.ALT, Keys.SHIFT, Keys.ARROW_DOWN, Keys.NULL)
    page.type(Keys.ALT, *[Keys.ARROW_DOWN] * 9, Keys.NULL)
    assert page.text("value") == "(8,0):(1,8)"
    assert "(no elements)" in page.text("notes")


def test_arrows_move_in_a_text_and_what_they_change_is_undone(page):
    """An arrow alone changes nothing, in a text of one line or of three; with Alt it does, and Ctrl+Z takes that back
    like any typing."""
    for text in ("(_4,_6):(_1,_4)", "A = (_4,_6):(_1,_4)\nB = (_4,_3):(_1,_4)\ncomposition(A, (_4,_3):(_1,_4))"):
        page.open()
        page.run("at('text').focus(); document.execCommand('insertText', false, arguments[0])", text)
        start = text.rindex("_4")
        for key in (Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP):
            page.run("at('text').setSelectionRange(arguments[0], arguments[0])", start + 2)
            page.type(key)
            assert page.at("text").get_attribute("value") == text
        page.run("at('text').setSelectionRange(arguments[0], arguments[0])", start + 2)
        page.type(Keys.ALT, Keys.ARROW_UP, Keys.NULL)
        assert page.at("text").get_attribute("value") == text[:start] + "_5" + text[start + 2 :]
        page.type(Keys.CONTROL, "z", Keys.NULL)
        assert page.at("text").get_attribute("value") == text


def test_text_that_is_wrong(page):
    page.open(SEED)
    page.write("logcal_divide((4,2):(1,4), 2)")
    assert page.at("error").is_displayed()
    assert page.text("error").splitlines()[0] == "the operation, 'logcal_divide', is not known, at position 0"
    assert page.text("error").endswith("fix: write logical_divide")
    assert not page.at("result").is_displayed()  # of the text before
    assert page.at("drawing").is_displayed()  # faint
    WebDriverWait(page.driver, 10).until(lambda d: page.at("choices").is_displayed())
    meant = page.at("choices").find_element(By.TAG_NAME, "button")
    assert meant.text == "logical_divide"
    assert page.at("text").get_attribute("aria-invalid") == "true"
    page.shot("error")
    page.click(meant)
    page.settle()
    assert page.text("value") == str(logical_divide(parse("(4,2):(1,4)"), 2))
    page.write("4:1")
    page.type(Keys.SHIFT, Keys.ENTER, Keys.NULL, "(4,2):(1")
    assert page.run("return at('error').querySelector('pre').textContent") == f"(4,2):(1\n{' ' * 6}^"
    page.write("4:1")
    assert not page.at("error").is_displayed()


def test_markup_is_text(page):
    for text in (
        "<img src=x onerror=alert(1)>",
        "</textarea><script>alert(1)</script>",
        "A = <b>4:1</b>",
        '"><svg onload=alert(1)>',
    ):
        page.open(text)
        assert page.at("text").get_attribute("value") == text
        assert page.at("error").is_displayed()
        assert (
            page.run("return document.querySelectorAll('main img, main #value b, main script, main svg').length") == 0
        )


def test_too_large_is_the_corner_and_a_note(page):
    page.open("(65536,65536):(1,65536)")
    assert page.text("notes") == "4,294,967,296 coordinates, 65536 x 65536: of these 8 x 16"
    assert page.point(3, 2)["offset"] == str(3 + 2 * 65536)
    page.shot("too_large")


def test_256_by_256_is_responsive(page):
    page.open("(256,256):(256,1)")
    assert page.point(1, 2)["offset"] == "258"
    page.at("grid").send_keys(Keys.CONTROL, Keys.END, Keys.NULL)
    page.settle()
    assert page.pairs("cell") == {
        "coordinate": "(255,255)",
        "offset": "65535",
        "natural": "(255,255)",
        "index": "65535",
    }
    page.shot("large")
    times = page.run(
        "return [...Array(51).keys()].map(k => { const start = performance.now(), s = sheets[0]; at('grid').scrollTop "
        "= k * 97;"
        "look(s, k * 4, k * 3, true); s.paint(); return performance.now() - start; }).sort((a, b) => a - b)"
    )
    assert times[25] < 100, (
        f"{times[25]} ms for a step in the grid, in the middle of {times}"
    )  # 11 ms here, with both cores at work


def test_sizes_that_are_not_known_are_asked_for(page):
    page.open("MakeLayout[half, zN](M, N)")
    assert not page.at("drawing").is_displayed()
    assert page.text("value") == "((_16,ceil(M/16)),(_16,ceil(N/16))):((_16,_256),(_1,ceil(M/16)*256))"
    page.shot("sizes")
    for name, size in (("M", "20"), ("N", "30")):
        page.driver.find_element(By.NAME, name).send_keys(size)
    page.driver.find_element(By.NAME, "N").send_keys(Keys.ENTER)
    page.settle()
    assert page.at("text").get_attribute("value") == "M = 20; N = 30; MakeLayout[half, zN](M, N)"
    assert page.text("value") == "((_16,2),(_16,2)):((_16,_256),(_1,512))"
    assert page.point(0, 0)["offset"] == "0"
    assert not page.at("sizes").is_displayed()
    page.open("zipped_divide((M,K):(_1,M), (_64,_32))")
    assert page.text("assumed") == "Assumed: 64 divides M, 32 divides K."


def test_the_back_button_and_the_address(page):
    page.open("(4,2):(1,4)")
    page.write("(4,3):(1,4)")
    page.type(Keys.ENTER)
    page.write("(4,4):(1,4)")
    page.type(Keys.ENTER)
    page.choose("colours", "offset")
    link = page.driver.current_url
    seen = []
    for _ in range(3):
        page.driver.back()
        page.settle()
        seen.append(page.text("value"))
        assert page.at("text").get_attribute("value") == seen[-1]
    assert seen == ["(4,4):(1,4)", "(4,3):(1,4)", "(4,2):(1,4)"]
    page.driver.forward()
    page.settle()
    assert page.text("value") == "(4,3):(1,4)"
    page.shot("back")
    page.go(link)  # shared
    assert page.text("value") == "(4,4):(1,4)"
    assert page.text("legend") == "colours: offsets from 0, light, to 15, dark"


def test_folded_modes_and_several_layouts_are_chosen(page):
    page.open("relayout(f32[2,3,4], f32[2,3,4]{0,1,2})")
    choice = Select(page.at("grids"))
    assert [x.text for x in choice.options] == ["(0,_,_)", "(1,_,_)"]
    choice.select_by_index(1)
    cell = page.point(2, 3)
    assert cell == {
        "coordinate": "(1,2,3)",
        "offset": "23",
        "natural": "(1,2,3)",
        "index": "23",
    }  # the other one shows (0,_,_)
    page.run("sheets[1].choice.value = 1; sheets[1].choice.dispatchEvent(new Event('change'))")
    cell = page.point(1, 0)
    assert (cell["offset"], cell["f32[2,3,4]{0,1,2}"]) == (
        "16",
        "(1,1,0) at 3",
    )  # of (1,1,0): 12 + 1*4 here, 1 + 1*2 there
    page.shot("relayout")


@pytest.mark.parametrize("text", LINKED)
def test_what_belongs_together_is_marked_together(page, text):
    page.open(text)
    (row, column), expected = LINKED[text]
    cell = page.point(row, column)
    assert {name: cell.get(name) for name in expected} == expected
    assert page.run("return sheets.map(s => s.marked.size)") == [1] * (len(expected) + 1)
    page.shot(f"linked_{[*LINKED].index(text)}")


def test_a_thread_is_marked_in_every_operand(page):
    page.open("SM80_16x8x16_F32F16F16F32_TN")
    assert page.point(0, 1)["held by"] == "T4V0"  # row 0 of B, K down: column 1 is of thread 4
    assert page.run("return sheets.map(s => s.marked.size)") == [4, 8, 4]
    page.shot("mma")


def test_a_layout_of_triton(page):
    page.open(
        "#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, "
        "0]}>"
    )
    assert page.point(5, 6)["held by"] == "T41V2"  # the second warp's second row of threads
    assert page.run("return sheets[0].marked.size") == 4
    page.write(
        "!ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>, #smem>"
    )
    assert page.text("value") == "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)"
    assert page.at("bits").get_attribute("placeholder") == "16"
    page.shot("triton")


def test_an_access_is_counted_and_what_collides_is_marked(page):
    page.open("(_64,_64):(_64,_1)")
    marked = "return [...sheets[0].marked].sort((a, b) => a - b)"
    page.at("bits").send_keys("16")
    page.choose("who", "16 bytes down the rows")
    assert page.text("accessed").startswith(
        "128-bit accesses: 32 wavefronts, 4 at least; 8-way conflict: lanes 0 to 7 of warp 0"
    )
    assert page.run(marked) == [64 * row + k for row in range(8) for k in range(8)]
    assert page.text("legend").startswith("colours: banks")
    page.shot("access")
    page.driver.refresh()  # the address keeps it
    page.settle()
    page.write("Sw<3,3,3> o _0 o (_64,_64):(_64,_1)")
    assert "no conflict" in page.text("accessed")
    assert page.run(marked) == []
    page.write("SM80_16x8x16_F32F16F16F32_TN")
    assert not page.at("who").is_enabled()
    assert not page.at("accessed").is_displayed()


STATES = {  # what is open -> a text, and what else is chosen
    "the first page": "",
    "a divide, with its steps": "A = (_8,_12):(_12,_1); zipped_divide(A, (_4, _3))",
    "an access with conflicts": "(_64,_64):(_64,_1)&bits=16&access=ldmatrix.x4",
    "an error": "logcal_divide(4:1, 2)",
    "an error after an answer": "logcal_divide(4:1, 2)",
    "sizes that are asked for": "MakeLayout[half, zN](M, N)",
    "an MMA": "SM80_16x8x16_F32F16F16F32_TN",
}


@pytest.mark.skipif(AXE is None, reason="needs axe: npm install axe-core, and its folder node_modules in TLA_NPM")
def test_axe_finds_nothing_and_no_width_scrolls(page):
    def judge(name):
        page.run(AXE.read_text())
        run = "axe.run({ resultTypes: ['violations'] }).then(found => arguments[0](found.violations))"
        found = page.driver.execute_async_script(run)
        assert [(x["id"], x["impact"], [n["html"][:200] for n in x["nodes"]]) for x in found] == [], name
        assert page.run("return document.documentElement.scrollWidth - innerWidth") <= 0, name
        page.shot(name.replace(" ", "_"))

    for name, text in STATES.items():
        if name == "an error after an answer":
            page.open(SEED)
            page.write(text)
        else:
            page.open(text.partition("&")[0], "".join(text.partition("&")[1:]))
        page.run("at('codes').scrollIntoView(); scrollTo(0, 0)")
        judge(name)
    page.run("program(new File([arguments[0]], 'module.txt'))", (DATA / "hlo" / "fp8_matmul__tpu7x.txt").read_text())
    WebDriverWait(page.driver, 20).until(lambda _: page.at("save-report").is_displayed())
    judge("the memory of a program")
    page.type(Keys.ESCAPE)


def test_two_cells_of_one_offset_are_shown(page):
    page.open("(4,2):(1,2)")
    assert page.pairs("cell")["not injective"] == "indices 2 and 4 are both at offset 2: they are marked"
    assert page.run("return [...sheets[0].marked]") == [4, 1]  # row by row: (2,0) and (0,1)


def test_what_stands_in_the_cells(page):
    page.open("(4,6):(6,1)")
    texts = "return [sheets[0].text(6), sheets[0].text(7)]"
    seen = []
    for shown in ("offset", "index", "coordinate"):
        page.choose("shown", shown)
        seen.append(page.run(texts))
    assert seen == [["6", "7"], ["1", "5"], ["(1,0)", "(1,1)"]]
    page.choose("zoom", "200 %")
    assert page.run("return sheets[0].height - sheets[0].raised") == 48
    assert "shown=coordinate" in page.driver.current_url
    page.shot("coordinates")


def test_cards_and_controls(page):
    page.open()
    cards = page.at("cards").find_elements(By.TAG_NAME, "button")
    assert len(cards) >= 6
    page.click(cards[2])
    page.settle()
    assert page.text("value").startswith("Sw<3,3,3>")
    assert page.text("legend").startswith("colours: banks of 4 bytes, elements of 16 bits")
    disabled = "return [...at('colours').options].filter(o => o.disabled).map(o => o.value)"
    assert page.run(disabled) == ["value", "lane", "sublane", "packing"]
    page.write("bf16[16,256]{1,0:T(8,128)(2,1)}")
    assert page.run(disabled) == ["value"]
    page.write("size(4:1)")
    assert not page.at("zoom").is_enabled()


@pytest.mark.parametrize("text", [f"{SEED}(", "zipped_div", "(8,6)"])
def test_what_has_no_grid_is_quiet_while_one_types(page, text):
    page.open(SEED)
    at_once = """const [text, done] = arguments, box = at('text'), wait = () => answered === question && waits
        ? done([at('error').hidden, at('drawing').hidden, at('value').textContent]) : setTimeout(wait);
        box.value = text; box.dispatchEvent(new Event('input')); setTimeout(wait);"""
    assert page.driver.execute_async_script(at_once, text) == [True, False, SEED]
    page.settle()
    assert page.at("error").is_displayed() == (text != "(8,6)")
    if page.at("error").is_displayed():
        assert page.run(
            "return at('error').getBoundingClientRect().bottom <= innerHeight"
        )  # the fix is seen without scrolling


def test_step_by_step(page):
    page.open("block = (_24):(_3); tile = (_2,_2):(_1,_6); logical_divide(block, tile)")
    (line, is_open), *inner = page.steps()
    assert line == "logical_divide(block, tile) → " + page.text("value")
    assert is_open
    assert [text.split(" →")[0] for text, _open in inner] == [
        "complement(tile, size(block))",
        "MakeLayout(tile, rest)",
        "composition(block, MakeLayout(tile, rest))",
    ]
    image = page.at("steps").find_element(By.TAG_NAME, "img")
    assert page.run("return arguments[0].naturalWidth", image) > 50
    page.click(page.at("steps").find_elements(By.TAG_NAME, "summary")[3])
    assert page.steps()[3][1]
    page.shot("steps")


def test_code_in_tabs(page):
    page.open("(_4,_2):(_1,_4)")
    tabs = lambda: page.at("tabs").find_elements(By.TAG_NAME, "button")  # noqa: E731
    page.run("at('codes').scrollIntoView()")
    WebDriverWait(page.driver, 10).until(lambda d: tabs())
    assert [x.text for x in tabs()][:5] == ["Python", "CuTe C++", "CuTe DSL", "TLA C++", "CATLASS DSL"]
    assert {"index in C", "index in CUDA", "index in HIP", "index in Pallas", "index in MLIR", "index in LaTeX"} <= {
        x.text for x in tabs()
    }
    page.click(next(x for x in tabs() if x.text == "index in C"))
    assert "int32_t offset(" in page.run("return at('code').querySelector('pre').textContent")
    assert page.run("return at('code').scrollWidth - at('code').clientWidth") <= 0
    page.write("(_4,_3):(_1,_4)")
    WebDriverWait(page.driver, 10).until(lambda d: "_3" in page.text("code"))
    page.shot("code")


def test_copies(page):
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"origin": page.server.url().rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    page.open("A = (4,2):(1,4); coalesce(A)")
    read = "navigator.clipboard.readText().then(arguments[0])"
    if page.at("more").is_displayed():
        page.at("more").click()
    begins = {
        "link": "https://tla-layouts.github.io/tla/explore/#e=A+%3D+",
        "command": "tla explore 'A = (4,2):(1,4); coalesce(A)'",
        "svg": "<svg",
    }
    for button, said in (("link", "the link"), ("command", "the command"), ("svg", "the SVG")):
        if button == "svg":
            page.click(page.at("export"))
        page.click(page.at(button))
        WebDriverWait(page.driver, 10).until(lambda d, said=said: page.text("copied") == f"{said} is copied")
        assert page.driver.execute_async_script(read).startswith(begins[button])
    page.run("at('codes').scrollIntoView()")
    WebDriverWait(page.driver, 10).until(lambda d: page.text("copy-code") == "Copy the Python")
    page.click(page.at("copy-code"))
    WebDriverWait(page.driver, 10).until(lambda d: page.text("copied") == "the Python is copied")
    assert (
        page.driver.execute_async_script(read)
        == "from tla import coalesce, parse\n\nA = parse('(4,2):(1,4)')\nprint(coalesce(A))"
    )


def test_the_cell_is_always_in_view(page):
    page.open("bf16[20,250]{1,0:T(8,128)(2,1)}")
    wanted = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 27)"}
    assert page.run("return getComputedStyle(document.body).backgroundColor") == wanted[page.scheme]
    page.at("grid").send_keys(Keys.ARROW_DOWN)
    page.settle()
    page.shot("tpu")
    cell = "const r = at('cell').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight + 1"
    page.run("at('grid').scrollIntoView()")
    assert page.run(cell)
    page.open("(8,8):(8,1)")
    assert page.run("return at('grid').getBoundingClientRect().top < innerHeight / 2")  # of a phone's screen too


def test_every_control_has_a_name_and_contrast(page):
    page.open("A = (8,6):(1,8); zipped_divide(A, (4, 2))")
    nameless = (
        "return [...document.querySelectorAll('button, select, textarea, input, [tabindex]')].filter(x => "
        "x.offsetParent && "
        "!(x.textContent.trim() || x.labels?.length || x.getAttribute('aria-label'))).map(x => x.id)"
    )
    assert page.run(nameless) == []
    for name in ("ink", "faint", "mark"):
        assert contrast(*(page.run(COLOR, x) for x in (name, "paper"))) >= 4.5, name
        assert contrast(*(page.run(COLOR, x) for x in (name, "panel"))) >= 4.5, name


COLOR = """const x = document.createElement('p'); x.style.color = `var(--${arguments[0]})`; document.body.append(x);
const c = getComputedStyle(x).color; x.remove(); return c.match(/[0-9]+/g).map(Number)"""


def contrast(a, b):
    """Source: WCAG 2, contrast ratio."""

    def luminance(rgb):
        parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# -------------------------------------------------------------------------------------- the server, and the static site


def test_a_server_that_is_gone_is_said(browser):
    with served(Server(0)) as other:
        page = Page(browser, other)
        page.open("4:1")
    page.write("4:2")
    assert page.text("error").splitlines()[0].startswith("no answer: ")
    assert "still running" in page.text("error")
    browser.get("about:blank")
    time.sleep(0.1)


ANSWERED = [  # by the server's Python and by the browser's
    *LINKED,
    "SM80_16x8x16_F32F16F16F32_TN",
    "bf16[20,250]{1,0:T(8,128)(2,1)}",
    "tensor<16x64xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = "
    "[1, 0]}>>",
    "(4,2):(1,2)",
    "logcal_divide(4:1, 2)",
    "MakeLayout[half, zN](M, N)",
]
ACCESSED = [  # counted by both
    ("(_64,_64):(_64,_1)", "ldmatrix.x4"),
    ("(256,64):(64,1)", "(1024,16):(16,1)"),
    ("f32[16,256]{1,0:T(8,128)}", "a row"),
    ("(48,48):(48,1)", "(48,(4,12)):(1,(48,192))"),
]
#: What is tried on the static site by default; --night tries all of it there.
SAMPLE = (
    test_typing_shows_the_grid,
    test_the_keyboard_alone,
    test_text_that_is_wrong,
    test_the_back_button_and_the_address,
    test_step_by_step,
)


@PYODIDE
def test_the_page_without_a_server(browser, site):
    server, tab = site
    first = browser.current_window_handle
    browser.switch_to.window(tab)
    page = Page(browser, server, "site")
    with watched(browser, server.url()):
        browser.get("about:blank")
        browser.get(server.url(SEED))
        WebDriverWait(browser, 20).until(lambda _: page.at("loading").is_displayed() or page.at("value").is_displayed())
        page.settle()
        assert page.text("value") == SEED  # the first example is drawn before Python is there
        assert page.run("return sheets.length") == 1
        WebDriverWait(browser, 120).until(lambda _: not page.at("loading").is_displayed())
        assert int(page.at("loaded").get_attribute("max")) > 10**7  # bytes: the bar was of these
        ask = (
            "const done = arguments[2]; engine('/answer', { text: arguments[0], color_by: 'auto', bits: null, access: "
            "arguments[1] }).then(done)"
        )
        for text, access in (*((x, "") for x in ANSWERED), *ACCESSED):
            found = browser.execute_async_script(ask, text, access)
            assert found == json.loads(as_json("/answer", {"text": text, "access": access})), text
        for test in SAMPLE if not NIGHT else ():
            test(page)
    browser.switch_to.window(first)


@PYODIDE
def test_a_page_that_cannot_load_says_what_it_needs(browser, folder, tmp_path):
    for name in folder.glob("*.*"):
        (tmp_path / name.name).write_bytes(name.read_bytes())
    (tmp_path / "pyodide").mkdir()
    with served(Folder(tmp_path)) as server:  # as of an upload that ended early
        page = Page(browser, server)
        for text in ("", "(4,4):(1,4)"):  # the first example is there, and then no other is
            page.open(text)
            WebDriverWait(browser, 20).until(lambda _: page.at("error").is_displayed())
            assert page.text("error").splitlines()[0] == "no answer: the page cannot load"
        assert "each file of its folder" in page.text("error")
    browser.get((folder / "index.html").as_uri())
    page.settle()
    assert "python -m http.server" in page.text("error")
    browser.get("about:blank")
