#!/bin/sh
# Runs every test program of the bundle and ends with "N passed, N failed, N skipped". Needs nothing but a shell.
#   tests/run.sh [GoogleTest option…]        e.g. --gtest_filter='Cupti*'
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0 skipped=0
for program in tests/*_test tests/*_tests; do
  if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
  output=$("./$program" "$@" 2>&1 </dev/null)
  status=$?
  p=$(printf '%s\n' "$output" | sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p')
  s=$(printf '%s\n' "$output" | sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p')
  f=$(printf '%s\n' "$output" | sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p')
  # A program that crashed has counted nothing.
  if [ "$status" -ne 0 ] && [ "${f:-0}" -eq 0 ]; then f=1; fi
  printf '%-40s %s passed, %s failed, %s skipped\n' "$program" "${p:-0}" "${f:-0}" "${s:-0}"
  if [ "$status" -ne 0 ]; then printf '%s\n' "$output" | tail -n 60; fi
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0}))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
