"""A counterd of a test's own, and waiting for things."""
import os
import subprocess
import sys
import time

SECONDS_MAX = 30


def wait_for(what, condition):
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > end:
            sys.exit("gave up waiting for " + what)
        time.sleep(0.01)


class Server:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.port = binary, folder, 0
        os.makedirs(folder, exist_ok=True)
        self.start()

    def start(self):
        ready = os.path.join(self.folder, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        environment = {"DATA_DIR": os.path.join(self.folder, "data"), "READY_FILE": ready, "HTTP_LISTEN": "",
                       "GRPC_LISTEN": "127.0.0.1:%d" % self.port, "METRICS_LISTEN": "127.0.0.1:0",
                       "RATE_LIMIT_REQUESTS": "0"}
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen([self.binary], env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        wait_for("the server", lambda: os.path.exists(ready) or self.process.poll() is not None)
        with open(ready) as lines:
            self.port = int(next(line for line in lines if line.startswith("grpc=")).rpartition(":")[2])

    def kill(self):
        self.process.kill()
        self.process.wait()
