"""What a reader can do with the page, in a headless Chromium."""

import page_case


class Controls(page_case.PageTest):

    def setUp(self):
        self.open("full", prefers_reduced_motion="reduce")  # so that no scrolling is under way at a click

    def tearDown(self):
        self.assert_quiet("full")

    def test_step(self):
        self.assertEqual(self.text("#step-value"), "950")
        self.slide("#step", "ArrowLeft")
        self.assertEqual(self.text("#step-value"), "900")
        self.assertIn("step 900", self.text("#head-place"))
        self.slide("#step", "Home")
        self.assertEqual(self.js("moment().step"), 0)
        self.assertTrue(self.js("document.querySelector('#sample').disabled"))
        self.assertTrue(self.js("document.querySelector('#kernel-control').disabled"))

    def test_sample(self):
        before = self.js("headNow().at(20, 20)")
        self.slide("#sample", "ArrowRight")
        self.assertIn("sample 1", self.text("#head-place"))
        self.assertNotEqual(self.js("headNow().at(20, 20)"), before)

    def test_scale(self):
        unit = self.pixel(40, 40)
        self.choose("[name=scale][value=head]")
        largest = self.js("(() => { const c = headNow().codes; return c.indexOf(Math.max(...c)); })()")
        self.assertEqual(self.pixel(*divmod(largest, 64)), [0xfd, 0xe7, 0x25])
        self.assertIn("largest", self.text("#bar-labels"))
        self.choose("[name=scale][value=log]")
        self.assertNotIn(self.pixel(40, 40), [unit])
        self.assertIn("0.001", self.text("#bar-labels"))
        self.choose("[name=scale][value=unit]")
        self.assertEqual(self.pixel(40, 40), unit)

    def test_scales_are_those_of_the_pictures(self):
        """place = w, w / largest, 1 - log10(max(w, 1e-4)) / -4: as src/report/colour_map.hpp says."""
        self.assertAlmostEqual(self.js("barPlace(0.01, 'log', 1)"), 0.5)
        self.assertAlmostEqual(self.js("barPlace(1e-9, 'log', 1)"), 0)
        self.assertAlmostEqual(self.js("barPlace(0.1, 'head', 0.4)"), 0.25)
        self.assertAlmostEqual(self.js("barPlace(0.1, 'head', 0)"), 0)
        self.assertAlmostEqual(self.js("barPlace(1.5, 'unit', 1)"), 1)

    def test_first_column(self):
        self.js("change({head: 7, scale: 'head'})")
        self.browser.settle()
        with_first = self.js("largestOf(headNow())")
        bright = sum(self.pixel(40, 33))
        self.browser.click("#first")
        self.assertEqual(self.pixel(40, 0), [222, 222, 222])
        self.assertLess(self.js("largestOf(headNow())"), with_first)
        self.assertGreater(sum(self.pixel(40, 33)), bright)
        self.browser.click("#first")
        self.assertEqual(self.js("largestOf(headNow())"), with_first)

    def test_nearest_kernel(self):
        self.js("change({scale: 'head'})")
        self.browser.settle()
        plain = self.js("largeMap.canvas.toDataURL()")
        self.choose("[name=kernel][value=over]")
        self.assertNotEqual(self.js("largeMap.canvas.toDataURL()"), plain)
        self.choose("[name=kernel][value=beside]")
        self.assertEqual(self.js("[...document.querySelectorAll('#maps figure')].map(f => f.checkVisibility())"), [True, True])
        self.point_at(30, 29)
        self.assertIn("nearest kernel 0.", self.text("#readout"))
        self.choose("[name=kernel][value=off]")
        self.assertEqual(self.js("[...document.querySelectorAll('#maps figure')].map(f => f.checkVisibility())"), [True, False])

    def test_choosing_a_head(self):
        self.browser.click('#overview [aria-label^="L2H5"]')
        self.assertEqual(self.text("#head-name"), "L2H5: layer 2, head 5")
        self.assertEqual(self.text("#head-sentence"), self.js("sentenceOf(2, 5)"))
        self.assertEqual(self.js("document.querySelectorAll('#overview [aria-selected=true]').length"), 1)
        for key, name in (("ArrowRight", "L2H6"), ("ArrowUp", "L1H6"), ("Home", "L1H0"), ("ArrowDown", "L2H0")):
            self.browser.key(key)
            self.assertTrue(self.text("#head-name").startswith(name), name)
            self.assertTrue(self.js("document.activeElement.ariaLabel").startswith(name))
        self.browser.click('#sentence-list [data-head="L3H7"]')
        self.assertTrue(self.text("#head-name").startswith("L3H7"))
        self.browser.click('#scores tr[data-head="L0H4"]')
        self.assertTrue(self.text("#head-name").startswith("L0H4"))
        self.assertEqual(self.texts("#scores tr.chosen td:first-child"), ["L0H4"])

    def test_pointing_holding_and_letting_go(self):
        self.point_at(20, 19)
        self.assertIn("query 20 “t20” → key 19 “t19”", self.text("#readout"))
        self.assertRegex(self.text("#lines-hint"), r"^\d+ lines from query 20;")
        self.browser.mouse(1, 1)
        self.assertIn("Point at a cell", self.text("#readout"))
        self.point_at(20, 19, press=True)
        self.browser.mouse(1, 1)
        self.assertIn("query 20", self.text("#readout"))
        self.js("largeMap.canvas.focus()")
        self.browser.key("Escape")
        self.assertIn("Point at a cell", self.text("#readout"))

    def test_keys_move_the_cell(self):
        self.js("largeMap.canvas.focus()")
        for key, cell in (("ArrowRight", (0, 0)), ("ArrowRight", (0, 1)), ("ArrowDown", (1, 1)), ("End", (1, 63)),
                          ("ArrowRight", (1, 63)), ("Home", (1, 0)), ("ArrowUp", (0, 0)), ("ArrowUp", (0, 0))):
            self.browser.key(key)
            self.assertIn("query %d “t%d” → key %d" % (cell[0], cell[0], cell[1]), self.text("#readout"))
        self.assertEqual(self.js("document.querySelector('#readout').role"), "status")

    def test_row_as_a_table(self):
        self.point_at(3, 2, press=True)
        self.browser.click("#row-details summary")
        self.assertEqual(len(self.texts("#row-table tbody tr")), 64)
        self.assertIn("query 3 “t3”", self.text("#row-table caption"))
        self.assertEqual(self.texts("#row-table thead th"), ["key", "token", "weight", "nearest kernel"])
        self.assertEqual(self.texts("#row-table tbody tr:nth-child(3) td")[2], self.js("readable(headNow().at(3, 2), 3)"))

    def test_lines_of_chosen_heads(self):
        def lines():
            return int(self.text("#lines-hint").split()[0])

        every = lines()
        self.browser.click("#line-all")
        self.assertEqual(lines(), 0)
        self.browser.click('[name=line-head][value="2"]')
        alone = lines()
        self.assertTrue(0 < alone < every)
        expected = self.js(f"""(() => {{ const v = headOf(moment(), 0, 0, 2);
          return [...v.codes].filter((code) => v.weights[code] >= kFaintest).length; }})()""")
        self.assertEqual(alone, expected)
        self.browser.click("#line-all")
        self.assertEqual(lines(), every)

    def test_lines_of_one_token(self):
        self.browser.click("#query-5")
        self.assertRegex(self.text("#lines-hint"), r"^\d+ lines from query 5;")
        self.assertEqual(self.texts("#line-queries [aria-selected=true]"), ["t5"])
        self.browser.key("ArrowDown")
        self.assertEqual(self.texts("#line-queries .lit"), ["t6"])
        self.browser.key("Escape")
        self.assertIn("from all queries", self.text("#lines-hint"))

    def test_scores_sort(self):
        def column(i):
            return self.texts(f"#scores tbody td:nth-child({i})")

        self.browser.click("#scores th:nth-child(3) button")
        self.assertEqual(self.js("document.querySelector('#scores th:nth-child(3)').ariaSort"), "descending")
        order = self.js("page.scores.rows.map(r => r.cells[2].value).sort((a, b) => b - a)")
        shown = self.js("[...document.querySelectorAll('#scores tbody tr')].map(t => page.scores.rows.find("
                        "r => headName(...r.head) === t.dataset.head).cells[2].value)")
        self.assertEqual(shown, order)
        self.assertEqual(column(3)[0], "0.990 0.980 – 1.000")
        self.browser.click("#scores th:nth-child(3) button")
        self.assertEqual(self.js("document.querySelector('#scores th:nth-child(3)').ariaSort"), "ascending")
        for direction in ("descending", "ascending"):
            self.browser.click("#scores th:nth-child(4) button")
            self.assertEqual(column(4)[-4:], ["–"] * 4, direction)
        self.browser.click("#scores th:nth-child(1) button")
        names = [f"L{layer}H{head}" for layer in range(4) for head in range(8)]
        self.assertEqual(column(1), names)

    def test_charts(self):
        self.assertEqual(self.texts("#charts figcaption"), ["loss nats a position", "gradient norm before clipping"])
        label = self.js("document.querySelector('#charts svg').getAttribute('aria-label')")
        self.assertRegex(label, r"training: 3\.0\d+ at step 1, .* at step 950; validation")
        self.js("document.querySelector('#charts svg').focus()")
        self.browser.key("Home")
        self.assertRegex(self.text("#charts .value"), r"^step 1: training 3\.0")
        self.browser.key("End")
        self.assertRegex(self.text("#charts .value"), r"^step 950: training .* validation 0\.")
        self.browser.key("Escape")
        self.assertNotIn("step", self.text("#charts .value"))
        self.assertEqual(self.js("document.querySelectorAll('#charts .now[visibility=visible]').length"), 1)

    def test_comparison_diagnosis_and_settings_are_told(self):
        self.assertIn("One learned head is enough", self.text("#compare .verdict"))
        self.assertEqual(self.texts("#compare tbody tr:first-child td"), ["uniform", "1", "0.12"])
        self.assertIn("score sd 61.2", self.text("#finding-list"))
        self.assertEqual(self.texts("#settings td"), ["train.lr", "0.003", "model.d_model", "64"])
        self.assertEqual(self.texts("nav a"), ["Heads", "Diagnosis", "Scores", "Training", "Comparison", "Settings"])

if __name__ == "__main__":
    page_case.main()
