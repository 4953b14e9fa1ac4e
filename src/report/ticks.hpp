#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/report/canvas.hpp"

namespace headtorch::report {

enum class Axis { kQuery, kKey };  ///< down the left side, across the bottom

/// One label. It takes `begin` .. `end` along the axis, in points from the first cell's edge.
struct Tick {
  std::int64_t position = 0;
  std::string text;
  double begin = 0, end = 0;
};

/// The labels of an axis. They never overlap.
struct AxisTicks {
  std::vector<Tick> ticks;
  std::int64_t every = 1;  ///< tokens a label; above 1 a label reads "POSITION: TOKEN"
  Writing writing = Writing::kAcross;
  double font = 11;  ///< points
  double depth = 0;  ///< points the labels take away from the cells
};

/// Labels for one token a cell of `cell` points: all of them while they can be read, else every 2nd, 5th,
/// 10th, 20th ...
AxisTicks place_ticks(const std::vector<std::string>& tokens, double cell, Axis axis);

/// Beside the cells in `data`, with marks where not every cell has a label.
void draw_ticks(Canvas& canvas, const Box& data, const AxisTicks& ticks, Axis axis);

}  // namespace headtorch::report
