#!/usr/bin/env bash
# Builds Stepscope and runs every test. The last line is "N passed, N failed, N skipped"; exit status 1 when one failed.
#
#   scripts/test.sh [--preset NAME]      NAME: release (default) or any other preset of CMakePresets.json
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=release
case ${1:-} in
  --preset) preset=${2:?"--preset needs a name"} ;;
  "") ;;
  *) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac

scripts/setup.sh
say "Configuring build/$preset"
configure "$preset"
say "Building"
build "$preset"
say "Testing"
results=build/$preset/test-results.xml
rm -f "$results"
# The number of jobs is the cores': a case that needs more than one says so (PROCESSORS), one that must be alone too.
ctest --preset "$preset" -j "$(nproc)" --output-junit "$PWD/$results" >"build/$preset/test.log" 2>&1 || true
if [[ ! -s $results ]]; then
  tail -n 40 "build/$preset/test.log" >&2
  die "ctest did not run (above: the end of build/$preset/test.log)"
fi
python3 scripts/summarize_tests.py "$results"
