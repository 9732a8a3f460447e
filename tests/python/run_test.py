"""A run in Python says what the command says, and what it refuses it refuses by name."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import stepscope
from stepscope import results
from support import SOURCE, TestWithFolder, command, main, python


class OpenRun(TestWithFolder):
    def test_has_the_numbers_of_the_command(self):
        path = self.synth("run", "--fault", "imbalance")
        with stepscope.open(path) as run:
            self.assertEqual(run.analyze().to_dict(), json.loads(command("analyze", path, "--json")))
            self.assertEqual(
                run.analyze(steps=(3, 6)).to_dict(),
                json.loads(command("analyze", path, "--json", "--steps", "3:6")),
            )
            self.assertEqual(
                run.analyze(steps=range(3, 7), rank=1).to_dict(),
                json.loads(command("analyze", path, "--json", "--steps", "3:6", "--rank", "1")),
            )
            self.assertEqual(run.whatif().to_dict(), json.loads(command("whatif", path, "--json")))
            self.assertEqual(
                run.whatif("kernel:gemm=/2").to_dict(),
                json.loads(
                    command("whatif", path, "--json", "--only-changes", "--change", "kernel:gemm=/2")
                ),
            )

    def test_writes_the_page_of_the_command(self):
        path = self.synth()
        command("report", path, "-o", self.folder / "page.html")
        with stepscope.open(path) as run:
            written = run.report(self.folder / "same.html")
            self.assertEqual(written, str(self.folder / "same.html"))
            self.assertEqual(
                (self.folder / "same.html").read_bytes(), (self.folder / "page.html").read_bytes()
            )
            run.report(self.folder / "chinese.html", language="zh")
            self.assertIn('lang="zh', (self.folder / "chinese.html").read_text()[:1000])
            with self.assertRaises(FileNotFoundError) as raised:
                run.report(self.folder / "nowhere" / "page.html")
            self.assertEqual(raised.exception.filename, str(self.folder / "nowhere" / "page.html"))

    def test_compares_as_the_command_does(self):
        before, after = self.synth("before"), self.synth("after", "--fault", "input")
        asked = json.loads(command("compare", before, "--vs", after, "--json"))
        self.assertEqual(stepscope.compare(before, str(after)).to_dict(), asked)
        with stepscope.open(before) as one, stepscope.open(after) as other:
            self.assertEqual(stepscope.compare([one], [other]).to_dict(), asked)
            self.assertFalse(one.closed)

    def test_checks_as_the_command_does(self):
        good = [self.synth(f"good-{i}", "--seed", str(i)) for i in range(3)]
        slow = self.synth("slow", "--fault", "input=4")
        budgets = self.folder / "budgets.toml"
        budgets.write_text('[default]\nstep_time_ms = "<= 1000"\n')
        command("check", *good, "--update-baseline", self.folder / "baselines")

        for baseline in (good[:2], self.folder / "baselines"):
            named = baseline if isinstance(baseline, list) else [baseline]
            asked = json.loads(
                command("check", slow, "--json", "--budget", budgets, "--baseline", *named)
            )
            checked = stepscope.check(slow, baseline, budgets)
            self.assertEqual(checked.to_dict(), asked)
            self.assertEqual(checked.verdict, asked["verdict"])
        self.assertEqual(stepscope.check(good[0], budget=budgets).verdict, "passed")
        budgets.write_text('[default]\nstep_time_ms = "<= 0.001"\n')
        self.assertEqual(stepscope.check(good[0], budget=budgets).verdict, "failed")

        with self.assertRaisesRegex(stepscope.CheckError, "nothing to compare with"):
            stepscope.check(slow)
        with self.assertRaisesRegex(stepscope.CheckError, "none.toml"):
            stepscope.check(slow, budget=self.folder / "none.toml")

    def test_answers_attributes_and_names(self):
        with stepscope.open(self.synth("run", "--fault", "input")) as run:
            analysis = run.analyze()
            finding = run.findings[0]
            self.assertEqual(finding.title, finding["title"])
            self.assertEqual(analysis.steps[3].step, analysis.to_dict()["steps"][3]["step"])
            self.assertIn("findings", dir(analysis))
            self.assertIn(finding.title, repr(analysis))
            self.assertEqual(pickle.loads(pickle.dumps(analysis)), analysis)
            with self.assertRaisesRegex(AttributeError, "there is no 'colour' here, but"):
                finding.colour  # noqa: B018
            with self.assertRaises(AttributeError):
                finding.title = "mine"

    def test_shows_itself_in_a_notebook(self):
        path = self.synth("<b>run", "--fault", "input")
        with stepscope.open(path) as run:
            page = run._repr_html_()
            self.assertIn(run.findings[0].advice.split(",")[0].split("'")[0], page)
            self.assertIn(run.analyze().summary.verdict.split(".")[0], page)
            self.assertIn("</span> compute", page)
            labels = (SOURCE / "reports/words/labels.cpp").read_text()
            for _, name, colour in results._PARTS[:3]:
                self.assertRegex(labels, rf'"{name}",[^}}]*0x{colour[1:].upper()}')
            self.assertNotIn("<b>run", page)
            self.assertIn("Findings", str(run))
            self.assertIn("<table>", run.table("kernels", ["name"])._repr_html_())


class Refusals(TestWithFolder):
    def test_are_errors_of_their_own_kind(self):
        with self.assertRaisesRegex(stepscope.TraceError, "nowhere"):
            stepscope.open(self.folder / "nowhere")
        (self.folder / "notes.txt").write_text("no trace")
        with self.assertRaisesRegex(stepscope.Error, "notes.txt"):
            stepscope.open(self.folder / "notes.txt")
        for wrong in (3, None, [3]):
            with self.assertRaises(TypeError):
                stepscope.open(wrong)
        with self.assertRaises(stepscope.TraceError):
            stepscope.open([])
        odd = os.fsencode(self.folder) + b"/r\xe9sultat"
        self.synth().rename(os.fsdecode(odd))
        with stepscope.open(odd) as run:
            self.assertEqual(run.paths, [os.fsdecode(odd)])

        with stepscope.open(self.synth()) as run:
            with self.assertRaisesRegex(stepscope.QueryError, "syntax error") as raised:
                run.query("select name from from kernels")
            self.assertEqual(raised.exception.offset, 17)
            self.assertEqual(
                str(raised.exception).splitlines()[1:],
                ["  select name from from kernels", " " * 19 + "^"],
            )
            with self.assertRaisesRegex(stepscope.QueryError, "only SELECT"):
                run.query("create table mine (a)")
            with self.assertRaisesRegex(stepscope.QueryError, "cats"):
                run.table("cats")
            with self.assertRaisesRegex(stepscope.QueryError, "has no column colour"):
                run.table("kernels", ["colour"])
            with self.assertRaisesRegex(stepscope.ChangeError, "change"):
                run.whatif("make it fast")
            with self.assertRaisesRegex(stepscope.PartError, "it has steps [01] to 11"):
                run.analyze(steps=(900, 901))
            with self.assertRaisesRegex(stepscope.PartError, "it has 0, 1"):
                run.analyze(rank=7)
            with self.assertRaisesRegex(ValueError, "is behind the last"):
                run.analyze(steps=(5, 1))
            with self.assertRaises(ValueError):
                run.report(self.folder / "page.html", language="de")
            for wrong in (
                lambda: run.query(3),
                lambda: run.table(3),
                lambda: run.analyze(steps=5),
                lambda: run.analyze(steps=(0,)),
                lambda: run.analyze(steps="1-2"),
                lambda: run.analyze(rank="0"),
                lambda: run.whatif(["input=0"]),
            ):
                with self.assertRaises(TypeError) as raised:
                    wrong()
                self.assertNotIn("incompatible", str(raised.exception))
            with self.assertRaisesRegex(KeyError, "there is no 'nope' here, but"):
                run.analyze()["run"]["nope"]
            self.assertIn("ranks=2", repr(run.analyze().run))
            kept = run.query("select 1 as one")
        self.assertEqual(kept.to_dicts(), [{"one": 1}])
        self.assertIsNone(run._repr_html_())
        for ask in (run.analyze, lambda: run.findings, lambda: run.query("select 1"), lambda: run.paths):
            with self.assertRaisesRegex(stepscope.ClosedError, "closed"):
                ask()

    def test_name_what_cannot_be_compared(self):
        path = self.folder / "run"
        command("synth", "-o", path, "--ranks", "1", "--steps", "2")
        with self.assertRaises(stepscope.ComparisonError):
            stepscope.compare(path, [])


class Processes(TestWithFolder):
    def test_ask_one_run_from_several_threads(self):
        with stepscope.open(self.synth()) as run:
            want = run.query("select count(*) as n from events").n[0]
            got, threads = [], []
            for _ in range(4):
                threads.append(
                    threading.Thread(
                        target=lambda: [
                            got.append(run.query("select count(*) as n from events").n[0])
                            for _ in range(20)
                        ]
                    )
                )
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(got, [want] * 80)

    def test_do_not_use_what_their_parent_opened(self):
        made = python(
            f"""
import os, stepscope
run = stepscope.open({str(self.synth())!r})
child = os.fork()
if child == 0:
    try:
        run.query("select 1")
    except stepscope.ClosedError as error:
        print(error, run.closed, run, flush=True)
    mine = stepscope.open({str(self.folder / "run")!r})
    print(len(mine.query("select 1")), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], len(run.query("select 1")))
"""
        )
        self.assertEqual(
            made.stdout.splitlines(),
            [
                "the run was opened before this process was forked, open it here True <stepscope.Run, closed>",
                "1",
                "0 1",
            ],
            made.stderr,
        )

    def test_stop_at_an_interrupt(self):
        path = self.synth()
        child = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"""
import stepscope
run = stepscope.open({str(path)!r})
print("asks", flush=True)
try:
    run.query("with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n")
except KeyboardInterrupt:
    print("interrupted", len(run.query("select 1")))
""",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(child.stdout.readline(), "asks\n")
        time.sleep(0.3)  # inside of the question, as a rule; before it is as good
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=120)[0], "interrupted 1\n")
        self.assertEqual(child.returncode, 0)

    def test_end_while_a_thread_asks(self):
        made = python(
            f"""
import stepscope, threading, time
run = stepscope.open({str(self.synth())!r})
endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n"
threading.Thread(target=lambda: run.query(endless), daemon=True).start()
time.sleep(0.2)
class Slow:
    def __del__(self): time.sleep(0.3)
slow = Slow()
print("over")
"""
        )
        self.assertEqual((made.returncode, made.stdout, made.stderr), (0, "over\n", ""))

    def test_that_only_mark_load_no_reader(self):
        made = python("import stepscope, sys; print('stepscope._engine' in sys.modules)")
        self.assertEqual(made.stdout, "False\n", made.stderr)


class Memory(TestWithFolder):
    def test_is_given_back(self):
        path = self.synth()

        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def use():
            with stepscope.open(path) as run:
                run.analyze().to_dict()
                run.table("kernels").to_dict()
                run.query("select name, count(*) from kernels group by name").to_dicts()

        for _ in range(30):
            use()
        before = resident()
        for _ in range(100):
            use()
        self.assertLess(resident() - before, 16e6, "after 100 runs")


if __name__ == "__main__":
    main()
