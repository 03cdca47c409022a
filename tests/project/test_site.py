"""The built documentation in headless Chromium: TLA_SITE is its folder, as sphinx-build wrote it.
TLA_SCREENSHOTS=folder keeps pictures."""

import base64
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="needs selenium: pip install selenium")
from selenium import webdriver
from selenium.webdriver.support.wait import WebDriverWait

SITE = Path(os.environ.get("TLA_SITE", "site"))
AXE = Path(os.environ.get("TLA_NPM", "node_modules")) / "axe-core" / "axe.min.js"
#: One of each kind: home, pictures, commands, grids of text, formulas, tables, the reference.
PAGES = "index", "gallery", "shell", "viz", "symbolic", "differences", "api/index", "api/layouts"
SHOWN = "return location.href === arguments[0] && document.readyState === 'complete'"
WINDOWS = [("light", 1440), ("dark", 390)]

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")),
        reason="needs a browser: apt-get install chromium chromium-driver",
    ),
    pytest.mark.skipif(
        not (SITE / "index.html").is_file(), reason="needs the site: sphinx-build docs site, and TLA_SITE=site"
    ),
]


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking".split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture
def show(browser):
    """show(page, scheme, width): the page in a window 900 pixels high."""

    def load(page, scheme, width):
        scheme_of = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme_of})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        address = (SITE / f"{page}.html").resolve().as_uri()
        browser.get(address)  # it may return for what the page before still loads: its images
        WebDriverWait(browser, 60).until(lambda b: b.execute_script(SHOWN, address))
        if folder := os.environ.get("TLA_SCREENSHOTS"):
            shot = browser.execute_cdp_cmd("Page.captureScreenshot", {})
            Path(folder, f"site_{page.replace('/', '_')}_{scheme}_{width}.png").write_bytes(
                base64.b64decode(shot["data"])
            )
        return browser.execute_script

    return load


@pytest.mark.skipif(not AXE.exists(), reason="needs axe: npm install axe-core, and its folder node_modules in TLA_NPM")
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("scheme", "width"), WINDOWS)
def test_axe_finds_nothing_serious(show, browser, page, scheme, width):
    show(page, scheme, width)
    browser.execute_script(AXE.read_text())
    found = browser.execute_async_script(
        "axe.run({ resultTypes: ['violations'] }).then(found => arguments[0](found.violations))"
    )
    serious = [x for x in found if x["impact"] in ("serious", "critical")]
    assert [(x["id"], [n["html"][:200] for n in x["nodes"]][:5]) for x in serious] == []


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("scheme", "width"), WINDOWS)
def test_nothing_is_larger_than_the_screen(show, page, scheme, width):
    run = show(page, scheme, width)
    assert run("return document.documentElement.scrollWidth - innerWidth") <= 0
    boxes = (
        "return [...document.querySelectorAll('.drawing > div, .thumbnails, article img')].filter(x => "
        "!x.closest('.drawing > div > a'))"
    )
    sizes = run(
        f"{boxes}.map(x => [x.getBoundingClientRect().width, x.matches('.thumbnails') ? 0 : "
        "x.getBoundingClientRect().height])"
    )
    assert all(w <= width and h <= 900 for w, h in sizes), sizes
    assert page != "gallery" or len(sizes) > 20


def test_pictures_are_read_where_they_stand(show, browser):
    """Their texts are no smaller than 7 tenths of what they are; each thumbnail leads to a picture, and
    each has words."""
    run = show("gallery", "light", 390)
    small = "x => x.getBoundingClientRect().width < 0.69 * x.naturalWidth"
    run("for (const x of document.images) x.loading = 'eager'")
    assert run("return document.images.length") > 20
    browser.execute_async_script("Promise.all([...document.images].map(x => x.decode())).then(arguments[0])")
    assert run(f"return [...document.querySelectorAll('.drawing img')].filter({small}).map(x => x.src)") == []
    assert run("return [...document.querySelectorAll('.drawing img')].filter(x => x.alt.length < 40).length") == 0
    ends = run(
        "return [...document.querySelectorAll('.thumbnails a')].map(x => "
        "document.querySelector(x.getAttribute('href')) !== null)"
    )
    assert len(ends) > 20
    assert all(ends)


def test_grids_of_text_have_no_gaps(show):
    run = show("viz", "light", 1440)
    lines = run(
        "return [...document.querySelectorAll('.text-grid pre')].map(x => getComputedStyle(x)).map(s => [s.lineHeight, "
        "s.fontSize])"
    )
    assert len(lines) > 3
    assert all(float(height.removesuffix("px")) <= 1.17 * float(size.removesuffix("px")) for height, size in lines), (
        lines
    )
