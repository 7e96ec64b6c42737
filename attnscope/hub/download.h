// A file of the hub, into the cache: it goes on where it stopped, and is believed when its size and
// checksum are right.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "attnscope/hub/cache.h"
#include "attnscope/hub/hub_client.h"

namespace attnscope {

/// How far the downloads of one model are.
struct DownloadProgress {
  std::string model;
  std::size_t files_done = 0, files_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;  // with what was there before
  std::uint64_t bytes_come = 0;                   // in these seconds
  double seconds = 0;
};

/// Of all downloads of one model.
struct ByteCount {
  std::atomic<std::uint64_t> done = 0;  // with what was there before
  std::atomic<std::uint64_t> come = 0;
};

using DownloadProgressFn = std::function<void(const DownloadProgress&)>;

/// Downloads the file unless its blob is there, and places it in the snapshot of the commit.
/// `count` is added to as bytes are found and come. Throws HubError, Stopped; Error(format) where
/// what came is not what the hub names; Error(io).
void download_file(HubClient& client, const HubCache& cache, const std::string& commit,
                   const HubFile& file, std::stop_token stop, ByteCount& count);

/// All of them, some at a time. `on_progress` is called ten times a second on this thread. The
/// first failure ends the others.
void download_files(const HubContext& context, const HubSubject& subject, const HubCache& cache,
                    const std::string& commit, std::span<const HubFile> files,
                    const DownloadProgressFn& on_progress);

}  // namespace attnscope
