// The API: its routes as data, and their handlers. docs/http.md describes them; docs/openapi.json
// is generated from the same table.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/serve/access_control.h"
#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/jobs.h"
#include "attnscope/serve/live_report.h"

namespace attnscope {

class Api;

/// The numbers in a path, in order.
using PathNumbers = std::vector<std::int64_t>;

struct Route {
  std::string_view method;
  std::string_view path;  // numbers are names in braces: "/api/jobs/{job}"
  std::string_view summary;
  std::string_view answer;  // the answer's schema (openapi.cpp) or media type
  HttpAnswer (Api::*run)(const HttpRequest&, const PathNumbers&);
  std::string_view body = {};  // the schema of the request's body; empty: no body
};

std::span<const Route> routes();

class Api {
 public:
  /// `page`: page_template(); may be empty. `session`: used to run jobs.
  Api(std::string_view page, LiveReport& report, Jobs& jobs, const Session& session);

  /// Answers a request that has passed the gate.
  HttpAnswer answer(const HttpRequest& request);

  HttpAnswer page(const HttpRequest&, const PathNumbers&);
  HttpAnswer models(const HttpRequest&, const PathNumbers&);
  HttpAnswer results(const HttpRequest&, const PathNumbers&);
  HttpAnswer values(const HttpRequest&, const PathNumbers&);
  HttpAnswer maps(const HttpRequest&, const PathNumbers&);
  HttpAnswer map(const HttpRequest&, const PathNumbers& place);
  HttpAnswer run_text(const HttpRequest&, const PathNumbers&);
  HttpAnswer run_plan(const HttpRequest&, const PathNumbers&);
  HttpAnswer run_analysis(const HttpRequest&, const PathNumbers&);
  HttpAnswer events(const HttpRequest&, const PathNumbers&);
  HttpAnswer job(const HttpRequest&, const PathNumbers& id);
  HttpAnswer job_events(const HttpRequest&, const PathNumbers& id);
  HttpAnswer cancel_job(const HttpRequest&, const PathNumbers& id);

 private:
  HttpAnswer part_of_snapshot(const HttpRequest& request, const char* type,
                              std::string Snapshot::*part);
  HttpAnswer start(std::string what, JobWork work);
  /// Opens a stream of events, unless too many are open. While it is open, its client watches the
  /// job `watched`, or all jobs.
  HttpAnswer stream(std::optional<std::int64_t> watched, NextEvents next);
  Session session_for(std::stop_token stop, const ProgressFn& progress) const;

  std::shared_ptr<const std::string> page_;
  std::string policy_;  // the page's Content-Security-Policy
  LiveReport& report_;
  Jobs& jobs_;
  const Session& session_;
  std::shared_ptr<std::atomic<int>> streams_ = std::make_shared<std::atomic<int>>(0);
};

// The API as an OpenAPI document.

/// OpenAPI 3.1, generated from the routes and the descriptions of commands; docs/openapi.json is a
/// copy.
std::string openapi_text();

}  // namespace attnscope
