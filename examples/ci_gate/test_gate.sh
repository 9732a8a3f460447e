#!/usr/bin/env bash
# Tries gate.sh on synthetic runs, whose noise comes from a seed: an unchanged program passes 20 times of 20, one that is 5 % slower fails
# with its cause named.
#
#   test_gate.sh STEPSCOPE FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export STEPSCOPE=$1
work=$2
rm -rf "$work"
mkdir -p "$work"
cat >"$work/make_run.sh" <<'END'
#!/usr/bin/env bash
rm -rf "$1"
if [[ $3 == base ]]; then
  FAULT=none SEED=$((SEED + 50)) SLOWER=0
fi
# A machine that makes some runs a tenth longer than others, whichever program it is.
if [[ -n ${NOISY:-} ]]; then
  FAULT=input=$(awk "BEGIN { print 0.1 + $2 * 7 % 5 * 0.5 + ${SLOWER:-0} }")
fi
# One that disturbs now this program, now the other.
if [[ -n ${WILD:-} ]]; then
  FAULT=input=$(awk "BEGIN { print 0.1 + $2 * $([[ $3 == base ]] && echo 3 || echo 7) % 5 * 0.8 }")
fi
exec "$STEPSCOPE" synth --ranks 2 --steps 12 --fault "${FAULT:-none}" --seed "$((${SEED:-0} * 100 + $2))" -o "$1"
END
chmod +x "$work/make_run.sh"
export GATE_MAKE_RUN=$work/make_run.sh GATE_OUT=$work/out GATE_DATA=$work
unset GITHUB_ACTIONS

fail() { echo "test_gate.sh: $*" >&2; exit 1; }
"$here/gate.sh" --update >"$work/update.log" 2>&1 || fail "no baseline: $(cat "$work/update.log")"
[[ -s $work/baselines/cifar10.json ]] || fail "no baseline was written"
for ((i = 1; i <= 20; ++i)); do
  SEED=$i "$here/gate.sh" >"$work/pass.log" 2>&1 || fail "unchanged program $i: $(cat "$work/pass.log")"
done
status=0
SEED=30 FAULT=input=0.75 "$here/gate.sh" >"$work/fail.log" 2>&1 || status=$?
((status == 1)) || fail "5 % slower: exit status $status: $(cat "$work/fail.log")"
grep -q "waiting for input" "$work/fail.log" || fail "the cause is not named: $(cat "$work/fail.log")"
# Against a base that is made in turn with it, where the file says another thing.
rm "$work/baselines/cifar10.json"
GATE_BASE=base SEED=31 "$here/gate.sh" >"$work/pass.log" 2>&1 || fail "unchanged beside its base: $(cat "$work/pass.log")"
status=0
GATE_BASE=base SEED=30 FAULT=input=0.75 "$here/gate.sh" >"$work/paired.log" 2>&1 || status=$?
((status == 1)) || fail "5 % slower than its base: exit status $status: $(cat "$work/paired.log")"
export NOISY=1 GATE_BASE=base
SEED=33 "$here/gate.sh" >"$work/pass.log" 2>&1 || fail "unchanged on a machine that varies: $(cat "$work/pass.log")"
status=0
SEED=34 SLOWER=0.75 "$here/gate.sh" >"$work/paired.log" 2>&1 || status=$?
((status == 1)) || fail "5 % slower on a machine that varies: exit status $status: $(cat "$work/paired.log")"
status=0
WILD=1 SEED=35 "$here/gate.sh" >"$work/wild.log" 2>&1 || status=$?
((status == 3)) || fail "on a machine that disturbs one of both: exit status $status: $(cat "$work/wild.log")"
grep -q "24 pairs would not settle it either" "$work/wild.log" || fail "it did not stop: $(cat "$work/wild.log")"
for file in junit.xml stepscope.sarif comment.md check.json; do
  [[ -s $work/out/$file ]] || fail "$file was not written"
done
echo "20 of 20 unchanged passed, 5 % slower failed: $(head -1 "$work/fail.log")"
