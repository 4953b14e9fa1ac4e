#include "train/learned_kernel.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/optim/adam.h>
#include <torch/optim/lbfgs.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "src/attention/scores.hpp"
#include "src/attention/softmax.hpp"

// Letters: N rows, T queries, S keys, P columns, F features, H heads, E width.

namespace headtorch::train {
namespace {

using at::Tensor;

constexpr std::int64_t kScoresAStep = 131072;  // half a step's time is spent on what does not grow with them
constexpr std::int64_t kHeadCount = 4;

Tensor tensor_of(std::span<const double> values, at::IntArrayRef sizes) {
  // from_blob only reads; the copy owns what it holds.
  return at::from_blob(const_cast<double*>(values.data()), sizes, at::kDouble).clone();
}

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

std::int64_t features_of(KernelForm form, std::int64_t columns) {
  switch (form) {
    case KernelForm::kLinear:
      return 1 + columns;
    case KernelForm::kNetwork:
      return 1 + columns + kHiddenUnits;
    default:
      return 1 + 2 * columns;
  }
}

/// Hands out the flat parameters one after the other.
class Pieces {
 public:
  explicit Pieces(Tensor parameters) : parameters_(std::move(parameters)) {}
  Tensor next(at::IntArrayRef sizes) {
    const std::int64_t n = c10::multiply_integers(sizes);
    used_ += n;
    return parameters_.narrow(0, used_ - n, n).view(sizes);
  }

 private:
  Tensor parameters_;
  std::int64_t used_ = 0;
};

/// What keys and queries are turned into before they meet.
struct Projections {
  Tensor hidden;           ///< [units, 1 + P] of kNetwork
  Tensor query, key;       ///< [H, E, F]
  Tensor log_bandwidth_P;  ///< of kGaussian
  Tensor mixture_H;        ///< of kHeads
};

Projections projections(const LearnedKernel& kernel, const Tensor& parameters) {
  const auto columns = static_cast<std::int64_t>(kernel.scaling.x_mean.size());
  Pieces pieces(parameters);
  Projections p;
  switch (kernel.form) {
    case KernelForm::kDot:
    case KernelForm::kStandardDot:
    case KernelForm::kUnitDot:
      return p;
    case KernelForm::kGaussian:
      p.log_bandwidth_P = pieces.next({columns});
      return p;
    default:
      break;
  }
  if (kernel.form == KernelForm::kNetwork) p.hidden = pieces.next({kHiddenUnits, 1 + columns});
  const std::vector<std::int64_t> sizes = {kernel.n_heads, kernel.width, features_of(kernel.form, columns)};
  p.query = pieces.next(sizes);
  p.key = kernel.form == KernelForm::kShared ? p.query : pieces.next(sizes);
  if (kernel.form == KernelForm::kHeads) p.mixture_H = pieces.next({kernel.n_heads});
  return p;
}

/// [N, F] of standardised columns.
Tensor features(const LearnedKernel& kernel, const Projections& p, const Tensor& z_NP) {
  const Tensor with_one_NF = at::cat({at::ones({z_NP.size(0), 1}, z_NP.options()), z_NP}, 1);
  switch (kernel.form) {
    case KernelForm::kLinear:
      return with_one_NF;
    case KernelForm::kUnitDot:
      return with_one_NF / at::linalg_vector_norm(with_one_NF, 2, {1}, /*keepdim=*/true);
    case KernelForm::kNetwork:
      return at::cat({with_one_NF, at::gelu(at::matmul(with_one_NF, p.hidden.t()))}, 1);
    default:
      return at::cat({with_one_NF, z_NP.square()}, 1);
  }
}

/// A kernel with its parameters as a tensor, on which gradients can be taken.
class Scorer {
 public:
  Scorer(const LearnedKernel& kernel, const Tensor& parameters)
      : kernel_(kernel), projections_(projections(kernel, parameters)) {
    const Scaling& s = kernel.scaling;
    mean_P_ = tensor_of(s.x_mean, {std::ssize(s.x_mean)});
    sd_P_ = tensor_of(s.x_sd, {std::ssize(s.x_sd)});
  }

  /// [H, N, E or so] of what stands in the scores: `projection` is the query's or the key's.
  Tensor embed(const Tensor& x_NP, const Tensor& projection) const {
    const Tensor z_NP = (x_NP - mean_P_) / sd_P_;
    switch (kernel_.form) {
      case KernelForm::kGaussian:
        return (z_NP * (-projections_.log_bandwidth_P).exp()).unsqueeze(0);
      case KernelForm::kDot:
        return x_NP.unsqueeze(0);
      case KernelForm::kStandardDot:
        return z_NP.unsqueeze(0);
      case KernelForm::kUnitDot:
        return features(kernel_, projections_, z_NP).unsqueeze(0);
      default:
        return at::matmul(features(kernel_, projections_, z_NP), projection.transpose(1, 2));
    }
  }
  Tensor queries(const Tensor& x_TP) const { return embed(x_TP, projections_.query); }
  Tensor keys(const Tensor& x_SP) const { return embed(x_SP, projections_.key); }

  /// [H, T, S].  @param visible bool [T, S]; undefined: every key.
  Tensor weights(const Tensor& q_HTE, const Tensor& k_HSE, const Tensor& visible) const {
    const Tensor q_BHTE = q_HTE.unsqueeze(0), k_BHSE = k_HSE.unsqueeze(0);
    const bool has_matrices = projections_.query.defined();
    const double scale = has_matrices ? 1.0 / std::sqrt(static_cast<double>(kernel_.width)) : 1.0;
    const Tensor scores_BHTS = kernel_.form == KernelForm::kGaussian
                                   ? attention::gaussian_scores(q_BHTE, k_BHSE, std::vector<double>{1.0})
                                   : attention::scaled_dot_scores(q_BHTE, k_BHSE, scale);
    return attention::masked_softmax(scores_BHTS, visible).squeeze(0);
  }

  /// Heads become one: [T, ..].
  Tensor merge(const Tensor& per_head_HT) const {
    if (!projections_.mixture_H.defined()) return per_head_HT.squeeze(0);
    return at::tensordot(projections_.mixture_H, per_head_HT, {0}, {0});
  }

 private:
  const LearnedKernel& kernel_;
  Projections projections_;
  Tensor mean_P_, sd_P_;
};

/// Rows as tensors; the outcome at mean 0 and sd 1, as Adam's rate wants it.
struct Data {
  Data(const LearnedKernel& kernel, const NumberRows& rows)
      : x_NP(tensor_of(rows.x, {rows.n(), rows.columns})),
        y_N((tensor_of(rows.y, {rows.n()}) - kernel.scaling.y_mean) / kernel.scaling.y_sd),
        order_N(at::arange(rows.n())) {}

  Tensor x_NP, y_N, order_N;
};

/// f_{-i} of the rows `which_T`, standardised.
Tensor left_out(const Scorer& scorer, const Data& data, const Tensor& which_T) {
  const Tensor k_HNE = scorer.keys(data.x_NP), q_HTE = scorer.queries(data.x_NP.index_select(0, which_T));
  const Tensor weights_HTN = scorer.weights(q_HTE, k_HNE, data.order_N != which_T.unsqueeze(1));
  return scorer.merge(at::matmul(weights_HTN, data.y_N));
}

Tensor loss_of(const LearnedKernel& kernel, const Tensor& parameters, const Data& data,
               const Tensor& which_T) {
  const Scorer scorer(kernel, parameters);
  return (left_out(scorer, data, which_T) - data.y_N.index_select(0, which_T)).square().mean();
}

std::int64_t queries_a_step(std::int64_t n) {
  return n * n <= kScoresAStep ? n : std::max<std::int64_t>(32, kScoresAStep / n);
}

void fit_by_adam(const LearnedKernel& kernel, Tensor& parameters, const Data& data,
                 const FitOptions& options) {
  torch::optim::Adam adam({parameters}, torch::optim::AdamOptions(options.rate));
  at::Generator generator = at::detail::createCPUGenerator(options.seed);
  const std::int64_t n = data.y_N.size(0), n_queries = queries_a_step(n);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const double share = static_cast<double>(step) / static_cast<double>(options.steps);
    adam.param_groups().front().options().set_lr(options.rate * 0.5 *
                                                 (1.0 + std::cos(std::numbers::pi * share)));
    const Tensor which_T =
        n_queries == n ? data.order_N : at::randperm(n, generator, at::kLong).narrow(0, 0, n_queries);
    adam.zero_grad();
    loss_of(kernel, parameters, data, which_T).backward();
    adam.step();
  }
}

void fit_by_lbfgs(const LearnedKernel& kernel, Tensor& parameters, const Data& data) {
  torch::optim::LBFGS lbfgs({parameters}, torch::optim::LBFGSOptions(1.0)
                                              .max_iter(60)
                                              .max_eval(120)
                                              .history_size(10)
                                              .tolerance_grad(1e-9)
                                              .tolerance_change(1e-12)
                                              .line_search_fn("strong_wolfe"));
  lbfgs.step([&] {
    lbfgs.zero_grad();
    const Tensor loss = loss_of(kernel, parameters, data, data.order_N);
    loss.backward();
    return loss;
  });
}

/// Calls `work` with runs of 0 .. n-1 that keep a matrix of weights small.
template <typename Work>
void in_runs(std::int64_t n, std::int64_t n_keys, const Work& work) {
  const std::int64_t most = std::max<std::int64_t>(1, 4 * kScoresAStep / std::max<std::int64_t>(1, n_keys));
  for (std::int64_t first = 0; first < n; first += most) work(first, std::min(most, n - first));
}

}  // namespace

Scaling scaling_of(const NumberRows& rows) {
  const auto sd_or_one = [](const Tensor& sd) { return at::where(sd > 0.0, sd, at::ones_like(sd)); };
  const Tensor x_NP = tensor_of(rows.x, {rows.n(), rows.columns}), y_N = tensor_of(rows.y, {rows.n()});
  return {.x_mean = values_of(x_NP.mean(0)),
          .x_sd = values_of(sd_or_one(x_NP.std(0, /*unbiased=*/false))),
          .y_mean = y_N.mean().item<double>(),
          .y_sd = sd_or_one(y_N.std(/*unbiased=*/false)).item<double>()};
}

LearnedKernel new_kernel(KernelForm form, std::int64_t width, const NumberRows& rows, std::uint64_t seed) {
  LearnedKernel kernel{.form = form,
                       .width = width,
                       .n_heads = form == KernelForm::kHeads ? kHeadCount : 1,
                       .scaling = scaling_of(rows),
                       .parameters = {}};
  if (form == KernelForm::kDot || form == KernelForm::kStandardDot || form == KernelForm::kUnitDot)
    return kernel;
  if (form == KernelForm::kGaussian) {
    kernel.parameters.assign(static_cast<std::size_t>(rows.columns), 0.0);
    return kernel;
  }
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::int64_t n_features = features_of(form, rows.columns);
  const auto append = [&](const Tensor& values) {
    const std::vector<double> flat = values_of(values);
    kernel.parameters.insert(kernel.parameters.end(), flat.begin(), flat.end());
  };
  const auto append_normal = [&](std::int64_t n, double sd) {
    append(at::randn({n}, generator, at::kDouble) * sd);
  };
  if (form == KernelForm::kNetwork) append_normal(kHiddenUnits * (1 + rows.columns), 1.0);
  const double sd = 1.0 / std::sqrt(static_cast<double>(n_features));
  for (int matrix = 0; matrix < (form == KernelForm::kShared ? 1 : 2); ++matrix)
    append_normal(kernel.n_heads * width * n_features, sd);
  if (form == KernelForm::kHeads)
    append(at::full({kernel.n_heads}, 1.0 / static_cast<double>(kernel.n_heads), at::kDouble));
  return kernel;
}

std::vector<double> left_out_values(const LearnedKernel& kernel, const NumberRows& rows) {
  const at::NoGradGuard no_gradients;
  const Data data(kernel, rows);
  const Scorer scorer(kernel, tensor_of(kernel.parameters, {std::ssize(kernel.parameters)}));
  const Tensor values_N = at::empty_like(data.y_N);
  in_runs(rows.n(), rows.n(), [&](std::int64_t first, std::int64_t n) {
    values_N.narrow(0, first, n).copy_(left_out(scorer, data, data.order_N.narrow(0, first, n)));
  });
  return values_of(values_N * kernel.scaling.y_sd + kernel.scaling.y_mean);
}

LossAndGradient leave_one_out_loss(const LearnedKernel& kernel, const NumberRows& rows) {
  const Data data(kernel, rows);
  const Tensor parameters =
      tensor_of(kernel.parameters, {std::ssize(kernel.parameters)}).requires_grad_(true);
  const Tensor loss = loss_of(kernel, parameters, data, data.order_N);
  const double unit = kernel.scaling.y_sd * kernel.scaling.y_sd;
  if (kernel.parameters.empty()) return {loss.item<double>() * unit, {}};
  loss.backward();
  return {loss.item<double>() * unit, values_of(parameters.grad() * unit)};
}

LearnedKernel fitted(LearnedKernel kernel, const NumberRows& rows, const FitOptions& options) {
  if (kernel.parameters.empty()) return kernel;
  at::set_num_threads(1);
  const Data data(kernel, rows);
  Tensor parameters = tensor_of(kernel.parameters, {std::ssize(kernel.parameters)}).requires_grad_(true);
  if (kernel.form == KernelForm::kGaussian) {
    fit_by_lbfgs(kernel, parameters, data);
  } else {
    fit_by_adam(kernel, parameters, data, options);
  }
  kernel.parameters = values_of(parameters.detach());
  return kernel;
}

std::vector<double> weights(const LearnedKernel& kernel, std::span<const double> keys,
                            std::span<const double> places) {
  const at::NoGradGuard no_gradients;
  const std::int64_t columns = std::ssize(kernel.scaling.x_mean);
  const Tensor k_SP = tensor_of(keys, {std::ssize(keys) / columns, columns});
  const Tensor q_TP = tensor_of(places, {std::ssize(places) / columns, columns});
  const Scorer scorer(kernel, tensor_of(kernel.parameters, {std::ssize(kernel.parameters)}));
  const Tensor k_HSE = scorer.keys(k_SP);
  std::vector<double> all;
  in_runs(q_TP.size(0), k_SP.size(0), [&](std::int64_t first, std::int64_t n) {
    const Tensor weights_HTS = scorer.weights(scorer.queries(q_TP.narrow(0, first, n)), k_HSE, {});
    const std::vector<double> rows = values_of(scorer.merge(weights_HTS));
    all.insert(all.end(), rows.begin(), rows.end());
  });
  return all;
}

std::vector<double> predict(const LearnedKernel& kernel, const NumberRows& rows,
                            std::span<const double> places) {
  const at::NoGradGuard no_gradients;
  const Data data(kernel, rows);
  const std::vector<double> w = weights(kernel, rows.x, places);
  const Tensor weights_TN = tensor_of(w, {std::ssize(places) / rows.columns, rows.n()});
  return values_of(at::matmul(weights_TN, data.y_N) * kernel.scaling.y_sd + kernel.scaling.y_mean);
}

double identity_difference(const NumberRows& rows, double bandwidth) {
  const LearnedKernel kernel = new_kernel(KernelForm::kStandardDot, 1, rows, 0);
  const Scorer scorer(kernel, at::empty({0}, at::kDouble));
  const Tensor z_BHNE = scorer.keys(tensor_of(rows.x, {rows.n(), rows.columns})).unsqueeze(0);
  const Tensor h_H = at::full({1}, bandwidth, at::kDouble);
  const Tensor by_dot = attention::masked_softmax(attention::gaussian_by_dot_scores(z_BHNE, z_BHNE, h_H), {});
  const Tensor by_distance = attention::masked_softmax(attention::gaussian_scores(z_BHNE, z_BHNE, h_H), {});
  return (by_dot - by_distance).abs().max().item<double>();
}

}  // namespace headtorch::train
