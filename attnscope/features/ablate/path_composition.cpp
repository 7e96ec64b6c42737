#include "attnscope/features/ablate/path_composition.h"

#include <cmath>
#include <utility>

#include "attnscope/features/common/circuit_weights.h"

namespace attnscope {

std::optional<double> CompositionByWeights::mean(const std::vector<HeadIndex>& senders,
                                                 const PathTarget& target) {
  double sum = 0;
  std::int64_t count = 0;
  for (const PathReceiver& receiver : target) {
    const HeadShape& heads = model_.spec().dimensions_of(receiver.layer).heads;
    for (const HeadIndex& sender : senders) {
      if (sender.layer >= receiver.layer) continue;
      const Matrix<double>* scores = this->scores(sender.layer, receiver.layer, receiver.input);
      if (scores == nullptr) return std::nullopt;
      for (std::int64_t head = 0; head < heads.heads; ++head) {
        const bool reads = receiver.input == PatchedKind::q ? head == receiver.head
                                                            : heads.kv_head(head) == receiver.head;
        if (!reads) continue;
        const double score = (*scores)(head, sender.head);
        if (std::isnan(score)) return std::nullopt;
        sum += score;
        ++count;
      }
    }
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

const CompositionByWeights::ComposingLayer& CompositionByWeights::composing_layer(
    std::int64_t layer) {
  const auto known = layers_.find(layer);
  if (known != layers_.end()) return known->second;
  ComposingLayer out;
  const CircuitVariant variant;
  for (const Role circuit : {Role::qk, Role::ov}) {
    const LoadedCircuit loaded = load_circuit(model_, layer, circuit, variant);
    if (!loaded.skipped.empty()) continue;
    const HeadRange all{.first = 0, .count = loaded.heads.heads};
    if (circuit == Role::ov)
      out.writers.push_back(prepare_writers(loaded.weights(), all, compute_));
    for (std::size_t at = 0; at < kPathInputs.size(); ++at) {
      if ((kPathInputs[at] == PatchedKind::v) != (circuit == Role::ov)) continue;
      out.readers.emplace(kPathInputs[at],
                          prepare_readers(loaded.weights(), kReadingKinds[at], all, compute_));
    }
  }
  return layers_.emplace(layer, std::move(out)).first->second;
}

const Matrix<double>* CompositionByWeights::scores(std::int64_t writer, std::int64_t reader,
                                                   PatchedKind input) {
  const auto key = std::tuple(writer, reader, input);
  const auto known = scores_.find(key);
  if (known != scores_.end()) return &known->second;
  const ComposingLayer &from = composing_layer(writer), &to = composing_layer(reader);
  const auto readers = to.readers.find(input);
  if (from.writers.empty() || readers == to.readers.end()) return nullptr;
  // Attention that also reads the embedding, as in Zamba2, has other inputs.
  if (readers->second.readers.cols() != from.writers.front().written.cols()) return nullptr;
  return &scores_.emplace(key, composition_scores(readers->second, from.writers.front(), compute_))
              .first->second;
}

}  // namespace attnscope
