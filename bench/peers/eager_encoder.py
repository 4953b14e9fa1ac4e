"""The preset `reference` in Python: eager nn.TransformerEncoder, fused AdamW, clipping at 1, dropout 0.1, on reverse.

Usage: eager_encoder.py THREADS STEPS. Prints one JSON line: the median over steps, without the first tenth.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn

SYMBOLS, T, BATCH, D, HEADS, FF, LAYERS, DROPOUT, RATE = 64, 32, 64, 64, 4, 256, 2, 0.1, 1e-3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, D)
        self.position = nn.Parameter(0.7 * torch.randn(T, D))
        self.dropout = nn.Dropout(DROPOUT)
        layer = nn.TransformerEncoderLayer(D, HEADS, FF, DROPOUT, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(D), enable_nested_tensor=False)
        self.output = nn.Linear(D, SYMBOLS)

    def forward(self, tokens):
        return self.output(self.encoder(self.dropout(self.embedding(tokens) + self.position)))


def main():
    threads, steps = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Model().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    ms = []
    for step in range(1, steps + 1):
        start = time.perf_counter()
        tokens = torch.randint(SYMBOLS, (BATCH, T))
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.reshape(-1, SYMBOLS), tokens.flip(1).reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        last_loss = loss.item()
        if step > steps // 10:
            ms.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"ms_per_step": round(statistics.median(ms), 4), "steps": steps, "threads": threads,
                      "parameters": sum(p.numel() for p in model.parameters()), "last_loss": round(last_loss, 4),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
