#!/usr/bin/env python3
"""The scripts of this folder where there is no GPU: a program that stands for stepscope says what a test wants it to say."""
import collections
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gpu_proof  # noqa: E402
import processes  # noqa: E402
import pytorch_pairs  # noqa: E402

GPU = {"name": "gpu 0", "verdict": "OK", "found": "H100", "fix": ""}
NO_GPU = {"name": "gpu", "verdict": "WARN", "found": "none: no NVIDIA device on this machine", "fix": "nothing"}


class Proof(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_proof(self, doctor, selftest, code=0, stages=("doctor", "selftest"), more=()):
        """Exit status, what was printed, the summary."""
        os.makedirs(self.path("bin"))
        program = self.path("bin/stepscope")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $1 in\ndoctor) cat <<'END'\n{json.dumps({'checks': doctor})}\nEND\n;;\n"
                       f"selftest) cat <<'END'\n{json.dumps(selftest)}\nEND\nexit {code};;\nesac\n")
        os.chmod(program, 0o755)
        arguments = ["--stepscope", program, "--out", self.path("out"), *more]
        for stage in stages:
            arguments += ["--stage", stage]
        printed = io.StringIO()
        with redirect_stdout(printed):
            status = gpu_proof.main(arguments)
        with open(self.path("out/summary.json"), encoding="utf-8") as file:
            return status, printed.getvalue(), json.load(file)

    def test_without_a_gpu_everything_is_skipped_with_the_reason(self):
        status, printed, summary = self.run_proof([NO_GPU], {}, stages=gpu_proof.STAGES)
        self.assertEqual(status, gpu_proof.SKIPPED)
        self.assertTrue(all(entry["status"] == "skipped" and "no NVIDIA device" in entry["reason"] for entry in summary))
        self.assertEqual(printed.splitlines()[-1], f"0 passed, 0 failed, {len(gpu_proof.STAGES)} skipped")

    def test_what_passes_keeps_its_numbers(self):
        report = {"checks": [{"name": "probe work", "verdict": "PASS", "found": "1,000 kernels"}], "passed": 1, "failed": 0, "skipped": 0}
        status, printed, summary = self.run_proof([GPU], report)
        self.assertEqual((status, printed.splitlines()[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(summary[1]["numbers"], report)

    def test_a_failed_check_fails_with_its_words(self):
        report = {"checks": [{"name": "probe graph", "verdict": "FAIL", "found": "kernels: 1 instead of 2"}], "passed": 3, "failed": 1}
        status, printed, _ = self.run_proof([GPU], report, code=1)
        self.assertEqual(status, 1)
        self.assertIn("probe graph: kernels: 1 instead of 2", printed)

    def test_a_machine_that_is_not_ready_fails(self):
        status, _, summary = self.run_proof([{"name": "driver", "verdict": "FAIL", "found": "cuInit failed", "fix": "reboot"}], {},
                                            stages=["doctor"])
        self.assertEqual(status, 1)
        self.assertIn("cuInit failed", summary[0]["reason"])

    def test_what_comes_too_late_is_skipped(self):
        status, printed, _ = self.run_proof([GPU], {}, stages=["doctor"], more=["--limit-s", "-1"])
        self.assertEqual(status, gpu_proof.SKIPPED)
        self.assertIn("no time left", printed)

    def test_large_recordings_are_not_kept(self):
        os.makedirs(self.path("r/large"))
        os.makedirs(self.path("r/small"))
        with open(self.path("r/large/a"), "wb") as file:
            file.truncate(gpu_proof.MAX_KEPT_BYTES + 1)
        with open(self.path("r/small/a"), "wb") as file:
            file.write(b"trace")
        gpu_proof.drop_large_recordings(self.path("r"))
        self.assertEqual(os.listdir(self.path("r")), ["small"])


class Pairs(unittest.TestCase):
    PROFILE = [{"cat": "kernel", "name": "gemm"}, {"cat": "kernel", "name": "gemm"}, {"cat": "kernel", "name": "relu"},
               {"cat": "gpu_memcpy", "name": "Memcpy HtoD"}, {"cat": "gpu_memset", "name": "Memset"}, {"cat": "cuda_runtime", "name": "x"},
               {"name": "no category"}]
    ROWS = [{"kind": "kernel", "name": "gemm", "count": 2}, {"kind": "kernel", "name": "relu", "count": 1},
            {"kind": "memcpy", "name": "copy", "count": 1}, {"kind": "memset", "name": "fill", "count": 1}]

    def profile(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump({"traceEvents": self.PROFILE}, file)
        self.addCleanup(os.remove, file.name)
        return pytorch_pairs.counts_of_profile(file.name)

    def test_equal_counts_differ_in_nothing(self):
        self.assertEqual(pytorch_pairs.differences(pytorch_pairs.counts_of_analysis({"kernels": self.ROWS}), self.profile()), [])

    def test_every_difference_is_named(self):
        ours = {"kernel": collections.Counter({"gemm": 1, "other": 1}), "memcpy": 2, "memset": 1}
        found = pytorch_pairs.differences(ours, self.profile())
        self.assertEqual(found, ["memcpy: 2 recorded, 1 by torch.profiler", "gemm: 1 recorded, 2 by torch.profiler",
                                 "other: 1 recorded, 0 by torch.profiler", "relu: 0 recorded, 1 by torch.profiler"])

    def test_the_last_line_is_the_programs(self):
        self.assertEqual(pytorch_pairs.step_ms('warning: x\n{"step_ms": 1.5}\n'), 1.5)


class Processes(unittest.TestCase):
    def test_status_is_a_shells(self):
        self.assertEqual(processes.run(["sh", "-c", "echo a; exit 3"]), (3, "a\n"))
        self.assertEqual(processes.run(["sh", "-c", "kill -SEGV $$"]).code, 139)

    def test_what_takes_too_long_is_killed(self):
        self.assertEqual(processes.run(["sleep", "1000"], limit_s=0.5).code, 124)

    def test_a_failure_has_the_end_of_the_output(self):
        with self.assertRaisesRegex(processes.Failure, "ended with 2: why"):
            processes.run_well(["sh", "-c", "echo why; exit 2"])


if __name__ == "__main__":
    unittest.main()
