"""Decoder: reads the compressed headers of one HTTP/2 connection (RFC 7541).

One decoder for each direction of each connection, fed every header block in order. It only reads: the
harness itself writes headers without compression (`encode`).
"""

_STATIC = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
    ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
    ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
    ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
    ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
    ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
    ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
]

# The lengths of the Huffman codes of the bytes 0 to 255, in bits. The code is canonical, so they say all.
_HUFFMAN_BITS = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15,
    6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22,
    20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23,
    23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22,
    22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26,
    27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27,
    26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
]


def _huffman_codes():
    codes, code, bits = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(_HUFFMAN_BITS)):
        code <<= length - bits
        bits = length
        codes[(length, code)] = symbol
        code += 1
    return codes


_HUFFMAN = _huffman_codes()
_TABLE_BYTES_MAX = 4096


def _huffman(data):
    out, code, bits = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            code, bits = code << 1 | byte >> shift & 1, bits + 1
            symbol = _HUFFMAN.get((bits, code))
            if symbol is not None:
                out.append(symbol)
                code = bits = 0
    return bytes(out)  # What is left over is padding.


class Decoder:
    def __init__(self):
        self._dynamic = []  # Newest first.

    def decode(self, block):
        """The headers of one block, as a list of (name, value)."""
        headers, at = [], 0
        while at < len(block):
            first = block[at]
            if first & 0x80:
                index, at = self._integer(block, at, 7)
                headers.append(self._entry(index))
            elif first & 0xE0 == 0x20:
                size, at = self._integer(block, at, 5)
                self._evict(size)
            else:
                stored = bool(first & 0x40)
                index, at = self._integer(block, at, 6 if stored else 4)
                if index:
                    name = self._entry(index)[0]
                else:
                    name, at = self._string(block, at)
                value, at = self._string(block, at)
                headers.append((name, value))
                if stored:
                    self._dynamic.insert(0, (name, value))
                    self._evict(_TABLE_BYTES_MAX)
        return headers

    def _entry(self, index):
        return _STATIC[index - 1] if index <= len(_STATIC) else self._dynamic[index - len(_STATIC) - 1]

    def _evict(self, size):
        while sum(len(name) + len(value) + 32 for name, value in self._dynamic) > size:
            self._dynamic.pop()

    @staticmethod
    def _integer(block, at, prefix_bits):
        mask = (1 << prefix_bits) - 1
        value, at = block[at] & mask, at + 1
        if value == mask:
            shift = 0
            while True:
                byte, at = block[at], at + 1
                value += (byte & 0x7F) << shift
                shift += 7
                if not byte & 0x80:
                    break
        return value, at

    def _string(self, block, at):
        huffman = bool(block[at] & 0x80)
        length, at = self._integer(block, at, 7)
        data = block[at:at + length]
        return (_huffman(data) if huffman else data).decode("latin-1"), at + length


def encode(headers):
    """A header block of `headers`, a list of (name, value), each below 127 bytes or split into 7-bit lengths."""
    block = bytearray()
    for name, value in headers:
        block.append(0)  # Literal, not indexed, new name.
        for text in (name.encode(), value.encode()):
            length = len(text)
            if length < 127:
                block.append(length)
            else:
                block.append(127)
                length -= 127
                while length >= 128:
                    block.append(length & 0x7F | 0x80)
                    length >>= 7
                block.append(length)
            block += text
    return bytes(block)
