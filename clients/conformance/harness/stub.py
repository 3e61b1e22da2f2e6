"""Stub: a CounterService that counts what arrives and answers every call as a case tells it.

For what the real server does not show on request: codes, attempts, metadata, TLS. It knows nothing of likes.
Who watches its health is told SERVING.
"""
import base64
import re
import socket
import ssl
import threading

from . import hpack, http2

_SUCCESS = bytes.fromhex("08011001")  # A LikeResponse: LIKED, count 1.
_SERVING = bytes.fromhex("0801")  # A HealthCheckResponse.
_TIMEOUT_MS = {"H": 3600000, "M": 60000, "S": 1000, "m": 1, "u": 1e-3, "n": 1e-6}


class Stub:
    """answer: {"code": 14, "message": ..., "reason": ..., "retry_after_ms": ..., "not_applied": bool,
    "times": N, "hang": bool}. The first N calls (all, if absent) end so, the rest is OK; {} is OK always.
    "replies": {"GetCount": FIELDS, ...} are the messages of calls that are OK, in place of a like's; FIELDS are
    [number, value] pairs, a value is a number, a text or FIELDS of its own.
    """

    def __init__(self, answer, tls=None, need_client_certificate=False, certificate="server"):
        self.answer = answer
        self.calls = 0
        self.metadata = {}  # Of the last call.
        self.request = ""  # The message of the last call, a character for each byte.
        self._lock = threading.Lock()
        self._tls = None
        if tls:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(tls.path(certificate + ".pem"), tls.path(certificate + ".key"))
            self._tls.set_alpn_protocols(["h2"])
            if need_client_certificate:
                self._tls.verify_mode = ssl.CERT_REQUIRED
                self._tls.load_verify_locations(tls.path("ca.pem"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def target(self):
        return "%s:%d" % ("localhost" if self._tls else "127.0.0.1", self._listener.getsockname()[1])

    def close(self):
        _hang_up(self._listener)
        with self._lock:
            for connection in self._connections:
                _hang_up(connection)

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with self._lock:
                self._connections.add(connection)
            connection.sendall(http2.encode(http2.SETTINGS, 0, 0))
            reader, streams = http2.FrameReader(from_client=True), {}
            while True:
                data = connection.recv(65536)
                if not data:
                    return
                for frame in reader.feed(data):
                    self._take(frame, streams, connection)
        except OSError:
            pass  # The client has gone, or was refused by TLS.
        finally:
            _hang_up(connection)

    def _take(self, frame, streams, connection):
        if frame.kind == http2.SETTINGS and not frame.flags & http2.ACK:
            connection.sendall(http2.encode(http2.SETTINGS, http2.ACK, 0))
        elif frame.kind == http2.PING and not frame.flags & http2.ACK:
            connection.sendall(http2.encode(http2.PING, http2.ACK, 0, frame.payload))
        if frame.headers is not None:
            method = dict(frame.headers)[":path"].rpartition("/")[2] if http2.is_call(frame) else None
            streams[frame.stream] = [method, b""]
            if method:
                with self._lock:
                    self.calls += 1
                    self.metadata = _readable(frame.headers)
        if frame.kind == http2.DATA and frame.stream in streams:
            streams[frame.stream][1] += frame.payload
        if frame.kind in (http2.DATA, http2.HEADERS) and frame.flags & http2.END_STREAM:
            method, body = streams.pop(frame.stream, [None, b""])
            if method:
                self.request = body[5:].decode("latin-1")  # Behind the flag and the length of gRPC's.
            connection.sendall(self._reply(frame.stream, method))

    def _reply(self, stream, method):
        if not method:
            return _message(stream, _SERVING)  # And the stream stays open.
        answer = self.answer
        if answer.get("hang"):
            return b""
        if answer.get("code", 0) and self.calls <= answer.get("times", self.calls):
            return _trailers_only(stream, answer)
        replies = answer.get("replies", {})
        return _message(stream, _fields(replies[method]) if method in replies else _SUCCESS) + http2.encode(
            http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, hpack.encode([("grpc-status", "0")]))


def _hang_up(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def _readable(headers):
    """The metadata by name; grpc-timeout as milliseconds."""
    metadata = dict(headers)
    match = re.fullmatch(r"(\d+)([HMSmun])", metadata.pop("grpc-timeout", ""))
    if match:
        metadata["grpc-timeout-ms"] = int(match[1]) * _TIMEOUT_MS[match[2]]
    return metadata


def _message(stream, message):
    head = [(":status", "200"), ("content-type", "application/grpc"), ("x-request-id", "from-stub")]
    return (http2.encode(http2.HEADERS, http2.END_HEADERS, stream, hpack.encode(head))
            + http2.encode(http2.DATA, 0, stream, b"\0" + len(message).to_bytes(4, "big") + message))


def _trailers_only(stream, answer):
    headers = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", str(answer["code"])),
               ("grpc-message", answer.get("message", "scripted")), ("x-request-id", "from-stub")]
    if answer.get("not_applied"):
        headers.append(("outcome", "not-applied"))
    details = _details(answer)
    if details:
        headers.append(("grpc-status-details-bin", base64.b64encode(details).decode().rstrip("=")))
    return http2.encode(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, hpack.encode(headers))


def _varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number, value):
    """One field of a protobuf message: an int or bytes or text."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _fields(pairs):
    return b"".join(_field(number, _fields(value) if isinstance(value, list) else value) for number, value in pairs)


def detail_parts(answer):
    """The details of the answer: for each the name of its message in google.rpc, and its bytes."""
    parts = []
    if "reason" in answer:
        domain = answer.get("domain", "counter.v1")
        parts.append(("ErrorInfo", _field(1, answer["reason"]) + _field(2, domain)))
    if "retry_after_ms" in answer:
        seconds, ms = divmod(answer["retry_after_ms"], 1000)
        parts.append(("RetryInfo", _field(1, _field(1, seconds) + _field(2, ms * 1000000))))
    return parts


def _details(answer):
    """The google.rpc.Status of the answer, serialized; empty if it has no details."""
    if answer.get("details_hex"):
        return bytes.fromhex(answer["details_hex"])
    parts = detail_parts(answer)
    if not parts:
        return b""
    status = _field(1, answer["code"]) + _field(2, answer.get("message", "scripted"))
    for name, value in parts:
        status += _field(3, _field(1, "type.googleapis.com/google.rpc." + name) + _field(2, value))
    return status
