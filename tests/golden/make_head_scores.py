"""Float64 reference values for scores of heads and for rollout, in plain numpy: writes head_scores.json.

The attention of "noisy" and of "rollout" (random numbers) is read from SOURCE, the rest is computed here and compared
with the values in SOURCE.
Usage: python3 make_head_scores.py [SOURCE]    default: the head_scores.json beside this file
"""
import json
import pathlib
import sys

import numpy as np
from make_attention import largest_difference, read, write

OWN = pathlib.Path(__file__).with_name("head_scores.json")


def scores(a, tokens):
    """Means over eligible rows: of the weight after, and on, earlier equal tokens, and on the token before."""
    after, on = [], []
    for i, token in enumerate(tokens):
        earlier = [j for j in range(i) if tokens[j] == token]
        if earlier:
            after.append(sum(a[i, j + 1] for j in earlier))
            on.append(sum(a[i, j] for j in earlier))
    return {"prefix_matching": np.mean(after), "duplicate_token": np.mean(on),
            "previous_token": np.mean(np.diag(a, -1))}


def induction(s):
    tokens = s["tokens"]
    n, period = len(tokens), len(tokens) // 2
    row, first = np.arange(n), np.zeros(n, int)
    one_hot = np.eye(n)
    noisy = read(s["patterns"]["noisy_induction"]["attention"])
    heads = {
        "perfect_induction": one_hot[np.where(row >= period, row - period + 1, first)],
        "previous_token": one_hot[np.maximum(row - 1, 0)],
        "duplicate_token": one_hot[np.where(row >= period, row - period, first)],
        "uniform_causal": np.tril(np.ones((n, n))) / (row[:, None] + 1),
        "noisy_induction": noisy,
    }
    return {"tokens": tokens,
            "patterns": {name: {"attention": write(a), "scores": scores(a, tokens)} for name, a in heads.items()}}


def rollout(s):
    total = np.eye(4)
    for layer in read(s["attention"]):
        mixed = layer.mean(0) + np.eye(4)
        total = mixed / mixed.sum(1, keepdims=True) @ total
    return {"attention": s["attention"], "rollout": write(total)}


def main():
    source = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else OWN).read_text())
    result = {"about": "float64, made by make_head_scores.py (numpy)",
              "induction": induction(source["induction"]), "rollout": rollout(source["rollout"])}
    for name in ("induction", "rollout"):
        print(f"{name}: largest difference {largest_difference(result[name], source[name]):.1e}")
    OWN.write_text(json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
