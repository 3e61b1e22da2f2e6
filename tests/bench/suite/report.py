"""What a run is printed as: a table, JSON, and pictures."""
import html
import statistics

from suite import rows

COLUMNS = (("units_per_second", "a second", "{:,.0f}"), ("p50_ms", "P50 ms", "{:.2f}"), ("p99_ms", "P99 ms", "{:.2f}"),
           ("server_us", "server us", "{:.1f}"), ("postgres_us", "PostgreSQL us", "{:.1f}"),
           ("redis_us", "Redis us", "{:.1f}"), ("client_us", "client us", "{:.1f}"), ("rss_mib", "MiB", "{:.0f}"))


def median(results, row, field):
    values = [figures[field] for figures in results.get(row, []) if field in figures]
    return statistics.median(values) if values else None


def ratio_values(results, ratio):
    """Of each round, so that what disturbed the machine disturbed both sides."""
    pairs = zip(results.get(ratio.row, []), results.get(ratio.base, []))
    return [row[ratio.field] / base[ratio.field] for row, base in pairs
            if row.get(ratio.field) and base.get(ratio.field)]


def summarize(results):
    ratios = []
    for ratio in rows.RATIOS:
        values = ratio_values(results, ratio)
        if values:
            value = statistics.median(values)
            met = value <= ratio.target if ratio.at_most else value >= ratio.target
            ratios.append({"name": ratio.name, "value": value, "lowest": min(values), "highest": max(values),
                           "target": ratio.target, "at_most": ratio.at_most, "met": met})
    limits = []
    for limit in rows.LIMITS:
        value = median(results, limit.row, limit.field)
        if value is not None:
            dropped = sum(figures.get("dropped", 0) for figures in results[limit.row])
            limits.append({"name": limit.name, "value": value, "below": limit.below, "dropped": dropped,
                           "met": value < limit.below and dropped == 0})
    return {"ratios": ratios, "limits": limits}


def table(results, rounds):
    lines = [f"Medians of {rounds} rounds; CPU in microseconds for each like, count or membership.", ""]
    lines.append("| | " + " | ".join(title for _, title, _ in COLUMNS) + " |")
    lines.append("|---" * (len(COLUMNS) + 1) + "|")
    for row in rows.ROWS:
        if results.get(row.name):
            cells = []
            for field, _, form in COLUMNS:
                value = median(results, row.name, field)
                cells.append("" if value is None else form.format(value))
            lines.append(f"| {row.what} | " + " | ".join(cells) + " |")
    summary = summarize(results)
    lines += ["", "| ratio | median | lowest to highest | target | |", "|---|---|---|---|---|"]
    for each in summary["ratios"]:
        sign = "<=" if each["at_most"] else ">="
        lines.append(f"| {each['name']} | {each['value']:.3g} | {each['lowest']:.3g} to {each['highest']:.3g} | "
                     f"{sign} {each['target']:.3g} | {'met' if each['met'] else 'missed'} |")
    lines += ["", "| limit | median | target | |", "|---|---|---|---|"]
    for each in summary["limits"]:
        lines.append(f"| {each['name']} | {each['value']:.3g} | < {each['below']:g} | "
                     f"{'met' if each['met'] else 'missed'}{_drops(each['dropped'])} |")
    floor = median(results, "empty_open", "p99_ms")
    if floor is not None:
        lines += ["", f"The machine's own part: an empty call at the rate of Like's has a P99 of {floor:.3g} ms."]
    return "\n".join(lines) + "\n"


def _drops(dropped):
    return f", {dropped:,} calls not sent" if dropped else ""


_STYLE = ("<style>text{font:13px sans-serif;fill:#24292f}.t{font-size:15px;font-weight:600}.g{stroke:#d0d7de}"
          "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.g{stroke:#444c56}}</style>")
_PARTS = (("server_us", "server", "#0969da"), ("postgres_us", "PostgreSQL", "#8250df"), ("redis_us", "Redis", "#cf222e"),
          ("client_us", "client", "#9a9a9a"))


def _svg(width, height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{html.escape(title)}">{_STYLE}<text class="t" x="16" y="26">{html.escape(title)}</text>'
            f"{''.join(body)}</svg>\n")


def cpu_picture(results, names):
    """Bars: where the CPU of one unit goes."""
    bars = [(row.what, [(median(results, row.name, field) or 0, color) for field, _, color in _PARTS])
            for row in rows.ROWS if row.name in names and median(results, row.name, "server_us") is not None]
    if not bars:
        return None
    left, width, top, step = 330, 880, 64, 28
    most = max(sum(value for value, _ in parts) for _, parts in bars) or 1
    body, x = [], left
    for _, label, color in _PARTS:
        body.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{color}"/><text x="{x + 17}" y="49">{label}</text>')
        x += 110
    for i, (what, parts) in enumerate(bars):
        y = top + i * step
        body.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(what)}</text>')
        x = float(left)
        for value, color in parts:
            length = value / most * (width - left - 70)
            body.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="19" fill="{color}"/>')
            x += length
        body.append(f'<text x="{x + 6:.1f}" y="{y + 14}">{sum(value for value, _ in parts):.1f}</text>')
    return _svg(width, top + len(bars) * step + 12, "CPU for one like, count or membership, in microseconds", body)


def latency_picture(curve):
    """Lines: throughput against latency, of the figures in the curve."""
    if len(curve) < 2:
        return None
    left, right, top, bottom = 64, 660, 48, 330
    most_x = max(point["calls_per_second"] for point in curve) * 1.05
    most_y = max(point["p99_ms"] for point in curve) * 1.1
    body = []
    for i in range(5):
        y = bottom - (bottom - top) * i / 4
        x = left + (right - left) * i / 4
        body.append(f'<line class="g" x1="{left}" y1="{y:.0f}" x2="{right}" y2="{y:.0f}"/>'
                    f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{most_y * i / 4:.3g}</text>'
                    f'<text x="{x:.0f}" y="{bottom + 20}" text-anchor="middle">{most_x * i / 4:,.0f}</text>')
    for label, field, color in (("P50", "p50_ms", "#0969da"), ("P99", "p99_ms", "#cf222e")):
        points = [(left + (right - left) * point["calls_per_second"] / most_x,
                   bottom - (bottom - top) * point[field] / most_y) for point in curve]
        body.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="'
                    + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        body.append(f'<text x="{points[-1][0] + 6:.0f}" y="{points[-1][1]:.0f}">{label}</text>')
    body.append(f'<text x="{(left + right) / 2}" y="{bottom + 42}" text-anchor="middle">likes a second, offered by an '
                f'open loop</text><text x="{left}" y="{top - 8}">ms</text>')
    return _svg(720, 384, "Unary Like: throughput against latency", body)
