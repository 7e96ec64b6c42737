#include "attnscope/model/model_names.h"

#include <algorithm>
#include <map>
#include <system_error>

#include "attnscope/core/text.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// Absolute and without a trailing slash, so that its last part is a name.
fs::path named_path(const fs::path& path) {
  std::error_code ignored;  // an empty path has no absolute form, and no name
  const fs::path clean = fs::absolute(path, ignored).lexically_normal();
  return clean.has_filename() ? clean : clean.parent_path();
}

}  // namespace

std::vector<std::string> distinct_names(const std::vector<fs::path>& paths) {
  std::vector<std::vector<std::string>> parts;
  for (const fs::path& path : paths) {
    auto& own = parts.emplace_back();
    for (const fs::path& part : named_path(path)) own.push_back(part.string());
  }
  const auto tail = [](const std::vector<std::string>& own, std::size_t length) {
    std::string name;
    for (std::size_t at = own.size() - std::min(length, own.size()); at < own.size(); ++at) {
      if (!name.empty() && name != "/") name += '/';
      name += own[at];
    }
    return name;
  };

  std::vector<std::size_t> lengths(paths.size(), 1);
  for (;;) {
    std::map<std::string, std::vector<std::size_t>> users;
    for (std::size_t index = 0; index < paths.size(); ++index) {
      users[tail(parts[index], lengths[index])].push_back(index);
    }
    bool longer = false;
    for (const auto& [name, same] : users) {
      if (same.size() < 2) continue;
      for (const std::size_t index : same) {
        if (lengths[index] >= parts[index].size()) continue;
        ++lengths[index];
        longer = true;
      }
    }
    if (!longer) break;
  }
  std::vector<std::string> names;
  for (std::size_t index = 0; index < paths.size(); ++index) {
    names.push_back(printable(tail(parts[index], lengths[index])));
  }
  return names;
}

}  // namespace attnscope
