// The names of the models of a run, as they appear in rows.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope {

/// Returns the components of a path, starting at the root.
std::vector<std::string> name_parts(const std::filesystem::path& path);

/// Returns distinct names for several models: the last component of each path, or more components
/// if two are equal.
std::vector<std::string> distinct_tails(const std::vector<std::vector<std::string>>& parts);

/// The same for paths.
std::vector<std::string> distinct_names(const std::vector<std::filesystem::path>& paths);

}  // namespace attnscope
