// Analysis of attention maps while a Python model that returns them runs.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "attnscope/features/all_commands.h"
#include "attnscope/features/attention/command.h"
#include "attnscope/features/attention/live.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/sink.h"
#include "python/src/array_view.h"
#include "python/src/bindings.h"
#include "python/src/table_report.h"

namespace attnscope::python {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kBetweenSignals = 50ms;

/// The source of the maps, for the report.
struct Origin {
  std::string source;
  std::int64_t sequences = 0, length = 0;
  std::string tokens_hash;
};

/// One run of LiveAttention, with its store if it has one. Every method that Python calls releases
/// the GIL first, because an analysis thread needs it to free an array.
class LiveRun {
 public:
  LiveRun(const ArgumentTexts& given, const Origin& origin)
      : arguments_(arguments_with_model(given)), context_(arguments_, session_of(arguments_)) {
    const AttentionRequest asked = attention_request(arguments_);
    live_ = std::make_unique<LiveAttention>(
        LiveRequest{
            .measures = {.energy = expect<double>(asked.options, "energy"),
                         .exclude_first_token = expect<bool>(asked.options, "exclude_first_token")},
            .text = {{"source", origin.source},
                     {"sequences", origin.sequences},
                     {"length", origin.length},
                     {"sample", Value()}},
            .tokens_hash = origin.tokens_hash,
            .layers = asked.layers},
        context_);
  }
  ~LiveRun() {
    const nb::gil_scoped_release release;
    live_.reset();
  }
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  std::size_t add_model(LiveModel model) {
    const nb::gil_scoped_release release;
    return live_->add_model(std::move(model));
  }

  bool wants(std::size_t model, std::int64_t layer) {
    const nb::gil_scoped_release release;
    return live_->wants(model, layer);
  }

  /// Returns how many seconds it waited for free buffer memory.
  double put(UserMaps maps, std::uint64_t layer_bytes) {
    return waited_for([&] { return live_->put(maps, layer_bytes, kBetweenSignals); });
  }

  /// Returns how many seconds it took until all maps were analyzed.
  double wait() {
    return waited_for([&] { return live_->wait(kBetweenSignals); });
  }

  std::unique_ptr<TableReport> report(const std::vector<std::string>& notes) {
    const nb::gil_scoped_release release;
    ReportCollector rows;
    StackRows with_stacks(rows);
    live_->give(with_stacks);
    for (const std::string& note : notes) rows.add_note(note);
    return std::make_unique<TableReport>(rows.take());
  }

 private:
  static Arguments arguments_with_model(ArgumentTexts given) {
    given.emplace_back("models", "live");  // required by the command
    return arguments_of(find_command_named("attention"), given);
  }

  static Session session_of(const Arguments& arguments) {
    Session session;
    session.context = context_of(arguments);
    session.context.kernels = kernels_of_environment();
    return session;
  }

  /// Repeats `step` until it returns true, and checks for signals in between.
  template <class Step>
  static double waited_for(const Step& step) {
    const auto start = Clock::now();
    while (true) {
      bool done = false;
      {
        const nb::gil_scoped_release release;
        done = step();
      }
      if (done) return std::chrono::duration<double>(Clock::now() - start).count();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  Arguments arguments_;
  StoringContext context_;
  std::unique_ptr<LiveAttention> live_;
};

using Kept = std::vector<std::vector<std::int64_t>>;

double put(LiveRun& run, std::size_t model, std::int64_t layer, std::string name,
           const nb::object& object, bool cross, bool sinks, Kept queries, Kept keys,
           std::uint64_t layer_bytes) {
  AnyArray array = array_of(object);
  TensorView view = view_of(array);
  if (dtype_info(view.dtype).kind != DTypeClass::real || array.ndim() != 4 || array.size() == 0) {
    throw nb::value_error("expected real numbers of shape (N, H, T, S)");
  }
  return run.put({.model = model,
                  .layer = layer,
                  .name = std::move(name),
                  .maps = std::move(view),
                  .owner = owned_by_library({array}),
                  .cross = cross,
                  .sinks = sinks,
                  .queries = std::move(queries),
                  .keys = std::move(keys)},
                 layer_bytes);
}

}  // namespace

void bind_live(nb::module_& module) {
  nb::class_<LiveRun>(module, "LiveRun", "Streaming analysis of attention maps.")
      .def(
          "__init__",
          [](LiveRun* self, ArgumentTexts arguments, std::string source, std::int64_t sequences,
             std::int64_t length, std::string tokens_hash) {
            new (self) LiveRun(std::move(arguments), {.source = std::move(source),
                                                      .sequences = sequences,
                                                      .length = length,
                                                      .tokens_hash = std::move(tokens_hash)});
          },
          nb::arg("arguments"), nb::arg("source"), nb::arg("sequences"), nb::arg("length"),
          nb::arg("tokens_hash"))
      .def(
          "add_model",
          [](LiveRun& self, std::string name, std::string stack, std::string architecture,
             std::optional<std::int64_t> parameters, std::optional<std::int64_t> layers,
             std::optional<std::int64_t> width) {
            return self.add_model({.name = std::move(name),
                                   .stack = std::move(stack),
                                   .architecture = std::move(architecture),
                                   .parameters = parameters,
                                   .layers = layers,
                                   .width = width});
          },
          nb::arg("name"), nb::arg("stack"), nb::arg("architecture"), nb::arg("parameters").none(),
          nb::arg("layers").none(), nb::arg("width").none(), "Return the number of the model.")
      .def("wants", &LiveRun::wants, nb::arg("model"), nb::arg("layer"))
      .def(
          "put", &put, nb::arg("model"), nb::arg("layer"), nb::arg("name"), nb::arg("maps"),
          nb::arg("cross"), nb::arg("sinks"), nb::arg("queries"), nb::arg("keys"),
          nb::arg("layer_bytes"),
          nb::sig("def put(self, model: int, layer: int, name: str, maps: typing.Any, cross: bool, "
                  "sinks: bool, queries: collections.abc.Sequence[collections.abc.Sequence[int]], "
                  "keys: collections.abc.Sequence[collections.abc.Sequence[int]], layer_bytes: "
                  "int) -> float"),
          "Add maps (N, H, T, S) of one layer, or some of them. Return the seconds waited.")
      .def("wait", &LiveRun::wait, "Wait until all maps are analyzed. Return the seconds waited.")
      .def("report", &LiveRun::report, nb::arg("notes"),
           nb::sig("def report(self, notes: collections.abc.Sequence[str]) -> Report"));
}

}  // namespace attnscope::python
