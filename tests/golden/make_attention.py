"""Float64 reference values for the attention functions, in plain numpy: writes attention.json.

The inputs (short decimals) are read from SOURCE, the outputs are computed here and compared with those in SOURCE.
Usage: python3 make_attention.py [SOURCE]    default: the attention.json beside this file
Tensors are {"shape": [...], "data": [flat, row-major]}. Masks: 1 = may look. Linear: y = x W^T + b. Entropy in nats.
"""
import json
import math
import pathlib
import sys

import numpy as np

OWN = pathlib.Path(__file__).with_name("attention.json")


def read(t):
    return np.array(t["data"], dtype=float).reshape(t["shape"])


def write(a):
    a = np.asarray(a)
    return {"shape": list(a.shape), "data": a.astype(int if a.dtype == bool else a.dtype).ravel().tolist()}


def masked_softmax(scores, may_look=None):
    """Row softmax over allowed keys; a row without one gives zeros."""
    may_look = np.ones_like(scores, bool) if may_look is None else np.broadcast_to(may_look, scores.shape)
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf, where=may_look)
    e = np.zeros_like(scores)
    np.exp(scores - np.where(np.isfinite(top), top, 0), out=e, where=may_look)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def attend(q, k, v, may_look=None, scale=None, bias=0.0):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    weights = masked_softmax(np.einsum("...ie,...je->...ij", q, k) * scale + bias, may_look)
    return weights @ v, weights


def attend_gradients(q, k, v, weights, grad_out, scale):
    grad_weights = np.einsum("...io,...jo->...ij", grad_out, v)
    grad_scores = weights * (grad_weights - np.sum(weights * grad_weights, -1, keepdims=True))
    return (scale * grad_scores @ k, scale * np.einsum("...ij,...ie->...je", grad_scores, q),
            np.einsum("...ij,...io->...jo", weights, grad_out))


def causal(t):
    return np.tril(np.ones((t, t), bool))


def padding(lengths, t):
    return np.array([[j < n for j in range(t)] for n in lengths])[:, None, None, :]


def softmax_extremes(s):
    x = read(s["x"])
    p = masked_softmax(x)
    shifted = x - x.max(1, keepdims=True)
    return {"x": write(x), "softmax": write(p),
            "log_softmax": write(shifted - np.log(np.exp(shifted).sum(1, keepdims=True))),
            "jacobian_of_row_0": write(np.diag(p[0]) - np.outer(p[0], p[0]))}


def sdpa(s):
    q, k, v, g = (read(s[n]) for n in ("q", "k", "v", "grad_out"))
    b, h, t, _ = q.shape
    pad = padding(s["lengths"], t)
    masks = {"none": None, "causal": causal(t), "padding": pad, "causal_padding": causal(t) & pad}
    variants = {}
    for name, mask in masks.items():
        out, w = attend(q, k, v, mask)
        gq, gk, gv = attend_gradients(q, k, v, w, g, 0.5)
        variants[name] = {"weights": write(w), "out": write(out), "grad_q": write(gq), "grad_k": write(gk),
                          "grad_v": write(gv)}
    empty = np.broadcast_to(masks["causal_padding"], (b, h, t, t)).copy()
    empty[1, :, 2, :] = False
    out, w = attend(q, k, v, empty)
    gq, gk, gv = attend_gradients(q, k, v, w, g, 0.5)
    variants["one_empty_row"] = {"mask": write(empty), "out": write(out), "grad_q": write(gq), "grad_k": write(gk),
                                 "grad_v": write(gv)}
    variants["unscaled"] = {"out": write(attend(q, k, v, scale=1.0)[0])}
    bias = read(s["variants"]["causal_additive_bias"]["bias"])
    variants["causal_additive_bias"] = {"bias": write(bias), "out": write(attend(q, k, v, masks["causal"], bias=bias)[0])}
    qx = read(s["variants"]["cross_3_queries_padding"]["q"])
    out, w = attend(qx, k, v, pad)
    variants["cross_3_queries_padding"] = {"q": write(qx), "weights": write(w), "out": write(out)}
    return {"q": write(q), "k": write(k), "v": write(v), "grad_out": write(g), "lengths": s["lengths"],
            "causal_mask": write(causal(t)), "padding_mask": write(pad), "scale": 0.5, "variants": variants}


def heads(x, n):
    b, t, d = x.shape
    return x.reshape(b, t, n, d // n).transpose(0, 2, 1, 3)


def mix(x, m, mask):
    q, k, v = (heads(x @ read(m["w" + n]).T + read(m["b" + n]), m["heads"]) for n in "qkv")
    out, w = attend(q, k, v, mask)
    merged = out.transpose(0, 2, 1, 3).reshape(x.shape)
    return {"y": merged @ read(m["wo"]).T + read(m["bo"]), "w": w, "q": q, "out": out, "merged": merged}


def multihead(s):
    x = read(s["x"])
    t, d = x.shape[1:]
    plain, masked = mix(x, s, None), mix(x, s, causal(t) & padding(s["lengths"], t))
    inputs = {n: s[n] for n in ("x", "wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo", "heads", "lengths")}
    return {**inputs, "q_split": write(plain["q"]), "heads_out": write(plain["out"]),
            "heads_merged": write(plain["merged"]), "out": write(plain["y"]), "weights": write(plain["w"]),
            "out_causal_padding": write(masked["y"]), "weights_causal_padding": write(masked["w"]),
            "parameters": 4 * d * d + 4 * d}


def layer_norm(x, gain, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5) * gain + shift


def gelu_exact(x):
    return x * np.vectorize(lambda t: 0.5 * math.erfc(-t / math.sqrt(2)))(x)


def gelu_tanh(x):
    return x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def block(s, m):
    """Pre- and post-norm layer on multihead's x, weights and causal + padding mask; exact GELU."""
    p = {n: read(s[n]) for n in ("ln1_g", "ln1_b", "ln2_g", "ln2_b", "w1", "b1", "w2", "b2")}
    x = read(m["x"])
    mask = causal(x.shape[1]) & padding(m["lengths"], x.shape[1])
    norm1 = lambda t: layer_norm(t, p["ln1_g"], p["ln1_b"])
    norm2 = lambda t: layer_norm(t, p["ln2_g"], p["ln2_b"])
    feed = lambda t: gelu_exact(t @ p["w1"].T + p["b1"]) @ p["w2"].T + p["b2"]
    pre = x + mix(norm1(x), m, mask)["y"]
    pre = pre + feed(norm2(pre))
    post = norm1(x + mix(x, m, mask)["y"])
    post = norm2(post + feed(post))
    return {**{n: write(a) for n, a in p.items()}, "layer_norm_of_x": write(norm1(x)), "out_pre_ln": write(pre),
            "out_post_ln": write(post)}


def gelu(s):
    x = read(s["x"])
    return {"x": s["x"], "exact": write(gelu_exact(x)), "tanh": write(gelu_tanh(x))}


def encoding(positions, d):
    """Channel c of position p: sin (even c) or cos (odd c) of p / 10000^(2 floor(c/2) / d)."""
    return np.array([[(math.cos if c % 2 else math.sin)(p / 10000.0 ** (2 * (c // 2) / d)) for c in range(d)]
                     for p in positions])


def sinusoidal(_):
    return {"d8": write(encoding(range(12), 8)), "d7": write(encoding(range(12), 7)),
            "p1000_d8": write(encoding([1000], 8)[0]),
            "d8_dot_by_distance": write([float(encoding([5], 8)[0] @ encoding([5 + n], 8)[0]) for n in range(12)])}


def gaussian(s):
    one, many = s["one_d"], s["multi_d"]
    keys, values, queries = (read(one[n]) for n in ("keys", "values", "queries"))
    rows = []
    for h in (row["h"] for row in one["rows"]):
        w = masked_softmax(-0.5 * ((queries[:, None] - keys) / h) ** 2)
        rows.append({"h": h, "weights": write(w), "out": write(w @ values)})
    q, k, v, g = (read(many[n]) for n in ("q", "k", "v", "grad_out"))
    h = np.array(many["h_per_head"])[:, None, None]
    squares = np.square(q[:, :, None] - k[:, None]).sum(-1)
    w = masked_softmax(-squares / (2 * h * h))
    grad_w = g @ v.transpose(0, 2, 1)
    grad_scores = w * (grad_w - np.sum(w * grad_w, -1, keepdims=True))
    return {"one_d": {"keys": one["keys"], "values": one["values"], "queries": one["queries"], "rows": rows},
            "multi_d": {"q": many["q"], "k": many["k"], "v": many["v"], "h_per_head": many["h_per_head"],
                        "weights": write(w), "out": write(w @ v), "grad_out": many["grad_out"],
                        "grad_log_h": (grad_scores * squares / (h * h)).sum((1, 2)).tolist()}}


def scores(s):
    """Weights of other scores on the inputs of gaussian_kernel_attention.multi_d (heads first)."""
    q, k = (read(s["multi_d"][n]) for n in "qk")
    scale, weight = np.array([0.6, 2.5])[:, None, None], np.array([[0.5, -1.2, 2.0], [1.5, 0.7, -0.4]])
    cosine = np.einsum("hte,hse->hts", q, k) / np.linalg.norm(q, axis=-1)[:, :, None] / np.linalg.norm(k, axis=-1)[:, None]
    additive = (np.tanh(q[:, :, None] + k[:, None]) * weight[:, None, None]).sum(-1)
    phi = lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + 1
    linear = np.einsum("hte,hse->hts", phi(np.sqrt(scale) * q), phi(np.sqrt(scale) * k))
    row_of = lambda w: w / w.sum(-1, keepdims=True)
    early = linear * np.tril(np.ones(linear.shape[1:]), linear.shape[2] - linear.shape[1])
    return {"scale_per_head": scale.ravel().tolist(), "weight_per_head": write(weight),
            "cosine": write(masked_softmax(scale * cosine)), "additive": write(masked_softmax(additive)),
            "linear": write(row_of(linear)), "linear_causal": write(row_of(early))}


def rope(s):
    """Pairs (2i, 2i+1) turned by position * base^(-2i/d); the first d features only, where d is given."""
    def turn(x, positions, d):
        y = np.array(x)
        for row, p in enumerate(positions):
            for i in range(0, d, 2):
                c, n = math.cos(p * s["base"] ** (-i / d)), math.sin(p * s["base"] ** (-i / d))
                y[row, i], y[row, i + 1] = x[row, i] * c - x[row, i + 1] * n, x[row, i] * n + x[row, i + 1] * c
        return y
    x, (q, k) = read(s["x"]), (read(s["relative"][n]) for n in "qk")
    dot = lambda m, n: float(turn(q[None], [m], 8)[0] @ turn(k[None], [n], 8)[0])
    return {"base": s["base"], "x": s["x"], "positions": s["positions"], "interleaved": write(turn(x, s["positions"], 8)),
            "first_7": write(turn(x[:, :7], s["positions"], 6)),
            "relative": {"q": s["relative"]["q"], "k": s["relative"]["k"],
                         "rows": [{"m": r["m"], "n": r["n"], "dot": dot(r["m"], r["n"])} for r in s["relative"]["rows"]]}}


def alibi(_):
    """Press, Smith and Lewis 2022: a geometric sequence; heads in between come from twice the power of two below."""
    def slopes(n):
        if n & (n - 1) == 0:
            return [2.0 ** (-8.0 * i / n) for i in range(1, n + 1)]
        below = 1 << (n.bit_length() - 1)
        return slopes(below) + slopes(2 * below)[::2][:n - below]
    bias = [[[-m * (i - j) if j <= i else 0.0 for j in range(5)] for i in range(5)] for m in slopes(4)]
    return {**{str(n): slopes(n) for n in (1, 2, 4, 6, 8, 12, 16)}, "causal_bias_4_heads_L5": write(bias)}


def t5_bucket(ahead, both, count, furthest):
    """Published formula in whole numbers: the largest n with (furthest / near)^n <= (distance / near)^(count - near)."""
    count, first = (count // 2, count // 2 if ahead > 0 else 0) if both else (count, 0)
    distance, near = (abs(ahead) if both else max(-ahead, 0)), count // 2
    if distance < near:
        return first + distance
    n = 0
    while n < count and furthest ** (n + 1) * near ** (count - near) <= distance ** (count - near) * near ** (n + 1):
        n += 1
    return first + min(near + n, count - 1)


def t5_buckets(s):
    both, past = ([t5_bucket(r, way, s["num_buckets"], s["max_distance"]) for r in range(-140, 141)] for way in (True, False))
    small = [[t5_bucket(r, way, 8, 32) for r in range(-140, 141)] for way in (True, False)]
    return {"num_buckets": s["num_buckets"], "max_distance": s["max_distance"], "bidirectional": both,
            "unidirectional": past, "bidirectional_8_to_32": small[0], "unidirectional_8_to_32": small[1]}


def local_window(s):
    q, k, v = (read(s[n]) for n in "qkv")
    apart = np.arange(7)[:, None] - np.arange(7)
    rows = []
    for row in s["rows"]:
        mask = (abs(apart) <= row["w"]) & ((apart >= 0) | (not row["causal"]))
        rows.append({"w": row["w"], "causal": row["causal"], "mask": write(mask), "out": write(attend(q, k, v, mask)[0])})
    return {"q": s["q"], "k": s["k"], "v": s["v"], "rows": rows}


def row_entropy(w):
    return -np.sum(w * np.log(np.where(w > 0, w, 1)), -1)


def entropy(s):
    scores = read(s["scores"])
    t = scores.shape[-1]
    full, early = row_entropy(masked_softmax(scores)), row_entropy(masked_softmax(scores, causal(t)))
    visible = np.arange(1, t + 1)
    return {"scores": s["scores"], "full_per_query": write(full), "full_mean_per_head": full.mean(-1).tolist(),
            "full_normalised_mean_per_head": (full / math.log(t)).mean(-1).tolist(),
            "causal_per_query": write(early), "causal_mean_per_head": early.mean(-1).tolist(),
            "causal_normalised_mean_per_head": (early[:, 1:] / np.log(visible[1:])).mean(-1).tolist()}


def cross_entropy(s):
    logits, targets, smoothing = read(s["logits"]), np.array(s["targets"]), s["label_smoothing"]
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    nll = -log_p[np.arange(len(targets)), targets]
    return {"logits": s["logits"], "targets": s["targets"], "mean": float(nll.mean()), "label_smoothing": smoothing,
            "mean_smoothed": float(np.mean((1 - smoothing) * nll - smoothing * log_p.mean(1))),
            "perplexity": float(np.exp(nll.mean())), "bits_per_token": float(nll.mean() / math.log(2)),
            "mean_ignoring_target_4": float(nll[targets != 4].mean())}


def noam_schedule(s):
    d, w = s["d_model"], s["warmup"]
    rows = [{"step": n, "lr": min(1 / math.sqrt(n), n / (w * math.sqrt(w))) / math.sqrt(d)} for n in (1, 100, 4000, 16000)]
    return {"d_model": d, "warmup": w, "rows": rows}


def adamw(s):
    """AdamW (Loshchilov and Hutter 2019) on the gradient 2 theta + (0.5, 0)."""
    (b1, b2), lr, theta = s["betas"], s["lr"], np.array(s["start"])
    m, v, path = np.zeros(2), np.zeros(2), []
    for step in (1, 2, 3):
        g = 2 * theta + [0.5, 0]
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        theta = theta - lr * s["weight_decay"] * theta
        theta = theta - lr * m / (1 - b1 ** step) / (np.sqrt(v / (1 - b2 ** step)) + s["eps"])
        path.append(theta.tolist())
    return {**{n: s[n] for n in ("lr", "betas", "eps", "weight_decay", "start")}, "gradient": "2 theta + (0.5, 0)",
            "theta_after_steps_1_2_3": path}


def largest_difference(ours, theirs):
    if isinstance(ours, dict):
        return max((largest_difference(v, theirs[k]) for k, v in ours.items() if k in theirs), default=0.0)
    if isinstance(ours, list):
        return max((largest_difference(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)
    return abs(ours - theirs) if isinstance(ours, (int, float)) else 0.0


def main():
    source = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else OWN).read_text())
    result = {"about": "float64, made by make_attention.py (numpy)"}
    for name, make in (("softmax_extremes", softmax_extremes), ("sdpa", sdpa), ("multihead", multihead), ("gelu", gelu),
                       ("sinusoidal", sinusoidal), ("gaussian_kernel_attention", gaussian), ("entropy", entropy),
                       ("rope", rope), ("alibi", alibi), ("t5_buckets", t5_buckets), ("local_window", local_window),
                       ("cross_entropy", cross_entropy), ("noam_schedule", noam_schedule), ("adamw", adamw)):
        result[name] = make(source.get(name))
    result["scores"] = scores(source["gaussian_kernel_attention"])
    result["block"] = block(source["block"], source["multihead"])
    for name, part in result.items():
        if name in source and name != "about":
            print(f"{name}: largest difference {largest_difference(part, source[name]):.1e}")
    OWN.write_text(json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
