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
