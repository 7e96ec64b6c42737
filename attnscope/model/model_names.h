// What rows call the models of one run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope {

/// A path's parts, from the root on.
std::vector<std::string> name_parts(const std::filesystem::path& path);

/// Names for the rows of several models: the last of each one's parts, or more where two agree.
std::vector<std::string> distinct_tails(const std::vector<std::vector<std::string>>& parts);

/// The same of the parts of paths.
std::vector<std::string> distinct_names(const std::vector<std::filesystem::path>& paths);

}  // namespace attnscope
