"""Float64 reference values for RMSNorm, LayerNorm, SwiGLU and QK-norm, in plain numpy: writes norms.json.

Gradients are those of sum(y * grad_y), by hand.
Usage: python3 make_norms.py
"""
import json
import pathlib

import numpy as np
from make_attention import write

EPS = 1e-5
rng = np.random.default_rng(23)


def numbers(*shape, centre=0.0, spread=1.0):
    return np.round(centre + spread * rng.standard_normal(shape), 4)


def rms_norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight


def rms_case():
    x, weight, grad = numbers(2, 3, 5, spread=2.0), numbers(5, centre=1.0, spread=0.5), numbers(2, 3, 5)
    root = np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
    inner = grad * weight
    grad_x = inner / root - x * (inner * x).sum(-1, keepdims=True) / (5 * root**3)
    return {"x": x, "weight": weight, "grad_y": grad, "y": rms_norm(x, weight), "grad_x": grad_x,
            "grad_weight": (grad * x / root).sum((0, 1))}


def layer_case():
    x, weight, bias = numbers(2, 3, 5, spread=2.0), numbers(5, centre=1.0, spread=0.5), numbers(5)
    grad = numbers(2, 3, 5)
    centred = x - x.mean(-1, keepdims=True)
    root = np.sqrt((centred * centred).mean(-1, keepdims=True) + EPS)
    normed, inner = centred / root, grad * weight
    grad_x = (inner - inner.mean(-1, keepdims=True) - normed * (inner * normed).mean(-1, keepdims=True)) / root
    return {"x": x, "weight": weight, "bias": bias, "grad_y": grad, "y": normed * weight + bias, "grad_x": grad_x,
            "grad_weight": (grad * normed).sum((0, 1)), "grad_bias": grad.sum((0, 1))}


def swiglu_case():
    """y = (silu(a) * b) w2' + b2 with a, b the halves of x w1' + b1."""
    x, w1, b1, w2, b2 = numbers(2, 3, 4), numbers(10, 4), numbers(10), numbers(4, 5), numbers(4)
    grad = numbers(2, 3, 4)
    hidden = x @ w1.T + b1
    a, b = hidden[..., :5], hidden[..., 5:]
    sigmoid = 1 / (1 + np.exp(-a))
    inner = grad @ w2
    grad_a, grad_b = inner * b * sigmoid * (1 + a * (1 - sigmoid)), inner * a * sigmoid
    grad_hidden = np.concatenate([grad_a, grad_b], -1)
    return {"x": x, "w1": w1, "b1": b1, "w2": w2, "b2": b2, "grad_y": grad, "y": (a * sigmoid * b) @ w2.T + b2,
            "grad_x": grad_hidden @ w1, "grad_w1": np.einsum("bth,btd->hd", grad_hidden, x)}


def qk_norm_case():
    """Two heads of 3 features; RMSNorm of each head's queries and keys, one weight of 3 for all heads."""
    x, w = numbers(2, 4, 6), numbers(18, 6, spread=0.6)
    q_weight, k_weight = numbers(3, centre=1.0, spread=0.5), numbers(3, centre=1.0, spread=0.5)

    def heads(part):
        return (x @ w[6 * part:6 * part + 6].T).reshape(2, 4, 2, 3).transpose(0, 2, 1, 3)

    q, k = rms_norm(heads(0), q_weight), rms_norm(heads(1), k_weight)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(3)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return {"x": x, "in_proj_weight": w, "q_weight": q_weight, "k_weight": k_weight, "scores": scores, "pattern": weights}


def main():
    cases = {"rms_norm": rms_case(), "layer_norm": layer_case(), "swiglu": swiglu_case(), "qk_norm": qk_norm_case()}
    result = {"about": "made by make_norms.py", **{name: {key: write(value) for key, value in case.items()}
                                                   for name, case in cases.items()}}
    out = pathlib.Path(__file__).with_name("norms.json")
    out.write_text(json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n")
    print(out, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
