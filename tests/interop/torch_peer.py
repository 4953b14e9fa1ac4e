"""What the tests against Python's torch share: that Python, and the files that tensors go across in.

They need a Python with a whole torch, of the version that headtorch builds on: HEADTORCH_PEER_PYTHON names one, else that
of bench/run (third_party/.peer-python) is taken; they skip (exit code 77) where there is none.
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


def ask(program, tensors, metadata):
    """The tensors that one of our programs answers with."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = pathlib.Path(folder, "in.safetensors"), pathlib.Path(folder, "out.safetensors")
        write_safetensors(given, tensors, metadata)
        subprocess.run([program, given, found], check=True)
        return read_safetensors(found)


def main(test_case):
    """Runs the tests of a class, whose `program` is the first argument."""
    if torch is None:
        start_again_with_torch()
    if torch.__version__.split("+")[0] != PEER_TORCH:
        skip(f"{sys.executable} has torch {torch.__version__}, expected {PEER_TORCH}")
    print(f"torch {torch.__version__} of {sys.executable}")
    test_case.program = sys.argv.pop(1)
    unittest.main(verbosity=2)
