#include "attnscope/commands/report/report_run.h"

#include <ctime>

#include "attnscope/analyses/kept_maps.h"
#include "attnscope/analyses/matrix.h"
#include "attnscope/analyses/similarity.h"
#include "attnscope/commands/report/report_maps.h"
#include "attnscope/commands/report/report_text.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/error.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/tokens/tokenizer.h"

namespace attnscope {
namespace {

/// Rows and columns of a weight matrix' image, and of how many layers at each end of the model.
constexpr std::int64_t kImageSide = 64, kImageLayers = 4;
/// What images of cosines may take, one byte each.
constexpr std::int64_t kCosineBytes = 300'000;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

void add_tokens(const Model& model, const TokenIds& tokens, ReportFile& file) {
  std::vector<std::string> texts;
  if (const auto tokenizer = Tokenizer::find(model.checkpoint().folder())) {
    for (const std::int64_t id : tokens) texts.push_back(tokenizer->text(id));
  }
  file.add_text(model.name(), tokens, texts);
}

/// The command that makes a page of the model on a text, with a head's map whole. Of one model
/// among others it takes no other page's place.
std::string page_command(const ReportModel& model, const Example& text,
                         const std::optional<HeadPlace>& head, const Session& session) {
  Example words;
  for (const auto& argument : report_example(model.report)) {
    const std::string& name = argument.first;
    const bool is_place = name == "out" || name == "charts";
    if (name == "models" || name == "layout" || name == "layers" || (is_place && model.is_alone)) {
      words.push_back(argument);
    }
  }
  words.insert(words.end(), text.begin(), text.end());
  if (head) {
    words.emplace_back("maps", std::to_string(head->layer) + "," + std::to_string(head->head));
  }
  if (!model.is_alone) words.emplace_back("out", "maps.html");
  return session.example_line(find_command_named("report"), words);
}

/// The command that shows one more map whole: on the page, or in a file of its own where it is too
/// large for that.
std::string whole_map_command(const TextRun& run, const MapKeeper& keeper, std::int64_t tokens,
                              const Session& session) {
  if (tokens * tokens <= kMapBytes) {
    return page_command(run.model, run.text, keeper.first_small(), session);
  }
  Example kept = attention_part(run.model, run.text).arguments;
  kept.emplace_back("maps", "maps.safetensors");
  return session.example_line(find_command_named("attention"), kept);
}

/// The tokens and maps of one model on the first sequence of the text.
void add_maps(const TextRun& run, const Arguments& text, std::vector<HeadPlace> notable,
              const Session& session, ReportFile& file) {
  const Model& model = run.model.model;
  const TokenSequences sequences = token_sequences(text, session, model);
  const TokenIds& tokens = sequences.of_model.front();
  add_tokens(model, tokens, file);
  const std::vector<std::int64_t> layers =
      run.model.report.layers("layers").resolve(model.dimensions().layers, model.name());
  const std::int64_t room = kMapBytes / static_cast<std::int64_t>(run.models);
  MapKeeper keeper(run.model, std::ssize(layers), std::ssize(tokens), room, std::move(notable),
                   file);
  const KeptMapsRequest request{.sequences = std::span(sequences.of_model).first(1),
                                .layers = layers};
  auto layer = layers.begin();
  keep_maps(model, request, session.context, [&](std::span<const float> maps) {
    keeper.take(*layer, maps);
    if (run.take) run.take(model, *layer, maps);
    ++layer;
  });
  if (keeper.small() == 0) return;
  file.add_left_out({.part = "maps",
                     .model = model.name(),
                     .why = std::to_string(keeper.small()) +
                            " do not fit whole, and stand here as small pictures",
                     .command = whole_map_command(run, keeper, std::ssize(tokens), session)});
}

void add_image(const Model& model, std::int64_t layer, Role role, const Session& session,
               ReportFile& file) {
  const std::string name(role_name(role));
  try {
    file.add_matrix(model.name(), layer, name,
                    extract_matrix(model, {.layer = layer, .role = role}), kImageSide);
  } catch (const Error& error) {
    file.add_left_out({.part = "matrices",
                       .model = model.name(),
                       .why = "no image of " + name + " of layer " + std::to_string(layer) + ": " +
                              error_text(error.parts(), session.spell)});
  }
}

/// The cosines within each head's queries, as long as there is `room`, in bytes.
void add_cosines(const Model& model, std::int64_t layer, std::int64_t& room, const Session& session,
                 ReportFile& file) {
  if (!model.has(Role::query, layer)) return;
  const HeadShape& heads = model.dimensions().heads;
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    room -= heads.head_dim * heads.head_dim;
    if (room < 0) return;
    ReportCollector rows;
    run_similarity(std::span(&model, 1),
                   {.matrices = {Role::query}, .head_matrix = HeadPlace{layer, head}},
                   session.context, rows);
    std::vector<double> cosines;
    for (const Record& row : rows.report().rows) {
      const auto& values = expect_vector<double>(row, "values");
      cosines.insert(cosines.end(), values.begin(), values.end());
    }
    const std::int64_t size = std::ssize(rows.report().rows);
    if (std::ssize(cosines) != size * size || size == 0) continue;  // skipped
    file.add_cosines(model.name(), layer, "q", head, {cosines.data(), size, size, size});
  }
}

}  // namespace

Example report_example(const Arguments& report) {
  Example out;
  for (const std::string& model : report.texts("models")) out.emplace_back("models", model);
  for (const char* name :
       {"layout", "text", "text_file", "tokens", "token_file", "out", "charts"}) {
    if (report.given(name)) out.emplace_back(name, report.text(name));
  }
  for (const char* name : {"sequences", "length", "sample"}) {
    if (const auto number = report.integer(name)) out.emplace_back(name, std::to_string(*number));
  }
  const Value layers = report.layers("layers").parameter();
  if (const auto* text = layers.get<std::string>()) out.emplace_back("layers", *text);
  if (const auto* head = report.find<HeadPlace>("maps")) {
    out.emplace_back("maps", std::to_string(head->layer) + "," + std::to_string(head->head));
  }
  return out;
}

ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session) {
  std::vector<Record> facts;
  for (const Model& model : models) {
    facts.push_back(facts_record(model_facts(model)));
    const std::vector<LayerSpec>& layers = model.spec().layers;
    facts.back().add("rotary", std::any_of(layers.begin(), layers.end(), [](const LayerSpec& each) {
                       return each.attention.rope.has_value();
                     }));
  }
  return ReportFile(
      {{"version", ATTNSCOPE_VERSION},
       {"created", utc_now()},
       {"command", session.example_line(find_command_named("report"), report_example(report))},
       {"thresholds", std::vector<double>{0.6, 0.8, 0.9, 0.99}}},
      std::move(facts));
}

void add_images(std::span<const Model> models, const LayerSelection& layers, const Session& session,
                ReportFile& file) {
  for (const Model& model : models) {
    std::int64_t room = kCosineBytes / std::ssize(models);
    const std::int64_t count = model.dimensions().layers;
    for (const std::int64_t layer : layers.resolve(count, model.name())) {
      if (layer >= kImageLayers && layer < count - kImageLayers) continue;
      add_cosines(model, layer, room, session, file);
      for (const Role role : {Role::query, Role::key, Role::value, Role::output}) {
        if (session.context.stop.stop_requested()) throw Stopped();
        if (model.has(role, layer)) add_image(model, layer, role, session, file);
      }
    }
  }
}

void run_text(const TextRun& run, const Session& session, ReportFile& file) {
  const ReportPart part = attention_part(run.model, run.text);
  const Command& attention = find_command_named(part.command);
  const Arguments text = arguments_of(attention, part.arguments);
  const auto sink = part_sink(part, session, file);
  if (!run.note.empty()) sink->add_note(run.note);
  NotableHeads notable(*sink);
  attention.run(text, session, notable);
  try {
    add_maps(run, text, notable.heads(), session, file);
  } catch (const Error& error) {
    leave_out("maps", run.model, error, "", session, file);
  }
}

void leave_out(const std::string& part, const ReportModel& model, const Error& error,
               const std::string& command, const Session& session, ReportFile& file) {
  file.add_left_out({.part = part,
                     .model = model.model.name(),
                     .why = error_text(error.parts(), session.spell),
                     .command = command});
}

void fill_without_first(const ReportModel& model, const Example& text, const Session& session,
                        ReportFile& file) {
  try {
    fill_part(without_first_part(model, text), session, file);
  } catch (const Error& error) {
    leave_out(kWithoutFirst, model, error, "", session, file);
  }
}

namespace {

/// Whether the model gives finite maps on the text: a command that a report names is one that runs.
bool runs_on(const ReportModel& model, const Example& text, const Session& session) {
  const Command& attention = find_command_named("attention");
  ReportCollector rows;
  try {
    attention.run(arguments_of(attention, attention_part(model, text).arguments), session, rows);
  } catch (const Error&) {  // why the text is left out is said already
    return false;
  }
  return true;
}

}  // namespace

void leave_out_text(const ReportModel& model, const Error& error, const Session& session,
                    ReportFile& file) {
  const Example text = some_text(model);
  const bool runs = !text.empty() && runs_on(model, text, session);
  const auto leave = [&](const char* part, const auto& command) {
    leave_out(part, model, error, runs ? command() : "", session, file);
  };
  leave(kAttention, [&] { return command_line_of(attention_part(model, text), session); });
  leave(kWithoutFirst, [&] { return command_line_of(without_first_part(model, text), session); });
  leave("maps", [&] { return page_command(model, text, {}, session); });
}

}  // namespace attnscope
