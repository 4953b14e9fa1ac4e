#pragma once

#include "src/cli/demo_numbers.hpp"
#include "src/report/panels.hpp"

// Pictures of a noisy sine, for `regress --demo` and `tour`.

namespace headtorch::cli {

/// Data and curve at each bandwidth, its weights beside it.
report::Panels three_bandwidths_figure(const DemoNumbers& numbers);
/// Entropy and points used against bandwidth, with the temperature on top.
report::Panels temperature_figure(const DemoNumbers& numbers);
/// Error by leave-one-out against bandwidth, with what each way of choosing gives, and the fits.
report::Panels choices_figure(const DemoNumbers& numbers);
/// The fits of raw, normalised and completed dot products, and their weights.
report::Panels dot_product_figure(const DemoNumbers& numbers);

}  // namespace headtorch::cli
