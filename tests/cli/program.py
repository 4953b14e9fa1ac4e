"""Runs the built program in a folder of its own, for the tests of the command line."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
PATIENCE_SECONDS = 240


def strict_json(text):
    """The document; NaN, Infinity and repeated keys are refused."""

    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    def unique(pairs):
        keys = [key for key, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError(f"repeated keys in {keys}")
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def listing(folder):
    """{path: bytes, or None for a folder} of everything below."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


class ProgramTest(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="headtorch-cli-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def start(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run_program(self, *arguments, environment=None):
        process = self.start(*arguments, env={**os.environ, **(environment or {})})
        try:
            out, err = process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return process.returncode, out.decode(), err.decode()

    def succeed(self, *arguments, **options):
        """Standard output of a call that must end well."""
        code, out, err = self.run_program(*arguments, **options)
        self.assertEqual(code, 0, f"{arguments}: {err}")
        return out

    def json_of(self, *arguments, **options):
        return strict_json(self.succeed(*arguments, "--json", **options))

    def assert_refused(self, arguments, code, *parts):
        """One line on standard error that starts with `[` and holds the parts; nothing on standard output or on disk."""
        before = listing(self.folder)
        got, out, err = self.run_program(*arguments)
        self.assertEqual(got, code, err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err[:-1].isprintable(), err)
        self.assertTrue(err.startswith("["), err)
        for part in parts:
            self.assertIn(part, err)
        self.assertEqual(listing(self.folder), before, "something was written")
