#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/core/head_kernel.hpp"
#include "src/probe/kernel_statistics.hpp"
#include "src/probe/mixture.hpp"

namespace headtorch::probe {

/// A kernel and -sum_rows w sum_j A ln K over the rows it was fitted on.
struct KernelFit {
  HeadKernel kernel;
  double loss = 0.0;
};

/// The Gaussian nearest to the rows for a slope: offset and ln bandwidth searched from where the weights
/// exceed uniform most, eps fitted inside (Mixture). Bandwidths from 0.1 to 4 times the number of keys. Of
/// many long rows it looks at some only: offset and bandwidth are then rough.
KernelFit search_gaussian(std::span<const SummedRow> rows, double slope);
/// Goes on from there on all rows.
KernelFit polish_gaussian(std::span<const SummedRow> rows, const KernelFit& fit);

/// The nearest "one key", eps fitted.
KernelFit fit_key(std::span<const SummedRow> rows);

/// A positional kernel's mixture on these rows, at its offset and bandwidth, or key.
Mixture positional_mixture(std::span<const SummedRow> rows, const HeadKernel& kernel);

/// The same for K0 = `mean` [queries, keys], each row over its visible keys divided by its sum there.
Mixture mean_mixture(std::span<const SummedRow> rows, std::span<const double> mean, std::int64_t keys);

/// Adds one row under a Gaussian to a mixture. Keys where K0 is below 1e-17 of its peak count as not named.
void add_gaussian_row(const SummedRow& row, double centre, double bandwidth, Mixture& mixture);

}  // namespace headtorch::probe
