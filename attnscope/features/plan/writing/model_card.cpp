#include "attnscope/features/plan/writing/model_card.h"

#include <cmath>

#include "attnscope/base/text.h"

namespace attnscope {

std::string rounded_text(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return shortest_decimal(std::round(value * scale) / scale);
}

std::string model_card(const Model& model, const PlanFile& plan, const PlanWords& words,
                       double nll_before, const ModelSize& before, const ModelSize& after,
                       const PlanText& text) {
  const auto row = [](const std::string& what, const std::string& then, const std::string& now) {
    return "| " + what + " | " + then + " | " + now + " |\n";
  };
  const auto* source = text.parameters.find("source");
  std::string card = "---\nlibrary_name: transformers\nbase_model: " + model.name() +
                     "\ntags:\n- attnscope\n---\n\n# " + model.name() + ", compressed\n\n";
  card += "Compressed with attnscope from " + model.name() + ": " +
          (plan.choices.size() == 1 ? words.methods + ", " : "") + words.choices +
          ". The weights were not trained afterwards.\n\n| | before | after |\n|---|---|---|\n";
  card += row("parameters", std::to_string(before.parameters), std::to_string(after.parameters));
  card += row("KV cache, bytes per token (16 bit)", std::to_string(before.kv_cache_bytes_per_token),
              std::to_string(after.kv_cache_bytes_per_token));
  card += row("perplexity", rounded_text(std::exp(nll_before), 3),
              rounded_text(std::exp(plan.mean_nll_after), 3));
  card += "\nPerplexity was measured on " + counted(text.held_out.size(), "window") +
          " of held-out text. Calibration used " + counted(text.calibration.size(), "window") +
          " of at most " + std::to_string(plan.length) + " tokens";
  if (source != nullptr && source->get<std::string>() != nullptr) {
    card += " of " + *source->get<std::string>();
  }
  card += ".\n";
  if (plan.choices.front().method->allocates_ranks()) {
    card +=
        "\nThe low-rank matrices are stored in their original shapes: this saves nothing in "
        "standard runtimes.\n";
  }
  return card;
}

}  // namespace attnscope
