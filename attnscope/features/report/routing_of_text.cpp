#include "attnscope/features/report/routing_of_text.h"

#include <algorithm>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/experts/run.h"

namespace attnscope {

SavedRouting::SavedRouting(const Model& model, const std::vector<TokenIds>& sequences)
    : model_(model) {
  const auto experts = static_cast<std::uint64_t>(model.dimensions().experts);
  if (experts == 0 || sequences.empty()) return;
  // Attention batches contain sequences of one length.
  const bool alike = std::all_of(sequences.begin(), sequences.end(), [&](const TokenIds& ids) {
    return ids.size() == sequences.front().size();
  });
  if (!alike) return;
  const auto at_once = static_cast<std::size_t>(sequences_at_once(std::ssize(sequences.front())));
  batches_ = (sequences.size() + at_once - 1) / at_once;
  // Pairs of experts per batch and layer.
  constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;
  const auto layers = static_cast<std::uint64_t>(model.dimensions().layers);
  const auto of_layer = checked_mul(experts * sizeof(std::int64_t), experts);
  const auto of_batch = of_layer ? checked_mul(*of_layer, layers) : std::nullopt;
  const auto bytes = of_batch ? checked_mul(*of_batch, batches_) : std::nullopt;
  fits_ = bytes && *bytes <= kMaxBytes;
}

Context SavedRouting::watching(const Context& context) {
  Context out = context;
  if (fits_) out.watchers.push_back(this);
  return out;
}

void SavedRouting::on_routing(const WorkItem& batch, const LayerRouting& routing) {
  Outcome outcome = routing_outcome(routing, model_);
  const std::scoped_lock lock(mutex_);
  seen_[batch.batch->first].insert_or_assign(routing.layer, std::move(outcome));
}

Context SavedRouting::giving(const Context& context) const {
  if (seen_.size() != batches_ || batches_ == 0) return context;
  Context out = context;
  out.compute_elsewhere = [this](const WorkItem& item, const std::stop_token&) {
    const auto& of_batch = seen_.at(item.batch->first);
    std::vector<Outcome> outcomes;
    for (const std::int64_t layer : item.batch->layers) outcomes.push_back(of_batch.at(layer));
    return outcomes;
  };
  return out;
}

}  // namespace attnscope
