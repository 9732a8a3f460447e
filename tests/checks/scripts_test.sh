#!/usr/bin/env bash
# The scripts themselves: they parse, refuse what they do not know, and summarize_tests.py counts and words what ctest wrote.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
failures=0
expect() { # expect DESCRIPTION PATTERN TEXT
  if [[ $3 != *$2* ]]; then
    printf 'FAILED %s: expected "%s" in:\n%s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

for script in scripts/*.sh .ci/run tests/checks/*.sh; do
  bash -n "$script" || failures=$((failures + 1))
done

expect "setup.sh --help says how it is called" "scripts/setup.sh --ci" "$(scripts/setup.sh --help)"
expect "setup.sh refuses an unknown option" "unknown option '--nonsense'" "$(scripts/setup.sh --nonsense 2>&1 || true)"
expect "setup.sh can be switched off" "done" "$(STEPSCOPE_NO_SETUP=1 scripts/setup.sh && echo done)"
expect "demo.sh --help says how it is called" "stepscope profile cifar10" "$(scripts/demo.sh --help)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A machine without any package, without root and without sudo: only the tools that the script itself uses are there.
mkdir "$work/bin"
chmod 755 "$work" "$work/bin"  # readable by another user, below
for tool in bash dirname sed grep cat env nproc awk; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/apt-get"
chmod +x "$work/bin/dpkg-query" "$work/bin/apt-get"
expect "setup.sh --list names what is missing" "libdnnl-dev" "$(PATH="$work/bin" bash scripts/setup.sh --list 2>&1 || true)"
if command -v setpriv >/dev/null && ((EUID == 0)); then
  expect "setup.sh says what to install when it cannot" "As root: apt-get install" \
    "$(setpriv="$(command -v setpriv)" && PATH="$work/bin" "$setpriv" --reuid=65534 --clear-groups "$(command -v bash)" scripts/setup.sh 2>&1 || true)"
fi

cat >"$work/results.xml" <<'XML'
<testsuite name="x" tests="4" failures="1" skipped="1">
<testcase name="A.passes" time="0.1" status="run"><system-out>fine</system-out></testcase>
<testcase name="A.fails" time="0.1" status="fail"><failure message=""/><system-out>expected 1, got 2</system-out></testcase>
<testcase name="A.skips" time="0.1" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] A.skips
/a/b.cpp:3: Skipped
no GPU here

[  SKIPPED ] A.skips (0 ms)</system-out></testcase>
<testcase name="A_NOT_BUILT" time="0" status="notrun"><skipped message="Unable to find executable"/><system-out/></testcase>
</testsuite>
XML
summary=$(python3 scripts/summarize_tests.py "$work/results.xml") && status=0 || status=$?
expect "a summary with failures fails" 1 "$status"
expect "a summary counts; what was not built has failed" "1 passed, 2 failed, 1 skipped" "$(tail -n 1 <<<"$summary")"
expect "a summary tells why a case was skipped" "A.skips: no GPU here" "$summary"
expect "a summary shows the output of failures" "expected 1, got 2" "$summary"
expect "a brief summary shows the output of failures" "expected 1, got 2" "$(python3 scripts/summarize_tests.py --brief "$work/results.xml" || true)"

# A program of many tests: the assertion that failed is far above the end of what it printed.
{
  printf '<testsuite><testcase name="B.fails" status="fail"><failure message=""/><system-out>'
  printf '[ RUN      ] B.second\n/a/b.cpp:7: Failure\nExpected: three\n'
  printf '[ RUN      ] B.later\n%.0s' {1..500}
  printf '</system-out></testcase></testsuite>\n'
} >"$work/long.xml"
summary=$(python3 scripts/summarize_tests.py --brief "$work/long.xml" || true)
expect "a summary names the test whose assertion failed" "B.second" "$summary"
expect "a summary shows an assertion far above the end" "Expected: three" "$summary"
expect "a summary leaves out what tells nothing" yes "$( (($(wc -l <<<"$summary") < 80)) && echo yes)"

# run_again TEXT [COUNT]: whether so many cases that failed with this output are run once more.
run_again() {
  printf '<testsuite>' >"$work/first.xml"
  for ((i = 0; i < ${2:-1}; ++i)); do
    printf '<testcase name="C.%s" status="fail"><failure message=""/><system-out>%s</system-out></testcase>' $i "$1" >>"$work/first.xml"
  done
  printf '</testsuite>' >>"$work/first.xml"
  python3 scripts/summarize_tests.py --may-run-again "$work/first.xml" && echo again || echo final
}
assertion=$'/a/b.cpp:7: Failure\nexpected 1\n\n 1 FAILED TEST\n'
expect "an assertion that failed may be chance" again "$(run_again "$assertion")"
expect "three may be" again "$(run_again "$assertion" 3)"
expect "four are no chance" final "$(run_again "$assertion" 4)"
expect "a program that did not come to its end is no chance" final "$(run_again "[ RUN      ] C.0")"
expect "a data race is no chance" final "$(run_again "WARNING: ThreadSanitizer: data race
$assertion")"
expect "nothing that failed is not run again" final "$(run_again '' 0)"
run_again "$assertion" 2 >/dev/null
printf '<testsuite><testcase name="C.1" status="run"/><testcase name="C.0" status="fail"><failure message=""/></testcase></testsuite>' >"$work/again.xml"
python3 scripts/summarize_tests.py --merge "$work/again.xml" "$work/first.xml"
summary=$(python3 scripts/summarize_tests.py --brief "$work/first.xml") && status=0 || status=$?
expect "what fails twice has failed" 1 "$status"
expect "what passes the second time counts as passed" "1 passed, 1 failed, 0 skipped" "$(tail -n 1 <<<"$summary")"
expect "what passes the second time is named" "Unsteady: C.1" "$summary"
expect "its failure is shown" "UNSTEADY C.1" "$summary"

printf '<testsuite/>\n' >"$work/none.xml"
expect "no case at all is no success" "0 passed" "$(python3 scripts/summarize_tests.py "$work/none.xml" && echo good || true)"

# A clang-tidy that finds a fault where a source says so. What it is asked goes to a file.
if command -v ccache >/dev/null && command -v clang++ >/dev/null; then
  cat >"$work/tidy" <<SH
#!/bin/sh
case "\$*" in *--version*) echo 14; exit ;; esac
for word; do case \$word in *.cpp) asked=\$word ;; --) break ;; esac; done
echo asked >>"$work/asked"
! grep -H fault "\$asked"
SH
  chmod +x "$work/tidy"
  mkdir -p "$work/build/tidy"
  unit=$work/build/tidy/0.cpp
  printf '[{"directory": "%s", "command": "clang++ -o 0.o -c %s", "file": "%s"}]' "$work/build" "$unit" "$unit" \
    >"$work/build/tidy/compile_commands.json"
  # tidy TEXT: how often clang-tidy has been asked so far, and what it found in the text.
  tidy() {
    printf 'int a; %s\n' "$1" >"$unit"
    touch -d '1 hour ago' "$unit" # ccache does not trust a source of this second
    local said
    said=$(TIDY_PROGRAM=$work/tidy TIDY_OPTIONS='' CCACHE_DIR=$work/cache python3 scripts/tidy_units.py check "$work/build" "$unit" 2>&1 || true)
    echo "$(wc -l <"$work/asked") $said"
  }
  expect "a clean unit is checked once" "1 " "$(tidy '' && tidy '')"
  expect "clean units are kept" 1 "$(tidy '' | cut -d' ' -f1)"
  expect "a comment may hide a fault: it counts" 2 "$(tidy '// NOLINT' | cut -d' ' -f1)"
  expect "a fault is shown" "fault" "$(tidy '// fault')"
  expect "a fault is shown again" "fault" "$(tidy '// fault')"
fi

if ((failures > 0)); then exit 1; fi
echo "scripts: as expected"
