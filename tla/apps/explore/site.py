"""The page as a folder of files for any web server: Python in the browser makes the answers (Pyodide)."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import tla

from ...core.errors import RangeError
from .answer import as_json
from .server import SCRIPTS

#: The files of npm's package pyodide that the page loads, and the version that the page is tested with.
PYODIDE = "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"
VERSION = "314.0.7"
_SITE = "engine.js", "worker.js", "service.js"
_SCRIPT, _BEFORE = '<script src="dom.js" defer></script>', '<meta charset="utf-8">'
#: The policy of the page: all is from its folder. Of a plain folder no header can say it.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
    "worker-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
)
#: The text that is drawn while nothing is typed.
_FIRST = re.compile(r'placeholder="([^"]*:[^"]*)"')
_TIME = 1980, 1, 1, 0, 0, 0  # so that one source gives one archive


def build(folder: Path, pyodide: Path) -> list[str]:
    """Write the page to a folder, and return the names of its files.

    folder     it is made if it is not there; files of the same names are replaced
    pyodide    the folder of npm's package pyodide
    Raises     RangeError where that has no Pyodide
    """
    missing = [name for name in PYODIDE if not (pyodide / name).is_file()]
    if missing:
        fix = f"run npm install pyodide@{VERSION}, or give its folder: --pyodide node_modules/pyodide"
        raise RangeError(f"{pyodide} without {missing[0]}", "the folder of npm's package pyodide", fix)
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        shutil.copyfile(pyodide / name, folder / "pyodide" / name)
    here = files("tla.apps.explore")
    for name in ("page.css", *SCRIPTS):
        (folder / name).write_bytes(here.joinpath(f"page/{name}").read_bytes())
    for name in _SITE[:-1]:
        (folder / name).write_bytes(here.joinpath(f"browser/{name}").read_bytes())
    page = here.joinpath("page/page.html").read_text("utf-8")
    (folder / "index.html").write_text(_page(page), "utf-8")
    (folder / "tla.zip").write_bytes(_archive(_of_tla()))
    (folder / "words.json").write_text(as_json("/words", {"text": ""}), "utf-8")
    asked = {
        "text": _FIRST.findall(page)[0],
        "color_by": "auto",
        "bits": None,
        "access": "",
        "view": "offsets",
        "tile": "",
    }
    first = {"question": asked, "answer": json.loads(as_json("/answer", asked))}
    (folder / "first.json").write_text(json.dumps(first), "utf-8")
    large = [*(f"pyodide/{name}" for name in PYODIDE if not name.endswith("js")), "tla.zip"]
    (folder / "sizes.json").write_text(json.dumps({name: (folder / name).stat().st_size for name in large}))
    _write_service(folder, here.joinpath(f"browser/{_SITE[-1]}").read_text("utf-8"))
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _write_service(folder: Path, script: str) -> None:
    """Write the service worker, with the names of all files that it keeps, and the version of what is in them."""
    kept = (path for path in folder.rglob("*") if path.is_file() and path.name != _SITE[-1])
    names = sorted(path.relative_to(folder).as_posix() for path in kept)
    contents = b"".join(hashlib.sha256((folder / name).read_bytes()).digest() for name in names)
    version = hashlib.sha256(contents).hexdigest()[:16]
    text = script.replace('"VERSION"', json.dumps(version)).replace('["FILES"]', json.dumps(["./", *names]))
    (folder / _SITE[-1]).write_text(text, "utf-8")


def _page(text: str) -> str:
    """The page with its policy, and with what answers it."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    engine = '<script src="engine.js" defer></script>'
    return text.replace(_BEFORE, f"{_BEFORE}\n{policy}").replace(_SCRIPT, f"{engine}\n{_SCRIPT}")


def _of_tla() -> Iterable[tuple[str, bytes]]:
    """The Python of this package. Answers need neither numpy nor sympy, so nothing else comes with it."""
    root = Path(tla.__file__).parent
    for path in sorted(root.rglob("*.py")):
        yield f"tla/{path.relative_to(root).as_posix()}", path.read_bytes()


def _archive(entries: Iterable[tuple[str, bytes]]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    return held.getvalue()
