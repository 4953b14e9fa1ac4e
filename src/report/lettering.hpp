#pragma once

#include <cairo.h>
#include <pango/pangocairo.h>

#include <memory>
#include <string_view>

#include "src/report/canvas.hpp"

// The one place that sets up fonts. Only sources of this folder include it: it shows pango and cairo.

namespace headtorch::report {

struct Release {
  void operator()(cairo_surface_t* p) const { cairo_surface_destroy(p); }
  void operator()(cairo_t* p) const { cairo_destroy(p); }
  void operator()(cairo_font_options_t* p) const { cairo_font_options_destroy(p); }
  void operator()(PangoContext* p) const { g_object_unref(p); }
  void operator()(PangoLayout* p) const { g_object_unref(p); }
  void operator()(PangoFontDescription* p) const { pango_font_description_free(p); }
  void operator()(gchar* p) const { g_free(p); }
};
/// Owns an object of a C library.
template <typename T>
using Handle = std::unique_ptr<T, Release>;

/// A line of text with its font, as `measure` describes.  @throws as `measure`.
Handle<PangoLayout> make_layout(std::string_view text, const TextStyle& style);
Extent extent_of(PangoLayout* layout);

}  // namespace headtorch::report
