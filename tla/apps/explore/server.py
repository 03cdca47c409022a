"""The server of the page, on loopback and for its own page only. It reads the page's files once, evaluates nothing."""

from __future__ import annotations

import errno
import io
import json
import signal
import socket
import sys
import threading
import time
import urllib.parse
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from ...core.errors import RangeError
from .answer import ANSWERS
from .question import Question
from .workers import Workers

HOST = "127.0.0.1"
#: A larger body is refused [bytes]; a client that takes longer in all to say what it asks, or to hear the answer, is
#: left [seconds].
MAX_BODY, TIMEOUT = 2**16, 10.0
#: The text of a program may be longer [bytes]: it is escaped, as JSON has it.
MAX_PROGRAM = 2**25

#: The scripts of the page, in the order in which they run.
_SCRIPTS = "dom grid cells ask words access panels main program expression"
SCRIPTS = tuple(f"{name}.js" for name in _SCRIPTS.split())
#: path -> a file of the page, and its type
_FILES = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css")} | {
    f"/{x}": (x, "text/javascript") for x in SCRIPTS
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def serve(port: int, expression: str, opens: bool, tell: Callable[[str], None]) -> None:
    """Serve the page on a port until Ctrl-C, or SIGTERM.

    opens   whether a browser is to open it
    tell    is called with the address once it is served
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _ended)  # as where Ctrl-C is ignored: in the background of a script
    with Server(port) as server:
        url = server.url(expression)
        tell(url)
        if opens:  # a browser of a terminal opens the page and waits
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        server.serve_forever()


def _ended(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


class Server(ThreadingHTTPServer):
    """The page on a port of loopback; serve_forever() serves it.

    port     0 takes a free one
    Raises   RangeError for no port, or one that is in use or forbidden

    >>> with Server(0) as server:
    ...     print(server.url("(4,2):(1,4)")[:17], server.url("(4,2):(1,4)").partition("#")[2])
    http://127.0.0.1: e=%284%2C2%29%3A%281%2C4%29
    """

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, port: int) -> None:
        self.pages = {
            path: (files("tla.apps.explore").joinpath(f"page/{name}").read_bytes(), kind)
            for path, (name, kind) in _FILES.items()
        }
        fix = "give another one: --port 0 takes a free one"
        if not 0 <= port < 2**16:
            raise RangeError(f"port {port}", "0 to 65535", fix)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
            raise RangeError(f"port {port} {why}", "a free port", fix) from None
        self.workers = Workers()

    def server_close(self) -> None:
        super().server_close()
        if hasattr(self, "workers"):  # of a port in use there are none
            self.workers.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A traceback, but not of a client that goes away: the page does, when the next letter is typed."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    def url(self, text: str = "") -> str:
        """The address of the page, with a text in it."""
        return f"http://{HOST}:{self.server_port}/" + (f"#e={urllib.parse.quote(text, safe='')}" if text else "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names by which a browser calls this server; another name that leads here is an attack (DNS rebinding)."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"


class _Until(io.RawIOBase):
    """The bytes that a socket receives until a time: a client that sends a byte now and then gets no more of it."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection, self._until = connection, time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    timeout = TIMEOUT
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]  # it is made with no other
    server_version, sys_version = "tla", ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Until(self.connection, self.timeout or TIMEOUT))

    def do_GET(self) -> None:
        if not self._refused(_FILES):
            self._send(HTTPStatus.OK, *self.server.pages[self.path])

    def do_POST(self) -> None:
        if self._refused(ANSWERS):
            return
        asked = self._asked()
        if isinstance(asked, HTTPStatus):
            self.send_error(asked)
        else:
            self._send(HTTPStatus.OK, self.server.workers.answer(self.path, asked), "application/json")

    def _asked(self) -> dict[str, Any] | HTTPStatus:
        """The question in the body, or what is wrong with it."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if not (length.isascii() and length.isdigit()):
            return HTTPStatus.LENGTH_REQUIRED
        if len(length) > 9 or int(length) > (MAX_PROGRAM if self.path == "/report" else MAX_BODY):
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        try:
            body = json.loads(self.rfile.read(int(length)))
            return Question.of(body)._asdict()
        except (ValueError, TypeError, RecursionError):
            return HTTPStatus.BAD_REQUEST

    def _refused(self, known: Any) -> bool:
        """Whether a request is from elsewhere, or for what is not here; then it is answered."""
        if not self._is_own():
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path not in known:
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED if self.path in (*_FILES, *ANSWERS) else HTTPStatus.NOT_FOUND)
        else:
            return False
        return True

    def _is_own(self) -> bool:
        """Whether a request is of this page, or opens it."""
        host, origins, sites = (self.headers.get_all(name, []) for name in ("Host", "Origin", "Sec-Fetch-Site"))
        if len(host) != 1 or host[0].lower() not in self.server.hosts or any(x != f"http://{host[0]}" for x in origins):
            return False
        # a link to the page may be anywhere
        opens = self.path == "/" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        return opens or all(x in ("same-origin", "none") for x in sites)

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.connection.settimeout(self.timeout)  # for all that is sent
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error in plain text that repeats nothing of the request."""
        self._send(HTTPStatus(code), f"{code} {HTTPStatus(code).phrase}\n".encode(), "text/plain")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal shows the address alone."""
