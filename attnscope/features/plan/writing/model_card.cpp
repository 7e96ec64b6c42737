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
                     "\ntags:\n- attnscope\n---\n\n# " + model.name() + ", smaller\n\n";
  card += "Made by attnscope from " + model.name() + ": " +
          (plan.choices.size() == 1 ? words.methods + ", " : "") + words.choices +
          ". Nothing was trained.\n\n| | before | after |\n|---|---|---|\n";
  card += row("parameters", std::to_string(before.parameters), std::to_string(after.parameters));
  card += row("KV cache, bytes a token (16 bit)", std::to_string(before.kv_cache_bytes_per_token),
              std::to_string(after.kv_cache_bytes_per_token));
  card += row("perplexity", rounded_text(std::exp(nll_before), 3),
              rounded_text(std::exp(plan.mean_nll_after), 3));
  card += "\nPerplexity is of " + counted(text.held_out.size(), "window") +
          " that it was not fitted to; it was fitted to " +
          counted(text.calibration.size(), "window") + " of " + std::to_string(plan.length) +
          " tokens at most";
  if (source != nullptr && source->get<std::string>() != nullptr) {
    card += " of " + *source->get<std::string>();
  }
  card += ".\n";
  if (plan.choices.front().method->allocates_ranks()) {
    card +=
        "\nThe matrices have lower ranks in the same shapes: this saves nothing in stock "
        "runtimes.\n";
  }
  return card;
}

}  // namespace attnscope
