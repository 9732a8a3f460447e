#!/usr/bin/env python3
"""What several processes of mpirun save when they analyze a run together, and what each of them holds.

Synthetic runs are analyzed in turn by one process on one core and by 2 and 4 processes that share the cores. Then one process has
two cores: what its threads save is the limit. Prints medians of the rounds: seconds, the ratio to one
process, and the largest memory of process 0 and of any other one. Fails when outputs differ. With --sql they
answer this SELECT instead.

  bench/team.py [--program build/release/bin/stepscope] [--ranks 64,256,1024] [--events 200000] [--rounds 3] [--sql "select …"]
"""
import argparse
import filecmp
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "core:overload-allowed"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/stepscope")
    parser.add_argument("--ranks", default="64,256,1024")
    parser.add_argument("--events", default="200000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sql")
    return parser.parse_args()


def memory_mb(text):
    """What each process printed of itself: 'MEMORY rank KiB'. mpirun may put two on one line."""
    sizes = re.findall(r"MEMORY (\d+) (\d+)", text)
    first = max((int(size) for rank, size in sizes if rank == "0"), default=0)
    others = max((int(size) for rank, size in sizes if rank != "0"), default=0)
    return first * 1.024 / 1000, others * 1.024 / 1000


def work(way, command, output):
    """Seconds, and the memory of process 0 and of the others in MB."""
    inner = ["bash", "-c", 'exec /usr/bin/time -f "MEMORY ${OMPI_COMM_WORLD_RANK:-0} %M" "$@"', "bash", *command]
    before = ["taskset", "-c", "0,1"] if way == "threads" else MPIRUN + ["-n", str(way)]
    begin = time.monotonic()
    with open(output, "wb") as out:
        done = subprocess.run(before + inner, stdout=out, stderr=subprocess.PIPE, env=ENVIRONMENT, check=True)
    return time.monotonic() - begin, memory_mb(done.stderr.decode(errors="replace"))


def main():
    options = arguments()
    program = str(pathlib.Path(options.program).resolve())
    ways = [1, 2, 4, "threads"]
    with tempfile.TemporaryDirectory() as folder:
        print("ranks  events   way                    s  to one process  memory of process 0, others (MB)  to one, round by round")
        for ranks in (int(text) for text in options.ranks.split(",")):
            run = pathlib.Path(folder, f"run-{ranks}")
            subprocess.run([program, "synth", "-o", run, "--ranks", str(ranks), "--events", options.events], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            command = [program, "query", str(run), options.sql] if options.sql else [program, "analyze", str(run)]
            seconds, memory = {way: [] for way in ways}, {}
            for _ in range(options.rounds):
                for way in ways:
                    took, memory[way] = work(way, command, f"{folder}/{way}.txt")
                    seconds[way].append(took)
                    if not filecmp.cmp(f"{folder}/{way}.txt", f"{folder}/1.txt", shallow=False):
                        raise SystemExit(f"{ranks} ranks, {way}: another output than that of one process")
            one = statistics.median(seconds[1])
            for way in ways:
                name = "1 process, 2 cores" if way == "threads" else f"{way} processes" if way != 1 else "1 process, 1 core"
                own = statistics.median(seconds[way])
                print(f"{ranks:5}  {ranks * int(options.events) / 1e6:5.1f} M  {name:18} {own:7.2f}  {one / own:14.2f}  {memory[way][0]:11.0f}, {memory[way][1]:.0f}"
                      f"  {' '.join(f'{alone / together:.2f}' for alone, together in zip(seconds[1], seconds[way]))}", flush=True)


if __name__ == "__main__":
    main()
