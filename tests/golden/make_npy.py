#!/usr/bin/env python3
"""Writes npy.json: files as NumPy writes them, as hexadecimal text, with their shape and their numbers as float32.

    pip install numpy==2.4.6
    python3 make_npy.py > npy.json
"""
import io
import json

import numpy as np
from numpy.lib import format as npy

# Each is exact in float16, or shows a rule of it: subnormal, largest, infinite, not a number.
VALUES = [0, 1, 0.5, 0.25, 0.0999755859375, 2.0 ** -24, 65504, 0.333251953125, 1 - 2.0 ** -11, 6.103515625e-05, -0.75, 3]


def hexed(array, version):
    stream = io.BytesIO()
    npy.write_array(stream, array, version=version)
    return stream.getvalue().hex()


def case(name, array, version=(1, 0)):
    values = np.ascontiguousarray(array).astype(np.float32).ravel()
    return {"name": name, "hex": hexed(array, version), "shape": list(array.shape), "values": values.tolist()}


def cases():
    array = np.array(VALUES).reshape(2, 2, 3)
    for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"):
        yield case(f"C order {dtype}", array.astype(dtype))
        yield case(f"Fortran order {dtype}", np.asfortranarray(array.astype(dtype)))
    for version in ((2, 0), (3, 0)):
        yield case(f"version {version[0]}", array.astype("<f4"), version)
    yield case("one dimension", array.astype("<f4").ravel())
    yield case("no dimension", np.array(0.25, "<f4"))
    yield case("nothing", np.zeros((0, 3), "<f4"))
    yield case("five dimensions, Fortran order", np.asfortranarray(np.arange(48, dtype="<f4").reshape(2, 2, 2, 2, 3)))


print(json.dumps({"made_with": f"numpy {np.__version__}", "cases": list(cases())}, indent=1))
