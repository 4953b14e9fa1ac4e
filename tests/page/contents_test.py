"""What the page holds, in a headless Chromium."""

import json

import page_case


class Contents(page_case.PageTest):

    def test_every_page_opens_without_a_problem_or_a_request_at_any_width(self):
        for name in ("full", "orientation", "hostile", "one", "cross", "large", "translated", "pictured", "none"):
            for scheme, width in (("light", 1280), ("dark", 320)):
                with self.subTest(page=name, width=width):
                    self.open(name, width=width, phone=width < 500, prefers_color_scheme=scheme)
                    self.assert_quiet(name)
                    self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width)

    def test_values_equal_the_npy_to_1_of_255(self):
        for name, layers, spread in (("full", 4, 1), ("one", 1, 1), ("orientation", 1, 1)):
            self.open(name)
            for layer in range(layers):
                shape, numbers = page_case.read_npy(self.folder / f"{name}-{layer}.npy")
                samples = self.js("moment().tokens.length")
                shown = self.js(f"""Array.from({{length: {samples} * layerNow().heads}}, (_, i) => {{
                  const heads = layerNow().heads, view = headOf(moment(), {layer}, Math.floor(i / heads), i % heads);
                  return Array.from(view.codes, (code) => view.weights[code]);
                }}).flat()""")
                self.assertEqual(len(shown), samples * shape[1] * shape[2] * shape[3])
                worst = max(abs(a - b) for a, b in zip(shown, numbers))
                self.assertLessEqual(worst, page_case.LARGEST_ERROR * spread)

    def test_numbers_outside_0_to_1_and_no_numbers_are_kept_and_told(self):
        self.open("cross")
        self.assertIn("between -0.2500 and 1.250", self.text("#notes"))
        self.assertLessEqual(abs(self.js("headOf(moment(), 0, 0, 1).at(1, 0)") - 1.25), 1.5 * page_case.LARGEST_ERROR)
        self.assertTrue(self.js("Number.isNaN(headOf(moment(), 0, 0, 1).at(0, 0))"))
        self.js("change({head: 1})")
        self.browser.settle()
        self.assertEqual(self.pixel(0, 0), [230, 60, 90])

    def test_G13_orientation_and_axes(self):
        self.open("orientation")
        self.assertLessEqual(abs(self.js("headNow().at(2, 0)") - 0.2), page_case.LARGEST_ERROR)
        self.assertEqual(self.js("headNow().at(0, 2)"), 0)
        self.point_at(2, 0)
        self.assertRegex(self.text("#readout"), r"^query 2 “C” → key 0 “A”: 0\.(19\d|20\d|2)$")
        dark = self.pixel(0, 2)
        self.assertEqual(dark, [0x44, 0x01, 0x54])
        self.assertEqual(self.pixel(0, 0), [0xfd, 0xe7, 0x25])
        self.assertEqual(self.pixel(1, 2), dark)
        self.assertEqual(self.texts("#line-queries li"), ["A", "B", "C"])
        self.assertEqual(self.texts("#lines .axis-name"), ["query", "key"])

    def test_fewer_queries_than_keys_are_the_last(self):
        self.open("cross")
        self.assertEqual(self.texts("#line-queries li"), ["c", "d"])
        self.assertEqual(self.texts("#line-keys li"), ["a", "b", "c", "d"])

    def test_G15_labels_are_escaped_once(self):
        self.open("hostile")
        shown = ["a<b<c", "&", "&amp;", '"', "'", "</script>", "<img src=x onerror=alert(1)>", "↵", "⇥", "U+200F", "😀",
                 "{{data}}", "<!--<script>"]
        self.assertEqual(self.texts("#line-keys li"), shown)
        title = "</title><script>alert(1)</script>"
        self.assertEqual(self.js("document.title"), title)
        self.assertEqual(self.text("h1"), title)
        self.assertEqual(self.js("[document.images.length, document.scripts.length]"), [0, 2])
        self.assertEqual(self.texts("#scores th, #scores td"), [shown[6], "n", shown[6], "1", "&amp;", "–"])
        data = (self.folder / "hostile.html").read_text().split('id="data">')[1].split("</script>")[0]
        self.assertNotIn("<", data)
        self.assertIn("\\u003c", data)
        json.loads(data, parse_constant=lambda constant: self.fail(constant))

    def test_what_is_injected_would_not_run(self):
        self.open("one")
        self.js("document.body.append(element('script', {textContent: 'window.injected = 1'}))")
        self.assertIsNone(self.js("window.injected ?? null"))
        self.assertIsNotNone(self.js("fetch('https://example.org').then(() => null, () => 'refused')"))

    def test_sections_without_data_are_absent(self):
        self.open("none")
        self.assertEqual(self.js("[...document.querySelectorAll('main > section')].filter(s => !s.hidden).map(s => s.id)"),
                         ["settings"])
        self.open("one")
        visible = "[...document.querySelectorAll('.control')].filter(e => e.checkVisibility()).length"
        self.assertEqual(self.js(visible), 2)

    def test_colours_are_those_of_the_png(self):
        """The ten colours that matplotlib published for viridis, at ninths of the bar."""
        anchors = ["440154", "482878", "3e4a89", "31688e", "26828e", "1f9e89", "35b779", "6dcd59", "b4de2c", "fde725"]
        self.open("one")
        for i, anchor in enumerate(anchors):
            shown = self.js(f"[...palette.subarray(3 * Math.round({i} / 9 * 255), 3 * Math.round({i} / 9 * 255) + 3)]")
            for a, b in zip(shown, bytes.fromhex(anchor)):
                self.assertAlmostEqual(a, b, delta=2)  # a ninth is up to half a step from one of 256

    def test_G17_long_input_stays_usable(self):
        self.open("large")
        self.assertIn("512 queries × 512 keys", self.text("#head-place"))
        self.assertIn("512 queries by 512 keys", self.text("#notes"))
        self.assertEqual(self.js("largeMap.block"), 1)
        self.assertGreater(self.js("largeMap.cell"), 0.9)
        took = self.js("""(async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const begin = performance.now();
          for (let i = 0; i < 5; ++i) { point({over: {row: 100 + i, column: 90}}); await frame(); }
          return (performance.now() - begin) / 5;
        })()""")
        self.assertLess(took, 1000)  # 0.07 s on an idle core; shared ones are slow
        self.open("large", width=320, phone=True)
        self.assertGreater(self.js("largeMap.block"), 1)
        self.assertIn("largest weight of", self.text("#map-hint"))

if __name__ == "__main__":
    page_case.main()
