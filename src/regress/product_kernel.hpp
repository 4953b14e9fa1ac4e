#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/regress/local_sums.hpp"
#include "src/regress/regression.hpp"

namespace headtorch::regress {

/// Internal to this layer: the weights of all n rows at one place, for any columns. They are formed as
/// logarithms relative to the largest, so that they never all vanish. O(n d) a place.
class ProductKernel {
 public:
  /// @throws DataError, ShapeError for columns that are none: see regression.hpp.
  ProductKernel(const std::vector<Variable>& columns, Kernel kernel);

  std::size_t size() const { return n_; }
  std::size_t n_columns() const { return columns_.size(); }
  /// @throws ConfigError unless there is one for each column, and allowed.
  void set_bandwidth(std::span<const double> bandwidth);

  /// At row i, which is a neighbour of itself or not. The latter needs a second row.
  void at_row(std::size_t i, Own own);
  /// At row i of other columns of the same kinds.
  void at_place(const std::vector<Variable>& places, std::size_t i);

  /// Of the last place, by row, their sum 1. Then zeros up to whole lanes.
  const std::vector<double>& weights() const { return weights_; }
  /// How far each row is from that place in number column k, in bandwidths; 0 for categories.
  double distance(std::size_t row, std::size_t k) const;
  /// From one row to another in number column k, in bandwidths.
  double difference(std::size_t row, std::size_t from, std::size_t k) const;
  /// sums[k] += sum_j c_j d ln K_j / d ln h_k, K_j the row's weight before the sum is made 1. `c` is as long
  /// as weights() and 0 past n. Gaussian and exponential.
  void add_slopes(std::span<const double> c, std::span<double> sums) const;

 private:
  struct Column {
    std::vector<double> values;  // numbers or codes, in whole lanes
    std::int64_t n_categories = 0;
    double bandwidth = 1.0;
    double log_same = 0.0, log_other = 0.0;
  };

  void form(std::optional<std::size_t> left_out);
  double form_logarithms(std::optional<std::size_t> left_out);
  void form_far_logarithms(std::optional<std::size_t> left_out);
  void take_nearest(std::optional<std::size_t> left_out);
  void make_weights(double highest, std::optional<std::size_t> left_out);

  Kernel kernel_;
  std::size_t n_ = 0;
  std::vector<Column> columns_;
  std::vector<double> place_;
  std::vector<double> logarithms_, weights_;
};

}  // namespace headtorch::regress
