#!/usr/bin/env python3
"""Writes safetensors.json: files as the reference writer makes them, as hexadecimal text.

    pip install safetensors==0.8.0 numpy xxhash
    python3 make_safetensors.py > safetensors.json

Metadata has one entry at most: the reference leaves the order of several to chance.
"""
import json

import numpy as np
import safetensors
import xxhash
from safetensors import TensorSpec, serialize
from safetensors.numpy import save

rng = np.random.default_rng(7)


def normal(shape, dtype):
    return rng.normal(size=shape).astype(dtype)


def integers(shape, dtype):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)


def one_of_each():
    tensors = {f"t.{d}": integers((2, 3), d) for d in
               ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]}
    tensors |= {f"t.{d}": normal((3, 2), d) for d in ["float16", "float32", "float64"]}
    tensors["t.bool"] = rng.integers(0, 2, size=5).astype(bool)
    return tensors


def bfloat16():
    arrays = {"w": rng.integers(0, 1 << 16, size=(2, 2), dtype=np.uint16), "half": normal(3, np.float16)}
    spec = {name: TensorSpec(dtype="bfloat16" if name == "w" else "float16", shape=list(a.shape),
                             data_ptr=a.ctypes.data, data_len=a.nbytes) for name, a in arrays.items()}
    return serialize(spec, {"format": "pt"})


a = np.arange(6, dtype=np.float32).reshape(2, 3)
names = {n: np.full(1, i, np.float32) for i, n in enumerate(
    ["b", "B", "a.10", "a.9", "\u00e9", "\uffee", "\U0001F600", "quote\"back\\slash/", "\u0001\u001f\u007f\t\n\u2028", ""])}
files = {
    "one of each": save(one_of_each(), {"format": "pt"}),
    "bfloat16": bfloat16(),
    "names": save(names),
    "sizes of zero": save({"empty": np.zeros((0, 3), np.float32), "scalar": np.array(2.5, np.float32)}),
    "no tensors": save({}),
    "G19 transpose": save({"t": np.ascontiguousarray(a.T)}),
    "metadata": save({"t": a}, {"a \"key\"": "line\nbreak \u0001 \u00e9 \\ /"}),
}
hashes = {text: f"{xxhash.xxh3_64_intdigest(text.encode()):016x}" for text in ["", "a", "headtorch", "x" * 1000]}

print(json.dumps({
    "made_with": f"safetensors {safetensors.__version__}, numpy {np.__version__}, xxhash {xxhash.VERSION}",
    "files": {name: data.hex() for name, data in files.items()},
    "xxh3_64": hashes,
}, indent=1))
