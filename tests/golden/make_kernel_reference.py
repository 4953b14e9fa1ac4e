#!/usr/bin/env python3
"""tests/golden/kernel_reference.json: the cases of ../shared/reference/kernel.json (direct numpy float64, its script 03_kernel_refs.py)
whose data stand in data/.   python3 tests/golden/make_kernel_reference.py ../shared > tests/golden/kernel_reference.json"""
import json
import pathlib
import sys

CASES = ("noisy_sine", "nile_lag1", "sunspots_lag1", "sunspots_lag1_2", "concrete")
known = json.loads((pathlib.Path(sys.argv[1]) / "reference" / "kernel.json").read_text())
known["cases"] = {name: known["cases"][name] for name in CASES}
print(json.dumps(known, indent=1))
