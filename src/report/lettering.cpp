#include "src/report/lettering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/core/error.hpp"

namespace headtorch::report {
namespace {

/// Pango aborts the program when it finds no font, so this is asked first. The generic names are always
/// listed.
void require_fonts(PangoFontMap* font_map) {
  static const bool found = [&] {
    PangoFontFamily** families = nullptr;
    int n = 0;
    pango_font_map_list_families(font_map, &families, &n);
    constexpr std::array<std::string_view, 4> kGeneric{"Sans", "Serif", "Monospace", "System-ui"};
    const bool any = std::any_of(families, families + n, [&](PangoFontFamily* family) {
      return std::ranges::find(kGeneric, std::string_view(pango_font_family_get_name(family))) ==
             kGeneric.end();
    });
    g_free(families);
    return any;
  }();
  if (!found) {
    throw Error(ExitCode::kSetupIncomplete, "picture",
                "no font is installed, expected one: apt-get install fonts-dejavu-core");
  }
}

void write_text(PangoLayout* layout, std::string_view text) {
  pango_layout_set_text(layout, text.data(), static_cast<int>(text.size()));
}

/// Code points without a glyph in any font, spelled out.
std::string spelled_out(PangoLayout* layout, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto bytes = static_cast<std::size_t>(g_utf8_skip[static_cast<unsigned char>(text.front())]);
    const std::string_view character = text.substr(0, bytes);
    write_text(layout, character);
    result += pango_layout_get_unknown_glyphs_count(layout) == 0
                  ? std::string(character)
                  : fmt::format("U+{:04X}", g_utf8_get_char(character.data()));
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

Handle<PangoLayout> make_layout(std::string_view text, const TextStyle& style) {
  PangoFontMap* font_map = pango_cairo_font_map_get_default();
  require_fonts(font_map);
  const Handle<PangoContext> context(pango_font_map_create_context(font_map));
  const Handle<cairo_font_options_t> options(cairo_font_options_create());
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context.get(), options.get());
  pango_context_set_round_glyph_positions(context.get(), FALSE);
  pango_context_set_base_dir(context.get(), PANGO_DIRECTION_LTR);
  Handle<PangoLayout> layout(pango_layout_new(context.get()));
  const Handle<PangoFontDescription> font(pango_font_description_from_string("DejaVu Sans, Sans"));
  pango_font_description_set_absolute_size(font.get(), style.size * PANGO_SCALE);
  pango_font_description_set_weight(font.get(),
                                    style.weight == Weight::kBold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  write_text(layout.get(), text);
  if (pango_layout_get_unknown_glyphs_count(layout.get()) > 0) {
    write_text(layout.get(), spelled_out(layout.get(), text));
  }
  return layout;
}

Extent extent_of(PangoLayout* layout) {
  int width = 0, height = 0;
  pango_layout_get_size(layout, &width, &height);
  return {width / static_cast<double>(PANGO_SCALE), height / static_cast<double>(PANGO_SCALE)};
}

Extent measure(std::string_view text, const TextStyle& style) {
  return extent_of(make_layout(text, style).get());
}

}  // namespace headtorch::report
