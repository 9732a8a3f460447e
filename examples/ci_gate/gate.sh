#!/usr/bin/env bash
# Gates the training step of a workload: records a few short runs, each in a process of its own. It compares them with the
# baseline and the budgets next to this file, and writes what a CI shows to $GATE_OUT.
#
#   gate.sh              check; exit status 0 passed, 1 failed, 2 wrong use, 3 unclear
#   gate.sh --update     make the baseline: once, on the machine that checks, and after every change that is meant to stay
#
# STEPSCOPE  the program                        GATE_RUNS   runs a side (4: fewer see only large changes)
# GATE_OUT   folder for runs and reports        GATE_NAME   name of the baseline: one for each kind of machine
# GATE_DATA  folder of baselines, history       GATE_MAKE_RUN  instead of training: writes run $2 of program $3 to folder $1
# GATE_TRAIN_OPTIONS  options of the gated program alone, such as a fault to try the gate with.
# GATE_BASE  the program as it was before the change: both train a few steps in turn, and no baseline is read. For machines that others
#            use as well: what the machine does meanwhile, it does to both. While the answer is unclear more pairs of runs are
#            made, up to GATE_MOST_RUNS (24).
set -euo pipefail
here=$(realpath --relative-to="$PWD" "$(dirname "${BASH_SOURCE[0]}")") # from the root of the repository: so CIs find the line of a budget
stepscope=${STEPSCOPE:-stepscope}
out=${GATE_OUT:-gate-out} runs=${GATE_RUNS:-4} name=${GATE_NAME:-cifar10} data=${GATE_DATA:-$here}
most=${GATE_MOST_RUNS:-24}

# Put your own training here: any command that marks its steps, of a program. Short is enough: 40 steps say as much as 400; in turn with
# another program, where one step of four counts, some hundred.
alone=(run cifar10 --device host:2 --batch 16 --steps 40 --no-evaluate --log-every 0)
in_turn=(run cifar10 --device host:2 --batch 32 --steps 160 --no-evaluate --log-every 0)
read -ra options <<<"${GATE_TRAIN_OPTIONS:-}" # of the gated program alone

# make_run FOLDER NUMBER PROGRAM
make_run() {
  if [[ -n ${GATE_MAKE_RUN:-} ]]; then
    "$GATE_MAKE_RUN" "$1" "$2" "$3"
  else
    "$stepscope" record -o "$1" --force -- "$3" "${alone[@]}" "${options[@]}"
  fi
}
# make_runs NUMBER: of both programs. Every other time the new one begins, so that neither has it easier.
make_runs() {
  local base=("$GATE_BASE" "${in_turn[@]}") new=("$stepscope" "${in_turn[@]}" "${options[@]}")
  if [[ -n ${GATE_MAKE_RUN:-} ]]; then
    make_run "$out/base-$1" "$1" "$GATE_BASE" && make_run "$out/run-$1" "$1" "$stepscope"
  elif (($1 % 2)); then
    "$stepscope" record -o "$out/base-$1" --in-turn "$out/run-$1" --force -- "${base[@]}" : "${new[@]}"
  else
    "$stepscope" record -o "$out/run-$1" --in-turn "$out/base-$1" --force -- "${new[@]}" : "${base[@]}"
  fi
}

case ${1:-} in
  "" | --update) ;;
  *) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
mkdir -p "$out"
# logged NAME COMMAND...
logged() {
  "${@:2}" >"$out/$1.log" 2>&1 || { cat "$out/$1.log" >&2; exit 2; }
}
run_check() {
  "$stepscope" check "$@" --name "$name" --budget "$here/budgets.toml" \
    --junit "$out/junit.xml" --sarif "$out/stepscope.sarif" --markdown "$out/comment.md" --json-file "$out/check.json"
}
# How many more pairs the check asks for; a large number where more would hardly settle it.
needed_pairs() {
  local said more='About ([0-9,]+) more pair'
  said=$(tr -s ' \n' ' ' <"$out/check.log")
  if [[ $said =~ $more ]]; then echo "${BASH_REMATCH[1]//,/}"; else echo 9999; fi
}
made=() base=()
# make NUMBER: a run, or a pair of runs.
make() {
  if [[ -z ${GATE_BASE:-} ]]; then
    logged "run-$1" make_run "$out/run-$1" "$1" "$stepscope"
  else
    logged "pair-$1" make_runs "$1"
  fi
  base+=("$out/base-$1")
  made+=("$out/run-$1")
}
for ((i = 1; i <= runs; ++i)); do make "$i"; done
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
  more=$(needed_pairs)
  echo "gate.sh: unclear after ${#made[@]} pairs of runs:$(grep -m1 'UNCLEAR  step' "$out/check.log" | tr -s ' ' || true)" >&2
  if ((${#made[@]} >= 8 && ${#made[@]} + more > most * 3 / 2)); then
    echo "gate.sh: $most pairs would not settle it either: other programs disturb the runs, give the gate a higher priority (nice -n -10)" >&2
    break
  fi
  wanted=$((${#made[@]} * 3 / 2 + 1))
  echo "gate.sh: more pairs are made (at most $most)" >&2
  for ((i = ${#made[@]} + 1; i <= wanted && i <= most; ++i)); do make "$i"; done
done
cat "$out/check.log"
if ((status == 3)); then echo "gate.sh: still unclear after ${#made[@]} pairs of runs (GATE_MOST_RUNS: $most)" >&2; fi
exit "$status"
