"""Float64 reference values for scores of heads, under masks too, and for rollout, in plain numpy: writes head_scores.json.

The attention of "noisy" and of "rollout" (random numbers) is read from SOURCE, the rest is computed here and compared
with the values in SOURCE.
Usage: python3 make_head_scores.py [SOURCE]    default: the head_scores.json beside this file
"""
import json
import pathlib
import sys

import numpy as np
from make_attention import largest_difference, masked_softmax, read, write

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


def sees(n_queries, n_keys, window=None, causal=False, hidden=()):
    """Which keys each row may look at."""
    i, j = np.arange(n_queries)[:, None], np.arange(n_keys)[None]
    may = np.ones((n_queries, n_keys), bool)
    if window is not None:
        may &= abs(i - j) <= window
    if causal:
        may &= j <= i
    may[:, list(hidden)] = False
    return may


def under_mask(may, own_positions, seed):
    """Random weights on the keys seen, and scores of them: value and what uniform weights over those keys give."""
    a = masked_softmax(2 * np.random.default_rng(seed).standard_normal(may.shape), may)
    rows = may.any(1)
    n = may.sum(1)
    uniform = may / np.maximum(n, 1)[:, None]
    far = abs(np.arange(may.shape[0])[:, None] - np.arange(may.shape[1])[None])

    def entropy(w):
        return -np.where(w > 0, w * np.log(np.where(w > 0, w, 1)), 0).sum(1)

    def mean(of, eligible):
        return {"value": of(a)[eligible].mean(), "chance": of(uniform)[eligible].mean(), "rows": int(eligible.sum())}

    several = rows & (n > 1)
    log_n = np.log(np.maximum(n, 2))
    scores = {"entropy": mean(entropy, rows),
              "entropy_normalised": mean(lambda w: entropy(w) / log_n, several),
              "max_weight": mean(lambda w: w.max(1), rows)}
    if own_positions:
        before = np.r_[False, np.diag(may, -1)]
        scores["identity"] = mean(np.diag, np.diag(may) & rows)
        scores["previous_token"] = mean(lambda w: np.r_[0, np.diag(w, -1)], before & rows)
        scores["mean_distance"] = mean(lambda w: (w * far).sum(1), rows)
        scores["local"] = mean(lambda w: (w * (far <= 3)).sum(1), rows)
    return {"attention": write(a), "scores": scores}


def masks():
    return {"window": under_mask(sees(9, 9, window=2), True, 1),
            "causal_window_hidden": under_mask(sees(9, 9, window=4, causal=True, hidden=(1, 5)), True, 2),
            "hidden": under_mask(sees(9, 9, hidden=(0, 3)), True, 3),
            "cross": under_mask(sees(4, 7), False, 4)}


def main():
    source = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else OWN).read_text())
    result = {"about": "float64, made by make_head_scores.py (numpy)",
              "induction": induction(source["induction"]), "rollout": rollout(source["rollout"]), "masks": masks()}
    for name in ("induction", "rollout", "masks"):
        if name in source:
            print(f"{name}: largest difference {largest_difference(result[name], source[name]):.1e}")
    OWN.write_text(json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
