"""The page of tla explore in headless Chromium, as someone with a keyboard and a mouse has it: of the server, or of the
static site."""

import base64
import functools
import http.server
import json
import os
import shutil
import threading
import urllib.parse
from pathlib import Path

import pytest

from tla.apps.explore import server, site

pytest.importorskip("selenium", reason="needs selenium: pip install selenium")
from selenium import webdriver
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

#: Without names of hosts there is no network.
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
--disable-sync --window-size=1440,900 --host-resolver-rules=MAP\u00a0*\u00a0~NOTFOUND"""
#: The folder node_modules of axe-core and pyodide, which npm installs.
NPM = Path(os.environ.get("TLA_NPM", "node_modules"))
SCHEMES, WIDTHS = ("light", "dark"), (1440, 390)
#: Take a link in a page that is loaded.
FOLLOW = """const [hash, done] = arguments;
cursor = null; tab = 'Python'; scrollTo(0, 0); at('text').focus();
if (location.hash === hash) { fromAddress(); done(); } else { addEventListener('hashchange', () => done(), { once: true }); location.hash = hash; }"""


def chromium(folder=None):
    """Chromium; what it saves goes into a folder."""
    options = webdriver.ChromeOptions()
    if folder:
        options.add_experimental_option(
            "prefs", {"download.default_directory": str(folder), "download.prompt_for_download": False}
        )
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS.split():
        options.add_argument(flag.replace("\u00a0", " "))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(20)
    return driver


class _Firefox(webdriver.Firefox):
    """Firefox, whose scripts run beside a page: they see nothing that it declares by const. Those of the tests are
    evaluated in the page."""

    def execute_script(self, script, *given):
        return super().execute_script(
            f"return window.eval({json.dumps(f'(function () {{ {script} }})')}).apply(null, arguments)", *given
        )

    def execute_async_script(self, script, *given):
        return super().execute_async_script(
            f"window.eval({json.dumps(f'(function () {{ {script} }})')}).apply(null, arguments)", *given
        )


def firefox(folder):
    """Firefox; what it saves goes into a folder. Its pages need `may_evaluate`."""
    options = webdriver.FirefoxOptions()
    options.binary_location = shutil.which("firefox-esr") or shutil.which("firefox") or ""
    options.add_argument("-headless")
    kept = {
        "browser.download.folderList": 2,
        "browser.download.dir": str(folder),
        "browser.download.useDownloadDir": True,
    }
    for name, value in {
        **kept,
        "browser.helperApps.neverAsk.saveToDisk": "image/svg+xml,text/csv,text/html,text/plain,image/png",
    }.items():
        options.set_preference(name, value)
    driver = _Firefox(options=options, service=webdriver.FirefoxService(shutil.which("geckodriver")))
    driver.set_window_size(1440, 900)
    driver.set_script_timeout(20)
    return driver


def may_evaluate(patch):
    """Serve pages whose policy lets a test evaluate its scripts in them; with Chromium the policy stays as it is."""

    def wider(policy):
        return policy.replace("script-src 'self'", "script-src 'self' 'unsafe-eval'")

    patch.setattr(site, "POLICY", wider(site.POLICY))
    patch.setitem(server._HEADERS, "Content-Security-Policy", wider(server._HEADERS["Content-Security-Policy"]))


class Folder(http.server.ThreadingHTTPServer):
    """A folder on a port of this machine, as any web server has it."""

    def __init__(self, folder):
        handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        super().__init__(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))

    def url(self, text=""):
        return f"http://127.0.0.1:{self.server_port}/" + (f"#e={urllib.parse.quote(text, safe='')}" if text else "")


class served:
    """Serve a Server or a Folder in a thread of its own."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self.server

    def __exit__(self, *_why):
        self.server.shutdown()
        self.server.server_close()


class Page:
    """A page in the tab of a browser.

    server     a Server or a Folder
    is_site    whether Python in the browser answers: it is loaded once, and links are followed within the page
    """

    def __init__(self, driver, server, name="page"):
        self.driver, self.server, self.name, self.scheme = driver, server, name, "light"
        self.is_site = isinstance(server, Folder)

    def open(self, text="", more=""):
        self.go(self.server.url(text) + more)

    def go(self, url):
        """Follow a link."""
        if self.is_site and self.driver.current_url.startswith(self.server.url()):
            self.driver.execute_async_script(FOLLOW, url[len(self.server.url()) :])
        else:
            self.driver.get("about:blank")
            self.driver.get(url)
        self.settle(120 if self.is_site else 60)

    def settle(self, seconds=20):
        """Wait until what was typed is answered, and painted."""
        done = "return typeof settled === 'function' && settled()"
        WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(lambda d: d.execute_script(done))
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def at(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.at(name).text

    def type(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)
        self.settle()

    def paste(self, text):
        """Take a text as if it were pasted in place of what is there."""
        self.run(
            "at('text').focus(); at('text').select(); document.execCommand('insertText', false, arguments[0])", text
        )
        self.settle()

    def look(self, sheet, row, column):
        """Go to a cell of a grid of the page."""
        self.run("look(sheets[arguments[0]], arguments[1], arguments[2], true)", sheet, row, column)
        self.settle()

    def write(self, text):
        self.at("text").send_keys(Keys.CONTROL, "a", Keys.NULL)
        self.at("text").send_keys(Keys.DELETE, text)
        self.settle()

    def choose(self, name, value):
        """Choose a value of a control, behind More where the page is narrow."""
        if self.at("more").is_displayed() and self.at("more").get_attribute("aria-expanded") == "false":
            self.at("more").click()
        Select(self.at(name)).select_by_value(value)
        self.settle()

    def click(self, element):
        """Click what may be behind the cell of a narrow page."""
        self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
        element.click()

    def run(self, script, *given):
        return self.driver.execute_script(script, *given)

    def pairs(self, name):
        found = [x.text for x in self.at(name).find_elements(By.CSS_SELECTOR, "dt, dd")]
        return dict(zip(found[::2], found[1::2]))

    def point(self, row, column):
        """Point at a cell of the grid; the page says where it is."""
        script = """at('canvas').scrollIntoView(); sheets[0].reveal(...arguments); const [x, y] = sheets[0].spot(arguments[0], arguments[1]), box = at('canvas').getBoundingClientRect();
            return [Math.round(box.x + x), Math.round(box.y + y)]"""
        actions = ActionBuilder(self.driver)
        actions.pointer_action.move_to_location(0, 0)  # where it is already, it does not move
        actions.pointer_action.move_to_location(*self.run(script, row, column))
        actions.perform()
        self.settle()
        return self.pairs("cell")

    def colours(self, *cells):
        """The colours near the corners of cells."""
        script = """const canvas = at('canvas'), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return arguments[0].map(cell => { const [x, y] = sheets[0].spot(...cell), k = 4 * ((y - 8) * canvas.width + Math.round(x) - 9);
            return [...data.slice(k, k + 3)]; })"""
        return self.run(script, cells)

    def steps(self):
        """The outline: of each step that is seen its line, and whether it is open."""
        found = self.at("steps").find_elements(By.TAG_NAME, "details")
        return [
            (x.find_element(By.TAG_NAME, "summary").text, x.get_property("open")) for x in found if x.is_displayed()
        ]

    def shot(self, name):
        """A picture of the page as wide and as high as it is, in the folder TLA_SCREENSHOTS if there is one."""
        if folder := os.environ.get("TLA_SCREENSHOTS"):
            shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
            Path(folder, f"{name}_{self.name}.png").write_bytes(base64.b64decode(shot["data"]))

    def emulate(self, scheme, width):
        self.scheme = scheme
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
