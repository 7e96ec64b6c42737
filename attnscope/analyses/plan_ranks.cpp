// Ranks of single matrices: what each costs by a probe, and which to take under a budget.
#include <algorithm>
#include <optional>

#include "attnscope/analyses/planner.h"
#include "attnscope/smaller/measure.h"
#include "attnscope/smaller/truncation.h"

namespace attnscope {
namespace {

/// The probe's rank: half of where factors stop to save anything.
std::int64_t probed_rank(const RankOptions& options) {
  return std::max<std::int64_t>(1, options.break_even() / 2);
}

/// The first windows that have so many tokens together.
std::vector<TokenIds> probe_windows(const std::vector<TokenIds>& windows, std::int64_t tokens) {
  std::vector<TokenIds> out;
  for (const TokenIds& window : windows) {
    if (tokens <= 0) break;
    const auto count = std::min<std::int64_t>(tokens, std::ssize(window));
    out.emplace_back(window.begin(), window.begin() + count);
    tokens -= count;
  }
  return out;
}

}  // namespace

const RankTable& Planner::ranks() {
  if (!ranks_.places.empty()) return ranks_;
  const std::vector<TokenIds> windows =
      probe_windows(request_.text.calibration, request_.probe_tokens);
  std::optional<Divergence> divergence;
  if (request_.method == RankMethod::kl) {
    divergence.emplace(model_, MeasuredText{windows, request_.text.mask}, compute_);
  }
  for (const std::int64_t layer :
       request_.layers.resolve(model_.dimensions().layers, model_.name())) {
    find_ranks_of(layer, divergence ? &*divergence : nullptr);
  }
  return ranks_;
}

void Planner::find_ranks_of(std::int64_t layer, const Divergence* divergence) {
  const TextStatistics text = calibration_.statistics(compute_);
  std::vector<Role> roles = stored_projections(model_, layer);
  std::erase_if(roles, [&](Role role) {
    const auto& wanted = request_.matrices;
    const bool of_latent = role == Role::query_up || role == Role::kv_up;
    return of_latent ||
           (!wanted.empty() && std::find(wanted.begin(), wanted.end(), role) == wanted.end());
  });
  const std::vector<OutputDirections> directions =
      directions_of_layer(model_, layer, roles, text, compute_);
  std::vector<ChangedModel> changed;
  for (std::size_t at = 0; at < roles.size(); ++at) {
    compute_.check_stop();
    const Matrix<double> weight = canonical_matrix(model_, layer, roles[at]);
    ranks_.places.emplace_back(layer, roles[at]);
    const RankOptions& options = ranks_.options.emplace_back(RankOptions{
        .rows = weight.rows(), .cols = weight.cols(), .energies = directions[at].energies});
    if (divergence == nullptr) continue;
    LayerMatrices own;
    own.weights.emplace(roles[at],
                        truncated(weight.view(), directions[at], probed_rank(options), compute_));
    changed.emplace_back(model_).set_layer(layer, own);
  }
  if (divergence == nullptr || changed.empty()) return;
  for (const double kl : divergence->of(changed, layer, compute_)) {
    RankOptions& options = ranks_.options[ranks_.probes.size()];
    const double dropped = options.dropped(probed_rank(options));
    ranks_.probes.push_back(kl);
    options.weight = dropped > 0 ? kl / dropped : 0;
  }
}

Choice Planner::at_budget(std::int64_t parameters) {
  const RankTable& table = ranks();
  Choice out{.form = Form::ranks, .size = parameters};
  std::vector<std::int64_t> ranks;
  switch (request_.method) {
    case RankMethod::kl: ranks = allocate_ranks(table.options, parameters, request_.round); break;
    case RankMethod::energy: ranks = energy_ranks(table.options, parameters); break;
    case RankMethod::uniform:
    case RankMethod::plain: ranks = uniform_ranks(table.options, parameters); break;
  }
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (ranks[at] > 0) out.ranks.emplace(table.places[at], ranks[at]);
  }
  return out;
}

double Planner::expected_loss(const Choice& choice) {
  if (choice.form != Form::ranks || request_.method != RankMethod::kl) return 0;
  const RankTable& table = ranks();
  double sum = 0;
  for (std::size_t at = 0; at < table.places.size(); ++at) {
    const auto own = choice.ranks.find(table.places[at]);
    if (own == choice.ranks.end()) continue;
    sum += table.options[at].weight * table.options[at].dropped(own->second);
  }
  return sum;
}

}  // namespace attnscope
