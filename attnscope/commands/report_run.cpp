#include "attnscope/commands/report_run.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/error.h"
#include "attnscope/forward/tokenizer.h"
#include "attnscope/pipeline/info.h"
#include "attnscope/pipeline/kept_maps.h"
#include "attnscope/pipeline/matrix.h"
#include "attnscope/pipeline/similarity.h"

namespace attnscope {
namespace {

/// What the maps of all models may take, one byte a weight.
constexpr std::int64_t kMapBytes = 2'000'000;
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

/// Shows the maps of one model on its first sequence: all of them where they fit into `budget`
/// bytes, else small pictures of all and those of some heads.
class MapKeeper {
 public:
  /// `named`: the head that was asked for; `notable`: others whose maps are kept as far as they
  /// fit.
  MapKeeper(const Model& model, std::int64_t layers, std::int64_t tokens, std::int64_t budget,
            std::optional<HeadPlace> named, std::vector<HeadPlace> notable, ReportFile& file)
      : model_(model), named_(named), notable_(std::move(notable)), budget_(budget), file_(file) {
    causal_ = model.spec().causal;
    const std::int64_t heads = layers * model.dimensions().heads.heads;
    each_ = causal_ ? tokens * (tokens + 1) / 2 : tokens * tokens;
    all_fit_ = heads <= budget / each_;
    if (named_) budget_ -= each_;  // it comes first, wherever it stands
    constexpr std::int64_t kManyHeads = 256;
    side_ = std::min<std::int64_t>(tokens, heads > kManyHeads ? 32 : 64);
  }

  /// A layer's maps, (H, T, T).
  void take(std::int64_t layer, std::span<const float> maps, std::int64_t tokens) {
    const std::int64_t heads = model_.dimensions().heads.heads;
    for (std::int64_t head = 0; head < heads; ++head) {
      const MatrixView<const float> map{maps.data() + head * tokens * tokens, tokens, tokens,
                                        tokens};
      const MapPlace place{model_.name(), layer, head};
      if (all_fit_ || stays_whole({layer, head})) {
        file_.add_map(place, map, causal_);
      } else {
        file_.add_thumbnail(place, map, side_);
        left_out_ = true;
      }
    }
  }

  bool left_out() const { return left_out_; }

 private:
  bool stays_whole(const HeadPlace& head) {
    const auto is_head = [&](const HeadPlace& other) {
      return other.layer == head.layer && other.head == head.head;
    };
    if (named_ && is_head(*named_)) return each_ <= kMapBytes;
    if (each_ > budget_ || std::none_of(notable_.begin(), notable_.end(), is_head)) return false;
    budget_ -= each_;
    return true;
  }

  const Model& model_;
  std::optional<HeadPlace> named_;
  std::vector<HeadPlace> notable_;
  std::int64_t budget_;
  ReportFile& file_;
  std::int64_t each_ = 0, side_ = 0;
  bool causal_ = false, all_fit_ = false, left_out_ = false;
};

/// The heads that a reader will want to see: those with the largest and smallest of some measures.
class NotableHeads : public RowSink {
 public:
  explicit NotableHeads(RowSink& next) : next_(next) {}

  void begin(const ReportHead& head) override { next_.begin(head); }
  void add_row(Record row) override {
    look(row);
    next_.add_row(std::move(row));
  }
  void add_skipped(Skipped skipped) override { next_.add_skipped(std::move(skipped)); }
  void add_note(std::string note) override { next_.add_note(std::move(note)); }
  void end() override { next_.end(); }

  std::vector<HeadPlace> of(const std::string& model) const {
    std::vector<HeadPlace> heads;
    for (const auto& [key, best] : best_) {
      if (key.first == model) heads.push_back(best.place);
    }
    return heads;
  }

 private:
  struct Best {
    double value;
    HeadPlace place;
  };

  void look(const Record& row) {
    const Value* head = row.find("head");
    if (head == nullptr || head->is_null()) return;
    const HeadPlace place{expect<std::int64_t>(row, "layer"), expect<std::int64_t>(row, "head")};
    for (const char* name : {"previous_token", "sink_mass", "diagonal", "entropy", "energy_rank"}) {
      const Value* value = row.find(name);
      const auto* number = value == nullptr ? nullptr : value->get<double>();
      if (number == nullptr) continue;
      keep(row, name, *number, place);
      keep(row, std::string("least ") + name, -*number, place);
    }
  }

  void keep(const Record& row, const std::string& what, double value, const HeadPlace& place) {
    const auto [found, fresh] =
        best_.emplace(std::pair(expect<std::string>(row, "model"), what), Best{value, place});
    if (!fresh && value > found->second.value) found->second = {value, place};
  }

  RowSink& next_;
  std::map<std::pair<std::string, std::string>, Best> best_;
};

/// Gives rows on under the name of the one model that they are of: alone, it may have a shorter
/// name than beside others.
class OneModel : public RowSink {
 public:
  OneModel(std::string name, RowSink& next) : name_(std::move(name)), next_(next) {}

  void begin(const ReportHead& head) override { next_.begin(head); }
  void add_row(Record row) override {
    Record named;
    for (const auto& [name, value] : row.fields()) {
      named.add(name, name == "model" ? Value(name_) : value);
    }
    next_.add_row(std::move(named));
  }
  void add_skipped(Skipped skipped) override {
    skipped.model = name_;
    next_.add_skipped(std::move(skipped));
  }
  void add_note(std::string note) override { next_.add_note(std::move(note)); }
  void end() override { next_.end(); }

 private:
  std::string name_;
  RowSink& next_;
};

void add_tokens(const Model& model, const TokenIds& tokens, ReportFile& file) {
  std::vector<std::string> texts;
  if (const auto tokenizer = Tokenizer::find(model.checkpoint().folder())) {
    for (const std::int64_t id : tokens) texts.push_back(tokenizer->text(id));
  }
  file.add_text(model.name(), tokens, texts);
}

/// The head that `maps` names; a negative layer counts from the end.
std::optional<HeadPlace> named_head(const Arguments& report, const Model& model) {
  const auto* given = report.find<HeadPlace>("maps");
  if (given == nullptr) return std::nullopt;
  const std::int64_t layers = model.dimensions().layers, heads = model.dimensions().heads.heads;
  HeadPlace head = *given;
  if (head.layer < 0) head.layer += layers;
  if (head.layer >= 0 && head.layer < layers && head.head < heads) return head;
  throw Error(ErrorKind::usage,
              {.parameter = "maps",
               .problem = model.name() + " has layers 0 to " + std::to_string(layers - 1) +
                          " and heads 0 to " + std::to_string(heads - 1)});
}

/// The tokens and maps of one model on the first sequence of the text.
void add_maps(const TextRun& run, const Model& model, const Arguments& text,
              std::vector<HeadPlace> notable, const Session& session, ReportFile& file) {
  const TokenSequences sequences = token_sequences(text, model);
  const TokenIds& tokens = sequences.of_model.front();
  add_tokens(model, tokens, file);
  const std::vector<std::int64_t> layers =
      run.report.layers("layers").resolve(model.dimensions().layers, model.name());
  const auto length = std::ssize(tokens);
  MapKeeper keeper(model, std::ssize(layers), length, kMapBytes / std::ssize(run.models),
                   named_head(run.report, model), std::move(notable), file);
  const KeptMapsRequest request{.sequences = std::span(sequences.of_model).first(1),
                                .layers = layers};
  auto layer = layers.begin();
  keep_maps(model, request, session.context, [&](std::span<const float> maps) {
    keeper.take(*layer, maps, length);
    if (run.take) run.take(model, *layer, maps);
    ++layer;
  });
  if (!keeper.left_out()) return;
  Example again = report_example(run.report);
  again.emplace_back("maps", "LAYER,HEAD");
  file.add_left_out("attention",
                    model.name() + ": whole maps of most heads, which stand here as small pictures",
                    session.example_line(find_command_named("report"), again));
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
  return out;
}

namespace {

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

ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session) {
  std::vector<Record> facts;
  for (const Model& model : models) {
    facts.push_back(facts_record(model_facts(model)));
    const std::vector<LayerSpec>& layers = model.spec().layers;
    facts.back().add("causal", model.spec().causal);
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
        if (!model.has(role, layer)) continue;
        file.add_matrix(model.name(), layer, std::string(role_name(role)),
                        extract_matrix(model, {.layer = layer, .role = role}), kImageSide);
      }
    }
  }
}

void run_text(const TextRun& run, const Session& session, ReportFile& file) {
  const Command& attention = find_command_named("attention");
  const Arguments text = arguments_of(attention, run.part.arguments);
  const auto sink = file.sink({.id = run.part.id, .again = command_line_of(run.part, session)});
  NotableHeads notable(*sink);
  OneModel named(run.models.front().name(), notable);
  attention.run(text, session, run.models.size() == 1 ? static_cast<RowSink&>(named) : notable);
  for (const Model& model : run.models) {
    add_maps(run, model, text, notable.of(model.name()), session, file);
  }
}

}  // namespace attnscope
