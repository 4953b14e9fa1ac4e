#pragma once

#include <functional>

#include "src/core/error.hpp"

namespace headtorch::train {

/// A step that no CUDA graph can hold, or no library to capture it with; nothing was changed.
struct NotCapturable : Error {
  explicit NotCapturable(std::string_view why) : Error(ExitCode::kSetupIncomplete, "cuda", why) {}
};

/// Work on a GPU that is captured as a CUDA graph and then replayed: one launch in place of some hundred. The
/// work must do the same to the same tensors each time, and the host may read nothing while it is done.
/// Random numbers come from torch's generator, whose state goes on from one replay to the next. Code that
/// needs CUDA's headers is in libheadtorch_cuda.so (train/cuda/step_graph.cpp), which is loaded here.
class StepGraph {
 public:
  /// @param work called by `run`.  @throws NotCapturable naming the library when it cannot be loaded.
  explicit StepGraph(std::function<void()> work);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// Does the work once, on the current stream as seen from outside: a few times as it is, on a stream of its
  /// own, as CUDA asks for before a capture, then by replaying what was captured.
  /// @throws NotCapturable when the work reads something back or asks for what a graph cannot hold; it was
  /// then not done to its end. Error(kInternal) when CUDA gave the capture up half-way and cannot be used any
  /// more.
  void run();

 private:
  std::function<void()> work_;
  void* graph_ = nullptr;
};

}  // namespace headtorch::train

/// What libheadtorch_cuda.so offers to train/step_graph.cpp. Plain C, so that it can be found by name.
extern "C" {
enum HeadtorchGraphEnding { kHeadtorchGraphDone, kHeadtorchGraphRefused, kHeadtorchGraphBroken };
struct HeadtorchGraphWork {
  void (*call)(void* context);
  void* context;
};
struct HeadtorchGraphReason {
  char text[512];  ///< one line; written unless the ending is Done
};
/// @returns a graph for the current GPU, or null.
void* headtorch_graph_new(const HeadtorchGraphWork* work, HeadtorchGraphReason* reason);
/// StepGraph::run.
HeadtorchGraphEnding headtorch_graph_run(void* graph, HeadtorchGraphReason* reason);
void headtorch_graph_delete(void* graph);
}
