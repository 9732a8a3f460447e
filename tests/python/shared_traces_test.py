"""The command, Python, SQL and the server for agents say the same of every real trace that is there."""

import json
import os
import pathlib
import subprocess

import stepscope
from support import PROGRAM, SOURCE, TestWithFolder, command, main

TRACES = pathlib.Path(os.environ.get("STEPSCOPE_TRACES", SOURCE.parent / "shared" / "traces"))
FORMATS = ("kineto", "nsys", "chrome", "xplane")
#: What is read of each in a few seconds; larger ones go the same ways.
MOST_BYTES = 8 << 20


def traces():
    for name in FORMATS:
        for path in sorted((TRACES / name).glob("*")) if (TRACES / name).is_dir() else []:
            size = sum(f.stat().st_size for f in path.rglob("*")) if path.is_dir() else path.stat().st_size
            if size <= MOST_BYTES:
                yield path


def ask_agent_server(path, tool, arguments):
    """One call of a tool of `stepscope mcp`."""
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {"run": str(path), **arguments}}},
    ]
    made = subprocess.run(
        [str(PROGRAM), "mcp", str(path)],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    answers = [json.loads(line) for line in made.stdout.splitlines()]
    return next(answer for answer in answers if answer.get("id") == 2)["result"]["structuredContent"]


class SharedTraces(TestWithFolder):
    def test_have_one_answer(self):
        found = list(traces())
        if not found:
            self.skipTest(f"there are no traces in {TRACES}")
        for path in found:
            with self.subTest(trace=path.name), stepscope.open(path) as run:
                analysis = run.analyze().to_dict()
                self.assertEqual(analysis, json.loads(command("analyze", path, "--json")))

                findings = run.query("select rule, gain_alone from findings order by finding")
                self.assertEqual(
                    findings.to_dicts(),
                    [{"rule": f["rule"], "gain_alone": f["gain_alone"]} for f in analysis["findings"]],
                )
                served = ask_agent_server(path, "findings", {})
                self.assertEqual(
                    [finding["rule"] for finding in served["findings"]],
                    [finding["rule"] for finding in analysis["findings"]],
                )

                sql = "select name, count(*) as n, sum(dur_ns) as ns from kernels group by name order by ns desc, name limit 20"
                printed = json.loads(command("query", path, sql, "--format", "json"))
                self.assertEqual(run.query(sql).to_dicts(), printed)
                table = run.table("kernels", ["dur_ns"])
                self.assertEqual(len(table), run.query("select count(*) as n from kernels").n[0])
                asked = ask_agent_server(path, "query", {"sql": sql})
                self.assertEqual([list(row.values()) for row in printed], asked["rows"])


if __name__ == "__main__":
    main()
