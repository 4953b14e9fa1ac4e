"""Whole runs with small budgets: what is written, what repeats, how a run ends."""

import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

from program import PROGRAM, ProgramTest, strict_json

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
DIVERGED, CANNOT_CREATE, INTERRUPTED, TERMINATED = 2, 73, 130, 143
TINY = ["--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--quiet"]
TEXT = "the quick brown fox jumps over the lazy dog\n" * 60


def metrics(run):
    return [strict_json(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def without_times(lines):
    return [{key: value for key, value in line.items() if key not in ("wall_seconds", "tokens_per_second")}
            for line in lines]


def model(run):
    (path,) = run.glob("checkpoints/*/model.safetensors")
    return path.read_bytes()


def npy_shape(path):
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode("latin1")
    return tuple(int(n) for n in re.search(r"'shape': \(([\d, ]+)\)", header).group(1).split(",") if n.strip())


class Train(ProgramTest):

    def test_writes_a_whole_run_and_one_document(self):
        document = self.json_of("train", "reverse", "--steps", "20", "--eval-every", "10", *TINY)
        self.assertEqual(list(document)[:9], ["run", "task", "parameters", "steps", "seconds", "tokens_per_second",
                                              "threads", "device", "test"])
        self.assertEqual((document["run"], document["task"], document["steps"]), ("runs/reverse-001", "reverse", 20))
        self.assertEqual(document["test"]["n"], 10000)
        self.assertEqual(document["ending"], "complete")
        run = self.folder / document["run"]
        self.assertEqual(strict_json((run / "result.json").read_text()), document)
        steps = [line for line in metrics(run) if line["kind"] == "train"]
        self.assertEqual([line["step"] for line in steps], list(range(1, 21)))
        self.assertEqual(list(steps[0]), ["kind", "step", "loss", "lr", "grad_norm", "clipped", "non_finite",
                                          "tokens_per_second", "wall_seconds"])
        self.assertIn(10, [line["step"] for line in metrics(run) if line["kind"] == "eval"])
        step = run / "attention" / "step-00000020"
        tokens = strict_json((step / "tokens.json").read_text())["tokens"]
        for layer in range(2):
            self.assertEqual(npy_shape(step / f"layer-{layer}.npy"), (len(tokens), 2, 16, 16))
            for name in [f"layer-{layer}", f"layer-{layer}-head-0", f"layer-{layer}-head-1"]:
                self.assertEqual((run / "heatmaps" / f"{name}.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
                self.assertIn(b"<svg", (run / "heatmaps" / f"{name}.svg").read_bytes()[:400])
        self.assertTrue((run / "checkpoints" / "step-00000020" / "manifest.json").exists())

    def test_points_in_context_end_with_a_table_of_errors(self):
        for task, length in [("functions", "8"), ("regression", "16")]:
            document = self.json_of("train", task, "--seq-len", length, "--steps", "3", *TINY)
            rows = document["test"]["by_points"]
            self.assertEqual([row["k"] for row in rows], list(range(8)))
            self.assertEqual(list(rows[0]), ["k", "model", "nadaraya_watson", "nearest_3", "average", "least_squares",
                                             "best"])
            for row in rows[1:]:
                for key in list(row)[1:]:
                    self.assertGreaterEqual(row[key], 0.999 * row["best"] - 1e-6, (task, key, row))
            self.assertEqual(rows[0]["average"], rows[0]["best"])
            self.assertEqual((self.folder / document["run"] / "by_points.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        text = self.succeed("train", "functions", "--steps", "3", *TINY)
        self.assertIn("points seen", text)
        self.assertIn("of that of Nadaraya-Watson", text)

    def test_config_toml_repeats_the_run(self):
        self.succeed("train", "sort", "--steps", "5", "--lr", "0.01", "--seq-len", "8", *TINY, "--out", "a")
        self.succeed("train", "--config", "a/config.toml", "--out", "b", "--quiet")
        self.assertEqual((self.folder / "a/config.toml").read_bytes(), (self.folder / "b/config.toml").read_bytes())
        self.assertEqual(model(self.folder / "a"), model(self.folder / "b"))

    def test_G41_a_seed_decides_the_run(self):
        for name, seed, more in [("a", "7", []), ("b", "7", ["--heatmap-every", "2"]), ("c", "8", [])]:
            self.succeed("train", "copy", "--steps", "6", "--seed", seed, "--dropout", "0.1", *TINY, *more, "--out", name)
        a, b, c = (self.folder / name for name in "abc")
        self.assertEqual(without_times(metrics(a)), without_times(metrics(b)))
        self.assertEqual(model(a), model(b))
        self.assertNotEqual(without_times(metrics(a)), without_times(metrics(c)))
        self.assertNotEqual(model(a), model(c))

    def test_heatmaps_at_chosen_steps(self):
        self.succeed("train", "reverse", "--steps", "6", "--heatmap-every", "3", *TINY, "--out", "run")
        for step in ("step-00000003", "step-00000006"):
            self.assertTrue((self.folder / "run" / "heatmaps" / step / "layer-0.png").exists(), step)
            self.assertTrue((self.folder / "run" / "attention" / step / "layer-0.npy").exists(), step)

    def test_overwrite_replaces_an_earlier_run(self):
        self.succeed("train", "reverse", "--steps", "4", *TINY, "--out", "run")
        self.succeed("train", "reverse", "--steps", "3", *TINY, "--out", "run", "--overwrite")
        self.assertEqual(len([line for line in metrics(self.folder / "run") if line["kind"] == "train"]), 3)
        self.assertEqual([path.name for path in (self.folder / "run/checkpoints").iterdir()], ["step-00000003"])

    def test_G16_divergence_is_said_and_every_file_stays_json(self):
        code, out, err = self.run_program("train", "copy", "--lr", "1e30", "--warmup", "0", "--clip", "0", "--steps", "40",
                                          *TINY, "--json")
        document = strict_json(out)
        lines = metrics(self.folder / document["run"])
        self.assertTrue(any(line["loss"] is None for line in lines if line["kind"] == "train"))
        self.assertEqual(document["ending"], "diverged")
        self.assertEqual(code, DIVERGED)
        self.assertIn("diverged", err)

    def test_text(self):
        (self.folder / "t.txt").write_text(TEXT)
        document = self.json_of("train", "text", "--file", "t.txt", "--steps", "5", "--n-layers", "1", "--seq-len", "16",
                                *TINY)
        self.assertGreater(document["test"]["loss"], 0)
        other = self.folder / "elsewhere"
        other.mkdir()
        self.folder = other  # the run names its text by an absolute path
        weights = self.json_of("heatmap", "../runs/text-001", "--input", "the fox", "--format", "csv", "--out", "x")
        self.assertEqual(len(weights["layers"][0]["query_tokens"]), 7)

    def test_a_person_reads_what_came_out_and_what_to_try(self):
        out = self.succeed("train", "reverse", "--steps", "3", *TINY)
        self.assertIn("held-out sequences right", out)
        self.assertIn("Written: runs/reverse-001", out)
        self.assertIn("heads runs/reverse-001", out)
        self.assertNotIn("\x1b", out)

    def test_progress_is_plain_lines_when_not_on_a_terminal(self):
        arguments = [one for one in TINY if one != "--quiet"]
        code, out, err = self.run_program("train", "reverse", "--steps", "40", *arguments, "--json")
        strict_json(out)
        lines = [line for line in err.splitlines() if "tokens/s" in line]
        self.assertTrue(8 <= len(lines) <= 12, err)
        for word in ("loss", "rate", "norm", "left"):
            self.assertIn(word, lines[0])
        self.assertNotIn("\r", err)

    def stop_with(self, which, expected):
        process = self.start("train", "reverse", "--steps", "100000", *TINY, "--out", "run", "--json")
        lines = self.folder / "run" / "metrics.jsonl"
        deadline = time.monotonic() + 120
        while not (lines.exists() and lines.read_text().count("train") > 3):
            self.assertIsNone(process.poll(), "ended by itself")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(which)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, expected, err)
        document = strict_json(out.decode())
        step = document["steps"]
        self.assertTrue(0 < step < 100000)
        self.assertTrue((self.folder / "run" / "checkpoints" / f"step-{step:08}" / "model.safetensors").exists())
        self.succeed("heatmap", "run", "--input", "3 1 4", "--format", "csv", "--out", "x")

    def test_interrupted_with_what_was_learned_saved(self):
        self.stop_with(signal.SIGINT, INTERRUPTED)

    def test_terminated_with_what_was_learned_saved(self):
        self.stop_with(signal.SIGTERM, TERMINATED)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "tasks"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 74)


class Heatmap(ProgramTest):

    def test_every_format(self):
        self.succeed("train", "reverse", "--steps", "4", *TINY, "--out", "run")
        document = self.json_of("heatmap", "run", "--sample", "1", "--format", "png,svg,csv,npy,json,text", "--color-range",
                                "log", "--out", "figures")
        names = sorted(path.name for path in (self.folder / "figures").iterdir())
        self.assertEqual(sorted(pathlib.Path(name).name for name in document["files"]), names)
        for name in ["layer-0.png", "layer-1-head-1.svg", "layer-0-head-0.csv", "layer-1.npy", "weights.json", "layer-0.txt"]:
            self.assertIn(name, names)
        weights = document["layers"][1]["heads"][0]["weights"]
        for row in weights:
            self.assertAlmostEqual(sum(row), 1.0, delta=1e-5)  # float32 sums of 16
        self.assertEqual(npy_shape(self.folder / "figures" / "layer-1.npy"), (2, 16, 16))

    def test_one_head_of_one_layer_and_a_bare_name(self):
        self.succeed("train", "reverse", "--steps", "4", *TINY)
        out = self.succeed("heatmap", "reverse-001", "--layer", "1", "--head", "0", "--format", "text")
        self.assertIn("layer 1", out)
        self.succeed("heatmap", "reverse-001", "--layer", "1", "--head", "0", "--format", "npy", "--out", "x")
        self.assertEqual([path.name for path in (self.folder / "x").iterdir()], ["layer-1-head-0.npy"])

    def test_input_of_any_length_the_model_reads(self):
        self.succeed("train", "reverse", "--steps", "4", *TINY, "--out", "run")
        for length in (1, 3, 16):
            document = self.json_of("heatmap", "run", "--input", " ".join("3" * length), "--format", "csv", "--out", "x")
            self.assertEqual(len(document["layers"][0]["heads"][0]["weights"]), length)

    def test_stored_and_recomputed_weights_agree(self):
        self.succeed("train", "reverse", "--steps", "4", *TINY, "--out", "run")
        stored = self.json_of("heatmap", "run", "--format", "csv", "--out", "x")
        tokens = stored["layers"][0]["query_tokens"]
        again = self.json_of("heatmap", "run", "--input", " ".join(tokens), "--format", "csv", "--out", "y")
        for a, b in zip(stored["layers"], again["layers"]):
            for head_a, head_b in zip(a["heads"], b["heads"]):
                for row_a, row_b in zip(head_a["weights"], head_b["weights"]):
                    for x, y in zip(row_a, row_b):
                        self.assertAlmostEqual(x, y, delta=1e-6)


class Compare(ProgramTest):
    BUDGET = ["--steps", "3", "--seeds", "2", "--d-model", "8", "--n-heads", "2", "--d-ff", "16", "--batch", "4",
              "--seq-len", "6", "--n-symbols", "4", "--quiet"]

    def test_document(self):
        document = self.json_of("compare", "reverse", *self.BUDGET)
        self.assertIn(document["outcome"], range(1, 9))
        self.assertTrue(document["verdict"])
        self.assertTrue(document["verdict_reason"])
        kinds = {row["kind"] for row in document["rows"]}
        self.assertEqual(kinds, {"generic", "shaped", "learned", "replaced"})
        self.assertEqual([row["score"] for row in document["rows"]][-6:], ["raw-dot"] + 5 * ["dot"])
        for row in document["rows"]:
            self.assertEqual(row["steps"], 3)
            if row["name"] == "2 learned heads in each of 2 layers":
                self.assertIsNone(row["difference"])
                continue
            self.assertEqual(row["difference"]["to"], "2 learned heads in each of 2 layers")
            full = document["rows"][-2]["metric"]["seeds"]
            for mine, other, less in zip(row["metric"]["seeds"], full, row["difference"]["seeds"]):
                self.assertAlmostEqual(mine - other, less)
            self.assertEqual(list(row["metric"]), ["name", "mean", "min", "max", "low", "high", "seeds"])
            self.assertEqual(len(row["metric"]["seeds"]), 2)
            self.assertIsNone(row["metric"]["low"])
        self.assertFalse((self.folder / "runs").exists())

    def test_table_ends_with_the_verdict(self):
        out = self.succeed("compare", "sort", *self.BUDGET)
        self.assertIn("generic kernel", out)
        self.assertIn("shaped kernel", out)
        self.assertIn("learned", out)
        verdict, blank, following = out.splitlines()[-3:]
        self.assertTrue(verdict.endswith("."))
        self.assertTrue(following.startswith("Next: "))

    def test_a_new_folder_gets_the_document_and_the_figure(self):
        document = self.json_of("compare", "reverse", *self.BUDGET, "--out", "new")
        self.assertEqual(strict_json((self.folder / "new/result.json").read_text()), document)
        self.assertEqual((self.folder / "new/compare.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn(b"<svg", (self.folder / "new/compare.svg").read_bytes()[:400])
        self.assertEqual(len(list((self.folder / "new").iterdir())), 3)
        self.assert_refused(["compare", "reverse", *self.BUDGET, "--out", "new"], CANNOT_CREATE, "new")

    def test_a_run_is_compared_with_its_own_settings(self):
        self.succeed("train", "sort", "--steps", "3", "--seq-len", "6", "--n-symbols", "4", *TINY, "--out", "run")
        before = (self.folder / "run/result.json").read_bytes()
        out = self.succeed("compare", "run", "--seeds", "2", "--quiet")
        self.assertTrue(out.startswith("sort: "), out)
        self.assertIn("Written: run (compare.json, compare.png, compare.svg)", out)
        document = strict_json((self.folder / "run/compare.json").read_text())
        self.assertEqual((document["task"], document["steps"]), ("sort", 3))
        self.assertTrue((self.folder / "run/compare.png").exists())
        self.assertEqual((self.folder / "run/result.json").read_bytes(), before)
        self.assert_refused(["compare", "run", "--out", "x"], 64, "--out")
        self.assert_refused(["compare", "run", "--config", "run/config.toml"], 64, "--config")
        self.succeed("train", "sort", "--steps", "1", *TINY, "--out", "run", "--overwrite")
        self.assertFalse((self.folder / "run/compare.json").exists())

    def test_what_rows_have_in_common(self):
        rows = {match: self.json_of("compare", "reverse", *self.BUDGET, "--match", match)["rows"]
                for match in ("parameters", "operations")}
        counts = [row["parameters"] for row in rows["parameters"]]
        self.assertLess(max(counts) - min(counts), 40)
        self.assertEqual({row["steps"] for row in rows["parameters"]}, {3})
        self.assertEqual({row["steps"] for row in rows["operations"] if row["n_layers"] == 2 and row["score"] == "dot"},
                         {3})
        self.assertTrue(all(row["steps"] > 3 for row in rows["operations"] if row["score"] != "dot"))

    def test_baseline_has_fixed_kernels_alone(self):
        document = self.json_of("baseline", "copy", *self.BUDGET, "--bandwidth", "0.5,2")
        self.assertEqual({row["kind"] for row in document["rows"]}, {"generic", "shaped"})
        generic = [row for row in document["screened"] if row["kind"] == "generic"]
        self.assertEqual({row["bandwidth"] for row in generic}, {None, 0.5, 2.0})


class Lists(ProgramTest):

    def test_tasks(self):
        names = [task["name"] for task in self.json_of("tasks")["tasks"]]
        self.assertEqual(
            names, [
                "reverse", "copy", "sort", "histogram", "induction", "add", "recall", "mqar", "select", "dyck", "modular",
                "markov", "regression", "functions", "dates", "digits", "digits-question", "text", "series", "table"
            ])

    def test_examples_have_the_right_labels(self):
        for example in self.json_of("tasks", "copy", "--sample", "5")["examples"]:
            self.assertEqual(example["counted"], [False] * 3 + [True] * 13)
            self.assertEqual(example["labels"][3:], example["tokens"][:-3])
        for example in self.json_of("tasks", "reverse", "--sample", "5", "--seq-len", "4")["examples"]:
            self.assertEqual(example["labels"], example["tokens"][::-1])

    def test_examples_follow_the_seed(self):
        one, same, other = (self.json_of("tasks", "sort", "--seed", seed)["examples"] for seed in ("1", "1", "2"))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_a_preset_is_a_configuration_file(self):
        (self.folder / "mine.toml").write_text(self.succeed("presets", "sort-published"))
        self.succeed("train", "--config", "mine.toml", "--steps", "2", "--quiet")
        names = [preset["name"] for preset in self.json_of("presets")["presets"]]
        self.assertEqual(sorted(path.stem for path in (SOURCE / "models/presets").glob("*.toml")), names)

    def test_help_and_version(self):
        self.assertIn("Three commands to try", self.succeed())
        self.assertRegex(self.succeed("--version"), r"headtorch \d+\.\d+\.\d+ .*LibTorch 2\.\d+")
        self.assertIn("train", self.succeed("--help"))
        for verb in ("train", "heatmap", "compare", "baseline", "tasks", "presets"):
            self.assertIn("Example", self.succeed(verb, "--help"), verb)

    def test_numbers_use_a_point_in_every_locale(self):
        out = self.succeed("presets", "reverse", environment={"LC_ALL": "de_DE.UTF-8"})
        self.assertIn("dropout = 0.1", out)


if __name__ == "__main__":
    unittest.main()
