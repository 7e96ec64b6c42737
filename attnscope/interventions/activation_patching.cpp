#include "attnscope/interventions/activation_patching.h"

#include "attnscope/forward/scored_positions.h"

namespace attnscope {
namespace {

/// Runs prompts starting at one layer.
class PromptRun {
 public:
  PromptRun(const ForwardPass& pass, const AnsweredPrompts& prompts,
            std::span<const TokenIds> texts, std::int64_t layer, const Compute& compute)
      : pass_(pass),
        prompts_(prompts),
        compute_(compute),
        parts_(pass, {.layer = layer}, texts, {}, compute) {}

  const LayerParts& parts() const { return parts_; }

  std::vector<double> as_it_is() const {
    std::vector<double> out;
    for (const TextChunk& chunk : parts_.chunks()) {
      append(out, differences(chunk, parts_.run(chunk, {}).view()));
    }
    return out;
  }

  /// Writes the logit differences of component c to take(c).
  void replaced(std::span<const PartOfLayer> parts,
                const std::function<LayerParts::Replace(const TextChunk&)>& replace,
                const std::function<std::vector<double>&(std::size_t)>& take) const {
    for (const TextChunk& chunk : parts_.chunks()) {
      parts_.run_replaced(chunk, parts, replace(chunk),
                          [&](std::size_t part, MatrixView<const float> states) {
                            append(take(part), differences(chunk, states));
                          });
    }
  }

 private:
  static void append(std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  std::vector<double> differences(const TextChunk& chunk, MatrixView<const float> states) const {
    const std::size_t count = chunk.texts.size();
    return logit_differences(pass_, picked_rows(states, last_rows(chunk.texts)).view(),
                             std::span(prompts_.right).subspan(chunk.first, count),
                             std::span(prompts_.wrong).subspan(chunk.first, count), compute_);
  }

  const ForwardPass& pass_;
  const AnsweredPrompts& prompts_;
  const Compute& compute_;
  LayerParts parts_;
};

}  // namespace

LayerPatch patch_layer(const ForwardPass& pass, const AnsweredPrompts& prompts, std::int64_t layer,
                       const AskedParts& asked, std::optional<Replacement> how,
                       const Compute& compute) {
  const std::vector<PartOfLayer> parts = parts_of_layer(pass, {.layer = layer}, asked);
  LayerPatch out;
  for (const PartOfLayer& part : parts) out.effects.push_back({.part = part});
  const auto destroyed = [&](std::size_t part) -> std::vector<double>& {
    return out.effects[part].destroyed;
  };
  const PromptRun clean(pass, prompts, prompts.clean, layer, compute);
  out.clean = clean.as_it_is();
  if (how) {
    const Replacements replacements(clean.parts(), *how, /*length=*/0);
    clean.replaced(
        parts, [&](const TextChunk& chunk) { return replacements.of(chunk); }, destroyed);
    return out;
  }
  const PromptRun corrupted(pass, prompts, prompts.corrupted, layer, compute);
  out.corrupted = corrupted.as_it_is();
  // Clean and corrupted texts have the same lengths, so their chunks have the same rows.
  clean.replaced(
      parts, [&](const TextChunk& chunk) { return given_on(corrupted.parts(), chunk); }, destroyed);
  corrupted.replaced(
      parts, [&](const TextChunk& chunk) { return given_on(clean.parts(), chunk); },
      [&](std::size_t part) -> std::vector<double>& { return out.effects[part].restored; });
  return out;
}

}  // namespace attnscope
