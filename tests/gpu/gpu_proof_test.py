#!/usr/bin/env python3
"""The scripts of this folder where there is no GPU: a program that stands for stepscope says what a test wants it to say."""
import collections
import io
import json
import os
import sys
import signal
import tarfile
import tempfile
import unittest
from contextlib import redirect_stdout
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gpu_proof  # noqa: E402
import processes  # noqa: E402
import pytorch_pairs  # noqa: E402
import results  # noqa: E402
import workload_runs  # noqa: E402

GPU = {"name": "gpu 0", "verdict": "OK", "found": "H100", "fix": ""}
NO_GPU = {"name": "gpu", "verdict": "WARN", "found": "none: no NVIDIA device on this machine", "fix": "nothing"}


class Proof(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_proof(self, doctor, selftest, code=0, stages=("doctor", "selftest"), more=(), doctor_text="", info=()):
        """Exit status, what was printed, the summary."""
        os.makedirs(self.path("bin"), exist_ok=True)
        program = self.path("bin/stepscope")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $1 in\ndoctor) cat <<'END'\n{doctor_text or json.dumps({'checks': doctor})}\nEND\n;;\n"
                       f"selftest) cat <<'END'\n{json.dumps(selftest)}\nEND\nexit {code};;\n"
                       f"info) cat <<'END'\n{json.dumps(list(info))}\nEND\n;;\nesac\n")
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

    def test_the_end_names_what_only_hardware_answers(self):
        _, printed, _ = self.run_proof([NO_GPU], {}, stages=("selftest",))
        self.assertIn("selftest: skipped, rate: not asked", printed)
        stages = [name for _, answered_by in gpu_proof.QUESTIONS if not isinstance(answered_by, str) for name in answered_by]
        self.assertEqual(set(stages) - set(gpu_proof.STAGES), set())

    def test_what_passes_keeps_its_numbers(self):
        report = {"checks": [{"name": "probe work", "verdict": "PASS", "found": "1,000 kernels"}], "passed": 1, "failed": 0, "skipped": 0}
        status, printed, summary = self.run_proof([GPU], report)
        self.assertEqual((status, printed.splitlines()[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(summary[1]["numbers"], report)

    def test_a_failed_check_fails_with_its_words(self):
        report = {"checks": [{"name": "probe graph", "verdict": "FAIL", "found": "kernels: 1 instead of 2"}], "passed": 3, "failed": 1}
        status, printed, summary = self.run_proof([GPU], report, code=1)
        self.assertEqual(summary[1]["numbers"], report)
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

    def test_only_two_files_come_back(self):
        self.run_proof([GPU], {"checks": [], "passed": 1})
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["recordings.tar.gz", "summary.json"])

    def test_a_doctor_that_says_nothing_fails_its_stage_and_the_rest_runs(self):
        status, printed, summary = self.run_proof([GPU], {"checks": [], "passed": 1}, doctor_text="Killed")
        self.assertEqual((status, [entry["status"] for entry in summary]), (1, ["failed", "passed"]))
        self.assertIn("doctor ended with 0: Killed", printed)

    def test_plain_programs_get_pythons_cupti_and_those_with_pytorch_do_not(self):
        no_cupti = {"name": "CUPTI", "verdict": "WARN", "found": "none", "fix": "a package has one: STEPSCOPE_CUPTI=/p/libcupti.so.13"}
        seen = {}
        def stage(name):
            return lambda machine: seen.update({name: os.environ.get("STEPSCOPE_CUPTI")})
        with mock.patch.dict(gpu_proof.STAGES, {name: stage(name) for name in ("rate", "pytorch-cnn-eager")}):
            self.run_proof([GPU, no_cupti], {}, stages=["rate", "pytorch-cnn-eager"])
        self.assertEqual(seen, {"rate": "/p/libcupti.so.13", "pytorch-cnn-eager": None})

    def test_at_the_limit_and_at_sigterm_there_is_a_summary(self):
        for end in (["--limit-s", "1000"], []):
            def stage(_, end=end):
                if not end:
                    os.kill(os.getpid(), signal.SIGTERM)
                elif signal.setitimer(signal.ITIMER_REAL, 0.1)[0] == 0:  # a busy machine comes here late: the limit is moved to now
                    raise processes.Failure("there was no limit")
                processes.run(["sleep", "1000"])
            with self.subTest(end=end), mock.patch.dict(gpu_proof.STAGES, {"rate": stage}):
                status, _, summary = self.run_proof([GPU], {}, stages=["rate", "doctor"], more=end)
                self.assertEqual((status, [entry["status"] for entry in summary]), (1, ["failed", "skipped"]))
                self.assertIn("ended while it ran", summary[0]["reason"])

    def test_recordings_say_of_themselves_in_the_summary(self):
        info = [{"facts": [["cuda tracing", "off: no CUPTI"]], "notes": [], "dropped": 0, "tracks": []}]
        def stage(machine):
            os.makedirs(os.path.join(machine.recordings, "probe work"))
            with open(os.path.join(machine.recordings, "probe work", "rank-0.stepscope"), "wb"):
                pass
            raise processes.Failure("0 kernels")
        with mock.patch.dict(gpu_proof.STAGES, {"rate": stage}):
            _, _, summary = self.run_proof([GPU], {}, stages=["rate"], info=info)
        self.assertEqual(summary[0]["recordings"], {"probe work": [{"facts": info[0]["facts"], "notes": [], "dropped": 0}]})


class Rate(unittest.TestCase):
    def rate(self, kernels, dropped):
        """The rate stage's result for a recording that holds `kernels` of 8 kernels."""
        answers = {"info": [{"dropped": dropped}], "analyze": {"kernels": [{"count": kernels}]}}
        said = {"kernels": 8, "kernels_per_second": 2e6, "ns_per_launch": 1.0}
        def run(command, **_):
            return processes.Result(0, json.dumps(answers.get(command[1], said)))
        with mock.patch.object(processes, "run_well", run):
            return gpu_proof.stage_rate(gpu_proof.Machine("/bin/stepscope"))

    def test_has_both_ways_to_launch(self):
        numbers = self.rate(8, 0)
        self.assertEqual({mode: found["kernels_per_second"] for mode, found in numbers.items()}, {"empty": 2e6, "rate": 2e6})

    def test_fails_with_its_numbers_where_a_kernel_is_missing_or_dropped(self):
        for kernels, dropped in ((7, 0), (8, 1)):
            with self.assertRaisesRegex(processes.Failure, f"rate: {kernels} of 8 kernels, {dropped} dropped") as failure:
                self.rate(kernels, dropped)
            self.assertEqual(failure.exception.numbers["rate"]["found"], kernels)


class Backend(unittest.TestCase):
    LIST = "CudaLayers.\n  Dense\n  ArraysNeedNoMoreThanAFloatsAlignment\nDevices/CudaGroup.\n  Sums/0  # GetParam() = \"cuda\"\n"

    def backend(self, answers):
        """What the stage makes of these outputs, by the beginning of the filter; exit status 1 where one failed."""
        self.filters = []
        def run(command, *_, **__):
            if command[1] == "--gtest_list_tests":
                return processes.Result(0, self.LIST)
            self.filters.append(command[1].removeprefix("--gtest_filter="))
            output = next(said for begin, said in answers.items() if self.filters[-1].startswith(begin))
            return processes.Result(int("FAILED" in output), output)
        with mock.patch.object(processes, "run", run), mock.patch.object(os.path, "exists", lambda _: True):
            return gpu_proof.stage_backend(gpu_proof.Machine("/bin/stepscope"))

    def test_runs_each_suite_alone_and_what_may_break_the_gpu_last(self):
        counts = self.backend({"CudaLayers": "[       OK ] CudaLayers.Dense (3 ms)\n", "Devices": "[  SKIPPED ] Devices/CudaGroup.Sums/0 (1 ms)\n",
                               "*": "[       OK ] CudaLayers.ArraysNeed (3 ms)\n"})
        self.assertEqual(self.filters, ["CudaLayers.*-*Alignment*", "Devices/CudaGroup.*-*Alignment*", "*Alignment*"])
        self.assertEqual([found["passed"] for found in counts.values()], [1, 0, 1])

    def test_one_failed_suite_fails_and_the_others_run(self):
        with self.assertRaisesRegex(processes.Failure, r"CudaLayers.*: exit status 1") as failure:
            self.backend({"CudaLayers": "[  FAILED  ] CudaLayers.Dense (3 ms)\n", "": "[       OK ] A.B (1 ms)\n"})
        self.assertEqual([found["passed"] for found in failure.exception.numbers.values()], [0, 1, 1])

    def test_a_gpu_on_which_nothing_ran_is_a_failure(self):
        with self.assertRaisesRegex(processes.Failure, "no test ran on it: .*cuDNN 9 was not found"):
            self.backend({"": "cuDNN 9 was not found\n[  SKIPPED ] A.B (1 ms)\n"})


class Workloads(unittest.TestCase):
    """Runs with graphs and in several processes, by what the programs say."""

    @staticmethod
    def summary(checksum="aa", graphs=0, kernels=9, count=1, loss=(2.0, 1.0)):
        return {"devices": [{"step_ns": [5_000_000] * 20 + [1_000_000] * 40, "weights_checksum": checksum}] * count, "launches": 90,
                "graph_launches": graphs, "kernels": kernels, "processes": count, "loss": list(loss)}

    def graphs(self, graphed):
        def run(command, **_):
            return processes.Result(0, "a line\n" + json.dumps(graphed if "--cuda-graphs" in command else self.summary()))
        with mock.patch.object(processes, "run_well", run):
            return workload_runs.compare_graphs("/bin/stepscope")

    def test_graphs_must_leave_the_same_weights_by_as_many_operations(self):
        wrong, numbers = self.graphs(self.summary(graphs=7))
        self.assertEqual((wrong, numbers["gan"]["graph_launches"], numbers["gan"]["step_ms"]), ([], 7, 1.0))
        for graphed, found in ((self.summary("bb", 7), "the weights are"), (self.summary(), "0 launches of graphs"),
                               (self.summary(graphs=7, kernels=8), "8 operations")):
            wrong, _ = self.graphs(graphed)
            self.assertEqual(len(wrong), len(workload_runs.GRAPH_RUNS))
            self.assertIn(found, wrong[0])

    def test_more_processes_than_gpus_must_be_refused(self):
        for answer, wrong in ((processes.Result(2, "cuda: 3 processes see the same 2 GPUs"), 0), (processes.Result(0, "trained"), 1)):
            with mock.patch.object(processes, "run", lambda *_, answer=answer, **__: answer):
                self.assertEqual(len(workload_runs.too_few_gpus("/bin/stepscope", 2)), wrong)

    def test_two_processes_must_learn_what_one_does(self):
        for parts, wrong in ((self.summary(count=2), 0), (self.summary(count=2, loss=(2.0, 1.1)), 1), (self.summary(count=1), 1)):
            def run(command, parts=parts, **_):
                return processes.Result(0, json.dumps(parts if command[0] == "mpirun" else self.summary(count=2)))
            with mock.patch.object(processes, "run_well", run):
                self.assertEqual(len(workload_runs.same_losses("/bin/stepscope", 2)[0]), wrong)

    def test_one_gpu_that_cannot_be_shared_is_a_reason_to_skip(self):
        machine = gpu_proof.Machine("/bin/stepscope")
        refused = processes.Result(2, "cuda: processes share a GPU with NCCL 2.30 or newer only")
        with mock.patch.object(machine, "doctor", lambda: {"checks": [GPU]}), mock.patch.object(workload_runs, "why_no_mpi", str), \
                mock.patch.object(processes, "run", lambda *_, **__: refused):
            with self.assertRaisesRegex(gpu_proof.Skip, "one GPU.*NCCL 2.30"):
                gpu_proof.stage_processes(machine)

    def hurt(self, launcher):
        """With a made mpirun: a program that does what `launcher` says; $RUN is the run's folder."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mpirun")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nRUN={folder}/SIGKILL\nmkdir $RUN\n{launcher}\n")
            os.chmod(path, 0o755)
            info = processes.Result(0, json.dumps([{"events": 200}, {"events": 300}]))
            with mock.patch.dict(os.environ, {"PATH": folder + ":" + os.environ["PATH"]}), \
                    mock.patch.object(processes, "run_well", lambda *_, **__: info):
                return workload_runs.hurt_rank_one("/bin/stepscope", folder, signal.SIGKILL, 2)

    def test_a_lost_process_must_end_the_others_with_a_word(self):
        # The training of rank 1 is a Python whose first argument is "run".
        victim = f"OMPI_COMM_WORLD_RANK=1 {sys.executable} run $RUN/rank-1.stepscope & wait $!\n"
        with tempfile.TemporaryDirectory() as here:
            with open(os.path.join(here, "run"), "w", encoding="utf-8") as file:
                file.write("import sys, time\nopen(sys.argv[1], 'wb').write(bytes(30_000))\nwhile True: time.sleep(0.1)\n")
            wrong, seconds = self.hurt(f"cd {here}\n" + victim + "echo rank 1 is gone\n")
            self.assertEqual(wrong, [])
            self.assertLess(seconds, workload_runs.END_WITHIN_S)
            wrong, _ = self.hurt(f"cd {here}\n" + victim)
            self.assertEqual(len(wrong), 1)
            self.assertIn("nobody says", wrong[0])

    def test_a_training_that_never_was_is_told(self):
        wrong, seconds = self.hurt("echo no GPU; exit 2")
        self.assertEqual((len(wrong), seconds), (1, None))
        self.assertIn("no training was there to be hurt: no GPU", wrong[0])


class OfPytorch(unittest.TestCase):
    """What the stages make of the answers of programs."""

    @staticmethod
    def answers(recorded, **said):
        def run(command, **_):
            words = {"info": said.get("info"), "analyze": said.get("analyze")}
            return processes.Result(0, json.dumps(words.get(command[1]) or recorded[command[1] == "record"]))
        return mock.patch.object(processes, "run_well", run)

    def test_a_window_has_whole_steps_and_leaves_the_speed_as_it_was(self):
        for kernels, wrong in ((30, []), (31, ["31 kernels in 3 steps that are alike"]), (0, ["0 kernels in 3 steps that are alike"])):
            rows = {"kernels": [{"kind": "kernel", "name": "gemm", "count": kernels}]}
            with self.answers([{"step_ms": 2.0}, {"step_ms": 3.0}], analyze=rows):
                found, numbers = pytorch_pairs.record_window("/bin/stepscope", "/r")
            self.assertEqual((found, numbers["behind_window"]), (wrong, 1.5))

    def test_nccl_has_our_plugin_and_the_counters_have_samples(self):
        process = {"facts": [["nccl profiler", "interface 6"], ["GPU counters", "1 of the machine's 1 GPUs"]],
                   "tracks": [{"kind": "counter", "name": "power (W)", "events": 9}, {"kind": "stream", "name": "7", "events": 5}]}
        said = [None, {"is_right": True, "all_reduces": 10}]
        with self.answers(said, info=[process]):
            found, numbers = pytorch_pairs.use_nccl("/bin/stepscope", "/r")
        self.assertEqual((found, numbers["samples"]), ([], {"power (W)": 9}))
        with self.answers([None, {"is_right": False}], info=[{"facts": [], "tracks": []}]):
            found, _ = pytorch_pairs.use_nccl("/bin/stepscope", "/r")
        self.assertEqual(found, ["the sum of the all-reduces is wrong", "no fact nccl profiler", "no fact GPU counters",
                                 "no sample of a GPU's counters"])


class Packing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, found, stage, name, size):
        with open(os.path.join(found.stage_folder(stage), name), "wb") as file:
            file.write(os.urandom(size))

    def test_the_largest_are_left_out_and_told(self):
        with results.Results(self.folder.name, max_bytes=10_000) as found:
            for name, size in (("a", 6_000), ("b", 3_000), ("c", 2_000)):
                self.write(found, "selftest", name, size)
            self.assertEqual(found.pack(), ["selftest/a"])
        with tarfile.open(os.path.join(self.folder.name, "recordings.tar.gz")) as archive:
            self.assertEqual(sorted(archive.getnames()), ["selftest/b", "selftest/c"])
        self.assertFalse(os.path.exists(found.scratch))

    def test_what_no_archive_holds_goes_at_once(self):
        with results.Results(self.folder.name, max_bytes=10_000) as found:
            self.write(found, "rate", "trace", 10_001)
            self.write(found, "selftest", "trace", 10_001)
            self.assertEqual(found.drop_large("rate"), ["rate/trace"])
            self.assertEqual(os.listdir(found.stage_folder("selftest")), ["trace"])


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
        self.assertEqual(pytorch_pairs.differences(pytorch_pairs.counts_of_analysis({"kernels": self.ROWS}), self.profile()), ([], []))

    def test_every_difference_is_named(self):
        ours = {"kernel": collections.Counter({"gemm": 1, "other": 1}), "memcpy": 2, "memset": 1}
        missing, more = pytorch_pairs.differences(ours, self.profile())
        self.assertEqual(missing, ["gemm: 1 recorded, 2 by torch.profiler", "relu: 0 recorded, 1 by torch.profiler"])
        self.assertEqual(more, ["memcpy: 2 recorded, 1 by torch.profiler", "other: 1 recorded, 0 by torch.profiler"])

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
