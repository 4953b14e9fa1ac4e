"""What the tests of the page share: python3 SOME_test.py MAKE_PAGES. Exit code 77 when there is no Chromium."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import browser

MAKE_PAGES = sys.argv.pop(1)
SKIPPED = 77
LARGEST_ERROR = 1 / 255


def read_npy(path):
    """(shape, numbers) of a float32 file as headtorch writes it, read by other means."""
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    shape = eval(data[10:10 + length].decode())["shape"]  # a literal written by this project
    return shape, struct.unpack(f"<{(len(data) - 10 - length) // 4}f", data[10 + length:])


class PageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="headtorch-page-")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = pathlib.Path(cls.holder.name)
        subprocess.run([MAKE_PAGES, cls.holder.name], check=True)
        cls.browser = browser.Browser(browser.find())
        cls.addClassCleanup(cls.browser.close)

    def open(self, name, **options):
        self.browser.open(self.folder / f"{name}.html", **options)

    def js(self, expression):
        return self.browser.evaluate(expression)

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).textContent")

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def assert_quiet(self, name):
        self.assertEqual(self.browser.problems, [])
        self.assertEqual([url for url in self.browser.requests if not url.startswith("data:")],
                         [(self.folder / f"{name}.html").as_uri()])

    def pixel(self, row, column):
        """Colour in the middle of a cell of the large map."""
        return self.js(f"""(() => {{
          const m = largeMap, at = (begin, i) => Math.round((begin + (i + 0.5) * m.cell) * m.ratio);
          const copy = element('canvas', {{width: 1, height: 1}}).getContext('2d', {{willReadFrequently: true}});
          copy.drawImage(m.canvas, -at(m.left, {column}), -at(m.top, {row}));
          return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }})()""")

    def point_at(self, row, column, press=False):
        x, y = self.js(f"""(() => {{
          largeMap.canvas.scrollIntoView({{block: 'center', behavior: 'instant'}});
          const b = largeMap.canvas.getBoundingClientRect(), m = largeMap;
          return [b.left + m.left + ({column} + 0.5) * m.cell, b.top + m.top + ({row} + 0.5) * m.cell];
        }})()""")
        self.browser.mouse(x, y, press)

    def choose(self, selector):
        self.browser.click(f"label:has({selector})")
        self.assertTrue(self.js(f"document.querySelector({json.dumps(selector)}).checked"))

    def slide(self, selector, key):
        self.js(f"document.querySelector({json.dumps(selector)}).focus()")
        self.browser.key(key)


def main():
    if browser.find() is None:
        print(f"skipped: none of {', '.join(browser.NAMES)} is installed")
        sys.exit(SKIPPED)
    unittest.main()
