#include "attnscope/smaller/plan_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostWindows = 1'000'000;
constexpr std::array<std::string_view, 4> kMethods = {"kl", "energy", "uniform", "plain"};

/// An object of the report, and its place in the file for errors: "models[0].plan".
struct Place {
  const json& object;
  std::string path;
};

/// Reads fields. An error names the field that is missing, of another type, or out of range.
struct PlanReader {
  std::string file;

  [[noreturn]] void refuse(const std::string& field, const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = file, .place = field, .problem = verbatim(problem)});
  }

  static std::string path_of(const Place& place, const std::string& name) {
    return place.path.empty() ? name : place.path + "." + name;
  }

  const json& field(const Place& place, const std::string& name) const {
    if (!place.object.is_object()) refuse(place.path, "expected an object");
    const auto found = place.object.find(name);
    if (found == place.object.end()) refuse(path_of(place, name), "is missing");
    return *found;
  }

  Place object(const Place& place, const std::string& name) const {
    const json& value = field(place, name);
    if (!value.is_object()) refuse(path_of(place, name), "expected an object");
    return {value, path_of(place, name)};
  }

  std::int64_t integer(const Place& place, const std::string& name, std::int64_t least,
                       std::int64_t most = kUnlimited) const {
    const json& value = field(place, name);
    return checked_integer(value, path_of(place, name), least, most);
  }

  std::int64_t checked_integer(const json& value, const std::string& path, std::int64_t least,
                               std::int64_t most) const {
    const std::string expected =
        most == kUnlimited ? "expected a whole number of at least " + std::to_string(least)
                           : "expected a whole number from " + std::to_string(least) + " to " +
                                 std::to_string(most);
    if (!value.is_number_integer()) refuse(path, expected);
    // Beyond int64, nlohmann keeps an unsigned number, which get() would wrap.
    const bool large = value.is_number_unsigned() &&
                       value.get<std::uint64_t>() > static_cast<std::uint64_t>(kUnlimited);
    if (large || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
      refuse(path, value.dump() + " is out of range, " + expected);
    }
    return value.get<std::int64_t>();
  }

  double number(const Place& place, const std::string& name) const {
    const json& value = field(place, name);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
      refuse(path_of(place, name), "expected a finite number of at least 0");
    }
    return value.get<double>();
  }

  std::string text(const Place& place, const std::string& name) const {
    const json& value = field(place, name);
    if (!value.is_string()) refuse(path_of(place, name), "expected a string");
    return value.get<std::string>();
  }

  std::vector<std::int64_t> integers(const Place& place, const std::string& name) const {
    const json& value = field(place, name);
    const std::string path = path_of(place, name);
    if (!value.is_array()) refuse(path, "expected a list of whole numbers");
    std::vector<std::int64_t> out;
    for (const json& one : value) {
      out.push_back(
          checked_integer(one, path + "[" + std::to_string(out.size()) + "]", 0, kUnlimited));
    }
    return out;
  }

  Form form(const std::string& path, const std::string& name) const {
    const auto found = form_from_name(name);
    if (!found) refuse(path, "unknown form '" + name + "'");
    return *found;
  }

  /// A loss, checked against the perplexity that the plan shows for it.
  double loss(const Place& plan, const std::string& when) const {
    const double nll = number(plan, "mean_nll_" + when);
    const double perplexity = number(plan, "perplexity_" + when);
    constexpr double kRounding = 1e-6;  // relative; both are written with all their digits
    if (!(std::abs(std::exp(nll) / perplexity - 1) < kRounding)) {
      refuse(path_of(plan, "mean_nll_" + when), shortest_decimal(nll) + " contradicts perplexity_" +
                                                    when + ", " + shortest_decimal(perplexity) +
                                                    ": expected its logarithm");
    }
    return nll;
  }

  ModelSize size(const Place& plan, const std::string& when) const {
    ModelSize out;
    out.parameters = integer(plan, "parameters_" + when, 1);
    out.kv_cache_bytes_per_token = integer(plan, "kv_cache_bytes_per_token_" + when, 0);
    return out;
  }

  /// The forms of a plan at their sizes; what they keep comes from the rows.
  std::vector<Choice> choices(const Place& plan) const {
    const std::vector<std::string> names = split(text(plan, "form"), ',');
    const std::string path = path_of(plan, "form");
    if (names.size() == 1) {
      const json& exact = field(plan, "exact");
      if (!exact.is_boolean()) refuse(path_of(plan, "exact"), "expected true or false");
      return {{.form = form(path, names.front()),
               .size = integer(plan, "size", 0),
               .joint = integer(plan, "joint", 0),
               .exact = exact.get<bool>()}};
    }
    const std::vector<std::int64_t> sizes = integers(plan, "sizes");
    if (sizes.size() != names.size()) {
      refuse(path_of(plan, "sizes"), "expected one size per form, " + std::to_string(names.size()) +
                                         ", got " + std::to_string(sizes.size()));
    }
    std::vector<Choice> out;
    for (std::size_t at = 0; at < names.size(); ++at) {
      const Form own = form(path, names[at]);
      const bool again = std::any_of(out.begin(), out.end(),
                                     [&](const Choice& other) { return other.form == own; });
      if (again || !combines(own)) refuse(path, "these forms do not combine");
      out.push_back({.form = own, .size = sizes[at]});
    }
    return out;
  }

  PlanRow row(const json& value, std::size_t at) const {
    const Place place{value, "rows[" + std::to_string(at) + "]"};
    PlanRow out{.form = form(path_of(place, "form"), text(place, "form")),
                .model = text(place, "model")};
    if (!field(place, "layer").is_null()) out.layer = integer(place, "layer", 0);
    switch (out.form) {
      case Form::width:
      case Form::heads:
      case Form::experts:
      case Form::head_width: out.kept = integers(place, "kept"); break;
      case Form::layers:
        if (field(place, "order").is_null()) {
          out.kept = {integer(place, "layer", 0)};
        } else {
          integer(place, "order", 0);
        }
        break;
      case Form::ranks: {
        const std::string name = text(place, "matrix");
        out.matrix = role_from_name(name);
        if (!out.matrix) refuse(path_of(place, "matrix"), "unknown matrix '" + name + "'");
        if (!field(place, "rank").is_null()) {
          out.rank = integer(place, "rank", 1, integer(place, "break_even_rank", 1));
        }
        break;
      }
      default: break;
    }
    return out;
  }
};

/// Which rows a form has.
enum class RowsOf { model, layer, matrix };

RowsOf rows_of(Form form) {
  switch (form) {
    case Form::layers:
    case Form::width:
    case Form::heads:
    case Form::experts: return RowsOf::layer;
    case Form::ranks: return RowsOf::matrix;
    default: return RowsOf::model;
  }
}

/// Rows of layers must name 0, 1, 2, ... in this order, because a choice lists what it keeps by
/// position; `width` may then name the layers of the other stack, in the same way.
void check_layer_order(const PlanReader& reader, const PlanFile& plan) {
  std::vector<std::string> models = {plan.model};
  const Form* form = nullptr;
  std::int64_t next = 0;
  std::set<Form> ended;
  std::set<MatrixPlace> matrices;
  for (std::size_t at = 0; at < plan.rows.size(); ++at) {
    const PlanRow& row = plan.rows[at];
    if (std::ranges::find(plan.choices, row.form, &Choice::form) == plan.choices.end()) {
      reader.refuse(row_place(at, "form"), "the plan has no such form");
    }
    if (form == nullptr || *form != row.form) {
      if (form != nullptr) ended.insert(*form);
      if (ended.contains(row.form)) {
        reader.refuse(row_place(at, "form"), "expected the rows of each form one after another");
      }
      form = &row.form;
      next = 0;
      models = {plan.model};
    }
    if (row.model != models.back()) {
      if (row.form != Form::width || models.size() > 1 || next == 0 || row.layer != 0) {
        reader.refuse(row_place(at, "model"), "expected '" + models.back() + "'");
      }
      models.push_back(row.model);
      next = 0;
    }
    if (rows_of(row.form) == RowsOf::matrix) {
      if (!row.layer) reader.refuse(row_place(at, "layer"), "expected a whole number");
      if (!matrices.insert({*row.layer, *row.matrix}).second) {
        reader.refuse(row_place(at, "matrix"),
                      "a row before this one has the same layer and matrix");
      }
      continue;
    }
    const bool of_layers = rows_of(row.form) == RowsOf::layer;
    // The only layer of a model is the whole model.
    const bool fits = row.layer ? of_layers && *row.layer == next : next == 0;
    if (!fits) {
      reader.refuse(row_place(at, "layer"),
                    of_layers ? "expected " + std::to_string(next) + ": one row per layer, in order"
                              : "expected null");
    }
    ++next;
  }
}

/// Adds what the rows keep to the choice of their form, after check_layer_order().
void add_rows(PlanFile& plan) {
  for (const PlanRow& row : plan.rows) {
    const auto choice = std::ranges::find(plan.choices, row.form, &Choice::form);
    switch (row.form) {
      case Form::layers:
        if (choice->kept.empty()) choice->kept.emplace_back();
        choice->kept.front().insert(choice->kept.front().end(), row.kept.begin(), row.kept.end());
        break;
      case Form::width:
      case Form::heads:
      case Form::experts:
      case Form::head_width: choice->kept.push_back(row.kept); break;
      case Form::ranks:
        if (row.rank) choice->ranks[{*row.layer, *row.matrix}] = *row.rank;
        break;
      default: break;
    }
  }
  for (Choice& choice : plan.choices) {
    // Which layers stay may be edited, and says how many.
    if (choice.form == Form::layers && !choice.kept.empty()) {
      choice.size = std::ssize(choice.kept.front());
    }
  }
}

}  // namespace

std::string row_place(std::size_t row, std::string_view field) {
  return "rows[" + std::to_string(row) + "]." + std::string(field);
}

PlanFile read_plan(std::string_view text, std::string_view place) {
  const PlanReader reader{std::string(place)};
  const json report = parse_json(text, place);
  const Place root{report, ""};
  const auto is = [&](const char* name, std::string_view value) {
    const auto found = report.find(name);
    return found != report.end() && found->is_string() &&
           found->get_ref<const std::string&>() == value;
  };
  if (!report.is_object() || !is("schema", "attnscope/1")) {
    reader.refuse("schema", "expected \"attnscope/1\", the JSON report of attnscope plan");
  }
  if (!is("command", "plan")) {
    reader.refuse("command", "expected \"plan\", the JSON report of attnscope plan");
  }
  const json& models = reader.field(root, "models");
  if (!models.is_array() || models.size() != 1) reader.refuse("models", "expected one model");
  const Place model{models.front(), "models[0]"};
  if (!model.object.is_object() || !model.object.contains("plan")) {
    throw Error(ErrorKind::usage, {.file = std::string(place),
                                   .problem = "is a menu: it chooses no form",
                                   .hint = "plan again with {by} and a target such as {keep}"});
  }
  const Place plan = reader.object(model, "plan");
  const Place parameters = reader.object(root, "parameters");
  PlanFile out;
  out.model = reader.text(model, "name");
  out.choices = reader.choices(plan);
  out.before = reader.size(plan, "before");
  out.after = reader.size(plan, "after");
  out.ridge = reader.number(parameters, "ridge");
  out.method = reader.text(parameters, "method");
  if (std::ranges::find(kMethods, out.method) == kMethods.end()) {
    reader.refuse("parameters.method", "unknown method '" + out.method + "'");
  }
  out.mean_nll_before = reader.loss(plan, "before");
  out.mean_nll_after = reader.loss(plan, "after");
  out.model_hash = reader.text(plan, "model_hash");
  if (model.object.contains("stack")) out.stack = reader.text(model, "stack");
  out.tokens_hash = reader.text(parameters, "tokens_hash");
  out.held_out_hash = reader.text(parameters, "held_out_hash");
  out.sequences = reader.integer(parameters, "sequences", 1, kMostWindows);
  out.length = reader.integer(parameters, "length", 1, kMostWindows);
  if (!reader.field(parameters, "sample").is_null()) {
    out.sample = reader.integer(parameters, "sample", 0);
  }
  if (parameters.object.contains("lines")) {
    const json& lines = reader.field(parameters, "lines");
    if (!lines.is_boolean()) reader.refuse("parameters.lines", "expected true or false");
    out.lines = lines.get<bool>();
  }
  if (parameters.object.contains("score_positions")) {
    out.score_positions = reader.text(parameters, "score_positions");
  }
  out.own_held_out = !reader.field(parameters, "held_out").is_null();
  const json& rows = reader.field(root, "rows");
  if (!rows.is_array()) reader.refuse("rows", "expected a list of rows");
  const std::int64_t parts = reader.integer(plan, "parts", 0);
  if (std::ssize(rows) != parts) {
    reader.refuse("rows", "expected " + std::to_string(parts) +
                              " rows (models[0].plan.parts), got " + std::to_string(rows.size()));
  }
  for (const json& row : rows) out.rows.push_back(reader.row(row, out.rows.size()));
  check_layer_order(reader, out);
  add_rows(out);
  return out;
}

}  // namespace attnscope
