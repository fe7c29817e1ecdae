"""Serve one trace to ui.perfetto.dev, from this machine and to that page only.

The page's own policy lets it load from port 9001 of 127.0.0.1 and from no other port. So the server is bound there
and to nothing else; it answers only requests that the browser says come from the page (``Origin``), that are meant
for this address (``Host``, which a name that is pointed here cannot fake), and that know a random token. It ends after
one download, or when nobody came.
"""

from __future__ import annotations

import io
import secrets
import shutil
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote

from foretrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedIOBase
    from pathlib import Path

__all__ = ["ORIGIN", "PORT", "TraceServer"]

ORIGIN: Final = "https://ui.perfetto.dev"
PORT: Final = 9001
_HOST: Final = "127.0.0.1"
# A client that says nothing for so long is let go (seconds).
_SILENCE: Final = 20


class TraceServer:
    """One trace, served once.

    Args:
        trace: the file to serve as it lies there, or the text itself.
        name: what the page calls it.
        port: where; the page can load from 9001 only, other ports are for tests.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, trace: Path | bytes, name: str, *, port: int = PORT) -> None:
        self._path = f"/{secrets.token_urlsafe(24)}/{quote(name, safe='')}"
        self._trace = trace
        self._done = threading.Event()
        self._sending = threading.Lock()
        try:
            self._server = _Server((_HOST, port), _handler(self))
        except OSError as error:
            raise UsageError(
                f"port {port} of {_HOST} is taken, by another `foretrace open` or by trace_processor, and {ORIGIN} can "
                "load from no other; end that program, or drop the file onto the page."
            ) from error
        self.port = self._server.server_address[1]

    @property
    def url(self) -> str:
        """Where the trace is served."""
        return f"http://{_HOST}:{self.port}{self._path}"

    @property
    def link(self) -> str:
        """The page, with this trace."""
        return f"{ORIGIN}/#!/?url={self.url}"

    def serve(self, seconds: float) -> bool:
        """Serve until the trace was downloaded, or for so long; whether it was. A download that began may end."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            self._done.wait(seconds)
            with self._sending:
                return self._done.is_set()
        finally:
            self.close()
            thread.join()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def allows(self, request: BaseHTTPRequestHandler) -> HTTPStatus:
        """OK for a request that may have the trace; otherwise what it is told."""
        if request.headers.get("Host") not in (f"{_HOST}:{self.port}", f"localhost:{self.port}"):
            return HTTPStatus.MISDIRECTED_REQUEST
        if request.headers.get("Origin") != ORIGIN:
            return HTTPStatus.FORBIDDEN
        if not secrets.compare_digest(request.path.encode("latin-1", "replace"), self._path.encode("ascii")):
            return HTTPStatus.NOT_FOUND
        return HTTPStatus.OK

    def send(self, start: Callable[[int], None], out: BufferedIOBase) -> None:
        """Write the trace, once: ``start`` is told its length first."""
        with self._sending:
            if self._done.is_set():
                return
            with self._open() as file:
                size = file.seek(0, io.SEEK_END)
                file.seek(0)
                start(size)
                shutil.copyfileobj(file, out, 1 << 20)
            out.flush()
            self._done.set()

    def _open(self) -> IO[bytes]:
        return io.BytesIO(self._trace) if isinstance(self._trace, bytes) else self._trace.open("rb")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # Without asking the network for this machine's name, as HTTPServer would.
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's error."""


def _handler(trace: TraceServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENCE
        protocol_version = "HTTP/1.1"
        server_version = "foretrace"
        sys_version = ""

        def do_GET(self) -> None:
            if self._refused():
                return
            trace.send(self._begin, self.wfile)
            self.close_connection = True

        def do_OPTIONS(self) -> None:
            """Asked by the browser before it lets a page of the network reach this machine."""
            if self._refused():
                return
            self.send_response(HTTPStatus.NO_CONTENT)
            self._allow()
            self.send_header("Access-Control-Allow-Methods", "GET")
            if self.headers.get("Access-Control-Request-Private-Network") == "true":
                self.send_header("Access-Control-Allow-Private-Network", "true")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _refused(self) -> bool:
            status = trace.allows(self)
            if status is HTTPStatus.OK:
                return False
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            return True

        def _begin(self, size: int) -> None:
            self.send_response(HTTPStatus.OK)
            self._allow()
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(size))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()

        def _allow(self) -> None:
            self.send_header("Access-Control-Allow-Origin", ORIGIN)
            self.send_header("Vary", "Origin")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
            """Say nothing: the path holds the token."""

    return Handler
