"""ConnectProxy and ConnectStub: as Proxy and Stub, for clients of the Connect protocol over HTTP/1.1."""
import base64
import http.client
import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .stub import detail_parts

_HANG_SECONDS_MAX = 60
# Of the protocol: the name and the HTTP status of each code of gRPC.
_CODES = {1: ("canceled", 499), 2: ("unknown", 500), 3: ("invalid_argument", 400), 4: ("deadline_exceeded", 504),
          5: ("not_found", 404), 6: ("already_exists", 409), 7: ("permission_denied", 403),
          8: ("resource_exhausted", 429), 9: ("failed_precondition", 400), 10: ("aborted", 409),
          11: ("out_of_range", 400), 12: ("unimplemented", 501), 13: ("internal", 500), 14: ("unavailable", 503),
          15: ("data_loss", 500), 16: ("unauthenticated", 401)}
_SUCCESS = {"application/json": b'{"status":"LIKE_STATUS_LIKED","count":"1"}',
            "application/proto": bytes.fromhex("08011001")}  # A LikeResponse: LIKED, count 1.


class _Listener:
    """Takes requests, counts the calls among them and has each answered by answer(handler, body)."""

    def __init__(self, answer):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                if self.path.startswith("/counter."):
                    with outer.lock:
                        outer.calls += 1
                        outer.metadata = _readable(self.headers)
                answer(self, body)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # The client has gone.

        self.lock = threading.Lock()
        self.calls = 0
        self.metadata = {}  # Of the last call.
        self.closed = threading.Event()
        self._http = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def target(self):
        return "http://127.0.0.1:%d" % self._http.server_address[1]

    def close(self):
        self.closed.set()
        self._http.shutdown()
        self._http.server_close()


class ConnectProxy(_Listener):
    """Passes requests on to the server. After drop_next_reply() it breaks the connection where the answer to the next
    call should go; the call has been carried out by then.
    """

    def __init__(self, server_address):
        super().__init__(self._pass_on)
        self._server_address = server_address
        self._drop = False

    def drop_next_reply(self):
        with self.lock:
            self._drop = True

    def _pass_on(self, handler, body):
        server = http.client.HTTPConnection(*self._server_address)
        try:
            server.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for name, value in handler.headers.items():
                server.putheader(name, value)
            server.endheaders(body)
            answer = server.getresponse()
            text = answer.read()
        except OSError:
            return _break(handler)
        finally:
            server.close()
        with self.lock:
            drop, self._drop = self._drop, False
        if drop:
            return _break(handler)
        handler.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text)


class ConnectStub(_Listener):
    """Answers every call as Stub does."""

    def __init__(self, answer):
        super().__init__(self._answer_call)
        self.answer = answer

    def _answer_call(self, handler, _):
        answer = self.answer
        if answer.get("hang"):
            self.closed.wait(_HANG_SECONDS_MAX)
            return _break(handler)
        status, kind, body = 200, handler.headers.get("content-type", "application/json"), b""
        if answer.get("code", 0) and self.calls <= answer.get("times", self.calls):
            name, status = _CODES[answer["code"]]
            kind, body = "application/json", json.dumps({"code": name, "message": answer.get("message", "scripted"),
                                                         "details": _details(answer)}).encode()
        else:
            body = _SUCCESS[kind]
        handler.send_response_only(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("X-Request-Id", "from-stub")
        if status != 200 and answer.get("not_applied"):
            handler.send_header("Trailer-Outcome", "not-applied")
        handler.end_headers()
        handler.wfile.write(body)


def _details(answer):
    parts = detail_parts(answer)
    if answer.get("details_hex"):
        parts = [("ErrorInfo", bytes.fromhex(answer["details_hex"]))]
    return [{"type": "google.rpc." + name, "value": base64.b64encode(value).decode().rstrip("=")}
            for name, value in parts]


def _readable(headers):
    """The metadata by name, in lower case; the timeout by the name that all protocols share."""
    metadata = {name.lower(): value for name, value in headers.items()}
    timeout = metadata.pop("connect-timeout-ms", "")
    if timeout.isdigit():
        metadata["grpc-timeout-ms"] = int(timeout)
    return metadata


def _break(handler):
    """Ends the connection with a reset."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
