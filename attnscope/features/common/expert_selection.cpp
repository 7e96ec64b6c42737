#include "attnscope/features/common/expert_selection.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_experts(std::string problem) {
  throw Error(ErrorKind::usage, {.parameter = "experts", .problem = std::move(problem)});
}

std::optional<std::int64_t> expert_number(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

/// Medians of the values that several records have under the same names.
Value median_of(const std::vector<const Value*>& values);

template <class T>
Value median_number(const std::vector<const Value*>& values) {
  std::vector<T> numbers;
  for (const Value* value : values) {
    if (const T* number = value->get<T>()) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return lower_quantile(numbers, 0.5);
}

Value median_array(const std::vector<const Value*>& values) {
  const Array& first = *values.front()->get<Array>();
  std::vector<const std::vector<double>*> all;
  for (const Value* value : values) {
    const Array* array = value->get<Array>();
    const auto* numbers =
        array == nullptr ? nullptr : std::get_if<std::vector<double>>(&array->data);
    if (numbers == nullptr || array->shape != first.shape) return *values.front();
    all.push_back(numbers);
  }
  std::vector<double> medians(all.front()->size()), column;
  for (std::size_t at = 0; at < medians.size(); ++at) {
    column.clear();
    for (const auto* numbers : all) column.push_back((*numbers)[at]);
    std::sort(column.begin(), column.end());
    medians[at] = lower_quantile(column, 0.5);
  }
  return Array{first.shape, std::move(medians)};
}

Record median_record(const std::vector<const Record*>& records) {
  Record out;
  for (const auto& [name, value] : records.front()->fields()) {
    std::vector<const Value*> values;
    for (const Record* record : records) {
      const Value* own = record->find(name);
      if (own != nullptr && !own->is_null()) values.push_back(own);
    }
    // Histograms of different matrices have different bins, so they have no median.
    out.add(name, values.empty() || name == "histogram" ? Value() : median_of(values));
  }
  return out;
}

Value median_of(const std::vector<const Value*>& values) {
  const Value& first = *values.front();
  if (first.get<std::int64_t>() != nullptr) return median_number<std::int64_t>(values);
  if (first.get<double>() != nullptr) return median_number<double>(values);
  if (first.get<Array>() != nullptr) return median_array(values);
  if (first.get<Record>() == nullptr) return first;
  std::vector<const Record*> records;
  for (const Value* value : values) records.push_back(value->get<Record>());
  return median_record(records);
}

}  // namespace

std::vector<std::int64_t> ExpertSelection::resolve(std::int64_t experts,
                                                   std::string_view model) const {
  std::set<std::int64_t> chosen;
  if (text.empty() || text == "all") {
    const std::int64_t step = text == "all" ? 1 : (experts + kSample - 1) / kSample;
    for (std::int64_t expert = 0; expert < experts; expert += step) chosen.insert(expert);
    return {chosen.begin(), chosen.end()};
  }
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = expert_number(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : expert_number(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      refuse_experts('\'' + part +
                     "' is not an expert or a range of experts, e.g. 0-7,12; 'all' "
                     "selects every expert");
    }
    if (*last >= experts) {
      refuse_experts('\'' + part + "': " + std::string(model) + " has experts 0 to " +
                     std::to_string(experts - 1));
    }
    for (std::int64_t expert = *first; expert <= *last; ++expert) chosen.insert(expert);
  }
  return {chosen.begin(), chosen.end()};
}

void add_layers_and_experts(Plan& plan, std::span<const Model> models,
                            std::span<const std::vector<Role>> roles, const LayerSelection& layers,
                            const ExpertSelection& experts, RowSink& notes) {
  bool any = false;
  note_other_mixers(models, roles, layers, notes);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const std::int64_t count = model.dimensions().experts;
    std::vector<std::int64_t> chosen;
    if (count > 0) chosen = experts.resolve(count, model.name());
    bool asked = false;
    for (const std::int64_t layer : layers.resolve(model.dimensions().layers, model.name())) {
      for (const Role role : roles[index]) {
        const bool of_experts = model.spec().has_experts(layer) && is_of_mlp(role);
        if (!of_experts && !model.describes(role)) continue;
        if (!of_experts && is_passed_over(layers, model, role, layer)) continue;
        if (is_beside_experts(role) && !model.spec().has_experts(layer)) continue;
        WorkItem& item = plan.add(index, layer);
        item.role = role;
        if (of_experts) item.experts = chosen;
        asked = asked || of_experts;
      }
    }
    any = any || asked;
    if (!asked || !experts.text.empty() || std::ssize(chosen) == count) continue;
    notes.add_note(model.name() + ": " + std::to_string(chosen.size()) + " of " +
                   counted(count, "expert") + "sampled per layer (every " +
                   std::to_string(chosen[1]) + "th); pass {experts} all for all");
  }
  if (!any && !experts.text.empty()) refuse_experts("none of these matrices belongs to an expert");
}

std::vector<Outcome> expert_outcomes(
    const WorkItem& item, const std::function<Outcome(std::int64_t expert)>& measure,
    const std::function<void(Record&, const std::vector<const Record*>&)>& add_spread) {
  std::vector<Outcome> measured;
  for (const std::int64_t expert : item.experts) {
    Outcome& outcome = measured.emplace_back(measure(expert));
    const std::string name = "expert " + std::to_string(expert) + ": ";
    if (!outcome.skipped.empty()) outcome.skipped = name + outcome.skipped;
    if (!outcome.note.empty()) outcome.note = name + outcome.note;
  }
  std::vector<const Record*> fields;
  for (const Outcome& outcome : measured) {
    if (outcome.skipped.empty()) fields.push_back(&outcome.fields);
  }
  std::vector<Outcome> outcomes;
  const auto add = [&](const char* name, std::int64_t number, const Record& values) -> Outcome& {
    Outcome& outcome = outcomes.emplace_back();
    outcome.fields.add(name, number);
    for (const auto& [field, value] : values.fields()) outcome.fields.add(field, value);
    return outcome;
  };
  if (!fields.empty()) {
    Outcome& summary = add("experts", std::ssize(fields), median_record(fields));
    if (add_spread) add_spread(summary.fields, fields);
  }
  for (std::size_t at = 0; at < measured.size(); ++at) {
    if (measured[at].skipped.empty()) {
      add("expert", item.experts[at], measured[at].fields).note = measured[at].note;
    } else {
      outcomes.push_back(std::move(measured[at]));
    }
  }
  return outcomes;
}

}  // namespace attnscope
