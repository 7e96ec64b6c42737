#include "attnscope/commands/file_identity.h"

#include <sys/stat.h>

namespace attnscope {

namespace fs = std::filesystem;

FileIdentity identity_of(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  FileIdentity identity{.path = fs::weakly_canonical(whole, failed)};
  if (failed) identity.path = whole;
  struct stat status = {};
  identity.exists = stat(path.c_str(), &status) == 0;
  if (identity.exists && S_ISREG(status.st_mode)) identity.file = {status.st_dev, status.st_ino};
  return identity;
}

bool is_same_file(const FileIdentity& one, const FileIdentity& other) {
  if (one.exists || other.exists) return one.file && one.file == other.file;
  return one.path == other.path;
}

std::vector<FileIdentity> identities_on_the_way(const fs::path& path) {
  std::vector<FileIdentity> identities = {identity_of(path)};
  while (identities.back().path.has_relative_path()) {
    identities.push_back(identity_of(identities.back().path.parent_path()));
  }
  return identities;
}

}  // namespace attnscope
