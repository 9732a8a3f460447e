"""The bundled workloads on GPUs as users start them: with CUDA graphs and without, and in several processes when one of them is lost."""
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
import uuid

import processes

GRAPH_RUNS = {
    "cifar10": ["--batch", "64", "--no-augment", "--no-evaluate"],
    "gpt": ["--batch", "8", "--accumulate", "2", "--no-evaluate"],
    "gpt zero1": ["--batch", "8", "--device", "cuda:0,cuda:0", "--zero1", "--no-evaluate"],
    "gan": ["--batch", "64"],
}
STEPS = 60
WARM_UP = 20  # steps that do not count: graphs are captured in the first ten
TRAINING = ["run", "cifar10", "--batch", "32", "--no-evaluate", "--log-every", "0", "--no-augment"]
END_WITHIN_S = 30
COLLECTIVE_TIMEOUT_S = 5  # for the run in which a process hangs
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MARK = "STEPSCOPE_GPU_PROOF"  # in the environment of what is started here


def step_ms(summary):
    """Median over the steps that count, of the slowest device."""
    return max(statistics.median(device["step_ns"][WARM_UP:]) for device in summary["devices"]) / 1e6


def compare_graphs(stepscope):
    """What is wrong, and numbers: the same weights with graphs as without, and how long a step takes."""
    wrong, numbers = [], {}
    for name, options in GRAPH_RUNS.items():
        summaries = []
        for more in ([], ["--cuda-graphs"]):
            device = [] if "--device" in options else ["--device", "cuda"]
            result = processes.run_well([stepscope, "run", name.split()[0], *device, *options, *more, "--steps", str(STEPS),
                                         "--log-every", "0", "--json"], keep_stderr=False)
            summaries.append(json.loads(result.output.splitlines()[-1]))
        plain, graphed = summaries
        checksums = [[device["weights_checksum"] for device in summary["devices"]] for summary in summaries]
        numbers[name] = {"step_ms": step_ms(plain), "step_ms_graphs": step_ms(graphed), "launches": plain["launches"],
                         "launches_graphs": graphed["launches"], "graph_launches": graphed["graph_launches"]}
        if checksums[0] != checksums[1]:
            wrong.append(f"{name}: the weights are {checksums[1]}, without graphs {checksums[0]}")
        if graphed["graph_launches"] == 0 or plain["graph_launches"] != 0:
            wrong.append(f"{name}: {graphed['graph_launches']} launches of graphs, {plain['graph_launches']} without --cuda-graphs")
        if graphed["kernels"] != plain["kernels"]:
            wrong.append(f"{name}: {graphed['kernels']} operations, {plain['kernels']} without graphs")
    return wrong, numbers


def why_no_mpi():
    """Why processes cannot be started together here; empty when they can."""
    if shutil.which("mpirun") is None:
        return "there is no mpirun (apt: openmpi-bin)"
    with environment(MPI):
        found = processes.run(["mpirun", "--oversubscribe", "-n", "2", "true"], limit_s=60)
    return "" if found.code == 0 else f"mpirun starts no processes here: {found.output[-800:]}"


@contextlib.contextmanager
def environment(variables):
    """Sets them for what is started inside."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def too_few_gpus(stepscope, gpus):
    """What is wrong when there are more processes than GPUs: it must be an error that says so, at once."""
    with environment(MPI):
        result = processes.run(["mpirun", "--oversubscribe", "-n", str(gpus + 1), stepscope, *TRAINING, "--steps", "2", "--device", "cuda"],
                               limit_s=120)
    if result.code == 2 and f"{gpus + 1} processes see" in result.output:
        return []
    return [f"{gpus + 1} processes with {gpus} GPUs ended with {result.code}: {result.output[-800:]}"]


def devices(gpus):
    """--device for two devices in one process, and for each of two processes. With one GPU all share it."""
    return ("cuda:0,cuda:1", "cuda") if gpus > 1 else ("cuda:0,cuda:0", "cuda:0")


def why_not_shared(stepscope):
    """Why two processes cannot share the only GPU; empty when they can, or when it goes wrong otherwise."""
    with environment(MPI):
        result = processes.run(["mpirun", "--oversubscribe", "-n", "2", stepscope, *TRAINING, "--steps", "2", "--device", devices(1)[1]],
                               limit_s=120)
    return result.output.strip()[-800:] if result.code == 2 and "NCCL 2.30" in result.output else ""


def same_losses(stepscope, gpus):
    """What is wrong, and numbers: two processes with a device each train what one process with both does."""
    options = [*TRAINING, "--steps", "20", "--json"]
    together, alone = devices(gpus)
    whole = processes.run_well([stepscope, *options, "--device", together], keep_stderr=False)
    with environment(MPI):
        parts = processes.run_well(["mpirun", "--oversubscribe", "-n", "2", stepscope, *options, "--device", alone], keep_stderr=False)
    one, two = (json.loads(result.output.splitlines()[-1]) for result in (whole, parts))
    difference = max(abs(a - b) / abs(a) for a, b in zip(one["loss"], two["loss"]))
    wrong = []
    if difference > 1e-3:
        wrong.append(f"losses differ by {difference:.1e} of their value")
    if two["processes"] != 2 or len({device["weights_checksum"] for device in two["devices"]}) != 1:
        wrong.append(f"{two['processes']} processes with the weights {two['devices']}")
    return wrong, {"largest_difference": difference, "same_bits": one["devices"][0]["weights_checksum"] == two["devices"][0]["weights_checksum"]}


def process_of(mark, rank):
    """The training process of that rank among those that carry the mark; None when there is none."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if f"{MARK}={mark}".encode() in variables and f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables and words[1:2] == [b"run"]:
                return int(entry)
    return None


def wait_for_bytes(path, count, launcher, limit_s):
    """Whether the file has as many before the launcher ends or the time is over."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until and launcher.poll() is None:
        if os.path.exists(path) and os.path.getsize(path) > count:
            return True
        time.sleep(0.1)
    return False


def hurt_rank_one(stepscope, folder, how, gpus):
    """Trains in two processes without end, hurts rank 1. What is wrong, and the seconds until all had ended."""
    run, mark = os.path.join(folder, how.name), uuid.uuid4().hex
    command = ["mpirun", "--oversubscribe", "-n", "2", stepscope, "record", "--force", "-o", run, "--", stepscope, *TRAINING, "--steps",
               "1000000", "--device", devices(gpus)[1], "--collective-timeout", str(COLLECTIVE_TIMEOUT_S)]
    with environment({**MPI, MARK: mark}):
        launcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                    errors="replace", start_new_session=True)
    output = ""
    try:
        trains = wait_for_bytes(os.path.join(run, "rank-1.stepscope"), 20_000, launcher, 120)
        victim = process_of(mark, 1)
        begin = time.monotonic()
        if trains and victim is not None:
            os.kill(victim, how)
        output, _ = launcher.communicate(timeout=2 * END_WITHIN_S if trains else 1)
    except subprocess.TimeoutExpired:
        return [f"{how.name}: the processes did not end"], None
    finally:
        for rank in (0, 1):
            if (left := process_of(mark, rank)) is not None:
                os.kill(left, signal.SIGKILL)
        if launcher.poll() is None:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.communicate()
    seconds = time.monotonic() - begin
    if not trains or victim is None:
        return [f"{how.name}: no training was there to be hurt: {output[-800:]}"], None
    wrong = [] if "rank 1" in output else [f"{how.name}: nobody says that rank 1 is gone: {output[-800:]}"]
    if seconds > END_WITHIN_S:
        wrong.append(f"{how.name}: the processes ended after {seconds:.0f} s")
    info = json.loads(processes.run_well([stepscope, "info", "--json", run], keep_stderr=False).output)
    if len(info) != 2 or any(process["events"] < 100 for process in info):
        wrong.append(f"{how.name}: the traces of two processes cannot be read: {str(info)[:800]}")
    return wrong, seconds


def run_in_processes(stepscope, folder, gpus):
    """What is wrong, and numbers."""
    wrong, numbers = too_few_gpus(stepscope, gpus), {"gpus": gpus}
    found, numbers["losses"] = same_losses(stepscope, gpus)
    wrong += found
    for how in (signal.SIGKILL, signal.SIGSTOP):
        found, numbers[f"seconds_after_{how.name}"] = hurt_rank_one(stepscope, folder, how, gpus)
        wrong += found
    return wrong, numbers
