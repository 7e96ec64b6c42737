// One client's socket, with a time limit on every wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace attnscope {

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the socket.
  explicit Connection(int socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Head { whole, gone, too_large, long_line, ambiguous };
  /// Reads the request line and the headers. Keeps only headers that the server uses, because the
  /// HTTP library would act on others (ranges, compression).
  Head read_head();
  /// The head that read_head() kept, up to its empty line.
  const std::string& head() const { return head_; }

  /// False if fewer bytes arrive in time.
  bool read_body(std::size_t length, std::string& body);

  /// False if the client is gone, or reads no byte for kStallTime.
  bool write(std::string_view bytes);

  /// From now on an answer may last as long as its client keeps reading.
  void lift_time_limit() { answer_end_ = Clock::time_point::max(); }

  /// Whether the client has hung up.
  bool is_gone() const;

  /// If a request was answered before it was read completely, reads on for a moment. Otherwise the
  /// system would discard the answer.
  void drain();

  /// Ends reads and writes under way. May be called on any thread while the connection exists.
  void end() const;

  /// Whether it is waiting for its client.
  bool is_waiting() const { return waiting_; }
  Clock::time_point since() const { return since_; }
  int socket() const { return socket_; }

 private:
  bool wait(short events, Clock::time_point until);
  /// Appends bytes that arrive. False at the end, or if nothing arrives in time.
  bool receive(std::string& bytes);

  int socket_;
  Clock::time_point since_, answer_end_;
  std::string head_, early_;  // early: the part of the body that came with the head
  bool all_read_ = false;
  std::atomic<bool> waiting_ = false;
};

}  // namespace attnscope
