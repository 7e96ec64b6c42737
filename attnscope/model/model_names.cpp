#include "attnscope/model/model_names.h"

#include <algorithm>
#include <map>
#include <system_error>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// Returns the absolute path without a trailing slash, so that its last component is a name.
fs::path named_path(const fs::path& path) {
  std::error_code ignored;  // an empty path has no absolute form and no name
  const fs::path clean = fs::absolute(path, ignored).lexically_normal();
  return clean.has_filename() ? clean : clean.parent_path();
}

}  // namespace

std::vector<std::string> name_parts(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : named_path(path)) parts.push_back(part.string());
  return parts;
}

std::vector<std::string> distinct_names(const std::vector<fs::path>& paths) {
  std::vector<std::vector<std::string>> parts;
  for (const fs::path& path : paths) parts.push_back(name_parts(path));
  return distinct_tails(parts);
}

std::vector<std::string> distinct_tails(const std::vector<std::vector<std::string>>& parts) {
  const auto tail = [](const std::vector<std::string>& own, std::size_t length) {
    std::string name;
    for (std::size_t at = own.size() - std::min(length, own.size()); at < own.size(); ++at) {
      if (!name.empty() && name != "/") name += '/';
      name += own[at];
    }
    return name;
  };

  std::vector<std::size_t> lengths(parts.size(), 1);
  for (;;) {
    std::map<std::string, std::vector<std::size_t>> users;
    for (std::size_t index = 0; index < parts.size(); ++index) {
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
  for (std::size_t index = 0; index < parts.size(); ++index) {
    names.push_back(printable(tail(parts[index], lengths[index])));
  }
  return names;
}

}  // namespace attnscope
