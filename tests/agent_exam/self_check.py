"""Whether the exam can fail: wrong answers, runs without their fault, and servers that die or are silent must be noticed."""
import copy
import dataclasses
import re
import subprocess
import sys

from client import Client, ServerError, ToolError
from grading import grade
from questions import Item, Number, Right, Shows, Synth, all_items
from runs import Runs
from student import Answer, Claim, Student

TRUTH = {"fault": {"rank": 2, "cost_ns_per_step": 4_000_000, "step_ns": 19_000_000, "step_ns_without": 15_000_000}}
ITEM = Item("made", "Why is `{0}` slow?", (), Right("straggler", Shows("busy", "range", 4e6), (Number("compute_ratio", 1),),
                                                    {"cause": "host"}, step=lambda step: step > 0, gain=True),
            {"host-bound-launches": "it is what the rank does"})


def right_answer():
    event = {"id": 7, "rank": 2, "kind": "range", "name": "busy elsewhere", "start_ns": 0, "dur_ns": 4_050_000, "end_ns": 4_050_000}
    claim = Claim("straggler", "critical", rank=2, device=0, steps=[3, 4], cost_ns=4_100_000, gain=0.26,
                  numbers={"compute_ratio": 1.01}, subjects={"cause": "host"}, events=[event])
    return Answer("Why is `job` slow?", "job", claims=[claim])


def first(answer):
    return answer.claims[0]


# What is wrong with the answer, how it becomes wrong, and what the grade must contain.
WRONG_ANSWERS = (
    ("another rank", lambda answer: setattr(first(answer), "rank", 1), "rank 1 is named, not 2"),
    ("no rank", lambda answer: setattr(first(answer), "rank", None), "rank None is named"),
    ("another cause", lambda answer: setattr(first(answer), "cause", "input-bound"), "straggler is not claimed"),
    ("no claim", lambda answer: answer.claims.clear(), "straggler is not claimed, but nothing"),
    ("no evidence", lambda answer: first(answer).events.clear(), "no cited event"),
    ("an event of another name", lambda answer: first(answer).events[0].update(name="step"), "no cited event"),
    ("an event that is too short", lambda answer: first(answer).events[0].update(dur_ns=2_000_000), "no cited event"),
    ("another number", lambda answer: first(answer).numbers.update(compute_ratio=1.3), "compute_ratio is 1.3"),
    ("no number", lambda answer: first(answer).numbers.clear(), "compute_ratio is None"),
    ("another subject", lambda answer: first(answer).subjects.update(cause="compute"), "cause is compute"),
    ("another cost", lambda answer: setattr(first(answer), "cost_ns", 8_000_000), "the cost is 8000000"),
    ("no cost", lambda answer: setattr(first(answer), "cost_ns", None), "the cost is None"),
    ("another gain", lambda answer: setattr(first(answer), "gain", 0.9), "the promised gain is 0.9"),
    ("another step", lambda answer: first(answer).steps.append(0), "steps [0]"),
    ("a refusal", lambda answer: setattr(answer, "refusal", "no idea"), "refused: no idea"),
    ("another claim first", lambda answer: answer.claims.insert(0, Claim("input-bound")), "input-bound is claimed before"),
)
# Programs that are no servers, and what the client must say of each.
BAD_SERVERS = (
    ("one that ends", "import sys; sys.stderr.write('out of memory')", "has ended|takes no input"),
    ("one that is silent", "import time; time.sleep(60)", "no answer in"),
    ("one that prints other lines", "print('hello'); input()", "no message"),
    ("one that refuses", "input(); print('{\"id\": 1, \"error\": {\"message\": \"go away\"}}')", "go away"),
)
# More than a pipe holds: a client that does not read it would wait for ever.
CHATTY_SERVER = """
import sys
for line in sys.stdin:
    sys.stderr.write("noise\\n" * 50000)
    if '"initialize"' in line:
        print('{"method": "notifications/message"}\\n{"id": 1, "result": {"protocolVersion": "2025-06-18"}}', flush=True)
"""


def check_grades():
    faults = []
    if grade(ITEM, right_answer(), TRUTH).faults:
        faults.append(f"the right answer is graded as wrong: {grade(ITEM, right_answer(), TRUTH).faults}")

    for name, spoil, expected in WRONG_ANSWERS:
        answer = right_answer()
        spoil(answer)
        result = grade(ITEM, answer, TRUTH)
        if result.is_right or not any(expected in fault for fault in result.faults):
            faults.append(f"{name}: graded as {'right' if result.is_right else result.faults}, expected {expected}")
    return faults + check_false_claims()


def check_false_claims():
    faults = []
    answer = right_answer()
    answer.claims += [Claim("host-bound-launches"), Claim("throttling")]
    result = grade(ITEM, answer, TRUTH)
    if (result.claims, result.true_claims, result.false_claims) != (3, 2, ["throttling"]):
        faults.append(f"a false claim beside a right and a true one: {result}")

    healthy = dataclasses.replace(ITEM, right=None, also={}, is_healthy=True)
    result = grade(healthy, right_answer(), TRUTH)
    if result.is_right or result.false_claims != ["straggler"]:
        faults.append(f"a claim on a healthy run: {result}")

    refused = dataclasses.replace(healthy, refusal="not recorded", is_healthy=False)
    if grade(refused, right_answer(), TRUTH).is_right:
        faults.append("an answer where a refusal was right is graded as right")
    return faults


def check_client():
    faults = []
    for name, program, expected in BAD_SERVERS:
        client = Client([sys.executable, "-c", program], timeout_s=2)
        try:
            client.initialize()
            faults.append(f"{name}: not noticed")
        except ServerError as error:
            if not any(part in str(error) for part in expected.split("|")):
                faults.append(f"{name}: the error is {error}")
        finally:
            client.close()

    with Client([sys.executable, "-c", CHATTY_SERVER], timeout_s=10) as client:
        if client.close() != 0:
            faults.append("a server with much to say on stderr does not end")
    return faults


class LyingClient:
    """Tools whose findings name an event that is another one."""

    def __init__(self, client):
        self.client = client

    def call(self, tool, **arguments):
        data = copy.deepcopy(self.client.call(tool, **arguments))
        for finding in data.get("findings", []):
            finding["evidence"][0]["events"][0]["dur_ns"] += 1
        return data


def check_coverage(stepscope):
    """Every fault that the program lists is asked: a new one needs its question."""
    text = subprocess.run([stepscope, "synth", "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  ([a-z-]+)(?:=[A-Z]+)? {2,}", text.partition("Faults")[2], re.M)
    asked = {name for item in all_items() if item.right for name in item.fault_names()} | {"none"}

    faults = [f"the fault {name} of stepscope synth is not asked" for name in listed if name not in asked]
    return faults if listed else ["stepscope synth --help lists no faults"]


def check_runs(stepscope, folder):
    """Real runs: without its fault, with the wrong rank expected, with evidence that no query confirms."""
    runs, faults = Runs(stepscope, folder), []
    item = next(item for item in all_items() if item.name == "straggler")
    (healthy, _), (slow, truth) = runs.make(Synth("none")), runs.make(item.runs[0])
    elsewhere = {"fault": truth["fault"] | {"rank": (truth["fault"]["rank"] + 1) % 4}}

    with Client([stepscope, "mcp", runs.served]) as client:
        student = Student(client)
        answers = {name: student.answer(item.question.format(name)) for name in (healthy, slow)}
        doubted = Student(LyingClient(client)).answer(item.question.format(slow))
        try:
            client.call("open", run="/")
            faults.append("a path outside of the served folder is opened")
        except ToolError:
            pass

    if not grade(item, answers[slow], truth).is_right:
        faults.append(f"the run with the fault: {grade(item, answers[slow], truth).faults}")
    for name, answer, known in (("a run without its fault", answers[healthy], truth), ("the wrong rank", answers[slow], elsewhere),
                                ("evidence that is not in the run", doubted, truth)):
        if grade(item, answer, known).is_right:
            faults.append(f"{name}: graded as right\n{answer.markdown()}")
    if not doubted.dropped:
        faults.append("evidence that is not in the run is claimed")
    return faults


def check_all(stepscope, folder):
    faults = check_grades() + check_client() + check_coverage(stepscope) + check_runs(stepscope, folder)
    for fault in faults:
        print(f"self-check: {fault}")
    print(f"self-check: {len(WRONG_ANSWERS)} wrong answers, {len(BAD_SERVERS)} bad servers, {len(faults)} faults")
    return not faults
