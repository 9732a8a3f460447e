"""Grades an answer: whether a claim is the right one and its evidence fits, and which claims are false."""
import re
from dataclasses import dataclass, field

from questions import is_near

# As in tests/ground_truth: by so much a stated cost or gain may differ from the injected one.
COST_TOLERANCE = 0.10


@dataclass
class Grade:
    is_right: bool = True
    faults: list = field(default_factory=list)  # why it is not
    false_claims: list = field(default_factory=list)
    claims: int = 0  # that count for precision
    true_claims: int = 0


def grade(item, answer, truth):
    result = Grade()
    expected = item.right.cause if item.right else None
    result.faults = faults_of_answer(item, answer, truth)

    is_claim_right = expected is not None and not result.faults
    for claim in answer.claims:
        is_true = claim.cause in item.also or (claim.cause == expected and is_claim_right)
        if not is_true and (item.are_others_unknown and claim.cause != expected):
            continue
        result.claims += 1
        result.true_claims += is_true
        if claim.cause != expected and not is_true:
            result.false_claims.append(claim.cause)

    result.is_right = not result.faults and not (item.is_healthy and result.false_claims)
    return result


def faults_of_answer(item, answer, truth):
    if item.refusal is not None:
        if re.search(item.refusal, answer.refusal):
            return []
        return [f"not refused because of /{item.refusal}/, but: {answer.refusal or 'answered'}"]
    if answer.refusal:
        return [f"refused: {answer.refusal}"]

    faults = [fault for number in item.facts for fault in number_faults(number, answer.numbers, truth)]
    if item.right is None:
        return faults
    claims = [claim for claim in answer.claims if claim.cause == item.right.cause]
    if not claims:
        found = ", ".join(claim.cause for claim in answer.claims) or "nothing"
        return faults + [f"{item.right.cause} is not claimed, but {found}"]

    # The first finding is what an agent reports. Another one may come first only if it is true as well.
    first = answer.claims[0].cause
    if first != item.right.cause and not item.are_others_unknown:
        faults.append(f"{first} is claimed before {item.right.cause}")
    return faults + faults_of_claim(item.right, claims[0], truth)


def faults_of_claim(right, claim, truth):
    faults = rank_faults(right, claim, truth) + cost_faults(right, claim, truth)
    if right.shows and not any(fits(right.shows, event) for event in claim.events):
        faults.append(f"no cited event is {right.shows}")

    for number in right.numbers:
        faults += number_faults(number, claim.numbers, truth)
    for name, value in right.subjects.items():
        if claim.subjects.get(name) != value:
            faults.append(f"{name} is {claim.subjects.get(name)}, not {value}")

    wrong_steps = [step for step in claim.steps if right.step and not right.step(step)]
    if wrong_steps or (right.step and not claim.steps):
        faults.append(f"steps {wrong_steps or 'none'} are cited, which have no such fault")
    return faults


def rank_faults(right, claim, truth):
    ranks = right.ranks
    fault = truth.get("fault")
    if fault and fault.get("rank") is not None:
        ranks = (fault["rank"],)
    elif truth and not fault and claim.steps:
        ranks = injected_at(truth, claim.steps[0], right.cause)
    if ranks is None or claim.rank in ranks:
        return []
    return [f"rank {claim.rank} is named, not {' or '.join(map(str, ranks))}"]


def injected_at(truth, step, cause):
    """In the cycle of faults: the ranks to which the cause happens in the step, with how much of it."""
    lines = [line for line in truth["steps"] if line["step"] == step]
    if cause == "compute":
        return {line["rank"]: None for line in lines if line["straggler"]}
    return {line["rank"]: line["injected"]["ns"] for line in lines if line["injected"] and line["injected"]["cause"] == cause}


def cost_faults(right, claim, truth):
    fault = truth.get("fault")
    expected = fault["cost_ns_per_step"] if fault else None
    if truth and not fault and claim.steps:
        expected = injected_at(truth, claim.steps[0], right.cause).get(claim.rank)

    faults = []
    if expected is not None and right.cause != "slower" and not is_near(claim.cost_ns, expected, COST_TOLERANCE):
        faults.append(f"the cost is {claim.cost_ns} ns a step, not {expected}")
    if right.gain:
        gain = fault["step_ns"] / fault["step_ns_without"] - 1
        if not is_near(claim.gain, gain, COST_TOLERANCE):
            faults.append(f"the promised gain is {claim.gain}, not {gain:.3f}")
    return faults


def number_faults(number, numbers, truth):
    expected = number.value(truth) if callable(number.value) else number.value
    value = numbers.get(number.name)
    return [] if is_near(value, expected, number.within) else [f"{number.name} is {value}, not {expected:g}"]


def fits(shows, event):
    if shows.kind and event["kind"] != shows.kind or not re.search(shows.name, event["name"] or ""):
        return False
    if shows.blocks is not None and event.get("blocks") != shows.blocks:
        return False
    if shows.dur_ns is None:
        return True
    if shows.at_least:
        return event["dur_ns"] >= shows.dur_ns * (1 - shows.within)
    return is_near(event["dur_ns"], shows.dur_ns, shows.within)
