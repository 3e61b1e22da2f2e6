# Sourced where cargo is called. Debian 12's cargo can read crates.io by HTTP, which is what every later one does, but
# only as an unstable feature; without it, it would clone the whole index with git.
# shellcheck shell=bash
if [[ $(cargo --version) =~ ^cargo\ (0|1)\.([0-9]+)\. && (${BASH_REMATCH[1]} -eq 0 || ${BASH_REMATCH[2]} -lt 68) ]]; then
  export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_SPARSE_REGISTRY=true
fi
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
