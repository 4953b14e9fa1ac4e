// For transformer_parity_test.py: runs modules with the weights of a safetensors file, forward and backward.
// Usage: transformer_parity IN OUT. Metadata of IN: "NAME": "KIND HEADS LAYERS D_FF pre|post gelu|relu EPS
// causal|all" with KIND one of attention, encoder, decoder. Tensors of IN: NAME/x, NAME/grad_y,
// NAME/parameters/* under our names, and perhaps NAME/memory, NAME/visible and NAME/memory_visible (bool).
// Tensors of OUT: NAME/y, NAME/pattern (attention), NAME/grad_x, NAME/grad_memory and NAME/grad/* of each
// parameter.

#include <fmt/format.h>
#include <torch/torch.h>

#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/nn/decoder.hpp"
#include "src/store/safetensors.hpp"
#include "tests/interop/stored_tensors.hpp"

namespace {

using namespace headtorch;
using torch::Tensor;

struct Case {
  std::string kind;
  nn::EncoderOptions options = {};
  attention::Mask mask = {}, memory_mask = {};
  Tensor x, memory, grad_y;
  std::map<std::string, Tensor> parameters = {};
};

Case read_case(store::TensorFile& file, const std::string& name, const std::string& text) {
  Case c;
  std::string norm, activation, visibility;
  nn::EncoderLayerOptions& layer = c.options.layer;
  std::istringstream(text) >> c.kind >> layer.attention.n_heads >> c.options.n_layers >> layer.d_ff >> norm >>
      activation >> layer.norm_eps >> visibility;
  layer.dropout = 0.0;
  layer.norm = norm == "pre" ? nn::NormPlace::kPre : nn::NormPlace::kPost;
  layer.activation = activation == "gelu" ? nn::Activation::kGelu : nn::Activation::kRelu;
  if (visibility == "causal") c.mask.visibility = attention::Visibility::kCausal;
  const auto tensor = [&](const char* part) {
    const auto at = file.tensors.find(name + "/" + part);
    return at == file.tensors.end() ? Tensor() : interop::to_torch(at->second);
  };
  c.x = tensor("x").requires_grad_();
  c.memory = tensor("memory");
  if (c.memory.defined()) c.memory.requires_grad_();
  c.grad_y = tensor("grad_y");
  c.mask.visible = tensor("visible");
  c.memory_mask.visible = tensor("memory_visible");
  layer.attention.d_model = c.x.size(-1);
  const std::string prefix = name + "/parameters/";
  for (auto& [key, stored] : file.tensors) {
    if (key.starts_with(prefix)) c.parameters[key.substr(prefix.size())] = interop::to_torch(stored);
  }
  return c;
}

void load(torch::nn::Module& module, const Case& c) {
  module.to(c.x.scalar_type());
  const torch::NoGradGuard no_grad;
  const auto own = module.named_parameters();
  if (own.size() != c.parameters.size())
    throw DataError("transformer_parity",
                    fmt::format("{} parameters, expected {}", c.parameters.size(), own.size()));
  for (const auto& item : own) item.value().copy_(c.parameters.at(item.key()));
}

void run_case(const std::string& name, const Case& c, store::TensorFile& found) {
  Tensor y, pattern;
  std::shared_ptr<torch::nn::Module> module;
  if (c.kind == "attention") {
    nn::MultiHeadAttention attention(c.options.layer.attention);
    load(*attention, c);
    const nn::AttentionCall call{.mask = c.mask, .keep = nn::Keep::kPattern};
    const auto result =
        c.memory.defined() ? attention->forward(c.x, c.memory, call) : attention->forward(c.x, call);
    y = result.y;
    pattern = result.pattern;
    module = attention.ptr();
  } else if (c.kind == "encoder") {
    nn::Encoder encoder(c.options);
    load(*encoder, c);
    y = encoder->forward(c.x, {.mask = c.mask, .tokens_BS = {}});
    module = encoder.ptr();
  } else {
    nn::Decoder decoder(c.options);
    load(*decoder, c);
    y = decoder->forward(c.x, c.memory, {.mask = c.mask, .memory_mask = c.memory_mask, .tokens_BS = {}});
    module = decoder.ptr();
  }
  y.backward(c.grad_y);
  found.tensors[name + "/y"] = interop::to_stored(y);
  if (pattern.defined()) found.tensors[name + "/pattern"] = interop::to_stored(pattern);
  found.tensors[name + "/grad_x"] = interop::to_stored(c.x.grad());
  if (c.memory.defined()) found.tensors[name + "/grad_memory"] = interop::to_stored(c.memory.grad());
  for (const auto& item : module->named_parameters())
    found.tensors[name + "/grad/" + item.key()] = interop::to_stored(item.value().grad());
}

void run(const char* in, const char* out) {
  store::TensorFile given = store::read_safetensors(read_file(in), in), found;
  for (const auto& [name, text] : given.metadata) run_case(name, read_case(given, name, text), found);
  write_file(out, store::write_safetensors(found));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw UsageError("transformer_parity", "expected IN OUT");
    run(argv[1], argv[2]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
