#!/usr/bin/env python3
"""Do all processes of a job record the same steps when they are asked for, and what does it cost to be asked?

    python3 bench/requests.py [--build build/release] [--processes 2 4 8] [--windows 20] [--kills 20]

Trains cifar10 under mpirun and `stepscope record --on-request`. For each number of processes it asks for WINDOWS windows of 1 to 8 steps
and reads which steps each rank has. Then it kills rank 1 with SIGKILL at a random moment of a request, KILLS times, and looks whether the
windows of the other ranks are whole. Last it measures what the thread that looks for requests takes of a processor. Build the target
stepscope first.
"""
import argparse
import glob
import os
import random
import re
import signal
import subprocess
import tempfile
import time

ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Job:
    """A training without end in `processes` processes, recorded on request into `folder`/run."""

    def __init__(self, stepscope, folder, processes, mpi_options=()):
        self.stepscope, self.folder, self.run = stepscope, folder, os.path.join(folder, "run")
        command = ["mpirun", "--oversubscribe", *mpi_options, "-n", str(processes), stepscope, "record", "--on-request", "-o", self.run, "--",
                   stepscope, "run", "cifar10", "--batch", "2", "--allow-nan", "--steps", "100000000", "--no-evaluate", "--log-every", "0"]
        self.launcher = subprocess.Popen(command, cwd=folder, env={**os.environ, **ENVIRONMENT, "TMPDIR": folder},
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def ask(self, *options):
        return subprocess.run([self.stepscope, "trigger", self.run, *options], capture_output=True, text=True, check=False)

    def ask_until_it_trains(self, *options):
        for _ in range(600):
            answer = self.ask(*options)
            waits = re.search("step yet|not known yet|record --on-request|being recorded", answer.stderr)
            if answer.returncode == 0 or not waits:
                return answer
            time.sleep(0.2)
        raise SystemExit(f"the job does not train: {answer.stderr}")

    def processes(self):
        """Process ids by rank."""
        found = {}
        for name in glob.glob(os.path.join(self.run, "requests", "*.process.json")):
            text = open(name, encoding="utf-8").read()
            found[int(re.search(r'"rank": (-?\d+)', text)[1])] = int(re.search(r'"process_id": (\d+)', text)[1])
        return found

    def end(self):
        for process in self.processes().values():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.launcher.poll() is None:
            os.killpg(self.launcher.pid, signal.SIGKILL)
        self.launcher.wait()


def steps_of(stepscope, trace):
    """The numbers of the steps of a trace; None where it is not whole."""
    if subprocess.run([stepscope, "doctor", trace], capture_output=True, check=False).returncode != 0:
        return None
    query = subprocess.run([stepscope, "query", trace, "SELECT DISTINCT step FROM steps ORDER BY step", "--format", "csv"],
                           capture_output=True, text=True, check=True)
    return [int(line) for line in query.stdout.split()[1:]]


def same_steps(stepscope, processes, windows):
    """How many of the windows hold the steps that were asked for, in all ranks."""
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        job = Job(stepscope, folder, processes)
        job.ask_until_it_trains("--steps", "1")
        for _ in range(windows):
            answer = job.ask("--steps", str(random.randint(1, 8)))
            written = re.search(r"(\S+steps-(\d+)-(\d+)) written by (\d+)", answer.stdout)
            if not written:
                print("   ", answer.stderr.strip())
                continue
            wanted = list(range(int(written[2]), int(written[3]) + 1))
            traces = glob.glob(os.path.join(written[1], "*.stepscope"))
            good += len(traces) == processes and all(steps_of(stepscope, trace) == wanted for trace in traces)
        job.end()
    return good


def survives_kill(stepscope, processes):
    """Rank 1 is killed at a random moment of a request. Whether the window of the other ranks is whole, with the same steps in
    all, or none of them has one; and whether they have."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(stepscope, folder, processes, ("--enable-recovery",))
        job.ask_until_it_trains("--steps", "1")
        before = set(glob.glob(os.path.join(job.run, "steps-*")))
        asking = subprocess.Popen([stepscope, "trigger", job.run, "--steps", "40"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 4))
        os.kill(job.processes()[1], signal.SIGKILL)
        asking.wait(timeout=120)
        # The others end by themselves, and say that rank 1 is gone.
        for _ in range(100):
            if job.launcher.poll() is not None:
                break
            time.sleep(0.1)
        windows = set(glob.glob(os.path.join(job.run, "steps-*"))) - before
        traces = [trace for window in windows for trace in glob.glob(os.path.join(window, "*.stepscope")) if "rank-1." not in trace]
        steps = [steps_of(stepscope, trace) for trace in traces]
        job.end()
    is_whole = len(windows) <= 1 and len(steps) in (0, processes - 1) and None not in steps
    # Each rank ends when it misses rank 1, perhaps a step sooner than another one.
    lengths = [len(each) for each in steps] if is_whole else []
    return is_whole and max(lengths, default=0) - min(lengths, default=0) <= 1, bool(steps)


def cost_of_looking(stepscope, seconds):
    """Processor time of the thread that looks for requests, as a share."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(stepscope, folder, 1)
        job.ask_until_it_trains("--steps", "1")
        process = job.processes()[0]
        thread = next(path for path in glob.glob(f"/proc/{process}/task/*") if open(path + "/comm", encoding="utf-8").read().strip() == "stepscope-asked")
        used = lambda: int(open(thread + "/schedstat", encoding="utf-8").read().split()[0])
        before, begin = used(), time.monotonic()
        time.sleep(seconds)
        share = (used() - before) / (time.monotonic() - begin) / 1e9
        job.end()
    return share


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build/release")
    options.add_argument("--processes", type=int, nargs="*", default=[2, 4, 8])
    options.add_argument("--windows", type=int, default=20)
    options.add_argument("--kills", type=int, default=20)
    chosen = options.parse_args()
    stepscope = os.path.abspath(os.path.join(chosen.build, "bin/stepscope"))

    for processes in chosen.processes:
        print(f"{processes} processes: {same_steps(stepscope, processes, chosen.windows)} of {chosen.windows} windows have the same steps in all ranks", flush=True)
    for processes in chosen.processes if chosen.kills > 0 else []:
        ends = [survives_kill(stepscope, processes) for _ in range(chosen.kills)]
        whole, there = sum(end[0] for end in ends), sum(end[1] for end in ends)
        print(f"rank 1 of {processes} killed: {whole} of {chosen.kills} times what the others have is whole; {there} times they have a window", flush=True)
    print(f"looking for requests: {100 * cost_of_looking(stepscope, 20):.4f} % of a processor")


if __name__ == "__main__":
    main()
