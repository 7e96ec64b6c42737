// Ranks of single matrices: what each costs by a probe, and which to take under a budget.
#include <algorithm>

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
  const TextStatistics text = calibration_.statistics(compute_);
  const auto wanted = [&](Role role) {
    const auto& roles = request_.matrices;
    return roles.empty() || std::find(roles.begin(), roles.end(), role) != roles.end();
  };
  for (const std::int64_t layer :
       request_.layers.resolve(model_.dimensions().layers, model_.name())) {
    for (const Role role : stored_projections(model_, layer)) {
      const bool of_latent = role == Role::query_up || role == Role::kv_up;
      if (!wanted(role) || of_latent) continue;
      compute_.check_stop();
      const Matrix<double> weight = canonical_matrix(model_, layer, role);
      const Matrix<double> moments =
          with_ridge(text.moments(layer, role).mean_second(), text.ridge);
      ranks_.places.emplace_back(layer, role);
      ranks_.options.push_back(
          {.rows = weight.rows(),
           .cols = weight.cols(),
           .energies = output_directions(weight.view(), moments.view(), compute_).energies});
    }
  }
  if (request_.method == RankMethod::kl) probe_ranks();
  return ranks_;
}

void Planner::probe_ranks() {
  const TextStatistics text = calibration_.statistics(compute_);
  const std::vector<TokenIds> windows =
      probe_windows(request_.text.calibration, request_.probe_tokens);
  const Divergence divergence(model_, {windows, request_.text.mask}, compute_);
  for (std::size_t at = 0; at < ranks_.places.size(); ++at) {
    compute_.check_stop();
    RankOptions& options = ranks_.options[at];
    const std::int64_t rank = probed_rank(options);
    const Choice probe{.form = Form::ranks, .ranks = {{ranks_.places[at], rank}}};
    const Model changed = with_ranks(model_, probe, text, compute_).open();
    const double kl = divergence.of(changed, ranks_.places[at].first, compute_);
    const double dropped = options.dropped(rank);
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
