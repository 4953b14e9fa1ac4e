#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/tour_text.hpp"
#include "src/report/canvas.hpp"

namespace headtorch::cli {

/// The numbers of a step's sentence, and its picture.
struct TourResult {
  std::vector<std::string> numbers;
  std::function<std::string(report::Format)> draw;  ///< bytes of the picture
};

/// What steps find is kept for later ones: a step alone finds what it needs itself.
class TourSteps {
 public:
  TourSteps();
  ~TourSteps();
  TourResult run(TourStep step);

 private:
  struct Found;
  std::unique_ptr<Found> found_;
};

}  // namespace headtorch::cli
