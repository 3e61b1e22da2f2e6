"""The part of @rules_java that Bazel 4.2.3's own packages load. Nothing here is built."""

java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_proto_library = native.java_proto_library
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
