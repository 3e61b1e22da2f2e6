#!/usr/bin/env python3
"""An export survives kill -9 of the tool and of the server, has each like once, and what it wrote can be imported.

20,000 likes of 2,000 users, 500,000 of 200 if COUNTER_TEST_LONG is 1. Arguments: counterd, counterctl. COUNTER_TEST_SEED
replays.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from counter_server import Server, wait_for

KILLS_MAX = 20


def likes_of(path):
    with open(path) as lines:
        if next(lines) != "user_id,item_type,item_id\n":
            sys.exit("an export without a header")
        return [tuple(line.strip().split(",")) for line in lines]


def recorded(path):
    """How many bytes of the file the tool has recorded as done; None if it has no record."""
    try:
        with open(path + ".progress") as record:
            return json.load(record)["output_bytes"]
    except OSError:
        return None


def is_ahead(path):
    """Whether more stands in the file than is recorded: what a run after a kill has to cut off."""
    done = recorded(path)
    return done is not None and os.path.getsize(path) > done


def main():
    counterd, counterctl = (os.path.abspath(path) for path in sys.argv[1:3])
    seed = int(os.environ.get("COUNTER_TEST_SEED") or random.randrange(1 << 30))
    print("COUNTER_TEST_SEED=%d" % seed)
    random.seed(seed)
    users, likes = (200, 500000) if os.environ.get("COUNTER_TEST_LONG") == "1" else (2000, 20000)
    wanted = {(str(random.randrange(1, users + 1)), random.choice(("post", "reel")), str(random.randrange(1, likes)))
              for _ in range(likes)}
    with tempfile.TemporaryDirectory() as folder:
        source, target, list_of_users = (os.path.join(folder, name) for name in ("in.csv", "out.csv", "users.txt"))
        with open(source, "w") as out:
            out.writelines(",".join(like) + "\n" for like in sorted(wanted))
        with open(list_of_users, "w") as out:
            out.writelines("%d\n" % user for user in range(1, users + 3))  # Two of them like nothing.
        server = Server(counterd, os.path.join(folder, "first"))

        def tool(server, *arguments):
            return [counterctl, "--server", "127.0.0.1:%d" % server.port, *arguments]

        subprocess.run(tool(server, "import", source), check=True, stdout=subprocess.DEVNULL)
        export = tool(server, "export", "--file", list_of_users, "--to", target)
        # The tool is killed when it is somewhere in the middle, the server under the next run of it.
        for _ in range(KILLS_MAX):
            running = subprocess.Popen(export, stdout=subprocess.DEVNULL)
            wait_for("an export", lambda: is_ahead(target) or running.poll() is not None)
            running.kill()
            if running.wait() != 0:
                break
            os.remove(target)  # It was over before.
        else:
            sys.exit("no export could be killed before it was over")
        if not is_ahead(target):
            sys.exit("the kill left nothing to cut off")
        before = recorded(target)
        running = subprocess.Popen(export, stdout=subprocess.DEVNULL)
        wait_for("more progress", lambda: recorded(target) != before)
        if running.poll() is not None:
            sys.exit("the export was over before the server could be killed")
        server.kill()
        time.sleep(0.3)  # How long the server is away.
        server.start()
        status = running.wait()
        if status != 0:
            sys.exit("the export did not get over the server's death: exit status %d" % status)
        if os.path.exists(target + ".progress"):
            sys.exit("a finished export left its progress file")
        got = likes_of(target)
        if len(got) != len(set(got)) or set(got) != wanted:
            sys.exit("exported %d likes, %d different ones, wanted %d" % (len(got), len(set(got)), len(wanted)))

        # What was exported makes the same likes elsewhere.
        other = Server(counterd, os.path.join(folder, "second"))
        ran = subprocess.run(tool(other, "import", target, "-o", "json"), check=True, stdout=subprocess.PIPE)
        if json.loads(ran.stdout)["changed"] != len(wanted):
            sys.exit("imported %s, wanted %d changed" % (ran.stdout, len(wanted)))
        server.kill()
        other.kill()
        print("%d likes of %d users: exact" % (len(wanted), users))


main()
