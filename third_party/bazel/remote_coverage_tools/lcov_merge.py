#!/usr/bin/env python3
"""Stands in for Bazel's downloaded Java CoverageOutputGenerator (both of its entry points), C++ with gcov only.

lcov_merger:               --coverage_dir=D --output_file=F --source_file_manifest=M [--filter_sources=RE ...]
coverage_report_generator: --reports_file=R --output_file=F
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

def new():
    return {"da": collections.Counter(), "fn": {}, "fnda": collections.Counter()}

def write(out, files):
    with open(out, "w") as f:
        for name in sorted(files):
            r = files[name]
            f.write("SF:%s\n" % name)
            for fn in sorted(r["fn"], key=lambda k: (r["fn"][k], k)):
                f.write("FN:%d,%s\n" % (r["fn"][fn], fn))
            for fn in sorted(r["fn"]):
                f.write("FNDA:%d,%s\n" % (r["fnda"][fn], fn))
            f.write("FNF:%d\nFNH:%d\n" % (len(r["fn"]), sum(1 for x in r["fn"] if r["fnda"][x])))
            for ln in sorted(r["da"]):
                f.write("DA:%d,%d\n" % (ln, r["da"][ln]))
            f.write("LH:%d\nLF:%d\nend_of_record\n" % (sum(1 for v in r["da"].values() if v), len(r["da"])))

def read_lcov(path, files):
    cur = None
    with open(path) as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("SF:"):
                cur = files.setdefault(line[3:], new())
            elif line.startswith("DA:"):
                a, b = line[3:].split(",")[:2]
                cur["da"][int(a)] += int(b)
            elif line.startswith("FN:"):
                a, b = line[3:].split(",", 1)
                cur["fn"][b] = int(a)
            elif line.startswith("FNDA:"):
                a, b = line[5:].split(",", 1)
                cur["fnda"][b] += int(a)

def from_gcov(cov_dir, keep, files):
    gcov = os.environ.get("COVERAGE_GCOV_PATH") or "gcov"
    for root, _, names in os.walk(cov_dir):
        for n in sorted(names):
            if not n.endswith(".gcda"):
                continue
            if not os.path.exists(os.path.join(root, n[:-5] + ".gcno")):
                continue
            p = subprocess.run([gcov, "--json-format", "--stdout", "-o", root, os.path.join(root, n)],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for doc in p.stdout.splitlines():
                if not doc.strip():
                    continue
                for rec in json.loads(doc)["files"]:
                    name = rec["file"]
                    if name.startswith("/proc/self/cwd/"):
                        name = name[len("/proc/self/cwd/"):]
                    if not keep(name):
                        continue
                    r = files.setdefault(name, new())
                    for fn in rec["functions"]:
                        r["fn"].setdefault(fn["name"], fn["start_line"])
                        r["fnda"][fn["name"]] += fn["execution_count"]
                    for ln in rec["lines"]:
                        r["da"][ln["line_number"]] += ln["count"]

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--coverage_dir")
    ap.add_argument("--output_file", required=True)
    ap.add_argument("--source_file_manifest")
    ap.add_argument("--reports_file")
    ap.add_argument("--filter_sources", action="append", default=[])
    a, _ = ap.parse_known_args()
    files = {}
    if a.reports_file:
        with open(a.reports_file) as f:
            for p in f.read().split():
                if p.endswith(".dat") and os.path.exists(p):
                    read_lcov(p, files)
    else:
        wanted = None
        if a.source_file_manifest and os.path.exists(a.source_file_manifest):
            with open(a.source_file_manifest) as f:
                wanted = {l.strip() for l in f if l.strip() and not l.strip().endswith(".gcno")}
        drop = [re.compile(x) for x in a.filter_sources]
        keep = lambda s: (wanted is None or s in wanted) and not any(d.fullmatch(s) for d in drop)
        from_gcov(a.coverage_dir, keep, files)
        for n in sorted(os.listdir(a.coverage_dir)):
            if n.endswith(".dat"):
                p = os.path.join(a.coverage_dir, n)
                if os.path.realpath(p) != os.path.realpath(a.output_file):
                    read_lcov(p, files)
    write(a.output_file, files)
    return 0

sys.exit(main())
