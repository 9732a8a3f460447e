#!/usr/bin/env python3
"""A small PyTorch training whose device work is the same in every run: what a profiler of it counts can be compared with what another
counts. Prints one line of JSON: milliseconds a step, the median over blocks of steps.

usage: pytorch_training.py cnn|gpt eager|graph [--blocks N] [--profile FILE] [--window STEPS]

--profile FILE   the whole of it under torch.profiler (CUDA activities only); its Chrome trace goes to FILE
--window STEPS   before the timed blocks that many steps in an NVTX range of the name "window"
"""
import argparse
import contextlib
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP = 5  # steps that are not timed; a graph is captured after them
BLOCK = 50  # steps that are timed together


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 64, 5, padding=2),
                                      nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(nn.Linear(64 * 8 * 8, 384), nn.ReLU(), nn.Linear(384, 10))

    def forward(self, images):
        return self.classifier(self.features(images))

    @staticmethod
    def batch():
        return torch.randn(128, 3, 32, 32).pin_memory(), torch.randint(10, (128,)).pin_memory()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(c, dim=2))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    VOCABULARY, WIDTH, LENGTH, HEADS, LAYERS = 4096, 256, 256, 4, 4

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(self.VOCABULARY, self.WIDTH)
        self.positions = nn.Parameter(torch.zeros(1, self.LENGTH, self.WIDTH))
        self.blocks = nn.Sequential(*(Block(self.WIDTH, self.HEADS) for _ in range(self.LAYERS)))
        self.head = nn.Linear(self.WIDTH, self.VOCABULARY)

    def forward(self, tokens):
        return self.head(self.blocks(self.tokens(tokens) + self.positions)).flatten(0, 1)

    @classmethod
    def batch(cls):
        tokens = torch.randint(cls.VOCABULARY, (16, cls.LENGTH + 1))
        return tokens[:, :-1].contiguous().pin_memory(), tokens[:, 1:].flatten().contiguous().pin_memory()


class Training:
    """The step works on buffers that stay in place, so that it can be captured as a CUDA graph."""

    def __init__(self, model_class):
        torch.manual_seed(1)
        self.model = model_class().cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, capturable=True)
        self.host = model_class.batch()
        self.inputs, self.labels = (part.cuda() for part in self.host)

    def load(self):
        self.inputs.copy_(self.host[0], non_blocking=True)
        self.labels.copy_(self.host[1], non_blocking=True)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(self.model(self.inputs), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def capture(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.loss = self.step()
        return graph

    def warm_up(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.load()
                self.step()
        torch.cuda.current_stream().wait_stream(stream)

    def run_block(self, graph, steps):
        """Milliseconds a step."""
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for step in range(steps):
            self.load()
            if graph:
                graph.replay()
                loss = self.loss
            else:
                loss = self.step()
            if step % 10 == 9:
                loss.item()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3 / steps

    def run(self, mode, blocks, window):
        self.warm_up()
        graph = self.capture() if mode == "graph" else None
        if window:
            torch.cuda.nvtx.range_push("window")
            self.run_block(graph, window)
            torch.cuda.nvtx.range_pop()
        return statistics.median(self.run_block(graph, BLOCK) for _ in range(blocks))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["cnn", "gpt"])
    parser.add_argument("mode", choices=["eager", "graph"])
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--profile")
    parser.add_argument("--window", type=int, default=0)
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = False  # it would try algorithms, another number of them in every run
    torch.backends.cudnn.deterministic = True
    activities = [torch.profiler.ProfilerActivity.CUDA]
    profiler = torch.profiler.profile(activities=activities) if options.profile else contextlib.nullcontext()
    with profiler:
        step_ms = Training({"cnn": Cnn, "gpt": Gpt}[options.model]).run(options.mode, options.blocks, options.window)
    if options.profile:
        profiler.export_chrome_trace(options.profile)
    print(json.dumps({"step_ms": step_ms, "steps": options.blocks * BLOCK, "torch": torch.__version__, "cuda": torch.version.cuda,
                      "gpu": torch.cuda.get_device_name()}))


if __name__ == "__main__":
    main()
