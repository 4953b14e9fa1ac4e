"""The noisy sine of `regress --demo` as Python's torch (2.11) draws it: writes noisy_sine.json.

Usage: python3 make_noisy_sine.py
"""
import json
import pathlib

import torch

torch.manual_seed(42)
x = torch.rand(80) * 10
y = torch.sin(x) + 0.2 * torch.randn(80)
document = {"torch": torch.__version__, "x": x.double().tolist(), "y": y.double().tolist()}
pathlib.Path(__file__).with_name("noisy_sine.json").write_text(json.dumps(document, indent=1) + "\n")
