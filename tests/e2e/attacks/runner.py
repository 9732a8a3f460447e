"""Runs a program alone and under `stepscope record`, and compares what can be seen of it from outside.

Outcome: how it ended, what it printed, the files that it left, how processes ended that outlived it. ALLOWED names every
difference that a recorded program may show, with the reason; nothing else is ignored.
"""

import ctypes
import dataclasses
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
# The tracer's own threads: the writer of events, and that of the file.
TRACER_THREADS = 2
VARIABLES_OF_RECORD = (b"CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|NCCL_PROFILER_PLUGIN|LD_PRELOAD|ASAN_OPTIONS|"
                       b"STEPSCOPE_[A-Z_]+")


@dataclasses.dataclass(frozen=True)
class Allowed:
    """A part of an output that may differ: text that matches becomes `instead` before the comparison."""

    stream: str
    pattern: bytes
    instead: object  # bytes, or a function of the match
    why: str
    case: str | None = None  # None: any
    recorded_only: bool = True


def without_tracer_threads(match):
    return b"Threads:\t%d" % max(1, int(match.group(1)) - TRACER_THREADS)


ALLOWED = (
    Allowed("stderr", rb"^stepscope: [^\n]*\n", b"",
            "record says at its end what it recorded, the tracer what it lost: whole lines that begin with stepscope:"),
    Allowed("stdout", rb"^(?:" + VARIABLES_OF_RECORD + rb")=[^\n]*\n", b"",
            "record hands its settings to the tracer in the environment", case="env"),
    Allowed("stderr", rb"^Threads:\t(\d+)", without_tracer_threads,
            "the tracer writes its file in two threads of its own", case="threadcount"),
    Allowed("stdout", rb"^(SEGV|BUS|FPE|ILL|ABRT): handled$", rb"\1: default",
            "the tracer handles faults that the program does not, so that what was recorded before them reaches the file", case="handlers"),
    Allowed("stderr", rb"^T \d+\.\d+$", b"T time", "a duration", case="threads10k", recorded_only=False),
    Allowed("stdout", rb" \d+\.\d{6}$", b" time", "a point in time", case="marks", recorded_only=False),
)


@dataclasses.dataclass
class Outcome:
    ending: str
    stdout: bytes
    stderr: bytes
    files: dict
    outlived: list
    seconds: float


def become_subreaper():
    """Processes whose parents ended become children of this one, which can wait for them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def kill_all_children():
    """Until none is left: the children of a killed one become ours."""
    while True:
        for child in children():
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def ending_of(status):
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"


def as_record_ends(ending):
    """`stepscope record` ends with 128 + the signal that ended the program, as shells do."""
    kind, number = ending.split(maxsplit=1)
    return f"exit {128 + int(number)}" if kind == "signal" else ending


def describe_file(path):
    info = os.lstat(path)
    described = f"mode {stat.filemode(info.st_mode)}, owner {info.st_uid}:{info.st_gid}"
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as file:
            described += f", {info.st_size} bytes, {hashlib.sha256(file.read()).hexdigest()[:16]}"
    elif stat.S_ISLNK(info.st_mode):
        described += f", to {os.readlink(path)}"
    return described


def describe_files(folder):
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            found[os.path.relpath(path, folder)] = describe_file(path)
    return found


def wait_for_all(main, deadline):
    """(ending of main, endings of all others), or None for a process that had to be killed."""
    ending, others, pause = None, [], 0.0005
    while time.monotonic() < deadline:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ending, sorted(others)
        if child == main:
            ending = ending_of(status)
        elif child != 0:
            others.append(ending_of(status))
        else:
            time.sleep(pause)
            pause = min(0.01, pause * 1.5)
    kill_all_children()
    return ending, sorted(others) + ["killed at the time limit"]


def run(command, folder, environment, limit_s):
    """In this process, which must be a subreaper without other children."""
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    outputs = {}

    def read(name, pipe):
        outputs[name] = pipe.read()

    readers = [threading.Thread(target=read, args=pair) for pair in (("stdout", process.stdout), ("stderr", process.stderr))]
    for reader in readers:
        reader.start()
    ending, outlived = wait_for_all(process.pid, begin + limit_s)
    process.returncode = 0  # it was waited for
    for reader in readers:
        reader.join()
    process.stdout.close()
    process.stderr.close()
    return Outcome(ending or "time limit", outputs["stdout"], outputs["stderr"], describe_files(folder), outlived,
                   time.monotonic() - begin)


class Stepscope:
    """The programs of a build folder."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.program = os.path.join(self.build, "bin/stepscope")
        self.attack_program = os.path.join(self.build, "tests/attack_program")
        self.attack_library = os.path.join(self.build, "tests/libattack_library.so")

    def recorded(self, command, run_folder):
        return [self.program, "record", "-o", run_folder, "--", *command]

    def info(self, run_folder):
        """What `stepscope info` says of each trace file; raises ValueError when it cannot read one."""
        if not any(name.endswith(".stepscope") for name in files_of(run_folder)):
            return []
        result = subprocess.run([self.program, "info", run_folder, "--json"], capture_output=True, timeout=60)
        if result.returncode != 0:
            raise ValueError(f"stepscope info ends with {result.returncode}: {printable(result.stderr)}")
        return json.loads(result.stdout)


def files_of(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def clean_environment():
    """Nothing in it makes a program record, or is about the folder that it runs in."""
    kept = {name: value for name, value in os.environ.items()
            if not re.fullmatch(VARIABLES_OF_RECORD, name.encode()) and name not in ("PWD", "OLDPWD", "_")}
    # As a rank of a job the recorded program would get another file name.
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"):
        kept.pop(name, None)
    return kept


def fresh_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    os.chmod(path, 0o777)  # also for a program that becomes another user
    return path


def normalised(stream, text, case, is_recorded, folder):
    text = text.replace(folder.encode(), b"FOLDER")
    for allowed in ALLOWED:
        applies = allowed.stream == stream and allowed.case in (None, case) and (is_recorded or not allowed.recorded_only)
        if applies:
            text = re.sub(allowed.pattern, allowed.instead, text, flags=re.MULTILINE)
    return text


def printable(text, most=300):
    shown = text.decode(errors="backslashreplace").strip().replace("\n", " | ")
    return shown if len(shown) <= most else shown[:most] + "…"


def differing_lines(alone, recorded):
    """The lines that only one of two texts has."""
    first, second = alone.splitlines(), recorded.splitlines()
    missing = b"\n".join(line for line in first if line not in second)
    added = b"\n".join(line for line in second if line not in first)
    if not missing and not added:
        return "the same lines, another number or order of them"
    return f"[{printable(missing)}] became [{printable(added)}]"


def differences(case, alone, recorded, alone_folder, recorded_folder):
    found = []
    if as_record_ends(alone.ending) != recorded.ending:
        found.append(f"{alone.ending} became {recorded.ending}")
    if alone.outlived != recorded.outlived:
        found.append(f"processes that outlived it: {alone.outlived} became {recorded.outlived}")
    for stream in ("stdout", "stderr"):
        first = normalised(stream, getattr(alone, stream), case, False, alone_folder)
        second = normalised(stream, getattr(recorded, stream), case, True, recorded_folder)
        if first != second:
            found.append(f"{stream}: {differing_lines(first, second)}")
    for name in sorted(alone.files.keys() | recorded.files.keys()):
        first, second = alone.files.get(name, "nothing"), recorded.files.get(name, "nothing")
        if first != second:
            found.append(f"file {name}: {first} became {second}")
    return found
