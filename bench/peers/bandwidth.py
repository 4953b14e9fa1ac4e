"""One choice of a bandwidth by a Python peer: one column, local constant, leave-one-out, Gaussian, one thread.
Usage: bandwidth.py kernelsmooth|statsmodels N     Prints one JSON document; CPU seconds of this process, without imports.
The same data as bench/bandwidth_choice.cpp (no random generator, no file)."""
import importlib.metadata
import json
import sys
import time

import numpy as np


def waves(n):
    i = np.arange(1, n + 1, dtype=np.float64)
    x, u, v = (z - np.floor(z) for z in (i * 0.6180339887498949, i * 0.41421356237309515, i * 0.7320508075688772))
    return x, np.sin(4 * np.pi * x) + 0.3 * np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)


def choose_with_kernelsmooth(x, y):
    from kernelsmooth import KernelRegression
    start = time.process_time()
    model = KernelRegression("lscv", diag_cov=True).fit(x[:, None], y)
    return float(np.ravel(model.bandwidth)[0] * np.ravel(model.L)[0]), time.process_time() - start


def choose_with_statsmodels(x, y):
    from statsmodels.nonparametric.kernel_regression import KernelReg
    start = time.process_time()
    model = KernelReg(y, x, "c", reg_type="lc", bw="cv_ls")
    return abs(float(model.bw[0])), time.process_time() - start


peer, n = sys.argv[1], int(sys.argv[2])
bandwidth, seconds = {"kernelsmooth": choose_with_kernelsmooth, "statsmodels": choose_with_statsmodels}[peer](*waves(n))
print(json.dumps({"bandwidth": bandwidth, "cpu_seconds": seconds, "version": importlib.metadata.version(peer),
                  "numpy": np.__version__}))
