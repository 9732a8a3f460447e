"""A job of one process that uses NCCL: ten all-reduces through torch.distributed, in between work for a second, so that the counters of
the GPU have something to show. Prints one line of JSON."""
import json
import socket
import time

import torch
import torch.distributed

ALL_REDUCES = 10
SECONDS = 1.0


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{free_port()}", rank=0, world_size=1)
    numbers = torch.ones(1 << 20, device="cuda")
    matrix = torch.randn(2048, 2048, device="cuda")
    for _ in range(ALL_REDUCES):
        torch.distributed.all_reduce(numbers)
        end = time.monotonic() + SECONDS / ALL_REDUCES
        while time.monotonic() < end:
            matrix @ matrix  # pylint: disable=pointless-statement
            torch.cuda.synchronize()
    is_right = bool((numbers == 1).all())
    torch.distributed.destroy_process_group()
    print(json.dumps({"all_reduces": ALL_REDUCES, "is_right": is_right, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}))


if __name__ == "__main__":
    main()
