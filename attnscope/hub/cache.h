// The cache that huggingface_hub keeps too, in its layout: models--ORG--NAME with blobs/ETAG,
// snapshots/COMMIT/PATH that link to them, refs/REVISION that hold a commit.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/hub/settings.h"

namespace attnscope {

/// One model's folder in the cache, be it there or not.
class HubCache {
 public:
  HubCache(const HubSettings& settings, const std::string& repo);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path snapshot(const std::string& commit) const;
  std::filesystem::path blob(const std::string& etag) const;

  /// Of a revision whose snapshot is there; nothing where the cache does not know it.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Those that it knows by name.
  std::vector<std::string> revisions() const;

  /// Whether it holds that file of a commit.
  bool has(const std::string& commit, const std::string& path) const;

  // What follows writes, and throws Error(io) where it cannot.

  /// Makes the folders, and the tag by which backups know a cache.
  void prepare(const std::string& commit) const;
  /// Nothing is written where it says so already, so that a cache that is whole may be read-only.
  void write_ref(const std::string& revision, const std::string& commit) const;
  /// That the commit has no such file: whoever asks the cache for it need not ask the hub.
  void write_absent(const std::string& commit, const std::string& path) const;
  /// Puts a blob into a snapshot: as a link, or where there are none as the file itself. Then one
  /// that is not new is copied, since other snapshots may hold it.
  void place(const std::string& commit, const std::string& path, const std::string& etag,
             bool is_new) const;

  /// Beside the models, so that it stays when a model is removed.
  std::filesystem::path lock_file(const std::string& etag) const;

 private:
  std::filesystem::path root_;
  std::string name_;  // "models--ORG--NAME"
  std::filesystem::path folder_;
  bool links_;
};

/// Held by one program at a time, as huggingface_hub holds it (flock).
class FileLock {
 public:
  /// Waits until no other program holds it. Throws Stopped, and Error(io) where it cannot be made;
  /// file systems without locks go without.
  FileLock(const std::filesystem::path& path, std::stop_token stop);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attnscope
