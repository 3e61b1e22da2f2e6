"""broken_twin(): a program that is another one but for a part that breaks it on purpose, for tests alone."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

def broken_twin(name, of, srcs, deps, **kwargs):
    """The sources of the program `of`, which stands before it in the file, with others on top.

    Sources can see the difference by COUNTER_BROKEN_ON_PURPOSE.
    """
    twin = native.existing_rule(of)
    all_deps = {str(dep): True for dep in list(twin["deps"]) + deps}
    cc_binary(
        name = name,
        testonly = True,
        srcs = list(twin["srcs"]) + srcs,
        local_defines = ["COUNTER_BROKEN_ON_PURPOSE"],
        deps = all_deps.keys(),
        **kwargs
    )
