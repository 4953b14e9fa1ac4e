"""TensorBoard's own reader on the event files of runs. Run by ctest with the program as argument; skips (exit code 77)
where the PyPI package is missing."""

import io
import signal
import struct
import sys
import time
import unittest

try:
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    print(f"skipped: {missing}; ./headtorch test installs it, or: pip install tensorboard")
    sys.exit(77)

from program import ProgramTest, strict_json

TINY = ["--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--quiet"]
EVERYTHING = {kind: 0 for kind in ("scalars", "histograms", "images", "tensors")}


def read(run):
    events = EventAccumulator(str(run), size_guidance=EVERYTHING)
    events.Reload()
    return events


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def contents(events):
    """All that a seed decides: times and rates are left out."""
    tags = events.Tags()
    found = {tag: [(e.step, repr(e.value)) for e in events.Scalars(tag)] for tag in tags["scalars"]
             if tag != "train/tokens_per_second"}
    found.update({tag: [(e.step, e.histogram_value) for e in events.Histograms(tag)] for tag in tags["histograms"]})
    found.update({tag: [(e.step, e.encoded_image_string) for e in events.Images(tag)] for tag in tags["images"]})
    found.update({tag: [(e.step, e.tensor_proto.string_val[0]) for e in events.Tensors(tag)] for tag in tags["tensors"]})
    return found


class TensorBoard(ProgramTest):

    def lines(self, run, kind):
        text = (self.folder / run / "metrics.jsonl").read_text()
        return [line for line in map(strict_json, text.splitlines()) if line["kind"] == kind]

    def train(self, out, *more):
        self.succeed("train", "reverse", *TINY, *more, "--out", out)
        return read(self.folder / out)

    def test_numbers_are_those_of_the_metrics(self):
        events = self.train("run", "--steps", "160", "--eval-every", "40")
        (path,) = (self.folder / "run").glob("events.out.tfevents.*")
        self.assertRegex(path.name, r"^events\.out\.tfevents\.\d{10}\.[\w.-]+\.\d+$")
        for kind, group, keys in (("train", "train", ("loss", "lr", "grad_norm", "tokens_per_second")),
                                  ("eval", "validation", ("loss", "token_accuracy", "sequence_accuracy")),
                                  ("eval", "health", ("score_sd", "qk_share", "entropy_normalised"))):
            for key in keys:
                expected = [(line["step"], float32(line[key])) for line in self.lines("run", kind) if key in line]
                self.assertGreaterEqual(len(expected), 2)
                self.assertEqual([(e.step, e.value) for e in events.Scalars(f"{group}/{key}")], expected, key)
        times = [event.wall_time for event in events.Scalars("train/loss")]
        self.assertEqual(times, sorted(times))
        self.assertLess(abs(times[-1] - time.time()), 3600)

    def test_pictures_text_and_histograms(self):
        events = self.train("run", "--steps", "6", "--heatmap-every", "3", "--checkpoint-every", "3")
        run = self.folder / "run"
        for layer in range(2):
            pictures = events.Images(f"heatmaps/layer-{layer}")
            self.assertEqual([picture.step for picture in pictures], [3, 6])
            for picture in pictures:
                stored = run / "heatmaps" / f"step-{picture.step:08}" / f"layer-{layer}.png"
                self.assertEqual(picture.encoded_image_string, stored.read_bytes())
                self.assertEqual(Image.open(io.BytesIO(picture.encoded_image_string)).size,
                                 (picture.width, picture.height))
            for name in ("weights", "entropy_normalised"):
                histograms = events.Histograms(f"attention/layer-{layer}/{name}")
                self.assertEqual([event.step for event in histograms], [3, 6])
                for event in histograms:
                    histogram = event.histogram_value
                    self.assertEqual(sum(histogram.bucket), histogram.num)
                    self.assertEqual(histogram.bucket_limit, sorted(histogram.bucket_limit))
                    self.assertTrue(0 <= histogram.min <= histogram.max <= 1.0001)
            # Each of 8 samples, 2 heads and 16 queries has weights that sum to 1.
            self.assertAlmostEqual(events.Histograms(f"attention/layer-{layer}/weights")[0].histogram_value.sum, 256, 3)
        (text,) = events.Tensors("config")
        self.assertEqual(text.tensor_proto.string_val[0].decode(),
                         "```toml\n" + (run / "config.toml").read_text() + "```\n")
        parameters = [tag for tag in events.Tags()["histograms"] if tag.startswith("parameters/")]
        total = sum(events.Histograms(tag)[-1].histogram_value.num for tag in parameters)
        self.assertEqual(total, strict_json((run / "result.json").read_text())["parameters"])

    def test_G41_a_seed_decides_all_but_times(self):
        more = ["--steps", "5", "--heatmap-every", "2", "--dropout", "0.1", "--seed"]
        a, b, c = (contents(self.train(name, *more, seed)) for name, seed in (("a", "7"), ("b", "7"), ("c", "8")))
        self.assertEqual(a, b)
        self.assertNotEqual(a["train/loss"], c["train/loss"])

    def test_G16_a_diverged_run_can_be_read(self):
        self.run_program("train", "reverse", "--lr", "1e30", "--warmup", "0", "--clip", "0", "--steps", "40", *TINY,
                         "--out", "run")
        losses = [event.value for event in read(self.folder / "run").Scalars("train/loss")]
        self.assertTrue(any(loss != loss for loss in losses), losses)

    def test_a_killed_run_can_be_read_and_a_live_one_too(self):
        process = self.start("train", "reverse", "--steps", "100000", *TINY, "--out", "run")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 120
        seen = 0
        while seen < 20:
            self.assertIsNone(process.poll(), "ended by itself")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
            if list((self.folder / "run").glob("events.out.tfevents.*")):
                events = read(self.folder / "run")
                seen = len(events.Scalars("train/loss")) if "train/loss" in events.Tags()["scalars"] else 0
        process.send_signal(signal.SIGKILL)
        process.wait()
        steps = [event.step for event in read(self.folder / "run").Scalars("train/loss")]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertGreaterEqual(len(steps), seen)

    def test_overwriting_leaves_one_file(self):
        for steps in ("3", "2"):
            self.succeed("train", "reverse", *TINY, "--steps", steps, "--out", "run", "--overwrite")
        self.assertEqual(len(list((self.folder / "run").glob("events.out.tfevents.*"))), 1)
        self.assertEqual(len(read(self.folder / "run").Scalars("train/loss")), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
