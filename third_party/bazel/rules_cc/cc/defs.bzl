"""The part of @rules_cc that Bazel 4.2.3 and this repository load: the native rules under their rules_cc names.

Debian's bazel-rules-cc 0.0.4 needs a newer Bazel than Debian's own 4.2.3, and Bazel's built-in
default for @rules_cc is a download, so the repository carries this shim.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_import = native.objc_import
objc_library = native.objc_library
