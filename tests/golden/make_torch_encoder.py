"""Outputs and gradients of Python's nn.TransformerEncoder on small random weights: writes torch_encoder.json.

Usage: python3 make_torch_encoder.py    needs torch and numpy (made with torch 2.11.0)
Float64. Weights are rounded to 4 decimals and stored under PyTorch's names. `loss` is sum(out * grad_out) over the
positions that are not padding, `grad_x` and `grad_in_proj_0` its gradients under the causal + padding mask.
"""
import json
import pathlib

import torch

B, T, D, H, FF, LAYERS = 2, 5, 8, 2, 12, 2
LENGTHS = [5, 3]


def write(t):
    return {"shape": list(t.shape), "data": t.detach().flatten().tolist()}


def encoder(norm_first, activation, eps):
    layer = torch.nn.TransformerEncoderLayer(D, H, FF, dropout=0.0, activation=activation, layer_norm_eps=eps,
                                             batch_first=True, norm_first=norm_first)
    last = torch.nn.LayerNorm(D, eps=eps) if norm_first else None
    model = torch.nn.TransformerEncoder(layer, LAYERS, norm=last, enable_nested_tensor=False)
    with torch.no_grad():
        for name, p in model.named_parameters():
            centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            p.copy_((centre + 0.3 * torch.randn(p.shape)).mul(1e4).round().div(1e4))
    return model.train()  # evaluation mode would take PyTorch's fast path


def case(norm_first, activation, eps):
    model = encoder(norm_first, activation, eps)
    x = torch.randn(B, T, D).mul(1e3).round().div(1e3).requires_grad_()
    grad_out = torch.randn(B, T, D).mul(1e3).round().div(1e3)
    hidden = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    padded = torch.tensor([[j >= n for j in range(T)] for n in LENGTHS])
    real = ~padded[..., None]
    result = {"norm_first": norm_first, "activation": activation, "eps": eps, "heads": H, "layers": LAYERS, "d_ff": FF,
              "lengths": LENGTHS, "x": write(x), "grad_out": write(grad_out),
              "parameters": {n: write(p) for n, p in model.named_parameters()},
              "out": write(model(x)), "out_causal": write(model(x, mask=hidden)),
              "out_padding": write(model(x, src_key_padding_mask=padded) * real)}
    both = model(x, mask=hidden, src_key_padding_mask=padded) * real
    (both * grad_out).sum().backward()
    return {**result, "out_causal_padding": write(both), "grad_x": write(x.grad),
            "grad_in_proj_0": write(model.layers[0].self_attn.in_proj_weight.grad)}


def main():
    torch.manual_seed(11)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    result = {"about": f"nn.TransformerEncoder of torch {torch.__version__}, made by make_torch_encoder.py",
              "cases": [case(True, "gelu", 1e-5), case(False, "relu", 1e-3)]}
    out = pathlib.Path(__file__).with_name("torch_encoder.json")
    out.write_text(json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n")
    print(out, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
