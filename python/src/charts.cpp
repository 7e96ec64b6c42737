// Charts of a table, as a report shows them, and a report page of one table.
#include "attnscope/page/chart_files.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <sstream>
#include <utility>

#include "attnscope/base/error.h"
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

using NamedText = std::pair<std::string, std::string>;

std::vector<NamedText> charts_of(const std::shared_ptr<const Report>& report) {
  check_draws_charts(charts_script());
  const auto charts = std::make_shared<std::vector<NamedText>>();
  run_interruptibly(
      [report, charts](const Waiter& waiter) {
        const ReportFile file = report_file_of(*report, /*created=*/"");
        for (ChartFile& chart : chart_files(charts_script(), file, /*seconds=*/0, waiter.stop)) {
          charts->emplace_back(std::move(chart.name), std::move(chart.vega_lite));
        }
      },
      nb::none());
  return std::move(*charts);
}

}  // namespace

void bind_charts(nb::module_& module) {
  module.def(
      "charts", [](const TableReport& report) { return charts_of(report.shared()); },
      nb::arg("report"), "Return names and Vega-Lite specifications.");
  module.def(
      "page",
      [](const TableReport& report, const std::string& created) {
        const std::string page = page_of(report.report(), created);
        return nb::bytes(page.data(), page.size());
      },
      nb::arg("report"), nb::arg("created"), "Return a report page that has only these rows.");
}

}  // namespace attnscope::python
