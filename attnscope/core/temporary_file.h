// Files without a name, which are gone when they are closed, however the program ends.
#pragma once

#include <filesystem>
#include <string>

namespace attnscope {

/// As TMPDIR names it, be it there or not: a misspelled one must not fill /tmp.
std::string temporary_folder();

/// Returns a descriptor that can be read and written, or -1 with errno, also where the file system
/// of `folder` has no files without names.
int open_unnamed_file(const std::filesystem::path& folder);

/// The same in the temporary folder, on every file system.
int open_temporary_file();

}  // namespace attnscope
