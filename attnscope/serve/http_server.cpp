#include "attnscope/serve/http_server.h"

#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "attnscope/serve/connection.h"
#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

/// The stream from which the library reads a request and to which it writes the answer.
class LibraryStream : public httplib::Stream {
 public:
  explicit LibraryStream(Connection& connection) : connection_(connection) {}

  bool is_readable() const override { return at_ < connection_.head().size(); }
  bool is_writable() const override { return !connection_.is_gone(); }
  ssize_t read(char* bytes, size_t size) override {
    const std::size_t count = connection_.head().copy(bytes, size, at_);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    return connection_.write({bytes, size}) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return connection_.socket(); }

 private:
  Connection& connection_;
  std::size_t at_ = 0;
};

HttpRequest request_of(const httplib::Request& given) {
  HttpRequest request{.method = given.method, .path = given.path};
  for (const auto& [name, value] : given.params) request.query.emplace(name, value);
  for (const auto& [name, value] : given.headers) {
    std::string key = name;
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!request.headers.emplace(std::move(key), value).second) {
      throw Error(ErrorKind::format, "request", "header '" + verbatim(name) + "' occurs twice");
    }
  }
  return request;
}

/// Length of the body according to the request; -1 if it is not a number.
std::int64_t body_length(const HttpRequest& request) {
  const std::string text = request.header("content-length");
  if (text.empty()) return request.headers.contains("content-length") ? -1 : 0;
  std::uint32_t length = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, length);
  return error == std::errc() && stop == end ? static_cast<std::int64_t>(length) : -1;
}

/// One request and its answer. The library only parses and writes; it does not route, so it never
/// looks up files or runs patterns on untrusted input.
class Exchange : private httplib::Server {
 public:
  Exchange(Connection& connection, const AnswerRequest& answer)
      : connection_(connection), answer_(answer) {
    svr_sock_ = connection.socket();  // otherwise the library considers itself stopped
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      put(answered(request), response);
      return HandlerResponse::Handled;
    });
    // Refusals by the library itself have no body.
    set_error_handler(HandlerWithResponse([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty()) return HandlerResponse::Unhandled;
      put(refusal(response.status, "format", "not an HTTP/1.1 request"), response);
      return HandlerResponse::Handled;
    }));
  }

  void run() {
    LibraryStream stream(connection_);
    bool closed = true;
    const auto process = [&](auto& library) {
      if constexpr (requires { library.process_request(stream, true, closed, nullptr); }) {
        library.process_request(stream, /*close_connection=*/true, closed, nullptr);
      } else {  // newer versions require the addresses of both ends
        library.process_request(stream, "", 0, "", 0, /*close_connection=*/true, closed, nullptr);
      }
    };
    process(*this);
  }

 private:
  HttpAnswer answered(const httplib::Request& given) {
    try {
      HttpRequest request = request_of(given);
      if (auto refused = read_body(request)) return *std::move(refused);
      const bool head = request.method == "HEAD";  // the library sends no body for it
      if (head) request.method = "GET";
      HttpAnswer answer = answer_(request);
      if (head && std::holds_alternative<NextEvents>(answer.body)) answer.body = "";
      if (std::holds_alternative<NextEvents>(answer.body)) connection_.lift_time_limit();
      return answer;
    } catch (const Error& error) {
      return error_answer(error);
    } catch (const std::bad_alloc&) {
      return refusal(503, "busy", "not enough memory for the answer");
    } catch (const std::exception&) {
      return refusal(500, "internal", "internal error (please report this)");
    }
  }

  std::optional<HttpAnswer> read_body(HttpRequest& request) {
    const std::int64_t length = body_length(request);
    if (request.headers.contains("transfer-encoding") || length < 0) {
      return refusal(411, "format", "missing Content-Length header of the body");
    }
    if (request.method != "POST") {
      if (length == 0) {
        connection_.read_body(0, request.body);
        return std::nullopt;
      }
      return refusal(400, "format", "only POST accepts a body");
    }
    if (length > static_cast<std::int64_t>(kBodyLimitBytes)) {
      return refusal(413, "usage",
                     "the body exceeds the limit of " + std::to_string(kBodyLimitBytes) + " bytes");
    }
    if (connection_.read_body(static_cast<std::size_t>(length), request.body)) return std::nullopt;
    return refusal(408, "format", "incomplete body");
  }

  static void put(HttpAnswer answer, httplib::Response& response) {
    response.status = answer.status;
    // Partial answers are not supported. Otherwise the library would announce ranges, for HEAD
    // only.
    response.set_header("Accept-Ranges", "none");
    for (const auto& [name, value] : answer.headers) response.set_header(name, value);
    if (auto* text = std::get_if<std::string>(&answer.body)) {
      response.set_content(*text, answer.type);
    } else if (auto* parts = std::get_if<BodyParts>(&answer.body)) {
      if (parts->length == 0) return response.set_content("", answer.type);
      response.set_content_provider(
          parts->length, answer.type,
          [read = std::move(parts->read)](size_t at, size_t length, httplib::DataSink& sink) {
            constexpr std::size_t kPart = 64 << 10;
            const std::string bytes = read(at, std::min(length, kPart));
            return sink.write(bytes.data(), bytes.size());
          });
    } else {
      response.set_chunked_content_provider(
          answer.type, [next = std::get<NextEvents>(answer.body)](size_t, httplib::DataSink& sink) {
            const std::optional<std::string> events = next();
            if (!events) {
              sink.done();
              return true;
            }
            return sink.is_writable() && sink.write(events->data(), events->size());
          });
    }
  }

  Connection& connection_;
  const AnswerRequest& answer_;
};

/// Answers a client whose request is refused before the library parses it.
void refuse_connection(Connection& connection, Connection::Head head) {
  std::string status = "431 Request Header Fields Too Large";
  std::string_view message = "the request headers are too large";
  if (head == Connection::Head::gone) return;
  if (head == Connection::Head::long_line) status = "414 URI Too Long";
  if (head == Connection::Head::ambiguous) {
    status = "400 Bad Request";
    message =
        "the request headers contain a NUL byte, a folded header, or a line that is not a header";
  }
  const int number = std::stoi(status);
  const std::string body = std::get<std::string>(refusal(number, "format", message).body);
  connection.write("HTTP/1.1 " + status +
                   "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + body);
}

/// The open connections, with one thread each.
class Connections {
 public:
  explicit Connections(const AnswerRequest& answer) : answer_(answer) {}

  /// Waits for a free slot if all are taken.
  void add(int socket) {
    auto connection = std::make_shared<Connection>(socket);
    {
      std::unique_lock lock(mutex_);
      while (open_.size() >= kMaxConnections && !over_) {
        end_an_idle_one();
        changed_.wait_for(lock, std::chrono::milliseconds(100));
      }
      if (over_) return;
      open_.insert(connection);
    }
    try {
      std::thread([this, connection] {
        talk(*connection);
        const std::scoped_lock lock(mutex_);
        open_.erase(connection);
        changed_.notify_all();
      }).detach();
    } catch (const std::system_error&) {  // no thread available: the client is refused
      const std::scoped_lock lock(mutex_);
      open_.erase(connection);
    }
  }

  /// Releases threads that wait in add(); their clients are refused.
  void end_all() {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    for (const auto& connection : open_) connection->end();
    changed_.notify_all();
  }

  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_.empty(); });
  }

 private:
  void talk(Connection& connection) {
    try {
      const Connection::Head head = connection.read_head();
      if (head == Connection::Head::whole) {
        Exchange(connection, answer_).run();
      } else {
        refuse_connection(connection, head);
      }
      connection.drain();
    } catch (const std::exception&) {  // out of memory: only this client gets no answer
    }
  }

  /// Ends the oldest connection that waits for its client, if it has exceeded its time.
  void end_an_idle_one() {
    const Connection* oldest = nullptr;
    for (const auto& connection : open_) {
      if (!connection->is_waiting()) continue;
      if (oldest == nullptr || connection->since() < oldest->since()) oldest = connection.get();
    }
    if (oldest != nullptr && Connection::Clock::now() - oldest->since() > kPatience) oldest->end();
  }

  const AnswerRequest& answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::shared_ptr<Connection>> open_;
  bool over_ = false;
};

}  // namespace

void serve_http(const ListeningSocket& socket, const AnswerRequest& answer, std::stop_token stop) {
  Connections connections(answer);
  {
    const std::stop_callback end(stop, [&] {
      socket.close();
      connections.end_all();
    });
    for (;;) {
      const int client = socket.accept();
      if (client < 0) break;
      connections.add(client);
    }
  }
  connections.end_all();
  connections.wait_for_all();
}

}  // namespace attnscope
