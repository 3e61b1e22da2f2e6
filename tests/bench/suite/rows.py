"""The rows of the table: what is measured, on which servers, by which load."""
import dataclasses
import json
import os
import subprocess

from suite import processes

ITEMS = 1_000_000
# Beyond what any run can use up: each measurement has users of its own.
USERS_STRIDE = 1 << 34


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement. `what` is counted in `units` a second."""
    name: str
    what: str
    server: str          # A key of Bench.SERVERS, or "" for none.
    load: tuple = ()     # Flags of counterbench, or what the other loads take.
    kind: str = "counterbench"
    fill: str = ""       # Data that must be there: "items" (counts) or "own" (recent likes).
    half_of: str = ""    # An open loop at half of the rate that this other row reached in the round.
    connections: int = 64


def _bench(name, what, server, *load, **more):
    return Row(name, what, server, tuple(load), **more)


def _unary(name, what, server, in_flight, *load, **more):
    return _bench(name, what, server, "--in_flight", str(in_flight), *load, **more)


UNIFORM = ("--items", f"uniform:{ITEMS}")
ZIPF = ("--items", f"zipf:{ITEMS}")
HOT = ("--items", "hot")
WARM = ("--items", "uniform:10000", "--users", "item")
REPEATS = ("--items", "uniform:10000", "--users", "item")
BATCH100 = ("--calls", "WriteLikes", "--batch", "100")
OWN = 50
OWNERS = 2_000

ROWS = [
    # (a) The ceiling.
    _unary("empty_512", "empty calls, 512 in flight", "empty", 512, "--calls", "Empty"),
    _unary("empty_64", "empty calls, 64 in flight", "empty", 64, "--calls", "Empty"),
    # (b) Unary likes.
    _unary("like_512", "Like, uniform, 512 in flight", "full", 512, "--calls", "Like", *UNIFORM),
    _unary("like_64", "Like, uniform, 64 in flight", "full", 64, "--calls", "Like", *UNIFORM),
    _unary("like_zipf_512", "Like, Zipf, 512 in flight", "full", 512, "--calls", "Like", *ZIPF),
    _unary("like_hot_512", "Like, one hot item, 512 in flight", "full", 512, "--calls", "Like", *HOT),
    _unary("like_repeats_512", "Like, all repeats, 512 in flight", "full", 512, "--calls", "Like", *REPEATS,
           fill="items"),
    _unary("like_single_512", "Like, batch limit 1, 512 in flight", "single", 512, "--calls", "Like", *UNIFORM),
    _bench("like_open", "Like, open loop at half of the peak", "full", "--calls", "Like", *UNIFORM,
           half_of="like_512"),
    # What the machine itself adds to an open loop at that rate.
    _bench("empty_open", "empty calls, open loop at the same rate", "empty", "--calls", "Empty", half_of="like_512"),
    # (c) Batches of likes.
    _unary("write_100", "WriteLikes of 100, uniform", "full", 16, *BATCH100, *UNIFORM),
    _unary("write_100_hot", "WriteLikes of 100, one hot item", "full", 16, *BATCH100, *HOT),
    _unary("write_100_no_cache", "WriteLikes of 100, no Redis", "no_redis", 16, *BATCH100, *UNIFORM),
    _unary("write_1000", "WriteLikes of 1000, uniform", "full", 4, "--calls", "WriteLikes", "--batch", "1000",
           *UNIFORM),
    # (d) Reads.
    _unary("count_hit_512", "GetCount, hit, 512 in flight", "full", 512, "--calls", "GetCount", *WARM, fill="items"),
    _unary("count_near_512", "GetCount, hit, near cache of 400 ms, 512 in flight", "near", 512, "--calls", "GetCount",
           *WARM, fill="items"),
    _bench("count_hit_open", "GetCount, hit, open loop at half of the peak", "full", "--calls", "GetCount", *WARM,
           fill="items", half_of="count_hit_512"),
    _unary("count_miss_512", "GetCount, miss, 512 in flight", "full", 512, "--calls", "GetCount", "--cold_share", "1"),
    _bench("count_miss_open", "GetCount, miss, open loop at half of the peak", "full", "--calls", "GetCount",
           "--cold_share", "1", half_of="count_miss_512"),
    _unary("counts_50", "BatchGetCounts of 50, 95 % hits, 64 in flight", "full", 64, "--calls", "BatchGetCounts",
           "--batch", "50", "--cold_share", "0.05", *WARM, fill="items"),
    _bench("counts_50_open", "BatchGetCounts of 50, open loop at half of the peak", "full", "--calls",
           "BatchGetCounts", "--batch", "50", "--cold_share", "0.05", *WARM, fill="items", half_of="counts_50"),
    _unary("liked_50_recent", "HasLiked of 50, from recent likes, 64 in flight", "full", 64, "--calls", "HasLiked",
           "--batch", str(OWN), "--own", str(OWN), "--users", f"uniform:{OWNERS}", fill="own"),
    _unary("liked_50_stored", "HasLiked of 50, from PostgreSQL, 64 in flight", "full", 64, "--calls", "HasLiked",
           "--batch", str(OWN), "--users", f"uniform:{ITEMS}", "--items", f"uniform:{ITEMS}", "--strong"),
    # (e) What a site would do: 99 % reads, 45 % of the counts zero.
    _unary("mix_64", "mix: 99 % reads, 45 % of counts zero, Zipf", "full", 64, "--calls",
           "GetCount=60,BatchGetCounts=20,HasLiked=19,Like=1", "--batch", "50", *ZIPF, fill="zipf"),
    # (f) What one would do instead.
    Row("pgbench", "pgbench, a transaction a like, uniform", "", ("uniform",), kind="pgbench"),
    Row("pgbench_hot", "pgbench, a transaction a like, one hot row", "", ("hot",), kind="pgbench"),
    Row("ceiling_100", "the batch statement by libpq, 100, uniform", "", UNIFORM, kind="ceiling"),
    Row("ceiling_100_hot", "the batch statement by libpq, 100, one hot item", "", HOT, kind="ceiling"),
    Row("peer_like", "FastAPI, like, uniform", "peer", ("like", str(ITEMS)), kind="wrk"),
    Row("peer_like_hot", "FastAPI, like, one hot item", "peer", ("like", "1"), kind="wrk"),
    Row("peer_likes", "FastAPI, 100 likes a call", "peer", ("likes", str(ITEMS)), kind="wrk", connections=16),
    Row("peer_count", "FastAPI, count, hit", "peer", ("count", "10000"), kind="wrk", fill="wrk"),
    # (g) The embedded store.
    _unary("embedded_100", "embedded store, WriteLikes of 100, uniform", "embedded", 16, *BATCH100, *UNIFORM),
    Row("sqlite", "the same SQLite statements, no server", "", (), kind="sqlite"),
]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """One row in units of another, by `field`; `target` is what it is to be, at least or at most."""
    name: str
    row: str
    base: str
    target: float
    field: str = "units_per_second"
    at_most: bool = False
    times: float = 1.0     # That a unit of the row counts for.


RATIOS = [
    Ratio("unary Like / empty call, 512 in flight", "like_512", "empty_512", 0.60),
    Ratio("unary Like / batch limit 1", "like_512", "like_single_512", 4),
    Ratio("one hot item / uniform", "like_hot_512", "like_512", 1),
    Ratio("all repeats / uniform", "like_repeats_512", "like_512", 1.3),
    Ratio("WriteLikes of 100, no Redis / storage ceiling", "write_100_no_cache", "ceiling_100", 0.95),
    Ratio("WriteLikes of 100 / storage ceiling", "write_100", "ceiling_100", 0.78),
    Ratio("WriteLikes of 100 / pgbench", "write_100", "pgbench", 9),
    Ratio("WriteLikes of 100, hot / pgbench, hot", "write_100_hot", "pgbench_hot", 42),
    Ratio("GetCount hit / empty call", "count_hit_512", "empty_512", 0.9),
    Ratio("GetCount hit, near cache / empty call", "count_near_512", "empty_512", 0.9),
    Ratio("BatchGetCounts of 50 / empty call", "counts_50", "empty_64", 0.5, field="calls_per_second"),
    Ratio("HasLiked of 50, recent / empty call", "liked_50_recent", "empty_64", 0.5, field="calls_per_second"),
    Ratio("HasLiked of 50, stored / empty call", "liked_50_stored", "empty_64", 0.3, field="calls_per_second"),
    Ratio("unary Like / FastAPI", "like_512", "peer_like", 10),
    Ratio("one hot item / FastAPI", "like_hot_512", "peer_like_hot", 35),
    Ratio("WriteLikes of 100 / FastAPI, 100 a call", "write_100", "peer_likes", 30),
    Ratio("GetCount hit / FastAPI", "count_hit_512", "peer_count", 8),
    Ratio("server CPU a like, unary / FastAPI", "like_512", "peer_like", 1 / 12, field="server_us", at_most=True),
    Ratio("server CPU a like, batches / FastAPI", "write_100", "peer_like", 1 / 50, field="server_us", at_most=True),
    Ratio("embedded WriteLikes of 100 / SQLite alone", "embedded_100", "sqlite", 0.7),
]


@dataclasses.dataclass(frozen=True)
class Limit:
    """A figure of one row that is to stay below a bound."""
    name: str
    row: str
    field: str
    below: float


LIMITS = [
    Limit("P99 of Like, 64 in flight, ms", "like_64", "p99_ms", 15),
    Limit("P99 of Like, open loop, ms", "like_open", "p99_ms", 30),
    Limit("P99 of GetCount hit, open loop, ms", "count_hit_open", "p99_ms", 5),
    Limit("P99 of GetCount miss, open loop, ms", "count_miss_open", "p99_ms", 20),
    Limit("P99 of BatchGetCounts of 50, open loop, ms", "counts_50_open", "p99_ms", 15),
    Limit("most memory of counterd, unary likes, MiB", "like_512", "rss_mib", 200),
    Limit("most memory of counterd, batches, MiB", "write_100", "rss_mib", 200),
]

_TRANSACTION = """BEGIN;
INSERT INTO user_likes (user_id, item_id, item_type) VALUES (:u, :i, 1) ON CONFLICT DO NOTHING;
INSERT INTO counters AS c (item_type, item_id, count, version, digest) VALUES (1, :i, 1, 1, 0)
 ON CONFLICT (item_type, item_id) DO UPDATE SET count = c.count + 1, version = c.version + 1;
END;
"""


class Bench:
    """Runs rows. Owns PostgreSQL and Redis; starts the server of a row for that row alone."""

    def __init__(self, folder, programs, python, source, seconds, warm_up, scale):
        self.folder = folder
        self.programs = programs
        self.python = python
        self.source = source
        self.seconds = seconds
        self.warm_up = warm_up
        self.scale = scale      # Of the data that is filled in.
        self.users = 0
        self.filled = set()
        self.postgres = processes.Postgres(folder)
        self.redis = processes.Redis(folder)
        for database in ("counter", "single", "no_redis", "pgbench", "ceiling", "peer"):
            self.postgres.sql(f"CREATE DATABASE {database}")
            if database != "peer":
                processes.run([programs["counterd"], "migrate", "up"],
                              env={"DATABASE_URL": self.postgres.url(database), "PATH": os.environ["PATH"]})

    def close(self):
        self.redis.stop()
        self.postgres.stop()

    def start(self, server):
        postgres, redis = self.postgres, self.redis
        if server == "empty":
            return processes.EmptyServer(self.folder, self.programs["empty_server"])
        if server == "peer":
            return processes.Peer(self.folder, self.python, f"{self.source}/peers/fastapi_likes",
                                  postgres.peer_url("peer"), redis.url(1))
        settings = {
            "full": {"DATABASE_URL": postgres.url("counter"), "REDIS_URL": redis.url()},
            "single": {"DATABASE_URL": postgres.url("single"), "REDIS_URL": redis.url(2), "BATCH_ROWS_MAX": "1"},
            "near": {"DATABASE_URL": postgres.url("counter"), "REDIS_URL": redis.url(), "NEAR_CACHE_MILLISECONDS": "400"},
            "no_redis": {"DATABASE_URL": postgres.url("no_redis")},
            "embedded": {},
        }[server]
        return processes.Counterd(self.folder, self.programs["counterd"], server, settings)

    def _new_users(self):
        self.users += 1
        return 1 + self.users * USERS_STRIDE

    def counterbench(self, server, flags, check=True):
        """Runs a load. Calls that an open loop could not send are a result; calls that failed are not."""
        argv = [self.programs["counterbench"], "--target", server.target, "--json", "--users_first",
                str(self._new_users()), *flags]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        figures = json.loads(done.stdout) if done.stdout else None
        if figures is None or (check and done.returncode != 0 and
                               (figures["errors"] or figures["wrong"] or not figures["dropped"])):
            raise processes.Failed(f"{' '.join(argv)} ended with {done.returncode}: {done.stdout}")
        return figures

    def _fill(self, server, what):
        """Likes that reads ask for, once; and warm caches, each time."""
        batch = 1000
        if what == "items":
            flags = ("--items", "walk:10000", "--users", "item", "--calls", "WriteLikes", "--batch", str(batch),
                     "--calls_max", "10")
            self.counterbench(server, flags + ("--in_flight", "1"))
            self.counterbench(server, ("--items", "walk:10000", "--calls", "BatchGetCounts", "--batch", str(batch),
                                        "--calls_max", "10", "--in_flight", "1"))
        elif what == "own":
            calls = OWN * OWNERS // batch
            self.counterbench(server, ("--items", f"walk:{OWN * OWNERS}", "--users", "owner", "--own", str(OWN),
                                        "--calls", "WriteLikes", "--batch", str(batch), "--calls_max", str(calls),
                                        "--in_flight", "1"))
        elif what == "zipf" and what not in self.filled:
            # 55 of 100 items have a like; Zipf scatters the hot ones over both.
            items = int(ITEMS * 0.55 * self.scale)
            self.counterbench(server, ("--items", f"walk:{items}", "--users", "item", "--calls", "WriteLikes",
                                        "--batch", str(batch), "--calls_max", str(max(1, items // batch)),
                                        "--in_flight", "1"))
            self.filled.add(what)

    def measure(self, row, results):
        """One measurement of the row: a dict of figures."""
        if row.kind == "counterbench":
            return self._measure_counterbench(row, results)
        return {"pgbench": self._pgbench, "ceiling": self._ceiling, "wrk": self._wrk, "sqlite": self._sqlite}[row.kind](
            row)

    def _measure_counterbench(self, row, results):
        flags = row.load
        if row.half_of:
            rate = results[row.half_of][-1]["calls_per_second"] / 2
            flags = flags + ("--rate", f"{rate:.0f}")
        with self.start(row.server) as server:
            if row.fill:
                self._fill(server, row.fill)
            parts = {"server": server, "postgres": self.postgres, "redis": self.redis}
            # Warm-up apart, so that the CPU of the measured part is known.
            self.counterbench(server, flags + ("--warm_up", "0", "--duration", str(self.warm_up)), check=False)
            before = {name: part.cpu() for name, part in parts.items()}
            figures = self.counterbench(server, flags + ("--warm_up", "0", "--duration", str(self.seconds)))
            used = {name: part.cpu() - before[name] for name, part in parts.items()}
            used["client"] = figures["client_cpu_seconds"]
            units = max(1.0, figures["units_per_second"] * figures["seconds"])
            return {
                "units_per_second": figures["units_per_second"],
                "calls_per_second": figures["calls_per_second"],
                "p50_ms": figures["latency_ms"]["p50"],
                "p99_ms": figures["latency_ms"]["p99"],
                "late": figures["late"],
                "dropped": figures["dropped"],
                "rss_mib": server.rss_mib(),
                **{f"{name}_us": 1e6 * seconds / units for name, seconds in used.items()},
            }

    def _pgbench(self, row):
        script = os.path.join(self.folder, "pgbench.sql")
        items = 1 if row.load[0] == "hot" else ITEMS
        with open(script, "w") as out:
            out.write(f"\\set u random(1, 1000000000000)\n\\set i random(1, {items})\n{_TRANSACTION}")
        best = {"units_per_second": 0.0}
        # Its best: fewer connections suit a hot row, more suit many.
        for clients in (16, 64) if self.scale == 1 else (16,):
            before = self.postgres.cpu()
            seconds = max(1, round(self.seconds))
            text = processes.run([f"{processes.POSTGRES_PROGRAMS}/pgbench", "-n", "-M", "prepared", "-c", str(clients),
                                  "-j", "2", "-T", str(seconds), "-f", script, self.postgres.url("pgbench")])
            rate = float(text.partition("tps = ")[2].split()[0])
            if rate > best["units_per_second"]:
                best = {"units_per_second": rate, "calls_per_second": rate,
                        "postgres_us": 1e6 * (self.postgres.cpu() - before) / (rate * seconds)}
        return best

    def _ceiling(self, row):
        best = {"units_per_second": 0.0}
        for connections in (1, 2) if self.scale == 1 else (1,):
            figures = json.loads(processes.run(
                [self.programs["statement_bench"], "--url", self.postgres.url("ceiling"), "--users_first",
                 str(self._new_users()), "--connections", str(connections), "--seconds", str(self.seconds), *row.load]))
            if figures["units_per_second"] > best["units_per_second"]:
                best = {"units_per_second": figures["units_per_second"], "p50_ms": figures["latency_ms"]["p50"],
                        "p99_ms": figures["latency_ms"]["p99"]}
        return best

    def _wrk(self, row):
        kind, items = row.load
        per_call = 1 if kind != "likes" else 100 if self.scale == 1 else 2
        with self.start("peer") as server:
            seconds = max(1, round(self.seconds))
            argv = ["wrk", "-t", "1", "-c", str(row.connections), "--timeout", "30s", "-s",
                    f"{self.source}/peers/fastapi_likes/load.lua", server.address]
            load = ["--", kind, items]
            processes.run(argv + ["-d", f"{max(1, round(self.warm_up))}s"] + load + [str(self._new_users()), str(per_call)])
            before = {"server": server.cpu(), "postgres": self.postgres.cpu(), "redis": self.redis.cpu()}
            text = processes.run(argv + ["-d", f"{seconds}s"] + load +
                                 [str(self._new_users()), str(per_call)])
            used = {"server": server.cpu() - before["server"], "postgres": self.postgres.cpu() - before["postgres"],
                    "redis": self.redis.cpu() - before["redis"]}
            figures = json.loads(text.strip().splitlines()[-1])
            if figures["failed"] > 0:
                raise processes.Failed(f"the peer failed {figures['failed']} calls")
            rate = figures["calls_per_second"] * per_call
            units = rate * seconds
            if units == 0:
                raise processes.Failed("the peer answered nothing")
            return {"units_per_second": rate, "calls_per_second": figures["calls_per_second"],
                    "p50_ms": figures["latency_ms"]["p50"], "p99_ms": figures["latency_ms"]["p99"],
                    "rss_mib": server.rss_mib(), **{f"{name}_us": 1e6 * cpu / units for name, cpu in used.items()}}

    def _sqlite(self, _row):
        folder = os.path.join(self.folder, "sqlite")
        os.makedirs(folder, exist_ok=True)
        text = processes.run([self.programs["store_bench"], "--folder", folder, "--seconds", str(self.seconds),
                              "--rounds", "1", "--json"])
        return {"units_per_second": json.loads(text.strip().splitlines()[-1])["uniform"]["sqlite"]}
