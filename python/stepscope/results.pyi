# Made by scripts/python_stubs.py from docs/reference/analysis.schema.json.
from typing import Any, Iterator, KeysView, Literal

class Record:
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def keys(self) -> KeysView[str]: ...
    def to_dict(self) -> dict[str, Any]: ...

class Run(Record):
    name: str
    ranks: int
    hosts: int
    host_names: list[str]
    begin_ns: int
    end_ns: int
    clock: RunClock
    step_source: Literal['annotation', 'nvtx_pattern', 'detected', None]
    step_confidence: float | None
    layers: RunLayer | None
    ops_outside_steps: int
    notes: list[str]

class RunClock(Record):
    method: str
    residual_median_ns: int | None
    residual_p95_ns: int | None
    collectives: int

class RunLayer(Record):
    name: str
    first: str
    last: str
    count: int
    period_ns: int
    confidence: float

class Summary(Record):
    verdict: str
    of: Literal['usual steps', 'windows']
    steps: int
    warmup_steps: int
    unusual_steps: int
    mean_ns: int
    mean_of_all_steps_ns: int | None
    compute_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    idle_ns: IdleCauses

class IdleCauses(Record):
    profiler: int
    allocation: int
    sync: int
    input: int
    dependency: int
    peer: int
    graph: int | None
    launch_starved: int
    launch_latency: int
    unexplained: int

class Rank(Record):
    rank: int
    host: str | None
    process: int
    offset_ns: int
    drift_ppb: float | None
    devices: list[RankDevice]

class RankDevice(Record):
    device: int
    name: str
    begin_ns: int
    window_ns: int
    busy_ns: int | None
    idle_ns: int
    compute_ns: int | None
    comm_ns: int
    copy_ns: int
    exposed_comm_ns: int | None
    exposed_copy_ns: int
    exposed_wait_ns: int
    exposed_late_ns: int
    blocking_comm_ns: int | None
    overlap: float | None
    utilization: float | None
    idle_by_cause_ns: IdleCauses
    unhidden_by_cause_ns: IdleCauses
    unhidden_comm_ns: int
    kernels: int
    copies: int
    collectives: int
    launches: int
    launch: RankDeviceLaunch
    slow_ns: SlowTime
    unexplained: RankDeviceUnexplained
    memory: RankDeviceMemory
    health: RankDeviceHealth | None

class RankDeviceLaunch(Record):
    calls: int
    calls_per_step: float | None
    latency_median_ns: int | None
    latency_p95_ns: int | None
    latency_max_ns: int | None
    negative_latencies: int
    call_median_ns: int | None
    kernel_median_ns: int | None
    queue_mean: float | None
    queue_max: int | None
    queue_empty_share: float | None
    streams: list[RankDeviceLaunchStream]
    graph_ops: int
    graph_launches: int
    graph_share: float | None

class RankDeviceLaunchStream(Record):
    stream: int
    launches: int
    queue_mean: float | None
    queue_max: int | None
    queue_empty_share: float | None

class SlowTime(Record):
    simt_matrix: int
    small_grid: int
    small_grid_lost: int
    serialized: int
    slow_copy: int
    device_copy: int

class RankDeviceUnexplained(Record):
    first_ns: int
    queued_ns: int
    other_ns: int
    queued_ops: int

class RankDeviceMemory(Record):
    capacity_bytes: int | None
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None
    headroom_bytes: int | None
    fragmentation: float | None
    worst_fragmentation: float | None
    stranded_bytes: int | None
    fragmented_growth_bytes: int | None
    floor_growth_bytes_per_step: float | None
    floor_forecast: Forecast | None
    reserved_growth_bytes_per_step: float | None
    reserved_forecast: Forecast | None
    retries: int | None
    batch_factor: float | None
    pinning_calls_per_step: float | None
    peak_by_purpose_bytes: RankDeviceMemoryPeakByPurposeByte | None
    peak_owners: list[RankDeviceMemoryPeakOwner] | None
    peak_other_bytes: int | None
    peak_before_recording_bytes: int | None

class Forecast(Record):
    bytes_per_step: float | None
    standard_error_bytes: float | None
    steps: float | None
    earliest_steps: float | None
    latest_steps: float | None
    time_ns: int | None

class RankDeviceMemoryPeakByPurposeByte(Record):
    other: int
    weights: int
    gradients: int
    optimizer: int
    activations: int
    workspace: int
    input: int

class RankDeviceMemoryPeakOwner(Record):
    name: str
    bytes: int

class RankDeviceHealth(Record):
    sm_clock_mhz: Spread | None
    memory_clock_mhz: Spread | None
    power_w: Spread | None
    temperature_c: Spread | None
    utilization_percent: Spread | None
    busy_clock_mhz: float | None
    sustained_clock_mhz: float | None
    clock_to_peers: float | None
    throttled_ns: int | None
    limited_ns: Record | None
    kernel_slowdown: float | None

class Spread(Record):
    min: float | None
    median: float | None
    max: float | None

class Step(Record):
    rank: int
    device: int
    step: int
    number: int
    begin_ns: int
    dur_ns: int
    compute_ns: int | None
    exposed_comm_ns: int | None
    exposed_copy_ns: int
    blocking_comm_ns: int | None
    idle_ns: IdleCauses
    host_begin_ns: int
    host_dur_ns: int
    slow_ns: SlowTime
    warmup: bool
    usual: bool
    period_begin_ns: int
    period_ns: int
    period_idle_ns: IdleCauses

class Collective(Record):
    comm: int | None
    seq: int
    op: str | None
    bytes: int | None
    ranks: list[int]
    transfer_ns: int
    wait_ns: list[int]
    busbw_gbps: float | None
    last_rank: int | None
    skew_ns: int
    expected_ranks: int | None
    participants: list[CollectiveParticipant]

class CollectiveParticipant(Record):
    rank: int
    device: int
    begin_ns: int
    dur_ns: int

class Wait(Record):
    rank: int
    device: int
    cause: str
    host_op: str | None
    gpu_ns: int
    exposed_ns: int
    collectives: int

class Pipeline(Record):
    schedule: str | None
    micro_batches: int
    bubble_share: float | None
    ideal_share: float | None
    stage_imbalance: float | None
    stages: list[PipelineStage]

class PipelineStage(Record):
    rank: int
    device: int
    steps: int | None
    total_ns: int
    bubble_ns: int
    compute_ns: int | None

class Slowdown(Record):
    s: float
    m_stage: float | None
    m_slowest_stage: float | None
    m_worker: float | None
    steps: int
    left_out_steps: int
    recorded_step_ns: float
    step_ns: float
    ideal_step_ns: float
    stages: list[SlowdownStage]
    data_ranks: list[SlowdownDataRank]
    workers: list[SlowdownWorker]
    operations: list[SlowdownOperation]

class SlowdownStage(Record):
    stage: int
    s: float
    compute_ratio: float

class SlowdownDataRank(Record):
    data_rank: int
    s: float

class SlowdownWorker(Record):
    rank: int
    device: int
    stage: int
    data_rank: int
    tensor_rank: int
    s: float
    is_among_slowest: bool

class SlowdownOperation(Record):
    name: str
    s: float

class Link(Record):
    comm: int
    op: str
    alpha_us: float | None
    beta_gbps: float | None
    half_bandwidth_bytes: float | None
    samples: int

class Kernel(Record):
    rank: int
    device: int
    name: str
    kind: str
    count: int
    total_ns: int
    mean_ns: int
    median_ns: int | None
    p95_ns: int | None
    min_ns: int
    max_ns: int
    share: float | None
    tensor_cores: bool | None
    occupancy_percent: float | None
    small_grid_share: float | None
    flops_per_second: float | None
    peak_share: float | None
    bytes_per_second: float | None
    flops_per_byte: float | None

class Op(Record):
    rank: int
    device: int
    level: str
    what: str
    name: str | None
    count: int
    total_ns: int
    share: float | None

class Phase(Record):
    rank: int
    device: int
    name: str | None
    names: int
    count: int
    host_ns: int
    ops: int
    busy_ns: int | None
    compute_ns: int | None
    exposed_comm_ns: int | None
    median_ns: int | None
    p95_ns: int | None

class HostOp(Record):
    rank: int
    device: int
    cause: str
    host_op: str | None
    names: int
    gaps: int
    idle_ns: int

class Host(Record):
    rank: int
    window_begin_ns: int
    window_ns: int
    counted_steps: int
    step_mean_ns: int | None
    step_median_ns: int | None
    step_p95_ns: int | None
    step_input_ns: int | None
    slow_steps: HostSlowStep | None
    steps: list[HostStep]
    ranges: list[HostRange]
    threads: list[HostThread]

class HostSlowStep(Record):
    outliers: int
    mean_ns: int
    usual_ns: int
    slowest_step: int
    begin_ns: int
    dur_ns: int
    differs: str | None
    differs_ns: int

class HostStep(Record):
    thread: str
    step: int
    begin_ns: int
    dur_ns: int
    period_begin_ns: int
    period_ns: int
    input_ns: int
    warmup: bool
    outlier: bool

class HostRange(Record):
    name: str | None
    kind: Literal['range', 'phase', 'input']
    names: int
    count: int
    inclusive_ns: int
    exclusive_ns: int
    longest_ns: int
    step_inclusive_ns: int | None
    step_exclusive_ns: int | None

class HostThread(Record):
    thread: str
    events: int
    steps: int
    busy_ns: int
    input_ns: int

class Negotiation(Record):
    recorded_by: int
    count: int
    incomplete: int
    ranks: list[NegotiationRank]

class NegotiationRank(Record):
    rank: int
    last: int
    late_ns: int
    mean_late_ns: int
    longest_late_ns: int
    moments: int

class Graph(Record):
    rank: int
    device: int
    graph: int | None
    launches: int
    ops: int
    nodes: int | None
    total_ns: int
    gap_ns: int

class Copie(Record):
    rank: int
    device: int
    direction: str | None
    count: int
    bytes: int
    total_ns: int
    gbps: float | None
    small_count: int
    pageable_count: int | None
    pageable_bytes: int | None
    blocking_count: int
    both_ways_ns: int

class CriticalPath(Record):
    begin_ns: int
    dur_ns: int
    ns: PathClasses
    places: list[CriticalPathPlace]
    contributors: list[CriticalPathContributor]
    steps: list[CriticalPathStep] | None
    ops: int
    guessed_waits: int
    jumps: int
    clock_disagreement_ns: int
    clock_filled_ns: int
    clock_cut_ns: int
    slack: CriticalPathSlack

class PathClasses(Record):
    compute: int
    communication: int
    copy: int
    host: int | None
    launch: int
    sync: int
    input: int
    allocation: int
    profiler: int
    peer: int
    unexplained: int

class CriticalPathPlace(Record):
    rank: int
    device: int | None
    ns: PathClasses

class CriticalPathContributor(Record):
    name: str | None
    ns: int
    count: int
    share: float | None

class CriticalPathStep(Record):
    step: int
    rank: int
    ns: PathClasses

class CriticalPathSlack(Record):
    nearly_critical_below_ns: int
    exact: bool
    classes: list[CriticalPathSlackClasse]
    names: list[CriticalPathSlackName]

class CriticalPathSlackClasse(Record):
    name: None
    ops: int
    total_ns: int
    nearly_critical_ns: int
    min_slack_ns: int
    median_slack_ns: int

class CriticalPathSlackName(Record):
    name: str
    ops: int
    total_ns: int
    nearly_critical_ns: int
    min_slack_ns: int
    median_slack_ns: int

class Finding(Record):
    rule: str
    severity: Literal['critical', 'warning', 'info']
    title: str
    rank: int | None
    device: int | None
    cost_ns_per_step: int | None
    gain_ceiling: float | None
    gain_if_hidden: float | None
    gain_alone: float | None
    gain_after_above: float | None
    metrics: Record
    subjects: Record
    evidence: list[FindingEvidence]
    explanation: str
    advice: str

class FindingEvidence(Record):
    begin_ns: int
    end_ns: int
    track: str | None
    rank: int
    device: int | None

class Quality(Record):
    dropped: int
    unmatched_launches: int
    unmatched_ops: int
    negative_latencies: int
    overlapping_slices: int
    truncated: bool
    missing_ranks: list[int]
    score: int
    lost_blocks: int
    notes: list[str]

class Analysis(Record):
    def __init__(self, text: str) -> None: ...
    def _repr_html_(self) -> str: ...
    schema: Literal[1]
    run: Run
    summary: Summary
    ranks: list[Rank]
    steps: list[Step] | None
    collectives: list[Collective]
    waits: list[Wait]
    pipelines: list[Pipeline]
    slowdown: Slowdown | None
    links: list[Link]
    kernels: list[Kernel]
    ops: list[Op]
    phases: list[Phase]
    host_ops: list[HostOp]
    hosts: list[Host]
    negotiations: list[Negotiation]
    graphs: list[Graph]
    copies: list[Copie]
    critical_path: CriticalPath | None
    findings: list[Finding]
    quality: Quality
