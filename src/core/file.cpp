#include "src/core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "src/core/error.hpp"

namespace headtorch {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  /// Closes now; false when the system reports a late write error.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string reason() { return std::strerror(errno); }

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw InputMissing(path.string(), fmt::format("cannot be opened: {}", reason()));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw InputMissing(path.string(), "is not a regular file");
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputOutputError(path.string(), fmt::format("cannot be read: {}", reason()));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path temporary = path;
  temporary += fmt::format(".tmp-{}-{}", ::getpid(), counter++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) throw CannotCreate(path.string(), fmt::format("cannot be created: {}", reason()));

  const auto fail = [&] {
    const std::string why = reason();
    ::unlink(temporary.c_str());
    throw InputOutputError(path.string(), fmt::format("cannot be written: {}", why));
  };
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail();
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.get()) != 0 || !file.close()) fail();
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail();

  sync_folder(path.has_parent_path() ? path.parent_path() : ".");
}

void append_file(const std::filesystem::path& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
  if (file.get() < 0) {
    throw CannotCreate(path.string(), fmt::format("cannot be opened for writing: {}", reason()));
  }
  const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
  if (put != static_cast<ssize_t>(bytes.size())) {
    throw InputOutputError(path.string(),
                           fmt::format("cannot be written: {}", put < 0 ? reason() : "the disk is full"));
  }
}

void sync_folder(const std::filesystem::path& path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

void make_folder(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed || !std::filesystem::is_directory(path)) {
    throw CannotCreate(path.string(), fmt::format("the folder cannot be created: {}",
                                                  failed ? failed.message() : "a file is in the way"));
  }
}

}  // namespace headtorch
