#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/kernels/kernels.hpp"
#include "src/tasks/task.hpp"
#include "train/engine/arena.hpp"
#include "train/engine/model.hpp"
#include "train/engine/weights.hpp"

namespace headtorch::train::engine {

/// Some whole sequences of a batch.
struct Sequences {
  std::int64_t count = 0, length = 0;
  std::span<const std::int64_t> tokens, labels;  ///< [count, length]; a label below 0 is not counted
  std::int64_t first_example = 0;                ///< in the batch, which dropout counts by
  std::span<const float> features = {};          ///< [count, length, N]
  std::span<const float> values = {};  ///< [count, length]; given: C is 1, and the loss the squared error
};
/// All of a batch, which must outlive it.
Sequences sequences_of(const tasks::Batch& batch, std::int64_t first_example = 0);

/// What decides a step's dropout: as nn::DropoutStream(seed, step).
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

struct Counted {
  double loss = 0.0;  ///< nats or squared errors, summed over counted positions
  std::int64_t positions = 0;

  Counted& operator+=(const Counted& other) {
    loss += other.loss;
    positions += other.positions;
    return *this;
  }
};

/// What a model does on some sequences.
struct Measured {
  Counted counted;
  std::int64_t right = 0,
               sequences_right = 0;  ///< positions; sequences all of whose counted positions are right
};

/// Sequences of that length that a share goes through at once.
std::int64_t sequences_at_once(const Sizes& sizes, std::int64_t length);
/// Memory of a share, about.
double share_bytes(const Sizes& sizes);

/// One thread's part of a step: its memory, and the passes over it. Sequences go forward and backward a few
/// at a time, so that what backward needs is still in the cache; results depend on neither how many at a time
/// nor the thread. What layers do on the way is in share_forward.cpp and share_backward.cpp.
class Share {
 public:
  /// Refers to all three.
  Share(const Model& model, const PackedWeights& weights, const kernels::Kernels& kernels,
        const kernels::Products& products);

  /// Adds the gradient of the summed loss to `gradient`, laid out as Parameter::offset says.
  Counted accumulate(const Sequences& sequences, const DropoutKey& key, float* gradient);

  /// Without dropout and without a backward pass; of two equal logits the first counts as the answer. Where
  /// values are given nothing is right.
  Measured measure(const Sequences& sequences);

 private:
  /// What the norm between two branches makes, and its backward needs.
  struct Stream {
    Norm norm;                // absent: y is what comes in
    Floats sum, y;            // [rows, D]
    Floats mean, inverse_sd;  // [rows]
    Bytes dropped;            // of the branch in front of it
  };
  struct Attention {
    Floats qkv, weights, y;
    Bytes dropped;
  };
  struct FeedForward {
    Floats factor, y;  // [rows, F]
    Bytes dropped;
  };
  /// The next place at which a forward pass draws dropout.
  struct Draws {
    enum class Dropout { kOn, kOff } dropout = Dropout::kOff;
    DropoutKey key = {};
    std::int64_t first_example = 0;
    std::uint64_t place = 0;
  };

  /// Rows of some width.
  struct Rows {
    const float* data = nullptr;
    std::int64_t count = 0;
  };
  enum class Start { kZero, kWhatIsThere };

  std::int64_t branches() const;
  bool is_pre() const { return model_.norm_place == nn::NormPlace::kPre; }
  Stream& stream(std::int64_t index) { return streams_[static_cast<std::size_t>(index)]; }
  kernels::AttentionSizes attention_sizes() const;
  kernels::AttentionRule attention_rule(const kernels::DropoutBits& dropout) const {
    return {.causal = model_.causal, .dropout = dropout};
  }

  /// Calls work(part) with as many sequences at a time as there is memory for.
  template <typename Work>
  void in_chunks(const Sequences& sequences, const Work& work) const;
  Counted chunk(const Sequences& sequences, const DropoutKey& key, float* gradient);
  void forward(const Sequences& sequences, Draws draws);
  void embed(const Sequences& sequences, Draws& draws);
  void attend(std::int64_t layer, const float* x, Draws& draws);
  void feed_forward(std::int64_t layer, const float* x, Draws& draws);
  /// sum = x + dropout(branch), and its norm; branch null: the norm of x.
  void norm(Stream& own, const float* x, const float* branch, const kernels::DropoutBits& dropout);
  /// From the gradients of the norm, which d_y_ has, and of the sum (null: 0) to that of x, and of the branch
  /// unless null.
  struct NormGradients {
    const float* sum = nullptr;
    float* x = nullptr;
    float* branch = nullptr;
  };
  void norm_backward(const Stream& own, const NormGradients& d, const kernels::DropoutBits& dropout,
                     float* gradient);
  /// The end of a branch, and the norm behind it: makes stream `index` of the one before.
  void join(std::int64_t index, Draws& draws);
  /// Finds the positions that are counted.  @returns what the output layer reads of them.
  Rows counted_rows(const Sequences& sequences);
  /// The loss of logits_, which become its gradient.  @param label_smoothing of classes
  double lose(const Sequences& sequences, double label_smoothing);
  /// Leaves the gradient of what comes out of the last norm.
  Counted predict(const Sequences& sequences, float* gradient);

  void join_backward(std::int64_t index, float* gradient);
  void feed_forward_backward(std::int64_t layer, const float* x, float* gradient);
  void attend_backward(std::int64_t layer, const float* x, float* gradient);
  void embed_backward(const Sequences& sequences, float* gradient);

  /// @param elements of one example
  kernels::DropoutBits draw(double p, std::int64_t elements, Bytes& bits, Draws& draws) const;
  kernels::DropoutBits drawn(double p, const Bytes& bits) const;
  void multiply(const Rows& x, const PackedLinear& linear, float* y);
  /// The gradients of the weight and the bias.
  void add_gradients(const Rows& dy, const float* x, const PackedLinear& linear, float* gradient);
  /// dx (+)= dy W.
  void multiply_back(const Rows& dy, const PackedLinear& linear, Start start, float* dx);

  Arena arena_;
  const Model& model_;
  const PackedWeights& weights_;
  const kernels::Kernels& kernels_;
  const kernels::Products& products_;
  std::int64_t most_rows_ = 0;
  std::int64_t examples_ = 0, length_ = 0, rows_ = 0;  // of the chunk at hand
  std::vector<Stream> streams_;                        // one more than there are branches
  std::vector<Attention> attentions_;
  std::vector<FeedForward> feed_forwards_;
  Bytes embedding_dropped_;
  Floats branch_, logits_, counted_rows_;
  // Gradients: of a stream's y, of its sum, of a branch, and inside one.
  Floats d_y_, d_sum_, d_branch_, d_attention_, d_qkv_, d_hidden_, d_counted_rows_;
  const float* d_branch_now_ = nullptr;
  std::vector<std::int64_t> counted_labels_, counted_places_;
  Bytes scratch_;
};

}  // namespace headtorch::train::engine
