"""THE table of names that the project has given up, and the field's word for each: tests/check_names.py reads it.

A row is Name, File, Folder or Words:
  Name(old, better, where)    an identifier of C++, as a regex that matches all of it ({1} in `better` is its first group);
                              comments are searched too for old names that have an underscore or an inner capital
  File(old, better, where)    a file's name without its ending and without _test
  Folder(old, better)         a folder of the tree
  Words(old, better)          words in comments, strings that people read, and documents
`where` holds the folders or path prefixes in which the old name is banned; a unit test of such a folder counts too. Empty:
everywhere. `allowed` holds files that keep the old name, for instance because it is an alias of a file format, a flag, a
table of SQL or a key of JSON; strings are never searched for Name rows, so most aliases need no entry.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    old: str
    better: str
    where: tuple = ()
    allowed: tuple = ()


class Name(Row):
    pass


class File(Row):
    pass


class Folder(Row):
    pass


class Words(Row):
    pass


# The cause "the device idles because the host launched too late" has this one name; tables and JSON keep the key
# launch_starved, the rule keeps its id host-bound-launches.
LAUNCH_BOUND = "launch-bound"

ANALYSIS = ("analyzer", "reports", "query", "viewer", "gate", "cli", "runs", "run_loading")
COMPARISONS = ("analyzer/compare", "analyzer/gate", "analyzer/scaling", "gate", "reports", "cli")

ROWS = [
    # One cause, one name; one severity word.
    Name(r"(k?)LaunchStarved", "{1}LaunchBound"),
    Name(r"(k?)LateHost", "{1}LaunchBound"),
    Name(r"late_host(_\w+)?", "launch_bound{1}"),
    Words(r"\blate host\b", LAUNCH_BOUND, allowed=("docs/reference/GLOSSARY.md",)),
    Words(r"\blaunch[ -]starved\b", LAUNCH_BOUND, allowed=("docs/reference/GLOSSARY.md",)),
    Words(r"(?-i:\bNOTE\b)", "INFO, the one word for the lowest severity", where=("reports", "viewer", "cli", "gate", "docs")),

    # Two worlds in the viewer: runs in memory, and runs of which only parts are.
    Folder("viewer/far", "viewer/event_store/out_of_core"),
    File(r"far_(.*)", "out_of_core_{1}, in viewer/event_store/out_of_core", where=("viewer", "tests/fuzz", "bench")),
    File(r"far_events", "timestamp_outliers", where=("trace/model",)),
    Name(r"FarRun", "OutOfCoreRun"),
    Name(r"(\w*)Far([A-Z]\w*)?(?<!kFar)", "{1}OutOfCore{2}", where=("viewer", "bench")),
    Name(r"(?!(?:\w+_)?(?:so|as|how|too)_far(?:_|$)|far_away|far_left|far_right)((?:\w+_)?)far(_\w*|)",
         "{1}out_of_core{2}", where=("viewer", "bench", "tests/fuzz")),
    Name(r"kFar", "name the time stamp that it is: kOutlierNs, kDistantNs", where=("viewer",)),
    Name(r"leave_out_far_events", "drop_timestamp_outliers"),
    Name(r"far_(memo_?|ids_?)", "out_of_order_{1} or what the rows are", where=("trace/import",)),
    Name(r"near_(scene|items|curves|run)", "in_memory_{1}", where=("viewer",)),
    Name(r"most_near_events", "most_in_memory_events", where=("viewer",)),

    # Model and file.
    File(r"outline", "run_skeleton (one file)", where=("trace/model", "analyzer")),
    Name(r"(\w*_)?outlines?(_of|_rows|_)?", "skeleton", where=("trace", "analyzer", "runs", "run_loading", "cli", "viewer/far",
                                                             "viewer/event_store")),
    Name(r"(Outline|OutlineMaker|kOutlineTables)", "RunSkeleton, SkeletonBuilder, kSkeletonTables"),
    File(r"copy_rows|keep_rows|row_spans", "row_copy (one file), column_spans"),
    Name(r"copy_rows|keep_rows", "copy_selected_rows"),
    File(r"first_after", "exponential_search"),
    Name(r"first_after", "exponential_search"),
    File(r"rows_of_kinds", "kind_scan, kind_reader"),
    File(r"other_files", "non_trace_files"),
    File(r"cut_files", "truncated_mmap"),
    File(r"freed_memory", "malloc_tuning"),

    # Tracer.
    File(r"turns|record_in_turn|in_turn", "interleave, record_interleaved", where=("tracer", "analyzer")),
    Name(r"record_in_turn", "record_interleaved"),
    Name(r"Turn(Facts|Stats|Socket|Program|Message|Keeper)", "Interleave{1}"),
    File(r"launches_under_way", "pending_launches"),
    File(r"lost_ends", "unmatched_range_ends"),
    File(r"window_end", "capture_cutoff", where=("tracer",)),
    Name(r"(k?)LaunchesUnderWay", "{1}PendingLaunches"),
    Name(r"LostEnds", "UnmatchedRangeEnds"),
    Name(r"(\w+_)?lost_ends(_?)", "unmatched_range_ends{2}"),
    Name(r"window_end(_?)", "capture_cutoff{1}", where=("tracer",)),

    # Analyzer.
    Folder("analyzer/facts", "analyzer/metrics/<area>"),
    File(r"(.+)_facts", "{1}_stats", where=("analyzer",)),
    Name(r"([A-Z]\w*)Facts", "{1}Stats"),
    File(r"run_index", "device_ops"),
    Name(r"DeviceIndex", "DeviceOps"),
    File(r"host_leaves", "innermost_host_events"),
    Name(r"HostLeaves", "InnermostHostEvents"),
    Name(r"MeetingFinder", "JoinMatcher"),
    Name(r"Meetings?", "CollectiveJoin"),
    Name(r"(\w+_)?meetings?(_\w*|)", "{1}join{2} (collective join)"),
    Name(r"(\w+)Meeting(\w*)|Meeting[A-Z]\w*", "CollectiveJoin"),
    File(r"path_account", "critical_path_totals"),
    File(r"path_route", "critical_path_walk"),
    File(r"process_graph(.*)", "dependency_graph{1}"),
    Name(r"PathOp", "GraphOp"),
    Name(r"(k?)Doings", "{1}ActivityTimes"),
    Name(r"DoneUntil", "ActivityCursor"),
    Name(r"doings(_\w*|)", "activity_times{1}"),
    Name(r"expose", "split_exposed_wait", where=("analyzer",)),
    Name(r"charge", "attribute_waits", where=("analyzer",)),
    File(r"links", "alpha_beta_fit", where=("analyzer",)),
    Name(r"Givers|givers", "HandoverThreads, handover_threads", where=("analyzer",)),
    File(r"quality(_words)?|trust", "trace_integrity{1}", where=("analyzer", "reports", "cli")),
    File(r"(.+_)?health(_\w+)?", "{1}device_telemetry{2}", where=("analyzer", "reports", "viewer")),
    Name(r"(k?)Quality(Fault)?", "{1}TraceIntegrity{2}", where=ANALYSIS),
    Name(r"(judge_|find_trace_)?quality(_\w+)?", "{1}trace_integrity{2}", where=ANALYSIS),
    Name(r"Trust", "TraceIntegrity", where=ANALYSIS),
    Name(r"Health", "DeviceTelemetry", where=ANALYSIS),
    Name(r"((?:\w+_)?)health(_\w+)?", "{1}device_telemetry{2}", where=ANALYSIS),
    Name(r"Held", "Throttled (a clock), AfterPause (a step)", where=("analyzer",)),
    Name(r"(is_|was_|are_|kept_)?held|mark_held|places_of_held|highest_held|held_down", "throttled (a clock), after_pause (a step)",
         where=ANALYSIS),
    Name(r"(is_|all_are_)?usual(_\w+)?", "{1}steady{2}", where=("analyzer", "reports", "viewer", "gate")),
    Name(r"sees|more", "detectable_change, needed_samples", where=("analyzer/gate/noise", "gate/noise")),
    Name(r"sees", "detectable_change", where=COMPARISONS),
    Name(r"RunSample", "RunMeasurements"),
    Name(r"fresh", "candidate", where=COMPARISONS),
    Name(r"PayOff", "ScalingLimit"),
    Name(r"(\w+_)?pay_off(_\w+)?", "{1}scaling_limit{2}"),

    # Words without an actor, in names.
    Name(r"((?:\w+_)?)told(_\w*|)", "reported, known, announced: say which", where=("trace", "tracer", "analyzer", "reports", "workloads",
                                                                                 "runs", "run_loading", "selftest", "viewer", "cli",
                                                                                 "machine", "doctor")),
    Name(r"Told|k\w*Told\w*", "Reported", where=("trace", "tracer", "analyzer", "reports", "workloads", "viewer")),
    Name(r"TileWish", "TileRequest"),
    Name(r"(\w*[a-z])?Wish(es)?([A-Z]\w*)?", "{1}Request{3}"),
    Name(r"take_wishes", "apply_requests"),
    Name(r"(?!take_wishes)((?:\w+_)?)wish(es)?(_\w*|)", "{1}request{3}"),

    # Reports.
    Name(r"say_(\w+)", "describe_{1}", where=("reports",)),
    Name(r"say_(\w+)", "print_{1}", where=("cli", "tracer", "selftest", "doctor", "machine", "gate", "query")),
    Name(r"said", "translated() for words of a report; output or message for what a program wrote"),
    Name(r"Seen", "FindingContext", where=("reports",)),
    Name(r"SpokenLanguage", "ScopedLanguage"),
    Name(r"WaitMap|WaitGrid", "WaitMatrix"),
    Name(r"WaitGridKey", "WaitMatrixKey"),
    Name(r"wait_map(_\w+)?|wait_grid(_\w+)?", "wait_matrix{1}{2}"),
    File(r"wait_map|wait_grid", "wait_matrix (one type)"),

    # Viewer.
    File(r"let_go", "dispose_async"),
    Name(r"(is_)?let_go", "{1}dispose_async"),
    File(r"at_work", "detached_threads"),
    Name(r"(is_any_)?at_work", "{1}detached_threads", where=("viewer",)),
    File(r"carry_over", "view_rebase"),
    Name(r"carry_over", "rebase_view", where=("viewer",)),
    File(r"opening", "open_task", where=("viewer",)),
    Name(r"Opening", "OpenTask", where=("viewer", "bench")),
    File(r"rereading", "reload_task", where=("viewer",)),
    Name(r"Rereading", "ReloadTask"),
    File(r"following|session_following", "live_follow_policy, session_live_follow", where=("viewer",)),
    Name(r"Following", "LiveFollowPolicy", where=("viewer",)),
    Name(r"Memo", "PanelCache", where=("viewer", "bench")),
    Name(r"Outside", "WindowStatus and WindowRequests", where=("viewer", "bench")),
    File(r"sidecar", "view_state_store", where=("viewer",)),
    Name(r"ViewKeeper", "ViewStateStore"),
    File(r"fact_order", "table_sort", where=("viewer",)),
    File(r"link_points", "bandwidth_by_size"),
    Name(r"link_points", "bandwidth_by_size"),

    # Workloads and the rest.
    File(r"pathology", "fault_injection"),
    Name(r"Pathology(\w*)", "InjectedFault{1}"),
    Name(r"((?:\w+_)?)pathology(_\w+)?", "{1}fault{2}", where=("workloads",)),
    File(r"split_(.+)|split", "{1} in workloads/model_parallel", where=("workloads",)),
    Folder("machine", "doctor"),
    Folder("runs", "run_loading"),
    File(r"analyzed_run", "run_loading/analyzed_run", where=("cli",)),
    Name(r"made_(run|runs|trace|traces)", "synthetic_{1}"),
    Name(r"MadeRun", "SyntheticRun"),
]
