// The cache of huggingface_hub, shared with it, in its layout: models--ORG--NAME with blobs/ETAG,
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

/// One model's folder in the cache, whether it exists or not.
class HubCache {
 public:
  HubCache(const HubSettings& settings, const std::string& repo);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path snapshot(const std::string& commit) const;
  std::filesystem::path blob(const std::string& etag) const;

  /// The commit of a revision, if its snapshot exists; nothing if the cache does not know it.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// The revisions that it knows by name.
  std::vector<std::string> revisions() const;

  /// Whether it holds a file of a commit.
  bool has(const std::string& commit, const std::string& path) const;

  // The functions below write, and throw Error(io) on failure.

  /// Makes the folders, and the tag by which backup programs recognise a cache.
  void prepare(const std::string& commit) const;
  /// Writes nothing if the ref is already right, so that a complete cache may be read-only.
  void write_ref(const std::string& revision, const std::string& commit) const;
  /// Records that the commit has no such file, so that nobody needs to ask the hub.
  void write_absent(const std::string& commit, const std::string& path) const;
  /// Puts a blob into a snapshot as a link. Without links, a new blob is moved there; an older one
  /// is copied, since other snapshots may hold it.
  void place(const std::string& commit, const std::string& path, const std::string& etag,
             bool is_new) const;

  /// In a folder beside the models, so that it stays when a model is removed.
  std::filesystem::path lock_file(const std::string& etag) const;

 private:
  std::filesystem::path root_;
  std::string name_;  // "models--ORG--NAME"
  std::filesystem::path folder_;
  bool links_;
};

/// A lock that one program holds at a time (flock), compatible with huggingface_hub.
class FileLock {
 public:
  /// Waits until no other program holds it. Throws Stopped, and Error(io) if the file cannot be
  /// made. On file systems without locks it does nothing.
  FileLock(const std::filesystem::path& path, std::stop_token stop);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attnscope
