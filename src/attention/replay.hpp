#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <string_view>
#include <vector>

// For functions that run a second time in the backward pass, and must compute then what they computed first.

namespace headtorch::attention {

/// What a computation depends on besides its arguments: torch's random generators, of the CPU and of the CUDA
/// device of the tensors, and autocast.
class Surroundings {
 public:
  /// As they are now.  @param tensors the arguments.
  explicit Surroundings(at::TensorList tensors);

 private:
  friend class Replay;

  struct Drawn {
    at::Generator generator;
    at::Tensor state;
  };
  struct Autocast {
    bool enabled = false;
    at::ScalarType dtype = at::kFloat;
  };

  void save();
  void restore() const;

  std::vector<Drawn> generators_;
  std::array<Autocast, 2> autocast_;  // CPU, CUDA
};

/// While it lives, the surroundings are the saved ones; afterwards they are as before, so that what follows
/// draws the numbers that it would have drawn. Generators belong to the process: other threads that draw from
/// them meanwhile get other numbers. Cannot be used while a CUDA graph is captured.
class Replay {
 public:
  explicit Replay(const Surroundings& saved);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

 private:
  Surroundings before_;
};

/// Keeps casts of parameters out of autocast's cache: one made without gradients would be found there later.
class NoAutocastCache {
 public:
  NoAutocastCache();
  ~NoAutocastCache();
  NoAutocastCache(const NoAutocastCache&) = delete;
  NoAutocastCache& operator=(const NoAutocastCache&) = delete;

 private:
  bool before_;
};

/// `source` as a leaf of a graph of its own, with gradients if they are asked for.
at::Tensor fresh_leaf(const at::Tensor& source, bool needs_gradient);

/// Gradients of y to those sources that require them; undefined for the others and where y depends on none.
/// Written nowhere else.
std::vector<at::Tensor> gradients_of(const at::Tensor& y, const std::vector<at::Tensor>& sources,
                                     const at::Tensor& grad_y);

/// @throws Error inside a backward pass that is to be differentiated itself.
void refuse_second_derivatives(std::string_view where);

}  // namespace headtorch::attention
