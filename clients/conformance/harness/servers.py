"""Server: one real counterd on the embedded store, in a temporary folder, on free ports; can be killed."""
import os
import signal
import subprocess
import threading
import time

_READY_SECONDS_MAX = 30


class Server:
    """settings: counterd's environment variables. Keeps its address and its data over kill and restart."""

    def __init__(self, binary, folder, settings):
        self._binary, self._folder, self._settings = binary, folder, settings
        self._ports = {"grpc": 0, "http": 0, "metrics": 0}
        self._process = None
        self._restart = None
        self.kills = 0
        os.makedirs(folder)
        self.start()

    def address(self, listener="grpc"):
        return "127.0.0.1", self._ports[listener]

    def start(self):
        ready = os.path.join(self._folder, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        environment = {"PATH": os.environ["PATH"], "DATA_DIR": os.path.join(self._folder, "data"),
                       "READY_FILE": ready, "GRPC_LISTEN": "127.0.0.1:%d" % self._ports["grpc"],
                       "METRICS_LISTEN": "127.0.0.1:%d" % self._ports["metrics"],
                       "HTTP_LISTEN": "127.0.0.1:%d" % self._ports["http"],
                       **self._settings}
        with open(os.path.join(self._folder, "log"), "ab") as log:
            self._process = subprocess.Popen([self._binary], env=environment, stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=log)
        end = time.monotonic() + _READY_SECONDS_MAX
        while not os.path.exists(ready):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("counterd did not become ready:\n" + self._tail())
            time.sleep(0.01)
        with open(ready) as lines:
            for name, _, address in (line.strip().partition("=") for line in lines):
                if name in self._ports:
                    self._ports[name] = int(address.rpartition(":")[2])

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self.kills += 1

    def kill_and_restart(self, after_ms, down_ms):
        """Kills the server in `after_ms`, and starts it again `down_ms` after that; returns at once."""
        def run():
            time.sleep(after_ms / 1000)
            self.kill()
            time.sleep(down_ms / 1000)
            self.start()
        self._restart = threading.Thread(target=run)
        self._restart.start()

    def wait_restarted(self):
        if self._restart is not None:
            self._restart.join()
            self._restart = None

    def stop(self):
        self.wait_restarted()
        if self._process.poll() is None:
            self.kill()

    def _tail(self):
        with open(os.path.join(self._folder, "log"), errors="replace") as log:
            return log.read()[-4000:]
