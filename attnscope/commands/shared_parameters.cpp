#include "attnscope/commands/shared_parameters.h"

#include <algorithm>
#include <filesystem>

#include "attnscope/commands/named_models.h"
#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/model/inventory.h"
#include "attnscope/output/writers.h"
#include "attnscope/run/free_memory.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMostThreads = 256;

/// Endings by which files of rows are known, and `more`.
std::vector<std::string> report_endings(std::vector<std::string> more) {
  for (const Format& format : formats()) {
    if (!format.ending.empty()) more.emplace_back(format.ending);
  }
  return more;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

void warn(const Checkpoint& checkpoint, const Session& session) {
  if (!session.on_warning) return;
  constexpr std::size_t kShown = 5;  // a wrong index can disagree about every tensor
  const auto& warnings = checkpoint.warnings();
  for (std::size_t index = 0; index < std::min(kShown, warnings.size()); ++index) {
    session.on_warning(warnings[index]);
  }
  if (warnings.size() > kShown) {
    session.on_warning({.problem = "and " + counted(warnings.size() - kShown, "more such tensor")});
  }
}

/// Tensors that a forward pass leaves alone, since the layout file names none of them.
void warn_of_undescribed(const Model& model, const Session& session) {
  if (!session.on_warning || model.spec().layers.empty()) return;
  std::vector<std::string> names;
  for (const TensorFacts& tensor : take_inventory(model, {}).tensors) {
    if (tensor.role == "other") names.push_back("'" + tensor.name + "'");
  }
  if (names.empty()) return;
  constexpr std::size_t kShown = 5;
  const std::size_t count = names.size();
  if (count > kShown) names.resize(kShown);
  session.on_warning({.file = model.spec().source,
                      .problem = verbatim("says nothing of " + std::to_string(count) +
                                          (count == 1 ? " tensor: " : " tensors: ") + join(names) +
                                          (count > kShown ? ", …" : ""))});
}

std::optional<Model> find_open_model(const NamedModel& model, const Arguments& arguments,
                                     const Session& session) {
  if (!session.find_open_model) return std::nullopt;
  return session.find_open_model(model.text, arguments.text("layout"));
}

}  // namespace

Parameters joined(std::initializer_list<Parameters> groups) {
  Parameters all;
  for (const Parameters& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::vector<Exclusion> joined_exclusions(std::vector<Exclusion> some,
                                         const std::vector<Exclusion>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

Parameters model_parameters() {
  return {
      {.name = "models",
       .type = models,
       .help = "folders with config.json and weights, weights files beside their config.json, or "
               "names on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*",
       .positional = true,
       .metavariable = "MODEL",
       .missing = "name a folder with config.json and weights"},
      {.name = "layout",
       .type = file,
       .help = "a JSON file that describes the checkpoint, in place of config.json",
       .metavariable = "FILE"}};
}

Parameters remote_model_parameters() {
  Parameters parameters = model_parameters();
  parameters.push_back(
      {.name = "remote",
       .type = flag,
       .help = "of models on the hub, read only what is needed, and keep nothing"});
  return parameters;
}

Parameters run_parameters() {
  return {{.name = "threads",
           .type = integer,
           .help = "threads to work on; they never change a result",
           .metavariable = "N",
           .least = 1,
           .most = kMostThreads,
           .default_words = "all cores"},
          {.name = "memory",
           .type = bytes,
           .help = "of matrices in work at once, such as 2G or 512M; it never changes a result",
           .metavariable = "SIZE",
           .default_words = "a half of what is free"},
          {.name = "progress",
           .type = choice,
           .metavariable = "WHEN",
           .choices = {"never", "auto", "always"},
           .default_words = "auto, on a terminal"}};
}

Parameters work_parameters() {
  return joined({{{.name = "layers",
                   .type = layers,
                   .help = "layers, such as 0-3,-4-, where a negative number counts from the end",
                   .metavariable = "LAYERS",
                   .default_words = "all"}},
                 run_parameters(),
                 {{.name = "store",
                   .type = file,
                   .help = "keep finished rows in this SQLite file, and compute none that it has",
                   .metavariable = "FILE",
                   .use = FileUse::store,
                   .endings = store_endings()}}});
}

std::vector<std::string> store_endings() { return {".sqlite", ".sqlite3", ".db"}; }

Parameters output_parameters(const std::vector<std::string>& more_endings) {
  const std::vector<std::string> endings = report_endings(more_endings);
  return {{.name = "format",
           .type = choice,
           .metavariable = "FORMAT",
           .choices = format_names(),
           .default_text = "table",
           .default_words = "by the ending of {out}, else table",
           .noun = "format"},
          {.name = "out",
           .type = file,
           .help = "write to this file, replaced in one step; " + join_words(endings) +
                   " say its format",
           .letter = 'o',
           .metavariable = "FILE",
           .use = FileUse::written,
           .endings = endings},
          {.name = "quiet", .type = flag, .help = "no warnings, notes or progress"}};
}

Parameters bin_parameters(const BinRule& usual) {
  return {{.name = "histogram",
           .type = flag,
           .help = "add histograms: edges, counts, density, and how many fell outside"},
          {.name = "bins",
           .type = bins,
           .help = "a number of equal bins, or fd for the Freedman-Diaconis rule",
           .metavariable = "N|fd",
           .choices = {"fd"},
           .default_text = std::to_string(usual.bins)},
          {.name = "range",
           .type = range,
           .help = "what the bins span",
           .metavariable = "LO,HI",
           .default_words = shortest_decimal(usual.range->low) + "," +
                            shortest_decimal(usual.range->high) +
                            "; with fd from smallest to largest"}};
}

Parameter energy_parameter(const std::vector<double>& usual) {
  std::vector<std::string> texts;
  for (const double share : usual) texts.push_back(shortest_decimal(share));
  return {.name = "energy",
          .type = shares,
          .help = "thresholds of the energy ranks",
          .metavariable = "SHARES",
          .default_text = join(texts, ",")};
}

Parameter per_head_flag() {
  return {.name = "per_head", .type = flag, .help = "a row for each head too"};
}

std::vector<Model> open_models(const Arguments& arguments, const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  const std::vector<std::string> names = names_of(named);
  std::optional<std::filesystem::path> layout;
  if (arguments.given("layout")) layout = arguments.text("layout");
  std::vector<Model> opened;
  for (std::size_t index = 0; index < named.size(); ++index) {
    if (const auto open = find_open_model(named[index], arguments, session)) {
      opened.push_back(session.keeps_names ? *open : open->named(names[index]));
    } else {
      opened.push_back(Model::open(open_checkpoint(named[index], arguments.flag("remote"), session),
                                   layout, names[index]));
      warn(opened.back().checkpoint(), session);
      if (layout) warn_of_undescribed(opened.back(), session);
    }
    session.files->add_model(opened.back().checkpoint(), opened.back().name(),
                             is_folder(named[index]));
  }
  return opened;
}

Session with_open_models(const Session& session, const Arguments& arguments,
                         const std::vector<Model>& models) {
  Session out = session;
  out.keeps_names = true;
  out.find_open_model =
      [named = named_models(arguments, session), layout = arguments.text("layout"), models](
          const std::string& model, const std::string& wanted) -> std::optional<Model> {
    if (wanted != layout) return std::nullopt;
    for (std::size_t index = 0; index < named.size(); ++index) {
      if (named[index].text == model) return models[index];
    }
    return std::nullopt;
  };
  return out;
}

NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  NamedCheckpoints opened{.names = names_of(named)};
  for (std::size_t index = 0; index < named.size(); ++index) {
    if (const auto open = find_open_model(named[index], arguments, session)) {
      opened.checkpoints.push_back(open->shared_checkpoint());
    } else {
      Checkpoint checkpoint = open_checkpoint(named[index], arguments.flag("remote"), session);
      compose_quantised(checkpoint);
      warn(checkpoint, session);
      opened.checkpoints.push_back(std::make_shared<const Checkpoint>(std::move(checkpoint)));
    }
    session.files->add_model(*opened.checkpoints.back(), opened.names[index],
                             is_folder(named[index]));
  }
  return opened;
}

Context context_of(const Arguments& arguments) {
  Context context{.threads = default_threads()};
  if (const auto threads = arguments.integer("threads")) {
    context.threads = static_cast<int>(*threads);
  }
  if (const auto* memory = arguments.find<std::uint64_t>("memory")) {
    context.memory_bytes = *memory;
  } else if (const auto free = free_memory()) {
    context.memory_bytes = *free / 2;
  }
  return context;
}

StoringContext::StoringContext(const Arguments& arguments, const Session& session)
    : context_(session.context) {
  if (!arguments.given("store")) return;
  store_.emplace(Store::open(arguments.text("store"), ATTNSCOPE_VERSION));
  context_.store = &*store_;
}

std::ostream& open_output(const Arguments& arguments, const Session& session,
                          std::string_view parameter) {
  if (session.open_file) return session.open_file(arguments.text(parameter));
  throw Error(ErrorKind::unsupported,
              {.parameter = std::string(parameter), .problem = "no file can be written here"});
}

BinRule bins_of(const Arguments& arguments, const BinRule& usual) {
  BinRule rule = usual;
  const auto& count = *arguments.find<BinCount>("bins");
  if (count.freedman_diaconis) {
    rule = {.freedman_diaconis = true};
  } else {
    rule.bins = count.bins;
  }
  if (const auto* wanted = arguments.find<ValueRange>("range")) rule.range = *wanted;
  return rule;
}

void note_idle_bins(const Arguments& arguments, RowSink& sink) {
  if (arguments.flag("histogram")) return;
  if (!arguments.given("bins") && !arguments.given("range")) return;
  sink.add_note("{bins} and {range} have no effect without {histogram}");
}

}  // namespace attnscope
