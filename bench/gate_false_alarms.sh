#!/usr/bin/env bash
# How often the gate of examples/ci_gate is right on a workload that trains for real: an unchanged program, and one that is slower.
# Each time as a CI does it: GATE_RUNS recordings (4), then `stepscope check`. The figures are of the machine and of what else it does.
#
#   bench/gate_false_alarms.sh STEPSCOPE [TIMES] [SLOWER]      SLOWER: options of the slow program ("--input-delay-ms 1")
#
# GATE_PAIRED=1: against the unchanged program, which takes turns with it (up to GATE_MOST_RUNS pairs), and not against a baseline of before.
set -euo pipefail
STEPSCOPE=$(readlink -f "${1:?"name the stepscope program"}")
times=${2:-20} slower=${3:-"--input-delay-ms 1"}
gate=$(cd "$(dirname "${BASH_SOURCE[0]}")/../examples/ci_gate" && pwd)/gate.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export STEPSCOPE GATE_OUT=$work/out GATE_DATA=$work
unset GITHUB_ACTIONS

if [[ -n ${GATE_PAIRED:-} ]]; then export GATE_BASE=$STEPSCOPE; else "$gate" --update >/dev/null 2>&1; fi
declare -A counts=()
# check NAME: counts the exit status. What is unchanged and what is slower come in turn: the machine is the same for both.
check() {
  local status=0
  "$gate" >"$work/$1.log" 2>&1 || status=$?
  if ((status != 0 && status != 1 && status != 3)); then cat "$work/$1.log" >&2; exit 2; fi
  counts[$1-$status]=$((${counts[$1-$status]:-0} + 1))
  local cause
  cause=$(grep -m 1 -o "Most of it: .*" "$work/$1.log" || true)
  echo "$1: $status $(grep -m 1 -E "^ +(passed|FAILED|UNCLEAR) +step time" "$work/$1.log" | tr -s ' ') $cause"
}
for ((i = 0; i < times; ++i)); do
  check unchanged
  GATE_TRAIN_OPTIONS=$slower check slower
done
for name in unchanged slower; do
  echo "$name: ${counts[$name-0]:-0} passed, ${counts[$name-1]:-0} failed, ${counts[$name-3]:-0} unclear of $times"
done
