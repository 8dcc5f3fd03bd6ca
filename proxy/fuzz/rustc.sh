#!/bin/sh
# The compiler with coverage for libFuzzer, by the stable toolchain's own means: what cargo-fuzz gives a nightly one.
# Cargo calls it for this workspace's crates alone, so that the others are not built anew.
exec "$@" -Copt-level=2 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
