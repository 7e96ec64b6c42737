// Limits on what clients can make the server store or wait for.
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
/// Size of an image or audio file (decoded from the base64 of the body), and of a long text.
inline constexpr std::size_t kRunFileLimitBytes = 4 << 20;
inline constexpr std::size_t kBodyLimitBytes =
    (kRunFileLimitBytes + 2) / 3 * 4 + kRunTextLimitBytes + (64 << 10);
/// Size of the maps of all heads for an input: float32, in a temporary file.
inline constexpr std::uint64_t kRawMapsLimitBytes = std::uint64_t{4} << 30;

/// Simultaneous connections, one thread each. Further ones wait.
inline constexpr std::size_t kMaxConnections = 128;
/// How many connections may be event streams. Every open page has one.
inline constexpr int kMaxEventStreams = 48;
/// How many jobs may wait while one runs.
inline constexpr std::size_t kMaxQueuedJobs = 4;
/// How many finished jobs are remembered for clients.
inline constexpr std::size_t kMaxEndedJobs = 32;

/// A job that no client has watched for this long is cancelled. Longer than the 5 s after which
/// browsers reopen a stream of events.
inline constexpr std::chrono::seconds kUnwatchedTime{10};

/// Time for a request to arrive completely.
inline constexpr std::chrono::seconds kRequestTime{10};
/// Time until the client must read a byte; time to read a whole answer, except an event stream.
inline constexpr std::chrono::seconds kStallTime{10}, kAnswerTime{120};
/// If every thread is busy, the oldest connection that waits for its client is closed when it is
/// older than this.
inline constexpr std::chrono::seconds kPatience{1};

}  // namespace attnscope
