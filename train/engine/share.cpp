#include "train/engine/share.hpp"

#include <algorithm>
#include <array>

#include "src/core/philox.hpp"

namespace headtorch::train::engine {
namespace {

/// Floats that a token leaves behind for its backward pass.
std::int64_t floats_a_token(const Sizes& s, std::int64_t length) {
  return s.layers * (8 * s.width + s.heads * length + 2 * s.hidden);
}

}  // namespace

std::int64_t sequences_at_once(const Sizes& sizes, std::int64_t length) {
  constexpr std::int64_t kFloats = 3 << 17;  // 1.5 MiB, of a second cache of 1 or 2
  constexpr std::int64_t kFewestRows = 256;  // products of fewer do not pay for reading the weights
  const std::int64_t rows = std::max(kFloats / floats_a_token(sizes, length), kFewestRows);
  return std::max<std::int64_t>(rows / length, 1);
}

Sequences sequences_of(const tasks::Batch& batch, std::int64_t first_example) {
  return {batch.examples, batch.length,   batch.tokens, batch.labels,
          first_example,  batch.features, batch.values};
}

double share_bytes(const Sizes& s) {
  const std::int64_t beside = 12 * s.width + s.hidden + s.classes;  // what all layers use in turn
  return static_cast<double>(sizeof(float)) *
         static_cast<double>(sequences_at_once(s, s.longest) * s.longest) *
         static_cast<double>(floats_a_token(s, s.longest) + beside);
}

Share::Share(const Model& model, const PackedWeights& weights, const kernels::Kernels& kernels,
             const kernels::Products& products)
    : model_(model), weights_(weights), kernels_(kernels), products_(products) {
  const Sizes& s = model.sizes;
  const std::int64_t sequences = sequences_at_once(s, s.longest);
  most_rows_ = sequences * s.longest;
  const std::int64_t rows = most_rows_;
  const auto bits = [this](std::int64_t elements) {
    return arena_.bytes((elements + 7) / 8 + kernels::kDropoutSlack);
  };

  for (std::int64_t i = 0; i <= branches(); ++i) {
    Stream stream;
    const std::int64_t norm = is_pre() ? i : i - 1;  // which of the model's norms, in order
    const std::int64_t a_layer = s.hidden > 0 ? 2 : 1;
    if (norm == branches()) {
      stream.norm = model.norm;
    } else if (norm >= 0) {
      const Layer& layer = model.layers[static_cast<std::size_t>(norm / a_layer)];
      stream.norm = norm % a_layer == 0 ? layer.norm1 : layer.norm2;
    }
    stream.sum = arena_.floats(rows * s.width);
    stream.y = arena_.floats(rows * s.width);
    stream.mean = arena_.floats(rows);
    stream.inverse_sd = arena_.floats(rows);
    stream.dropped = bits(rows * s.width);
    streams_.push_back(std::move(stream));
  }
  const kernels::AttentionSizes attention{sequences, s.longest, s.heads, s.width / s.heads};
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const std::int64_t rows_of_weights = rows * s.heads;
    attentions_.push_back({arena_.floats(rows * 3 * s.width),
                           arena_.floats(rows_of_weights * attention.weight_stride()),
                           arena_.floats(rows * s.width), bits(rows_of_weights * s.longest)});
    if (s.hidden > 0)
      feed_forwards_.push_back(
          {arena_.floats(rows * s.hidden), arena_.floats(rows * s.hidden), bits(rows * s.hidden)});
  }
  embedding_dropped_ = bits(rows * s.width);
  for (Floats* floats :
       {&branch_, &counted_rows_, &d_y_, &d_sum_, &d_branch_, &d_attention_, &d_counted_rows_})
    *floats = arena_.floats(rows * s.width);
  d_qkv_ = arena_.floats(rows * 3 * s.width);
  d_hidden_ = arena_.floats(rows * s.hidden);
  logits_ = arena_.floats(rows * s.classes);

  std::size_t scratch = kernels::attention_scratch_bytes(attention);
  for (const std::int64_t out : {3 * s.width, s.width, s.hidden, s.classes, s.features}) {
    for (const auto& [m, n, k] :
         {std::array{rows, out, s.width}, {rows, s.width, out}, {out, s.width, rows}, {s.width, out, rows}})
      scratch = std::max(scratch, products.scratch_bytes(m, n, k));
  }
  scratch_ = arena_.bytes(static_cast<std::int64_t>(scratch));
}

std::int64_t Share::branches() const { return model_.sizes.layers * (model_.sizes.hidden > 0 ? 2 : 1); }

kernels::AttentionSizes Share::attention_sizes() const {
  return {examples_, length_, model_.sizes.heads, model_.sizes.width / model_.sizes.heads};
}

template <typename Work>
void Share::in_chunks(const Sequences& sequences, const Work& work) const {
  const std::int64_t length = sequences.length, at_once = std::max<std::int64_t>(most_rows_ / length, 1);
  for (std::int64_t first = 0; first < sequences.count; first += at_once) {
    const std::int64_t count = std::min(at_once, sequences.count - first);
    const auto part = [&](auto all, std::int64_t a_place) {  // of numbers that may be absent
      const std::int64_t a_sequence = all.empty() ? 0 : length * a_place;
      return all.subspan(static_cast<std::size_t>(first * a_sequence),
                         static_cast<std::size_t>(count * a_sequence));
    };
    work(Sequences{count, length, part(sequences.tokens, 1), part(sequences.labels, 1),
                   sequences.first_example + first, part(sequences.features, model_.sizes.features),
                   part(sequences.values, 1)});
  }
}

Counted Share::accumulate(const Sequences& sequences, const DropoutKey& key, float* gradient) {
  Counted total;
  in_chunks(sequences, [&](const Sequences& part) { total += chunk(part, key, gradient); });
  return total;
}

Measured Share::measure(const Sequences& sequences) {
  Measured total;
  in_chunks(sequences, [&](const Sequences& part) {
    forward(part, {});
    const Rows x = counted_rows(part);
    const std::int64_t classes = model_.sizes.classes;
    multiply(x, weights_.output(), logits_.data());
    const bool has_answers = part.values.empty();
    std::int64_t row = 0, wrong_in_sequence = 0;
    for (std::int64_t place = 0; has_answers && place < rows_; ++place) {
      const std::int64_t label = part.labels[static_cast<std::size_t>(place)];
      if (label >= 0) {
        const float* logits = logits_.data() + row++ * classes;
        const bool right = std::max_element(logits, logits + classes) - logits == label;
        if (right) ++total.right;
        if (!right) ++wrong_in_sequence;
      }
      if ((place + 1) % length_ != 0) continue;
      if (wrong_in_sequence == 0) ++total.sequences_right;
      wrong_in_sequence = 0;
    }
    total.counted += {lose(part, 0.0), x.count};
  });
  return total;
}

void Share::forward(const Sequences& sequences, Draws draws) {
  examples_ = sequences.count;
  length_ = sequences.length;
  rows_ = examples_ * length_;
  embed(sequences, draws);
  std::int64_t at = 0;
  for (std::int64_t layer = 0; layer < model_.sizes.layers; ++layer) {
    attend(layer, stream(at).y.data(), draws);
    join(++at, draws);
    if (model_.sizes.hidden == 0) continue;
    feed_forward(layer, stream(at).y.data(), draws);
    join(++at, draws);
  }
}

Counted Share::chunk(const Sequences& sequences, const DropoutKey& key, float* gradient) {
  forward(sequences, {Draws::Dropout::kOn, key, sequences.first_example});
  const Counted counted = predict(sequences, gradient);
  if (counted.positions == 0) return counted;

  std::int64_t at = branches();
  for (std::int64_t layer = model_.sizes.layers - 1; layer >= 0; --layer) {
    if (model_.sizes.hidden > 0) {
      join_backward(at--, gradient);
      feed_forward_backward(layer, stream(at).y.data(), gradient);
    }
    join_backward(at--, gradient);
    attend_backward(layer, stream(at).y.data(), gradient);
  }
  embed_backward(sequences, gradient);
  return counted;
}

void Share::embed(const Sequences& sequences, Draws& draws) {
  const std::int64_t width = model_.sizes.width;
  Stream& first = stream(0);
  float* x = (is_pre() ? first.sum : first.y).data();
  const float* positions = model_.positions ? model_.positions.values : model_.position_code.data();
  for (std::int64_t row = 0; row < rows_; ++row) {
    const float* token = model_.embedding.values + sequences.tokens[static_cast<std::size_t>(row)] * width;
    float* out = x + row * width;
    if (positions == nullptr) {
      std::copy_n(token, width, out);
    } else {
      const float* position = positions + row % length_ * width;
      for (std::int64_t j = 0; j < width; ++j) out[j] = token[j] + position[j];
    }
  }
  if (model_.sizes.features > 0) {
    multiply({sequences.features.data(), rows_}, weights_.features(), branch_.data());
    for (std::int64_t j = 0; j < rows_ * width; ++j) x[j] += branch_.data()[j];
  }
  const kernels::DropoutBits dropout = draw(model_.dropout, length_ * width, embedding_dropped_, draws);
  if (dropout.bits != nullptr) kernels_.apply_dropout({rows_ * width, x, dropout, x});
  if (is_pre()) norm(first, x, nullptr, {});
}

void Share::norm(Stream& own, const float* x, const float* branch, const kernels::DropoutBits& dropout) {
  kernels_.residual_norm_forward({.rows = rows_,
                                  .features = model_.sizes.width,
                                  .branch = branch,
                                  .dropout = dropout,
                                  .x = x,
                                  .weight = own.norm.weight.values,
                                  .bias = own.norm.bias.values,
                                  .eps = model_.norm_eps,
                                  .sum = own.sum.data(),
                                  .y = own.y.data(),
                                  .mean = own.norm.bias ? own.mean.data() : nullptr,
                                  .inverse_sd = own.inverse_sd.data()});
}

void Share::attend(std::int64_t layer, const float* x, Draws& draws) {
  Attention& own = attentions_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  multiply({x, rows_}, weights.in_proj, own.qkv.data());
  if (!model_.turn_cosine.empty())
    kernels_.turn_pairs(
        {attention_sizes(), own.qkv.data(), model_.turn_cosine.data(), model_.turn_sine.data()});
  const kernels::DropoutBits dropout =
      draw(model_.attention_dropout, model_.sizes.heads * length_ * length_, own.dropped, draws);
  kernels_.attention_forward({attention_sizes(), attention_rule(dropout), model_.attention_scale,
                              own.qkv.data(), own.weights.data(), own.y.data(), scratch_.data()});
  multiply({own.y.data(), rows_}, weights.out_proj, branch_.data());
}

void Share::feed_forward(std::int64_t layer, const float* x, Draws& draws) {
  FeedForward& own = feed_forwards_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  multiply({x, rows_}, weights.linear1, own.factor.data());
  const kernels::DropoutBits dropout =
      draw(model_.dropout, length_ * model_.sizes.hidden, own.dropped, draws);
  const auto kind = model_.activation == nn::Activation::kRelu ? kernels::ActivationKind::kRelu
                                                               : kernels::ActivationKind::kGelu;
  kernels_.activation_forward({kind, rows_ * model_.sizes.hidden, own.factor.data(), dropout, own.y.data()});
  multiply({own.y.data(), rows_}, weights.linear2, branch_.data());
}

void Share::join(std::int64_t index, Draws& draws) {
  Stream &before = stream(index - 1), &own = stream(index);
  norm(own, (is_pre() ? before.sum : before.y).data(), branch_.data(),
       draw(model_.dropout, length_ * model_.sizes.width, own.dropped, draws));
}

Share::Rows Share::counted_rows(const Sequences& sequences) {
  const std::int64_t width = model_.sizes.width;
  counted_labels_.clear();
  counted_places_.clear();
  for (std::int64_t row = 0; row < rows_; ++row) {
    const std::int64_t label = sequences.labels[static_cast<std::size_t>(row)];
    if (label < 0) continue;
    counted_labels_.push_back(label);
    counted_places_.push_back(row);
  }
  const auto count = static_cast<std::int64_t>(counted_places_.size());
  const float* x = stream(branches()).y.data();
  if (count == rows_) return {x, count};
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(x + counted_places_[static_cast<std::size_t>(i)] * width, width,
                counted_rows_.data() + i * width);
  return {counted_rows_.data(), count};
}

double Share::lose(const Sequences& sequences, double label_smoothing) {
  const auto count = static_cast<std::int64_t>(counted_places_.size());
  double loss = 0.0;
  if (sequences.values.empty()) {
    kernels_.cross_entropy({count, model_.sizes.classes, logits_.data(), counted_labels_.data(),
                            static_cast<float>(label_smoothing), &loss});
    return loss;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(counted_places_[static_cast<std::size_t>(i)]);
    float& prediction = logits_.data()[i];
    const float error = prediction - sequences.values[place];
    loss += static_cast<double>(error) * error;
    prediction = 2.0F * error;
  }
  return loss;
}

Counted Share::predict(const Sequences& sequences, float* gradient) {
  const std::int64_t width = model_.sizes.width;
  const Rows x = counted_rows(sequences);
  Counted counted{.loss = 0.0, .positions = x.count};
  if (x.count == 0) return counted;
  multiply(x, weights_.output(), logits_.data());
  counted.loss = lose(sequences, model_.label_smoothing);
  const Rows d_logits{logits_.data(), x.count};
  add_gradients(d_logits, x.data, weights_.output(), gradient);
  const bool all = x.count == rows_;
  float* d_x = (all ? d_y_ : d_counted_rows_).data();
  multiply_back(d_logits, weights_.output(), Start::kZero, d_x);
  if (all) return counted;
  std::fill_n(d_y_.data(), rows_ * width, 0.0F);
  for (std::int64_t i = 0; i < x.count; ++i)
    std::copy_n(d_x + i * width, width, d_y_.data() + counted_places_[static_cast<std::size_t>(i)] * width);
  return counted;
}

void Share::norm_backward(const Stream& own, const NormGradients& d, const kernels::DropoutBits& dropout,
                          float* gradient) {
  kernels_.residual_norm_backward({.rows = rows_,
                                   .features = model_.sizes.width,
                                   .y_gradient = d_y_.data(),
                                   .sum_gradient = d.sum,
                                   .sum = own.sum.data(),
                                   .mean = own.norm.bias ? own.mean.data() : nullptr,
                                   .inverse_sd = own.inverse_sd.data(),
                                   .weight = own.norm.weight.values,
                                   .dropout = dropout,
                                   .x_gradient = d.x,
                                   .branch_gradient = d.branch,
                                   .weight_gradient = own.norm.weight.gradient(gradient),
                                   .bias_gradient = own.norm.bias.gradient(gradient)});
}

void Share::join_backward(std::int64_t index, float* gradient) {
  const Stream& own = stream(index);
  const kernels::DropoutBits dropout = drawn(model_.dropout, own.dropped);
  // Pre-norm hands the gradient of the sum on beside that of y; post-norm has the sum end in y.
  float* d_x = (is_pre() ? d_sum_ : d_y_).data();
  float* d_branch = dropout.bits == nullptr ? d_x : d_branch_.data();
  norm_backward(own, {is_pre() && index < branches() ? d_sum_.data() : nullptr, d_x, d_branch}, dropout,
                gradient);
  d_branch_now_ = d_branch;
}

void Share::feed_forward_backward(std::int64_t layer, const float* x, float* gradient) {
  FeedForward& own = feed_forwards_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  const Rows d_branch{d_branch_now_, rows_}, d_hidden{d_hidden_.data(), rows_};
  add_gradients(d_branch, own.y.data(), weights.linear2, gradient);
  multiply_back(d_branch, weights.linear2, Start::kZero, d_hidden_.data());
  kernels_.activation_backward({rows_ * model_.sizes.hidden, own.factor.data(), d_hidden_.data()});
  add_gradients(d_hidden, x, weights.linear1, gradient);
  multiply_back(d_hidden, weights.linear1, is_pre() ? Start::kZero : Start::kWhatIsThere, d_y_.data());
}

void Share::attend_backward(std::int64_t layer, const float* x, float* gradient) {
  Attention& own = attentions_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  const Rows d_branch{d_branch_now_, rows_}, d_qkv{d_qkv_.data(), rows_};
  add_gradients(d_branch, own.y.data(), weights.out_proj, gradient);
  multiply_back(d_branch, weights.out_proj, Start::kZero, d_attention_.data());
  kernels_.attention_backward({attention_sizes(),
                               attention_rule(drawn(model_.attention_dropout, own.dropped)),
                               model_.attention_scale, own.qkv.data(), own.weights.data(),
                               d_attention_.data(), d_qkv_.data(), nullptr, scratch_.data()});
  if (!model_.turn_cosine.empty())
    kernels_.turn_pairs(
        {attention_sizes(), d_qkv_.data(), model_.turn_cosine.data(), model_.turn_sine.data(), true});
  add_gradients(d_qkv, x, weights.in_proj, gradient);
  multiply_back(d_qkv, weights.in_proj, is_pre() ? Start::kZero : Start::kWhatIsThere, d_y_.data());
}

void Share::embed_backward(const Sequences& sequences, float* gradient) {
  const std::int64_t width = model_.sizes.width;
  float* dx = (is_pre() ? d_sum_ : d_y_).data();
  if (is_pre()) norm_backward(stream(0), {.sum = dx, .x = dx}, {}, gradient);
  const kernels::DropoutBits dropout = drawn(model_.dropout, embedding_dropped_);
  if (dropout.bits != nullptr) kernels_.apply_dropout({rows_ * width, dx, dropout, dx});
  if (model_.sizes.features > 0)
    add_gradients({dx, rows_}, sequences.features.data(), weights_.features(), gradient);
  for (std::int64_t row = 0; row < rows_; ++row) {
    const float* own = dx + row * width;
    float* token =
        model_.embedding.gradient(gradient) + sequences.tokens[static_cast<std::size_t>(row)] * width;
    for (std::int64_t j = 0; j < width; ++j) token[j] += own[j];
    if (!model_.positions) continue;
    float* position = model_.positions.gradient(gradient) + row % length_ * width;
    for (std::int64_t j = 0; j < width; ++j) position[j] += own[j];
  }
}

kernels::DropoutBits Share::draw(double p, std::int64_t elements, Bytes& bits, Draws& draws) const {
  if (p == 0.0 || draws.dropout == Draws::Dropout::kOff) return {};
  kernels_.draw_dropout({draws.key.seed, dropout_stream(draws.key.step, draws.place++),
                         static_cast<std::uint64_t>(draws.first_example * elements), examples_ * elements,
                         dropout_threshold(p), bits.data()});
  return drawn(p, bits);
}

kernels::DropoutBits Share::drawn(double p, const Bytes& bits) const {
  if (p == 0.0) return {};
  return {bits.data(), dropout_scale(dropout_threshold(p))};
}

void Share::multiply(const Rows& x, const PackedLinear& linear, float* y) {
  products_.multiply({.rows = x.count,
                      .columns = linear.out,
                      .depth = linear.in,
                      .a = x.data,
                      .a_stride = linear.in,
                      .packed_b = linear.forward.data(),
                      .bias = linear.linear.bias.values,
                      .c = y,
                      .c_stride = linear.out,
                      .scratch = scratch_.data()});
}

void Share::add_gradients(const Rows& dy, const float* x, const PackedLinear& linear, float* gradient) {
  products_.add_transposed({.rows = linear.out,
                            .columns = linear.in,
                            .depth = dy.count,
                            .a = dy.data,
                            .a_stride = linear.out,
                            .b = x,
                            .b_stride = linear.in,
                            .c = linear.linear.weight.gradient(gradient),
                            .c_stride = linear.in,
                            .scratch = scratch_.data()});
  if (linear.linear.bias)
    kernels_.add_column_sums({dy.count, linear.out, dy.data, linear.linear.bias.gradient(gradient)});
}

void Share::multiply_back(const Rows& dy, const PackedLinear& linear, Start start, float* dx) {
  products_.multiply({.rows = dy.count,
                      .columns = linear.in,
                      .depth = linear.out,
                      .a = dy.data,
                      .a_stride = linear.out,
                      .packed_b = linear.backward.data(),
                      .adds = start == Start::kWhatIsThere,
                      .c = dx,
                      .c_stride = linear.in,
                      .scratch = scratch_.data()});
}

}  // namespace headtorch::train::engine
