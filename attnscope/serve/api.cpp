#include "attnscope/serve/api.h"

#include <algorithm>
#include <array>

#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/features/report/sections.h"
#include "attnscope/rows/json.h"
#include "attnscope/serve/limits.h"
#include "attnscope/serve/live_analyses.h"
#include "attnscope/serve/live_page.h"
#include "attnscope/serve/request_body.h"

namespace attnscope {
namespace {

using namespace std::chrono_literals;

std::optional<std::int64_t> number_of(std::string_view text) {
  constexpr std::size_t kMaxDigits = 9;
  std::int64_t number = 0;
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return number;
}

/// The numbers in `path` if it matches `route`.
std::optional<PathNumbers> match(std::string_view route, const std::string& path) {
  const std::vector<std::string> wanted = split(route, '/'), given = split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  PathNumbers numbers;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (!wanted[at].starts_with('{')) {
      if (wanted[at] != given[at]) return std::nullopt;
      continue;
    }
    const auto number = number_of(given[at]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Record parameter_record(const Parameter& parameter) {
  return {{"name", parameter.name},
          {"type", parameter.type == ParameterType::flag ? "boolean" : "text"},
          {"help", spell_parameters(full_help(parameter),
                                    [](std::string_view name) { return std::string(name); })}};
}

/// Describes the maps of the last input.
Value raw_maps_value(const Snapshot& snapshot) {
  if (!snapshot.raw_maps) return {};
  Value::List list;
  for (const RawMaps::OfModel& of : snapshot.raw_maps->models()) {
    list.emplace_back(Record{{"model", static_cast<std::int64_t>(of.model)},
                             {"layers", of.layers},
                             {"heads", of.heads},
                             {"tokens", of.tokens},
                             {"keys", of.keys}});
  }
  return list;
}

std::string event_text(std::string_view name, const Record& data) {
  return "event: " + std::string(name) + "\ndata: " + json_text(data) + "\n\n";
}

/// Sent periodically to detect whether the client still reads.
constexpr const char* kComment = ":\n\n";
constexpr std::chrono::seconds kPause{1};

/// A slot for an event stream, released when the stream ends.
class StreamSlot {
 public:
  explicit StreamSlot(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) {
    taken_ = ++*count_ <= kMaxEventStreams;
  }
  ~StreamSlot() { --*count_; }
  StreamSlot(const StreamSlot&) = delete;
  StreamSlot& operator=(const StreamSlot&) = delete;

  bool is_taken() const { return taken_; }

 private:
  std::shared_ptr<std::atomic<int>> count_;
  bool taken_ = false;
};

bool has_job(std::span<const JobView> jobs, std::string_view what) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const JobView& job) { return job.what == what; });
}

/// Whether a job in progress will provide the analysis.
bool will_come(std::span<const JobView> jobs, std::string_view id) {
  return has_job(jobs, id) || (!is_of_text(id) && has_job(jobs, kMissing));
}

HttpAnswer no_such_job() { return refusal(404, "not_found", "unknown job"); }

}  // namespace

std::span<const Route> routes() {
  static constexpr std::array kRoutes = {
      Route{"GET", "/", "the page of the live report", "text/html", &Api::page},
      Route{"GET", "/api/models", "models, available analyses, finished analyses and jobs",
            "Models", &Api::models},
      Route{"GET", "/api/results", "the report without its numbers and maps", "Report",
            &Api::results},
      Route{"GET", "/api/values", "numbers of the report: float32, split into four planes of bytes",
            "application/octet-stream", &Api::values},
      Route{"GET", "/api/maps", "maps and images of the report: one byte per value",
            "application/octet-stream", &Api::maps},
      Route{"GET", "/api/maps/{model}/{layer}/{head}",
            "attention map of one head on the last input: float32, row-major, little-endian",
            "application/octet-stream", &Api::map},
      Route{"POST", "/api/attention", "run models on a text, image or audio file", "Started",
            &Api::run_text, "TextRequest"},
      Route{"POST", "/api/plan", "compare compression methods for models, calibrated on a text",
            "Started", &Api::run_plan, "PlanRequest"},
      Route{"POST", "/api/analyses", "start an analysis that is missing from the report", "Started",
            &Api::run_analysis, "AnalysisRequest"},
      Route{"GET", "/api/events",
            "stream of `change` events: one at the start, then one for each change of the report "
            "or of a job",
            "text/event-stream", &Api::events},
      Route{"GET", "/api/jobs/{job}", "state of a job", "Job", &Api::job},
      Route{"GET", "/api/jobs/{job}/events",
            "progress of a job: `progress` events, then `end` or `error`", "text/event-stream",
            &Api::job_events},
      Route{"DELETE", "/api/jobs/{job}", "cancel a job", "Job", &Api::cancel_job}};
  return kRoutes;
}

Api::Api(std::string_view page, LiveReport& report, Jobs& jobs, const Session& session)
    : report_(report), jobs_(jobs), session_(session) {
  if (page.empty()) return;
  LivePage live = live_page(page);
  page_ = std::make_shared<const std::string>(std::move(live.html));
  policy_ = std::move(live.policy);
}

HttpAnswer Api::answer(const HttpRequest& request) {
  std::string allowed;
  for (const Route& route : routes()) {
    const auto numbers = match(route.path, request.path);
    if (!numbers) continue;
    if (route.method == request.method) return (this->*route.run)(request, *numbers);
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
    if (route.method == "GET") allowed += ", HEAD";
  }
  if (allowed.empty()) return refusal(404, "not_found", "unknown path");
  HttpAnswer refused = refusal(405, "usage", "method not allowed; this path accepts " + allowed);
  refused.headers.emplace_back("Allow", allowed);
  return refused;
}

HttpAnswer Api::page(const HttpRequest&, const PathNumbers&) {
  if (!page_) {
    return refusal(404, "not_found", "this build has no page: it was built without Node");
  }
  return {.type = "text/html; charset=utf-8",
          .body = shared_body(page_),
          .headers = {{"Content-Security-Policy", policy_}}};
}

HttpAnswer Api::models(const HttpRequest&, const PathNumbers&) {
  const auto snapshot = report_.snapshot();
  const std::vector<JobView> under_way = jobs_.under_way();
  Value::List models, analyses, parameters, jobs;
  for (const Model& model : report_.models()) {
    models.emplace_back(facts_record(summarize(model)));
  }
  for (const std::string& id : report_.analysis_ids()) {
    const char* state = snapshot->parts.contains(id) ? "done"
                        : will_come(under_way, id)   ? "under_way"
                                                     : "absent";
    analyses.emplace_back(Record{{"id", id},
                                 {"state", state},
                                 {"needs_text", is_of_text(id)},
                                 {"again", report_.command_line(id)}});
  }
  for (const Parameter& parameter : text_run_parameters()) {
    parameters.emplace_back(parameter_record(parameter));
  }
  for (const JobView& job : under_way) jobs.emplace_back(job_record(job));
  return json_answer({{"version", ATTNSCOPE_VERSION},
                      {"revision", snapshot->revision},
                      {"models", models},
                      {"analyses", analyses},
                      {"text_parameters", parameters},
                      {"raw_maps", raw_maps_value(*snapshot)},
                      {"jobs", jobs},
                      {"text_limit_bytes", static_cast<std::int64_t>(kRunTextLimitBytes)},
                      {"file_limit_bytes", static_cast<std::int64_t>(kRunFileLimitBytes)}});
}

HttpAnswer Api::part_of_snapshot(const HttpRequest& request, const char* type,
                                 std::string Snapshot::*part) {
  const auto snapshot = report_.snapshot();
  const auto wanted = request.query.find("revision");
  if (wanted != request.query.end() && wanted->second != std::to_string(snapshot->revision)) {
    return refusal(409, "conflict", "the report has changed: request /api/results again");
  }
  const std::string* bytes = &((*snapshot).*part);
  return {.type = type,
          .body = shared_body(std::shared_ptr<const std::string>(snapshot, bytes)),
          .headers = {{"Attnscope-Revision", std::to_string(snapshot->revision)}}};
}

HttpAnswer Api::results(const HttpRequest& request, const PathNumbers&) {
  return part_of_snapshot(request, "application/json", &Snapshot::results);
}

HttpAnswer Api::values(const HttpRequest& request, const PathNumbers&) {
  return part_of_snapshot(request, "application/octet-stream", &Snapshot::values);
}

HttpAnswer Api::maps(const HttpRequest& request, const PathNumbers&) {
  return part_of_snapshot(request, "application/octet-stream", &Snapshot::maps);
}

HttpAnswer Api::map(const HttpRequest&, const PathNumbers& place) {
  const auto snapshot = report_.snapshot();
  const std::shared_ptr<RawMaps> maps = snapshot->raw_maps;
  const auto found =
      maps ? maps->find(static_cast<std::size_t>(place[0]), place[1], place[2]) : std::nullopt;
  if (!found) return refusal(404, "not_found", "no map of this head for the last input");
  return {.type = "application/octet-stream",
          .body = BodyParts{found->bytes,
                            [maps, map = *found](std::uint64_t offset, std::size_t length) {
                              return maps->read(map, offset, length);
                            }},
          .headers = {{"Attnscope-Tokens", std::to_string(found->tokens)},
                      {"Attnscope-Keys", std::to_string(found->keys)},
                      {"Attnscope-Revision", std::to_string(snapshot->revision)}}};
}

Session Api::session_for(std::stop_token stop, const ProgressFn& progress) const {
  Session session = session_;
  session.on_warning = {};  // already reported when the models were opened
  session.on_note = {};
  session.context.stop = std::move(stop);
  session.context.on_progress = progress;
  return session;
}

HttpAnswer Api::start(std::string what, JobWork work) {
  const auto id = jobs_.add(std::move(what), std::move(work));
  if (id) return json_answer({{"job", *id}}, 202);
  HttpAnswer busy = refusal(429, "busy", "queue full: retry when a job has finished");
  busy.headers.emplace_back("Retry-After", "1");
  return busy;
}

HttpAnswer Api::run_text(const HttpRequest& request, const PathNumbers&) {
  const TextRequest wanted = read_text_request(request, report_.models());
  return start("attention", [this, wanted](std::stop_token stop, const ProgressFn& progress) {
    return report_.run_text(wanted, session_for(std::move(stop), progress));
  });
}

HttpAnswer Api::run_plan(const HttpRequest& request, const PathNumbers&) {
  return start(kPlan, [this, wanted = read_calibration(request, report_.models())](
                          std::stop_token stop, const ProgressFn& progress) {
    return report_.run_plan(wanted, session_for(std::move(stop), progress));
  });
}

HttpAnswer Api::run_analysis(const HttpRequest& request, const PathNumbers&) {
  const std::string id = read_analysis_id(request);
  if (report_.snapshot()->parts.contains(id) || will_come(jobs_.under_way(), id)) {
    return refusal(409, "conflict", "the analysis is already in the report or in progress");
  }
  return start(id, [this, id](std::stop_token stop, const ProgressFn& progress) {
    const Session session = session_for(std::move(stop), progress);
    return id == kMissing ? report_.run_missing(session) : report_.run_analysis(id, session);
  });
}

HttpAnswer Api::job(const HttpRequest&, const PathNumbers& id) {
  jobs_.watch(id[0]);  // counts as watching now: a client that polls still wants the job
  const auto found = jobs_.find(id[0]);
  return found ? json_answer(job_record(*found)) : no_such_job();
}

HttpAnswer Api::cancel_job(const HttpRequest&, const PathNumbers& id) {
  const auto found = jobs_.cancel(id[0]);
  return found ? json_answer(job_record(*found), 202) : no_such_job();
}

HttpAnswer Api::stream(std::optional<std::int64_t> watched, NextEvents next) {
  const auto slot = std::make_shared<StreamSlot>(streams_);
  if (!slot->is_taken()) {
    return refusal(429, "busy", "too many open event streams: close a page");
  }
  const NextEvents held = [this, slot, watch = jobs_.watch(watched),
                           next = std::move(next)]() -> std::optional<std::string> {
    return jobs_.is_over() ? std::nullopt : next();
  };
  return {.type = "text/event-stream", .body = held};
}

HttpAnswer Api::events(const HttpRequest&, const PathNumbers&) {
  return stream(std::nullopt, [this, seen = std::uint64_t{0}, shown = std::int64_t{0}]() mutable {
    const std::vector<JobView> jobs = jobs_.wait_for_any(seen, shown == 0 ? 0s : kPause);
    const std::int64_t revision = report_.snapshot()->revision;
    if (jobs.empty() && revision == shown) return std::optional(std::string(kComment));
    Value::List changed;
    for (const JobView& job : jobs) {
      // Jobs that ended before the client connected are not events.
      if (shown != 0 || !job.is_over()) changed.emplace_back(job_record(job));
      seen = std::max(seen, job.change);
    }
    shown = revision;
    return std::optional(event_text("change", {{"revision", revision}, {"jobs", changed}}));
  });
}

HttpAnswer Api::job_events(const HttpRequest&, const PathNumbers& id) {
  if (!jobs_.find(id[0])) return no_such_job();
  return stream(id[0],
                [this, job = id[0], seen = std::uint64_t{0}, first = true,
                 ended = false]() mutable -> std::optional<std::string> {
                  if (ended) return std::nullopt;
                  const auto view = first ? jobs_.find(job) : jobs_.wait(job, seen, kPause);
                  if (!view) return std::nullopt;
                  if (!first && view->change <= seen) return kComment;
                  first = false;
                  seen = view->change;
                  const Record record = job_record(*view);
                  ended = view->is_over();
                  if (!ended) return event_text("progress", record);
                  return event_text(view->state == JobState::failed ? "error" : "end", record);
                });
}

}  // namespace attnscope
