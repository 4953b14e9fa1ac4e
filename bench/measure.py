"""What bench/run and bench/reverse share: the build, the peer's Python, facts of the machine, spread over runs."""
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
PEER_TORCH = "2.11.0"


def say(text):
    print(text, file=sys.stderr, flush=True)


def call(*command):
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, stdout=sys.stderr)


def build(target, place):
    """The program `target`, built where HEADTORCH_BUILD_DIR says or in build/release; `place` is its path in there."""
    folder = pathlib.Path(os.environ.get("HEADTORCH_BUILD_DIR", ROOT / "build" / "release"))
    if not (folder / "build.ninja").exists():
        call("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release")
    call("cmake", "--build", folder, "--target", target)
    return folder / place


def peer_python():
    """HEADTORCH_PEER_PYTHON, else third_party/.peer-python, made at first use (torch 2.11.0, several GB of download)."""
    given = os.environ.get("HEADTORCH_PEER_PYTHON")
    if given:
        return given
    folder = ROOT / "third_party" / ".peer-python"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        say(f"installing torch {PEER_TORCH} for the peer into {folder}")
        call(sys.executable, "-m", "venv", folder)
        call(python, "-m", "pip", "install", "-q", f"torch=={PEER_TORCH}")
        (folder / "complete").touch()
    return python


def last_json(command, threads):
    """Runs a command with that many OpenMP threads and reads the last line that it prints."""
    done = subprocess.run([str(part) for part in command], env={**os.environ, "OMP_NUM_THREADS": str(threads)},
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} {command[1]} ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def machine():
    facts = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines())
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = facts.get("flags", "").split()
    return {"processor": facts.get("model name", platform.machine()), "cores": os.cpu_count(),
            "instructions": [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if name in flags],
            "system": platform.platform()}


def load():
    """Runnable processes, mean over the last minute."""
    return os.getloadavg()[0]


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip()


def spread(values, digits=3):
    return {"median": round(statistics.median(values), digits), "min": round(min(values), digits),
            "max": round(max(values), digits), "runs": [round(value, digits) for value in values]}
