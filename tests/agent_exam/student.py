"""A scripted agent: it answers questions about runs as docs/guide/SKILL.md says, and knows only what tools return.

It reads no file and no name of a fault. What it does is the same for every finding, whatever its rule is.
"""
import re
from dataclasses import dataclass, field

from client import ToolError

# A finding of this severity is a remark, not a cause that it claims.
REMARK = "info"
EVENT_COLUMNS = ("id", "rank", "kind", "name", "start_ns", "dur_ns", "end_ns")


@dataclass
class Claim:
    """One cause, where it is, what it costs, and what shows it. All of it comes from tools."""
    cause: str
    severity: str = ""
    title: str = ""
    rank: int | None = None
    device: int | None = None
    steps: list = field(default_factory=list)
    cost_ns: int | None = None
    gain: float | None = None
    gain_reason: str = ""
    numbers: dict = field(default_factory=dict)
    subjects: dict = field(default_factory=dict)
    events: list = field(default_factory=list)  # rows of a query, by column
    sql: str = ""


@dataclass
class Answer:
    question: str
    run: str = ""
    verdict: str = ""
    claims: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    dropped: list = field(default_factory=list)  # causes whose evidence a query did not confirm
    numbers: dict = field(default_factory=dict)
    refusal: str = ""
    notes: list = field(default_factory=list)

    def markdown(self):
        if self.refusal:
            return f"I cannot answer this: {self.refusal}\n"
        lines = [self.verdict or "No tool returned a verdict.", ""]
        lines += [f"{number}. {claim_text(claim)}" for number, claim in enumerate(self.claims, 1)]
        if not self.claims:
            lines.append("No finding and no query shows a cause.")
        lines += [f"* {name} = {value} (tool query)" for name, value in self.numbers.items()]

        for heading, texts in (("Remarks", self.remarks), ("Not claimed", self.dropped), ("Limits", self.notes)):
            if texts:
                lines += ["", f"{heading}:"] + [f"* {text}" for text in texts]
        return "\n".join(lines) + "\n"


def claim_text(claim):
    where = f"rank {claim.rank}, device {claim.device}, steps {claim.steps[:5]}" if claim.rank is not None else "the whole run"
    cost = f"{claim.cost_ns / 1e6:.3f} ms a step" if claim.cost_ns is not None else "no known cost in time"
    gain = f"{claim.gain:.1%} faster if fixed" if claim.gain is not None else f"no gain promised ({claim.gain_reason})"
    events = "; ".join(f"event {event['id']} `{event['name']}` on rank {event['rank']}, {event['dur_ns']} ns" for event in claim.events)
    numbers = ", ".join(f"{name} {value}" for name, value in (claim.numbers | claim.subjects).items())
    return (f"**{claim.title or claim.cause}** ({claim.cause}, {claim.severity}): {cost}, {where}; {gain}.\n"
            f"   - numbers: {numbers}\n   - evidence: {events or 'none'}\n   - checked with `{claim.sql}`")


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Student:
    def __init__(self, client):
        self.client = client

    def answer(self, question):
        """Steps 1 and 2 of the procedure, then what the question asks for."""
        answer = Answer(question)
        try:
            runs = self.choose_runs(question)
            if len(runs) == 2:
                self.compare(answer, candidate=runs[0], base=runs[1])
            else:
                answer.run = runs[0]
                self.answer_about(answer, self.client.call("open", run=runs[0]))
        except ToolError as refused:
            answer.claims = []
            answer.refusal = str(refused)
        return answer

    def choose_runs(self, question):
        served = self.client.call("open")["entries"]
        by_name = {path.rsplit("/", 1)[-1]: path for path in served}
        named = re.findall(r"`([^`]+)`", question)
        # A name that is not listed goes to the tool as it is: the refusal is the server's to give.
        return [by_name.get(name, name) for name in named][:2]

    def answer_about(self, answer, opened):
        answer.notes = opened["notes"]
        rank = number_after("rank", answer.question)
        step = number_after("step", answer.question)
        recorded = [each["rank"] for each in opened["ranks"]]
        steps = opened["steps"]

        if rank is not None and rank not in recorded:
            answer.refusal = " ".join([f"rank {rank} was not recorded, the run has ranks {recorded}."] + opened["notes"])
        elif step is not None and not (steps["count"] and steps["first"] <= step <= steps["last"]):
            answer.refusal = f"step {step} was not recorded, the run has steps {steps['first']} to {steps['last']}."
        elif "memory" in answer.question:
            self.measure_memory(answer, rank)
        elif step is not None:
            self.explain_step(answer, step)
        else:
            self.explain_run(answer, rank)

    def explain_run(self, answer, rank):
        """Steps 3, 4 and 6: the verdict, the findings, and a query for each that it wants to claim."""
        summary = self.client.call("summary", run=answer.run)
        answer.verdict = summary["summary"]["verdict"]
        found = self.client.call("findings", run=answer.run, limit=30)
        answer.notes = found["notes"]

        for finding in found["findings"]:
            if finding["severity"] == REMARK:
                answer.remarks.append(f"{finding['title']} ({finding['rule']})")
            elif rank is None or finding["rank"] == rank:
                self.claim_if_confirmed(answer, finding)

    def claim_if_confirmed(self, answer, finding):
        places = finding["evidence"]
        claim = Claim(finding["rule"], finding["severity"], finding["title"], finding["rank"], finding["device"],
                      sorted({step for place in places for step in place["steps"]}), finding["cost_ns_per_step"],
                      finding["gain_alone"], finding.get("gain_reason", ""), dict(finding["metrics"]), finding["subjects"],
                      sql=finding["sql"])
        fault = self.wrong_numbers(answer.run, finding) or self.wrong_events(answer.run, places)
        if fault:
            answer.dropped.append(f"{finding['rule']}: {fault}")
            return

        claim.events = self.named_events(answer.run, claim) or self.work_at(answer.run, places)
        claim.events += self.events_of(answer.run, places[:1])
        if claim.cause.startswith("memory-"):
            claim.numbers |= self.memory_of(answer.run, claim.rank)
        answer.claims.append(claim)

    def rows(self, run, sql, limit=50):
        """Rows by column, complete or not at all: a sum over rows that were cut would be wrong."""
        result = self.client.call("query", run=run, sql=sql, limit=limit)
        if not result["is_complete"]:
            raise ToolError(f"the answer was cut: {result.get('cut_reason')}: {sql}")
        return [dict(zip(result["columns"], row)) for row in result["rows"]]

    def wrong_numbers(self, run, finding):
        """What the finding's own SQL does not confirm; empty where it confirms all."""
        rows = self.rows(run, finding["sql"])
        if not rows or rows[0]["rule"] != finding["rule"] or rows[0]["cost_ns_per_step"] != finding["cost_ns_per_step"]:
            return "its SQL returns another rule or cost"
        returned = {row["metric"]: row["value"] for row in rows if row["metric"]}
        different = [name for name, value in finding["metrics"].items()
                     if name not in returned or abs(returned[name] - value) > 1e-9 * max(1, abs(value))]
        return f"its SQL does not return {', '.join(different)}" if different else ""

    def wrong_events(self, run, places):
        """What a query does not confirm of the events that the places name."""
        for place in places:
            known = {row["id"]: row for row in self.events_of(run, [place])}
            for event in place["events"] or []:
                row = known.get(event["id"])
                if row is None or any(row[key] != event[key] for key in ("name", "kind", "start_ns", "dur_ns")):
                    return f"event {event['id']} of rank {place['rank']} is not what the finding says"
                if row["start_ns"] >= max(place["end_ns"], place["begin_ns"] + 1) or row["end_ns"] < place["begin_ns"]:
                    return f"event {event['id']} of rank {place['rank']} lies outside of its place"
        return ""

    def events_of(self, run, places):
        rows = []
        for place in places:
            ids = ", ".join(str(event["id"]) for event in place["events"] or [])
            if ids:
                rows += self.rows(run, f"select {', '.join(EVENT_COLUMNS)} from events "
                                       f"where rank = {place['rank']} and id in ({ids})")
        return rows

    def named_events(self, run, claim):
        """The longest event of each name that the finding gives, in a step that it cites, on its rank."""
        if claim.rank is None or not claim.steps:
            return []
        rows = []
        for key, table in (("kernel", "kernels"), ("host_op", "events")):
            if key not in claim.subjects:
                continue
            columns = ", ".join("e." + column for column in EVENT_COLUMNS)
            blocks = ", e.grid_x * e.grid_y * e.grid_z as blocks" if table == "kernels" else ""
            rows += self.rows(run, f"select {columns}{blocks} from {table} e join steps s on s.rank = e.rank "
                                   f"where e.rank = {claim.rank} and s.step in ({', '.join(map(str, claim.steps))}) "
                                   f"and e.name = {quoted(claim.subjects[key])} and e.start_ns < s.end_ns "
                                   "and e.end_ns > s.period_start_ns order by e.dur_ns desc, e.id limit 1")
        return rows

    def work_at(self, run, places):
        """Where a finding names no event: the longest device operation of each stream at its first place."""
        place = next((place for place in places if place["rank"] is not None and place["device"] is not None), None)
        if place is None:
            return []
        columns = ", ".join(EVENT_COLUMNS)
        return self.rows(run, f"select {columns} from (select {columns}, row_number() over (partition by stream "
                              f"order by dur_ns desc, id) as place from events where rank = {place['rank']} "
                              f"and device = {place['device']} and class is not null and start_ns < {place['end_ns']} "
                              f"and end_ns > {place['begin_ns']}) where place = 1 order by dur_ns desc")

    def memory_of(self, run, rank):
        """What the recorded allocations of a rank say, apart from any finding. Growth is that of the least in a step."""
        peak = self.rows(run, "select max(allocated_bytes) as peak_allocated, max(reserved_bytes) as peak_reserved "
                              f"from allocations where rank = {rank}")[0]
        floors = ("select m.step, min(a.allocated_bytes) as bytes from step_marks m join allocations a on a.rank = m.rank "
                  f"and a.start_ns >= m.start_ns and a.start_ns < m.end_ns where m.rank = {rank} group by m.step")
        growth = self.rows(run, f"select (select bytes from ({floors}) order by step desc limit 1) - "
                                f"(select bytes from ({floors}) order by step limit 1) as growth, "
                                f"count(*) - 1 as steps_of_growth from ({floors})")[0]
        return {"query." + name: value for name, value in (peak | growth).items() if value is not None}

    def measure_memory(self, answer, rank):
        answer.numbers = self.memory_of(answer.run, rank if rank is not None else 0)
        if "query.peak_allocated" not in answer.numbers:
            answer.refusal = " ".join(["no allocation is in the recording."] + answer.notes)

    def explain_step(self, answer, step):
        """Compares the step with the others, part by part. Waiting for other ranks is an effect, so it comes last."""
        columns = [row["name"] for row in self.client.call("table", run=answer.run, table="steps")["columns"]]
        parts = ["compute_ns", "exposed_copy_ns"] + [name for name in columns if name.startswith("idle_") and name != "idle_ns"]
        parts.remove("idle_peer_ns")

        one = ("select rank, device, {0} as part, max(case when step = {1} then {2} end) - avg(case when step <> {1} then {2} end)"
               " as more_ns from steps where not warmup group by rank, device")
        sql = " union all ".join(one.format(quoted(part), step, part) for part in parts)
        worst = self.rows(answer.run, f"select * from ({sql}) order by more_ns desc limit 1")[0]

        part = worst["part"].removesuffix("_ns")
        claim = Claim(part.removeprefix("idle_"), "step", f"step {step}: more {part}", worst["rank"], worst["device"], [step],
                      round(worst["more_ns"]), gain_reason="a single step was asked for", sql=f"steps where step = {step}")
        claim.events = self.cause_in_step(answer.run, claim)
        answer.verdict = f"Step {step} has {worst['more_ns'] / 1e6:.3f} ms more {part} than other steps on rank {worst['rank']}."
        answer.claims.append(claim)

    def cause_in_step(self, run, claim):
        """What the host did in the longest gap of that cause; for compute, the longest kernel."""
        columns = ", ".join("e." + column for column in EVENT_COLUMNS)
        where = f"s.rank = {claim.rank} and s.device = {claim.device} and s.step = {claim.steps[0]}"
        if claim.cause == "compute":
            return self.rows(run, f"select {columns} from kernels e join steps s on s.rank = e.rank where {where} "
                                  "and e.start_ns >= s.start_ns and e.start_ns < s.end_ns order by e.dur_ns desc limit 1")
        return self.rows(run, f"select {columns} from steps s join idle_gaps g on g.rank = s.rank and g.device = s.device "
                              f"join events e on e.rank = g.rank and e.id = g.host_id where {where} "
                              f"and g.cause = {quoted(claim.cause)} and g.start_ns >= s.period_start_ns "
                              "and g.start_ns < s.end_ns order by g.dur_ns desc limit 1")

    def compare(self, answer, candidate, base):
        """Step 7: what `compare` decides. Only a decided verdict is a claim."""
        result = self.client.call("compare", base=[base], candidate=[candidate])
        answer.run = candidate
        answer.verdict = f"The tool compare says: {result['verdict']}."
        parts = sorted(result["why"]["parts"], key=lambda part: -abs(part["ns"]))
        answer.numbers = {"change_ns": result["why"]["change_ns"]}
        if result["verdict"] in ("slower", "faster"):
            answer.claims.append(Claim(result["verdict"], "compare", result["headline"], numbers=answer.numbers,
                                       subjects={"part": parts[0]["part"]}, gain_reason="not asked", sql="compare"))


def number_after(word, question):
    found = re.search(rf"\b{word} (\d+)\b", question)
    return int(found.group(1)) if found else None
