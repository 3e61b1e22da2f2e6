"""What CHECK_WRITES_PER_SECOND costs: CPU of servers that check none, 10 and 100 of their writes a second.

Each has a PostgreSQL and a Redis of its own, and all have the same load in the same seconds, far below what the
machine can do; so that what disturbs the machine disturbs them alike, and the difference is the checks'.
"""
import contextlib
import dataclasses
import os
import statistics
import subprocess
import time

from suite import processes

PARTS = ("server", "postgres", "redis")


@dataclasses.dataclass(frozen=True)
class Sizes:
    paces: tuple            # Checks a second.
    likes_a_second: int
    likes_before: int       # In the table, of the servers without the index.
    settle_seconds: float   # A write is looked at for the last time after 60 s.
    window_seconds: float
    windows: int


STATED = Sizes((0, 10, 100), 200, 500_000, 65, 20, 3)
TINY = Sizes((0, 100), 100, 2_000, 0.5, 0.5, 1)


class _Site:
    """A server, and everything it stands on."""

    def __init__(self, bench, pace, has_index, likes_before):
        folder = os.path.join(bench.folder, f"checks-{pace}-{'index' if has_index else 'plain'}")
        os.makedirs(folder)
        os.chmod(folder, 0o755)  # PostgreSQL runs as another account.
        self.bench = bench
        self.pace = pace
        self.load = None
        with contextlib.ExitStack() as started:
            self.postgres = started.enter_context(processes.Postgres(folder))
            self.redis = started.enter_context(processes.Redis(folder))
            self.postgres.sql("CREATE DATABASE counter")
            settings = {"DATABASE_URL": self.postgres.url("counter"), "LIKERS_INDEX": "true" if has_index else "false"}
            processes.run([bench.programs["counterd"], "migrate", "up"], env={**settings, "PATH": os.environ["PATH"]})
            settings.update(REDIS_URL=self.redis.url(), CHECK_WRITES_PER_SECOND=str(pace))
            self.server = started.enter_context(
                processes.Counterd(folder, bench.programs["counterd"], "server", settings))
            if likes_before:
                bench.counterbench(self.server, ("--calls", "WriteLikes", "--batch", "1000", "--in_flight", "2",
                                                 "--items", "uniform:100000", "--calls_max",
                                                 str(likes_before // 1000)))
            self.started = started.pop_all()

    def begin_load(self, sizes):
        seconds = sizes.settle_seconds + sizes.windows * sizes.window_seconds + 2
        argv = [self.bench.programs["counterbench"], "--target", self.server.target, "--json", "--calls", "Like",
                "--items", "uniform:100000", "--rate", str(sizes.likes_a_second), "--warm_up", "0", "--duration",
                str(seconds), "--users_first", str(1 << 50)]
        self.load = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def cpu(self):
        return {part: getattr(self, part).cpu() for part in PARTS}

    def close(self):
        if self.load is not None:
            self.load.wait()
        self.started.close()


def _measure(bench, say, sizes, has_index):
    """Of each pace, for each part: milliseconds of CPU a second, one value a window."""
    sites = []
    used = {pace: {part: [] for part in PARTS} for pace in sizes.paces}
    try:
        for pace in sizes.paces:
            sites.append(_Site(bench, pace, has_index, 0 if has_index else sizes.likes_before))
        for site in sites:
            site.begin_load(sizes)
        time.sleep(sizes.settle_seconds)
        for window in range(sizes.windows):
            before = [site.cpu() for site in sites]
            began = time.monotonic()
            time.sleep(sizes.window_seconds)
            seconds = time.monotonic() - began
            for site, former in zip(sites, before):
                for part, cpu in site.cpu().items():
                    used[site.pace][part].append(1000 * (cpu - former[part]) / seconds)
            say(f"checks, window {window + 1} of {sizes.windows}, {'with' if has_index else 'without'} the index")
    finally:
        for site in sites:
            site.close()
    return used


def measure(bench, say, sizes):
    return {has_index: _measure(bench, say, sizes, has_index) for has_index in (True, False)}


def table(results, sizes):
    lines = [f"CPU under {sizes.likes_a_second} likes a second; medians of {sizes.windows} windows of "
             f"{sizes.window_seconds:g} s. Without the index of likers there were {sizes.likes_before:,} likes before.",
             "", "| index | checks a second | server | PostgreSQL | Redis | a check: server, PostgreSQL |",
             "|---|---|---|---|---|---|"]
    for has_index, used in results.items():
        base = used[0]
        for pace, parts in used.items():
            cells = [f"{statistics.median(parts[part]):.1f} ms/s" for part in PARTS]
            costs = "" if pace == 0 else ", ".join(
                f"{statistics.median([(one - none) / pace for one, none in zip(parts[part], base[part])]):.2f} ms"
                for part in ("server", "postgres"))
            lines.append(f"| {'yes' if has_index else 'no'} | {pace} | " + " | ".join(cells) + f" | {costs} |")
    return "\n".join(lines) + "\n"
