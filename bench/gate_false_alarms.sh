#!/usr/bin/env bash
# How often the gate of examples/ci_gate is right on a workload that trains for real: an unchanged program, and one that is slower.
# Each time as a CI does it: GATE_RUNS recordings (4), then `stepscope check`. The figures are of the machine and of what else it does.
#
#   bench/gate_false_alarms.sh STEPSCOPE [TIMES] [SLOWER]      SLOWER: options of the slow program ("--input-delay-ms 1")
#
# GATE_PAIRED=1: against the unchanged program, trained in turn with it (up to GATE_MOST_RUNS pairs), and not against a baseline of before.
set -euo pipefail
STEPSCOPE=$(readlink -f "${1:?"name the stepscope program"}")
times=${2:-20} slower=${3:-"--input-delay-ms 1"}
gate=$(cd "$(dirname "${BASH_SOURCE[0]}")/../examples/ci_gate" && pwd)/gate.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export STEPSCOPE GATE_OUT=$work/out GATE_DATA=$work
unset GITHUB_ACTIONS

if [[ -n ${GATE_PAIRED:-} ]]; then export GATE_BASE=$STEPSCOPE; else "$gate" --update >/dev/null 2>&1; fi
# Counts exit statuses of so many checks.
count() {
  local passed=0 failed=0 unclear=0 status
  for ((i = 0; i < times; ++i)); do
    status=0
    "$gate" >"$work/check.log" 2>&1 || status=$?
    case $status in
      0) passed=$((passed + 1)) ;;
      1) failed=$((failed + 1)) ;;
      3) unclear=$((unclear + 1)) ;;
      *) cat "$work/check.log" >&2; exit 2 ;;
    esac
  done
  echo "$1: $passed passed, $failed failed, $unclear unclear of $times"
}
count "unchanged"
GATE_TRAIN_OPTIONS=$slower count "slower ($slower)"
grep -m 1 -A 1 "SLOWER" "$work/check.log" || true
