#include "train/shortened_task.hpp"

#include <algorithm>
#include <utility>

namespace headtorch::train {
namespace {

class Shortened : public tasks::Task {
 public:
  Shortened(std::unique_ptr<tasks::Task> task, std::int64_t n_test)
      : task_(std::move(task)), n_test_(n_test) {}

  const tasks::TaskShape& shape() const override { return task_->shape(); }
  tasks::Batch batch(tasks::Split split, std::int64_t first, std::int64_t count) const override {
    return task_->batch(split, first, count);
  }
  std::int64_t size(tasks::Split split) const override {
    return split == tasks::Split::kTest ? n_test_ : task_->size(split);
  }
  std::string token_text(std::int64_t token) const override { return task_->token_text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override {
    return task_->parse_tokens(input);
  }
  std::string source_token_text(std::int64_t token) const override { return task_->source_token_text(token); }
  std::vector<std::int64_t> parse_source(std::string_view input) const override {
    return task_->parse_source(input);
  }

 private:
  std::unique_ptr<tasks::Task> task_;
  std::int64_t n_test_;
};

}  // namespace

std::unique_ptr<tasks::Task> shortened(std::unique_ptr<tasks::Task> task, std::int64_t n_test) {
  return std::make_unique<Shortened>(std::move(task), n_test);
}

std::int64_t enough_test_examples(const tasks::Task& task) {
  constexpr std::int64_t kEnough = 2000;
  const std::int64_t all = task.size(tasks::Split::kTest);
  const std::string& name = task.shape().name;
  const bool is_of_a_file = name == "text" || name == "table" || name == "series";
  return is_of_a_file ? all : std::min(all, kEnough);
}

}  // namespace headtorch::train
