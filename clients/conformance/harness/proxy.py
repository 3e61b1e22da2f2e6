"""Proxy: stands between a client and a server, counts calls and can lose a reply.

It passes frames on unchanged. After drop_next_reply() it swallows the next answer of the server to a call
(the call has been carried out by then) and breaks both connections, as a network that fails does.
"""
import socket
import struct
import threading

from . import http2


class Proxy:
    def __init__(self, server_address):
        self._server_address = server_address
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._drop = False
        self.calls = 0
        self.dropped = 0
        self.metadata = {}
        self._sockets = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def target(self):
        return "127.0.0.1:%d" % self._listener.getsockname()[1]

    def drop_next_reply(self):
        with self._lock:
            self._drop = True

    def close(self):
        _reset(self._listener)
        with self._lock:
            for one in self._sockets:
                _reset(one)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server_address)
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets |= {client, server}
            calls = set()  # The streams that are calls; filled by one thread, asked by the other.
            threading.Thread(target=self._pump, args=(client, server, calls, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, calls, False), daemon=True).start()

    def _pump(self, source, sink, calls, from_client):
        reader = http2.FrameReader(from_client)
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                for frame in reader.feed(data):
                    if from_client and http2.is_call(frame):
                        calls.add(frame.stream)
                        with self._lock:
                            self.calls += 1
                            self.metadata = dict(frame.headers)
                    elif not from_client and self._takes(frame, calls):
                        return
                    sink.sendall(frame.raw)
        except OSError:
            pass
        finally:
            _reset(source)
            _reset(sink)

    def _takes(self, frame, calls):
        """Whether this frame is the one to lose. It begins the answer: nothing of it has been passed on."""
        with self._lock:
            if not self._drop or frame.kind != http2.HEADERS or frame.stream not in calls:
                return False
            self._drop = False
            self.dropped += 1
            return True


def _reset(one):
    """Breaks the connection at once, with a reset, also under a thread that reads from it."""
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
