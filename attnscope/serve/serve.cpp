#include "attnscope/serve/serve.h"

#include <algorithm>
#include <thread>

#include "attnscope/base/error.h"
#include "attnscope/page/template.h"
#include "attnscope/serve/api.h"
#include "attnscope/serve/http_server.h"
#include "attnscope/serve/limits.h"
#include "attnscope/serve/listen_address.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr const char* kUsualHost = "127.0.0.1";
constexpr int kUsualPort = 8642, kLargestPort = 65535;
constexpr int kMostUnwatchedSeconds = 24 * 60 * 60;

/// A token is part of an address, so it has only letters, digits, '-' and '_'.
std::string token_of(const Arguments& arguments, const std::string& host) {
  if (!arguments.given("token")) return is_loopback(host) ? "" : random_token();
  const std::string token = arguments.text("token");
  constexpr std::size_t kShortest = 8, kLongest = 256;
  const bool plain = std::all_of(token.begin(), token.end(), [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || c == '-' || c == '_');
  });
  if (plain && token.size() >= kShortest && token.size() <= kLongest) return token;
  throw Error(ErrorKind::usage, {.parameter = "token",
                                 .problem = "must consist of 8 to 256 letters, digits, - or _",
                                 .hint = "omit it for a random token"});
}

/// Headers of every answer: only this page may use it, and browsers must not guess its type.
void add_usual_headers(HttpAnswer& answer) {
  for (const auto& [name, value] : {std::pair{"X-Content-Type-Options", "nosniff"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"},
                                    {"Cache-Control", "no-store"}}) {
    answer.headers.emplace_back(name, value);
  }
}

}  // namespace

Parameters serve_parameters() {
  return {
      {.name = "host",
       .type = text,
       .help = "address to listen on; addresses that other machines can reach require a token",
       .metavariable = "ADDRESS",
       .default_text = kUsualHost},
      {.name = "port",
       .type = integer,
       .help = "port to listen on; 0 picks a free one",
       .metavariable = "N",
       .least = 0,
       .most = kLargestPort,
       .default_text = std::to_string(kUsualPort)},
      {.name = "token",
       .type = text,
       .help = "access token that clients must send; part of the printed address",
       .metavariable = "TEXT",
       .default_words = "none; random for a {host} that other machines can reach"},
      {.name = "cancel_unwatched",
       .type = integer,
       .help =
           "cancel a job if no client has watched or queried it for this many seconds; 0: never",
       .metavariable = "SECONDS",
       .least = 0,
       .most = kMostUnwatchedSeconds,
       .default_text = std::to_string(kUnwatchedTime.count())}};
}

void serve(const Arguments& arguments, const Session& session,
           const std::function<void(const std::string& address)>& on_ready) {
  const std::string host = arguments.text("host");
  const std::string token = token_of(arguments, host);
  LiveReport report(arguments, session);
  const ListeningSocket socket(host, static_cast<int>(arguments.integer("port").value_or(0)));
  const Gate gate = gate_of(host, socket.port(), token);
  on_ready("http://" + host_and_port(host_to_open(host), socket.port()) + "/" +
           (token.empty() ? "" : "?token=" + token));

  Jobs jobs(
      std::chrono::seconds(arguments.integer("cancel_unwatched").value_or(kUnwatchedTime.count())));
  const std::stop_callback end_jobs(session.context.stop, [&] { jobs.end(); });
  if (arguments.given("store")) {
    jobs.add(
        "stored",
        [&](std::stop_token stop, const ProgressFn&) {
          Session reading = session;
          reading.on_warning = {};
          reading.context.stop = std::move(stop);
          report.show_stored(reading);
          return report.snapshot()->revision;
        },
        Jobs::Owner::server);
  }
  Api api(page_template(), report, jobs, session);
  serve_http(
      socket,
      [&](const HttpRequest& request) {
        auto refused = refuse_stranger(gate, request);
        HttpAnswer answer = refused ? *std::move(refused) : api.answer(request);
        add_usual_headers(answer);
        return answer;
      },
      session.context.stop);
  throw Stopped();
}

}  // namespace attnscope
