#include "src/store/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/store/claim.hpp"
#include "src/store/manifest.hpp"

namespace headtorch::store {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfigFile = "config.toml";
constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kCheckpoints = "checkpoints";
constexpr std::string_view kStepPrefix = "step-";

/// A mistake of the calling code, never of a person: names come from the program.
void check_relative(const fs::path& path) {
  const bool leaves =
      path.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leaves)
    throw Error(ExitCode::kInternal, "run folder",
                fmt::format("\"{}\" is no path inside a run", path.string()));
}

void check_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name == kManifestFile ||
      name.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos) {
    throw Error(ExitCode::kInternal, "run folder",
                fmt::format("\"{}\" is no name for a file of a checkpoint", name));
  }
}

std::optional<std::int64_t> parse_step(const std::string& name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  if (step_name(step) != name) return std::nullopt;
  return step;
}

}  // namespace

std::string step_name(std::int64_t step) { return fmt::format("{}{:08}", kStepPrefix, step); }

RunFolder::RunFolder(fs::path path, std::shared_ptr<ClaimedFolder> claim)
    : path_(std::move(path)), claim_(std::move(claim)) {}

RunFolder RunFolder::create(std::string_view task, const fs::path& out, Occupied occupied) {
  auto claim = out.empty() ? claim_numbered(task) : claim_folder(out, occupied);
  const fs::path path = claim->path();
  return RunFolder(path, std::move(claim));
}

RunFolder RunFolder::open(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path / kConfigFile, ignored)) {
    throw InputMissing(
        path.string(),
        fmt::format("is no run: expected a folder with a {}, such as train writes", kConfigFile));
  }
  return RunFolder(path, nullptr);
}

void RunFolder::write(const fs::path& relative, std::string_view bytes) const {
  check_relative(relative);
  const fs::path path = path_ / relative;
  make_folder(path.parent_path());
  write_file(path, bytes);
}

void RunFolder::append(const fs::path& relative, std::string_view bytes) const {
  check_relative(relative);
  append_file(path_ / relative, bytes);
}

void RunFolder::append_metrics(std::string_view json_line) const {
  if (json_line.find('\n') != std::string_view::npos) {
    throw Error(ExitCode::kInternal, "run folder", "a metrics line holds a line break");
  }
  append(kMetricsFile, std::string(json_line) + '\n');
}

void RunFolder::write_checkpoint(std::int64_t step, const std::map<std::string, std::string>& files) const {
  const fs::path checkpoints = path_ / kCheckpoints;
  make_folder(checkpoints);
  Manifest manifest;
  manifest.step = step;
  for (const auto& [name, bytes] : files) {
    check_name(name);
    manifest.files[name] = measure(bytes);
  }
  const fs::path folder = checkpoints / step_name(step);
  const fs::path unfinished = make_unfinished(folder);
  try {
    for (const auto& [name, bytes] : files) write_file(unfinished / name, bytes);
    write_file(unfinished / kManifestFile, write_manifest(manifest));
    finish_folder(unfinished, folder);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw;
  }
}

std::vector<std::int64_t> RunFolder::checkpoint_steps() const {
  std::vector<std::int64_t> steps;
  std::error_code failed;
  for (fs::directory_iterator entry(path_ / kCheckpoints, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto step = parse_step(entry->path().filename().string());
    std::error_code ignored;
    if (step && entry->is_directory(ignored)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string RunFolder::read_checkpoint_file(std::int64_t step, std::string_view name) const {
  check_name(name);
  const fs::path folder = path_ / kCheckpoints / step_name(step);
  const fs::path manifest_path = folder / kManifestFile;
  const fs::path path = folder / name;
  const Manifest manifest = read_manifest(read_file(manifest_path), manifest_path.string());
  if (manifest.step != step) {
    throw DataError(manifest_path.string(), fmt::format("is of step {}: expected {}", manifest.step, step));
  }
  const auto listed = manifest.files.find(std::string(name));
  if (listed == manifest.files.end()) {
    throw DataError(manifest_path.string(), fmt::format("does not list {}: the checkpoint is damaged", name));
  }
  std::string bytes = read_file(path);
  const Manifest::File found = measure(bytes);
  if (found.bytes != listed->second.bytes) {
    throw DataError(path.string(), fmt::format("is damaged: has {} bytes, expected {} as in {}", found.bytes,
                                               listed->second.bytes, kManifestFile));
  }
  if (found.xxh3 != listed->second.xxh3) {
    throw DataError(path.string(), fmt::format("is damaged: has checksum {}, expected {} as in {}",
                                               found.xxh3, listed->second.xxh3, kManifestFile));
  }
  return bytes;
}

}  // namespace headtorch::store
