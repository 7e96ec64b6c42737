#include "attnscope/features/attention/heatmap_run.h"

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/model/summary.h"

namespace attnscope {
namespace {

void add_map_rows(const Model& model, const HeadIndex& place, const ShownTokens& tokens,
                  MatrixView<const float> map, RowSink& sink) {
  for (std::int64_t query = 0; query < map.rows; ++query) {
    const auto at = static_cast<std::size_t>(query);
    const Value token = tokens.ids.empty() ? Value() : Value(tokens.ids.front()[at]);
    const float* first = map.data + query * map.row_stride;
    Record row = {{"model", model.name()},
                  {"layer", place.layer},
                  {"head", place.head},
                  {"query", query},
                  {"token", token},
                  {"text", at < tokens.texts.size() ? Value(tokens.texts[at]) : Value()}};
    const bool is_chat = !tokens.ids.empty() && !tokens.ids.front().roles.empty();
    if (is_chat) row.add("message_role", role_value(tokens.ids.front(), at));
    sink.add_row(row.add("weights", std::vector<double>(first, first + map.cols)));
  }
}

/// The keys of cross-attention, for drawing its map.
Value::List source_list(const ShownTokens& tokens) {
  Value::List list;
  for (std::size_t at = 0; at < tokens.source.front().size(); ++at) {
    const bool known = at < tokens.source_texts.size();
    list.emplace_back(Record{{"id", tokens.source.front()[at]},
                             {"text", known ? Value(tokens.source_texts[at]) : Value()}});
  }
  return list;
}

/// Adds a note if a text exceeds the memory limit: all maps of a layer are computed together.
void note_memory(const Model& model, std::int64_t tokens, std::int64_t source,
                 const Context& context, RowSink& sink) {
  const std::uint64_t bytes = run_bytes(model, /*sequences=*/1, tokens, source);
  if (bytes <= context.memory_bytes) return;
  sink.add_note(model.name() + ": a text of " + counted(tokens, "token") + " needs about " +
                memory_text(bytes) + ", more than the {memory} limit");
}

}  // namespace

void run_attention_map(std::span<const Model> models, const AttentionMapRequest& request,
                       const Context& context, RowSink& sink) {
  ReportHead head{.command = "attention",
                  .parameters = {{"heatmap", std::vector<std::int64_t>{request.place.layer,
                                                                       request.place.head}},
                                 {"log", request.log_scale}}};
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  add_edits_hash(head.parameters, context, models);
  for (std::size_t index = 0; index < models.size(); ++index) {
    place_in(models[index], request.place, "heatmap");
    Record& facts = head.models.emplace_back(facts_record(summarize(models[index])));
    if (models[index].stack() != "cross" || request.tokens[index].source.empty()) continue;
    facts.add("source_tokens", source_list(request.tokens[index]));
  }
  const ReadyModels ready(models, context);
  LentTeam team(context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const BatchInputs inputs = request.tokens[index].inputs();
    check_inputs(ready.pass(index), inputs);
    note_past_context(ready.pass(index), inputs, sink);
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const HeadIndex place = place_in(models[index], request.place, "heatmap");
    const ShownTokens& tokens = request.tokens[index];
    const ForwardPass& pass = ready.pass(index);
    const BatchInputs inputs = tokens.inputs();
    note_memory(models[index], rows_of(models[index], inputs),
                source_rows_of(models[index], inputs), context, sink);
    const auto show = [&](const LayerMaps& maps) {
      if (maps.windows.empty()) {
        return add_map_rows(models[index], place, tokens, maps.map(0, place.head), sink);
      }
      const Matrix<float> whole = maps.map_of_image(0, place.head);
      add_map_rows(models[index], place, tokens, whole.view(), sink);
    };
    const auto wants = [&](std::int64_t layer) { return layer == place.layer; };
    ForwardObserver observer{.end_after_maps_of = place.layer};
    observer.ends_across = models[index].stack() == "cross";
    (observer.ends_across ? observer.on_cross_maps : observer.on_maps) = show;
    (observer.ends_across ? observer.wants_cross_maps : observer.wants_maps) = wants;
    RunEdits edits(pass, context.watchers, team.compute());
    observer.hooks = edits.hooks();
    run_inputs(pass, inputs, observer, team.compute());
  }
  sink.end();
}

}  // namespace attnscope
