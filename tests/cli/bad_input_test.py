"""Wrong calls and files: one line that names the fault, the documented exit code, and nothing written."""

import os
import shutil
import unittest

from program import ProgramTest

USAGE, BAD_DATA, MISSING, CANNOT_CREATE, BAD_CONFIG = 64, 65, 66, 73, 78
SMALL = ["--steps", "2", "--batch", "4", "--d-model", "16", "--n-heads", "2", "--quiet"]

# (arguments, exit code, what the line must hold)
CALLS = [
    (["fly"], USAGE, ['"fly" is no verb', "train, heatmap"]),
    (["test"], USAGE, ["./headtorch"]),
    (["--fly"], USAGE, ["--fly"]),
    (["train"], USAGE, ["reverse, copy, sort"]),
    (["train", "revers"], USAGE, ['"revers"', "reverse, copy, sort"]),
    (["train", "reverse", "sort"], USAGE, ['"sort"']),
    (["train", "reverse", "--heads", "4"], USAGE, ["--heads is no flag", "--n-heads"]),
    (["train", "reverse", "--xyzzy=4"], USAGE, ["--xyzzy is no flag"]),
    (["train", "reverse", "--lr"], USAGE, ["--lr", "no value"]),
    (["train", "reverse", "--lr", "1", "--lr", "2"], USAGE, ["--lr", "more than once"]),
    (["train", "reverse", "--lr", "abc"], USAGE, ["--lr", '"abc"', "> 0"]),
    (["train", "reverse", "--lr", "1.5abc"], USAGE, ["--lr", '"1.5abc"']),
    (["train", "reverse", "--steps", "0x10"], USAGE, ["--steps", '"0x10"']),
    (["train", "reverse", "--steps", "1.5"], USAGE, ["--steps", '"1.5"', "integer"]),
    (["train", "reverse", "--device", "tpu"], USAGE, ["--device", '"tpu"', "auto, cpu, cuda"]),
    (["train", "reverse", "--schedule", "step"], USAGE, ["cosine, linear, inverse-sqrt, wsd, constant"]),
    (["train", "reverse", "--preset", "big"], USAGE, ['"big"', "reverse-published"]),
    (["train", "reverse", "--lr", "-1"], BAD_CONFIG, ["--lr", "-1", "> 0"]),
    (["train", "reverse", "--lr", "nan"], BAD_CONFIG, ["--lr", "nan"]),
    (["train", "reverse", "--lr", "1e400"], BAD_CONFIG, ["--lr", "1e400"]),
    (["train", "reverse", "--dropout", "1"], BAD_CONFIG, ["--dropout", "[0, 1)"]),
    (["train", "reverse", "--seed", "-1"], BAD_CONFIG, ["--seed", "-1"]),
    (["train", "reverse", "--n-symbols", "1"], BAD_CONFIG, ["--n-symbols", "1"]),
    (["train", "reverse", "--d-model", "30", "--n-heads", "4"], BAD_CONFIG, ["30", "4"]),
    (["train", "reverse", "--kernel-offset", "1,2,3"], BAD_CONFIG, ["kernel_offset", "3", "n_heads = 2"]),
    (["train", "reverse", "--head-kernels", "L0H1 gaus"], USAGE, ["--head-kernels", "L0H1 gaus", "same-token"]),
    (["train", "reverse", "--head-kernels", "L0H1 gaussian bandwidth 0"], BAD_CONFIG, ["bandwidth is 0"]),
    (["train", "reverse", "--head-kernels", "L0H7 uniform"], BAD_CONFIG, ["L0H7", "n_heads = 2"]),
    (["train", "reverse", "--head-kernels", "L0H1 uniform,L0H1 induction"], BAD_CONFIG, ["L0H1", "twice"]),
    (["train", "induction", "--family", "encoder"], BAD_CONFIG, ["encoder", "induction", "causal"]),
    (["train", "reverse", "--min-lr", "1"], BAD_CONFIG, ["min_lr", "lr"]),
    (["train", "sort", "--preset", "reverse-published"], BAD_CONFIG, ["reverse", "sort"]),
    (["train", "reverse", "--file", "a.txt"], BAD_CONFIG, ["file", "reverse"]),
    (["train", "text"], BAD_CONFIG, ["file"]),
    (["train", "text", "--file", "absent.txt"], MISSING, ["absent.txt"]),
    (["train", "text", "--file", "."], MISSING, ["regular file"]),
    (["train", "reverse", "--config", "absent.toml"], MISSING, ["absent.toml"]),
    (["heatmap"], USAGE, ["RUN"]),
    (["heatmap", "nowhere"], MISSING, ["nowhere"]),
    (["heatmap", "."], MISSING, ["no run"]),
    (["compare", "reverse", "--seeds", "0"], BAD_CONFIG, ["--seeds", "0"]),
    (["compare", "reverse", "--seeds", "few"], USAGE, ["--seeds", '"few"']),
    (["compare", "reverse", "--bandwidth", "1,,2"], USAGE, ["--bandwidth"]),
    (["baseline", "reverse", "--bandwidth", "0"], BAD_CONFIG, ["--bandwidth", "0"]),
    (["compare", "reverse", "--score", "uniform"], USAGE, ["--score"]),
    (["compare", "reverse", "--match", "seconds"], USAGE, ["--match", '"seconds"', "operations"]),
    (["compare", "reverse", "--match", "parameters", "--d-ff", "0"], BAD_CONFIG, ["d_ff = 0"]),
    (["baseline", "reverse", "--match", "steps"], USAGE, ["--match"]),
    (["compare", "."], MISSING, ["no run"]),
    (["compare", "reverse", "--out", "/proc/none"], CANNOT_CREATE, ["/proc/none"]),
    (["tasks", "nothing"], USAGE, ['"nothing"']),
    (["tasks", "reverse", "--sample", "0"], BAD_CONFIG, ["--sample"]),
    (["presets", "nothing"], USAGE, ['"nothing"', "text-small"]),
    (["presets", "one", "two"], USAGE, ['"two"']),
    (["train", b"\xff\xfe\x1b[31m"], USAGE, ["is unknown"]),
    (["train", "reverse\nsort"], USAGE, ["is unknown"]),
]

# (contents of c.toml, exit code, what the line must hold)
CONFIGS = [
    (b"[model]\n\nn_head = 4\n", BAD_CONFIG, ["[c.toml:3]", "n_head", "n_heads"]),
    (b"[modell]\nn_heads = 4\n", BAD_CONFIG, ["[c.toml:1]", "modell", "[model]"]),
    (b'[train]\nsteps = "many"\n', BAD_CONFIG, ["[c.toml:2]", 'train.steps = "many"', "integer"]),
    (b"[train]\nlr = 1e-3\nsteps = 0\n", BAD_CONFIG, ["[c.toml:3]", "train.steps = 0", "1"]),
    (b"[train]\nlr = nan\n", BAD_CONFIG, ["[c.toml:2]", "nan"]),
    (b'[train]\nschedule = "step"\n', BAD_CONFIG, ["[c.toml:2]", "cosine"]),
    (b"[train]\nlr = 1.5abc\n", BAD_DATA, ["[c.toml:2]", "TOML"]),
    (b"this is no TOML", BAD_DATA, ["[c.toml:1]", "TOML"]),
    (b"\x00\xff\xfe", BAD_DATA, ["c.toml"]),
    (b"[" + b"a." * 30000 + b"a]", BAD_DATA, ["c.toml"]),
]

# (contents of t.txt, exit code, what the line must hold)
TEXTS = [
    (b"", BAD_DATA, ["t.txt", "empty"]),
    (b"too short", BAD_DATA, ["t.txt", "9"]),
    (b"good " * 20 + b"\xff" + b" more" * 400, BAD_DATA, ["t.txt", "100"]),
    (b"cut " * 500 + b"\xe4\xb8", BAD_DATA, ["t.txt", "2000"]),
]


class BadInput(ProgramTest):

    def test_calls(self):
        for arguments, code, parts in CALLS:
            with self.subTest(arguments):
                self.assert_refused(arguments, code, *parts)

    def test_configuration_files(self):
        for text, code, parts in CONFIGS:
            with self.subTest(text[:40]):
                (self.folder / "c.toml").write_bytes(text)
                self.assert_refused(["train", "reverse", "--config", "c.toml"], code, *parts)

    def test_texts(self):
        for text, code, parts in TEXTS:
            with self.subTest(text[:20]):
                (self.folder / "t.txt").write_bytes(text)
                self.assert_refused(["train", "text", "--file", "t.txt"], code, *parts)

    def test_G41_cuda_without_a_gpu(self):
        if os.path.exists("/proc/driver/nvidia"):
            self.skipTest("this machine has an NVIDIA GPU")
        self.assert_refused(["train", "reverse", "--device", "cuda"], BAD_CONFIG, "cuda")

    def test_places_for_a_run(self):
        (self.folder / "file").write_text("mine")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "mine.txt").write_text("mine")
        train = ["train", "reverse", *SMALL]
        self.assert_refused([*train, "--out", "full"], CANNOT_CREATE, "full")
        self.assert_refused([*train, "--out", "full", "--overwrite"], CANNOT_CREATE, "full")
        self.assert_refused([*train, "--out", "file"], CANNOT_CREATE, "file")
        self.assert_refused([*train, "--out", "file/run"], CANNOT_CREATE, "file")


class BadRun(ProgramTest):
    """Calls on a run that exists; one training serves all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        maker = ProgramTest()
        maker.setUp()
        cls.addClassCleanup(maker.doCleanups)
        maker.succeed("train", "reverse", *SMALL, "--out", "run")
        cls.made = maker.folder / "run"

    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"
        shutil.copytree(self.made, self.run_folder)

    def test_arguments(self):
        numbers = " ".join("1" for _ in range(20))
        for arguments, code, parts in [
            (["--layer", "2"], BAD_CONFIG, ["--layer", "2", "0, 1"]),
            (["--layer", "-1"], BAD_CONFIG, ["--layer", "-1"]),
            (["--layer", "one"], USAGE, ["--layer", '"one"']),
            (["--head", "2"], BAD_CONFIG, ["--head", "2", "0 to 1"]),
            (["--sample", "1000"], BAD_CONFIG, ["--sample", "1000", "0 to"]),
            (["--step", "1"], BAD_CONFIG, ["--step", "1", "2"]),
            (["--step", "99"], BAD_CONFIG, ["--step", "99"]),
            (["--format", "gif"], USAGE, ["--format", '"gif"', "png, svg"]),
            (["--color-range", "wide"], USAGE, ["--color-range", '"wide"', "unit, head, log"]),
            (["--input", "3 1 12"], BAD_DATA, ['"12"']),
            (["--input", "3 1 4abc"], BAD_DATA, ['"4abc"']),
            (["--input", ""], BAD_DATA, ["empty"]),
            (["--input", numbers], BAD_DATA, ["20", "16"]),  # G12 (a)
            (["--input", "3 1 4", "--sample", "1"], USAGE, ["--sample"]),
            (["--out", "run/config.toml/x"], CANNOT_CREATE, ["config.toml"]),
        ]:
            with self.subTest(" ".join(arguments)):
                self.assert_refused(["heatmap", "run", *arguments], code, *parts)

    def test_an_occupied_place(self):
        self.assert_refused(["train", "reverse", *SMALL, "--out", "run"], CANNOT_CREATE, "run")

    def test_damaged_files(self):
        for pattern, arguments in [("checkpoints/*/model.safetensors", ["--input", "3 1 4"]),
                                   ("checkpoints/*/manifest.json", ["--input", "3 1 4"]),
                                   ("attention/*/layer-1.npy", []), ("attention/*/tokens.json", []),
                                   ("config.toml", ["--input", "3 1 4"])]:
            (path,) = self.run_folder.glob(pattern)
            whole = path.read_bytes()
            for damage, bytes_ in [("cut", whole[:len(whole) // 2]), ("empty", b""),
                                   ("flipped", whole[:20] + bytes([whole[20] ^ 0x80]) + whole[21:])]:
                if path.name == "config.toml" and damage != "flipped":
                    continue  # half a configuration is a configuration
                with self.subTest(f"{pattern} {damage}"):
                    path.write_bytes(bytes_)
                    self.assert_refused(["heatmap", "run", *arguments], BAD_DATA, path.name)
            path.write_bytes(whole)
        self.succeed("heatmap", "run", "--format", "csv")

    def test_absent_files(self):
        (model,) = self.run_folder.glob("checkpoints/*/model.safetensors")
        model.unlink()
        self.assert_refused(["heatmap", "run", "--input", "3 1 4"], MISSING, "model.safetensors")
        shutil.rmtree(self.run_folder / "attention")
        self.assert_refused(["heatmap", "run"], MISSING, "weights")


if __name__ == "__main__":
    unittest.main()
