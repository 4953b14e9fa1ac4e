"""GFLOP of a step's matrix products, and how fast torch multiplies matrices of these shapes on one thread.

Usage: products.py PRESET float32|bfloat16. Prints one JSON line. A layer has 2 (4 D^2 + 2 D F) a token and 4 T D in
attention, half of it when causal; the output has 2 D C; backward is twice forward. Best of 20 of each shape.
"""
import json
import sys
import time

import torch

from train_step import PRESETS

REPEATS = 20


def gflop(sizes):
    width, tokens = sizes["width"], sizes["tokens"]
    attention = 4 * tokens * width / (2 if sizes["causal"] else 1)
    layer = 2 * (3 * width**2 + width**2 + 2 * width * sizes["hidden"]) + attention
    return 3 * sizes["batch"] * tokens * (sizes["layers"] * layer + 2 * width * sizes["symbols"]) / 1e9


def gflops(m, n, k, dtype):
    a, b, out = torch.randn(m, k, dtype=dtype), torch.randn(k, n, dtype=dtype), torch.empty(m, n, dtype=dtype)
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        torch.mm(a, b, out=out)
        best = min(best, time.perf_counter() - start)
    return 2 * m * n * k / best / 1e9


def main():
    sizes, dtype = PRESETS[sys.argv[1]], getattr(torch, sys.argv[2])
    torch.set_num_threads(1)
    width, hidden, m = sizes["width"], sizes["hidden"], sizes["batch"] * sizes["tokens"]
    shapes = [(3 * width, width), (width, width), (hidden, width), (width, hidden), (sizes["symbols"], width)]
    products = [{"m": m, "n": n, "k": k, "gflop_s": round(gflops(m, n, k, dtype), 1)} for n, k in dict.fromkeys(shapes)]
    print(json.dumps({"sizes": sizes, "gflop_a_step": round(gflop(sizes), 4), "products": products}))


if __name__ == "__main__":
    main()
