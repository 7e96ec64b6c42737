#include "attnscope/commands/file_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>

#include "attnscope/core/error.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

/// That of a path without links.
FileIdentity identity_of_canonical(std::string path) {
  FileIdentity identity{.path = std::move(path)};
  struct stat status = {};
  identity.exists = stat(identity.path.c_str(), &status) == 0;
  if (identity.exists && S_ISREG(status.st_mode)) identity.file = {status.st_dev, status.st_ino};
  return identity;
}

}  // namespace

FileIdentity identity_of(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  const fs::path canonical = fs::weakly_canonical(whole, failed);
  FileIdentity identity = identity_of_canonical(path.string());
  identity.path = (failed ? whole : canonical).string();
  return identity;
}

bool is_same_file(const FileIdentity& one, const FileIdentity& other) {
  if (one.exists || other.exists) return one.file && one.file == other.file;
  return one.path == other.path;
}

std::vector<FileIdentity> identities_on_the_way(const fs::path& path) {
  if (path.native().size() >= PATH_MAX) {
    throw Error(ErrorKind::io,
                {.file = path.string(),
                 .problem = "is a path of " + std::to_string(path.native().size()) +
                            " bytes, expected fewer than " + std::to_string(PATH_MAX)});
  }
  std::vector<FileIdentity> identities = {identity_of(path)};
  for (;;) {
    const std::string& below = identities.back().path;
    const std::size_t end = below.rfind('/');
    if (below.size() < 2 || end == std::string::npos) return identities;
    identities.push_back(identity_of_canonical(below.substr(0, std::max<std::size_t>(end, 1))));
  }
}

}  // namespace attnscope
