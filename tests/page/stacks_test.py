"""Pages of encoder-decoders and of images, in a headless Chromium."""

import page_case


class Stacks(page_case.PageTest):

    def test_layers_are_named_by_their_stack(self):
        self.open("translated")
        self.assert_quiet("translated")
        self.assertEqual(self.texts("#overview .layer"), ["E0", "D0", "C0", "C1"])
        self.assertIn("C0H1: cross-attention layer 0, head 1", self.text("#head-name"))
        self.assertEqual(self.text("#head-place"), "step 500, sample 0, 10 queries × 16 keys")

    def test_rows_are_the_target_and_columns_the_source(self):
        self.open("translated")
        self.assertEqual(self.js("axisTokens().query.join('')"), "2026-11-29")
        self.assertEqual(self.js("axisTokens().key.length"), 16)
        self.assertEqual(self.js("axisTokens().key[0] + axisTokens().key[3]"), "2N")
        self.js("chooseHead(0, 0)")
        self.browser.settle()
        self.assertEqual(self.js("axisTokens().query.length"), 16)
        self.assertIn("encoder layer 0", self.text("#head-name"))

    def test_values_equal_the_npy(self):
        self.open("translated")
        for layer in range(4):
            shape, numbers = page_case.read_npy(self.folder / f"translated-{layer}.npy")
            cells = self.js(f"(() => {{ const v = headOf(moment(), {layer}, 1, 1);"
                            " return Array.from(v.codes, (code) => v.weights[code]); })()")
            begin = (1 * shape[1] + 1) * shape[2] * shape[3]
            for cell, number in zip(cells, numbers[begin:begin + len(cells)], strict=True):
                self.assertAlmostEqual(cell, number, delta=page_case.LARGEST_ERROR)

    def test_a_sentence_chooses_its_head(self):
        self.open("translated")
        self.browser.click("#sentence-list button")
        self.assertIn("C1H0", self.text("#head-name"))

    def test_the_image_lies_under_the_weights(self):
        self.open("pictured")
        self.assert_quiet("pictured")
        self.assertFalse(self.js("document.getElementById('image').hidden"))
        self.assertEqual(self.texts("#image-panels figcaption"), ["image", "<s>", "1"])
        self.assertEqual(self.js("axisTokens().key.slice(0, 4).join(' ')"), "a b r0c0 r0c1")
        pixel = ("(() => {{ const c = document.querySelectorAll('#image-panels canvas')[{panel}];"
                 " return [...c.getContext('2d').getImageData({x}, {y}, 1, 1).data].slice(0, 3); }})()")
        self.assertEqual(self.js(pixel.format(panel=0, x=3, y=0)), [255, 255, 255])
        self.assertEqual(self.js(pixel.format(panel=0, x=0, y=0)), [26, 26, 26])
        # Head 1 looks from query 1 at key 17 most: patch r3c3, in the corner.
        red, green, blue = self.js(pixel.format(panel=2, x=7, y=7))
        self.assertGreater(red, 150)
        self.assertLess(blue, 40)
        self.js("chooseHead(0, 0)")
        self.browser.settle()
        self.assertEqual(self.texts("#image-panels figcaption"), ["image", "a", "b"])

    def test_a_click_on_a_panel_holds_its_query(self):
        self.open("pictured")
        self.browser.click("#image-panels figure[data-row='1']")
        self.assertEqual(self.js("state.pin.row"), 1)
        self.assertEqual(self.texts("#image-panels figure.lit figcaption"), ["1"])

    def test_other_pages_have_no_image(self):
        self.open("translated")
        self.assertTrue(self.js("document.getElementById('image').hidden"))


if __name__ == "__main__":
    page_case.main()
