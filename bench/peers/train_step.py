"""One training step of a preset in Python: the same sizes, data and parameters, fused AdamW, clipping at 1.

Usage: train_step.py VARIANT PRESET THREADS STEPS [--dropout P]
eager, compile, bfloat16 (autocast): nn.TransformerEncoder. sdpa, sdpa-compile: a model written by hand around
scaled_dot_product_attention. Prints one JSON line: median and least over the steps, without the first tenth.
"""
import argparse
import contextlib
import json
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP = 3  # steps before the first that counts as one: compiling is not timed
RATE = 1e-3
TEXT_CHARACTERS = 1_115_394
PRESETS = {
    "reference": dict(symbols=64, tokens=32, batch=64, layers=2, heads=4, width=64, hidden=256, dropout=0.1, causal=False),
    "text-small": dict(symbols=65, tokens=64, batch=12, layers=4, heads=4, width=128, hidden=512, dropout=0.0, causal=True),
    "middle": dict(symbols=64, tokens=128, batch=16, layers=4, heads=8, width=256, hidden=1024, dropout=0.1, causal=False),
}


class SdpaLayer(nn.Module):
    """Pre-norm, one product for queries, keys and values."""

    def __init__(self, sizes):
        super().__init__()
        width, hidden = sizes["width"], sizes["hidden"]
        self.heads, self.causal, self.p = sizes["heads"], sizes["causal"], sizes["dropout"]
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def drop(self, x):
        return functional.dropout(x, self.p, self.training) if self.p > 0 else x

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.in_proj(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*qkv.unbind(0), dropout_p=self.p if self.training else 0.0,
                                                    is_causal=self.causal)
        x = x + self.drop(self.out_proj(y.transpose(1, 2).reshape(batch, tokens, width)))
        return x + self.drop(self.linear2(self.drop(functional.gelu(self.linear1(self.norm2(x))))))


class Model(nn.Module):
    def __init__(self, sizes, by_hand):
        super().__init__()
        width, p = sizes["width"], sizes["dropout"]
        self.embedding = nn.Embedding(sizes["symbols"], width)
        self.position = nn.Parameter(0.7 * torch.randn(sizes["tokens"], width))
        self.dropout = nn.Dropout(p)
        self.output = nn.Linear(width, sizes["symbols"])
        self.flags = {}
        if by_hand:
            self.encoder = nn.Sequential(*[SdpaLayer(sizes) for _ in range(sizes["layers"])], nn.LayerNorm(width))
            return
        layer = nn.TransformerEncoderLayer(width, sizes["heads"], sizes["hidden"], p, "gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, sizes["layers"], nn.LayerNorm(width), enable_nested_tensor=False)
        if sizes["causal"]:
            self.flags = dict(mask=nn.Transformer.generate_square_subsequent_mask(sizes["tokens"]), is_causal=True)

    def forward(self, tokens):
        return self.output(self.encoder(self.dropout(self.embedding(tokens) + self.position), **self.flags))


class Data:
    """Sequences to reverse, or windows of a random text and the character after each."""

    def __init__(self, sizes):
        self.symbols, self.shape, self.causal = sizes["symbols"], (sizes["batch"], sizes["tokens"]), sizes["causal"]
        if self.causal:
            self.windows = torch.randint(self.symbols, (TEXT_CHARACTERS,)).unfold(0, sizes["tokens"] + 1, 1)

    def batch(self):
        if self.causal:
            rows = self.windows[torch.randint(len(self.windows), self.shape[:1])]
            return rows[:, :-1], rows[:, 1:]
        tokens = torch.randint(self.symbols, self.shape)
        return tokens, tokens.flip(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("variant", choices=["eager", "compile", "bfloat16", "sdpa", "sdpa-compile"])
    parser.add_argument("preset", choices=PRESETS)
    parser.add_argument("threads", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--dropout", type=float)
    options = parser.parse_args()
    sizes = dict(PRESETS[options.preset])
    if options.dropout is not None:
        sizes["dropout"] = options.dropout
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = Model(sizes, options.variant.startswith("sdpa")).train()
    parameters = sum(p.numel() for p in model.parameters())
    forward = torch.compile(model) if options.variant.endswith("compile") else model
    lower = (lambda: torch.autocast("cpu", torch.bfloat16)) if options.variant == "bfloat16" else contextlib.nullcontext
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    data = Data(sizes)

    def step():
        tokens, labels = data.batch()
        with lower():
            logits = forward(tokens)
        loss = functional.cross_entropy(logits.float().reshape(-1, sizes["symbols"]), labels.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    start = time.perf_counter()
    for _ in range(WARM_UP):
        step()
    warm_up = time.perf_counter() - start
    ms = []
    for number in range(1, options.steps + 1):
        start = time.perf_counter()
        last_loss = step()
        if number > options.steps // 10:
            ms.append(1e3 * (time.perf_counter() - start))
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"preset": options.preset, "ms_per_step": round(statistics.median(ms), 4), "min_ms": round(min(ms), 4),
                      "steps": options.steps, "threads": options.threads, "parameters": parameters,
                      "last_loss": round(last_loss, 4), "warm_up_seconds": round(warm_up, 2),
                      "peak_mib": round(peak_mib, 1), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
