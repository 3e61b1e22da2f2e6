#!/usr/bin/env python3
"""Everything that the dashboard and the alert rules ask for is there, in a real Prometheus on real servers.

Starts deploy/full_stack, a second counterd on the embedded store, and Debian's prometheus with the shipped
configuration (scraping each second instead of every 15), makes calls of all kinds, and asks Prometheus for each
selector of each rule and panel: one that finds no series is a misspelt name or label. On a healthy stack no alert
fires.

Arguments: counterd, counterctl, the folder deploy.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SECONDS_MAX = 60
processes = []


def wait_for(what, condition):
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > end:
            sys.exit("gave up waiting for " + what)
        time.sleep(0.1)


def start(folder, name, command, environment):
    """Starts a process; its output goes to a file. It is ended with the test."""
    with open(os.path.join(folder, name + ".log"), "wb") as log:
        process = subprocess.Popen(command, env={"PATH": os.environ["PATH"], "HOME": folder, **environment},
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    processes.append(process)
    return process


def secured(folder):
    """Settings of a server with a certificate and a table of callers."""
    key, certificate, callers = (os.path.join(folder, name) for name in ("tls.key", "tls.pem", "callers"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "30", "-subj", "/CN=counter", "-keyout", key, "-out", certificate], check=True,
                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS_MAX)
    with open(callers, "w") as file:
        file.write("caller feed\nallow counter.v1.CounterService/* feed\n")
    return {"TLS_CERTIFICATE_FILE": certificate, "TLS_KEY_FILE": key, "CALLERS_FILE": callers}


def start_server(folder, name, command, settings={}):
    """A counterd on free ports, by that command; what its ready file says."""
    ready = os.path.join(folder, name + ".ready")
    process = start(folder, name, command, {
        "READY_FILE": ready, "GRPC_LISTEN": "127.0.0.1:0", "HTTP_LISTEN": "127.0.0.1:0",
        "METRICS_LISTEN": "127.0.0.1:0", "DATA_DIR": os.path.join(folder, name), **settings})
    wait_for(name, lambda: os.path.exists(ready) or process.poll() is not None)
    if process.poll() is not None:
        with open(os.path.join(folder, name + ".log"), errors="replace") as log:
            sys.exit("%s did not start:\n%s" % (name, log.read()))
    with open(ready) as lines:
        return dict(line.strip().split("=", 1) for line in lines)


def start_prometheus(folder, deploy, servers):
    """The shipped configuration, with these servers for targets; its address."""
    config = os.path.join(folder, "prometheus")
    shutil.copytree(os.path.join(deploy, "prometheus"), config)
    with open(os.path.join(config, "prometheus.yml")) as file:
        text = file.read()
    hurried = re.sub(r"(scrape_interval|scrape_timeout|evaluation_interval): \d+s", r"\1: 1s", text)
    assert hurried.count(": 1s") == 3, text
    with open(os.path.join(config, "prometheus.yml"), "w") as file:
        file.write(hurried)
    with open(os.path.join(config, "targets.yml"), "w") as file:
        file.write("- targets: %s\n" % json.dumps([server["metrics"] for server in servers]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    process = start(folder, "prometheus-log", [
        "prometheus", "--config.file=" + os.path.join(config, "prometheus.yml"),
        "--storage.tsdb.path=" + os.path.join(folder, "tsdb"), "--web.listen-address=" + address], {})
    wait_for("prometheus", lambda: process.poll() is not None or answers("http://%s/-/ready" % address))
    if process.poll() is not None:
        with open(os.path.join(folder, "prometheus-log.log"), errors="replace") as log:
            sys.exit("prometheus ended:\n" + log.read())
    return address


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def make_calls(counterctl, server):
    """Each method, by gRPC and REST; a refused one, too."""
    def ctl(*words):
        subprocess.run([counterctl, "--server", server["grpc"], *words], check=True, stdout=subprocess.DEVNULL,
                       timeout=SECONDS_MAX)

    def rest(path, body=None, status=200):
        request = urllib.request.Request("http://%s%s" % (server["http"], path),
                                         None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                got = answer.status
        except urllib.error.HTTPError as error:
            got = error.code
        assert got == status, (path, got)

    ctl("like", "1", "post:1")
    ctl("unlike", "1", "post:1")
    ctl("count", "post:1")
    ctl("count", "post:1", "post:2")
    ctl("has-liked", "1", "post:1", "post:2")
    rest("/v1/like", {"user_id": 2, "item_id": 1})
    rest("/v1/count?item_id=1")
    rest("/v1/counts?item_ids=1,2")
    rest("/v1/like", {"user_id": 0, "item_id": 1}, 400)


def redis_refusals(folder):
    """What Redis says of commands that the rights of deploy/redis/users.acl do not cover; empty if there were none."""
    with open(os.path.join(folder, "redis.conf")) as settings:
        port = re.search(r"^port (\d+)$", settings.read(), re.M).group(1)
    with open(os.path.join(folder, "users.acl")) as users:
        password = re.search(r">(\w+)", users.read()).group(1)
    stats = subprocess.run(["redis-cli", "--user", "counter", "-p", port, "info", "everything"], check=True,
                           env={"PATH": os.environ["PATH"], "REDISCLI_AUTH": password}, stdout=subprocess.PIPE,
                           text=True, timeout=SECONDS_MAX).stdout
    assert "cmdstat_evalsha" in stats or "cmdstat_eval" in stats, stats
    return " ".join(re.findall(r"errorstat_NOPERM\S*|cmdstat_\S*rejected_calls=[1-9]\S*", stats))


class Prometheus:
    def __init__(self, address):
        self._address = address

    def get(self, path, **query):
        url = "http://%s/api/v1/%s?%s" % (self._address, path, urllib.parse.urlencode(query))
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            return {"error": json.load(error)["error"]}

    def finds(self, selector):
        return bool(self.get("query", query=selector).get("result"))


def rules_of(prometheus):
    """(what, expression) of each rule, as Prometheus writes it."""
    for group in prometheus.get("rules")["groups"]:
        for rule in group["rules"]:
            if rule["health"] != "ok" and rule.get("lastError"):
                sys.exit("rule %s: %s" % (rule["name"], rule["lastError"]))
            yield "rule " + rule["name"], rule["query"]


def panels_of(path):
    """(what, expression) of each query of a dashboard, with its variables filled in."""
    with open(path) as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield "panel " + panel["title"], target["expr"].replace("$__rate_interval", "1m").replace(
                "$instance", ".*")
    for annotation in dashboard["annotations"]["list"]:
        yield "annotation " + annotation["name"], annotation["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield "variable " + variable["name"], re.fullmatch(
                r"label_values\((.*), \w+\)", variable["query"]["query"]).group(1)


# A name, or a name that begins with the kind of thing it is of, with its labels; or labels alone.
SELECTOR = re.compile(r"(?:\b(?:up|(?:grpc_server|counter|process)_\w+|(?:job|method):[\w:]+)\b(?!\s*\())(?:\{[^}]*\})?"
                      r"|(?<![\w)])\{[^}]*\}")


def selectors_of(expression):
    """What an expression asks for: each selector, and each name that a pattern of names stands for."""
    for selector in SELECTOR.findall(re.sub(r'\b(?:by|on|without|ignoring) ?\([^)]*\)', "", expression)):
        names = re.search(r'__name__=~"([^"]*)"', selector)
        if names is None:
            yield selector
            continue
        for name in names.group(1).split("|"):
            # Of its labels the metric has those that are its own; the other metric's must be allowed to be absent.
            yield selector.replace(names.group(0), '__name__="%s"' % name)


def run(folder, counterd, counterctl, deploy):
    full = start_server(folder, "full", [os.path.join(deploy, "full_stack"), os.path.join(folder, "full"), counterd])
    embedded = start_server(folder, "embedded", [counterd])
    guarded = start_server(folder, "guarded", [counterd], secured(folder))
    prometheus = Prometheus(start_prometheus(folder, deploy, [full, embedded, guarded]))
    wait_for("the first scrapes", lambda: len(prometheus.get("query", query="up == 1")["result"]) == 3)
    # The rates of the rules are of what happens after a first scrape.
    for server in (full, embedded):
        make_calls(counterctl, server)
    wait_for("the calls to be seen", lambda: prometheus.finds("job:counter_cache_hits:ratio_rate30m") and
             prometheus.finds('method:counter_calls_slow:ratio_rate1h{grpc_method="BatchGetCounts"}'))

    asked, faults = 0, []
    expressions = list(rules_of(prometheus)) + list(panels_of(os.path.join(deploy, "grafana", "counter.json")))
    for what, expression in expressions:
        answer = prometheus.get("query", query=expression)
        if "error" in answer:
            faults.append("%s: %s: %s" % (what, answer["error"], expression))
            continue
        selectors = list(selectors_of(expression))
        if not selectors:
            faults.append("%s: no metric is recognised in %s" % (what, expression))
        for selector in selectors:
            asked += 1
            if not prometheus.finds(selector):
                faults.append("%s: nothing in a live scrape is %s" % (what, selector))
    for alert in prometheus.get("alerts")["alerts"]:
        if alert["state"] == "firing":
            faults.append("%s fires on a healthy stack: %s" % (alert["labels"]["alertname"], alert["annotations"]))
    refused = redis_refusals(os.path.join(folder, "full", "redis"))
    if refused:
        faults.append("Redis refused what a server asked for: its rights lack something: " + refused)
    if prometheus.finds('counter_cache_puts_total{result="lost"} > 0') or prometheus.finds("counter_redis_connected == 0"):
        faults.append("Redis did not take what it was told")
    if prometheus.finds("counter_no_such_metric"):
        faults.append("Prometheus finds what there is not")
    print("%d selectors of %d expressions, %d faults" % (asked, len(expressions), len(faults)))
    print("\n".join(faults))
    return 0 if asked > 100 and not faults else 1


def main():
    counterd, counterctl, deploy = (os.path.abspath(path) for path in sys.argv[1:4])
    # PostgreSQL's account must be able to reach its folder.
    folder = tempfile.mkdtemp(prefix="counter-metrics-", dir="/tmp")
    os.chmod(folder, 0o711)
    try:
        return run(folder, counterd, counterctl, deploy)
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(SECONDS_MAX)
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
