#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/regress/regression.hpp"
#include "src/regress/row_weights.hpp"

// What `regress --demo` and `tour` show of a noisy sine, as numbers.

namespace headtorch::cli {

inline constexpr double kDemoBandwidths[] = {0.05, 0.5, 10};  ///< too narrow, fits, too wide

/// y at places along x, from weights of all points.
struct DemoFit {
  double bandwidth = 0;          ///< NaN where there is none
  std::vector<double> weights;   ///< [places, points]
  std::vector<double> y;         ///< at the places
  regress::Sharpness sharpness;  ///< of the weights
  double sine_rmse = 0;          ///< from sin(x), over places among the points: from 0 to 10
};

struct DemoTemperature {
  double bandwidth = 0, temperature = 0;  ///< h, h^2
  regress::Sharpness sharpness;
  double difference = 0;  ///< largest, of the kernel's weights from softmax(-(x - x_i)^2 / 2 / temperature)
};

struct DemoChoice {
  std::string name;
  regress::ChosenBandwidth chosen;
  regress::RegressionStatistics numbers;
  DemoFit fit;
};

/// 80 points, as torch draws them from seed 42, and 200 places from -1 to 11.
struct DemoNumbers {
  regress::RegressionData data;
  std::vector<double> places;
  std::vector<DemoFit> fits;                  ///< of kDemoBandwidths
  std::vector<double> cv;                     ///< of kDemoBandwidths: mean squared error by leave-one-out
  std::vector<DemoTemperature> temperatures;  ///< h from 0.02 to 20
  std::vector<DemoChoice> choices;            ///< cv, aicc, rot, plug-in
  DemoFit raw;                                ///< softmax(x x_i)
  DemoFit normalised;                         ///< the same of (x - mean) / sd of the points
  DemoFit identity;                           ///< softmax((x x_i - x_i^2 / 2) / h^2), h = 0.5
  double identity_difference = 0;             ///< largest, of its weights from the Gaussian kernel's

  const std::vector<double>& x() const { return data.x.front().numbers; }
  const std::vector<double>& y() const { return data.y.numbers; }
};

DemoNumbers demo_numbers();

nlohmann::ordered_json demo_document(const DemoNumbers& numbers);
/// For a person: the four tables.
std::string demo_text(const DemoNumbers& numbers);

}  // namespace headtorch::cli
