"""Trains runs that are broken on purpose and healthy ones; `diagnose` must name the cause, or find nothing.

The signs and numbers behind the thresholds: docs/diagnosis.md.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from program import ProgramTest  # noqa: E402

QUICK = ["--threads", "1", "--eval-every", "0", "--quiet"]
SHORT = ["--steps", "160"]  # signs are read at steps 0 and 150


class Runs(ProgramTest):
    """Each trains and diagnoses one run after another."""

    def diagnose(self, task, *flags):
        run = self.json_of("train", task, *QUICK, *flags)["run"]
        document = self.json_of("diagnose", run)
        self.assertEqual(document["run"], run)
        return document

    def first(self, task, *flags):
        """The finding that stands first."""
        findings = self.diagnose(task, *flags)["findings"]
        self.assertTrue(findings, f"nothing found in {task} {flags}")
        return findings[0]

    def expect(self, cause, flag, severity, *run):
        found = self.first(*run)
        self.assertEqual((found["cause"], found["flag"], found["severity"]), (cause, flag, severity), run)


class Broken(Runs):
    def test_query_and_key_weights_of_zero(self):
        # 0.02 * 1e-60 is 0 in float32.
        self.expect("query and key weights are zero", "--init xavier --qk-gain 1", "fault",
                    "reverse", *SHORT, "--init", "normal", "--qk-gain", "1e-60")

    def test_a_scale_that_is_too_small(self):
        for task, severity in (("reverse", "warning"), ("sort", "warning"), ("induction", "fault")):
            self.expect("scale too small", "--scale sqrt", severity, task, *SHORT, "--scale", "0.01")

    def test_a_scale_that_is_too_large(self):
        for task in ("reverse", "sort"):
            self.expect("scale too large", "--scale sqrt", "fault", task, *SHORT, "--scale", "30")

    def test_a_rate_that_is_far_too_high(self):
        self.expect("rate too high", "--lr 0.003", "fault", "reverse", *SHORT, "--lr", "1")
        self.expect("rate too high", "--lr 0.003", "fault", "histogram", *SHORT, "--lr", "1")
        self.expect("rate too high", "--lr 0.003", "warning", "reverse", *SHORT, "--lr", "0.1")

    def test_a_high_rate_without_warmup(self):
        self.expect("rate too high", "--lr 0.003 --warmup 20", "warning",
                    "reverse", *SHORT, "--lr", "0.02", "--warmup", "0")
        self.expect("rate too high", "--lr 0.003 --warmup 20", "warning",
                    "sort", *SHORT, "--lr", "0.02", "--warmup", "0")

    def test_a_rate_that_is_too_low(self):
        self.expect("rate too low", "--lr 0.003", "fault", "reverse", *SHORT, "--lr", "1e-6")
        self.expect("rate too low", "--lr 0.003", "fault", "sort", *SHORT, "--lr", "1e-6")

    def test_too_much_dropout(self):
        for task in ("reverse", "histogram"):
            self.expect("dropout too high", "--dropout 0.1", "fault", task, *SHORT, "--dropout", "0.9")

    def test_no_positions(self):
        self.expect("no positions", "--position learned", "fault", "reverse", *SHORT, "--position", "none")

    def test_too_few_steps(self):
        self.expect("too little training", "--steps 120", "warning", "reverse", "--steps", "40")
        self.expect("too little training", "--steps 120", "warning", "sort", "--steps", "40")

    def test_too_many_heads_for_the_width(self):
        self.expect("too many heads for the width", "--n-heads 2", "warning", "sort", *SHORT, "--n-heads", "64")

    def test_too_little_text_and_no_dropout(self):
        source = pathlib.Path(__file__).resolve().parent / "tiny.txt"
        found = self.diagnose("text", "--file", str(source), "--steps", "400", "--seq-len", "32", "--batch", "16",
                              "--n-layers", "2", "--d-model", "64", "--n-heads", "2")["findings"]
        causes = [finding["cause"] for finding in found]
        self.assertEqual(causes, ["too little data", "dropout too low"])


class Healthy(Runs):
    """With their presets; sort and histogram shortened."""

    def nothing_in(self, task, *flags):
        document = self.diagnose(task, *flags)
        self.assertEqual(document["findings"], [], (task, flags))
        health = document["health"]
        self.assertEqual((health["norm_spikes"], health["non_finite_steps"]), ([], 0))
        self.assertGreater(health["start"]["score_sd"], 0.8)
        self.assertIsNotNone(health["take_off"])
        self.assertTrue(all("labels" in head for head in document["heads"]))

    def test_reverse(self):
        for seed in ("1", "2", "3"):
            self.nothing_in("reverse", "--steps", "200", "--seed", seed)

    def test_copy(self):
        self.nothing_in("copy", "--steps", "300")

    def test_sort(self):
        for seed in ("1", "2"):
            self.nothing_in("sort", "--steps", "300", "--seed", seed)

    def test_histogram(self):
        for seed in ("1", "2"):
            self.nothing_in("histogram", "--steps", "400", "--seed", seed)

    def test_induction(self):
        self.nothing_in("induction", "--steps", "400")

    def test_small_initial_weights_that_recover(self):
        self.assertEqual(self.diagnose("reverse", "--steps", "200", "--init", "normal")["findings"], [])


class Entropy(Runs):
    """T10: a reward for entropy keeps heads from collapsing, and does not bring back collapsed ones."""

    def entropy(self, *flags):
        health = self.diagnose("reverse", *SHORT, *flags)["health"]
        return health["step_150"]["entropy_normalised"]

    def test_heads_do_not_collapse_under_a_high_rate(self):
        self.assertLess(self.entropy("--lr", "0.1"), 0.2)
        self.assertGreater(self.entropy("--lr", "0.1", "--entropy-weight", "1"), 0.6)

    def test_heads_that_start_collapsed_stay_so(self):
        self.assertLess(self.entropy("--scale", "30", "--entropy-weight", "10"), 0.1)


class Leaks(Runs):
    def test_a_causal_run_has_none_and_an_encoder_may_look_ahead(self):
        run = self.json_of("train", "induction", *QUICK, "--steps", "5")["run"]
        document = self.json_of("diagnose", run, "--leak")
        self.assertEqual((document["leaks"], document["may_look_ahead"]), (False, False))
        self.assertGreater(len(document["checks"]), 20)
        self.assertTrue(all(check["largest"] == 0.0 for check in document["checks"]))
        self.assertIn("No leak", self.succeed("diagnose", run, "--leak"))
        run = self.json_of("train", "reverse", *QUICK, "--steps", "5")["run"]
        self.assertIn("allowed", self.succeed("diagnose", run, "--leak"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
