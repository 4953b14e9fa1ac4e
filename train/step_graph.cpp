#include "train/step_graph.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace headtorch::train {
namespace {

struct Library {
  decltype(&headtorch_graph_new) make = nullptr;
  decltype(&headtorch_graph_run) run = nullptr;
  decltype(&headtorch_graph_delete) destroy = nullptr;

  Library() {
    constexpr const char* kName = "libheadtorch_cuda.so";
    const auto refuse = [&] {
      throw NotCapturable(fmt::format("{} cannot be used ({}), expected it where it was built or installed",
                                      kName, dlerror()));
    };
    void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) refuse();
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) refuse();
    };
    find(make, "headtorch_graph_new");
    find(run, "headtorch_graph_run");
    find(destroy, "headtorch_graph_delete");
  }
};

const Library& library() {
  static const Library loaded;  // a failure is thrown again by the next one who asks
  return loaded;
}

void call(void* work) { (*static_cast<std::function<void()>*>(work))(); }

}  // namespace

StepGraph::StepGraph(std::function<void()> work) : work_(std::move(work)) {
  const HeadtorchGraphWork own{&call, &work_};
  HeadtorchGraphReason reason{};
  graph_ = library().make(&own, &reason);
  if (graph_ == nullptr) throw NotCapturable(reason.text);
}

StepGraph::~StepGraph() { library().destroy(graph_); }

void StepGraph::run() {
  HeadtorchGraphReason reason{};
  switch (library().run(graph_, &reason)) {
    case kHeadtorchGraphDone:
      return;
    case kHeadtorchGraphRefused:
      throw NotCapturable(reason.text);
    case kHeadtorchGraphBroken:
      break;
  }
  throw Error(ExitCode::kInternal, "cuda",
              fmt::format("the capture of a step failed half-way: {}", reason.text));
}

}  // namespace headtorch::train
