"""Python's F.scaled_dot_product_attention against ours, on the same torch: outputs and gradients.

Run by ctest with the program attention_parity as argument. Needs a Python with a whole torch, of the version that
headtorch builds on: HEADTORCH_PEER_PYTHON names one, else that of bench/run (third_party/.peer-python) is taken; skips
(exit code 77) where there is none.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PEER_TORCH = "2.11.0"
ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import torch
except ImportError:
    torch = None


def skip(why):
    print(f"skipped: {why}; HEADTORCH_PEER_PYTHON=/path/to/python names one with torch {PEER_TORCH}")
    sys.exit(77)


def start_again_with_torch():
    """In the Python that has one; its exit code is ours."""
    python = os.environ.get("HEADTORCH_PEER_PYTHON", str(ROOT / "third_party/.peer-python/bin/python"))
    if os.environ.get("HEADTORCH_PEER_STARTED") or not pathlib.Path(python).exists():
        skip(f"no torch in {sys.executable} and no {python}")
    environment = {**os.environ, "HEADTORCH_PEER_STARTED": "1"}
    sys.exit(subprocess.run([python, *sys.argv], env=environment, check=False).returncode)


def write_safetensors(path, tensors, metadata):
    names = {torch.float64: "F64", torch.float32: "F32", torch.bool: "BOOL"}
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        raw = bytes(tensor.detach().contiguous().view(torch.uint8).flatten().tolist())
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    dtypes = {"F64": torch.float64, "F32": torch.float32}
    raw = path.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(raw[start + t["data_offsets"][0]:start + t["data_offsets"][1]]),
                                   dtype=dtypes[t["dtype"]]).view(t["shape"]) for name, t in header.items()}


def cases():
    """{name: (sizes B H T S E V, scale, causal, visible)}. Python's causal flag fits ours where T = S."""
    lengths = torch.tensor([7, 4])
    padding = (torch.arange(7) < lengths[:, None])[:, None, None, :]
    some = torch.rand(2, 3, 5, 7) < 0.6
    some[..., 0] = True  # each row sees a key
    square = (2, 3, 7, 7, 4, 5)
    return {"plain": (square, 0.5, False, None), "causal": (square, 0.5, True, None), "scale": (square, 1.7, False, None),
            "padding": (square, 0.5, False, padding), "causal_padding": (square, 0.5, True, padding),
            "cross": ((2, 3, 5, 7, 4, 4), 0.5, False, some), "cross_plain": ((2, 3, 5, 7, 3, 4), 0.3, False, None),
            "one": ((1, 1, 1, 1, 1, 1), 1.0, True, None), "long": ((1, 2, 65, 65, 16, 16), 0.25, True, None)}


class TorchParity(unittest.TestCase):
    program = None

    def compare(self, dtype, limit):
        torch.manual_seed(3)
        tensors, metadata, wanted = {}, {}, {}
        for name, (sizes, scale, causal, visible) in cases().items():
            b, h, t, s, e, v = sizes
            q, k, values = (torch.randn(b, h, n, width, dtype=dtype, requires_grad=True) for n, width in ((t, e), (s, e), (s, v)))
            grad_y = torch.randn(b, h, t, v, dtype=dtype)
            mask = visible if visible is None or not causal else visible & torch.ones(t, s, dtype=torch.bool).tril()
            y = torch.nn.functional.scaled_dot_product_attention(q, k, values, mask, is_causal=causal and visible is None,
                                                                 scale=scale)
            wanted[name] = dict(zip(("y", "grad_q", "grad_k", "grad_v"), (y, *torch.autograd.grad(y, (q, k, values), grad_y))))
            tensors.update({f"{name}/q": q, f"{name}/k": k, f"{name}/v": values, f"{name}/grad_y": grad_y})
            if visible is not None:
                tensors[f"{name}/visible"] = visible
            metadata[name] = f"{scale} {'causal' if causal else 'all'}"
        with tempfile.TemporaryDirectory() as folder:
            given, found = pathlib.Path(folder, "in.safetensors"), pathlib.Path(folder, "out.safetensors")
            write_safetensors(given, tensors, metadata)
            subprocess.run([self.program, given, found], check=True)
            ours = read_safetensors(found)
        self.assertEqual(len(ours), 3 * 4 * len(wanted))
        for name, parts in wanted.items():
            for part, want in parts.items():
                for path in ("explicit", "fused", "blocked"):
                    with self.subTest(case=name, part=part, path=path):
                        apart = (ours[f"{name}/{path}/{part}"] - want.detach()).abs().max().item()
                        self.assertLessEqual(apart, limit * max(1.0, want.abs().max().item()))

    def test_float64(self):
        self.compare(torch.float64, 1e-10)

    def test_float32(self):
        self.compare(torch.float32, 1e-5)


if __name__ == "__main__":
    if torch is None:
        start_again_with_torch()
    if torch.__version__.split("+")[0] != PEER_TORCH:
        skip(f"{sys.executable} has torch {torch.__version__}, expected {PEER_TORCH}")
    print(f"torch {torch.__version__} of {sys.executable}")
    TorchParity.program = sys.argv.pop(1)
    unittest.main(verbosity=2)
