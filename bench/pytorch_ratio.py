#!/usr/bin/env python3
"""How fast do the bundled workloads train on a GPU, compared with the same models in PyTorch eager on the same GPU? Both are interleaved in one run.

    python3 bench/pytorch_ratio.py [--stepscope build/release/bin/stepscope] [--pairs 3] [--precision fp32]… [--json FILE]

Prints, for cifar10 (images/s) and gpt (tokens/s) and each precision, the median of both and of the pairs' ratios stepscope / PyTorch, and
writes every number as JSON. PyTorch copies its batch from page-locked memory in each step and reads the loss every tenth step, which is its
usual loop. Stepscope reads the loss in every step. Its times are its own: from a step's begin on the host until its last work on the
device is over. The faster of PyTorch's two memory formats for images counts. Where there is no GPU or no
PyTorch it says so and ends with exit status 77; nothing is measured then.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
WARM_UP = 20  # steps that do not count: caches, clocks, choice of algorithms
STEPS = 200
BLOCK = 20  # PyTorch's steps that are timed together
VOCABULARY = 64
CIFAR = {"batch": 512, "samples": "images"}
GPT = {"batch": 32, "context": 256, "width": 384, "layers": 6, "heads": 6, "samples": "tokens"}
MODELS = {"cifar10": CIFAR, "gpt": GPT}


# ---- The models in PyTorch; imports of torch are inside: without it the script must be able to say so.

def cifar10(torch):
    """The network of workloads/networks/cifar10.cpp."""
    from torch import nn
    def norm():
        return nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0)
    return nn.Sequential(
        nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), norm(),
        nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), norm(), nn.MaxPool2d(3, 2, ceil_mode=True), nn.Flatten(),
        nn.Linear(6 * 6 * 64, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10))


def gpt(torch):
    """The network of workloads/networks/gpt.cpp; attention by PyTorch's fused operation, as its users have it."""
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            width = GPT["width"]
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (part.view(b, t, GPT["heads"], -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(c, dim=2))
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.norm2(x))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(VOCABULARY, GPT["width"]), nn.Embedding(GPT["context"], GPT["width"])
            self.blocks = nn.Sequential(*(Block() for _ in range(GPT["layers"])))
            self.norm, self.head = nn.LayerNorm(GPT["width"]), nn.Linear(GPT["width"], VOCABULARY)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.positions.weight
            return self.head(self.norm(self.blocks(x))).flatten(0, 1)

    return Gpt()


def train_torch(model_name, precision, channels_last):
    """Seconds a step, by block; runs in a process of its own."""
    import torch
    from torch.nn import functional
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.manual_seed(1)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    batch = MODELS[model_name]["batch"]
    if model_name == "cifar10":
        model = cifar10(torch).cuda().to(memory_format=layout)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.0)
        host = torch.randn(batch, 3, 24, 24).to(memory_format=layout).pin_memory(), torch.randint(10, (batch,)).pin_memory()
    else:
        model = gpt(torch).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99))
        text = torch.randint(VOCABULARY, (batch, GPT["context"] + 1))
        host = text[:, :-1].contiguous().pin_memory(), text[:, 1:].flatten().contiguous().pin_memory()

    def step():
        inputs, labels = (part.cuda(non_blocking=True) for part in host)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            loss = functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(WARM_UP):
        step()
    times = []
    for _ in range(STEPS // BLOCK):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for number in range(BLOCK):
            loss = step()
            if number % 10 == 9:
                loss.item()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / BLOCK)
    return {"step_s": times, "torch": torch.__version__, "gpu": torch.cuda.get_device_name()}


# ---- Both sides

def samples_of_step(model):
    return MODELS[model]["batch"] * (GPT["context"] if model == "gpt" else 1)


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr.strip()[-800:]}")
    return json.loads(next(line for line in reversed(result.stdout.splitlines()) if line.startswith('{')))


def stepscope_rate(program, model, precision, text):
    command = [program, "run", model, "--device", "cuda", "--precision", precision, "--batch", str(MODELS[model]["batch"]), "--steps",
               str(WARM_UP + STEPS), "--no-evaluate", "--no-augment", "--log-every", "0", "--json", "--prefetch", "4",
               "--loader-threads", str(min(8, os.cpu_count() or 1))]
    if model == "gpt":
        command += ["--data", text]
        for name in ("context", "width", "layers", "heads"):
            command += [f"--{name}", str(GPT[name])]
    steps = run(command)["devices"][0]["step_ns"][WARM_UP:]
    return samples_of_step(model) / (statistics.mean(steps) / 1e9)


def torch_rate(model, precision):
    rates = []
    for layout in (["--channels-last"], []) if model == "cifar10" else ([],):
        child = run([sys.executable, os.path.abspath(__file__), "--child", model, "--precision", precision, *layout])
        rates.append(samples_of_step(model) / statistics.mean(child["step_s"]))
    return max(rates), child


def why_not(program):
    """Empty when both sides can run."""
    probe = subprocess.run([program, "run", "allreduce", "--device", "cuda", "--max-bytes", "1024", "--iterations", "1"],
                           capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        return f"no GPU that Stepscope can use: {probe.stderr.strip()}"
    probe = subprocess.run([sys.executable, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"],
                           capture_output=True, text=True, check=False)
    return "" if probe.returncode == 0 else f"no PyTorch that can use the GPU: {probe.stderr.strip()[-300:]}"


def compare(program, model, precision, pairs, text):
    ours, theirs = [], []
    for pair in range(pairs):
        # Every other pair the other way round, so that a drift of the machine favours neither.
        for side in ("ours", "theirs") if pair % 2 == 0 else ("theirs", "ours"):
            if side == "ours":
                ours.append(stepscope_rate(program, model, precision, text))
            else:
                rate, about = torch_rate(model, precision)
                theirs.append(rate)
    ratios = [a / b for a, b in zip(ours, theirs)]
    row = {"model": model, "precision": precision, "unit": MODELS[model]["samples"] + "/s", "stepscope": ours, "pytorch": theirs,
           "ratios": ratios, "median_ratio": statistics.median(ratios), "target": 0.9, "torch": about["torch"], "gpu": about["gpu"]}
    print(f"{model:8} {precision}  {statistics.median(ours):12.0f} {row['unit']}, PyTorch {statistics.median(theirs):12.0f}, ratio "
          f"{row['median_ratio']:.3f} ({min(ratios):.3f} to {max(ratios):.3f})", flush=True)
    return row


def save(results, path):
    """After every row, so that what was measured stays whatever comes after it."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", default=os.path.join(here, "..", "build", "release", "bin", "stepscope"))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--precision", action="append", choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--json", help="file for every number")
    parser.add_argument("--child", choices=list(MODELS), help=argparse.SUPPRESS)
    parser.add_argument("--channels-last", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(train_torch(options.child, options.precision[0], options.channels_last)))
        return 0
    program = os.path.abspath(options.stepscope)
    reason = why_not(program)
    results = {"skipped": reason} if reason else {"rows": []}
    if reason:
        print(f"not measured: {reason}")
    else:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
            letters = random.Random(1).choices([chr(ord("0") + i) for i in range(VOCABULARY)], k=1 << 20)
            text.write("".join(letters))
            text.flush()
            for model in MODELS:
                for precision in options.precision or ["fp32", "tf32", "bf16"]:
                    try:
                        row = compare(program, model, precision, options.pairs, text.name)
                    except RuntimeError as error:
                        row = {"model": model, "precision": precision, "error": str(error)}
                        print(f"{model:8} {precision}  {error}", flush=True)
                    results["rows"].append(row)
                    save(results, options.json)
    save(results, options.json)
    failed = any("error" in row for row in results.get("rows", []))
    return SKIPPED if reason else int(failed)


if __name__ == "__main__":
    sys.exit(main())
