"""The page of tla explore in headless Chromium; skipped where there is none. TLA_SCREENSHOTS=folder keeps a picture of each state."""

import contextlib
import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tla import xla
from tla.apps.explore.server import Server

pytest.importorskip("selenium", reason="needs selenium: pip install selenium")
from selenium import webdriver
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs a browser: apt-get install chromium chromium-driver"
)
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
--disable-sync --window-size=1200,1400"""
SEED = "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"


class Page:
    """The page, as someone with a keyboard and a mouse has it."""

    def __init__(self, driver, server):
        self.driver, self.server = driver, server

    def open(self, text=""):
        self.driver.get("about:blank")
        self.driver.get(self.server.url(text))
        self.settle()

    def settle(self):
        """Wait until what was typed is answered, and painted."""
        done = "return typeof settled === 'function' && settled()"
        WebDriverWait(self.driver, 20, poll_frequency=0.02).until(lambda d: d.execute_script(done))
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def at(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.at(name).text

    def type(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)
        self.settle()

    def write(self, text):
        self.at("text").send_keys(Keys.CONTROL, "a", Keys.NULL)
        self.at("text").send_keys(Keys.DELETE, text)
        self.settle()

    def pairs(self, name):
        found = [x.text for x in self.at(name).find_elements(By.CSS_SELECTOR, "dt, dd")]
        return dict(zip(found[::2], found[1::2]))

    def point(self, row, column):
        """Point at a cell of the grid; the page says where it is."""
        script = """at('canvas').scrollIntoView(); const [x, y] = spot(arguments[0], arguments[1]), box = at('canvas').getBoundingClientRect();
            return [Math.round(box.x + x), Math.round(box.y + y)]"""
        actions = ActionBuilder(self.driver)
        actions.pointer_action.move_to_location(*self.driver.execute_script(script, row, column))
        actions.perform()
        self.settle()
        return self.pairs("cell")

    def colours(self, *cells):
        """The colours near the corners of cells."""
        script = """const canvas = at('canvas'), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return arguments[0].map(cell => { const [x, y] = spot(...cell), k = 4 * ((y - 8) * canvas.width + Math.round(x) - 9);
            return [...data.slice(k, k + 3)]; })"""
        return self.driver.execute_script(script, cells)

    def shot(self, name):
        if folder := os.environ.get("TLA_SCREENSHOTS"):
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            self.driver.set_window_size(1200, max(700, height + 150))
            self.settle()
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))
            self.driver.set_window_size(1200, 1400)

    def emulate(self, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(20)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def server():
    with Server(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def page(browser, server):
    """The page; what it asked for while a test ran came from its own server, and nothing was said against it."""
    browser.get_log("performance")
    browser.get_log("browser")
    page = Page(browser, server)
    yield page
    page.emulate("light")
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert all(url.startswith((server.url(), "data:", "about:")) for url in asked), asked
    assert browser.get_log("browser") == []


def test_typing_shows_the_grid(page):
    page.open()
    assert page.driver.switch_to.active_element == page.at("text")
    assert not page.at("drawing").is_displayed()
    page.shot("empty")
    page.write(SEED)
    assert page.text("value") == SEED
    assert page.pairs("facts")["size"] == "_96"
    assert page.at("grid").get_attribute("aria-label") == f"{SEED} , 8 by 12"
    first, same, below = page.colours([0, 0], [3, 3], [4, 0])
    assert first == same != below  # colours by tile
    page.shot("grid")


def test_hovering_says_what_a_cell_is(page):
    page.open(SEED)
    assert page.point(5, 9) == {"coordinate": "(5,9)", "natural": "((1,1),(1,2))", "index": "77", "offset": "85"}
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
    """From the text on with the tab key: to the grid, through it, through the steps, and numbers in the text with the arrows."""
    page.open("A = (8,6):(1,8); zipped_divide(A, (4, 2))")
    reached = []
    for _ in range(12):
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
        if reached[-1] == "on":
            first = page.text("step")
            page.type(Keys.ENTER)
            assert page.text("place").startswith("2 of ")
            assert page.text("step") != first
            break
    assert [x for x in reached if x] == ["examples", "colours", "bits", "grid", "back", "on"]
    page.write("(8,6):(1,8)")
    page.type(*[Keys.ARROW_LEFT] * 8)  # to the 6
    page.type(Keys.ARROW_UP)
    assert page.at("text").get_attribute("value") == "(8,7):(1,8)"
    page.type(Keys.ALT, Keys.ARROW_UP, Keys.NULL)
    assert page.text("value") == "(8,14):(1,8)"
    page.type(Keys.ALT, Keys.ARROW_DOWN, Keys.NULL)
    page.type(*[Keys.ARROW_DOWN] * 9)
    assert page.text("value") == "(8,0):(1,8)"
    assert "(no elements)" in page.text("notes")


def test_text_that_is_wrong(page):
    page.open(SEED)
    page.write("logcal_divide((4,2):(1,4), 2)")
    assert page.at("error").is_displayed()
    assert page.text("error").splitlines()[0] == "the operation, 'logcal_divide', is not known, at position 0"
    assert page.text("error").endswith("fix: write logical_divide")
    assert page.text("value") == SEED  # what was there stays
    assert page.at("text").get_attribute("aria-invalid") == "true"
    page.shot("error")
    page.write("4:1")
    page.type(Keys.SHIFT, Keys.ENTER, Keys.NULL, "(4,2):(1")
    assert page.driver.execute_script("return at('error').querySelector('pre').textContent") == f"(4,2):(1\n{' ' * 8}^"
    page.write("4:1")
    assert not page.at("error").is_displayed()


def test_markup_is_text(page):
    for text in ("<img src=x onerror=alert(1)>", "</textarea><script>alert(1)</script>", "A = <b>4:1</b>", '"><svg onload=alert(1)>'):
        page.open(text)
        assert page.at("text").get_attribute("value") == text
        assert page.at("error").is_displayed()
        assert page.driver.execute_script("return document.querySelectorAll('main img, main b, main script, main svg').length") == 0


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
    assert page.pairs("cell") == {"coordinate": "(255,255)", "natural": "(255,255)", "index": "65535", "offset": "65535"}
    page.shot("large")
    times = page.driver.execute_script(
        "return [...Array(51).keys()].map(k => { const start = performance.now(); at('grid').scrollTop = k * 97; look(k * 4, k * 3, true);"
        "paint(); return performance.now() - start; }).sort((a, b) => a - b)"
    )
    assert times[25] < 100, f"{times[25]} ms for a step in the grid, in the middle of {times}"  # 11 ms here, with both cores at work


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
    Select(page.at("colours")).select_by_value("offset")
    page.settle()
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
    page.driver.get("about:blank")
    page.driver.get(link)  # shared
    page.settle()
    assert page.text("value") == "(4,4):(1,4)"
    assert page.text("legend") == "colours: offsets from 0, light, to 15, dark"


def test_folded_modes_and_several_layouts_are_chosen(page):
    page.open("relayout(f32[2,3,4], f32[2,3,4]{0,1,2})")
    choice = Select(page.at("grids"))
    assert [x.text for x in choice.options] == [f"{shape} ({k},_,_)" for shape in ("f32[2,3,4]", "f32[2,3,4]{0,1,2}") for k in range(2)]
    choice.select_by_index(3)
    cell = page.point(2, 3)
    assert cell == {"coordinate": "(1,2,3)", "natural": "(1,2,3)", "index": "23", "offset": "23", "beside": "23 in f32[2,3,4]"}
    cell = page.point(1, 0)
    assert (cell["offset"], cell["beside"]) == ("3", "16 in f32[2,3,4]")  # of (1,1,0): 1 + 1*2 there, 12 + 1*4 here
    page.shot("relayout")


def test_step_by_step(page):
    page.open("A = (_24):(_3); B = (_2,_2):(_1,_6); logical_divide(A, B)")
    assert page.text("place") == "1 of 4, from the law of what follows"
    titles, after = [], []
    for _ in range(4):
        titles.append(page.at("step").find_element(By.TAG_NAME, "h3").text)
        after.append([x.text for x in page.at("step").find_elements(By.TAG_NAME, "dd")][-1])
        page.shot(f"step_{len(titles)}")
        page.at("on").click()
    assert titles == ["complement(B, size(A))", "MakeLayout(B, rest)", "composition(A, MakeLayout(B, rest))", "logical_divide(A, B)"]
    assert after[-1] == after[-2] == page.text("value")
    assert page.text("place") == "4 of 4"
    image = page.at("step").find_element(By.TAG_NAME, "img")
    assert page.driver.execute_script("return arguments[0].naturalWidth", image) > 50
    page.at("back").click()
    assert page.text("place").startswith("3 of 4")


def test_copies(page):
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"origin": page.server.url().rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    page.open("A = (4,2):(1,4); coalesce(A)")
    read = "navigator.clipboard.readText().then(arguments[0])"
    for button, said in (("link", "the link"), ("svg", "the SVG")):
        page.at(button).click()
        WebDriverWait(page.driver, 10).until(lambda d, said=said: page.text("copied") == f"{said} is copied")
        found = page.driver.execute_async_script(read)
        assert found == page.driver.current_url if button == "link" else found.startswith("<svg")
    page.at("code").find_element(By.TAG_NAME, "button").click()
    WebDriverWait(page.driver, 10).until(lambda d: page.text("copied") == "the Python is copied")
    assert page.driver.execute_async_script(read) == "from tla import coalesce, parse\n\nA = parse('(4,2):(1,4)')\nprint(coalesce(A))"


def test_dark_and_narrow(page):
    page.emulate("dark")
    page.open("bf16[20,250]{1,0:T(8,128)(2,1)}")
    assert page.driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
    page.at("grid").send_keys(Keys.ARROW_DOWN)
    page.settle()
    page.shot("dark")
    page.driver.set_window_size(500, 900)
    page.settle()
    assert page.driver.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
    page.driver.set_window_size(1200, 1400)


def test_a_server_that_is_gone_is_said(page, browser):
    with Server(0) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        gone = Page(browser, other)
        gone.open("4:1")
        other.shutdown()
    gone.write("4:2")
    assert gone.text("error").splitlines()[0].startswith("no answer: ")
    assert "still running" in gone.text("error")
    gone.driver.get("about:blank")
    time.sleep(0.1)
    with contextlib.suppress(Exception):
        browser.get_log("performance")
    browser.get_log("browser")


def test_every_control_has_a_name_and_contrast(page):
    page.open("A = (8,6):(1,8); zipped_divide(A, (4, 2))")
    nameless = (
        "return [...document.querySelectorAll('button, select, textarea, input, [tabindex]')].filter(x => x.offsetParent && "
        "!(x.textContent.trim() || x.labels?.length || x.getAttribute('aria-label'))).map(x => x.id)"
    )
    assert page.driver.execute_script(nameless) == []
    for scheme in ("light", "dark"):
        page.emulate(scheme)
        for name in ("ink", "faint", "mark"):
            assert contrast(*(page.driver.execute_script(COLOR, x) for x in (name, "paper"))) >= 4.5, (scheme, name)
            assert contrast(*(page.driver.execute_script(COLOR, x) for x in (name, "panel"))) >= 4.5, (scheme, name)


COLOR = """const x = document.createElement('p'); x.style.color = `var(--${arguments[0]})`; document.body.append(x);
const c = getComputedStyle(x).color; x.remove(); return c.match(/[0-9]+/g).map(Number)"""


def contrast(a, b):
    """Source: WCAG 2, contrast ratio."""

    def luminance(rgb):
        parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)
