#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headtorch {

/// The whole file.  @throws InputMissing when it cannot be opened or is no regular file, InputOutputError when a read fails.
std::string read_file(const std::filesystem::path& path);

/// Writes all or nothing, durably: a temporary file in the same folder, write, fsync, rename, fsync of the folder.
/// Permissions follow the umask.  @throws CannotCreate or InputOutputError; nothing is left behind.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Creates the folder and its parents.  @throws CannotCreate.
void make_folder(const std::filesystem::path& path);

}  // namespace headtorch
