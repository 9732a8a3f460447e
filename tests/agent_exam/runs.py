"""Makes the runs of the exam. They are served under numbers, so that no name gives an answer away."""
import json
import os
import subprocess

from questions import Kernels, Synth, Training

# What the workloads write beside their traces: pathology.json names the fault, analysis.json the findings.
GIVE_AWAYS = ("truth.json", "pathology.json", "analysis.json")


class Runs:
    def __init__(self, stepscope, folder):
        self.stepscope = stepscope
        self.folder = folder
        self.served = os.path.join(folder, "served")
        os.makedirs(self.served, exist_ok=True)
        self._made = {}  # what it was made from → (name, truth)

    def make(self, source, attempt=0):
        """The name of the run and its truth.json. A run that two items share is made once."""
        key = (repr(source), attempt)
        if key not in self._made:
            name = f"job-{len(self._made) + 1:02}" + (".json" if isinstance(source, Kernels) else "")
            path = os.path.join(self.served, name)
            {Synth: self._synthesize, Training: self._train, Kernels: self._write_kernels}[type(source)](source, path)
            self._made[key] = (name, self._take_away(path))
        return self._made[key]

    def _run(self, arguments):
        done = subprocess.run([self.stepscope, *arguments], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: stepscope {' '.join(arguments)}\n{done.stderr[-2000:]}")

    def _synthesize(self, source, path):
        arguments = ["synth", "-o", path, "--pattern", source.pattern, "--ranks", str(source.ranks), "--seed", str(source.seed),
                     "--steps", str(source.steps), *source.more]
        self._run(arguments + (["--fault", source.fault] if source.fault else []))

    def _train(self, source, path):
        self._run(["profile", *source.options.split(), "--no-evaluate", "--log-every", "0", "-o", path, "--device",
                   f"host:{source.devices}", "--pathology", source.pathology])

    def _write_kernels(self, _, path):
        events = []
        for i in range(50):
            place = {"ph": "X", "pid": 0, "args": {"device": 0, "stream": 7, "correlation": i + 1}}
            events.append(place | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 100 * i, "dur": 5})
            events.append(place | {"cat": "kernel", "name": "gemm", "tid": 7, "ts": 100 * i + 10, "dur": 80})
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)

    def _take_away(self, path):
        """Reads what the makers know of the run, and removes it: the server must answer from the trace alone."""
        known = {}
        for name in GIVE_AWAYS:
            file_name = os.path.join(path, name)
            if not os.path.isfile(file_name):
                continue
            if name == "truth.json":
                with open(file_name, encoding="utf-8") as file:
                    known = json.load(file)
            os.remove(file_name)
        return known
