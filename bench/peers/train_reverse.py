"""`train reverse` in Python: the preset's model written by hand, trained and tested on 10,000 sequences of their own.

Usage: train_reverse.py THREADS [--steps N] [--rate R] [--dropout P] [--seed S]
The defaults reach 100 % soonest on three seeds; the preset has 600, 3e-3, 0.1 and batch 32. Prints one JSON line with the wall
seconds of each part, from the first line of this file on.
"""
import time

START = time.perf_counter()
import argparse
import json
import math
import resource

import torch
from torch import nn
from torch.nn import functional

from train_step import Model

SIZES = dict(symbols=10, tokens=16, layers=2, heads=2, width=64, hidden=256, causal=False)
WARM_UP, N_TEST = 50, 10_000


def rate_at(step, options):
    """As headtorch: linear to the peak, then a cosine to 0."""
    if step <= WARM_UP:
        return options.rate * step / WARM_UP
    return options.rate * (1 + math.cos(math.pi * (step - WARM_UP) / max(options.steps - WARM_UP, 1))) / 2


def train(model, options):
    """Returns the wall seconds until the first step was done."""
    start = time.perf_counter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, fused=True)
    model.train()
    stream = torch.randint(SIZES["symbols"], (options.steps, options.batch, SIZES["tokens"]))
    for step, tokens in enumerate(stream, 1):
        optimizer.param_groups[0]["lr"] = rate_at(step, options)
        loss = functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flip(1).flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step == 1:
            first = time.perf_counter() - start
    return first


def share_right(model):
    """Two sequences of 10^16 are not alike: the test shares none with training."""
    model.eval()
    with torch.inference_mode():
        tokens = torch.randint(SIZES["symbols"], (N_TEST, SIZES["tokens"]))
        right = [(model(part).argmax(-1) == part.flip(1)).all(1) for part in tokens.split(1000)]
    return torch.cat(right).double().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("threads", type=int)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    imported = time.perf_counter()
    model = Model({**SIZES, "dropout": options.dropout}, by_hand=True)
    first_step = train(model, options)
    trained = time.perf_counter()
    share = share_right(model)
    tested = time.perf_counter()
    print(json.dumps({"import_seconds": round(imported - START, 3), "training_seconds": round(trained - imported, 3),
                      "test_seconds": round(tested - trained, 3), "first_step_seconds": round(imported - START + first_step, 3),
                      "steps": options.steps, "rate": options.rate, "dropout": options.dropout,
                      "share_right": share, "n_test": N_TEST, "parameters": sum(p.numel() for p in model.parameters()),
                      "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
