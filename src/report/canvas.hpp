#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/report/colour_map.hpp"

// Drawing with cairo and pango, without their headers. The unit, called a point, is a pixel of the SVG; y
// runs down.

namespace headtorch::report {

enum class Format { kPng, kSvg };

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct Extent {
  double width = 0, height = 0;
};

enum class Weight { kNormal, kBold };
enum class Anchor {
  kStart,
  kMiddle,
  kEnd
};  ///< which part of the text, along its direction, lies at the point
enum class Writing { kAcross, kUp };
enum class Dash { kSolid, kLong, kShort, kDotted };

struct Point {
  double x = 0, y = 0;
};

struct TextStyle {
  double size = 11;  ///< of the font
  Weight weight = Weight::kNormal;
  Rgb colour{0x22, 0x22, 0x22};
};

/// Size of a line of valid UTF-8. Scales with the font's size; hinting is off, so it is the same in PNG and
/// SVG. Code points for which no font is installed are written as "U+4E2D".
/// @throws Error(kSetupIncomplete) when no font at all is installed.
Extent measure(std::string_view text, const TextStyle& style);

/// A white page. The same calls give the same bytes, whatever was drawn before, as long as the fonts are the
/// same.
class Canvas {
 public:
  /// `density` is pixels a point in a PNG; an SVG has none.
  /// @throws ConfigError when a PNG would be larger than cairo can hold (32,767 pixels a side).
  Canvas(Format format, Extent size, int density);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  void fill(const Box& box, Rgb colour);
  /// A line of `width` just outside the box.
  void frame(const Box& box, Rgb colour, double width);
  /// Diagonal strokes inside the box.
  void hatch(const Box& box, Rgb colour);
  void line(double x0, double y0, double x1, double y1, Rgb colour, double width);
  /// A path through the points, its corners rounded; a single point is a dot of that width.
  void path(std::span<const Point> points, Rgb colour, double width, Dash dash = Dash::kSolid);
  void disc(Point centre, double radius, Rgb colour);
  /// The inside of a closed outline.
  void area(std::span<const Point> outline, Rgb colour);
  /// Nothing is drawn outside the box until the end.
  void begin_clip(const Box& box);
  void end_clip();
  /// One line of text, centred on its height at (x, y).
  void text(std::string_view text, double x, double y, const TextStyle& style, Anchor anchor = Anchor::kStart,
            Writing writing = Writing::kAcross);
  /// Cells of equal size, row-major, that fill the box; no blur. In a PNG the box's edges must lie on pixels,
  /// and cells that do not are rounded to them.
  void cells(const Box& box, std::int64_t rows, std::int64_t columns, std::span<const Rgb> colours);

  /// The file's bytes; nothing may be drawn afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A grey PNG, one pixel a value: round(255 v), NaN as 0; nothing else in the picture.
std::string grey_png(std::span<const float> values, std::int64_t rows, std::int64_t columns);

}  // namespace headtorch::report
