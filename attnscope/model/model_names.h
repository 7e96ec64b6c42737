// What rows call the models of one run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope {

/// Names for the rows of several models: each path's last part, made longer where two agree.
std::vector<std::string> distinct_names(const std::vector<std::filesystem::path>& paths);

}  // namespace attnscope
