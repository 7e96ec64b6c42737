// Files without a name. The system removes them when they are closed, even by a crash.
#pragma once

#include <filesystem>
#include <string>

namespace attnscope {

/// The folder that TMPDIR names, whether it exists or not: a misspelled TMPDIR must not fill /tmp.
std::string temporary_folder();

/// Returns a descriptor for reading and writing, or -1 with errno. Also -1 if the file system of
/// `folder` has no unnamed files.
int open_unnamed_file(const std::filesystem::path& folder);

/// The same in the temporary folder; works on every file system.
int open_temporary_file();

}  // namespace attnscope
