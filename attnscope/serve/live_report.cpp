#include "attnscope/serve/live_report.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "attnscope/analyses/selection.h"
#include "attnscope/commands/open_models.h"
#include "attnscope/commands/report/empty_report.h"
#include "attnscope/commands/report/left_out.h"
#include "attnscope/commands/report/matrix_images.h"
#include "attnscope/commands/report/report_lines.h"
#include "attnscope/commands/report/report_part.h"
#include "attnscope/commands/report/text_run.h"
#include "attnscope/commands/run_resources.h"
#include "attnscope/commands/signal_parameters.h"
#include "attnscope/core/checked.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kMatrices = "matrices";

/// As they were measured on models of 6 to 12 layers. Composition grows with the square of heads.
constexpr std::array kQuickestFirst = {
    "similarity", kMatrices,        "mla",      "overlap",  "weights",     "induction",
    "experts",    "expert_spectra", "spectrum", "circuits", "composition", kRead};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// `report` with what a client asks for in it.
ReportModel with_request(const ReportModel& model, const TextRequest& request) {
  ReportModel out = model;
  for (const char* name :
       {"text", "tokens", "target", "target_tokens", "image", "audio", "layers"}) {
    const ParameterValue* value = request.text.find_given(name);
    if (value != nullptr) out.arguments = out.arguments.with(name, *value);
  }
  return out;
}

/// What `report` would be given for the same models.
Arguments report_arguments(const Arguments& serve) {
  constexpr std::string_view kShared[] = {"models", "layout", "store"};
  ArgumentTexts report = texts_of(serve, kShared);
  report.emplace_back("out", "report.html");
  return arguments_of(find_command_named("report"), report);
}

}  // namespace

std::vector<std::string> live_analysis_ids() {
  std::vector<std::string> ids = analysis_ids();
  ids.emplace_back(kMatrices);
  const auto place = [](const std::string& id) {
    return std::find(kQuickestFirst.begin(), kQuickestFirst.end(), id) - kQuickestFirst.begin();
  };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  return ids;
}

LiveReport::LiveReport(const Arguments& serve, const Session& session)
    : report_(report_arguments(serve)),
      session_(session),
      models_(open_models(report_, session)),
      reports_(report_models(report_, models_, session)),
      state_{.file = empty_report(report_, models_, session)} {
  publish(state_, 0);
}

std::shared_ptr<const Snapshot> LiveReport::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

std::vector<std::string> LiveReport::analysis_ids() const {
  std::vector<std::string> ids = live_analysis_ids();
  std::erase_if(ids, [&](const std::string& id) {
    return id != kMatrices && std::none_of(models_.begin(), models_.end(), [&](const Model& model) {
             return is_of_model(id, model);
           });
  });
  return ids;
}

std::string LiveReport::command_line(const std::string& id) const {
  if (id == kMatrices) {
    return report_line(report_, session_);
  }
  std::vector<std::string> lines;
  for (const ReportModel& model : reports_) {
    if (!is_of_model(id, model.model)) continue;
    try {
      lines.push_back(part_line(analysis_part(id, model), session_));
    } catch (const Error&) {  // said to whoever runs the analysis
    }
  }
  return join(lines, "\n");
}

std::optional<Error> LiveReport::fill(State& state, const std::string& id,
                                      const Session& session) const {
  if (id == kMatrices) {
    add_matrix_images(models_, {}, session, state.file);
    state.parts.insert(id);
    return std::nullopt;
  }
  state.file.remove_part(id);
  const Session open = with_open_models(session, report_, models_);
  std::optional<Error> first;
  std::size_t failed = 0, asked = 0;
  for (const ReportModel& model : reports_) {
    if (!is_of_model(id, model.model)) continue;
    ++asked;
    try {
      fill_part(analysis_part(id, model), open, state.file);
    } catch (const Error& error) {
      leave_out(id, model, error, open, state.file);
      if (failed++ == 0) first = error;
    }
  }
  if (asked > 0 && failed == asked) return first;
  state.parts.insert(id);
  return std::nullopt;
}

void LiveReport::show_stored(const Session& given) {
  if (!report_.given("store")) return;
  Session session = given;
  session.context.only_stored = true;
  const StoringContext store(report_, session);  // throws where it cannot be opened
  const auto start = Clock::now();
  State state = state_;
  for (const std::string& id : analysis_ids()) {
    if (id == kMatrices || !can_be_stored(id)) continue;
    try {
      // What no model can have is said to whoever asks for it.
      if (fill(state, id, session)) state.file.remove_part(id);
    } catch (const NotStored&) {
      state.file.remove_part(id);
    }
  }
  if (!state.parts.empty()) publish(std::move(state), seconds_since(start));
}

std::int64_t LiveReport::run_analysis(const std::string& id, const Session& session) {
  const auto start = Clock::now();
  State state = state_;
  const auto failed = fill(state, id, session);
  const std::int64_t revision = publish(std::move(state), seconds_since(start));
  if (failed) throw *failed;
  return revision;
}

std::int64_t LiveReport::run_missing(const Session& given) {
  const auto start = Clock::now();
  std::vector<std::string> ids = analysis_ids();
  std::erase_if(ids, [&](const std::string& id) { return state_.parts.contains(id); });
  Session session = given;
  session.context.on_progress = {};  // counts analyses, not what one of them does
  for (std::size_t done = 0; done < ids.size(); ++done) {
    given.context.on_progress(
        {.items_done = done, .items_total = ids.size(), .seconds = seconds_since(start)});
    try {
      run_analysis(ids[done], session);
    } catch (const Error&) {  // the report says that it lacks it, and why
    }
  }
  return snapshot()->revision;
}

/// One that cannot be run takes none: its run says why.
void LiveReport::check_size(std::span<const Chosen> chosen) {
  std::uint64_t bytes = 0;
  for (const auto& [report, text, error] : chosen) {
    const Model& model = report.model;
    if (!text) continue;
    const KeptMapsRequest kept = kept_maps(*text);
    const MapSize size = map_size(model, kept);
    const auto maps =
        static_cast<std::uint64_t>(std::ssize(kept.layers) * model.dimensions().heads.heads);
    const auto tokens = static_cast<std::uint64_t>(size.queries);
    const auto of_map = checked_mul(tokens, sizeof(float) * static_cast<std::uint64_t>(size.keys));
    const auto of_model = of_map ? checked_mul(*of_map, maps) : std::nullopt;
    const auto sum = of_model ? checked_add(bytes, *of_model) : std::nullopt;
    if (!sum || *sum > kRawMapsLimitBytes) {
      const std::string signal = named_signal(report.arguments);
      const char* text_parameter = report.arguments.given("text") ? "text" : "tokens";
      throw Error(ErrorKind::usage,
                  {.parameter = signal.empty() ? text_parameter : signal,
                   .problem = "of " + counted(tokens, signal == "audio" ? "frame" : "token") +
                              ": the maps of all heads are over the limit of 4 GB",
                   .hint = "give a shorter one, or fewer {layers}"});
    }
    bytes = *sum;
  }
}

/// Of several models those that read such; with a target all stacks of the one that is named.
bool LiveReport::is_chosen(const TextRequest& request, std::size_t index) const {
  const Model& model = models_[index];
  if (!request.model) return input_kind(model) == named_input(request.text);
  const bool across = request.text.given("target") || request.text.given("target_tokens");
  return index == *request.model ||
         (across && &model.checkpoint() == &models_[*request.model].checkpoint());
}

std::vector<LiveReport::Chosen> LiveReport::chosen_models(const TextRequest& request,
                                                          const Session& session) const {
  std::vector<Chosen> chosen;
  for (std::size_t index = 0; index < reports_.size(); ++index) {
    if (!is_chosen(request, index)) continue;
    Chosen& one = chosen.emplace_back(Chosen{.model = with_request(reports_[index], request)});
    try {
      one.text.emplace(given_text(one.model, session, request.sent));
    } catch (const Error& error) {
      one.error = error;
    }
  }
  return chosen;
}

std::int64_t LiveReport::run_text(const TextRequest& request, const Session& given_session) {
  const auto start = Clock::now();
  const Session session = with_open_models(given_session, report_, models_);
  const std::string signal = named_signal(request.text);
  check_readers(models_, named_input(request.text), signal.empty() ? "text" : signal);
  std::vector<Chosen> chosen = chosen_models(request, session);
  check_size(chosen);

  State state = state_;
  for (const char* id : {kAttention, kWithoutFirst, kRouting, kLens, kLensGrid, kAblate}) {
    state.file.remove_part(id);
    state.parts.erase(id);
  }
  state.file.remove_text();
  state.raw_maps = std::make_shared<RawMaps>();
  std::optional<Error> first;
  std::size_t failed = 0;
  for (Chosen& one : chosen) {
    try {
      if (one.error) throw *one.error;
      run_text_of(*std::move(one.text), request, chosen.size(), session, state);
    } catch (const Error& error) {
      leave_out_text(one.model, error, session, state.file);
      if (failed++ == 0) first = error;
    }
  }
  if (failed == chosen.size()) throw *first;
  return publish(std::move(state), seconds_since(start));
}

void LiveReport::run_text_of(ModelText text, const TextRequest& request, std::size_t models,
                             const Session& session, State& state) const {
  TextRun run(std::move(text), session);
  const auto keep = [&](const Model& of, std::int64_t layer, const MapSize& size,
                        std::span<const float> maps) {
    state.raw_maps->add(static_cast<std::size_t>(&of - models_.data()), layer, size.queries,
                        size.keys, maps);
  };
  run.add_rows_and_maps({.models = models, .take = keep}, state.file);
  state.parts.insert(kAttention);
  run.add_routing(state.file);
  state.parts.insert(kRouting);
  run.add_worth(state.file);
  for (const char* id : {kLens, kLensGrid, kAblate}) state.parts.insert(id);
  if (!request.without_first) return;
  run.add_without_first(state.file);
  state.parts.insert(kWithoutFirst);
}

std::int64_t LiveReport::publish(State state, double seconds) {
  seconds_ += seconds;
  auto next = std::make_shared<Snapshot>();
  next->revision = snapshot_ ? snapshot_->revision + 1 : 1;
  next->results = state.file.results(seconds_);
  next->results.insert(1, "\"revision\":" + std::to_string(next->revision) + ",");
  next->values = state.file.values();
  next->maps = state.file.maps();
  next->parts = state.parts;
  next->raw_maps = state.raw_maps;
  state_ = std::move(state);
  const std::scoped_lock lock(mutex_);
  snapshot_ = next;
  return next->revision;
}

}  // namespace attnscope
