"""Dumps of a job of 8 ranks that hangs, as Python's own pickle module writes them: made_dumps.py FOLDER.

Rank r uses pickle protocol 2 + r % 4. All ranks complete the all-reduces 1 to 40. Rank 5 does not call number 41; the others wait
in it, and rank 2 has called 42, too.
"""

import os
import pickle
import sys

EPOCH_NS = 1_700_000_000_000_000_000
RANKS = 8
COMPLETED = 40
LATE_RANK = 5


def entry(rank, number):
    created = EPOCH_NS + number * 10_000_000 + rank * 1000
    done = number <= COMPLETED
    return {
        "frames": [{"name": "backward", "filename": "/job/train.py", "line": 34}],
        "record_id": number - 1,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": created,
        "input_sizes": [[1024, 1024]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[1024, 1024]],
        "output_dtypes": ["BFloat16"],
        "state": "completed" if done else "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": created + 50_000_000 if done else None,
        "retired": done,
        "timeout_ms": 600000,
        "is_p2p": False,
    }


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for rank in range(RANKS):
        calls = COMPLETED + (0 if rank == LATE_RANK else 2 if rank == 2 else 1)
        dump = {
            "version": "2.4",
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(RANKS)))}},
            "pg_status": {},
            "entries": [entry(rank, number) for number in range(1, calls + 1)],
        }
        with open(os.path.join(folder, f"nccl_trace_rank_{rank}"), "wb") as out:
            pickle.dump(dump, out, 2 + rank % 4)


main()
