#include "attnscope/engine/analysis.h"

#include <utility>
#include <vector>

#include "attnscope/engine/summary_rows.h"

namespace attnscope {
namespace {

void add_rows(RowSink& sink, const char* role_field, bool with_heads, const RowPlace& place,
              std::span<const Outcome> outcomes) {
  for (const Outcome& outcome : outcomes) {
    if (!outcome.skipped.empty()) {
      sink.add_skipped(skipped_entry(place, outcome));
      continue;
    }
    Record row = {{"model", place.model}, {"layer", place.layer}, {role_field, place.matrix}};
    if (with_heads) row.add("head", outcome.head);
    for (const auto& [name, value] : outcome.fields.fields()) row.add(name, value);
    sink.add_row(std::move(row));
    if (!outcome.note.empty()) sink.add_note(note_of(place, outcome));
  }
}

RowMaker plain_rows(RowSink& sink, const char* role_field, bool with_heads) {
  return {.add = [&sink, role_field, with_heads](const RowPlace& place,
                                                 std::span<const Outcome> outcomes) {
    add_rows(sink, role_field, with_heads, place, outcomes);
  }};
}

}  // namespace

RowMaker rows_with_heads(RowSink& sink, const char* role_field) {
  return plain_rows(sink, role_field, /*with_heads=*/true);
}

RowMaker rows_without_heads(RowSink& sink) {
  return plain_rows(sink, "matrix", /*with_heads=*/false);
}

std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads) {
  std::vector<Outcome> outcomes = {{.skipped = reason}};
  for (std::int64_t head = 0; head < heads; ++head) {
    outcomes.push_back({.head = head, .skipped = reason});
  }
  return outcomes;
}

Skipped skipped_entry(const RowPlace& place, const Outcome& outcome) {
  return {place.model, place.layer, place.matrix, outcome.head, outcome.skipped};
}

std::string note_of(const RowPlace& place, const Outcome& outcome) {
  std::string text = place.model + ": " + place.matrix;
  if (place.layer) text += " of layer " + std::to_string(*place.layer);
  if (outcome.head) text += ", head " + std::to_string(*outcome.head);
  return text + ": " + outcome.note;
}

std::vector<ModelSource> sources_of(std::span<const Model> models) {
  std::vector<ModelSource> sources;
  for (const Model& model : models) {
    sources.push_back({.checkpoint = &model.checkpoint(),
                       .model = &model,
                       .name = model.name(),
                       .facts = facts_record(summarize(model))});
  }
  return sources;
}

void add_role_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  inputs.add("role", role_name(*item.role)).add_shape(*source.model, *item.layer);
  if (!item.experts.empty()) {
    inputs.add("experts", item.experts);
    for (const std::int64_t expert : item.experts) {
      inputs.add_expert(*source.model, *item.layer, expert, *item.role);
    }
    return;
  }
  inputs.add_role(*source.model, *item.layer, *item.role);
  if (item.latent_rms) inputs.add("latent_rms", latent_rms_record(*item.latent_rms));
}

}  // namespace attnscope
