"""The servers that a benchmark measures: started in a folder of its own, on free ports, stopped by pid.

Each has `cpu()`: seconds of CPU that it and its children have used, ended ones included.
"""
import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

POSTGRES_PROGRAMS = "/usr/lib/postgresql/15/bin"
READY_SECONDS = 30
TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A server or a tool did not do its work; the text says which and why."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _stat(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()


def _cpu_of_tree(root):
    """Of a process and its living children, and of the children that it has collected."""
    total = 0
    for pid in [root] + _children(root):
        with contextlib.suppress(OSError):
            fields = _stat(pid)
            total += int(fields[11]) + int(fields[12])
            if pid == root:
                total += int(fields[13]) + int(fields[14])
    return total / TICKS


def _children(root):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if int(_stat(name)[1]) == root:
                    found.append(int(name))
    return found + [grandchild for child in found for grandchild in _children(child)]


def run(argv, **options):
    """The output of a program; Failed with what it wrote if it fails."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{os.path.basename(argv[0])} ended with {done.returncode}: {done.stdout[-2000:]}"
                     f"{done.stderr[-2000:]}")
    return done.stdout


def _account(name):
    """Who a server runs as: PostgreSQL refuses root."""
    return pwd.getpwnam(name) if os.geteuid() == 0 else None


class Server:
    """A process that writes to a log in its folder. Ends with stop()."""

    def __init__(self, folder, name, argv, env=None, account=None, stop_signal=signal.SIGTERM, cwd=None):
        self.folder = folder
        self.name = name
        self.stop_signal = stop_signal
        self.log = os.path.join(folder, f"{name}.log")
        # It ends with this program, however that ends.
        as_account = ["setpriv", "--pdeathsig=KILL", "--"]
        if account is not None:
            as_account[1:1] = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        base = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8"}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(as_account + argv, env={**base, **(env or {})}, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd=cwd or folder)
        self.pid = self.process.pid

    def wait_until(self, ready):
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(Failed, OSError):
                if ready():
                    return
            time.sleep(0.05)
        with open(self.log, errors="replace") as log:
            raise Failed(f"{self.name} was not ready: {log.read()[-2000:]}")

    def cpu(self):
        return _cpu_of_tree(self.pid)

    def rss_mib(self):
        """The most memory that it has had at a time."""
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return 0.0

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Postgres(Server):
    """PostgreSQL 15 with ordinary durability: fsync, full_page_writes and synchronous_commit are on."""

    def __init__(self, parent):
        folder = os.path.join(parent, "postgres")
        self.sockets = os.path.join(parent, "s")
        account = _account("postgres")
        for path in (folder, self.sockets):
            os.makedirs(path, exist_ok=True)
            if account is not None:
                os.chown(path, account.pw_uid, account.pw_gid)
        data = os.path.join(folder, "data")
        as_account = [] if account is None else ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}",
                                                 "--clear-groups", "--"]
        run(as_account + [f"{POSTGRES_PROGRAMS}/initdb", "-D", data, "-U", "postgres", "--auth=trust",
                          "--encoding=UTF8", "--locale=C", "--data-checksums", "--no-instructions"], cwd=folder)
        super().__init__(folder, "postgres",
                         [f"{POSTGRES_PROGRAMS}/postgres", "-D", data, "-c", "listen_addresses=", "-c",
                          f"unix_socket_directories={self.sockets}", "-c", "wal_compression=lz4", "-c",
                          "shared_buffers=512MB", "-c", "max_wal_size=4GB", "-c", "max_connections=200"],
                         account=account, stop_signal=signal.SIGINT)
        self.wait_until(lambda: self.sql("SELECT 1") == "1")
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            if self.sql(f"SHOW {setting}") != "on":
                raise Failed(f"PostgreSQL has {setting} off: its figures would mean nothing")

    def url(self, database):
        return f"postgresql://postgres@{self.sockets.replace('/', '%2F')}/{database}"

    def peer_url(self, database):
        """For drivers that take no host in percent-encoding."""
        return f"postgresql://postgres@/{database}?host={self.sockets}"

    def sql(self, text, database="postgres"):
        return run(["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", text]).strip()


class Redis(Server):
    """A Redis that keeps nothing on disk."""

    def __init__(self, parent):
        folder = os.path.join(parent, "redis")
        os.makedirs(folder)
        self.port = free_port()
        self.password = secrets.token_hex(16)
        settings = os.path.join(folder, "redis.conf")
        with open(settings, "w") as out:
            out.write(f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\ndir {folder}\n"
                      "save \"\"\nappendonly no\nmaxmemory 1gb\nmaxmemory-policy allkeys-lru\n")
        super().__init__(folder, "redis", ["redis-server", settings])
        self.wait_until(lambda: self.command("ping") == "PONG")

    def url(self, database=0):
        return f"redis://:{self.password}@127.0.0.1:{self.port}/{database}"

    def command(self, *words):
        return run(["redis-cli", "-p", str(self.port), "-e", *words],
                   env={"REDISCLI_AUTH": self.password, "PATH": os.environ["PATH"]}).strip()


class Counterd(Server):
    """counterd that limits neither rates nor waits, so that a slow machine is slow and refuses nothing; other
    settings as a user gets them."""

    def __init__(self, parent, binary, name, settings):
        folder = os.path.join(parent, name)
        os.makedirs(folder, exist_ok=True)
        ready = os.path.join(folder, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        env = {"GRPC_LISTEN": "127.0.0.1:0", "METRICS_LISTEN": "127.0.0.1:0", "HTTP_LISTEN": "", "READY_FILE": ready,
               "DATA_DIR": os.path.join(folder, "data"), "RATE_LIMIT_REQUESTS": "0",
               "WRITE_WAIT_MAX_MILLISECONDS": "60000", **settings}
        super().__init__(folder, "counterd", [binary], env=env)
        self.wait_until(lambda: os.path.exists(ready) and os.path.getsize(ready) > 0)
        listeners = {}
        with open(ready) as lines:
            for line in lines:
                kind, _, address = line.strip().replace("=", " ").partition(" ")
                listeners[kind] = address
        self.target = listeners["grpc"]


class EmptyServer(Server):
    """The engine with a method that does nothing."""

    def __init__(self, parent, binary):
        folder = os.path.join(parent, "empty")
        os.makedirs(folder, exist_ok=True)
        log = os.path.join(folder, "empty.log")
        with contextlib.suppress(FileNotFoundError):
            os.remove(log)
        super().__init__(folder, "empty", [binary])

        def port():
            with open(log) as text:
                return text.read().strip()

        self.wait_until(lambda: port().isdigit())
        self.target = f"127.0.0.1:{port()}"


class Peer(Server):
    """The FastAPI service: uvicorn with uvloop and two workers."""

    def __init__(self, parent, python, source, database_url, redis_url):
        folder = os.path.join(parent, "peer")
        os.makedirs(folder, exist_ok=True)
        self.port = free_port()
        super().__init__(folder, "peer",
                         [python, "-m", "uvicorn", "app:app", "--workers", "2", "--loop", "uvloop", "--host",
                          "127.0.0.1", "--port", str(self.port), "--no-access-log", "--log-level", "warning"],
                         env={"DATABASE_URL": database_url, "REDIS_URL": redis_url}, cwd=source)
        self.address = f"http://127.0.0.1:{self.port}"
        self.wait_until(lambda: urllib.request.urlopen(f"{self.address}/health", timeout=1).status == 200)


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
