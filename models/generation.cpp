#include "models/generation.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <span>

#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"

namespace headtorch::models {
namespace {

constexpr std::string_view kWhere = "models.generation";
constexpr std::uint64_t kStream = 0x6d67'0000;  // keeps these draws apart from other uses of the seed

/// One example: what the model reads of it, and what is new.
struct Row {
  std::vector<std::int64_t> read;
  Random random;
  Generated made = {};
  bool ended = false;
};

void check_model(MiniTransformerImpl& model) {
  const ModelSizes& sizes = model.sizes();
  if (model.options().family == Family::kEncoder) {
    throw ConfigError(kWhere,
                      "the model is an encoder, where each token sees all: expected family causal or "
                      "encoder-decoder");
  }
  if (model.is_training())
    throw ConfigError(kWhere, "the model is in training mode, expected evaluation mode");
  if (sizes.n_features > 0) {
    throw ConfigError(
        kWhere,
        fmt::format("the model reads {} numbers beside each token, expected tokens alone", sizes.n_features));
  }
  if (sizes.n_classes > sizes.n_symbols) {
    throw ConfigError(kWhere, fmt::format("the model tells {} classes apart and reads {} symbols: expected "
                                          "classes that are symbols",
                                          sizes.n_classes, sizes.n_symbols));
  }
}

void check_request(const MiniTransformerImpl& model, const GenerationRequest& request) {
  check(request.sampling);
  if (request.max_new_tokens < 1)
    throw ConfigError("max_new_tokens", fmt::format("is {}, expected 1 or more", request.max_new_tokens));
  if (request.prompts.empty()) throw DataError(kWhere, "no prompt, expected at least one");
  for (const std::vector<std::int64_t>& prompt : request.prompts) {
    if (prompt.empty()) throw DataError(kWhere, "a prompt is empty, expected at least one token");
    for (const std::int64_t token : prompt) {
      if (token >= 0 && token < model.sizes().n_symbols) continue;
      throw DataError(kWhere, fmt::format("a prompt holds token {}, expected 0 to {}", token,
                                          model.sizes().n_symbols - 1));
    }
  }
  const bool reads_source = model.options().family == Family::kEncoderDecoder;
  const torch::Tensor& source = request.source.tokens;
  const std::int64_t sources = source.defined() && source.dim() > 0 ? source.size(0) : 0;
  const std::int64_t expected = reads_source ? std::ssize(request.prompts) : 0;
  if (sources != expected) {
    throw ShapeError(kWhere, fmt::format("{} sources for {} prompts, expected {}", sources,
                                         request.prompts.size(), expected));
  }
}

/// Gives the logits behind the first `length` tokens of all rows; lengths must grow.
class Reader {
 public:
  Reader(MiniTransformer model, const GenerationRequest& request)
      : model_(std::move(model)),
        source_(request.source),
        caching_(request.caching),
        device_(model_->parameters().front().device()) {}

  /// @returns [B, C] float64 on the CPU, contiguous.
  torch::Tensor logits(const std::vector<Row>& rows, std::int64_t length) {
    const std::int64_t first = std::max<std::int64_t>(length - model_->sizes().max_len, 0);
    torch::Tensor logits_BTC;
    if (caching_ == Caching::kNone) {
      logits_BTC = model_->forward({Sequence{tokens(rows, first, length)}, source_});
    } else {
      if (first > 0) cache_.restart();
      logits_BTC = model_->decode(tokens(rows, first + cache_.length(), length), cache_, source_);
    }
    return logits_BTC.select(1, -1).to(torch::kCPU, torch::kDouble).contiguous();
  }

 private:
  torch::Tensor tokens(const std::vector<Row>& rows, std::int64_t first, std::int64_t last) const {
    const torch::Tensor tokens_BT = torch::empty({std::ssize(rows), last - first}, torch::kLong);
    auto* to = tokens_BT.data_ptr<std::int64_t>();
    for (const Row& row : rows) to = std::copy(row.read.begin() + first, row.read.begin() + last, to);
    return tokens_BT.to(device_);
  }

  MiniTransformer model_;
  const Sequence& source_;
  Caching caching_;
  torch::Device device_;
  DecodingCache cache_;
};

}  // namespace

std::vector<Generated> generate(MiniTransformer model, const GenerationRequest& request) {
  check_model(*model);
  check_request(*model, request);
  const torch::NoGradGuard no_grad;
  std::vector<Row> rows;
  for (const std::vector<std::int64_t>& prompt : request.prompts)
    rows.push_back({prompt, Random(request.seed, static_cast<std::uint64_t>(std::ssize(rows)), kStream)});
  const auto shorter = [](const Row& a, const Row& b) { return a.read.size() < b.read.size(); };
  const auto goes_on = [](const Row& row) { return !row.ended; };

  Reader reader(model, request);
  for (std::int64_t length = std::ssize(std::min_element(rows.begin(), rows.end(), shorter)->read);
       std::any_of(rows.begin(), rows.end(), goes_on) && interrupt_signal() == 0; ++length) {
    const torch::Tensor logits_BC = reader.logits(rows, length);
    const std::int64_t n_classes = logits_BC.size(1);
    const double* from = logits_BC.data_ptr<double>();
    for (std::int64_t example = 0; example < std::ssize(rows); ++example, from += n_classes) {
      Row& row = rows[static_cast<std::size_t>(example)];
      if (std::ssize(row.read) > length) continue;  // its prompt goes on
      if (row.ended) {
        row.read.push_back(0);  // read beside the others, to no effect
        continue;
      }
      const std::span<const double> logits(from, static_cast<std::size_t>(n_classes));
      const std::int64_t token = sample(probabilities(logits, request.sampling), row.random);
      row.read.push_back(token);
      row.made.tokens.push_back(token);
      row.made.log_probability += log_probability(logits, token);
      row.ended = token == request.stop_token || std::ssize(row.made.tokens) == request.max_new_tokens;
      if (request.on_token) request.on_token(example, token);
    }
  }
  std::vector<Generated> result;
  for (Row& row : rows) result.push_back(std::move(row.made));
  return result;
}

}  // namespace headtorch::models
