#include "attnscope/interventions/label_ablation.h"

namespace attnscope {
namespace {

/// Appends the label logits of each text of a chunk, from the last states of the chunk.
void add_label_logits(const ForwardPass& pass, const TextChunk& chunk,
                      MatrixView<const float> states, std::vector<LabelLogits>& into,
                      const Compute& compute) {
  std::int64_t row = 0;
  for (const TokenIds& ids : chunk.texts) {
    const Matrix<float> logits =
        pass.label_logits(states.row_block(row, std::ssize(ids)), ids, compute);
    into.emplace_back(logits.data(), logits.data() + logits.cols());
    row += std::ssize(ids);
  }
}

}  // namespace

LayerLabelEffects ablate_labels(const ForwardPass& pass, std::span<const TokenIds> texts,
                                std::int64_t layer, const AskedParts& asked, Replacement how,
                                const Compute& compute) {
  const LayerInStack place{.layer = layer};
  const std::vector<PartOfLayer> parts = parts_of_layer(pass, place, asked);
  LayerLabelEffects out;
  for (const PartOfLayer& part : parts) out.effects.push_back({.part = part, .logits = {}});
  const LayerParts of_layer(pass, place, texts, {}, compute);
  const Replacements replacements(of_layer, how, /*length=*/0);
  for (const TextChunk& chunk : of_layer.chunks()) {
    add_label_logits(pass, chunk, of_layer.run(chunk, {}).view(), out.clean, compute);
    of_layer.run_replaced(chunk, parts, replacements.of(chunk),
                          [&](std::size_t part, MatrixView<const float> states) {
                            add_label_logits(pass, chunk, states, out.effects[part].logits,
                                             compute);
                          });
  }
  return out;
}

}  // namespace attnscope
