#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headtorch {

/// The whole file.  @throws InputMissing when it cannot be opened or is no regular file, InputOutputError
/// when a read fails.
std::string read_file(const std::filesystem::path& path);

/// Writes all or nothing, durably: a temporary file in the same folder, write, fsync, rename, fsync of the
/// folder. Permissions follow the umask.  @throws CannotCreate or InputOutputError; nothing is left behind.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Adds `bytes` to the end of the file, creating it if need be, in one write: a reader never sees half of
/// them.
/// @throws CannotCreate or InputOutputError.
void append_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes the names in a folder durable: what was created in it or renamed survives a crash of the machine.
void sync_folder(const std::filesystem::path& path);

/// Creates the folder and its parents.  @throws CannotCreate.
void make_folder(const std::filesystem::path& path);

}  // namespace headtorch
