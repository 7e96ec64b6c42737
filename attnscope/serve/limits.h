// What one client can make the server hold or wait for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace attnscope {

/// Request line and headers.
inline constexpr std::size_t kHeadLimitBytes = 16 << 10;
inline constexpr std::size_t kRequestLineLimitBytes = 2 << 10;
/// A text to run, in UTF-8.
inline constexpr std::size_t kRunTextLimitBytes = 64 << 10;
inline constexpr std::size_t kBodyLimitBytes = kRunTextLimitBytes + (64 << 10);
/// The maps of all heads on that text, float32, in a temporary file.
inline constexpr std::uint64_t kRawMapsLimitBytes = std::uint64_t{4} << 30;

/// A thread each; more wait for their turn.
inline constexpr std::size_t kMostConnections = 128;
/// Of those, how many may watch what happens: each page that is open does.
inline constexpr int kMostEventStreams = 48;
/// Jobs that wait while one runs.
inline constexpr std::size_t kMostQueuedJobs = 4;
/// Jobs that have ended and can still be asked for.
inline constexpr std::size_t kMostEndedJobs = 32;

/// For a request to arrive whole.
inline constexpr std::chrono::seconds kRequestTime{10};
/// For a reader to take any byte, and to take an answer that is no stream of events whole.
inline constexpr std::chrono::seconds kStallTime{10}, kAnswerTime{120};
/// Where every thread is taken, one whose client has kept it waiting is ended when it is this old.
inline constexpr std::chrono::seconds kPatience{1};

}  // namespace attnscope
