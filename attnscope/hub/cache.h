// The cache of huggingface_hub, shared with it. Layout of models--ORG--NAME: blobs/ETAG,
// snapshots/COMMIT/PATH (links to blobs), refs/REVISION (each contains a commit).
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/hub/settings.h"

namespace attnscope {

/// One model's folder in the cache. The folder may not exist yet.
class HubCache {
 public:
  HubCache(const HubSettings& settings, const std::string& repo);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path snapshot(const std::string& commit) const;
  std::filesystem::path blob(const std::string& etag) const;

  /// Returns the commit of a revision if its snapshot exists. Returns nothing if the revision is
  /// not in the cache.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Returns the names of all cached revisions.
  std::vector<std::string> revisions() const;

  /// Whether the cache contains a file of a commit.
  bool has(const std::string& commit, const std::string& path) const;

  // The functions below write to the cache, and throw Error(io) on failure.

  /// Creates the folders, and the tag file by which backup programs recognize a cache.
  void prepare(const std::string& commit) const;
  /// Writes nothing if the ref is already right, so that a complete cache can be read-only.
  void write_ref(const std::string& revision, const std::string& commit) const;
  /// Records that the commit has no such file, so that the hub is not asked again.
  void write_absent(const std::string& commit, const std::string& path) const;
  /// Links a blob into a snapshot. If the file system has no links, a new blob is moved there. An
  /// older blob is copied, because other snapshots may use it.
  void place(const std::string& commit, const std::string& path, const std::string& etag,
             bool is_new) const;

  /// The lock lies in a folder next to the models, so that removing a model does not remove it.
  std::filesystem::path lock_file(const std::string& etag) const;

 private:
  std::filesystem::path root_;
  std::string name_;  // "models--ORG--NAME"
  std::filesystem::path folder_;
  bool links_;
};

/// A lock between programs (flock), compatible with huggingface_hub.
class FileLock {
 public:
  /// Waits until no other program holds the lock. Throws Stopped, and Error(io) if the lock file
  /// cannot be created. On file systems without locks it does nothing.
  FileLock(const std::filesystem::path& path, std::stop_token stop);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attnscope
