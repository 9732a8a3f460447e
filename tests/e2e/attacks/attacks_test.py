#!/usr/bin/env python3
"""Programs that do what a hostile or merely unusual program does behave the same under `stepscope record` as alone.

usage: attacks_test.py --build FOLDER [--theme NAME…] [--case NAME…] [--jobs N] [--repeat N] [--list]
       attacks_test.py --build FOLDER --twice-alone …    records nothing: a case that differs from itself is no good case
       attacks_test.py --build FOLDER --self-test        plants each kind of difference and looks whether it is found

Each case runs alone and recorded, each in a fresh empty folder. Exit code or signal, stdout, stderr, files (names, modes, owners,
sizes, contents) and the endings of processes that outlive the program must be equal, but for ALLOWED in runner.py. Descriptors and
signals are printed by the cases that are about them. Then every trace file must be readable, and nothing but trace files may stand
in the run folder. Exit status 0: all equal; 1: some differ; 77: all were skipped.
"""

import argparse
import dataclasses
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time

import runner

LANGUAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "languages")
LIMIT_S = 90  # Few take 5 s alone; on a busy machine a thousand executions took more than 30 s.
SLOWEST = 5  # Or so many times as long as alone: machines may be slow or busy.
# How often a case is tried until it ends. A handler that annotates while its own thread initializes NVTX waits there for ever:
# 11 of 1,500 runs of the program alone, 1 of 600 recorded ones. Before the tracer loads it can prevent nothing.
TRIES = {"sig_first": 3}
# Ranges and marks that a program makes in a known number: so many are recorded, or counted as lost.
EVENTS = {"plain": 1000, "onemark": 1, "quick_exit": 10, "exit_handlers": 20, "exit_thread": 10, "pthread_exit_main": 100010,
          "stdio_closed": 1000, "segv": 10, "abort": 10, "nofile20": 100, "swapcontext": 2000, "smallstack": 101,
          "threads10k": 10000, "threads2k_live": 2000, "exec100": 303, "exec1000": 3003, "vfork": 1010, "posix_spawn": 1010,
          "marks": 20000, "errno": 200000, "dlopen": 50, "dlopen_open": 50, "fork_line": 600}


@dataclasses.dataclass(frozen=True)
class Case:
    theme: str
    name: str
    command: tuple
    environment: tuple = ()
    skipped: str = ""  # the reason


@dataclasses.dataclass
class Result:
    case: Case
    differences: list
    alone_s: float = 0
    recorded_s: float = 0


def native_cases(stepscope):
    listed = subprocess.run([stepscope.attack_program, "--list"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        theme, name, needs = line.split()
        reason = "only root can do that" if needs == "root" and os.geteuid() != 0 else ""
        yield Case(theme, name, (stepscope.attack_program, name), skipped=reason)


def script(language, program, file, names, stepscope, environment=()):
    found = shutil.which(program)
    for name in names:
        command = (found or program, os.path.join(LANGUAGES, file), name, stepscope.attack_library)
        yield Case(language, f"{language}_{name}", command, environment, "" if found else f"{program} is not installed")


def java_cases(stepscope, folder):
    names = ("threads", "process_builder", "exit", "halt", "null_pointers", "stack_overflow", "uncaught")
    classes, reason = os.path.join(folder, "classes"), ""
    if not (shutil.which("java") and shutil.which("javac")):
        reason = "java and javac are not installed"
    else:
        subprocess.run(["javac", "-d", classes, os.path.join(LANGUAGES, "AttackJava.java")], check=True)
    for name in names:
        command = ("java", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-cp", classes, "AttackJava", name, stepscope.attack_library)
        yield Case("java", f"java_{name}", command, skipped=reason)


def checked_cases(folder, nvtx):
    """A program that a compiler's checkers watch. They tell of a fault by another exit code."""
    compiler = shutil.which("clang") or shutil.which("clang-14")
    source = os.path.join(LANGUAGES, "attack_checked.c")
    for checker in ("address", "undefined", "leak", "memory", "thread"):
        program = os.path.join(folder, f"checked_{checker}")
        reason = "" if compiler and nvtx else "clang or NVTX's headers are not installed"
        if not reason:
            command = (compiler, "-g", f"-fsanitize={checker}", f"-I{nvtx}", source, "-o", program, "-pthread", "-ldl")
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            reason = "" if built.returncode == 0 else f"clang has no -fsanitize={checker}"
        yield Case("checkers", f"checked_{checker}", (program,), skipped=reason)


def language_cases(stepscope, folder, themes):
    # Into what cannot load a library it is preloaded; a thread of it makes ranges all the time.
    preloaded = (("LD_PRELOAD", stepscope.attack_library), ("ATTACK_RANGES", "100"), ("ATTACK_BUSY", "1"))
    python = ("threads", "fork", "fork_in_thread", "spawn", "forkserver", "pool", "closerange", "os_exit", "subprocess", "exec",
              "interrupt", "daemon_thread", "alarm")
    node = ("child_process", "fork", "worker_threads", "cluster", "exit", "uncaught", "kill")
    perl = ("fork", "exec", "kill", "child_handler", "pipe", "die", "exit_now")
    bash = ("descriptor", "background", "traps", "exec", "substitution", "pipeline", "limit", "coprocess")
    yield from script("python", sys.executable, "attack_python.py", python, stepscope)
    yield from script("node", "node", "attack_node.cjs", node, stepscope)
    yield from script("perl", "perl", "attack_perl.pl", perl, stepscope, preloaded)
    yield from script("bash", "bash", "attack_bash.sh", bash, stepscope, preloaded)
    if not themes or "java" in themes:
        yield from java_cases(stepscope, folder)


def faults_of_traces(stepscope, case, run_folder):
    strangers = [name for name in runner.files_of(run_folder) if not name.endswith(".stepscope")]
    found = [f"the run folder holds {strangers}"] if strangers else []
    try:
        traces = stepscope.info(run_folder)
    except (ValueError, subprocess.TimeoutExpired) as error:
        return found + [f"a trace cannot be read: {error}"]
    if case.name in EVENTS:
        counted = sum(trace["events"] + trace["dropped"] for trace in traces)
        if counted != EVENTS[case.name]:
            found.append(f"{EVENTS[case.name]} events were made, {counted} are recorded or counted as lost")
    return found


def compare(stepscope, case, folder, number, is_recorded):
    base = os.path.join(folder, f"{case.name}-{number}")
    environment = runner.clean_environment() | dict(case.environment)
    alone_folder = runner.fresh_folder(os.path.join(base, "alone"))
    recorded_folder = runner.fresh_folder(os.path.join(base, "recorded"))
    run_folder = os.path.join(base, "run")

    alone = runner.run(case.command, alone_folder, environment, LIMIT_S)
    command = stepscope.recorded(case.command, run_folder) if is_recorded else case.command
    recorded = runner.run(command, recorded_folder, environment, max(LIMIT_S, SLOWEST * alone.seconds))
    if not is_recorded:
        recorded.ending = runner.as_record_ends(recorded.ending)
    found = runner.differences(case.name, alone, recorded, alone_folder, recorded_folder)
    if is_recorded:
        found += faults_of_traces(stepscope, case, run_folder)
    shutil.rmtree(base, ignore_errors=True)
    return Result(case, found, alone.seconds, recorded.seconds)


def compare_one(arguments):
    stepscope, case, *others = arguments
    for _ in range(TRIES.get(case.name, 1)):
        result = compare(stepscope, case, *others)
        if not any("time limit" in difference for difference in result.differences):
            break
    return result


def tell(result):
    state = "differs" if result.differences else "equal"
    print(f"{state:8}{result.case.theme:12} {result.case.name:24} alone {result.alone_s:6.2f} s  recorded {result.recorded_s:6.2f} s")
    for difference in result.differences:
        print(f"        {difference}")
    sys.stdout.flush()


def chosen_cases(arguments, stepscope, folder):
    cases = [*native_cases(stepscope), *language_cases(stepscope, folder, arguments.theme)]
    if not arguments.theme or "checkers" in arguments.theme:
        cases += checked_cases(folder, arguments.nvtx)
    for option, known in ((arguments.theme, {case.theme for case in cases}), (arguments.case, {case.name for case in cases})):
        if unknown := set(option) - known:
            sys.exit(f"attacks_test.py: no theme or case {', '.join(sorted(unknown))}, --list prints them")
    return [case for case in cases
            if (not arguments.theme or case.theme in arguments.theme) and (not arguments.case or case.name in arguments.case)]


def compare_all(stepscope, cases, folder, arguments):
    begin = time.monotonic()
    for case in cases:
        if case.skipped:
            print(f"skipped {case.theme:12} {case.name:24} {case.skipped}")
    work = [(stepscope, case, folder, number, not arguments.twice_alone)
            for number in range(arguments.repeat) for case in cases if not case.skipped]
    differing = 0
    with multiprocessing.Pool(arguments.jobs, runner.become_subreaper) as pool:
        for result in pool.imap_unordered(compare_one, work, chunksize=1):
            tell(result)
            differing += bool(result.differences)
    print(f"{len(work) - differing} equal, {differing} differ, {sum(bool(case.skipped) for case in cases)} skipped, "
          f"in {time.monotonic() - begin:.1f} s")
    if not work:
        return 77
    return 1 if differing else 0


ENDLESS = "sleep 1000"
# What a shell does alone, what it does instead when recorded, and what the comparison must report; "" = they are equal.
PLANTED = (
    ("exit 3", "exit 3", ""),
    ("exit 3", "exit 4", "exit 3 became exit 4"),
    ("kill -SEGV $$", "exit 139", ""),
    ("kill -SEGV $$", "exit 11", "signal 11 became exit 11"),
    ("echo a", "echo a; echo 'stepscope: recorded 1 trace file' >&2", ""),
    ("echo a", "echo a; echo 'error of stepscope: x' >&2", "stderr"),
    ("echo a", "echo a; echo 'stepscope: x'", "stdout"),
    ("echo a; echo b", "echo b; echo a", "stdout"),
    ("echo a > file", "echo b > file", "file file"),
    ("echo a > file", "echo a > file; echo a > more", "file more"),
    ("mkdir one", ":", "file one"),
    ("echo a > file", "umask 077; echo a > file", "file file"),
    ("echo $PWD", "echo $PWD", ""),
    ("(sleep 0.1; exit 2) & exit 0", "(sleep 0.1; exit 2) & exit 0", ""),
    ("(sleep 0.1; exit 2) & exit 0", "(sleep 0.1; exit 1) & exit 0", "outlived"),
    ("(sleep 0.1) & exit 0", f"({ENDLESS}) & exit 0", "outlived"),
    ("exit 0", f"exec {ENDLESS}", "exit 0 became time limit"),
)


def self_test(folder):
    runner.become_subreaper()
    wrong = 0
    folders = [runner.fresh_folder(os.path.join(folder, name)) for name in ("alone", "recorded")]
    for alone, recorded, expected in PLANTED:
        outcomes = [runner.run(["sh", "-c", script], runner.fresh_folder(place), runner.clean_environment(), 1 if ENDLESS in script else LIMIT_S)
                    for script, place in zip((alone, recorded), folders)]
        outcomes[1].ending = runner.as_record_ends(outcomes[1].ending)
        found = "; ".join(runner.differences("any", *outcomes, *folders))
        if expected not in found or bool(expected) != bool(found):
            print(f"{alone} / {recorded}: found [{found}], expected [{expected}]")
            wrong += 1
    print(f"{len(PLANTED) - wrong} of {len(PLANTED)} as expected")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="the build folder, which holds bin/stepscope")
    parser.add_argument("--theme", action="append", default=[])
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--nvtx", default="", help="the folder of NVTX's headers, for programs that are built here")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each case")
    parser.add_argument("--twice-alone", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--list", action="store_true", help="prints themes and cases, and runs none")
    arguments = parser.parse_args()
    stepscope = runner.Stepscope(arguments.build)
    with tempfile.TemporaryDirectory(prefix="stepscope-attacks-") as folder:
        os.chmod(folder, 0o755)
        if arguments.self_test:
            return self_test(folder)
        cases = chosen_cases(arguments, stepscope, folder)
        if arguments.list:
            for case in cases:
                print(case.theme, case.name)
            return 0
        return compare_all(stepscope, cases, folder, arguments)


if __name__ == "__main__":
    sys.exit(main())
