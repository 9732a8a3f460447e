#!/usr/bin/env bash
# How many lines of the CUDA half run in tests without a GPU: unit tests, NVIDIA's libraries as far as they work without a driver,
# programs over the doubles. Prints a table by folder; exit status 1 where a folder has less than 90 %.
#
#   scripts/coverage.sh [--lines]      --lines: every line that did not run, too
#
# Processes that a signal ends leave no counts, so the share is a lower bound.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

programs=(tracer_test tracer_injection_test tracer_cupti_test tracer_cuda_injection_test nccl_test nccl_plugin_test nvml_test
  workloads_cuda_tests real_libraries_test)

configure coverage
cmake --build --preset coverage -j "$(build_jobs)"
find build/coverage -name '*.gcda' -delete
for program in "${programs[@]}"; do
  say "$program"
  "build/coverage/tests/$program" --gtest_brief=1 || note "$program has failures: they may leave lines out"
done
say "programs over the doubles"
ctest --test-dir build/coverage -L '^cuda-doubles$' -j "$(nproc)" --quiet || note "a test over the doubles failed: it may leave lines out"

exec python3 -B scripts/coverage.py "$@"
