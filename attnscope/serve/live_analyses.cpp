#include "attnscope/serve/live_analyses.h"

#include <algorithm>
#include <array>

#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/report/sections.h"

namespace attnscope {
namespace {

/// Fastest first, as measured on models of 6 to 12 layers. Composition grows with the square of the
/// number of heads.
constexpr std::array kQuickestFirst = {"similarity", kMatrices,   "mla",         "overlap",
                                       "weights",    "induction", "experts",     "expert_spectra",
                                       "spectrum",   "circuits",  "composition", kDirections};

}  // namespace

bool is_of_text(std::string_view id) { return id == kLens || id == kAblate; }

std::vector<std::string> live_analysis_ids() {
  std::vector<std::string> ids = analysis_ids();
  ids.emplace_back(kMatrices);
  const auto place = [](const std::string& id) {
    return std::find(kQuickestFirst.begin(), kQuickestFirst.end(), id) - kQuickestFirst.begin();
  };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  ids.insert(ids.end(), {kLens, kAblate});
  return ids;
}

bool is_live_of_model(const std::string& id, const Model& model) {
  if (id == kMatrices) return true;
  // In an encoder-decoder, only the residual stream of the decoder reaches an unembedding.
  const bool helps = is_of_encoder_decoder(model) && model.stack() != "decoder";
  if (is_of_text(id)) return input_kind(model) == InputKind::text && !(id == kLens && helps);
  return is_of_model(id, model);
}

std::string live_analysis_line(const std::string& id, const ReportModel& model,
                               const Session& session) {
  if (!is_of_text(id)) return part_line(analysis_part(id, model), session);
  ReportModel on_text = model;
  on_text.arguments = model.arguments.with("text_file", std::string("FILE"));
  if (is_of_encoder_decoder(model.model)) {
    on_text.arguments = on_text.arguments.with("target_file", std::string("TARGETS"));
  }
  return part_line(id == kLens ? lens_part(on_text) : ablate_part(on_text, "all"), session);
}

}  // namespace attnscope
