"""Frames: the little of HTTP/2 (RFC 9113) that a proxy and a stub of gRPC need. No sockets in here."""
import struct

from . import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20


class Frame:
    def __init__(self, kind, flags, stream, payload, raw):
        self.kind, self.flags, self.stream, self.payload, self.raw = kind, flags, stream, payload, raw
        self.headers = None  # Of the frame that completes a header block: a list of (name, value).


class FrameReader:
    """Turns the bytes of one direction into frames and decodes their headers."""

    def __init__(self, from_client):
        self._buffer = b""
        self._preface_left = len(PREFACE) if from_client else 0
        self._decoder = hpack.Decoder()
        self._block = b""

    def feed(self, data):
        """The frames that `data` completes; the client's preface is one of kind None."""
        self._buffer += data
        if self._preface_left:
            if len(self._buffer) < self._preface_left:
                return
            raw, self._buffer = self._buffer[:self._preface_left], self._buffer[self._preface_left:]
            self._preface_left = 0
            yield Frame(None, 0, 0, b"", raw)
        while len(self._buffer) >= 9:
            length = int.from_bytes(self._buffer[:3], "big")
            if len(self._buffer) < 9 + length:
                return
            raw, self._buffer = self._buffer[:9 + length], self._buffer[9 + length:]
            frame = Frame(raw[3], raw[4], int.from_bytes(raw[5:9], "big") & 0x7FFFFFFF, raw[9:], raw)
            self._take_headers(frame)
            yield frame

    def _take_headers(self, frame):
        if frame.kind not in (HEADERS, CONTINUATION):
            return
        body = frame.payload
        if frame.kind == HEADERS:
            if frame.flags & PADDED:
                body = body[1:len(body) - body[0]]
            if frame.flags & PRIORITY:
                body = body[5:]
        self._block += body
        if frame.flags & END_HEADERS:
            frame.headers = self._decoder.decode(self._block)
            self._block = b""


def encode(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def is_call(frame):
    """Whether the frame of a client begins a call of the counter; the watching of health is none."""
    return frame.headers is not None and any(
        name == ":path" and value.startswith("/counter.") for name, value in frame.headers)
