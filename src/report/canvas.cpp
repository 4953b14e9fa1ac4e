#include "src/report/canvas.hpp"

#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "src/core/error.hpp"
#include "src/report/lettering.hpp"

namespace headtorch::report {
namespace {

constexpr std::int64_t kMaxPixels = 32767;
// Above this many rectangles an SVG holds the cells as a picture, which every viewer draws faster.
constexpr std::size_t kMaxRectangles = 2048;

cairo_status_t append_bytes(void* closure, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

void check(cairo_status_t status, std::string_view what) {
  if (status == CAIRO_STATUS_NO_MEMORY) {
    throw Error(ExitCode::kOutOfMemory, "picture", fmt::format("not enough memory for {}", what));
  }
  if (status != CAIRO_STATUS_SUCCESS) {
    throw Error(ExitCode::kInternal, "picture", fmt::format("{}: {}", what, cairo_status_to_string(status)));
  }
}

/// cairo numbers surfaces and images through the whole life of the process; here the names that are letters
/// and a number are numbered from 1 in every file.
std::string renumbered(std::string_view svg) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz-", kDigits = "0123456789";
  std::map<std::string, std::size_t, std::less<>> numbers;
  std::string result;
  result.reserve(svg.size());
  for (std::size_t start = svg.find_first_of("\"#"); start != std::string_view::npos;
       start = svg.find_first_of("\"#")) {
    result += svg.substr(0, start + 1);
    svg.remove_prefix(start + 1);
    const std::size_t name = std::min(svg.find_first_not_of(kLetters), svg.size());
    const std::size_t end = std::min(svg.find_first_not_of(kDigits, name), svg.size());
    if (name > 0 && end > name && end < svg.size() && (svg[end] == '"' || svg[end] == ')')) {
      const auto entry = numbers.try_emplace(std::string(svg.substr(0, end)), numbers.size() + 1).first;
      result += fmt::format("{}{}", svg.substr(0, name), entry->second);
      svg.remove_prefix(end);
    }
  }
  return result.append(svg);
}

Handle<cairo_surface_t> image_of(std::int64_t rows, std::int64_t columns, std::span<const Rgb> colours) {
  Handle<cairo_surface_t> image(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns), static_cast<int>(rows)));
  check(cairo_surface_status(image.get()), "the cells");
  cairo_surface_flush(image.get());
  const std::int64_t stride = cairo_image_surface_get_stride(image.get());
  unsigned char* data = cairo_image_surface_get_data(image.get());
  for (std::int64_t i = 0; i < rows; ++i) {
    auto* row = reinterpret_cast<std::uint32_t*>(data + i * stride);
    for (std::int64_t j = 0; j < columns; ++j) {
      const Rgb c = colours[static_cast<std::size_t>(i * columns + j)];
      row[j] = static_cast<std::uint32_t>(c.r) << 16 | static_cast<std::uint32_t>(c.g) << 8 | c.b;
    }
  }
  cairo_surface_mark_dirty(image.get());
  return image;
}

struct Grid {
  std::int64_t rows, columns;
};

/// The cell whose middle is nearest, for each pixel.
std::vector<Rgb> on_pixels(const Grid& cells, std::span<const Rgb> colours, const Grid& pixels) {
  std::vector<Rgb> result(static_cast<std::size_t>(pixels.rows * pixels.columns));
  for (std::int64_t i = 0; i < pixels.rows; ++i) {
    const std::int64_t row = (2 * i + 1) * cells.rows / (2 * pixels.rows);
    for (std::int64_t j = 0; j < pixels.columns; ++j) {
      const std::int64_t column = (2 * j + 1) * cells.columns / (2 * pixels.columns);
      result[static_cast<std::size_t>(i * pixels.columns + j)] =
          colours[static_cast<std::size_t>(row * cells.columns + column)];
    }
  }
  return result;
}

std::string png_bytes(cairo_surface_t* surface) {
  std::string bytes;
  check(cairo_surface_write_to_png_stream(surface, append_bytes, &bytes), "the PNG");
  return bytes;
}

}  // namespace

struct Canvas::State {
  Format format = Format::kPng;
  int density = 1;
  std::string svg;         ///< filled by cairo
  std::string svg_images;  ///< elements that are put in front of all cairo drew
  Handle<cairo_surface_t> surface;
  Handle<cairo_t> cairo;

  void colour(Rgb c) const { cairo_set_source_rgb(cairo.get(), c.r / 255.0, c.g / 255.0, c.b / 255.0); }
  void rectangle(const Box& box) const { cairo_rectangle(cairo.get(), box.x, box.y, box.width, box.height); }
};

Canvas::Canvas(Format format, Extent size, int density) : state_(std::make_unique<State>()) {
  state_->format = format;
  state_->density = density;
  if (format == Format::kSvg) {
    state_->surface.reset(
        cairo_svg_surface_create_for_stream(append_bytes, &state_->svg, size.width, size.height));
    cairo_svg_surface_set_document_unit(state_->surface.get(), CAIRO_SVG_UNIT_PX);
  } else {
    const auto width = static_cast<std::int64_t>(std::ceil(size.width)) * density;
    const auto height = static_cast<std::int64_t>(std::ceil(size.height)) * density;
    if (width > kMaxPixels || height > kMaxPixels) {
      throw ConfigError("picture",
                        fmt::format("{} x {} pixels, expected at most {} a side: draw one head, or write npy",
                                    width, height, kMaxPixels));
    }
    state_->surface.reset(
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)));
  }
  check(cairo_surface_status(state_->surface.get()), "the picture");
  state_->cairo.reset(cairo_create(state_->surface.get()));
  if (format == Format::kPng) {
    cairo_scale(state_->cairo.get(), density, density);
  }
  fill({0, 0, std::ceil(size.width), std::ceil(size.height)}, {255, 255, 255});
}

Canvas::~Canvas() = default;

void Canvas::fill(const Box& box, Rgb colour) {
  state_->colour(colour);
  state_->rectangle(box);
  cairo_fill(state_->cairo.get());
}

void Canvas::frame(const Box& box, Rgb colour, double width) {
  state_->colour(colour);
  cairo_set_line_width(state_->cairo.get(), width);
  state_->rectangle({box.x - width / 2, box.y - width / 2, box.width + width, box.height + width});
  cairo_stroke(state_->cairo.get());
}

void Canvas::hatch(const Box& box, Rgb colour) {
  constexpr double kSpacing = 6.0;
  cairo_save(state_->cairo.get());
  state_->rectangle(box);
  cairo_clip(state_->cairo.get());
  for (double x = box.x - box.height; x < box.right(); x += kSpacing) {
    line(x, box.bottom(), x + box.height, box.y, colour, 0.8);
  }
  cairo_restore(state_->cairo.get());
}

void Canvas::line(double x0, double y0, double x1, double y1, Rgb colour, double width) {
  state_->colour(colour);
  cairo_set_line_width(state_->cairo.get(), width);
  cairo_move_to(state_->cairo.get(), x0, y0);
  cairo_line_to(state_->cairo.get(), x1, y1);
  cairo_stroke(state_->cairo.get());
}

void Canvas::path(std::span<const Point> points, Rgb colour, double width, Dash dash) {
  if (points.empty()) return;
  static const std::map<Dash, std::vector<double>> kPatterns = {
      {Dash::kSolid, {}}, {Dash::kLong, {6, 2.5}}, {Dash::kShort, {3, 2.5}}, {Dash::kDotted, {0.5, 3}}};
  const std::vector<double>& pattern = kPatterns.at(dash);
  cairo_t* cairo = state_->cairo.get();
  cairo_save(cairo);
  state_->colour(colour);
  cairo_set_line_width(cairo, width);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
  cairo_set_dash(cairo, pattern.data(), static_cast<int>(pattern.size()), 0);
  cairo_move_to(cairo, points.front().x, points.front().y);
  for (const Point& point : points) cairo_line_to(cairo, point.x, point.y);
  cairo_stroke(cairo);
  cairo_restore(cairo);
}

void Canvas::disc(Point centre, double radius, Rgb colour) {
  state_->colour(colour);
  cairo_new_path(state_->cairo.get());
  cairo_arc(state_->cairo.get(), centre.x, centre.y, radius, 0, 2 * std::numbers::pi);
  cairo_fill(state_->cairo.get());
}

void Canvas::area(std::span<const Point> outline, Rgb colour) {
  if (outline.empty()) return;
  cairo_t* cairo = state_->cairo.get();
  state_->colour(colour);
  cairo_move_to(cairo, outline.front().x, outline.front().y);
  for (const Point& point : outline) cairo_line_to(cairo, point.x, point.y);
  cairo_close_path(cairo);
  cairo_fill(cairo);
}

void Canvas::begin_clip(const Box& box) {
  cairo_save(state_->cairo.get());
  state_->rectangle(box);
  cairo_clip(state_->cairo.get());
}

void Canvas::end_clip() { cairo_restore(state_->cairo.get()); }

void Canvas::text(std::string_view text, double x, double y, const TextStyle& style, Anchor anchor,
                  Writing writing) {
  const Handle<PangoLayout> layout = make_layout(text, style);
  const Extent extent = extent_of(layout.get());
  const double before = anchor == Anchor::kStart    ? 0.0
                        : anchor == Anchor::kMiddle ? extent.width / 2
                                                    : extent.width;
  cairo_t* cairo = state_->cairo.get();
  cairo_save(cairo);
  cairo_translate(cairo, x, y);
  if (writing == Writing::kUp) {
    cairo_rotate(cairo, -std::numbers::pi / 2);
  }
  cairo_translate(cairo, -before, -extent.height / 2);
  state_->colour(style.colour);
  pango_cairo_update_layout(cairo, layout.get());
  pango_cairo_show_layout(cairo, layout.get());
  cairo_restore(cairo);
}

void Canvas::cells(const Box& box, std::int64_t rows, std::int64_t columns, std::span<const Rgb> colours) {
  cairo_t* cairo = state_->cairo.get();
  if (state_->format == Format::kPng) {
    const auto width = static_cast<std::int64_t>(std::lround(box.width * state_->density));
    const auto height = static_cast<std::int64_t>(std::lround(box.height * state_->density));
    const Handle<cairo_surface_t> image =
        image_of(height, width, on_pixels({rows, columns}, colours, {height, width}));
    cairo_save(cairo);
    cairo_translate(cairo, box.x, box.y);
    cairo_scale(cairo, 1.0 / state_->density, 1.0 / state_->density);
    cairo_set_source_surface(cairo, image.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cairo, 0, 0, static_cast<double>(width), static_cast<double>(height));
    cairo_fill(cairo);
    cairo_restore(cairo);
    return;
  }
  struct Run {
    std::int64_t row, first;
    Rgb colour;
  };
  std::vector<Run> runs;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const Rgb colour = colours[static_cast<std::size_t>(i * columns + j)];
      if (j == 0 || !(colour == runs.back().colour)) {
        runs.push_back({i, j, colour});
      }
    }
  }
  if (runs.size() > kMaxRectangles) {
    const std::string png = png_bytes(image_of(rows, columns, colours).get());
    const Handle<gchar> base64(g_base64_encode(reinterpret_cast<const guchar*>(png.data()), png.size()));
    state_->svg_images += fmt::format(
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
        "style=\"image-rendering:pixelated\" "
        "xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"data:image/png;base64,{}\"/>\n",
        box.x, box.y, box.width, box.height, base64.get());
    return;
  }
  const double cell_width = box.width / static_cast<double>(columns);
  const double cell_height = box.height / static_cast<double>(rows);
  // A run reaches to the right and lower edge and later ones cover it: neighbours that merely touch would let
  // the page shine through where a viewer smooths edges.
  for (const Run& run : runs) {
    const double x = box.x + static_cast<double>(run.first) * cell_width;
    const double y = box.y + static_cast<double>(run.row) * cell_height;
    fill({x, y, box.right() - x, std::min(2 * cell_height, box.bottom() - y)}, run.colour);
  }
}

std::string Canvas::finish() {
  check(cairo_status(state_->cairo.get()), "drawing");
  state_->cairo.reset();
  if (state_->format == Format::kPng) {
    return png_bytes(state_->surface.get());
  }
  cairo_surface_finish(state_->surface.get());
  check(cairo_surface_status(state_->surface.get()), "the SVG");
  std::string svg = renumbered(state_->svg);
  svg.insert(svg.rfind("</svg>"), state_->svg_images);
  return svg;
}

std::string grey_png(std::span<const float> values, std::int64_t rows, std::int64_t columns) {
  std::vector<Rgb> colours;
  for (const float value : values) {
    const double v = std::isnan(value) ? 0.0 : std::clamp<double>(value, 0.0, 1.0);
    const auto grey = static_cast<std::uint8_t>(std::lround(255.0 * v));
    colours.push_back({grey, grey, grey});
  }
  return png_bytes(image_of(rows, columns, colours).get());
}

}  // namespace headtorch::report
