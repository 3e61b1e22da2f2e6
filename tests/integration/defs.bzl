"""Tests that start the real counterd: server_test() alone, full_stack_test() with everything, and
cluster_test() with a Redis Cluster."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def server_test(name, deps = [], data = [], env = {}, srcs = None, tags = [], **kwargs):
    """A cc_test that finds counterd in the environment variable COUNTERD.

    It has the machine to itself, because it measures times, and stays out of the thread sanitizer, which
    would report gRPC.
    """
    cc_test(
        name = name,
        size = "medium",
        srcs = srcs or [name + ".cc"],
        data = data + ["//server:counterd"],
        env = dict(env, **{
            "COUNTERD": "$(rootpath //server:counterd)",
            # An idle channel of gRPC for C++ looks at its socket every 5 s only, and a server that says
            # goodbye waits for it.
            "GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS": "100",
        }),
        tags = tags + [
            "cpu:2",
            "no-tsan",
        ],
        deps = deps + [
            ":fixture",
            "//clients/cpp:client",
            "//proto:counter_cc",
            "//tests/support:counter_server",
            "//third_party/abseil",
            "//third_party/catch2",
            "//third_party/grpc",
        ],
        **kwargs
    )

def full_stack_test(name, deps = [], **kwargs):
    """A server_test with a PostgreSQL and a Redis of its own.

    PostgreSQL refuses root and the sandbox knows no other account.
    """
    server_test(
        name = name,
        tags = ["no-sandbox"],
        deps = deps + [
            ":full_stack",
            "//tests/support:eventually",
            "//tests/support:postgres_server",
            "//tests/support:redis_server",
            "//tests/support:test_settings",
            "//tests/support:workers",
        ],
        **kwargs
    )

def cluster_test(name, srcs, **kwargs):
    """A full_stack_test whose cases run on a Redis Cluster of 3 masters and 3 replicas."""
    full_stack_test(
        name = name,
        srcs = srcs,
        env = {"COUNTER_TEST_REDIS": "cluster"},
        **kwargs
    )
