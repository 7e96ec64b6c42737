// The names of the models of a run, as rows have them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope {

/// A path's parts, from the root on.
std::vector<std::string> name_parts(const std::filesystem::path& path);

/// Distinct names for several models: the last part of each, or more parts if two are equal.
std::vector<std::string> distinct_tails(const std::vector<std::vector<std::string>>& parts);

/// The same for paths.
std::vector<std::string> distinct_names(const std::vector<std::filesystem::path>& paths);

}  // namespace attnscope
