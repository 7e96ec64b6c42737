// Limits on what clients can make the server hold or wait for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace attnscope {

/// Size of the request line and headers.
inline constexpr std::size_t kHeadLimitBytes = 16 << 10;
inline constexpr std::size_t kRequestLineLimitBytes = 2 << 10;
/// Size of a text to run, and of a target, in UTF-8.
inline constexpr std::size_t kRunTextLimitBytes = 64 << 10;
/// Size of a picture or sound to run, as its file is, which a body has in base64; and of a long
/// text.
inline constexpr std::size_t kRunFileLimitBytes = 4 << 20;
inline constexpr std::size_t kBodyLimitBytes =
    (kRunFileLimitBytes + 2) / 3 * 4 + kRunTextLimitBytes + (64 << 10);
/// Size of the maps of all heads on that text: float32, in a temporary file.
inline constexpr std::uint64_t kRawMapsLimitBytes = std::uint64_t{4} << 30;

/// Connections at a time, one thread each. Further ones wait.
inline constexpr std::size_t kMaxConnections = 128;
/// How many of those may be event streams. Every open page has one.
inline constexpr int kMaxEventStreams = 48;
/// How many jobs may wait while one runs.
inline constexpr std::size_t kMaxQueuedJobs = 4;
/// How many ended jobs are kept for clients that ask.
inline constexpr std::size_t kMaxEndedJobs = 32;

/// A job that no client has watched for this long is cancelled. Longer than the 5 s after which
/// browsers open a stream of events again.
inline constexpr std::chrono::seconds kUnwatchedTime{10};

/// Time for a request to arrive completely.
inline constexpr std::chrono::seconds kRequestTime{10};
/// Time until the client must read a byte; time to read a whole answer that is not an event stream.
inline constexpr std::chrono::seconds kStallTime{10}, kAnswerTime{120};
/// When every thread is busy, the oldest connection that waits for its client is closed, if it is
/// older than this.
inline constexpr std::chrono::seconds kPatience{1};

}  // namespace attnscope
