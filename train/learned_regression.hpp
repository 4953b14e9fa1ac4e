#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/probe/summary.hpp"
#include "train/learned_kernel.hpp"

// Is it worth to learn the kernel? The same rows fitted by every form of learned_kernel.hpp, judged by the
// same leave-one-out loss and on the same held-out rows.

namespace headtorch::train {

inline constexpr std::int64_t kFewestLearnRows = 10, kMostLearnRows = 2000;

struct LearnOptions {
  std::int64_t seeds = 4;      ///< starting values of each learned form
  std::int64_t splits = 8;     ///< random 80/20 splits; the r-th is the same for every form
  std::int64_t n_threads = 1;  ///< changes no result
  FitOptions fit = {};         ///< its seed is the first
};

/// The Gaussian's L-BFGS from one start.
struct Valley {
  std::vector<double> start, end;  ///< h a column, in units of x
  double loo = 0.0;
};

/// Difference of the held-out mean squared error from the Gaussian's, split by split; below 0: better. The
/// interval is Student's with the variance (1/R + n_test/n_train) s^2, because splits share rows.  Source:
/// Nadeau and Bengio 2003, "Inference for the generalization error".
struct PairedDifference {
  double mean = 0.0, low = 0.0, high = 0.0;  ///< 95 %
};
/// @param n_test, n_train rows of a split.  @throws ConfigError for fewer than two values.
PairedDifference paired_difference(const std::vector<double>& differences, double n_test, double n_train);

/// One form; losses are mean squared errors in units of y squared.
struct LearnedRow {
  KernelForm form = KernelForm::kGaussian;
  std::vector<double> loo;  ///< by seed; one where nothing is drawn
  probe::Summary loo_summary;
  std::vector<double> held_out;  ///< by split, each fitted anew on 80 % of the rows
  double held_out_mean = 0.0;
  std::optional<PairedDifference> against_gaussian;  ///< absent for the Gaussian itself
  LearnedKernel kernel;                              ///< of the seed with the least leave-one-out loss
};

struct LearnedRegression {
  std::vector<double> bandwidth;     ///< learned: the best valley's
  std::vector<Valley> valleys;       ///< from 1, 1/4, 4 and 1/16 times 1.06 sd n^(-1/(4 + columns))
  double identity_difference = 0.0;  ///< K4, on standardised columns at the learned h of the first
  std::vector<LearnedRow> rows;      ///< in the order of KernelForm: the Gaussian first
};

/// @throws DataError for fewer than kFewestLearnRows rows, ConfigError for more than kMostLearnRows.
void check_learnable(const NumberRows& rows);

/// @throws as check_learnable.
LearnedRegression learn_regression(const NumberRows& rows, const LearnOptions& options);

/// Where the weights of a place lie, over an even grid of keys on the range of x: their mean and sd. Of a
/// Gaussian away from the edges the place itself and h. NaN where weights are not all >= 0.
struct LocalKernel {
  double centre = 0.0, width = 0.0;
};
/// For one column.
std::vector<LocalKernel> local_kernels(const LearnedKernel& kernel, const NumberRows& rows,
                                       const std::vector<double>& places);

std::string_view name_of(KernelForm form);
/// Whether gradients fit it; the Gaussian too.
bool is_learned(KernelForm form);

}  // namespace headtorch::train
