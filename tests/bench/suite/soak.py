"""What takes long to see: a table that grows, memory over minutes, a queue near the peak."""
import dataclasses
import statistics
import threading

from suite import rows

SAMPLE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class Sizes:
    rows: tuple            # Of the smaller and the larger table.
    rounds: int            # Measurements at each of them.
    seconds: float         # Of each measurement.
    soak_seconds: float
    near_peak_seconds: float


STATED = Sizes((1_000_000, 20_000_000), 5, 5, 600, 60)
TINY = Sizes((2_000, 8_000), 1, 0.3, 1.5, 0.5)


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    value: float
    target: str
    met: bool
    detail: str


class _Memory:
    """Samples what a process has in memory, in MiB, until it is left."""

    def __init__(self, pid, pause):
        self.pid = pid
        self.pause = pause
        self.samples = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._sample)

    def _sample(self):
        while True:
            with open(f"/proc/{self.pid}/status") as status:
                self.samples += [int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:")]
            if self.ended.wait(self.pause):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def _load(bench, server, name, *flags):
    row = next(row for row in rows.ROWS if row.name == name)
    return bench.counterbench(server, (*row.load, "--warm_up", "0", *flags))


def _fill(bench, server, wanted):
    """Likes of a million items, until there are so many."""
    there = int(bench.postgres.sql("SELECT count(*) FROM user_likes", "counter"))
    batch = 1000
    calls = max(0, wanted - there) // batch
    if calls > 0:
        bench.counterbench(server, ("--calls", "WriteLikes", "--batch", str(batch), *rows.UNIFORM, "--in_flight", "2",
                                    "--calls_max", str(calls)))
    bench.postgres.sql("CHECKPOINT", "counter")
    return int(bench.postgres.sql("SELECT count(*) FROM user_likes", "counter"))


def _growth(bench, say, sizes):
    rates = []
    counts = []
    with bench.start("full") as server:
        for wanted in sizes.rows:
            counts.append(_fill(bench, server, wanted))
            say(f"{counts[-1]:,} rows")
            measured = [_load(bench, server, "write_100", "--duration", str(sizes.seconds))["units_per_second"]
                        for _ in range(sizes.rounds)]
            rates.append(statistics.median(measured))
            say(f"WriteLikes of 100: {rates[-1]:,.0f} a second")
    value = rates[1] / rates[0]
    return Result(f"WriteLikes of 100 at {counts[1]:,} rows / at {counts[0]:,}", value, ">= 0.85", value >= 0.85,
                  f"{rates[1]:,.0f} and {rates[0]:,.0f} likes a second")


def _soak(bench, say, sizes):
    pause = min(SAMPLE_SECONDS, sizes.soak_seconds / 10)
    with bench.start("full") as server:
        with _Memory(server.pid, pause) as memory:
            figures = _load(bench, server, "like_512", "--duration", str(sizes.soak_seconds))
        most = server.rss_mib()
    # The first tenth fills pools and caches.
    tenth = max(1, len(memory.samples) // 10)
    early, late = (statistics.median(part) for part in (memory.samples[tenth:2 * tenth], memory.samples[-tenth:]))
    say(f"memory: {early:.0f} MiB in the second tenth of the time, {late:.0f} MiB in the last")
    return [Result("most memory of counterd under unary likes, MiB", most, "< 200", most < 200,
                   f"{figures['calls_per_second']:,.0f} likes a second for {sizes.soak_seconds:g} s"),
            Result("memory at the end / in the second tenth", late / early, "<= 1.1", late / early <= 1.1,
                   f"{late:.1f} and {early:.1f} MiB")]


def _near_peak(bench, say, sizes):
    with bench.start("full") as server:
        peak = _load(bench, server, "like_512", "--duration", str(sizes.seconds))["calls_per_second"]
        row = next(row for row in rows.ROWS if row.name == "like_open")
        figures = bench.counterbench(server, (*row.load, "--warm_up", "0", "--rate", f"{0.9 * peak:.0f}", "--duration",
                                              str(sizes.near_peak_seconds)), check=False)
    p99 = figures["latency_ms"]["p99"]
    refused = sum(figures["errors"].values()) + figures["dropped"]
    say(f"at 90 % of the peak of {peak:,.0f}: P50 {figures['latency_ms']['p50']:.1f}, P99 {p99:.1f} ms, "
        f"{refused:,} refused or not sent")
    # From the intended start: a queue that grows by a hundredth of the rate ends 600 ms behind.
    return Result(f"P99 of Like at 90 % of the peak for {sizes.near_peak_seconds:g} s, ms", p99, "< 500",
                  p99 < 500 and refused == 0, f"{refused:,} refused or not sent, peak {peak:,.0f} a second")


def measure(bench, say, sizes):
    # The smaller table has to come before the others' likes.
    return [_growth(bench, say, sizes), *_soak(bench, say, sizes), _near_peak(bench, say, sizes)]


def table(results):
    lines = ["| | value | target | | |", "|---|---|---|---|---|"]
    lines += [f"| {each.name} | {each.value:.3g} | {each.target} | {'met' if each.met else 'missed'} | {each.detail} |"
              for each in results]
    return "\n".join(lines) + "\n"
