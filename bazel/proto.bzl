"""C++ from .proto files with the system's protoc and grpc_cpp_plugin: no proto toolchain, no download.

cc_proto_sources(): messages and, on request, gRPC stubs, for protos of this repository (`srcs`; `imports` are those of ours that they import) or
for protos that a system package ships (`system_protos`, named relative to `root`).
"""

load("@rules_cc//cc:defs.bzl", "cc_library")

# Where Debian's packages put the protos that ours import.
GOOGLEAPIS_ROOT = "/usr/share/gocode/src/github.com/gogo/googleapis"  # golang-github-gogo-googleapis-dev
GRPC_PROTO_ROOT = "/usr/share/grpc-proto"  # grpc-proto
PROTOBUF_ROOT = "/usr/include"  # libprotobuf-dev

def _generate_impl(ctx):
    package_dir = ctx.label.package
    protos = []
    for f in ctx.files.srcs:
        if not f.short_path.startswith(package_dir + "/"):
            fail("%s is not below %s" % (f.short_path, package_dir))
        protos.append(f.short_path[len(package_dir) + 1:])
    protos += ctx.attr.system_protos

    hdrs = []
    srcs = []
    for p in protos:
        stem = p[:-len(".proto")]
        hdrs.append(ctx.actions.declare_file(stem + ".pb.h"))
        srcs.append(ctx.actions.declare_file(stem + ".pb.cc"))
        if ctx.attr.grpc:
            hdrs.append(ctx.actions.declare_file(stem + ".grpc.pb.h"))
            srcs.append(ctx.actions.declare_file(stem + ".grpc.pb.cc"))

    out_dir = ctx.bin_dir.path + "/" + package_dir
    descriptor = ctx.actions.declare_file(ctx.label.name + ".protoset")
    args = ctx.actions.args()
    for root in ([package_dir] if ctx.files.srcs else []) + ctx.attr.import_roots:
        args.add("-I" + root)
    args.add("--cpp_out=" + out_dir)
    if ctx.attr.grpc:
        args.add("--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin")
        args.add("--grpc_out=" + out_dir)
    args.add("--include_imports")
    args.add("--include_source_info")
    args.add("--descriptor_set_out=" + descriptor.path)
    args.add_all(protos)
    ctx.actions.run(
        executable = "/usr/bin/protoc",
        arguments = [args],
        inputs = ctx.files.srcs + ctx.files.imports,
        outputs = hdrs + srcs + [descriptor],
        mnemonic = "ProtocCc",
        progress_message = "protoc %s" % ctx.label,
        use_default_shell_env = True,
    )
    return [
        DefaultInfo(files = depset(hdrs + srcs)),
        OutputGroupInfo(
            hdrs = depset(hdrs),
            srcs = depset(srcs),
            protoset = depset([descriptor]),
        ),
    ]

_generate = rule(
    implementation = _generate_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".proto"]),
        "imports": attr.label_list(allow_files = [".proto"]),
        "system_protos": attr.string_list(),
        "import_roots": attr.string_list(),
        "grpc": attr.bool(default = False),
    },
)

def cc_proto_sources(name, srcs = [], imports = [], system_protos = [], import_roots = [], grpc = False, deps = [], visibility = None):
    """A cc_library `name` with the generated code, and `name`_protoset with the descriptors and their comments."""
    _generate(name = name + "_gen", srcs = srcs, imports = imports, system_protos = system_protos, import_roots = import_roots, grpc = grpc)
    native.filegroup(name = name + "_hdrs", srcs = [":" + name + "_gen"], output_group = "hdrs")
    native.filegroup(name = name + "_srcs", srcs = [":" + name + "_gen"], output_group = "srcs")
    native.filegroup(name = name + "_protoset", srcs = [":" + name + "_gen"], output_group = "protoset", visibility = visibility)
    cc_library(
        name = name,
        srcs = [":" + name + "_srcs"],
        hdrs = [":" + name + "_hdrs"],
        includes = ["."],
        # Generated code is not ours to lint.
        copts = ["-w"],
        deps = deps + (["//third_party/grpc"] if grpc else ["//third_party/protobuf"]),
        visibility = visibility,
    )
