// One client's socket, with a limit on everything that it can make the server wait for.
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

  enum class Head { whole, gone, too_large, long_line };
  /// Reads the request line and the headers. Only those headers are kept that the server looks at:
  /// the HTTP library would act on others (ranges, compression).
  Head read_head();
  /// What read_head() kept, to its empty line.
  const std::string& head() const { return head_; }

  /// False where fewer bytes come in time.
  bool read_body(std::size_t length, std::string& body);

  /// False where the reader is gone, or takes no byte for kStallTime.
  bool write(std::string_view bytes);

  /// From now on an answer may take as long as its reader takes bytes.
  void lift_time_limit() { answer_end_ = Clock::time_point::max(); }

  /// Whether the client has hung up.
  bool is_gone() const;

  /// Where a request was answered before it was read whole, reads on for a moment: the system would
  /// take the answer back.
  void drain();

  /// Ends reads and writes under way. From any thread, while the connection lives.
  void end() const;

  /// Whether it waits for its client.
  bool is_waiting() const { return waiting_; }
  Clock::time_point since() const { return since_; }
  int socket() const { return socket_; }

 private:
  bool wait(short events, Clock::time_point until);
  /// Appends what comes; false at the end, or where nothing comes in time.
  bool receive(std::string& bytes);

  int socket_;
  Clock::time_point since_, answer_end_;
  std::string head_, early_;  // early: of the body, what came with the head
  bool all_read_ = false;
  std::atomic<bool> waiting_ = false;
};

}  // namespace attnscope
