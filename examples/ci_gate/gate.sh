#!/usr/bin/env bash
# Gates the training step of a workload: records a few short runs, each in a process of its own, and holds them against the
# baseline and the budgets that lie beside this file. What a CI shows is written to $GATE_OUT.
#
#   gate.sh              check; exit status 0 passed, 1 failed, 2 wrong use, 3 unclear
#   gate.sh --update     make the baseline: once, on the machine that checks, and after every change that is meant to stay
#
# STEPSCOPE  the program                        GATE_RUNS   runs a side (4: fewer see only large changes)
# GATE_OUT   folder for runs and reports        GATE_NAME   name of the baseline: one for each kind of machine
# GATE_DATA  folder of baselines, history       GATE_MAKE_RUN  instead of training: writes run $2 of program $3 to folder $1
# GATE_BASE  the program as it was before the change: both are trained in turn and compared pair by pair, and no baseline is read.
#            For machines that others use as well: what the machine does in these minutes, it does to both. While the answer is
#            unclear more pairs are made, up to GATE_MOST_RUNS (40).
set -euo pipefail
here=$(realpath --relative-to="$PWD" "$(dirname "${BASH_SOURCE[0]}")") # from the root of the repository: so CIs find the line of a budget
stepscope=${STEPSCOPE:-stepscope}
out=${GATE_OUT:-gate-out} runs=${GATE_RUNS:-4} name=${GATE_NAME:-cifar10} data=${GATE_DATA:-$here}
most=${GATE_MOST_RUNS:-40}

# make_run FOLDER NUMBER PROGRAM. Put your own training here: any command that marks its steps. Short is enough: 40 steps say as much as
# 400. PROGRAM is the one that is gated, or GATE_BASE.
make_run() {
  if [[ -n ${GATE_MAKE_RUN:-} ]]; then
    "$GATE_MAKE_RUN" "$1" "$2" "$3"
    return
  fi
  # shellcheck disable=SC2086  # options are words
  "$stepscope" record -o "$1" --force -- "$3" run cifar10 --device host:2 --batch 16 --steps 40 --no-evaluate --log-every 0 ${GATE_TRAIN_OPTIONS:-}
}

case ${1:-} in
  "" | --update) ;;
  *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
mkdir -p "$out"
# record SIDE NUMBER PROGRAM
record() {
  make_run "$out/$1-$2" "$2" "$3" >"$out/$1-$2.log" 2>&1 || { cat "$out/$1-$2.log" >&2; exit 2; }
}
run_check() {
  "$stepscope" check "$@" --name "$name" --budget "$here/budgets.toml" \
    --junit "$out/junit.xml" --sarif "$out/stepscope.sarif" --markdown "$out/comment.md" --json-file "$out/check.json"
}
made=() base=()
# make_pair NUMBER: a run, or a pair of runs. Every other pair begins with the new program: what becomes slower all the time, or faster,
# is in favour of neither.
make_pair() {
  if [[ -z ${GATE_BASE:-} ]]; then
    record run "$1" "$stepscope"
  elif (($1 % 2)); then
    record base "$1" "$GATE_BASE"
    record run "$1" "$stepscope"
  else
    record run "$1" "$stepscope"
    record base "$1" "$GATE_BASE"
  fi
  base+=("$out/base-$1")
  made+=("$out/run-$1")
}
for ((i = 1; i <= runs; ++i)); do make_pair "$i"; done
status=0
if [[ ${1:-} == --update ]]; then
  exec "$stepscope" check "${made[@]}" --name "$name" --update-baseline "$data/baselines"
elif [[ -z ${GATE_BASE:-} ]]; then
  run_check "${made[@]}" --baseline "$data/baselines" || status=$?
  exit "$status"
fi
while :; do
  status=0
  run_check "${made[@]}" --baseline "${base[@]}" --paired >"$out/check.log" 2>&1 || status=$?
  if ((status != 3 || ${#made[@]} >= most)); then break; fi
  wanted=$((${#made[@]} * 3 / 2 + 1))
  for ((i = ${#made[@]} + 1; i <= wanted && i <= most; ++i)); do make_pair "$i"; done
done
cat "$out/check.log"
exit "$status"
