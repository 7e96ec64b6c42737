#include "attnscope/serve/live_report.h"

#include <algorithm>
#include <chrono>

#include "attnscope/commands/named_models.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/checked.h"
#include "attnscope/core/error.h"
#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kMatrices = "matrices";
constexpr const char* kAttention = "attention";
constexpr const char* kWithoutFirst = "attention_without_first";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What `report` would be given for the same models.
Example report_arguments(const Arguments& serve) {
  Example out;
  for (const std::string& model : serve.texts("models")) out.emplace_back("models", model);
  for (const char* name : {"layout", "store"}) {
    if (serve.given(name)) out.emplace_back(name, serve.text(name));
  }
  out.emplace_back("out", "report.html");
  return out;
}

const ReportPart& find_part(const std::vector<ReportPart>& parts, const std::string& id) {
  return *std::find_if(parts.begin(), parts.end(),
                       [&](const ReportPart& part) { return part.id == id; });
}

std::vector<ReportPart> all_parts(const Arguments& report, const std::vector<Model>& models) {
  std::vector<ReportPart> parts = weight_parts(report, models);
  const std::vector<ReportPart> of_text = text_parts(report);
  parts.insert(parts.end(), of_text.begin(), of_text.end());
  return parts;
}

}  // namespace

std::vector<std::string> analysis_ids() {
  const Arguments any =
      arguments_of(find_command_named("report"), {{"models", "MODEL"}, {"out", "report.html"}});
  std::vector<std::string> ids;
  for (const ReportPart& part : all_parts(any, {})) {
    if (part.id != kAttention && part.id != kWithoutFirst) ids.push_back(part.id);
  }
  ids.emplace_back(kMatrices);
  return ids;
}

LiveReport::LiveReport(const Arguments& serve, const Session& session)
    : report_(arguments_of(find_command_named("report"), report_arguments(serve))),
      session_(session),
      models_(open_models(report_, session)),
      state_{.file = empty_report(report_, models_, session)} {
  publish(state_, 0);
}

std::shared_ptr<const Snapshot> LiveReport::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

ReportPart LiveReport::part_of(const std::string& id) const {
  return find_part(all_parts(report_, models_), id);
}

std::string LiveReport::command_line(const std::string& id) const {
  if (id != kMatrices) return command_line_of(part_of(id), session_);
  return session_.example_line(find_command_named("report"), report_example(report_));
}

void LiveReport::fill(State& state, const std::string& id, const Session& session) const {
  if (id == kMatrices) {
    add_images(models_, {}, session, state.file);
  } else {
    state.file.remove_part(id);
    fill_part(part_of(id), with_open_models(session, report_, models_), state.file);
  }
  state.parts.insert(id);
}

void LiveReport::show_stored(const Session& given) {
  if (!report_.given("store")) return;
  Session session = given;
  session.context.only_stored = true;
  const StoringContext store(report_, session);  // throws where it cannot be opened
  const auto start = Clock::now();
  State state = state_;
  for (const std::string& id : analysis_ids()) {
    if (id == kMatrices) continue;  // these are no rows
    try {
      fill(state, id, session);
    } catch (const NotStored&) {
    } catch (const Error&) {  // what cannot be run is said to whoever asks for it
    }
  }
  if (!state.parts.empty()) publish(std::move(state), seconds_since(start));
}

std::int64_t LiveReport::run_analysis(const std::string& id, const Session& session) {
  const auto start = Clock::now();
  State state = state_;
  try {
    fill(state, id, session);
  } catch (const Error& error) {
    State without = state_;
    without.file.remove_part(id);
    without.file.add_left_out(id, id + ": " + verbatim(error.what()), command_line(id));
    publish(std::move(without), seconds_since(start));
    throw;
  }
  return publish(std::move(state), seconds_since(start));
}

void LiveReport::check_size(const Arguments& text, std::span<const std::size_t> chosen) const {
  std::uint64_t bytes = 0;
  for (const std::size_t index : chosen) {
    const Model& model = models_[index];
    const auto layers = text.layers("layers").resolve(model.dimensions().layers, model.name());
    const auto tokens = static_cast<std::uint64_t>(text_ids(text, model).size());
    const auto maps =
        static_cast<std::uint64_t>(std::ssize(layers) * model.dimensions().heads.heads);
    const auto of_map = checked_mul(tokens, sizeof(float) * tokens);
    const auto of_model = of_map ? checked_mul(*of_map, maps) : std::nullopt;
    const auto sum = of_model ? checked_add(bytes, *of_model) : std::nullopt;
    if (!sum || *sum > kRawMapsLimitBytes) {
      throw Error(ErrorKind::usage,
                  {.parameter = text.given("text") ? "text" : "tokens",
                   .problem = "of " + std::to_string(tokens) +
                              " tokens: the maps of all heads are over the limit of 4 GB",
                   .hint = "give a shorter one, or fewer {layers}"});
    }
    bytes = *sum;
  }
}

std::int64_t LiveReport::run_text(const TextRequest& request, const Session& given_session) {
  const auto start = Clock::now();
  const Session session = with_open_models(given_session, report_, models_);
  const std::vector<NamedModel> named = named_models(report_, session);
  Example given;
  std::vector<std::size_t> chosen;
  for (std::size_t index = 0; index < models_.size(); ++index) {
    if (!request.model || *request.model == index) chosen.push_back(index);
  }
  for (const std::size_t index : chosen) given.emplace_back("models", named[index].text);
  for (const auto& argument : report_arguments(report_)) {
    if (argument.first != "models") given.push_back(argument);
  }
  given.insert(given.end(), request.arguments.begin(), request.arguments.end());
  const Arguments report = arguments_of(find_command_named("report"), given);
  check_size(report, chosen);

  State state = state_;
  for (const char* id : {kAttention, kWithoutFirst}) {
    state.file.remove_part(id);
    state.parts.erase(id);
  }
  state.file.remove_text();
  state.raw_maps = std::make_shared<RawMaps>();
  const std::vector<ReportPart> parts = text_parts(report);
  const auto keep = [&](const Model& model, std::int64_t layer, std::span<const float> maps) {
    state.raw_maps->add(static_cast<std::size_t>(&model - models_.data()), layer,
                        model.dimensions().heads.heads, maps);
  };
  attnscope::run_text(
      {.report = report,
       .models = request.model ? std::span(models_).subspan(*request.model, 1) : std::span(models_),
       .part = find_part(parts, kAttention),
       .take = keep},
      session, state.file);
  state.parts.insert(kAttention);
  if (request.without_first) {
    fill_part(find_part(parts, kWithoutFirst), session, state.file);
    state.parts.insert(kWithoutFirst);
  }
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

}  // namespace attnscope
