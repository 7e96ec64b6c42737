#include "attnscope/smaller/plan_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Reads fields, and names the one that is not there or of another type.
struct PlanReader {
  std::string place;

  [[noreturn]] void refuse(const std::string& field, const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = place, .place = field, .problem = verbatim(problem)});
  }

  const json& field(const json& object, const std::string& name) const {
    if (!object.is_object()) refuse(name, "is in no object");
    const auto found = object.find(name);
    if (found == object.end()) refuse(name, "is missing");
    return *found;
  }

  std::int64_t integer(const json& object, const std::string& name) const {
    const json& value = field(object, name);
    if (!value.is_number_integer()) refuse(name, "is no whole number");
    return value.get<std::int64_t>();
  }

  double number(const json& object, const std::string& name) const {
    const json& value = field(object, name);
    if (!value.is_number()) refuse(name, "is no number");
    return value.get<double>();
  }

  std::string text(const json& object, const std::string& name) const {
    const json& value = field(object, name);
    if (!value.is_string()) refuse(name, "is no text");
    return value.get<std::string>();
  }

  std::vector<std::int64_t> integers(const json& object, const std::string& name) const {
    const json& value = field(object, name);
    if (!value.is_array()) refuse(name, "is no list of numbers");
    std::vector<std::int64_t> out;
    for (const json& one : value) {
      if (!one.is_number_integer()) refuse(name, "is no list of whole numbers");
      out.push_back(one.get<std::int64_t>());
    }
    return out;
  }

  Form form(const std::string& name) const {
    const auto found = form_from_name(name);
    if (!found) refuse("form", "is no form: " + name);
    return *found;
  }

  /// The forms of a plan at their sizes, nothing yet of what they keep.
  std::vector<Choice> choices(const json& plan) const {
    const std::vector<std::string> names = split(text(plan, "form"), ',');
    if (names.size() == 1) {
      const json& exact = field(plan, "exact");
      if (!exact.is_boolean()) refuse("exact", "is neither true nor false");
      return {{.form = form(names.front()),
               .size = integer(plan, "size"),
               .joint = integer(plan, "joint"),
               .exact = exact.get<bool>()}};
    }
    const std::vector<std::int64_t> sizes = integers(plan, "sizes");
    if (sizes.size() != names.size()) refuse("sizes", "are not one for each form");
    std::vector<Choice> out;
    for (std::size_t at = 0; at < names.size(); ++at) {
      const Form own = form(names[at]);
      const bool again = std::any_of(out.begin(), out.end(),
                                     [&](const Choice& other) { return other.form == own; });
      if (again || !combines(own)) refuse("form", "combines what does not combine");
      out.push_back({.form = own, .size = sizes[at]});
    }
    return out;
  }

  /// The one of them that a row is of.
  Choice& choice_of(std::vector<Choice>& choices, const json& row) const {
    const Form own = form(text(row, "form"));
    for (Choice& choice : choices) {
      if (choice.form == own) return choice;
    }
    refuse("form", "of a row is not one of the plan's");
  }

  void add_row(Choice& choice, const json& row) const {
    switch (choice.form) {
      case Form::layers:
        if (choice.kept.empty()) choice.kept.emplace_back();
        if (field(row, "order").is_null()) choice.kept.front().push_back(integer(row, "layer"));
        break;
      case Form::width:
      case Form::heads:
      case Form::experts:
      case Form::head_width: choice.kept.push_back(integers(row, "kept")); break;
      case Form::ranks: {
        const auto role = role_from_name(text(row, "matrix"));
        if (!role) refuse("matrix", "names no matrix: " + text(row, "matrix"));
        if (field(row, "rank").is_null()) break;
        const std::int64_t rank = integer(row, "rank");
        const std::int64_t most = integer(row, "break_even_rank");
        if (rank < 1 || rank > most) {
          refuse("rank", std::to_string(rank) + " of " + std::string(role_name(*role)) +
                             " in layer " + std::to_string(integer(row, "layer")) +
                             " is not from 1 to break_even_rank, " + std::to_string(most));
        }
        choice.ranks[{integer(row, "layer"), *role}] = rank;
        break;
      }
      default: break;
    }
  }
};

}  // namespace

PlanFile read_plan(std::string_view text, std::string_view place) {
  const PlanReader reader{std::string(place)};
  const json report = parse_json(text, place);
  if (!report.is_object() || report.value("schema", "") != "attnscope/1" ||
      report.value("command", "") != "plan") {
    reader.refuse("command", "is not the report of attnscope plan in JSON");
  }
  const json& models = reader.field(report, "models");
  if (!models.is_array() || models.size() != 1) reader.refuse("models", "is not one model");
  if (!models.front().is_object() || !models.front().contains("plan")) {
    throw Error(ErrorKind::usage, {.file = std::string(place),
                                   .problem = "is a menu: it chooses no form",
                                   .hint = "plan again with {by} and a target such as {keep}"});
  }
  const json& plan = models.front()["plan"];
  const json& parameters = reader.field(report, "parameters");
  PlanFile out;
  out.choices = reader.choices(plan);
  out.ridge = reader.number(parameters, "ridge");
  out.method = reader.text(parameters, "method");
  out.mean_nll_before = reader.number(plan, "mean_nll_before");
  out.mean_nll_after = reader.number(plan, "mean_nll_after");
  out.model_hash = reader.text(plan, "model_hash");
  if (models.front().contains("stack")) out.stack = reader.text(models.front(), "stack");
  out.tokens_hash = reader.text(parameters, "tokens_hash");
  out.held_out_hash = reader.text(parameters, "held_out_hash");
  out.sequences = reader.integer(parameters, "sequences");
  out.length = reader.integer(parameters, "length");
  if (!reader.field(parameters, "sample").is_null()) {
    out.sample = reader.integer(parameters, "sample");
  }
  out.own_held_out = !reader.field(parameters, "held_out").is_null();
  const json& rows = reader.field(report, "rows");
  if (!rows.is_array()) reader.refuse("rows", "are missing");
  const std::int64_t parts = reader.integer(plan, "parts");
  if (std::ssize(rows) != parts) {
    reader.refuse(
        "rows", "are " + std::to_string(rows.size()) + ", not the plan's " + std::to_string(parts));
  }
  for (const json& row : rows) reader.add_row(reader.choice_of(out.choices, row), row);
  return out;
}

}  // namespace attnscope
