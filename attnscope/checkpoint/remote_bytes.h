// The bytes of a file that is not on this machine, fetched as they are needed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace attnscope {

/// Where such bytes come from.
class RangeSource {
 public:
  virtual ~RangeSource() = default;
  /// All of out, from that byte of the file on. Threads may call it at once. Throws Error(io)
  /// where they cannot be had, and Stopped.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) = 0;
};

/// Does what it is given in the background, two at a time: more would not make a connection faster.
class Fetcher {
 public:
  static constexpr int kAtOnce = 2;

  Fetcher();
  ~Fetcher();  // what has not begun is dropped
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  void run(std::function<void()> task);

  /// Held by whoever reads, in the background or not.
  std::counting_semaphore<kAtOnce>& connections() { return connections_; }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::counting_semaphore<kAtOnce> connections_{kAtOnce};
  std::vector<std::thread> threads_;  // last: they use the others
};

/// A file that is read over the network.
struct RemoteFile {
  std::string name;            // in its folder
  std::filesystem::path path;  // what messages call it; equal only for equal contents
  std::uint64_t bytes = 0;
  std::shared_ptr<RangeSource> source;
  std::shared_ptr<Fetcher> fetcher;  // of all files of a checkpoint
};

/// What is there of a remote file, in memory of the file's size that starts out empty.
class RemoteBytes {
 public:
  /// `memory` must outlive it.
  RemoteBytes(std::span<std::byte> memory, RemoteFile file);
  ~RemoteBytes();  // waits for what is being fetched
  RemoteBytes(const RemoteBytes&) = delete;
  RemoteBytes& operator=(const RemoteBytes&) = delete;

  /// Returns when bytes [begin, end) are there. Every byte is fetched once, unless it was released.
  /// Throws what the source throws.
  void need(std::uint64_t begin, std::uint64_t end);

  /// Starts to fetch them; a failure shows when they are needed.
  void prefetch(std::uint64_t begin, std::uint64_t end);

  /// They will not be read soon: memory may drop them.
  void forget(std::uint64_t begin, std::uint64_t end);

 private:
  struct Stretch {
    std::uint64_t end = 0;
    bool there = false;  // else somebody is fetching it
  };
  using Stretches = std::map<std::uint64_t, Stretch>;  // by begin; they do not overlap

  /// The stretch that holds that byte, or the end.
  Stretches::iterator at(std::uint64_t byte);
  void fetch(std::unique_lock<std::mutex>& lock, std::uint64_t begin, std::uint64_t end);

  std::span<std::byte> memory_;
  RemoteFile file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Stretches stretches_;
  int tasks_ = 0;  // in the fetcher
  bool ending_ = false;
};

}  // namespace attnscope
