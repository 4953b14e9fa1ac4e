"""`generate`: what a stored run says next, as text and as a document."""

import signal
import subprocess
import unittest

from program import PROGRAM, ProgramTest

USAGE, BAD_DATA, CANNOT_WRITE, BAD_CONFIG, INTERRUPTED = 64, 65, 74, 78, 130
TINY = ["--steps", "3", "--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--batch", "8", "--quiet"]
POEM = "naïve Привет 😀, said the fox;\nthe dog: naïve!\n" * 20


class Generate(ProgramTest):

    def train(self, *arguments, out="run"):
        self.succeed("train", *arguments, *TINY, "--out", out)

    def train_text(self, text, out="run"):
        (self.folder / f"{out}.txt").write_text(text, newline="")
        self.train("text", "--file", f"{out}.txt", "--seq-len", "16", "--n-layers", "1", out=out)

    def one(self, *arguments):
        document = self.json_of("generate", *arguments)
        self.assertEqual(document["ending"], "complete")
        (sample,) = document["samples"]
        self.assertLess(sample["log_probability"], 0)
        return document, sample

    def test_a_text_goes_on_past_the_context(self):
        self.train_text(POEM)
        document, sample = self.one("run", "--prompt", "the fox; naïve 😀", "--max-new", "100", "--seed", "4")
        self.assertEqual(list(document), ["run", "step", "prompt", "temperature", "top_k", "top_p", "seed", "ending", "samples"])
        self.assertEqual((document["run"], document["step"], document["prompt"]), ("run", 3, "the fox; naïve 😀"))
        self.assertEqual((document["temperature"], document["top_k"], document["top_p"]), (1, None, 1))
        self.assertEqual((len(sample["text"]), len(sample["tokens"])), (100, 100))
        self.assertLessEqual(set(sample["text"]), set(POEM))
        out = self.succeed("generate", "run", "--prompt", "the fox; naïve 😀", "--max-new", "100", "--seed", "4")
        self.assertEqual(out, "the fox; naïve 😀" + sample["text"] + "\n")
        self.assertEqual(len(self.one("run")[1]["text"]), 200)

    def test_seeds_and_samples(self):
        self.train_text(POEM)
        ask = ["run", "--prompt", "t", "--max-new", "30"]
        self.assertEqual(self.one(*ask)[1], self.one(*ask, "--seed", "1")[1])
        self.assertNotEqual(self.one(*ask)[1], self.one(*ask, "--seed", "2")[1])
        texts = [sample["text"] for sample in self.json_of("generate", *ask, "--samples", "3")["samples"]]
        self.assertEqual(len(set(texts)), 3)
        self.assertEqual(texts[0], self.one(*ask)[1]["text"])
        self.assertEqual(self.succeed("generate", *ask, "--samples", "3"),
                         "".join(f"--- {n} of 3\nt{text}\n" for n, text in enumerate(texts, 1)))
        greedy = [self.json_of("generate", *ask, "--samples", "2", *flags)["samples"]
                  for flags in (["--temperature", "0"], ["--top-k", "1"], ["--top-p", "1e-9"])]
        for samples in greedy:
            self.assertEqual(samples[0], samples[1])
            self.assertEqual(samples, greedy[0])

    def test_G33_no_prompt_and_characters_that_the_text_lacks(self):
        self.train_text("31415\n926\n" * 40, out="digits")
        document, sample = self.one("digits")
        self.assertEqual(document["prompt"], "\n")
        self.assertLessEqual(set(sample["text"]), set("1234569\n"))
        self.assertEqual(self.one("digits", "--prompt", "9")[0]["prompt"], "9")
        self.assert_refused(["generate", "digits", "--prompt", " a"], BAD_DATA, "U+0020", "U+0061")
        self.assert_refused(["generate", "digits", "--prompt", ""], BAD_DATA, "empty")
        self.assert_refused(["generate", "digits", "--prompt", b"1\xff"], BAD_DATA, "byte 1")
        self.train_text("cab" * 100, out="one-line")
        self.assertEqual(self.one("one-line")[0]["prompt"], "c")
        self.train_text("a" * 300, out="one-letter")
        document = self.json_of("generate", "one-letter", "--max-new", "40")
        self.assertEqual((document["prompt"], document["samples"][0]["text"]), ("a", "a" * 40))
        self.assertEqual(document["samples"][0]["log_probability"], 0)

    def test_symbols_have_spaces_between_them(self):
        self.train("induction", "--seq-len", "12", "--n-symbols", "16")
        document, sample = self.one("run", "--prompt", "3 1 4 3")
        self.assertEqual((document["temperature"], len(sample["tokens"])), (0, 9))  # to the end of the context
        self.assertEqual(sample["text"], " ".join(map(str, sample["tokens"])))
        self.assertEqual(self.succeed("generate", "run", "--prompt", "3 1 4 3"), f"3 1 4 3 {sample['text']}\n")
        self.assertEqual(len(self.one("run", "--prompt", "3 1 4 3", "--max-new", "40")[1]["tokens"]), 40)
        start = self.one("run")[0]["prompt"].split()
        self.assertEqual(start[0], start[-1])  # up to where the sequence begins to repeat
        self.assert_refused(["generate", "run", "--prompt", "3 16"], BAD_DATA, '"16"', "0 to 15")

    def test_an_encoder_decoder_answers_its_source(self):
        self.train("dates", out="dates")
        document, sample = self.one("dates", "--prompt", "May 3, 1979")
        self.assertEqual(len(sample["text"]), 10)
        self.assertEqual(self.succeed("generate", "dates", "--prompt", "May 3, 1979"), sample["text"] + "\n")
        self.assertEqual(self.one("dates", "--prompt", "May 3, 1979", "--max-new", "4")[1]["text"], sample["text"][:4])
        self.assert_refused(["generate", "dates", "--prompt", "May 3, 1979", "--max-new", "11"], BAD_CONFIG, "11", "10")
        self.assert_refused(["generate", "dates", "--prompt", "May?"], BAD_DATA, "U+003F")
        self.assert_refused(["generate", "dates", "--prompt", "1" * 40], BAD_DATA, "40", "29")
        self.assert_refused(["generate", "dates"], USAGE, "--prompt")
        self.train("copy", "--family", "encoder-decoder", "--seq-len", "8", out="copy")
        words = self.succeed("generate", "copy", "--prompt", "3 1 4 1 5 9 2 6", "--samples", "2").splitlines()
        self.assertEqual((words[0], words[1]), ("--- 1 of 2", words[3]))
        self.assertEqual(len(words[1].split(" ")), 8)

    def test_runs_that_generate_nothing(self):
        self.train("reverse", out="encoder")
        self.assert_refused(["generate", "encoder"], BAD_CONFIG, "encoder", "causal")
        self.train("regression", out="numbers")
        self.assert_refused(["generate", "numbers"], BAD_CONFIG, "regression", "numbers")

    def test_flags_out_of_range(self):
        self.train("induction")
        for flag, value, code in [("--top-k", "0", BAD_CONFIG), ("--top-k", "-1", BAD_CONFIG), ("--top-k", "1.5", USAGE),
                                  ("--temperature", "-1", BAD_CONFIG), ("--temperature", "inf", BAD_CONFIG),
                                  ("--temperature", "warm", USAGE), ("--top-p", "0", BAD_CONFIG),
                                  ("--top-p", "1.5", BAD_CONFIG), ("--max-new", "0", BAD_CONFIG),
                                  ("--samples", "0", BAD_CONFIG), ("--seed", "-1", BAD_CONFIG), ("--step", "2", BAD_CONFIG)]:
            self.assert_refused(["generate", "run", "--prompt", "1 2", flag, value], code, flag.strip("-").replace("-", "_")
                                if flag in ("--temperature", "--top-p") and code == BAD_CONFIG and value != "inf" else flag)
        self.assert_refused(["generate", "nowhere"], 66, "nowhere")

    def test_the_text_comes_as_it_is_made_and_an_interrupt_ends_it(self):
        self.train_text(POEM)
        process = self.start("generate", "run", "--prompt", "the ", "--max-new", "1000000")
        first = process.stdout.read(200)  # long before the million
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, INTERRUPTED, err)
        text = (first + rest).decode()  # no character is cut in two
        self.assertTrue(text.startswith("the "))
        self.assertTrue(text.endswith("\n"))

    def test_output_that_cannot_be_written_is_an_error(self):
        self.train_text(POEM)
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "generate", "run"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, CANNOT_WRITE)

    def test_help_has_an_example(self):
        self.assertIn("Example", self.succeed("generate", "--help"))


if __name__ == "__main__":
    unittest.main()
