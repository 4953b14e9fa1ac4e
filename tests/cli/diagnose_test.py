"""The verb diagnose: what it prints and writes, and what it refuses."""

import json
import pathlib
import unittest

from program import ProgramTest, strict_json

TINY = ["--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--quiet", "--eval-every", "0"]
NOT_FOUND, USAGE, BAD_DATA, BAD_CONFIG = 66, 64, 65, 78


class Diagnose(ProgramTest):
    def train(self, task="reverse", *flags):
        return self.json_of("train", task, "--steps", "20", *TINY, *flags)["run"]

    def test_findings_health_and_heads_are_told_and_kept(self):
        run = self.train()
        document = self.json_of("diagnose", run)
        self.assertEqual(list(document), ["run", "step", "findings", "health", "heads"])
        self.assertEqual((document["run"], document["step"]), (run, 20))
        self.assertEqual([(head["layer"], head["head"]) for head in document["heads"]], [(0, 0), (0, 1), (1, 0), (1, 1)])
        kept = (self.folder / run / "diagnosis.json").read_text()
        self.assertEqual(strict_json(kept), document)
        for finding in document["findings"]:
            self.assertEqual(list(finding), ["cause", "severity", "sign", "value", "threshold", "remedy", "flag"])
        health = document["health"]
        evaluations = [line for line in map(strict_json, (self.folder / run / "metrics.jsonl").read_text().splitlines())
                       if line["kind"] == "eval"]
        self.assertEqual(health["start"]["score_sd"], evaluations[0]["score_sd"])
        self.assertIsNone(health["step_150"]["score_sd"])  # the run was shorter

    def test_for_people(self):
        run = self.train()
        text = self.succeed("diagnose", pathlib.Path(run).name)
        for part in ("spread of scores", "warmup", "norm spikes", "clipped", "non-finite steps", "took off",
                     "training / test loss", "L0H0"):
            self.assertIn(part, text)
        self.assertTrue(all(len(line) <= 120 for line in text.splitlines()), text)

    def test_what_metrics_do_not_tell_is_measured_or_said_to_be_unknown(self):
        run = self.train()
        before = self.json_of("diagnose", run)["health"]
        (self.folder / run / "metrics.jsonl").unlink()
        after = self.json_of("diagnose", run)["health"]
        self.assertEqual(after["start"]["score_sd"], before["start"]["score_sd"])
        self.assertAlmostEqual(after["start"]["qk_share"], before["start"]["qk_share"], places=6)
        self.assertIsNone(after["first_loss"])
        self.assertIn("not known", self.succeed("diagnose", run))

    def test_overwriting_a_run_removes_its_diagnosis(self):
        run = self.train()
        self.succeed("diagnose", run)
        self.succeed("train", "reverse", "--steps", "2", *TINY, "--out", run, "--overwrite")
        self.assertFalse((self.folder / run / "diagnosis.json").exists())

    def test_refusals(self):
        run = self.train()
        self.assert_refused(["diagnose", "nowhere"], NOT_FOUND, "nowhere")
        self.assert_refused(["diagnose", run, "--step", "7"], BAD_CONFIG, "--step", "20")
        self.assert_refused(["diagnose", run, "--leek"], USAGE, "--leak")
        metrics = self.folder / run / "metrics.jsonl"
        metrics.write_text(json.dumps({"kind": "train"}) + "\n[1]\n{\"kind\": \"train\", \"step\": \n")
        self.assert_refused(["diagnose", run], BAD_DATA, "metrics.jsonl:3")

    def test_a_weight_of_entropy_is_a_setting(self):
        run = self.train("reverse", "--entropy-weight", "0.5")
        self.assertIn("entropy_weight = 0.5", (self.folder / run / "config.toml").read_text())
        self.assert_refused(["train", "reverse", "--entropy-weight", "-1"], BAD_CONFIG, "--entropy-weight")


if __name__ == "__main__":
    unittest.main(verbosity=2)
