#include "src/attention/blocked.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "src/attention/replay.hpp"
#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

using torch::autograd::variable_list;

constexpr std::string_view kWhere = "attention.attend_blocked";
constexpr std::size_t kInputs = 3;  // q, k and v; captured tensors follow

std::vector<Piece> pieces(const BlockedInput& input) {
  const std::int64_t queries = input.q.size(2), keys = input.k.size(2);
  const std::int64_t window = std::min(input.window, queries + keys);
  std::vector<Piece> result;
  for (std::int64_t row = 0; row < queries; row += input.rows_at_once) {
    Piece piece{keys - queries + row, std::min(input.rows_at_once, queries - row), 0, keys};
    const std::int64_t last_query = piece.first_query + piece.queries - 1;
    const std::int64_t ahead = input.visibility == Visibility::kCausal ? 0 : window;
    piece.first_key = std::clamp<std::int64_t>(piece.first_query - window, 0, keys);
    piece.keys = std::clamp<std::int64_t>(last_query + ahead + 1, piece.first_key, keys) - piece.first_key;
    result.push_back(piece);
  }
  return result;
}

struct Call : torch::CustomClassHolder {
  Call(AttendPiece function, const BlockedInput& input, at::TensorList tensors)
      : attend(std::move(function)), blocks(pieces(input)), surroundings(tensors) {}

  at::Tensor operator()(const Piece& piece, const variable_list& cut) const {
    const at::Tensor y = attend(piece, cut[0], cut[1], cut[2]);
    check_shape(kWhere, "what the piece attends to", y.sizes(),
                {cut[0].size(0), cut[0].size(1), piece.queries, cut[2].size(3)});
    return y;
  }

  AttendPiece attend;
  std::vector<Piece> blocks;
  Surroundings surroundings;
};

/// Rows of q, k and v that belong to a piece, which starts at row `row` of the queries.
variable_list cut(const Piece& piece, std::int64_t row, at::TensorList tensors) {
  return {tensors[0].narrow(2, row, piece.queries), tensors[1].narrow(2, piece.first_key, piece.keys),
          tensors[2].narrow(2, piece.first_key, piece.keys)};
}

at::Tensor run(const Call& call, at::TensorList tensors) {
  variable_list rows;
  std::int64_t row = 0;
  for (const Piece& piece : call.blocks) {
    const variable_list parts = cut(piece, row, tensors);
    rows.push_back(piece.keys > 0
                       ? call(piece, parts)
                       : at::zeros({parts[0].size(0), parts[0].size(1), piece.queries, tensors[2].size(3)},
                                   tensors[2].options()));
    row += piece.queries;
  }
  return rows.empty() ? at::zeros({tensors[0].size(0), tensors[0].size(1), 0, tensors[2].size(3)},
                                  tensors[2].options())
                      : at::cat(rows, 2);
}

/// Many blocks add into the same keys: in float32 at least.
at::Tensor accumulator(const at::Tensor& x) {
  return at::zeros(x.sizes(), x.options().dtype(at::promote_types(x.scalar_type(), at::kFloat)));
}

struct Blocked : torch::autograd::Function<Blocked> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList tensors,
                            const c10::intrusive_ptr<Call>& call) {
    context->save_for_backward(tensors.vec());
    context->saved_data["call"] = at::IValue::make_capsule(call);
    const NoAutocastCache no_cache;
    return run(*call, tensors);
  }

  static variable_list backward(torch::autograd::AutogradContext* context, const variable_list& grad_y) {
    refuse_second_derivatives(kWhere);
    const auto call = c10::static_intrusive_pointer_cast<Call>(context->saved_data["call"].toCapsule());
    const variable_list tensors = context->get_saved_variables();
    variable_list gradients(tensors.size() + 1);  // the last is that of the call itself
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].defined() && context->needs_input_grad(i)) gradients[i] = accumulator(tensors[i]);
    }
    const Replay replay(call->surroundings);
    const NoAutocastCache no_cache;
    std::int64_t row = 0;
    for (const Piece& piece : call->blocks) {
      if (piece.keys > 0) add_block(*call, piece, row, {tensors, grad_y[0]}, gradients);
      row += piece.queries;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (gradients[i].defined()) gradients[i] = gradients[i].to(tensors[i].scalar_type());
    }
    return gradients;
  }

 private:
  struct Saved {
    const variable_list& tensors;
    const at::Tensor& grad_y;
  };

  static void add_block(const Call& call, const Piece& piece, std::int64_t row, const Saved& saved,
                        variable_list& gradients) {
    variable_list sources = cut(piece, row, saved.tensors);
    for (std::size_t i = 0; i < kInputs; ++i) sources[i] = fresh_leaf(sources[i], gradients[i].defined());
    sources.insert(sources.end(), saved.tensors.begin() + kInputs, saved.tensors.end());
    variable_list of_block;
    {
      const at::AutoGradMode with_graph(true);
      of_block = gradients_of(call(piece, sources), sources, saved.grad_y.narrow(2, row, piece.queries));
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (!gradients[i].defined() || !of_block[i].defined()) continue;
      at::Tensor into = gradients[i];
      if (i == 0) into = into.narrow(2, row, piece.queries);
      if (i == 1 || i == 2) into = into.narrow(2, piece.first_key, piece.keys);
      into.add_(of_block[i]);
    }
  }
};

}  // namespace

at::Tensor attend_blocked(const AttendPiece& attend, const BlockedInput& input) {
  check_shape(kWhere, "q", input.q.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  check_shape(kWhere, "k", input.k.sizes(), {input.q.size(0), input.q.size(1), kAnySize, kAnySize});
  check_shape(kWhere, "v", input.v.sizes(), {input.q.size(0), input.q.size(1), input.k.size(2), kAnySize});
  if (input.rows_at_once < 1 || input.window < 0) {
    throw ConfigError(kWhere,
                      fmt::format("{} rows at once and a window of {}, expected 1 or more and 0 or more",
                                  input.rows_at_once, input.window));
  }
  variable_list tensors = {input.q, input.k, input.v};
  tensors.insert(tensors.end(), input.captured.begin(), input.captured.end());
  const auto needs_gradient = [](const at::Tensor& t) { return t.defined() && t.requires_grad(); };
  auto call = c10::make_intrusive<Call>(attend, input, tensors);
  if (!at::GradMode::is_enabled() || std::none_of(tensors.begin(), tensors.end(), needs_gradient)) {
    return run(*call, tensors);
  }
  return Blocked::apply(at::TensorList(tensors), std::move(call));
}

}  // namespace headtorch::attention
