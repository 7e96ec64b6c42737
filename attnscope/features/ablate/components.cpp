#include "attnscope/features/ablate/components.h"

#include <algorithm>
#include <array>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/ablate/run.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/rows/record.h"

namespace attnscope {
namespace {

// In the order of LayerPart.
constexpr std::array kPartNames = {"head", "attention", "mixer", "mlp"};
constexpr std::array kReplacementNames = {"mean", "zero",
                                          "resample"};  // in the order of Replacement

/// FLOPs of one layer per token.
double layer_flops(const Model& model) {
  const HeadShape heads = largest_dimensions(model.spec()).heads;
  return 2 * layer_parameters(model) + 4 * static_cast<double>(heads.total_dim(Role::query));
}

/// FLOPs of the LM head per token.
double head_flops(const Model& model) {
  const Dimensions& dimensions = model.dimensions();
  return 2.0 * static_cast<double>(dimensions.width) *
         static_cast<double>(dimensions.vocabulary.value_or(0));
}

/// Number of heads of the layer; 0 if it has no attention.
std::int64_t count_heads(const Model& model, std::int64_t layer) {
  if (!model.dimensions().attends(layer)) return 0;
  return model.spec().dimensions_of(layer).heads.heads;
}

double layers_of(const Model& model) { return static_cast<double>(model.dimensions().layers); }

/// FLOPs of a pass over all texts: per layer of the ablated stack, in all stacks before it, and
/// after its layers.
struct PassFlops {
  double layer = 0, before = 0, after = 0;
};

PassFlops pass_flops(const Model& model, const AblationRows& rows) {
  const auto all = static_cast<double>(rows.texts.all),
             sources = static_cast<double>(rows.sources.all);
  if (rows.sources.all == 0) {
    return {.layer = all * layer_flops(model), .after = all * head_flops(model)};
  }
  const Model& encoder = *model.sibling("encoder");
  const Model& decoder = *model.sibling("decoder");
  const double of_encoder = sources * layer_flops(encoder);
  // Half of the cross-attention FLOPs depend on the source.
  const double across = layer_flops(*model.sibling("cross")) / 2;
  const double of_decoder = all * (layer_flops(decoder) + across) + sources * across;
  const double head = all * head_flops(decoder);
  if (model.stack() != "encoder") {
    return {.layer = of_decoder, .before = layers_of(encoder) * of_encoder, .after = head};
  }
  return {.layer = of_encoder, .after = layers_of(decoder) * of_decoder + head};
}

}  // namespace

std::string_view part_name(LayerPart part) { return kPartNames[static_cast<std::size_t>(part)]; }

Replacement replacement_named(const std::string& name) {
  const auto* found = std::find(kReplacementNames.begin(), kReplacementNames.end(), name);
  if (found == kReplacementNames.end()) refuse_field("ablation");
  return static_cast<Replacement>(found - kReplacementNames.begin());
}

AskedParts parts_named(const std::string& kinds) {
  AskedParts asked{.heads = false, .attention = false, .mixer = false, .mlp = false};
  for (const std::string& kind : split(kinds, ',')) {
    const bool all = kind == "all", layers = kind == "layers";
    asked.heads |= all || kind == "heads";
    asked.attention |= all || layers || kind == "attention";
    asked.mixer |= all || layers || kind == "mixer";
    asked.mlp |= all || layers || kind == "mlp";
  }
  return asked;
}

std::string parts_or_usual(const std::string& parts, const Model& model,
                           const LayerSelection& layers, RowSink& sink) {
  if (!parts.empty()) return parts;
  std::int64_t heads = 0;
  for (const std::int64_t layer : layers.resolve(model.dimensions().layers, model.name())) {
    heads += count_heads(model, layer);
  }
  if (heads <= kUsualHeads) return "all";
  const std::string mixer = model.dimensions().mixers == nullptr ? " and MLP" : ", mixer and MLP";
  sink.add_note(model.name() + ": ablating only the attention" + mixer +
                " of each layer, because its " + std::to_string(heads) +
                " heads take long; pass {components} all, or fewer {layers}");
  return "layers";
}

AblationRows rows_of(const SequenceBatch& batch) {
  return {.texts = text_rows(batch.tokens), .sources = text_rows(batch.sources)};
}

LayerInStack::Of stack_of(const WorkItem& item, const Model& model) {
  if (item.batch->sources.empty()) return LayerInStack::Of::model;
  if (model.stack() == "encoder") return LayerInStack::Of::encoder;
  return model.stack() == "cross" ? LayerInStack::Of::cross : LayerInStack::Of::model;
}

const char* noun_of_text(const ScoredTexts& texts) {
  return texts.sources.empty() ? "window" : "pair";
}

void check_resampling(const ScoredTexts& texts, std::size_t model) {
  const auto refuse = [](const std::string& problem) {
    throw Error(ErrorKind::usage, {.parameter = "ablation", .problem = problem});
  };
  if (texts.sequences[model].size() < 2) {
    refuse("resample requires at least two " + std::string(noun_of_text(texts)) + "s");
  }
  for (const auto* all : {&texts.sequences[model], &texts.sources_of(model)}) {
    for (const TokenIds& ids : *all) {
      if (ids.size() == all->front().size()) continue;
      refuse("resample requires " + std::string(noun_of_text(texts)) + "s of equal length");
    }
  }
}

MeanWithError mean_over(const std::vector<double>& sums, const std::vector<std::int64_t>& counts) {
  std::vector<double> parts, tokens;
  for (std::size_t at = 0; at < sums.size(); ++at) {
    if (counts[at] == 0) continue;
    parts.push_back(sums[at]);
    tokens.push_back(static_cast<double>(counts[at]));
  }
  return ratio_of_sums(parts, tokens);
}

std::int64_t count_parts(const AskedParts& parts, const Model& model, std::int64_t layer) {
  const Dimensions& dimensions = model.dimensions();
  const bool has_mlp = model.stack() != "cross" && dimensions.has_mlp(layer);
  return (parts.attention && dimensions.attends(layer) ? 1 : 0) +
         (parts.mixer && dimensions.mixes(layer) ? 1 : 0) + (parts.mlp && has_mlp ? 1 : 0) +
         (parts.heads ? count_heads(model, layer) : 0);
}

std::vector<std::int64_t> layers_with_parts(const AskedParts& parts, const LayerSelection& layers,
                                            const Model& model, RowSink& sink) {
  if (!parts.mixer && !parts.mlp) return attention_layers(layers, model, &sink);
  std::vector<std::int64_t> having, others;
  for (const std::int64_t layer : layers.resolve(model.dimensions().layers, model.name())) {
    (count_parts(parts, model, layer) > 0 ? having : others).push_back(layer);
  }
  if (others.empty()) return having;
  const bool only_mixers = parts.mixer && !parts.mlp && !parts.attention && !parts.heads;
  const std::string problem =
      model.name() + ": " + noun_for(others.size(), "layer") + " " + runs_text(others) +
      (others.size() == 1 ? " has " : " have ") +
      (only_mixers ? "no mixer other than attention" : "none of these components");
  if (!having.empty()) {
    sink.add_note(problem);
  } else if (model.stack() != "cross" || !parts.mlp) {  // the other stacks have the MLPs
    throw Error(ErrorKind::usage, {.parameter = "components", .problem = problem});
  }
  return having;
}

double ablation_flops(const AskedParts& parts, const Model& model, std::int64_t layer,
                      const AblationRows& rows) {
  const PassFlops flops = pass_flops(model, rows);
  const auto variants = static_cast<double>(count_parts(parts, model, layer) + 1);
  const auto before = static_cast<double>(layer);
  return flops.before + before * flops.layer +
         variants * ((layers_of(model) - before) * flops.layer + flops.after);
}

double set_ablation_flops(std::int64_t sets, const Model& model, std::int64_t layer,
                          const AblationRows& rows) {
  const PassFlops flops = pass_flops(model, rows);
  const auto before = static_cast<double>(layer);
  // In addition to the sets: one run for the values that replace outputs, and a clean run.
  return flops.before + before * flops.layer +
         static_cast<double>(sets + 2) * ((layers_of(model) - before) * flops.layer + flops.after);
}

std::uint64_t ablation_bytes(const Model& model, const AblationRows& rows) {
  const Dimensions& dimensions = model.dimensions();
  const bool encodes = rows.sources.all > 0 && model.stack() == "encoder";
  const std::int64_t of_heads =
      model.stack() == "cross" ? 2 : 1;  // cross-attention: also those of its self-attention
  const std::int64_t numbers = (dimensions.mixers == nullptr ? 2 : 3) * dimensions.width +
                               of_heads * dimensions.heads.total_dim(Role::output);
  const double kept =
      sizeof(float) * (static_cast<double>(encodes ? rows.sources.all : rows.texts.all) *
                           static_cast<double>(numbers) +
                       static_cast<double>(rows.sources.all * dimensions.width));
  constexpr double kLogits = 4.0 * (64 << 20);
  const std::int64_t together =
      sequences_at_once(std::max(rows.texts.longest, rows.sources.longest));
  const auto bytes_of = [&](const Model& runs) {
    return run_bytes(runs, together, rows.texts.longest, rows.sources.longest);
  };
  return (encodes ? bytes_of(model.beside("decoder")) : bytes_of(model)) +
         static_cast<std::uint64_t>(kept + kLogits);
}

}  // namespace attnscope
