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
# GATE_BASE  the program as it was before the change: both are trained in turn and compared with each other, and no baseline is read.
#            For machines that others use as well: what the machine does in these minutes, it does to both.
set -euo pipefail
here=$(realpath --relative-to="$PWD" "$(dirname "${BASH_SOURCE[0]}")") # from the root of the repository: so CIs find the line of a budget
stepscope=${STEPSCOPE:-stepscope}
out=${GATE_OUT:-gate-out} runs=${GATE_RUNS:-4} name=${GATE_NAME:-cifar10} data=${GATE_DATA:-$here}

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
  *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
mkdir -p "$out"
# record SIDE NUMBER PROGRAM
record() {
  make_run "$out/$1-$2" "$2" "$3" >"$out/$1-$2.log" 2>&1 || { cat "$out/$1-$2.log" >&2; exit 2; }
}
made=() base=()
for ((i = 1; i <= runs; ++i)); do
  if [[ -n ${GATE_BASE:-} ]]; then
    record base "$i" "$GATE_BASE"
    base+=("$out/base-$i")
  fi
  record run "$i" "$stepscope"
  made+=("$out/run-$i")
done
if [[ ${1:-} == --update ]]; then
  exec "$stepscope" check "${made[@]}" --name "$name" --update-baseline "$data/baselines"
fi
baselines=$data/baselines
if ((${#base[@]} > 0)); then
  baselines=$out/baselines
  "$stepscope" check "${base[@]}" --name "$name" --update-baseline "$baselines" >"$out/base.log" 2>&1 || { cat "$out/base.log" >&2; exit 2; }
fi
status=0
"$stepscope" check "${made[@]}" --name "$name" --baseline "$baselines" --budget "$here/budgets.toml" \
  --junit "$out/junit.xml" --sarif "$out/stepscope.sarif" --markdown "$out/comment.md" --json-file "$out/check.json" || status=$?
exit "$status"
