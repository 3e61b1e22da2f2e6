#!/bin/bash
# Runs tests/bench/run with every row, tiny, on programs that were built already: run_test.sh RUN PROGRAM...
# It says whether the benchmark works; how fast anything is, it cannot say.
set -euo pipefail

run=$1
shift
programs=$TEST_TMPDIR/programs
results=$TEST_TMPDIR/results
mkdir -p "$programs"
for program in "$@"; do ln -s "$PWD/$program" "$programs/"; done

"$run" --tiny --programs "$programs" --out "$results" --folder /tmp

# Each row has a rate, each ratio and limit a value, and the pictures are XML.
python3 - "$results" <<'PYTHON'
import json
import os
import sys
import xml.dom.minidom

folder = sys.argv[1]
with open(os.path.join(folder, "results.json")) as text:
    results = json.load(text)
empty = [name for name, rounds in results["rows"].items()
         if len(rounds) != 1 or rounds[0]["units_per_second"] <= 0]
assert not empty, f"rows without a rate: {empty}"
assert len(results["rows"]) >= 30, len(results["rows"])
assert len(results["ratios"]) == 20, [ratio["name"] for ratio in results["ratios"]]
assert len(results["limits"]) == 7, [limit["name"] for limit in results["limits"]]
# More than the server can take is a point of the curve, not the end of the run.
assert [point["dropped"] > 0 for point in results["curve"]] == [False, True], results["curve"]
for picture in ("cpu.svg", "latency.svg"):
    xml.dom.minidom.parse(os.path.join(folder, picture))
with open(os.path.join(folder, "table.md")) as text:
    assert "unary Like / empty call, 512 in flight" in text.read()
PYTHON

"$run" --long --tiny --programs "$programs" --out "$TEST_TMPDIR/long" --folder /tmp
values=$(grep -cE '^\| .* \| [0-9.e+]+ \| (<|<=|>=) [0-9.]+ \| (met|missed) \|' "$TEST_TMPDIR/long/long.md")
[[ $values == 4 ]] || { cat "$TEST_TMPDIR/long/long.md"; exit 1; }

"$run" --checks --tiny --programs "$programs" --out "$TEST_TMPDIR/checks" --folder /tmp
[[ $(grep -cE '^\| (yes|no) \| [0-9]+ \| [0-9.]+ ms/s \|' "$TEST_TMPDIR/checks/checks.md") == 4 ]] ||
  { cat "$TEST_TMPDIR/checks/checks.md"; exit 1; }
