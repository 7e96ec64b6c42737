// Charts of a table, as a report shows them, a report page of one table, and a page of maps.
#include "attnscope/page/chart_files.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/page/heads_page.h"
#include "attnscope/page/template.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/style.h"
#include "python/src/bindings.h"
#include "python/src/interruptible.h"
#include "python/src/table_report.h"

namespace attnscope::python {
namespace {

/// The page's id for these rows, and their models. The spectrum of a single tensor has no model.
struct PartsOfPage {
  std::string id;
  std::vector<Record> models;
};

PartsOfPage parts_of(const Report& report) {
  const std::string kind(row_kind_of(report.command, report.parameters).name);
  if (kind == "tensor") return {.id = "spectrum", .models = {}};
  if (kind == "plan_part" && !report.rows.empty()) {
    const std::string method = text_field(report.rows.front(), "method");
    if (method == "depth") return {.id = "plan_layers", .models = report.models};
    if (method == "low-rank") return {.id = "plan_ranks", .models = report.models};
  }
  return {.id = kind == "head_overlap" ? "overlap" : kind, .models = report.models};
}

/// Sends the rows of one model, because the page has one part per model.
void send_part(const Report& report, const std::string& model, RowSink& sink) {
  sink.begin(report);
  for (const Record& row : report.rows) {
    if (text_field(row, "model") == model) sink.add_row(row);
  }
  for (const Skipped& skipped : report.skipped) {
    if (skipped.model == model) sink.add_skipped(skipped);
  }
  sink.end();
}

/// Returns the energy thresholds of the rows' ranks. The page needs at least one.
Value thresholds_of(const Report& report) {
  const Value* energy = report.parameters.find("energy");
  const bool several = energy != nullptr && energy->get<Array>() != nullptr;
  return several ? *energy : Value(std::vector<double>{0.9});
}

/// `created`: time of creation, in UTC.
ReportFile report_file_of(const Report& report, const std::string& created) {
  const PartsOfPage parts = parts_of(report);
  ReportFile file({{"version", ATTNSCOPE_VERSION},
                   {"created", created},
                   {"command", ""},
                   {"thresholds", thresholds_of(report)}},
                  parts.models);
  if (parts.models.empty()) send(report, *file.sink({.id = parts.id}));
  for (const Record& model : parts.models) {
    const std::string name = text_field(model, "name");
    send_part(report, name, *file.sink({.id = parts.id, .model = name}));
  }
  return file;
}

/// Parts that a full report has for a model whose weights are read and which is run.
constexpr std::array kOtherParts = {"spectrum",
                                    "weights",
                                    "similarity",
                                    "overlap",
                                    "circuits",
                                    "composition",
                                    "attention_excluding_first",
                                    "induction",
                                    "maps",
                                    "matrices"};

std::string page_of(const Report& report, const std::string& created) {
  if (page_template().empty()) {
    throw Error(ErrorKind::unsupported, "page", "not available in this build", "build with Node");
  }
  ReportFile file = report_file_of(report, created);
  for (const Record& model : report.models) {
    for (const char* part : kOtherParts) {
      file.add_left_out({.part = part,
                         .model = text_field(model, "name"),
                         .why = "not in the table that this page shows",
                         .command = ""});
    }
  }
  std::ostringstream page;
  file.write(page_template(), /*seconds=*/0, page);
  return std::move(page).str();
}

std::vector<ChartFile> drawn(std::shared_ptr<const ReportFile> file) {
  check_draws_charts(charts_script());
  const auto charts = std::make_shared<std::vector<ChartFile>>();
  run_interruptibly(
      [file, charts](const Waiter& waiter) {
        *charts = chart_files(charts_script(), *file, /*seconds=*/0, waiter.stop);
      },
      nb::none());
  return std::move(*charts);
}

/// Returns the result of `work`, which runs on another thread, so that an interrupt ends it.
/// `kept`: owns what `work` uses.
nb::bytes bytes_of(std::function<std::string(const std::stop_token&)> work,
                   nb::object kept = nb::none()) {
  const auto text = std::make_shared<std::string>();
  run_interruptibly(
      [work = std::move(work), text](const Waiter& waiter) { *text = work(waiter.stop); },
      nb::none(), std::move(kept));
  return nb::bytes(text->data(), text->size());
}

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using Texts = std::vector<std::pair<std::int64_t, std::optional<std::string>>>;

nb::bytes image_of(const std::string& description, const Floats& values) {
  check_draws_charts(charts_script());
  const std::vector<float> all(values.data(), values.data() + values.size());
  return bytes_of([=](const std::stop_token& stop) {
    return image_svg(charts_script(), description, all, stop);
  });
}

nb::bytes png_of(const std::string& svg, double scale) {
  check_draws_charts(charts_script());
  return bytes_of([=](const std::stop_token&) { return chart_png(svg, charts_font(), scale); });
}

/// A token without a text is shown as its id.
ShownText shown_text(const Texts& tokens) {
  ShownText shown;
  const bool has_texts = std::any_of(tokens.begin(), tokens.end(),
                                     [](const auto& token) { return token.second.has_value(); });
  for (const auto& [id, text] : tokens) {
    shown.ids.push_back(id);
    if (has_texts) shown.texts.push_back(text.value_or(std::to_string(id)));
  }
  return shown;
}

/// The content of a page of heads, whose maps Python keeps alive.
HeadsPage heads_of(const Floats& maps, const std::string& model,
                   const std::vector<std::int64_t>& layers, const Texts& tokens,
                   const Texts& source, const std::vector<std::int64_t>& pair_texts,
                   std::int64_t layer, const std::vector<std::int64_t>& heads,
                   const std::string& part, bool grid) {
  const auto size = [&](std::size_t axis) { return static_cast<std::int64_t>(maps.shape(axis)); };
  return HeadsPage{.version = ATTNSCOPE_VERSION,
                   .model = model,
                   .layers = layers,
                   .heads = size(1),
                   .queries = size(2),
                   .keys = size(3),
                   .maps = std::span<const float>(maps.data(), maps.size()),
                   .tokens = shown_text(tokens),
                   .source = shown_text(source),
                   .pair_texts = pair_texts,
                   .layer = layer,
                   .opened = heads,
                   .part = part,
                   .grid = grid};
}

}  // namespace

void bind_charts(nb::module_& module) {
  nb::class_<ChartFile>(module, "ChartFile", "A chart as a specification and as an image.")
      .def_ro("name", &ChartFile::name)
      .def_ro("title", &ChartFile::title)
      .def_ro("vega_lite", &ChartFile::vega_lite, "Vega-Lite specification, as JSON.")
      .def_ro("svg", &ChartFile::svg);
  module.def(
      "charts",
      [](const TableReport& report) {
        return drawn(
            std::make_shared<const ReportFile>(report_file_of(report.report(), /*created=*/"")));
      },
      nb::arg("report"), "Draw the charts of these rows.");
  module.def("image_svg", &image_of, nb::arg("description"), nb::arg("values"),
             "Draw a matrix as SVG. `description`: JSON, see exported_charts.ts.");
  module.def("chart_png", &png_of, nb::arg("svg"), nb::arg("scale"),
             "Draw the SVG of a chart as PNG. `scale`: pixels per unit of the SVG.");
  nb::class_<HeadsPage>(module, "Heads", "Attention maps of one text. They are not copied.")
      .def(
          "__init__",
          [](HeadsPage* self, const Floats& maps, const std::string& model,
             const std::vector<std::int64_t>& layers, const Texts& tokens, const Texts& source,
             const std::vector<std::int64_t>& pair_texts, std::int64_t layer,
             const std::vector<std::int64_t>& heads, const std::string& part, bool grid) {
            new (self) HeadsPage(heads_of(maps, model, layers, tokens, source, pair_texts, layer,
                                          heads, part, grid));
          },
          nb::arg("maps"), nb::arg("model"), nb::arg("layers"), nb::arg("tokens"),
          nb::arg("source"), nb::arg("pair_texts"), nb::arg("layer"), nb::arg("heads"),
          nb::arg("part"), nb::arg("grid"), nb::keep_alive<1, 2>())
      .def(
          "page",
          [](nb::handle self, std::size_t most_bytes) {
            const auto& page = nb::cast<const HeadsPage&>(self);
            return bytes_of(
                [&page, most_bytes](const std::stop_token&) {
                  return heads_page(heads_template(), page, most_bytes);
                },
                nb::borrow(self));
          },
          nb::arg("most_bytes"), nb::sig("def page(self, most_bytes: int) -> bytes"),
          "Return the interactive page.")
      .def(
          "charts",
          [](const HeadsPage& self) {
            constexpr std::size_t kMostBytes = 8 << 20;
            return drawn(std::make_shared<const ReportFile>(heads_file(self, kMostBytes)));
          },
          "Draw the maps without interaction.");
  module.def(
      "page",
      [](const TableReport& report, const std::string& created) {
        const std::string page = page_of(report.report(), created);
        return nb::bytes(page.data(), page.size());
      },
      nb::arg("report"), nb::arg("created"), "Return a report page that has only these rows.");
}

}  // namespace attnscope::python
