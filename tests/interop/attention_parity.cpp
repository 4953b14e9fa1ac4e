// For torch_parity_test.py: attends to the tensors of a safetensors file, by both paths, with gradients.
// Usage: attention_parity IN OUT. Metadata of IN: "NAME": "SCALE all|causal". Tensors of IN: NAME/q, NAME/k,
// NAME/v, NAME/grad_y and perhaps NAME/visible (bool). Tensors of OUT: NAME/PATH/y, and grad_q, grad_k,
// grad_v beside it.

#include <torch/torch.h>

#include <cstdio>
#include <sstream>

#include "src/attention/attend.hpp"
#include "src/attention/blocked.hpp"
#include "src/attention/scores.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/store/safetensors.hpp"
#include "tests/interop/stored_tensors.hpp"

namespace {

using namespace headtorch;
using interop::to_stored;
using interop::to_torch;
using torch::Tensor;

struct Case {
  std::string name;
  Tensor q, k, v, grad_y;
  attention::Mask mask;
  double scale = 1.0;
};

Case read_case(store::TensorFile& file, const std::string& name, const std::string& text) {
  std::string visibility;
  Case c;
  c.name = name;
  std::istringstream(text) >> c.scale >> visibility;
  const auto tensor = [&](const char* part) { return to_torch(file.tensors.at(name + "/" + part)); };
  c.q = tensor("q").requires_grad_();
  c.k = tensor("k").requires_grad_();
  c.v = tensor("v").requires_grad_();
  c.grad_y = tensor("grad_y");
  if (visibility == "causal") c.mask.visibility = attention::Visibility::kCausal;
  if (file.tensors.contains(name + "/visible")) c.mask.visible = tensor("visible");
  return c;
}

Tensor attend(const Case& c, const std::string& path) {
  if (path == "fused") return attention::attend_fused(c.q, c.k, c.v, c.mask, c.scale);
  const attention::AttendPiece by_explicit_path = [&](const attention::Piece& piece, const Tensor& q,
                                                      const Tensor& k, const Tensor& v) {
    return attention::attend_explicit(attention::scaled_dot_scores(q, k, c.scale), v,
                                      attention::resolve(c.mask, piece, torch::kCPU))
        .y;
  };
  if (path == "explicit") return by_explicit_path(attention::whole(c.q.size(2), c.k.size(2)), c.q, c.k, c.v);
  return attention::attend_blocked(by_explicit_path, {.q = c.q,
                                                      .k = c.k,
                                                      .v = c.v,
                                                      .visibility = c.mask.visibility,
                                                      .window = c.mask.window,
                                                      .rows_at_once = 3});
}

void run(const char* in, const char* out) {
  store::TensorFile given = store::read_safetensors(read_file(in), in), found;
  for (const auto& [name, text] : given.metadata) {
    const Case c = read_case(given, name, text);
    for (const std::string path : {"explicit", "fused", "blocked"}) {
      const Tensor y = attend(c, path);
      const auto gradients = torch::autograd::grad({y}, {c.q, c.k, c.v}, {c.grad_y});
      const std::string to = name + "/" + path + "/";
      found.tensors[to + "y"] = to_stored(y);
      found.tensors[to + "grad_q"] = to_stored(gradients[0]);
      found.tensors[to + "grad_k"] = to_stored(gradients[1]);
      found.tensors[to + "grad_v"] = to_stored(gradients[2]);
    }
  }
  write_file(out, store::write_safetensors(found));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw UsageError("attention_parity", "expected IN OUT");
    run(argv[1], argv[2]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
