#pragma once

#include "src/probe/head_report.hpp"
#include "src/probe/kernel_statistics.hpp"

namespace headtorch::probe {

/// positional share from which a head is positional, and up to which it can be one of content; for "content"
/// the best kernel of tokens must explain kContentLead more than the best positional one.
inline constexpr double kPositionalShare = 0.8, kContentShare = 0.4, kContentLead = 0.1;
/// A family of more freedom, or later in FamilyFit's order, must take this share of kl_uniform off.
inline constexpr double kFamilyGain = 1e-3;

/// Fits every family on `fit`, takes the best there, and judges it on `judge` (on `fit` when that is empty).
/// explained is then below 0 only if the other half differs: every family holds uniform weights.
NearestKernel nearest_kernel(const LayerShape& shape, const KernelStatistics& fit,
                             const KernelStatistics& judge);

/// Adds a Gaussian for each row to `nearest`: centre and bandwidth by row, one eps, all on `fit`.
void add_row_kernels(const LayerShape& shape, const KernelStatistics& fit, const KernelStatistics& judge,
                     NearestKernel& nearest);

}  // namespace headtorch::probe
