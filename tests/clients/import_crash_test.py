#!/usr/bin/env python3
"""An import of generated likes survives kill -9 of the tool and of the server and ends exact when it is run again.

20,000 lines, a million if COUNTER_TEST_LONG is 1. Arguments: counterd, counterctl. COUNTER_TEST_SEED replays.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from counter_server import Server, wait_for


def main():
    counterd, counterctl = (os.path.abspath(path) for path in sys.argv[1:3])
    seed = int(os.environ.get("COUNTER_TEST_SEED") or random.randrange(1 << 30))
    print("COUNTER_TEST_SEED=%d" % seed)
    random.seed(seed)
    lines = 1000000 if os.environ.get("COUNTER_TEST_LONG") == "1" else 20000
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "likes.csv")
        pairs = set()
        with open(source, "w") as out:
            out.write("user_id,item_type,item_id\n")
            for _ in range(lines):
                pair = random.randrange(1, lines), random.randrange(1, 200)
                pairs.add(pair)
                out.write("%d,post,%d\n" % pair)
        server = Server(counterd, folder)
        tool = [counterctl, "--server", "127.0.0.1:%d" % server.port, "import", source]
        progress = source + ".progress"

        def imported():
            try:
                with open(progress) as record:
                    return json.load(record)["offset"]
            except (OSError, ValueError):
                return 0

        # The tool is killed when it is somewhere in the middle, the server under the next run of it.
        running = subprocess.Popen(tool, stdout=subprocess.DEVNULL)
        wait_for("progress", lambda: imported() > 0 or running.poll() is not None)
        running.kill()
        running.wait()
        before = imported()
        running = subprocess.Popen(tool, stdout=subprocess.DEVNULL)
        wait_for("more progress", lambda: imported() > before or running.poll() is not None)
        server.kill()
        time.sleep(0.3)
        server.start()
        status = running.wait()
        if status != 0:
            sys.exit("the import did not get over the server's death: exit status %d" % status)
        if os.path.exists(progress):
            sys.exit("a finished import left its progress file")

        wanted = collections.Counter(item for _, item in pairs)
        items = ["post:%d" % item for item in wanted]
        ran = subprocess.run([*tool[:3], "count", "--strong", "--deadline", "20s", "-o", "json", *items], check=True,
                             stdout=subprocess.PIPE)
        got = {row["item"]: row["count"] for row in json.loads(ran.stdout)}
        wrong = {item: (got["post:%d" % item], count) for item, count in wanted.items()
                 if got["post:%d" % item] != count}
        server.kill()
        if wrong:
            sys.exit("wrong counts (got, wanted): %r" % dict(list(wrong.items())[:5]))
        print("%d lines, %d likes, %d items: exact" % (lines, len(pairs), len(wanted)))


main()
