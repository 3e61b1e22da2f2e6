#!/usr/bin/env python3
"""The runbook has an entry for each alert and each reason of an error, and for nothing else.

Arguments: docs/runbook.md, deploy/prometheus/rules.yml, proto/counter/v1/error_reason.proto, docs/metrics.md.
"""
import re
import sys

PARTS = ["Callers see", "Means", "Look at", "Do"]


def read(path):
    with open(path) as file:
        return file.read()


def anchor_of(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def main():
    page, rules, proto, metrics = (read(path) for path in sys.argv[1:5])
    alerts = re.findall(r"^ +- alert: (\w+)$", rules, re.M)
    links = re.findall(r"^ +runbook_url: (\S+)$", rules, re.M)
    reasons = [name for name in re.findall(r"^  ERROR_REASON_(\w+) = \d+;$", proto, re.M) if name != "UNSPECIFIED"]
    entries = dict(re.findall(r"^### (.+)\n((?:(?!^##).*\n?)*)", page, re.M))
    assert len(alerts) > 20 and len(reasons) > 8, (alerts, reasons)

    faults = []
    for name in alerts + reasons:
        if name not in entries:
            faults.append("no entry for %s" % name)
    for name in entries:
        if name not in alerts + reasons:
            faults.append("an entry for %s, which is neither an alert nor a reason" % name)
        parts = re.findall(r"^- \*\*([^*]+)\*\*", entries[name], re.M)
        if parts != PARTS:
            faults.append("%s has the parts %s, not %s" % (name, parts, PARTS))
    for name, link in zip(alerts, links):
        if link != "docs/runbook.md#" + anchor_of(name):
            faults.append("the alert %s links to %s" % (name, link))
    if len(links) != len(alerts):
        faults.append("%d alerts have %d links to the runbook" % (len(alerts), len(links)))
    anchors = {anchor_of(heading) for heading in re.findall(r"^#+ (.+)$", page, re.M)}
    for target in re.findall(r"\]\(#([^)]+)\)", page):
        if target not in anchors:
            faults.append("a link to #%s, which is no heading" % target)
    for metric in set(re.findall(r"\b(?:grpc_server|counter|process)_\w+_(?:total|seconds|rows|reads|mutations|max|fds)\b",
                                 page)):
        if metric not in metrics:
            faults.append("the metric %s is not in docs/metrics.md" % metric)
    print("%d alerts, %d reasons, %d entries" % (len(alerts), len(reasons), len(entries)))
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
