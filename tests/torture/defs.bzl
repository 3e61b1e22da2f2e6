"""torture_test(): a test that starts the real counterd and everything that it stands on."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def torture_test(name, size = "large", deps = [], data = [], env = {}, **kwargs):
    """A cc_test that finds counterd in COUNTERD and the clock that it sets in CLOCK_SHIM.

    PostgreSQL refuses root and the sandbox knows no other account. It has the machine to itself, and stays out
    of the thread sanitizer, which would report gRPC.
    """
    all_env = {
        "CLOCK_SHIM": "$(rootpath //tests/support:clock_shim.so)",
        "COUNTERD": "$(rootpath //server:counterd)",
        # An idle channel of gRPC for C++ looks at its socket every 5 s only, and a server that says
        # goodbye waits for it.
        "GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS": "100",
    }
    all_env.update(env)
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        data = data + [
            "//server:counterd",
            "//tests/support:clock_shim.so",
        ],
        env = all_env,
        tags = [
            "cpu:2",
            "no-sandbox",
            "no-tsan",
        ],
        deps = deps + [
            "//tests/support:test_settings",
            "//third_party/abseil",
            "//third_party/catch2",
        ],
        **kwargs
    )
