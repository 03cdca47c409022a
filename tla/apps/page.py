"""The command `tla explore`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..core.on_demand import OnDemand
from . import terminal
from .terminal import Answer, option

_server, _site = OnDemand("tla.apps.explore.server"), OnDemand("tla.apps.explore.site")

PORT = 8642


def explore_options(page: argparse.ArgumentParser) -> None:
    """The options of `tla explore`."""
    begin = "what the page begins with, such as 'A = (8,6):(1,8); logical_divide(A, (4,2))'"
    page.add_argument("expression", metavar="EXPRESSION", nargs="?", default="", help=begin)
    option(page, "--port N", f"a port of this machine, {PORT} by default; 0 takes a free one", type=int, default=PORT)
    option(
        page, "--site FOLDER", "write the page to FOLDER, as files for any web server: Python in the browser answers"
    )
    option(page, "--pyodide FOLDER", "npm's package pyodide, for --site", default="node_modules/pyodide")
    option(page, "--no-browser", "print the address, and open no browser")


def explore(arguments: argparse.Namespace) -> Answer | None:
    """A page on which layouts, and expressions of them, are typed and looked at; served to this machine until Ctrl-C,
    or SIGTERM."""
    if arguments.site is not None:
        names = _site.build(Path(arguments.site), Path(arguments.pyodide))
        wrote = f"wrote {len(names)} files to {arguments.site}; any web server serves them, without tla"
        return {"folder": arguments.site, "files": names}, lambda _: wrote

    def tell(url: str) -> None:
        terminal.say(({"url": url}, lambda _: f"{url}\nCtrl-C ends it"), arguments.json)

    _server.serve(arguments.port, arguments.expression, not arguments.no_browser, tell)
    return None
