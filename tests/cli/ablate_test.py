"""The verb ablate on small runs: its document, its files, and the model it saves."""

import os
import signal
import subprocess
import unittest

from program import ProgramTest, listing, strict_json

USAGE, BAD_DATA, MISSING, CANNOT_CREATE, BAD_CONFIG, INTERRUPTED = 64, 65, 66, 73, 78, 130
TINY = ["--d-model", "16", "--d-ff", "32", "--batch", "8", "--quiet"]


class Ablate(ProgramTest):

    def train(self, *more, task="reverse", name="run", heads="2"):
        self.succeed("train", task, "--steps", "40", "--n-heads", heads, *TINY, "--out", name, *more)
        return self.folder / name

    def assert_change(self, change):
        self.assertEqual(list(change), ["value", "low", "high", "accuracy"])
        self.assertLessEqual(change["low"], change["value"])
        self.assertLessEqual(change["value"], change["high"])
        self.assertEqual(list(change["accuracy"]), ["value", "low", "high"])

    def test_one_document_with_every_head_layer_and_all(self):
        run = self.train()
        before = {name: data for name, data in listing(run).items()}
        document = self.json_of("ablate", "run", "--examples", "60", "--format", "csv,json,png,svg", "--quiet")
        self.assertEqual(list(document["base"]), ["n", "loss", "token_accuracy", "sequence_accuracy"])
        self.assertEqual(document["base"]["n"], 60)
        self.assertEqual([(head["layer"], head["head"]) for head in document["heads"]],
                         [(0, 0), (0, 1), (1, 0), (1, 1)])
        for part in document["heads"] + document["layers"] + [document["all"]]:
            for kind in ("removed", "mean_replaced", "uniform", "kernel_replaced"):
                self.assert_change(part[kind])
            if part["behaviour_share"] is None:
                self.assertLess(part["uniform"]["value"], 0.05)
            else:
                self.assertAlmostEqual(part["behaviour_share"],
                                       1 - part["kernel_replaced"]["value"] / part["uniform"]["value"], places=9)
        for layer in (0, 1):
            self.assertAlmostEqual(sum(head["importance"]**2 for head in document["heads"] if head["layer"] == layer), 1,
                                   places=6)
        self.assertEqual([step["heads_left"] for step in document["greedy"]], [3, 2, 1, 0])
        self.assertEqual(len({(step["layer"], step["head"]) for step in document["greedy"]}), 4)
        self.assertAlmostEqual(document["greedy"][-1]["loss"],
                               document["base"]["loss"] + document["all"]["removed"]["value"], places=5)
        self.assertEqual([path.split("/")[-1] for path in document["files"]],
                         ["heads.csv", "removal.csv", "removal.png", "removal.svg", "ablation.json"])
        for path in document["files"]:
            self.assertGreater((self.folder / path).stat().st_size, 100, path)
        self.assertEqual(len((run / "ablation/heads.csv").read_text().splitlines()), 1 + 4 + 2 + 1)
        after = {name: data for name, data in listing(run).items() if name.split("/")[0] != "ablation"}
        self.assertEqual(after, before, "the run changed")

    def test_a_person_reads_tables_and_what_to_do_next(self):
        self.train()
        out = self.succeed("ablate", "run", "--examples", "20", "--quiet")
        for part in ("L0H0", "L1H1", "layer 1", "all heads", "on 20 examples", "heads left", "Written: 3 files in run/ablation",
                     "Next: ", "ablate run --save"):
            self.assertIn(part, out)
        self.assertNotIn("\x1b", out)

    def test_the_saved_model_is_a_run_like_any_other(self):
        run = self.train(task="induction", name="a")
        document = self.json_of("ablate", "a", "--examples", "40", "--save", "b", "--quiet")
        saved = self.folder / "b"
        config = (saved / "config.toml").read_text()
        self.assertEqual(config.count("L0H") + config.count("L1H"), 4)
        self.assertEqual((saved / "checkpoints/step-00000040/model.safetensors").read_bytes(),
                         (run / "checkpoints/step-00000040/model.safetensors").read_bytes())
        test = document["saved"]["test"]
        self.assertEqual(test["n"], 40)
        # The model on disk does what replacing all heads in memory does.
        self.assertAlmostEqual(test["loss"], document["base"]["loss"] + document["all"]["kernel_replaced"]["value"],
                               places=5)
        self.assertEqual(strict_json((saved / "result.json").read_text())["test"], test)
        self.json_of("heatmap", "b", "--format", "csv")
        again = self.json_of("ablate", "b", "--examples", "40", "--quiet")
        self.assertAlmostEqual(again["base"]["loss"], test["loss"], places=6)
        trained = self.json_of("train", "--config", "b/config.toml", "--steps", "5", "--quiet", "--out", "c")
        self.assertEqual(trained["attention_path"], "explicit")
        self.assertEqual((self.folder / "c/config.toml").read_text().replace("steps = 5", "steps = 40"), config)

    def test_one_head_is_trained_beside(self):
        self.train()
        document = self.json_of("ablate", "run", "--examples", "30", "--retrain-one-head", "--quiet")
        one = document["one_head"]
        self.assertEqual((one["n"], one["steps"]), (30, 40))
        self.assert_change(one["change"])
        self.assertAlmostEqual(one["change"]["value"], one["loss"] - document["base"]["loss"], places=9)
        self.train(heads="1", name="single")
        self.assert_refused(["ablate", "single", "--retrain-one-head"], BAD_CONFIG, "--retrain-one-head", "one head")

    def test_what_cannot_be_done_is_refused_and_leaves_nothing(self):
        run = self.train()
        self.assert_refused(["ablate", "run", "--examples", "0"], BAD_CONFIG, "--examples", "0")
        self.assert_refused(["ablate", "run", "--examples", "some"], USAGE, "--examples", "some")
        self.assert_refused(["ablate", "run", "--format", "gif"], USAGE, "--format", "gif", "svg")
        self.assert_refused(["ablate", "run", "--step", "7"], BAD_CONFIG, "--step", "40")
        self.assert_refused(["ablate", "nowhere"], MISSING, "nowhere")
        self.assert_refused(["ablate", "run", "--save", "run", "--quiet"], CANNOT_CREATE, "run")
        (run / "checkpoints/step-00000040/model.safetensors").write_bytes(b"no model")
        self.assert_refused(["ablate", "run"], BAD_DATA, "model.safetensors")

    def test_a_signal_ends_it(self):
        self.train("--seq-len", "64")
        process = self.start("ablate", "run", "--examples", "10000", start_new_session=True)
        self.assertIn(b"passes done", process.stderr.readline())  # it is at work
        os.kill(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        self.assertEqual(process.returncode, INTERRUPTED, err)
        self.assertEqual(out, b"")
        self.assertFalse((self.folder / "run/ablation").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
