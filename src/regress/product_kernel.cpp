#include "src/regress/product_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/error.hpp"
#include "src/regress/data.hpp"
#include "src/regress/lane_sums.hpp"
#include "src/regress/lanes.hpp"
#include "src/regress/sample.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "regression";
constexpr double kNone = -std::numeric_limits<double>::infinity();
// Logarithms below it have lost digits that their differences need.
constexpr double kFar = -1e5;
// A bandwidth of 0 stands for its limit.
constexpr double kLeastShare = 1e-300;

HEADTORCH_EACH_FLOAT_UNIT
void add_gaussian(double* logarithms, const double* x, std::size_t n, double place, double per_h) {
  for (std::size_t j = 0; j < n; ++j) {
    const double u = (x[j] - place) * per_h;
    logarithms[j] -= 0.5 * u * u;
  }
}

HEADTORCH_EACH_FLOAT_UNIT
void add_exponential(double* logarithms, const double* x, std::size_t n, double place, double per_h) {
  for (std::size_t j = 0; j < n; ++j) logarithms[j] -= std::abs(x[j] - place) * per_h;
}

HEADTORCH_EACH_FLOAT_UNIT
void add_category(double* logarithms, const double* code, std::size_t n, double place, double same,
                  double other) {
  for (std::size_t j = 0; j < n; ++j) logarithms[j] += code[j] == place ? same : other;
}

/// weights = exp(logarithms - highest), whole lanes.
HEADTORCH_EACH_FLOAT_UNIT
void exponentials(double* weights, const double* logarithms, std::size_t n, double highest) {
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes power;
    load(power, logarithms + j);
    power -= highest;
    power = power < 0.0 ? power : Lanes{};
    exp_in_place(power);
    store(weights + j, power);
  }
}

/// sum_j c_j size(x_j - place).
template <typename Size>
HEADTORCH_INLINE double sum_of_sizes(const double* c, const double* x, std::size_t n, double place,
                                     const Size& size) {
  Lanes sum = {};
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes value, factor;
    load(value, x + j);
    load(factor, c + j);
    value -= place;
    size(value);
    sum += factor * value;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

HEADTORCH_EACH_FLOAT_UNIT
double sum_of_squares(const double* c, const double* x, std::size_t n, double place) {
  return sum_of_sizes(c, x, n, place, [](Lanes& value) { value *= value; });
}

HEADTORCH_EACH_FLOAT_UNIT
double sum_of_distances(const double* c, const double* x, std::size_t n, double place) {
  return sum_of_sizes(c, x, n, place, [](Lanes& value) { value = value < 0.0 ? -value : value; });
}

double logarithm_of(Kernel kernel, double u) {
  if (kernel == Kernel::kBox) return std::abs(u) <= 1 ? 0.0 : kNone;
  return std::abs(u) < 1 ? std::log1p(-u * u) : kNone;
}

}  // namespace

ProductKernel::ProductKernel(const std::vector<Variable>& columns, Kernel kernel) : kernel_(kernel) {
  check_columns(columns, kWhere);
  n_ = rows_of(columns.front());
  const std::size_t padded = (n_ + kLanes - 1) / kLanes * kLanes;
  for (const Variable& column : columns) {
    Column& own = columns_.emplace_back();
    own.n_categories = column.n_categories;
    own.values.resize(padded);
    for (std::size_t i = 0; i < n_; ++i) own.values[i] = value_at(column, i);
  }
  place_.resize(columns_.size());
  logarithms_.resize(padded);
  weights_.resize(padded);
}

void ProductKernel::set_bandwidth(std::span<const double> bandwidth) {
  if (bandwidth.size() != columns_.size())
    throw ConfigError(kWhere, fmt::format("{} bandwidths for {} columns, expected one a column",
                                          bandwidth.size(), columns_.size()));
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    Column& column = columns_[k];
    column.bandwidth = bandwidth[k];
    if (column.n_categories == 0) {
      check_bandwidth(bandwidth[k], kWhere);
      continue;
    }
    const double widest = widest_of_category(column.n_categories);
    if (!(bandwidth[k] >= 0.0 && bandwidth[k] <= widest * (1 + 1e-12)))
      throw ConfigError(kWhere, fmt::format("bandwidth {} of {} categories, expected 0 to {}", bandwidth[k],
                                            column.n_categories, widest));
    const double others = std::max(1.0, static_cast<double>(column.n_categories - 1));
    column.log_same = std::log(1.0 - bandwidth[k]);
    column.log_other = std::log(std::max(bandwidth[k], kLeastShare) / others);
  }
}

void ProductKernel::at_row(std::size_t i, Own own) {
  for (std::size_t k = 0; k < columns_.size(); ++k) place_[k] = columns_[k].values[i];
  form(own == Own::kLeftOut ? std::optional(i) : std::nullopt);
}

void ProductKernel::at_place(const std::vector<Variable>& places, std::size_t i) {
  for (std::size_t k = 0; k < columns_.size(); ++k) place_[k] = value_at(places[k], i);
  form({});
}

double ProductKernel::distance(std::size_t row, std::size_t k) const {
  const Column& column = columns_[k];
  return column.n_categories > 0 ? 0.0 : (column.values[row] - place_[k]) / column.bandwidth;
}

double ProductKernel::difference(std::size_t row, std::size_t from, std::size_t k) const {
  const Column& column = columns_[k];
  return (column.values[row] - column.values[from]) / column.bandwidth;
}

void ProductKernel::form(std::optional<std::size_t> left_out) {
  double highest = form_logarithms(left_out);
  if (highest < kFar) {
    if (kernel_ == Kernel::kGaussian || kernel_ == Kernel::kExponential) {
      form_far_logarithms(left_out);
    } else {
      take_nearest(left_out);
    }
    highest = largest(logarithms_.data(), logarithms_.size());
  }
  make_weights(highest, left_out);
}

double ProductKernel::form_logarithms(std::optional<std::size_t> left_out) {
  std::fill(logarithms_.begin(), logarithms_.end(), 0.0);
  const std::size_t padded = logarithms_.size();
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Column& column = columns_[k];
    const double* x = column.values.data();
    if (column.n_categories > 0) {
      add_category(logarithms_.data(), x, padded, place_[k], column.log_same, column.log_other);
    } else if (kernel_ == Kernel::kGaussian) {
      add_gaussian(logarithms_.data(), x, padded, place_[k], 1.0 / column.bandwidth);
    } else if (kernel_ == Kernel::kExponential) {
      add_exponential(logarithms_.data(), x, padded, place_[k], 1.0 / column.bandwidth);
    } else {
      for (std::size_t j = 0; j < n_; ++j)
        logarithms_[j] += logarithm_of(kernel_, (x[j] - place_[k]) / column.bandwidth);
    }
  }
  if (left_out) logarithms_[*left_out] = kNone;
  std::fill(logarithms_.begin() + static_cast<std::ptrdiff_t>(n_), logarithms_.end(), kNone);
  return largest(logarithms_.data(), padded);
}

/// Relative to the nearest row m, from differences that keep their digits: u_j^2 - u_m^2 = (u_j - u_m)(u_j +
/// u_m).
void ProductKernel::form_far_logarithms(std::optional<std::size_t> left_out) {
  const auto distance_to = [&](std::size_t j) {
    long double sum = 0;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const Column& column = columns_[k];
      if (column.n_categories > 0) {
        sum -= column.values[j] == place_[k] ? column.log_same : column.log_other;
        continue;
      }
      const long double u = (static_cast<long double>(column.values[j]) - place_[k]) / column.bandwidth;
      sum += kernel_ == Kernel::kGaussian ? u * u / 2 : std::abs(u);
    }
    return sum;
  };
  std::size_t nearest = n_;
  long double least = 0;
  for (std::size_t j = 0; j < n_; ++j) {
    if (left_out == j) continue;
    const long double distance_j = distance_to(j);
    if (nearest == n_ || distance_j < least) nearest = j, least = distance_j;
  }
  for (std::size_t j = 0; j < n_; ++j) {
    long double sum = 0;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const Column& column = columns_[k];
      if (column.n_categories > 0) {
        const auto logarithm = [&](std::size_t row) {
          return column.values[row] == place_[k] ? column.log_same : column.log_other;
        };
        sum += static_cast<long double>(logarithm(j)) - logarithm(nearest);
        continue;
      }
      const long double here = static_cast<long double>(column.values[j]) - place_[k];
      const long double there = static_cast<long double>(column.values[nearest]) - place_[k];
      const long double h = column.bandwidth;
      sum -= kernel_ == Kernel::kGaussian ? (here - there) / h * ((here + there) / h) / 2
                                          : (std::abs(here) - std::abs(there)) / h;
    }
    logarithms_[j] = left_out == j ? kNone : static_cast<double>(sum);
  }
}

/// The rows that a common factor on all bandwidths would reach first, weighted by their categories.
void ProductKernel::take_nearest(std::optional<std::size_t> left_out) {
  std::vector<long double> reach(n_, 0);
  long double least = std::numeric_limits<long double>::infinity();
  for (std::size_t j = 0; j < n_; ++j) {
    logarithms_[j] = 0.0;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const Column& column = columns_[k];
      if (column.n_categories > 0) {
        logarithms_[j] += column.values[j] == place_[k] ? column.log_same : column.log_other;
      } else {
        const long double difference = static_cast<long double>(column.values[j]) - place_[k];
        reach[j] = std::max(reach[j], std::abs(difference) / column.bandwidth);
      }
    }
    if (left_out != j) least = std::min(least, reach[j]);
  }
  for (std::size_t j = 0; j < n_; ++j) {
    if (left_out == j || reach[j] > least) logarithms_[j] = kNone;
  }
}

void ProductKernel::make_weights(double highest, std::optional<std::size_t> left_out) {
  exponentials(weights_.data(), logarithms_.data(), weights_.size(), highest);
  if (kernel_ == Kernel::kBox || kernel_ == Kernel::kEpanechnikov) {
    for (std::size_t j = 0; j < n_; ++j) {
      if (logarithms_[j] == kNone) weights_[j] = 0.0;
    }
  }
  if (left_out) weights_[*left_out] = 0.0;
  for (std::size_t j = n_; j < weights_.size(); ++j) weights_[j] = 0.0;
  scale(weights_.data(), weights_.size(), 1.0 / total(weights_.data(), weights_.size()));
}

void ProductKernel::add_slopes(std::span<const double> c, std::span<double> sums) const {
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Column& column = columns_[k];
    const double h = column.bandwidth;
    if (column.n_categories > 0) {
      double same = 0.0, other = 0.0;
      for (std::size_t j = 0; j < n_; ++j) (column.values[j] == place_[k] ? same : other) += c[j];
      sums[k] += other - same * h / (1.0 - h);
    } else if (kernel_ == Kernel::kGaussian) {
      sums[k] += sum_of_squares(c.data(), column.values.data(), c.size(), place_[k]) / h / h;
    } else {
      sums[k] += sum_of_distances(c.data(), column.values.data(), c.size(), place_[k]) / h;
    }
  }
}

}  // namespace headtorch::regress
