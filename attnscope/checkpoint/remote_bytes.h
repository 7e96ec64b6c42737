// The bytes of a remote file, fetched when they are needed.
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

/// A source of a remote file's bytes.
class RangeSource {
 public:
  virtual ~RangeSource() = default;
  /// Fills `out` with the file's bytes from `offset` on. Several threads may call it at the same
  /// time. Throws Error(io) if they cannot be fetched, and Stopped.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) = 0;
};

/// Runs tasks in the background. Of large reads there are two at a time: more would not make a
/// connection faster. Small ones only wait for their answers, which they can do side by side.
class Fetcher {
 public:
  static constexpr int kAtOnce = 8, kLargeAtOnce = 2;
  static constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20;  // and above

  Fetcher();
  ~Fetcher();  // drops tasks that have not begun
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  void run(std::function<void()> task);

  /// Held during every large read, in the background or not.
  std::counting_semaphore<kLargeAtOnce>& connections() { return connections_; }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::counting_semaphore<kLargeAtOnce> connections_{kLargeAtOnce};
  std::vector<std::thread> threads_;  // last: they use the others
};

/// A file that is read over the network.
struct RemoteFile {
  std::string name;            // in its folder
  std::filesystem::path path;  // its name in messages; equal only for equal contents
  std::uint64_t bytes = 0;
  std::shared_ptr<RangeSource> source;
  std::shared_ptr<Fetcher> fetcher;  // of all files of a checkpoint
};

/// The fetched parts of a remote file, in memory of the file's size, which starts empty.
class RemoteBytes {
 public:
  /// `memory` must outlive it.
  RemoteBytes(std::span<std::byte> memory, RemoteFile file);
  ~RemoteBytes();  // waits for what is being fetched
  RemoteBytes(const RemoteBytes&) = delete;
  RemoteBytes& operator=(const RemoteBytes&) = delete;

  /// Waits until bytes [begin, end) are there. Every byte is fetched once, unless forget() dropped
  /// it. Throws what the source throws.
  void need(std::uint64_t begin, std::uint64_t end);

  /// Starts to fetch the bytes. A failure is reported when they are needed.
  void prefetch(std::uint64_t begin, std::uint64_t end);

  /// Says that the bytes will not be read soon, so that their memory may be freed.
  void forget(std::uint64_t begin, std::uint64_t end);

 private:
  struct Stretch {
    std::uint64_t end = 0;
    bool there = false;  // else somebody is fetching it
  };
  using Stretches = std::map<std::uint64_t, Stretch>;  // by begin; they do not overlap

  /// The stretch that holds that byte, or end().
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
