#include "attnscope/features/ablate/path_run.h"

#include <algorithm>
#include <array>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/ablate/metric_effects.h"
#include "attnscope/features/ablate/path_composition.h"
#include "attnscope/features/common/fields.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/framework/parameter_values.h"
#include "attnscope/interventions/path_patching.h"

namespace attnscope {
namespace {

constexpr const char* kEachLayer = "each-layer";
constexpr const char* kEachHead = "each-head";

Role role_of_input(PatchedKind input) {
  if (input == PatchedKind::q) return Role::query;
  return input == PatchedKind::k ? Role::key : Role::value;
}

/// The senders and targets of one queue item.
struct PathItem {
  std::size_t model = 0;
  PathRequest request;
  PathPatch found = {};
  std::vector<std::optional<double>> composition = {};  // of each target
  std::vector<EffectCertainties> certainties = {};      // of each target

  MetricGap gap() const { return {.clean = found.clean, .corrupted = found.corrupted}; }
};

std::int64_t heads_with_input(const Model& model, std::int64_t layer, PatchedKind input) {
  if (!model.dimensions().attends(layer)) return 0;
  const HeadShape& heads = model.spec().dimensions_of(layer).heads;
  return input == PatchedKind::q ? heads.heads : heads.kv_heads;
}

/// The sets of senders, which are patched separately.
std::vector<std::vector<HeadIndex>> sender_sets(const PathPatchingRequest& request,
                                                const Model& model) {
  const std::string& text = request.senders;
  std::vector<std::vector<HeadIndex>> out;
  if (text != kEachLayer && text != kEachHead) {
    std::vector<HeadIndex>& set = out.emplace_back();
    const Parameter parameter{.name = "sender", .type = ParameterType::heads};
    const ParameterValue heads = value_from_text(parameter, text);
    for (const HeadIndex& head : std::get<std::vector<HeadIndex>>(heads)) {
      const HeadIndex sender = place_in(model, head, "sender");
      if (std::ranges::find(set, sender) == set.end()) set.push_back(sender);
    }
    return out;
  }
  for (const std::int64_t layer : request.layers.resolve(model.dimensions().layers, model.name())) {
    const std::int64_t heads = heads_with_input(model, layer, PatchedKind::q);
    for (std::int64_t head = 0; head < heads; ++head) {
      if (head == 0 || text == kEachHead) out.emplace_back();
      out.back().push_back({.layer = layer, .head = head});
    }
  }
  return out;
}

/// Every later layer's queries, keys and values of all heads, and the logits.
std::vector<PathTarget> all_targets(const std::vector<HeadIndex>& senders, const Model& model,
                                    bool each_head) {
  const std::int64_t first = std::ranges::max(senders, {}, &HeadIndex::layer).layer + 1;
  std::vector<PathTarget> out;
  for (std::int64_t layer = first; layer < model.dimensions().layers; ++layer) {
    for (const PatchedKind input : kPathInputs) {
      if (input != PatchedKind::q && model.spec().sharing_of(layer).from) continue;
      const std::int64_t heads = heads_with_input(model, layer, input);
      for (std::int64_t head = 0; head < heads; ++head) {
        if (head == 0 || each_head) out.emplace_back();
        out.back().push_back({.layer = layer, .head = head, .input = input});
      }
    }
  }
  out.emplace_back();
  return out;
}

[[noreturn]] void refuse_receiver(const std::string& problem, const std::string& hint = "") {
  throw Error(ErrorKind::usage, {.parameter = "receiver", .problem = problem, .hint = hint});
}

/// The receivers together; one without an input is patched in its queries, keys and values
/// separately.
std::vector<PathTarget> given_targets(const std::vector<HeadInput>& receivers,
                                      const std::vector<HeadIndex>& senders, const Model& model) {
  if (receivers.size() == 1 && receivers.front().logits) return {PathTarget()};
  const std::int64_t first = std::ranges::min(senders, {}, &HeadIndex::layer).layer;
  const auto receiver_of = [&](const HeadInput& given, PatchedKind input) {
    HeadIndex place = given.head;
    if (place.layer < 0) place.layer += model.dimensions().layers;
    if (place.layer < 0 || place.layer >= model.dimensions().layers ||
        place.head >= heads_with_input(model, place.layer, input)) {
      refuse_receiver(verbatim(model.name()) + " has no " +
                          (input == PatchedKind::q ? "head " : "key/value head ") +
                          receiver_text(given),
                      input == PatchedKind::q ? "" : "k and v name key/value heads");
    }
    if (input != PatchedKind::q && model.spec().sharing_of(place.layer).from) {
      refuse_receiver("layer " + std::to_string(place.layer) +
                      " reads keys and values of an earlier layer");
    }
    if (place.layer <= first) {
      refuse_receiver(receiver_text(given) + " is not in a layer after the senders");
    }
    return PathReceiver{.layer = place.layer, .head = place.head, .input = input};
  };
  const auto input_of = [](Role role) {
    if (role == Role::query) return PatchedKind::q;
    return role == Role::key ? PatchedKind::k : PatchedKind::v;
  };
  if (receivers.size() == 1 && !receivers.front().input) {
    std::vector<PathTarget> out;
    for (const PatchedKind input : kPathInputs) {
      out.push_back({receiver_of(receivers.front(), input)});
    }
    return out;
  }
  PathTarget together;
  for (const HeadInput& given : receivers) {
    if (given.logits) refuse_receiver("logits cannot be combined with heads");
    if (!given.input) {
      refuse_receiver("several receivers need inputs", "for example: L5H3.q,L6H0.q");
    }
    together.push_back(receiver_of(given, input_of(*given.input)));
  }
  return {together};
}

/// Adds the composition by weights of each path.
void add_compositions(std::span<const Model> models, const Context& context,
                      std::vector<PathItem>& paths) {
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    items.push_back({.run = [&, index](const Compute& compute) {
      CompositionByWeights composition(models[index], compute);
      for (PathItem& item : paths) {
        if (item.model != index) continue;
        for (const PathTarget& target : item.request.targets) {
          item.composition.push_back(composition.mean(item.request.senders, target));
        }
      }
    }});
  }
  run_queue(items, context, {}, {"model", "models"});
}

// Rows.

/// "layer 2" for all heads of one layer, else "L2H0,L2H3".
std::string senders_text(const std::vector<HeadIndex>& senders, const Model& model) {
  const std::int64_t layer = senders.front().layer;
  const bool one_layer =
      std::ranges::all_of(senders, [&](const HeadIndex& one) { return one.layer == layer; });
  if (one_layer && senders.size() > 1 &&
      std::ssize(senders) == heads_with_input(model, layer, PatchedKind::q)) {
    return "layer " + std::to_string(layer);
  }
  std::vector<std::string> texts;
  for (const HeadIndex& sender : senders) texts.push_back(head_name(sender.layer, sender.head));
  return join(texts, ",");
}

/// "logits", "layer 5.q" for all heads of one layer, else "L5H3.q,L6H0.q".
std::string target_text(const PathTarget& target, const Model& model) {
  if (target.empty()) return "logits";
  const PathReceiver& first = target.front();
  const auto input = [](const PathReceiver& receiver) {
    return "." + std::string(role_name(role_of_input(receiver.input)));
  };
  const bool one_layer = std::ranges::all_of(target, [&](const PathReceiver& receiver) {
    return receiver.layer == first.layer && receiver.input == first.input;
  });
  if (one_layer && target.size() > 1 &&
      std::ssize(target) == heads_with_input(model, first.layer, first.input)) {
    return "layer " + std::to_string(first.layer) + input(first);
  }
  std::vector<std::string> texts;
  for (const PathReceiver& receiver : target) {
    texts.push_back(head_name(receiver.layer, receiver.head) + input(receiver));
  }
  return join(texts, ",");
}

void add_path_rows(const Model& model, const PathItem& item, EffectRows& rows) {
  const MetricGap gap = item.gap();
  for (std::size_t at = 0; at < item.request.targets.size(); ++at) {
    Record row = {{"model", model.name()},
                  {"sender", senders_text(item.request.senders, model)},
                  {"receiver", target_text(item.request.targets[at], model)}};
    add_effects(row, gap, item.found.effects[at].denoised, item.found.effects[at].noised);
    row.add("composition", item.composition[at]);
    rows.add(std::move(row), item.certainties[at]);
  }
}

/// FLOPs relative to one run of all prompts.
double path_runs(const PathRequest& request, std::int64_t layers) {
  double runs = 4;
  for (const PathTarget& target : request.targets) {
    if (target.empty()) continue;
    const std::int64_t first = std::ranges::min(target, {}, &PathReceiver::layer).layer;
    runs += 2 * static_cast<double>(layers - first) / static_cast<double>(layers);
  }
  return runs;
}

}  // namespace

Parameters path_parameters() {
  using enum ParameterType;
  return {{.name = "sender",
           .type = text,
           .help = "with {prompts}: path patching: heads whose output on the other prompt reaches "
                   "only the {receiver}: L0H1,L2H0, each-layer (all heads of one layer at a time) "
                   "or each-head",
           .metavariable = "HEADS"},
          {.name = "through_mlps",
           .type = flag,
           .help = "with {sender}: recompute the MLPs between senders and receivers"},
          {.name = "freeze_norms",
           .type = flag,
           .help = "with {sender}: keep the scale of the norm before the receivers"}};
}

PathPatchingRequest path_request(const Arguments& arguments, PromptsRequest prompts,
                                 const ScorePositions& scored) {
  const std::string patching = arguments.text("patching");
  const auto* receivers = arguments.find<std::vector<HeadInput>>("receiver");
  const std::string senders = arguments.text("sender");
  if (arguments.given("layers") && senders != kEachLayer && senders != kEachHead) {
    throw Error(ErrorKind::usage,
                {.parameter = "layers", .problem = "requires {sender} each-layer or each-head"});
  }
  return {.prompts = std::move(prompts),
          .senders = senders,
          .layers = arguments.layers("layers"),
          .receivers = receivers == nullptr ? std::vector<HeadInput>() : *receivers,
          .through_mlps = arguments.flag("through_mlps"),
          .freeze_norms = arguments.flag("freeze_norms"),
          .metric = arguments.text("metric"),
          .directions = {.denoising = patching != "noising", .noising = patching != "denoising"},
          .scored = &scored};
}

void run_path_patching(std::span<const Model> models, const PathPatchingRequest& request,
                       const Context& context, RowSink& sink) {
  if (request.prompts.of_models.front().corrupted.empty()) {
    throw Error(ErrorKind::usage, {.parameter = "sender",
                                   .problem = "path patching requires corrupted prompts",
                                   .hint = "add a 'corrupted' text to each prompt"});
  }
  const ReadyModels ready(models, context);
  std::vector<PathItem> paths;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const AnsweredPrompts& prompts = request.prompts.of_models[index];
    check_answers(ready.pass(index), prompts);
    note_long_prompts(ready.pass(index), prompts, sink);
    if (request.freeze_norms) check_frozen_norms(ready.pass(index));
    const PromptMeasure measure =
        prompt_measure(metric_named(request.metric), *request.scored, prompts.clean);
    for (const std::vector<HeadIndex>& senders : sender_sets(request, model)) {
      PathItem& item = paths.emplace_back();
      item.model = index;
      item.request = {.senders = senders,
                      .targets = request.receivers.empty()
                                     ? all_targets(senders, model, request.senders == kEachHead)
                                     : given_targets(request.receivers, senders, model),
                      .through_mlps = request.through_mlps,
                      .freeze_norms = request.freeze_norms,
                      .measure = measure,
                      .directions = request.directions};
    }
  }
  std::vector<QueueItem> items;
  for (PathItem& item : paths) {
    const ForwardPass& pass = ready.pass(item.model);
    const Model& model = models[item.model];
    const AnsweredPrompts& prompts = request.prompts.of_models[item.model];
    const TextRows rows = prompt_rows(prompts);
    const auto layers = static_cast<double>(model.dimensions().layers);
    const std::uint64_t kept = sizeof(float) * static_cast<std::uint64_t>(rows.all) *
                               static_cast<std::uint64_t>(model.dimensions().layers) * 6 *
                               static_cast<std::uint64_t>(model.dimensions().width);
    items.push_back(
        {.flops = path_runs(item.request, model.dimensions().layers) *
                  static_cast<double>(rows.all) * layer_parameters(model) * layers,
         .memory_bytes =
             run_bytes(model.spec(), sequences_at_once(rows.longest), rows.longest) + kept,
         .run = [&](const Compute& compute) {
           item.found = patch_paths(pass, prompts, item.request, compute);
           for (const PositionPatchEffect& effect : item.found.effects) {
             item.certainties.push_back(certainties_of(item.gap(), effect.denoised, effect.noised,
                                                       request.prompts.groups));
           }
         }});
  }
  run_queue(items, ready.rest(), {}, {"set of senders", "sets of senders"});
  add_compositions(models, ready.rest(), paths);

  ReportHead head{.command = "ablate", .parameters = request.prompts.parameters};
  std::vector<std::string> receivers;
  for (const HeadInput& receiver : request.receivers) receivers.push_back(receiver_text(receiver));
  head.parameters.add("sender", request.senders)
      .add("layers", request.layers.parameter())
      .add("receiver", receivers.empty() ? Value() : Value(join(receivers, ",")))
      .add("through_mlps", request.through_mlps)
      .add("freeze_norms", request.freeze_norms)
      .add("metric", request.metric)
      .add("patching", patching_name(request.directions));
  request.scored->add_to(head.parameters);
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  write_effect_rows(models, request.prompts, paths, sink, add_path_rows,
                    [&](const Model& model, const PathItem& item) {
                      note_unclear_gap(model.name(), item.gap(), sink);
                    });
  sink.end();
}

}  // namespace attnscope
