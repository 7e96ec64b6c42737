#include "attnscope/serve/live_report.h"

#include <algorithm>
#include <chrono>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/report/matrix_images.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/report/run.h"
#include "attnscope/features/report/sections.h"
#include "attnscope/features/report/sections_on_text.h"
#include "attnscope/features/report/skipped.h"
#include "attnscope/serve/live_analyses.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The arguments of `report` for the same models.
Arguments report_arguments(const Arguments& serve) {
  constexpr std::string_view kShared[] = {"models", "layout", "store"};
  ArgumentTexts report = texts_of(serve, kShared);
  report.emplace_back("out", "report.html");
  return arguments_of(find_command_named("report"), report);
}

}  // namespace

LiveReport::LiveReport(const Arguments& serve, const Session& session)
    : report_(report_arguments(serve)),
      session_(session),
      models_(open_models(report_, session)),
      reports_(report_models(report_, models_, session)),
      state_{.file = empty_report(report_, models_, session, /*live=*/true)} {
  publish(state_, 0);
}

std::shared_ptr<const Snapshot> LiveReport::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

std::vector<std::string> LiveReport::analysis_ids() const {
  std::vector<std::string> ids = live_analysis_ids();
  std::erase_if(ids, [&](const std::string& id) {
    return std::none_of(models_.begin(), models_.end(),
                        [&](const Model& model) { return is_live_of_model(id, model); });
  });
  return ids;
}

std::string LiveReport::command_line(const std::string& id) const {
  if (id == kMatrices) {
    return report_line(report_, session_);
  }
  std::vector<std::string> lines;
  for (const ReportModel& model : reports_) {
    if (!is_live_of_model(id, model.model)) continue;
    try {
      lines.push_back(live_analysis_line(id, model, session_));
    } catch (const Error&) {  // reported to the client that runs the analysis
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
  if (is_of_text(id)) return fill_on_text(state, id, session);
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

std::optional<Error> LiveReport::fill_on_text(State& state, const std::string& id,
                                              const Session& given) const {
  if (!state.ran) {
    throw Error(ErrorKind::usage, {.problem = "missing text: run one first"});
  }
  state.file.remove_part(id);
  if (id == kLens) state.file.remove_part(kLensGrid);
  const Session session =
      with_sent_text(with_open_models(given, report_, models_), state.ran->sent);
  std::optional<Error> first;
  for (ChosenModel& one : chosen_models(reports_, *state.ran, session)) {
    std::optional<Error> failed = one.error;
    if (failed) {
      leave_out(id, one.model, *failed, session, state.file);
    } else {
      const TextRun run(*std::move(one.text), session);
      failed = id == kLens ? run.add_lens(state.file)
                           : run.add_ablations(TextRun::Effort::any, state.file);
    }
    if (!first) first = failed;
  }
  if (!state.file.holds(id)) {
    if (first) return first;
    throw Error(
        ErrorKind::usage,
        {.problem = "the last input is not a text for a causal language model served here"});
  }
  if (!state.file.lacks(id)) state.parts.insert(id);
  return std::nullopt;
}

void LiveReport::show_stored(const Session& given) {
  if (!report_.given("store")) return;
  Session session = given;
  session.context.only_stored = true;
  const StoringContext store(report_, session);  // throws if it cannot be opened
  const auto start = Clock::now();
  State state = state_;
  for (const std::string& id : analysis_ids()) {
    if (id == kMatrices || is_of_text(id) || !can_be_stored(id)) continue;
    try {
      // An analysis that no model supports is reported only to clients that request it.
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
  std::erase_if(ids,
                [&](const std::string& id) { return is_of_text(id) || state_.parts.contains(id); });
  Session session = given;
  session.context.on_progress = {};  // progress counts analyses, not their internal steps
  for (std::size_t done = 0; done < ids.size(); ++done) {
    given.context.on_progress(
        {.items_done = done, .items_total = ids.size(), .seconds = seconds_since(start)});
    try {
      run_analysis(ids[done], session);
    } catch (const Error&) {  // the report lists it as missing, with the reason
    }
  }
  return snapshot()->revision;
}

std::int64_t LiveReport::run_text(const TextRequest& request, const Session& given_session) {
  const auto start = Clock::now();
  const Session session =
      with_sent_text(with_open_models(given_session, report_, models_), request.sent);
  const std::string media_input = named_media_parameter(request.text);
  check_readers(models_, named_input(request.text), media_input.empty() ? "text" : media_input);
  std::vector<ChosenModel> chosen = chosen_models(reports_, request, session);
  check_map_sizes(chosen);

  State state = state_;
  for (const char* id : {kAttention, kExcludeFirstToken, kRouting, kLens, kLensGrid, kAblate,
                         kAblateCumulative, kAblatePairs}) {
    state.file.remove_part(id);
    state.parts.erase(id);
  }
  state.file.remove_text();
  state.raw_maps = std::make_shared<RawMaps>();
  std::optional<Error> first;
  std::size_t failed = 0;
  for (ChosenModel& one : chosen) {
    try {
      if (one.error) throw *one.error;
      run_text_of(*std::move(one.text), request, chosen.size(), session, state);
    } catch (const Error& thrown) {
      const Error error = of_sent(thrown, sent_parameter(request.text));
      leave_out_text(one.model, error, session, state.file);
      if (failed++ == 0) first = error;
    }
  }
  if (failed == chosen.size()) throw *first;
  for (const char* id : {kLens, kLensGrid, kAblate, kAblateCumulative, kAblatePairs}) {
    if (state.file.holds(id) && !state.file.lacks(id)) state.parts.insert(id);
  }
  state.ran = request;
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
  run.add_lens(state.file);
  run.add_ablations(TextRun::Effort::cheap, state.file);
  if (!request.exclude_first_token) return;
  run.add_without_first(state.file);
  state.parts.insert(kExcludeFirstToken);
}

std::int64_t LiveReport::run_plan(const CalibrationRequest& request, const Session& given) {
  auto start = Clock::now();
  const Session session = with_sent_text(with_open_models(given, report_, models_), request.text);
  State state = state_;
  for (const char* id : {kPlan, kPlanLayers, kPlanRanks}) state.file.remove_part(id);
  std::optional<Error> first;
  bool any = false;
  for (std::size_t index = 0; index < reports_.size(); ++index) {
    const bool is_chosen =
        request.model ? index == *request.model : input_kind(models_[index]) == InputKind::text;
    if (!is_chosen) continue;
    ReportModel model = reports_[index];
    model.arguments = model.arguments.with("plan_text", std::string(kSentFile));
    for (const ReportPart& part : asked_parts(model)) {
      try {
        fill_part(part, session, state.file);
        any = true;
        publish(state, seconds_since(std::exchange(start, Clock::now())));
      } catch (const Error& thrown) {
        const Error error = of_sent(thrown, "text");
        leave_out(part.id, model, error, session, state.file);
        if (!first) first = error;
      }
    }
  }
  if (!any)
    throw first ? *first : Error(ErrorKind::usage, {.problem = "no served model accepts text"});
  return publish(std::move(state), seconds_since(start));
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

void RawMaps::add(std::size_t model, std::int64_t layer, std::int64_t tokens, std::int64_t keys,
                  std::span<const float> maps) {
  if (models_.empty() || models_.back().model != model) {
    models_.push_back({.model = model,
                       .layers = {},
                       .heads = std::ssize(maps) / (tokens * keys),
                       .tokens = tokens,
                       .keys = keys});
    begins_.push_back(spool_.size());
  }
  models_.back().layers.push_back(layer);
  spool_.append({reinterpret_cast<const char*>(maps.data()), maps.size_bytes()});
}

std::optional<RawMaps::Map> RawMaps::find(std::size_t model, std::int64_t layer,
                                          std::int64_t head) const {
  for (std::size_t entry = 0; entry < models_.size(); ++entry) {
    const OfModel& of = models_[entry];
    const auto at = std::find(of.layers.begin(), of.layers.end(), layer);
    if (of.model != model || at == of.layers.end() || head < 0 || head >= of.heads) continue;
    const auto bytes = static_cast<std::uint64_t>(of.tokens * of.keys) * sizeof(float);
    const std::int64_t before = (at - of.layers.begin()) * of.heads + head;
    return Map{of.tokens, of.keys, begins_[entry] + static_cast<std::uint64_t>(before) * bytes,
               bytes};
  }
  return std::nullopt;
}

std::string RawMaps::read(const Map& map, std::uint64_t offset, std::size_t length) {
  const std::scoped_lock lock(mutex_);
  return spool_.read(map.at + offset, length);
}

}  // namespace attnscope
