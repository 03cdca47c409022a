"""What users come to the page for, each done by what they see: labels, buttons, lists and what is offered.
TLA_TIMES=file notes the seconds.

Each task runs on the server; with --night also on the static site, and in Firefox where it is installed. Nothing that
is typed here is a guess: it is what the user has (a print, a shape), or the first letters of what the
page then completes.
"""

import contextlib
import json
import os
import shutil
import time

import pytest

from tla import xla
from tla.apps.explore.server import Server
from tla.apps.explore.site import build

from night import NIGHT

pytest.importorskip("selenium", reason="needs selenium: pip install selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from page import NPM, Folder, Page, chromium, firefox, may_evaluate, served
from truth import DATA

CUTE = json.loads((DATA / "cute" / "prints.json").read_text())["rows"]
BROWSERS = {"chromium": (chromium, "chromedriver"), "firefox": (firefox, "geckodriver")}
PLACES = [("chromium", "server")]
if NIGHT or os.environ.get("TLA_TIMES"):
    PLACES += [("chromium", "site"), ("firefox", "server"), ("firefox", "site")]
#: Drop a text with a file's name on the page.
DROP = """const dropped = new DataTransfer();
dropped.items.add(new File([arguments[0]], arguments[1]));
document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }))"""


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def page(request, tmp_path_factory):
    browser, host = request.param
    make, driver = BROWSERS[browser]
    if not (shutil.which(browser) or shutil.which(f"{browser}-esr")) or not shutil.which(driver):
        pytest.skip(f"needs a browser: {browser} and {driver}")
    folder = tmp_path_factory.mktemp("saved")
    with contextlib.ExitStack() as stack:
        if browser == "firefox":
            may_evaluate(stack.enter_context(pytest.MonkeyPatch.context()))
        if host == "site":
            if not (NPM / "pyodide").is_dir():
                pytest.skip("needs Pyodide: npm install pyodide, and its folder node_modules in TLA_NPM")
            site = tmp_path_factory.mktemp("site")
            build(site, NPM / "pyodide")
            server = stack.enter_context(served(Folder(site)))
        else:
            server = stack.enter_context(served(Server(0)))
        driver = make(folder)
        stack.callback(driver.quit)
        page = Page(driver, server, f"{browser}_{host}")
        page.saved = folder
        page.open()  # of the site, Python is loaded once
        yield page


@pytest.fixture(autouse=True)
def timed(request, page):
    page.open()
    start = time.perf_counter()
    yield
    if file := os.environ.get("TLA_TIMES"):
        with open(file, "a") as out:
            print(f"{request.node.name} {time.perf_counter() - start:.2f}", file=out)


def button(page, text, inside="body"):
    """The button that one sees with a text."""
    found = page.driver.find_elements(By.CSS_SELECTOR, f"{inside} button")
    return next(x for x in found if x.is_displayed() and x.text.strip() == text)


def by_label(page, text):
    """The control that a visible label names."""
    label = next(
        x
        for x in page.driver.find_elements(By.TAG_NAME, "label")
        if x.is_displayed() and x.text.strip().startswith(text)
    )
    return label.find_element(By.CSS_SELECTOR, "select, input").get_attribute("id")


def wait(page, what):
    WebDriverWait(page.driver, 60, poll_frequency=0.05).until(lambda _: what())


def test_a_a_print_of_cute_with_its_threads_and_values(page):
    print_ = next(r["text"] for r in CUTE if r["code"].startswith("make_tiled_mma(SM80_16x8x16"))
    page.paste(print_)
    assert page.run("return sheets.map(s => s.figure.role)") == ["B", "A", "C"]
    page.look(2, 0, 0)
    assert page.pairs("cell")["held by"] == "T0V0"
    page.paste("sA : Sw<3,4,3>_smem_ptr[16b](0x0) o (_8,_64):(_64,_1)")
    page.look(0, 1, 9)
    assert page.pairs("cell")["offset"] == str(64 + (9 ^ 8))
    assert page.at("bits").get_attribute("placeholder") == "16"
    assert "ptr[16b]" in page.text("said")


def test_b_the_conflict_of_ldmatrix_and_what_mends_it(page):
    page.paste("(64,64):(64,1)")
    page.at(by_label(page, "Bits")).send_keys("16")
    page.choose(by_label(page, "Accessed by"), "ldmatrix.x4")
    assert "8-way conflict" in page.text("accessed")
    button(page, "Find the swizzle").click()
    wait(page, lambda: page.at("mended").is_displayed())
    page.settle()
    assert page.text("mended-title") == "Without the conflict"
    said = page.text("mended-text")
    assert "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)" in said
    assert "i * 64 + (j ^ ((i & 7) * 8))" in said
    assert "⊕" in said
    assert page.run("return mendedSheets.length") == 2
    button(page, "Take it").click()
    page.settle()
    assert "no conflict" in page.text("accessed")


def test_c_two_layouts_beside_each_other(page):
    page.paste("(8,8):(8,1), Sw<3,0,3> o _0 o (8,8):(8,1)")
    assert page.text("compared") == "they differ at 56 of 64 coordinates, first at (1,0): 8 and 9"
    assert page.run("return sheets.map(s => s.clash.size)") == [56, 56]
    page.paste("(4,8):(8,1), (8,4):(4,1)")
    assert page.text("compared").startswith("4 x 8 and 8 x 4, compared by the index: differ at ")


def test_d_the_tiles_and_the_padding_of_an_array(page):
    page.paste("bf16[20,250]{1,0:T(8,128)(2,1)}")
    assert page.pairs("facts")["padding"] == "2,288 bytes, 18.6 %"  # 24 rows of 256, 2 bytes each, hold 20 of 250
    page.choose(by_label(page, "Zoom"), "fit")
    assert page.run(
        "const b = sheets[0].box; return b.scrollWidth <= b.clientWidth + 1 && b.scrollHeight <= b.clientHeight + 1"
    )


def test_e_a_composition_step_by_step(page):
    button_ = next(
        x for x in page.at("cards").find_elements(By.TAG_NAME, "button") if x.text.startswith("A composition")
    )
    page.click(button_)
    page.settle()
    assert page.steps()[0][0].startswith("composition(")
    page.look(0, 1, 2)
    assert page.run("return sheets.map(s => s.marked.size)") == [1, 1, 1]


def test_f_an_atom_by_what_one_remembers_of_it(page):
    page.write("m16n8k16")
    wait(page, lambda: page.at("choices").is_displayed())
    assert len(page.at("choices").find_elements(By.TAG_NAME, "button")) >= 8
    button(page, "SM80_16x8x16_F32F16F16F32_TN", "#choices").click()
    page.settle()
    assert page.run("return sheets.map(s => s.figure.role)") == ["B", "A", "C"]
    corners = page.run("return sheets.map(s => { const r = s.root.getBoundingClientRect(); return [r.left, r.top]; })")
    (b, a, c) = corners
    assert b[0] == c[0]  # B above C
    assert a[1] == c[1]  # A left of it
    assert b[1] < c[1]
    assert a[0] < c[0]
    button(page, "Reference").click()
    page.at("search").send_keys("mfma 16x16x16")
    wait(page, lambda: "v_mfma_f32_16x16x16_f16" in page.text("matches"))
    page.type(Keys.ESCAPE)


def test_g_a_tensor_of_triton(page):
    text = (
        "tensor<32x32xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order "
        "= [1, 0]}>>"
    )
    page.paste(text)
    page.look(0, 5, 6)
    assert page.pairs("cell")["held by"] == "T41V2"
    page.paste("(32,32):(32,1)")
    page.choose(by_label(page, "Accessed by"), "a tiled copy, an atom, Triton's, or (thread, value) …")
    page.at("access").send_keys(text)
    page.settle()
    assert "elements of 16 bits" in page.text("accessed")


def test_m_the_address_that_a_kernel_computes(page):
    if "site" in page.name:
        pytest.skip("needs numpy, which Python in a browser has not")
    button(page, "Read code").click()
    page.at("expression-text").send_keys("const int c = col / 8;\nsmem[row * p->ld + c * 8 + col % 8]")
    page.at("expression-shape").send_keys("64,64")
    page.at("expression-coords").send_keys("row,col")
    page.at("expression-values").send_keys("p->ld = 64")
    button(page, "Draw its layout").click()
    page.settle()
    assert not page.at("expression").is_displayed()
    assert page.text("value") == "(_64,_64):(_64,_1)"
    page.at(by_label(page, "Bits")).send_keys("16")
    page.choose(by_label(page, "Accessed by"), "ldmatrix.x4")
    assert "8-way conflict" in page.text("accessed")
    button(page, "Find the swizzle").click()
    wait(page, lambda: page.at("mended").is_displayed())
    assert "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)" in page.text("mended-text")
    page.paste('layout_of("i * 64 + table[j]", (64, 64))')
    assert "an index that depends on data" in page.text("error")
    assert page.text("error").splitlines()[2].index("^") == 'layout_of("i * 64 + table[j]"'.index("table")


def test_h_a_link_that_opens_elsewhere(page):
    page.paste("(8,8):(8,1)")
    page.choose(by_label(page, "Accessed by"), "a column")
    link = page.run("return link()")
    assert link.startswith("https://")
    assert "127.0.0.1" not in link
    page.open()
    page.driver.get(page.server.url() + link[link.index("#") :])
    page.settle(120)
    assert page.at("text").get_attribute("value") == "(8,8):(8,1)"
    assert "conflict" in page.text("accessed")


def test_i_the_drawing_and_the_code(page):
    page.paste("Sw<3,3,3> o _0 o (8,64):(64,1)")
    for title, name, begins in (
        ("SVG", "layout.svg", b"<svg"),
        ("PNG", "layout.png", b"\x89PNG"),
        ("TikZ", "layout.tex", b"\\"),
        ("HTML with hover", "layout.html", b"<!"),
        ("CSV of offsets", "layout.csv", b"i,j,index,offset\n0,0,0,0\n"),
    ):
        if not page.at("formats").is_displayed():
            button(page, "Export").click()
        button(page, f"Save {title}").click()
        file = page.saved / name
        wait(page, lambda file=file: file.exists() and file.stat().st_size)
        assert file.read_bytes().lstrip().startswith(begins), title
        file.unlink()
    page.run("at('codes').scrollIntoView()")
    wait(page, lambda: page.at("tabs").find_elements(By.TAG_NAME, "button"))
    for tab, holds in (
        ("index in C", "^"),
        ("index in HIP", "offset"),
        ("index in MLIR", "arith"),
        ("CuTe C++", "Swizzle<3, 3, 3>"),
    ):
        page.click(button(page, tab, "#tabs"))
        assert holds in page.text("code"), tab


def test_j_words_complete_with_the_keyboard_alone(page):
    page.at("text").send_keys("zipp")
    wait(page, lambda: page.at("words").is_displayed())
    page.type(Keys.ARROW_DOWN)
    chosen = page.at("text").get_attribute("aria-activedescendant")
    assert page.at(chosen).text.startswith("zipped_divide(")
    page.type(Keys.ENTER)
    assert page.at("text").get_attribute("value") == "zipped_divide("
    page.type("(8,12):(12,1), (4,3))")
    assert not page.at("words").is_displayed()
    page.settle()
    assert page.text("value") == "((4,3),(2,4)):((12,1),(48,3))"
    page.type(Keys.CONTROL, "a", Keys.NULL)
    page.type("(256,256):(256,1)")
    page.settle()
    times = page.run(
        "return [...Array(31).keys()].map(k => { const start = performance.now(), s = sheets[0]; look(s, k * 8, k * 8, "
        "true); s.paint();"
        "return performance.now() - start; }).sort((a, b) => a - b)"
    )
    assert times[15] < 100


def test_k_the_memory_of_a_program_dropped_on_the_page(page):
    file = DATA / "hlo" / "fp8_matmul__tpu7x.txt"
    memory = xla.memory(file)
    page.run(DROP, file.read_text(), "module.txt")
    wait(page, lambda: page.at("save-report").is_displayed())
    assert page.text("program-title") == "Memory of module.txt"
    assert f"{memory.peak[0].bytes:,}" in page.text("report")
    name = memory.peak[0].buffers[0].name
    link = next(
        x for x in page.at("report").find_elements(By.CSS_SELECTOR, "a") if name in x.get_attribute("textContent")
    )
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))", link)
    assert name in page.at("report").find_element(By.CSS_SELECTOR, "tr.main").text
    button(page, "Save the report").click()
    wait(page, lambda: (page.saved / "report.html").exists())
    page.run(DROP, "no program", "notes.txt")
    wait(page, lambda: "HLO" in page.text("report"))
    assert not page.at("save-report").is_displayed()
    page.type(Keys.ESCAPE)
    assert not page.at("program").is_displayed()


def test_l_the_site_opens_again_without_a_network(page):
    """From what the browser keeps, with the server gone; the last test, for it ends the server."""
    if not page.is_site:
        pytest.skip("a server keeps nothing")
    page.driver.execute_async_script("navigator.serviceWorker.ready.then(arguments[0])")
    page.server.shutdown()
    page.server.server_close()
    page.driver.get("about:blank")  # Firefox's refresh passes by what is kept
    start = time.perf_counter()
    page.driver.get(page.server.url())
    page.settle(60)
    if file := os.environ.get("TLA_TIMES"):
        with open(file, "a") as out:
            print(f"again, without a network [{page.name}] {time.perf_counter() - start:.2f}", file=out)
    page.paste("(2,3):(3,1)")
    assert page.text("value") == "(2,3):(3,1)"
