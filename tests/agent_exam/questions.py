"""The questions of the exam: how each run is made, and what a right answer must contain and must not claim.

Every number is known from how the run was made: from the fault's amount and its place in trace/synth, or from truth.json.
The simulation of `stepscope synth` writes that file, and no analyzer reads it. No number is a copy of what an analysis printed.
The student never sees this file, nor truth.json, nor a run's real name.

Not asked, with the reason:
* `--pathology tiny-kernels` and `pageable-copies`: on host devices a launch and a copy cost next to nothing (WORKLOADS.md).
* `--pathology imbalanced-split`, `alloc-every-step` and `sync-every-op`: seconds each; tests/ground_truth has them, and the same
  rules are asked of synthetic runs.
* `--pathology straggler`, `late-rank`, `small-buckets` and `no-overlap`: they need a core a device. The same rules are asked of
  synthetic runs, and tests/ground_truth has these trainings.
* Faults of a GPU (`device-error`, clocks) and hanging collectives: `stepscope synth` does not make them.
* Why a line of code is slow, and other questions about a program's source: no tool returns it.
"""
import math
from dataclasses import dataclass, field, replace
from typing import Callable

MIB = 1 << 20
# What the simulated links and devices do (trace/synth/process/program_builder.h and .cpp).
NETWORK_GB_PER_S, NETWORK_ALPHA_US = 40, 30
BUCKET_BYTES = 30_000_000  # two blocks of the last stage's gradients reach DDP's 25 MiB
BOUNDARY_BYTES = 32 * MIB
FULL_CLOCK_MHZ = 1980
CAPACITY_BYTES = 80 << 30


@dataclass
class Synth:
    """A run of `stepscope synth`. No fault: the cycle of faults."""
    fault: str | None
    pattern: str = "dp"
    ranks: int = 4
    seed: int = 1
    steps: int = 40
    more: tuple = ()


@dataclass
class Training:
    """A run of a bundled workload on host devices."""
    pathology: str
    options: str
    devices: int = 2


@dataclass
class Kernels:
    """A trace of the Chrome format that holds kernels of one rank and nothing else."""


@dataclass
class Shows:
    """An event of a run that the answer must cite."""
    name: str  # regular expression
    kind: str | None = None
    dur_ns: float | None = None
    within: float = 0.10
    at_least: bool = False  # dur_ns is a lower bound
    blocks: int | None = None


@dataclass
class Number:
    """A number that the answer must contain: its name, its value or how it follows from truth.json, and the tolerance."""
    name: str
    value: float | Callable
    within: float = 0.05


@dataclass
class Right:
    """What a right claim is."""
    cause: str
    shows: Shows | None = None
    numbers: tuple = ()
    subjects: dict = field(default_factory=dict)
    ranks: tuple | None = None  # one of these; the rank of truth.json always counts
    step: Callable | None = None  # holds for each step that is cited
    gain: bool = False  # the promised gain is the cost's, within 10 %


@dataclass
class Item:
    name: str
    question: str  # {0}, {1}: the names under which the runs are served
    runs: tuple
    right: Right | None = None  # None: no claim is right.
    also: dict = field(default_factory=dict)  # Other causes that are true of the run, and why they are.
    refusal: str | None = None  # what the reason of a refusal must contain (regular expression)
    facts: tuple = ()  # numbers of the answer itself
    is_healthy: bool = False
    are_others_unknown: bool = False  # a real machine also has losses that nothing injected

    def fault_names(self):
        """The faults of `stepscope synth` that it is about."""
        faults = [run.fault.split("=")[0] for run in self.runs if isinstance(run, Synth) and run.fault]
        return [name for name in faults if name != "none"]


WHY = "The steps of `{0}` are slower than we expected. Why, and which rank is it?"
NAMED_AS_ELEMENTWISE = {"elementwise-dominated": "the pieces have the name of an element-wise kernel (in_pieces)"}
SHOWS_WHY_LATE = {"host-bound-launches": "what makes the rank late is its busy host (docs/guide/WORKLOADS.md)"}
BUBBLE = {"pipeline-bubble": "more than two stages with eight micro-batches wait for each other by design"}
STALLED_PIPELINE = {"pipeline-bubble": "the second stage waits for the first one's input, which is idle time of a stage"}
FRAMES_SLOW_THE_HOST = {"host-bound-launches": "the recorded Python calls keep the host from launching"}
ONE_OF_MANY_RANKS = {"trace-quality": "ranks are missing in the run", "exposed-communication": "the links are slow"}


def fault(name, run, right, also=None, **more):
    return Item(name, WHY, (run,), right, also or {}, **more)


def ideal_bubble(stages, micro_batches):
    return (stages - 1) / (micro_batches + stages - 1)


def is_checkpoint_step(step):
    return step % 10 == 9


def is_throttled_step(step):
    return step % 20 >= 8


def ring_ns(gb_per_s, ranks):
    """An all-reduce of a full bucket over a ring."""
    return 2 * BUCKET_BYTES * (ranks - 1) / ranks / gb_per_s


def lost_launches(percent):
    """truth.json counts the launches that were recorded."""
    return lambda truth: sum(device["launches"] for device in truth["devices"]) * percent / (100 - percent)


def host_items():
    wait, hooks = "wait for batch", "module hooks"
    return [
        fault("input", Synth("input=4"), Right("input-bound", Shows(wait, "input_wait", 4e6), (Number("devices", 4, 0),), gain=True)),
        fault("input-2", Synth("input=1.5", ranks=2, seed=2),
              Right("input-bound", Shows(wait, "input_wait", 1.5e6), (Number("devices", 2, 0),), gain=True)),
        fault("input-pipeline", Synth("input=12", "pipeline", 2),
              Right("input-bound", Shows(wait, "input_wait", 12e6), ranks=(0,)), STALLED_PIPELINE),
        fault("host-bound", Synth("host-bound=120"),
              Right("host-bound-launches", Shows(hooks, "range", 120e3), (Number("devices", 4, 0),), gain=True)),
        fault("host-bound-moe", Synth("host-bound=250", "moe", 2, 2), Right("host-bound-launches", Shows(hooks, "range", 250e3))),
        fault("sync", Synth("sync=100"), Right("blocking-sync", Shows("cudaDeviceSynchronize", "sync", 50e3, at_least=True), gain=True)),
        fault("sync-1", Synth("sync=200", ranks=1, seed=3),
              Right("blocking-sync", Shows("cudaDeviceSynchronize", "sync", 100e3, at_least=True), gain=True)),
        # Three quarters of the time are in cudaMalloc. cudaFree also waits for the device.
        fault("allocation", Synth("allocation=8"),
              Right("allocation-in-step", Shows("cudaMalloc", "memory", 6e6), (Number("devices", 4, 0),), gain=True)),
        fault("allocation-moe", Synth("allocation=12", "moe", 4, 3),
              Right("allocation-in-step", Shows("cudaMalloc|cudaFree", "memory", 3e6, at_least=True))),
        fault("tiny-kernels", Synth("tiny-kernels=2.5", steps=12),
              Right("launch-latency", Shows("cudaLaunchKernel", "launch"), (Number("kernel_median_ns", 2500),)), NAMED_AS_ELEMENTWISE),
        fault("tiny-kernels-1", Synth("tiny-kernels=2", ranks=1, seed=3, steps=12),
              Right("launch-latency", Shows("cudaLaunchKernel", "launch"), (Number("kernel_median_ns", 2000),)), NAMED_AS_ELEMENTWISE),
        fault("outliers", Synth("outliers=60"),
              Right("step-outliers", Shows("save checkpoint", "range", 60e6), (Number("outliers", 4, 0),), step=is_checkpoint_step)),
        fault("outliers-moe", Synth("outliers=90", "moe", 4, 2),
              Right("step-outliers", Shows("save checkpoint", "range", 90e6), step=is_checkpoint_step)),
        fault("warmup", Synth("warmup=5"), Right("warmup-in-measurement", Shows("compile graph", "range", 40e6),
                                                 (Number("steps_to_leave_out", 5, 0),), step=lambda step: step < 5)),
        fault("warmup-2", Synth("warmup=8", ranks=2, seed=2, steps=60),
              Right("warmup-in-measurement", Shows("compile graph", "range", 40e6), (Number("steps_to_leave_out", 8, 0),),
                    step=lambda step: step < 8)),
        fault("python-frames", Synth("python-frames=200", ranks=1, steps=16),
              Right("profiler-overhead", None, (Number("python_frames_per_step", 200 * 16 * 13, 0.01),)), FRAMES_SLOW_THE_HOST),
        fault("python-frames-4", Synth("python-frames=160", ranks=4, seed=3, steps=12),
              Right("profiler-overhead", None, (Number("python_frames_per_step", 160 * 16 * 13, 0.01),)), FRAMES_SLOW_THE_HOST),
    ]


def rank_items():
    busy = "busy elsewhere"
    return [
        fault("late-rank", Synth("late-rank=4"), Right("straggler", Shows(busy, "range", 4e6), (Number("compute_ratio", 1, 0.02),),
                                                       {"cause": "host"}, gain=True), SHOWS_WHY_LATE),
        fault("late-rank-8", Synth("late-rank=8", ranks=8, seed=2, steps=30),
              Right("straggler", Shows(busy, "range", 8e6), (), {"cause": "host"}, gain=True), SHOWS_WHY_LATE),
        fault("straggler", Synth("straggler=1.3"),
              Right("straggler", Shows("AllReduce", "collective"), (Number("compute_ratio", 1.3),), {"cause": "compute"}, gain=True)),
        fault("straggler-2", Synth("straggler=1.6", ranks=2, seed=2),
              Right("straggler", Shows("AllReduce", "collective"), (Number("compute_ratio", 1.6),), {"cause": "compute"}, gain=True)),
        fault("straggler-pipeline", Synth("straggler=1.5", "pipeline", 4, 4),
              Right("straggler", Shows("SendRecv", "collective"), (Number("compute_ratio", 1.5),), {"cause": "compute"}), BUBBLE),
        # The mean of the ranks over the longest: one of n has 1 + x times the work.
        fault("imbalance", Synth("imbalance=1.4"), Right("load-imbalance", Shows("AllReduce", "collective"),
                                                         (Number("load_balance", (1 + 0.4 / 4) / 1.4),), gain=True)),
        fault("imbalance-8", Synth("imbalance=1.8", ranks=8, seed=3, steps=30),
              Right("load-imbalance", Shows("AllReduce", "collective"), (Number("load_balance", (1 + 0.8 / 8) / 1.8),), gain=True)),
        fault("throttling", Synth("throttling=1.3"),
              Right("throttling", Shows("", "kernel"), (Number("kernel_slowdown", 1.3), Number("lowest_clock_mhz", FULL_CLOCK_MHZ / 1.3),
                                                        Number("devices", 4, 0)), step=is_throttled_step)),
        fault("throttling-moe", Synth("throttling=1.5", "moe", 2, 2),
              Right("throttling", Shows("", "kernel"), (Number("kernel_slowdown", 1.5), Number("lowest_clock_mhz", FULL_CLOCK_MHZ / 1.5)),
                    step=is_throttled_step)),
    ]


def link_items():
    reduce = Shows("AllReduce", "collective")
    slow = NETWORK_GB_PER_S * 0.20
    apparent = NETWORK_GB_PER_S * 0.15
    return [
        # Half of the parameters are biases; how many of the others count as small depends on the links.
        fault("small-buckets", Synth("small-buckets=24"),
              Right("small-buckets", reduce, (Number("collectives_per_step", 16 * 18, 1 / 3), Number("alpha_us", NETWORK_ALPHA_US, 0.10)))),
        fault("small-buckets-8", Synth("small-buckets=32", ranks=8, seed=2, steps=30),
              Right("small-buckets", reduce, (Number("collectives_per_step", 16 * 24, 1 / 3), Number("alpha_us", NETWORK_ALPHA_US, 0.10)))),
        fault("no-overlap", Synth("no-overlap=1"), Right("exposed-communication", reduce, (Number("overlap", 0, 0.02),))),
        fault("no-overlap-2", Synth("no-overlap=2", ranks=2, seed=2),
              Right("exposed-communication", reduce, (Number("overlap", 0, 0.02),))),
        fault("slow-link", Synth("slow-link=20"),
              Right("exposed-communication", Shows("AllReduce", "collective", ring_ns(slow, 4), at_least=True))),
        fault("slow-link-moe", Synth("slow-link=30", "moe", 4, 2),
              Right("exposed-communication", Shows("AllReduce|SendRecv", "collective"))),
        # The link joins the two middle stages.
        fault("slow-pair", Synth("slow-pair=10", "pipeline", 4),
              Right("slow-link", Shows("SendRecv", "collective"), (Number("ratio", 10, 0.10), Number("bytes", BOUNDARY_BYTES, 0)),
                    {"ranks": "1, 2"}, (1, 2)), BUBBLE),
        fault("slow-pair-6", Synth("slow-pair=8", "pipeline", 6, 3, 30),
              Right("slow-link", Shows("SendRecv", "collective"), (Number("ratio", 12.5, 0.10),), {"ranks": "2, 3"}, (2, 3)), BUBBLE),
        fault("slow-group", Synth("slow-group=30", "moe", 8, 3, 30),
              Right("slow-link", Shows("SendRecv", "collective"), (Number("ratio", 1 / 0.3, 0.10), Number("bytes", 64 * MIB, 0)),
                    {"op": "all_to_all"}, (4, 5, 6, 7))),
        fault("unsized-buckets", Synth("unsized-buckets=24"),
              Right("unbucketed-gradients", reduce, (Number("collectives_per_step", 16 * 24, 0.01),))),
        fault("unsized-buckets-8", Synth("unsized-buckets=32", ranks=8, seed=2, steps=30),
              Right("unbucketed-gradients", reduce, (Number("collectives_per_step", 16 * 32, 0.01),))),
        fault("missing-ranks", Synth("missing-ranks=15"),
              Right("apparent-bandwidth", Shows("AllReduce", "collective", ring_ns(apparent, 4), at_least=True),
                    (Number("apparent_gbps", apparent), Number("expected_ranks", 4, 0)), ranks=(0,)), ONE_OF_MANY_RANKS),
        fault("missing-ranks-8", Synth("missing-ranks=10", ranks=8, seed=2, steps=30),
              Right("apparent-bandwidth", Shows("AllReduce", "collective"),
                    (Number("apparent_gbps", NETWORK_GB_PER_S * 0.10), Number("expected_ranks", 8, 0)), ranks=(0,)), ONE_OF_MANY_RANKS),
    ]


def kernel_items():
    plain, odd = "ffma|sgemm", "align1"
    elementwise = "vectorized_elementwise_kernel.*MulFunctor"
    return [
        fault("pageable-copies", Synth("pageable-copies=24"),
              Right("pageable-copies", Shows("Pageable", "memcpy", 24 * MIB / 6), (Number("pageable_copies", 40, 0),))),
        fault("pageable-copies-1", Synth("pageable-copies=36", ranks=1, seed=2),
              Right("pageable-copies", Shows("Pageable", "memcpy", 36 * MIB / 6), (Number("pageable_copies", 40, 0),))),
        fault("serialized-copies", Synth("serialized-copies=80"),
              Right("serialized-copies", Shows("Pinned", "memcpy", 80 * MIB / 25), (), {"memory": "pinned"})),
        fault("serialized-copies-moe", Synth("serialized-copies=240", "moe", 4, 2),
              Right("serialized-copies", Shows("Pinned", "memcpy", 240 * MIB / 25))),
        fault("tensor-cores", Synth("tensor-cores=2"),
              Right("tensor-cores-unused", Shows(plain, "kernel"), (Number("expected_speedup", 2, 0.10), Number("devices", 4, 0)))),
        fault("tensor-cores-moe", Synth("tensor-cores=3", "moe", 4, 2),
              Right("tensor-cores-unused", Shows(plain, "kernel"), (Number("expected_speedup", 3, 0.10),))),
        fault("small-grids", Synth("small-grids=40"), Right("small-grids", Shows("norm|bn_", "kernel", blocks=40))),
        fault("small-grids-1", Synth("small-grids=16", ranks=1, seed=2), Right("small-grids", Shows("norm|bn_", "kernel", blocks=16))),
        fault("serialized-streams", Synth("serialized-streams"),
              Right("serialized-streams", Shows("branch_kernel", "kernel"), (Number("devices", 4, 0),))),
        fault("serialized-streams-1", Synth("serialized-streams", ranks=1, seed=2),
              Right("serialized-streams", Shows("branch_kernel", "kernel"))),
        fault("unfused-attention", Synth("unfused-attention=4", "moe"),
              Right("unfused-attention", Shows("SoftMax", "kernel"))),
        fault("unfused-attention-1", Synth("unfused-attention=3", "moe", 1, 2),
              Right("unfused-attention", Shows("SoftMax", "kernel"))),
        fault("misaligned", Synth("misaligned-matrices=2", "moe"), Right("misaligned-matrices", Shows(odd, "kernel"))),
        fault("misaligned-pipeline", Synth("misaligned-matrices=1.5", "pipeline", 2, 2),
              Right("misaligned-matrices", Shows(odd, "kernel"))),
        # An element-wise kernel for each of the 16 · (6 + 7) kernels; some of those are element-wise themselves.
        fault("elementwise", Synth("elementwise=2"),
              Right("elementwise-dominated", Shows(elementwise, "kernel"), (Number("calls_per_step", 16 * 16, 0.25),))),
        fault("elementwise-pipeline", Synth("elementwise=1.5", "pipeline", 2, 2),
              Right("elementwise-dominated", Shows(elementwise, "kernel"))),
    ]


def memory_items():
    return [
        fault("leak", Synth("leak=64"),
              Right("memory-leak", None, (Number("bytes_per_step", 64 * MIB), Number("query.growth", 39 * 64 * MIB)))),
        fault("leak-moe", Synth("leak=8", "moe", 2, 2),
              Right("memory-leak", None, (Number("bytes_per_step", 8 * MIB), Number("query.growth", 39 * 8 * MIB)))),
        fault("pressure", Synth("pressure=95"),
              Right("memory-pressure", None, (Number("pressure", 0.95, 0.02), Number("query.peak_allocated", 0.95 * CAPACITY_BYTES)))),
        fault("pressure-moe", Synth("pressure=99", "moe", 2, 2), Right("memory-pressure", None, (Number("pressure", 0.99, 0.02),))),
        # In every step the blocks of the step before lie too close: all of them are taken anew.
        fault("fragmentation", Synth("fragmentation=256"),
              Right("memory-fragmentation", None, (Number("fragmented_growth_bytes", 39 * 256 * MIB, 0.15),))),
        fault("fragmentation-moe", Synth("fragmentation=512", "moe", 2, 2),
              Right("memory-fragmentation", None, (Number("fragmented_growth_bytes", 39 * 512 * MIB, 0.25),))),
        fault("lost-records", Synth("lost-records=40"), Right("trace-quality", None, (Number("dropped", lost_launches(40)),))),
        fault("lost-records-moe", Synth("lost-records=60", "moe", 2, 2),
              Right("trace-quality", None, (Number("dropped", lost_launches(60)),))),
        fault("bubble", Synth("none", "pipeline", 4), Right("pipeline-bubble", Shows("SendRecv", "collective"),
                                                            (Number("bubble_share", ideal_bubble(4, 8)), Number("micro_batches", 8, 0)))),
        fault("bubble-6", Synth("none", "pipeline", 6, 3, 30),
              Right("pipeline-bubble", Shows("SendRecv", "collective"), (Number("bubble_share", ideal_bubble(6, 8)),))),
    ]


def training_items():
    cifar = "cifar10 --batch 4 --steps 12"

    def training(name, pathology, options, right, devices=2):
        return Item("training-" + name, WHY, (Training(pathology, options, devices),), right, are_others_unknown=True)

    return [
        training("slow-input", "slow-input=150", cifar, Right("input-bound", Shows("", "input_wait", 100e6, at_least=True))),
        training("leak", "leak=8388608", cifar, Right("memory-leak", None, (Number("bytes_per_step", 8 * MIB),))),
        training("host-bound", "host-bound=2000", cifar, Right("host-bound-launches", Shows("", None, 1.8e6, at_least=True))),
        training("checkpoint-stall", "checkpoint-stall=300", "cifar10 --batch 4 --steps 35",
                 Right("step-outliers", Shows("slow store", None, 300e6))),
        training("fragmentation", "fragmentation", "cifar10 --batch 16 --steps 40", Right("memory-fragmentation"), 1),
    ]


def healthy_items():
    shapes = [("dp", 1, 2, 40), ("dp", 2, 7, 12), ("dp", 4, 1, 100), ("dp", 8, 3, 30), ("dp", 16, 4, 12), ("moe", 1, 5, 20),
              ("moe", 4, 1, 40), ("moe", 8, 2, 30), ("pipeline", 1, 1, 40), ("pipeline", 2, 2, 40)]
    items = [Item(f"healthy-{pattern}-{ranks}", WHY, (Synth("none", pattern, ranks, seed, steps),), is_healthy=True)
             for pattern, ranks, seed, steps in shapes]
    named = Item("healthy-rank", "Is rank 3 of `{0}` slower than the other ranks, and why?", (Synth("none"),), is_healthy=True)
    same = Item("healthy-compare", "Is `{1}` slower than `{0}`?", (Synth("none"), Synth("none", seed=2)), is_healthy=True)
    return items + [named, same]


def step_items():
    """The cycle of faults: what each of these steps has, and the rank, is in truth.json (docs/reference/SYNTH.md)."""
    def step(number, cause, shows):
        question = f"Why does step {number} of `{{0}}` take longer than others?"
        return Item(f"step-{number}-{cause}", question, (Synth(None, seed=5, steps=24),),
                    Right(cause, shows, step=lambda cited: cited == number))

    return [step(3, "input", Shows("wait for batch", "input_wait", 3.75e6, at_least=True)),
            step(5, "sync", Shows("cudaDeviceSynchronize", "sync", 3.75e6, at_least=True)),
            step(7, "launch_starved", Shows("gc.collect", "range", 3.75e6, at_least=True)),
            step(10, "allocation", Shows("cudaMalloc|cudaFree", "memory", 0.25 * 3.75e6, at_least=True)),
            step(12, "dependency", None),
            step(15, "launch_starved", Shows("write checkpoint", "range", 3.75e6, at_least=True)),
            step(20, "compute", Shows("", "kernel"))]


def other_items():
    """Questions with one number as the answer, and those that no recording can answer."""
    def refused(name, question, run, reason):
        return Item("refuse-" + name, question, (run,), refusal=reason)

    peak = Number("query.peak_allocated", lambda truth: truth["devices"][1]["peak_allocated_bytes"], 0)
    change = Number("change_ns", lambda truth: truth["fault"]["cost_ns_per_step"], 0.05)
    slower = Right("slower", numbers=(change,), subjects={"part": "input"})
    return [
        Item("memory-of-a-rank", "How much memory does rank 1 of `{0}` use at its peak?", (Synth("none", ranks=2),), facts=(peak,)),
        Item("compare", "Is `{1}` slower than `{0}`?", (Synth("none"), Synth("input=4")), slower),
        refused("missing-rank", "Why is rank 2 of `{0}` slow?", Synth("missing-ranks=15"), r"rank 2 .*not recorded.*Ranks 1–3 of 4"),
        refused("no-such-rank", "Why is rank 9 of `{0}` slow?", Synth("none"), r"rank 9 .*not recorded"),
        refused("no-such-step", "Why does step 500 of `{0}` take longer than others?", Synth("none"), r"step 500 .*0 to 39"),
        refused("memory-not-recorded", "How much memory does rank 0 of `{0}` use at its peak?", Kernels(), r"(?i)memory use is not known"),
        refused("no-such-run", "Why is `job-of-yesterday` slow?", Synth("none"), r"job-of-yesterday: no such file"),
        refused("outside", "Why is `/etc` slow?", Synth("none"), r"/etc: is not within the served paths"),
    ]


def with_other_noise(items):
    """The same faults with other random numbers, which also choose the rank of a straggler."""
    return [replace(item, name=item.name + "-again", runs=tuple(replace(run, seed=run.seed + 10) for run in item.runs)) for item in items]


def all_items():
    synthetic = host_items() + rank_items() + link_items() + kernel_items() + memory_items()
    return synthetic + with_other_noise(synthetic) + training_items() + healthy_items() + step_items() + other_items()


def is_near(value, expected, within):
    """For an expected 0 the tolerance is absolute."""
    return isinstance(value, (int, float)) and math.isfinite(value) and abs(value - expected) <= within * (abs(expected) or 1) + 1e-9
