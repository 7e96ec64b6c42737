// `report`: everything about models in one HTML file, or chart by chart.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>

#include "attnscope/commands/chart_folder.h"
#include "attnscope/commands/report_parts.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/error.h"
#include "attnscope/forward/tokenizer.h"
#include "attnscope/page/chart_files.h"
#include "attnscope/page/template.h"
#include "attnscope/pipeline/info.h"
#include "attnscope/pipeline/kept_maps.h"
#include "attnscope/pipeline/matrix.h"

namespace attnscope {
namespace {

using enum ParameterType;
using Clock = std::chrono::steady_clock;

/// What the maps of all models may take, one byte a weight.
constexpr std::int64_t kMapBytes = 2'000'000;
/// Rows and columns of a weight matrix' image, and of how many layers at each end of the model.
constexpr std::int64_t kImageSide = 64, kImageLayers = 4;
constexpr std::int64_t kMostCompositionHeads = 256;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// The command that makes this report again.
Example example_of(const Arguments& arguments) {
  Example out;
  for (const std::string& model : arguments.texts("models")) out.emplace_back("models", model);
  for (const char* name :
       {"layout", "text", "text_file", "tokens", "token_file", "out", "charts"}) {
    if (arguments.given(name)) out.emplace_back(name, arguments.text(name));
  }
  return out;
}

/// Shows the maps of one model on its first sequence: all of them where they fit into `budget`
/// bytes, else small pictures of all and those of some heads.
class MapKeeper {
 public:
  MapKeeper(const Model& model, std::int64_t tokens, std::int64_t budget,
            std::vector<HeadPlace> wanted, ReportFile& file)
      : model_(model), wanted_(std::move(wanted)), budget_(budget), file_(file) {
    const Dimensions& dimensions = model.dimensions();
    causal_ = model.spec().causal;
    const std::int64_t heads = dimensions.layers * dimensions.heads.heads;
    each_ = causal_ ? tokens * (tokens + 1) / 2 : tokens * tokens;
    all_fit_ = heads <= budget / each_;
    constexpr std::int64_t kManyHeads = 256;
    side_ = std::min<std::int64_t>(tokens, heads > kManyHeads ? 32 : 64);
  }

  /// The next layer's maps, (H, T, T).
  void take(std::span<const float> maps, std::int64_t tokens) {
    const std::int64_t heads = model_.dimensions().heads.heads;
    for (std::int64_t head = 0; head < heads; ++head) {
      const MatrixView<const float> map{maps.data() + head * tokens * tokens, tokens, tokens,
                                        tokens};
      const MapPlace place{model_.name(), layer_, head};
      if (!all_fit_ && !(is_wanted(head) && each_ <= budget_)) {
        file_.add_thumbnail(place, map, side_);
        left_out_ = true;
        continue;
      }
      if (!all_fit_) budget_ -= each_;
      file_.add_map(place, map, causal_);
    }
    ++layer_;
  }

  bool left_out() const { return left_out_; }

 private:
  bool is_wanted(std::int64_t head) const {
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const HeadPlace& place) {
      return place.layer == layer_ && place.head == head;
    });
  }

  const Model& model_;
  std::vector<HeadPlace> wanted_;
  std::int64_t budget_;
  ReportFile& file_;
  std::int64_t layer_ = 0, each_ = 0, side_ = 0;
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

class ReportRun {
 public:
  ReportRun(const Arguments& arguments, const Session& session)
      : arguments_(arguments),
        session_(session),
        models_(open_models(arguments, session)),
        file_(make_file()) {}

  /// The text first: what is wrong with it is known before the long work.
  ReportFile run() {
    if (has_text()) run_on_text();
    for (const ReportPart& part : weight_parts(arguments_, models_)) {
      if (part.id == "composition" && has_too_many_heads()) {
        file_.add_left_out("composition: pairs of so many heads take long", line_of(part));
      } else {
        run_part(part, session_, file_);
      }
    }
    for (const Model& model : models_) add_images(model);
    return std::move(file_);
  }

 private:
  ReportFile make_file() const {
    std::vector<Record> facts;
    for (const Model& model : models_) {
      facts.push_back(facts_record(model_facts(model)));
      facts.back().add("causal", model.spec().causal);
    }
    return ReportFile(
        {{"version", ATTNSCOPE_VERSION},
         {"created", utc_now()},
         {"command", session_.example_line(find_command_named("report"), example_of(arguments_))},
         {"thresholds", std::vector<double>{0.6, 0.8, 0.9, 0.99}}},
        std::move(facts));
  }

  std::string line_of(const ReportPart& part) const {
    return session_.example_line(find_command_named(part.command), part.arguments);
  }

  bool has_too_many_heads() const {
    return std::any_of(models_.begin(), models_.end(), [](const Model& model) {
      return model.dimensions().layers * model.dimensions().heads.heads > kMostCompositionHeads;
    });
  }

  void add_images(const Model& model) {
    const std::int64_t layers = model.dimensions().layers;
    for (const std::int64_t layer : arguments_.layers("layers").resolve(layers, model.name())) {
      if (layer >= kImageLayers && layer < layers - kImageLayers) continue;
      for (const Role role : {Role::query, Role::key, Role::value, Role::output}) {
        if (session_.context.stop.stop_requested()) throw Stopped();
        if (!model.has(role, layer)) continue;
        file_.add_matrix(model.name(), layer, std::string(role_name(role)),
                         extract_matrix(model, {.layer = layer, .role = role}), kImageSide);
      }
    }
  }

  bool text_is_given() const {
    for (const char* name : {"text", "text_file", "tokens", "token_file"}) {
      if (arguments_.given(name)) return true;
    }
    return false;
  }

  /// Without a text that was asked for, models that cannot read one are no fault.
  bool has_text() {
    if (text_is_given()) return true;
    for (const Model& model : models_) {
      std::string why = "no tokenizer beside the model";
      try {
        if (Tokenizer::find(model.checkpoint().folder())) continue;
      } catch (const Error& error) {
        why = error.what();
      }
      Example again = example_of(arguments_);
      again.emplace_back("tokens", "464,3290");
      file_.add_left_out("attention on text: " + verbatim(model.name() + ": " + why),
                         session_.example_line(find_command_named("report"), again));
      return false;
    }
    return true;
  }

  void run_on_text() {
    const std::vector<ReportPart> parts = text_parts(arguments_);
    const Command& attention = find_command_named("attention");
    const Arguments first = arguments_of(attention, parts.front().arguments);
    try {
      const auto sink = file_.sink({.id = parts.front().id, .again = line_of(parts.front())});
      NotableHeads notable(*sink);
      attention.run(first, session_, notable);
      for (const Model& model : models_) add_maps(model, first, notable.of(model.name()));
    } catch (const Error& error) {
      if (text_is_given() && error.kind() == ErrorKind::usage) throw;
      return file_.add_left_out("attention on text: " + verbatim(error.what()),
                                line_of(parts.front()));
    }
    for (std::size_t at = 1; at < parts.size(); ++at) run_part(parts[at], session_, file_);
  }

  void add_maps(const Model& model, const Arguments& text, std::vector<HeadPlace> wanted) {
    const TokenSequences sequences = token_sequences(text, model);
    const TokenIds& tokens = sequences.of_model.front();
    add_tokens(model, tokens);
    if (const auto* named = arguments_.find<HeadPlace>("maps"))
      wanted.insert(wanted.begin(), *named);
    const auto length = std::ssize(tokens);
    MapKeeper keeper(model, length, kMapBytes / std::ssize(models_), std::move(wanted), file_);
    const KeptMapsRequest request{
        .sequences = std::span(sequences.of_model).first(1),
        .layers = LayerSelection().resolve(model.dimensions().layers, model.name())};
    keep_maps(model, request, session_.context,
              [&](std::span<const float> maps) { keeper.take(maps, length); });
    if (!keeper.left_out()) return;
    Example again = example_of(arguments_);
    again.emplace_back("maps", "LAYER,HEAD");
    file_.add_left_out(
        model.name() + ": whole maps of most heads, which stand here as small pictures",
        session_.example_line(find_command_named("report"), again));
  }

  void add_tokens(const Model& model, const TokenIds& tokens) {
    std::vector<std::string> texts;
    if (const auto tokenizer = Tokenizer::find(model.checkpoint().folder())) {
      for (const std::int64_t id : tokens) texts.push_back(tokenizer->text(id));
    }
    file_.add_text(model.name(), tokens, texts);
  }

  const Arguments& arguments_;
  const Session& session_;
  std::vector<Model> models_;
  ReportFile file_;
};

void check_writes_pages() {
  if (!page_template().empty()) return;
  throw Error(ErrorKind::unsupported,
              {.place = "report",
               .problem = "this build has no page: it was made without Node",
               .hint = "install Node 18 or newer with npm, and build again"});
}

void write(const Arguments& arguments, const Session& session, std::ostream& out) {
  const bool page = arguments.given("out"), charts = arguments.given("charts");
  if (page) check_writes_pages();
  if (charts) check_draws_charts(charts_script());
  const auto start = Clock::now();
  ReportRun run(arguments, session);
  if (charts) make_chart_folder(arguments);
  const ReportFile file = run.run();
  const std::chrono::duration<double> took = Clock::now() - start;
  if (charts) write_charts(arguments, session, file, took.count());
  if (!page) return;
  file.write(page_template(), took.count(), out);
}

Parameters own_parameters() {
  return {{.name = "maps",
           .type = head,
           .help = "where not all maps fit, keep that of this head whole",
           .metavariable = "L,H"},
          {.name = "out",
           .type = file,
           .help = "the HTML file, replaced in one step",
           .letter = 'o',
           .metavariable = "FILE",
           .missing = "name the file to write",
           .missing_hint = "for example: {out} report.html; or a folder: {charts} charts",
           .unless = "charts"},
          {.name = "charts",
           .type = file,
           .help = "every chart as NAME.vl.json (Vega-Lite) and NAME.svg, in this folder",
           .metavariable = "DIR"},
          {.name = "quiet", .type = flag, .help = "no warnings, notes or progress"}};
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "everything about models on one page, an HTML file that needs nothing else",
          .examples = {{{"models", "examples/shakespeare-gpt2"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"text_file", "book.txt"}, {"out", "report.html"}},
                       {{"models", "MODEL"}, {"models", "OTHER"}, {"out", "both.html"}},
                       {{"models", "MODEL"}, {"charts", "charts"}}},
          .parameters = joined({model_parameters(), text_parameters(), window_parameters(),
                                work_parameters(), own_parameters()}),
          .exclusions = text_exclusions(/*with_windows=*/true),
          .write = write};
}

}  // namespace attnscope
