"""The page by keyboard, for screen readers, in light and dark, in a headless Chromium."""

import page_case


class Access(page_case.PageTest):

    def test_every_control_is_reached_with_the_tab_key_and_shows_it(self):
        self.open("full")
        wanted = {"step", "sample", "first", "line-all", "line-queries", "sentence-list"}
        seen, marked = set(), []
        for _ in range(160):
            self.browser.key("Tab")
            ident, outlined = self.js("""(() => { const e = document.activeElement, outline = (x) => x &&
              getComputedStyle(x).outlineStyle !== 'none';
              return [e.id || e.name || e.getAttribute('role') || e.tagName, outline(e) || outline(e.nextElementSibling)]; })()""")
            if ident == "BODY":
                break
            seen.add(ident)
            if not outlined:
                marked.append(ident)
        self.assertEqual(wanted | {"scale", "kernel", "application", "gridcell", "line-head", "img"} - seen, wanted)
        self.assertEqual(wanted - seen, set())
        self.assertEqual(marked, [])

    def test_everything_has_a_name(self):
        """As the browser's own accessibility tree gives it to screen readers."""
        self.open("full")
        self.browser.call("Accessibility.enable")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        named = {"button", "slider", "radio", "checkbox", "link", "application", "gridcell", "grid", "listbox", "img", "image",
                 "region", "form"}
        for node in nodes:
            role = node.get("role", {}).get("value")
            if role in named and not node.get("ignored"):
                self.assertTrue(node.get("name", {}).get("value"), (role, node.get("domNode"), node))

    def test_text_stands_out_in_light_and_dark(self):
        """Contrast of WCAG 2: at least 4.5 for text."""
        for scheme in ("light", "dark"):
            self.open("full", prefers_color_scheme=scheme)
            for text, back in (("--text", "--back"), ("--muted", "--back"), ("--muted", "--card"), ("--accent", "--back"),
                               ("--accent-text", "--accent"), *((f"--head-{i}", "--back") for i in range(8))):
                ratio = self.js(f"""(() => {{
                  const light = (name) => {{
                    const [r, g, b] = cssColour(name).match(/[0-9a-f]{{2}}/g).map((x) => parseInt(x, 16) / 255)
                      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
                  }};
                  const pair = [light('{text}'), light('{back}')].sort((a, b) => b - a);
                  return pair[0] / pair[1];
                }})()""")
                self.assertGreaterEqual(ratio, 4.5, (scheme, text, back))

    def test_nothing_moves_by_itself_where_motion_is_unwelcome(self):
        self.open("full", prefers_reduced_motion="reduce")
        self.assertEqual(self.js("getComputedStyle(document.documentElement).scrollBehavior"), "auto")
        self.assertEqual(self.js("document.getAnimations().length"), 0)

if __name__ == "__main__":
    page_case.main()
