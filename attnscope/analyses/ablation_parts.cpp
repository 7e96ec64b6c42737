#include "attnscope/analyses/ablation_parts.h"

#include <algorithm>
#include <array>

#include "attnscope/analyses/ablate.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/core/error.h"
#include "attnscope/results/record.h"

namespace attnscope {
namespace {

constexpr std::array kPartNames = {"head", "attention", "mlp"};         // as LayerPart counts
constexpr std::array kReplacementNames = {"mean", "zero", "resample"};  // as Replacement counts

/// Of a layer's pass, and of the head's product, for one token.
struct TokenFlops {
  double layer = 0, head = 0;
};
TokenFlops token_flops(const Model& model) {
  const Dimensions& dimensions = model.dimensions();
  SequenceBatch one{.first = 0, .tokens = {{0}}, .layers = {0}};
  WorkItem item;
  item.batch = std::move(one);
  const ModelSource source{.model = &model};
  return {.layer = batch_cost(item, source).flops,
          .head = 2.0 * static_cast<double>(dimensions.width) *
                  static_cast<double>(dimensions.vocabulary.value_or(0))};
}

}  // namespace

std::string_view part_name(LayerPart part) { return kPartNames[static_cast<std::size_t>(part)]; }

Replacement replacement_named(const std::string& name) {
  const auto* found = std::find(kReplacementNames.begin(), kReplacementNames.end(), name);
  if (found == kReplacementNames.end()) refuse_field("how");
  return static_cast<Replacement>(found - kReplacementNames.begin());
}

AskedParts parts_named(const std::string& name) {
  const bool all = name == "all", layers = name == "layers";
  return {.heads = all || name == "heads",
          .attention = all || layers || name == "attention",
          .mlp = all || layers || name == "mlp"};
}

std::string parts_or_usual(const std::string& parts, const Model& model,
                           const std::vector<std::int64_t>& layers, RowSink& sink) {
  if (!parts.empty()) return parts;
  std::int64_t heads = 0;
  for (const std::int64_t layer : layers) heads += model.spec().dimensions_of(layer).heads.heads;
  if (heads <= kUsualHeads) return "all";
  sink.add_note(model.name() + ": attention and MLP of each layer; its " + std::to_string(heads) +
                " heads cost more: ask for them with {parts} all, or some with {layers}");
  return "layers";
}

std::int64_t count_parts(const AskedParts& parts, const Model& model, std::int64_t layer) {
  return (parts.attention ? 1 : 0) + (parts.mlp ? 1 : 0) +
         (parts.heads ? model.spec().dimensions_of(layer).heads.heads : 0);
}

double ablation_flops(const AskedParts& parts, const Model& model, std::int64_t layer,
                      double rows) {
  const TokenFlops flops = token_flops(model);
  const auto variants = static_cast<double>(count_parts(parts, model, layer) + 1);
  const auto layers = static_cast<double>(model.dimensions().layers);
  const auto before = static_cast<double>(layer);
  return rows * (before * flops.layer + variants * ((layers - before) * flops.layer + flops.head));
}

std::uint64_t ablation_bytes(const Model& model, std::int64_t rows, std::int64_t length) {
  const Dimensions& dimensions = model.dimensions();
  const double kept =
      static_cast<double>(rows) *
      static_cast<double>(2 * dimensions.width + dimensions.heads.total_dim(Role::output)) *
      sizeof(float);
  constexpr double kLogits = 4.0 * (64 << 20);
  return run_bytes(model.spec(), std::max<std::int64_t>(1, 512 / length), length) +
         static_cast<std::uint64_t>(kept + kLogits);
}

}  // namespace attnscope
