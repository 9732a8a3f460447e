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
# The number of jobs is the cores': a case that needs more than one says so (PROCESSORS), one that must be alone too.
run_ctest "$PWD/build/$preset/test-results.xml" "build/$preset/test.log" ctest --preset "$preset"
