// libheadtorch_cuda.so: the only code that needs CUDA's headers and is linked to LibTorch's CUDA libraries.

#include "train/step_graph.hpp"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

constexpr int kWarmUps = 3;

/// The first line of an error: LibTorch's go on with advice and a back trace.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// While it lives, what makes the host wait for the GPU throws, in every thread.
class NoWaiting {
 public:
  NoWaiting() : before_(c10::cuda::warning_state().get_sync_debug_mode()) {
    c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
  }
  ~NoWaiting() { c10::cuda::warning_state().set_sync_debug_mode(before_); }
  NoWaiting(const NoWaiting&) = delete;
  NoWaiting& operator=(const NoWaiting&) = delete;

 private:
  c10::cuda::SyncDebugMode before_;
};

class Graph {
 public:
  explicit Graph(const HeadtorchGraphWork& work) : work_(work), own_(c10::cuda::getStreamFromPool()) {}

  void run() {
    if (warm_ups_ < kWarmUps) {
      warm_up();
      return;
    }
    if (!graph_) capture();
    graph_->replay();
  }

 private:
  /// The work as it is. What waits would spoil a capture beyond repair, and is found here; not in the first
  /// round, where libraries set themselves up.
  void warm_up() {
    c10::cuda::getCurrentCUDAStream().synchronize();
    try {
      const c10::cuda::CUDAStreamGuard guard(own_);
      std::optional<NoWaiting> no_waiting;
      if (warm_ups_ > 0) no_waiting.emplace();
      work_.call(work_.context);
    } catch (const std::exception& error) {
      own_.synchronize();
      throw Refused(first_line(error));
    }
    own_.synchronize();
    ++warm_ups_;
  }

  void capture() {
    c10::cuda::getCurrentCUDAStream().synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();  // of what the warm-up used: a graph has memory of its own
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    std::optional<std::string> refused;
    const c10::cuda::CUDAStreamGuard guard(own_);
    graph->capture_begin();
    try {
      work_.call(work_.context);
    } catch (const std::exception& error) {
      refused = first_line(error);
    }
    try {
      graph->capture_end();
    } catch (const std::exception& error) {
      // Generator and allocator still believe in a capture: nobody can use them after that.
      throw std::runtime_error(refused.value_or(first_line(error)));
    }
    if (refused) throw Refused(*refused);
    graph_ = std::move(graph);
  }

  HeadtorchGraphWork work_;
  c10::cuda::CUDAStream own_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
  int warm_ups_ = 0;
};

void tell(HeadtorchGraphReason* reason, const std::string& text) {
  const std::size_t length = std::min(text.size(), sizeof reason->text - 1);
  std::memcpy(reason->text, text.data(), length);
  reason->text[length] = '\0';
}

}  // namespace

void* headtorch_graph_new(const HeadtorchGraphWork* work, HeadtorchGraphReason* reason) {
  try {
    return new Graph(*work);
  } catch (const std::exception& error) {
    tell(reason, first_line(error));
    return nullptr;
  }
}

HeadtorchGraphEnding headtorch_graph_run(void* graph, HeadtorchGraphReason* reason) {
  try {
    static_cast<Graph*>(graph)->run();
    return kHeadtorchGraphDone;
  } catch (const Refused& refused) {
    tell(reason, refused.what());
    return kHeadtorchGraphRefused;
  } catch (const std::exception& error) {
    tell(reason, first_line(error));
    return kHeadtorchGraphBroken;
  }
}

void headtorch_graph_delete(void* graph) { delete static_cast<Graph*>(graph); }
