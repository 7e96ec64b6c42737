#include "attnscope/features/lens/logit_lens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attnscope/features/lens/tuned_lens.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/interventions/answer_logits.h"

namespace attnscope {
namespace {

// As StreamPoint counts.
constexpr std::array<std::string_view, 8> kPointNames = {
    "resid_pre",      "attn_out",        "mixer_out", "resid_mid",
    "cross_attn_out", "resid_mid_cross", "mlp_out",   "resid_post"};

std::optional<StreamPoint> component_of(HookPoint point) {
  switch (point) {
    case HookPoint::attn_out: return StreamPoint::attn_out;
    case HookPoint::mixer_out: return StreamPoint::mixer_out;
    case HookPoint::cross_attn_out: return StreamPoint::cross_attn_out;
    case HookPoint::mlp_out: return StreamPoint::mlp_out;
    default: return {};
  }
}

/// Reads what each component adds to the residual stream.
class ComponentHooks : public ForwardHooks {
 public:
  using Keep = std::function<void(const LensState&, MatrixView<const float>)>;

  ComponentHooks(const LensChoice& choice, Keep keep) : choice_(choice), keep_(std::move(keep)) {}

  bool wants(HookPoint point, std::int64_t /*layer*/) const override {
    const auto component = component_of(point);
    return component && (component == StreamPoint::mlp_out ? choice_.mlp_out : choice_.attn_out);
  }
  bool changes(HookPoint /*point*/, std::int64_t /*layer*/) const override { return false; }
  void visit(const HookedValues& values) override {
    keep_({.layer = values.layer, .point = component_of(values.point).value()}, values.values);
  }

 private:
  const LensChoice& choice_;
  Keep keep_;
};

LensReading reading_of(std::span<const float> logits, std::span<const float> final_logits,
                       std::int64_t token, std::int64_t most_likely, const Compute& compute) {
  const TokenOdds here = token_odds(logits, compute);
  const TokenOdds in_the_end = token_odds(final_logits, compute);
  LensReading out{
      .entropy = here.entropy,
      .divergence = divergence(final_logits, in_the_end.log_sum, logits, here.log_sum, compute),
      .final_rank = rank_of(in_the_end.most_likely, logits)};
  const auto logit = static_cast<double>(logits[static_cast<std::size_t>(here.most_likely)]);
  out.top = {
      .token = here.most_likely, .logit = logit, .probability = std::exp(logit - here.log_sum)};
  if (most_likely > 1) out.most_likely = top_tokens(logits, most_likely, compute);
  if (token < 0) return out;
  out.loss = here.log_sum - static_cast<double>(logits[static_cast<std::size_t>(token)]);
  out.rank = rank_of(token, logits);
  return out;
}

/// The given rows of each state; their state names are appended to `states`.
std::vector<Matrix<float>> kept_states(const ForwardPass& pass, std::span<const TokenIds> sequences,
                                       std::span<const TokenIds> sources,
                                       std::span<const std::int64_t> rows, const LensChoice& choice,
                                       std::vector<LensState>& states, const Compute& compute,
                                       const MakeHooks& edits = {}) {
  std::vector<Matrix<float>> kept;
  const auto keep = [&](const LensState& state, MatrixView<const float> stream) {
    states.push_back(state);
    kept.push_back(picked_rows(stream, rows));
    if (choice.tuned != nullptr && state.point == StreamPoint::resid_pre) {
      kept.back() = choice.tuned->translated(state.layer, kept.back().view(), compute);
    }
  };
  ComponentHooks components(choice, keep);
  const bool decodes_components = choice.attn_out || choice.mlp_out;
  ForwardObserver observer{.hooks = decodes_components ? &components : nullptr};
  if (edits) observer.hooks = edits(observer.hooks);
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
    const std::int64_t layers = pass.model().dimensions().layers;
    keep(index < layers ? LensState{.layer = index}
                        : LensState{.layer = layers - 1, .point = StreamPoint::resid_post},
         stream);
  };
  if (choice.middles) {
    observer.on_middle = [&](std::int64_t layer, MatrixView<const float> stream) {
      const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
      keep({.layer = layer,
            .point = weights.cross ? StreamPoint::resid_mid_cross : StreamPoint::resid_mid},
           stream);
    };
  }
  if (sources.empty()) {
    pass.run(sequences, observer, compute);
  } else {
    const EncoderOutput encoder_output = pass.encode(sources, {}, compute);
    pass.run(sequences, observer, compute, {}, &encoder_output);
  }
  return kept;
}

double median_of(std::vector<std::int64_t> ranks) {
  const std::size_t half = ranks.size() / 2;
  std::sort(ranks.begin(), ranks.end());
  const auto upper = static_cast<double>(ranks[half]);
  return ranks.size() % 2 == 1 ? upper : (upper + static_cast<double>(ranks[half - 1])) / 2;
}

}  // namespace

Lens read_lens(const ForwardPass& pass, const ScoredPositions& positions, const LensChoice& choice,
               std::int64_t most_likely, const Compute& compute, const MakeHooks& edits) {
  Lens out;
  const std::vector<Matrix<float>> kept =
      kept_states(pass, positions.inputs, positions.sources, positions.rows, choice, out.states,
                  compute, edits);

  const std::int64_t count = std::ssize(positions.rows);
  out.readings.assign(kept.size(), std::vector<LensReading>(positions.rows.size()));
  const std::int64_t each = rows_of_logits(pass);
  for (std::int64_t first = 0; first < count; first += each) {
    const std::int64_t some = std::min(each, count - first);
    const auto logits_of = [&](const Matrix<float>& state) {
      const Matrix<float> ended = pass.finish(copied(state.view().row_block(first, some)), compute);
      return finite_logits(pass, ended.view(), compute);
    };
    const Matrix<float> final_logits = logits_of(kept.back());
    for (std::size_t state = 0; state < kept.size(); ++state) {
      const Matrix<float> logits = logits_of(kept[state]);
      const auto columns = static_cast<std::size_t>(logits.cols());
      run_parts(compute, static_cast<std::size_t>(some), [&](std::size_t part) {
        const auto row = static_cast<std::int64_t>(part);
        const std::size_t position = static_cast<std::size_t>(first) + part;
        out.readings[state][position] =
            reading_of({&logits(row, 0), columns}, {&final_logits(row, 0), columns},
                       positions.tokens[position], most_likely, compute);
      });
    }
  }
  return out;
}

LensDifferences read_lens_differences(const ForwardPass& pass, std::span<const TokenIds> texts,
                                      std::span<const std::int64_t> right,
                                      std::span<const std::int64_t> wrong, const LensChoice& choice,
                                      const Compute& compute, const MakeHooks& edits) {
  LensDifferences out;
  std::vector<Matrix<float>> kept =
      kept_states(pass, texts, {}, last_rows(texts), choice, out.states, compute, edits);
  for (Matrix<float>& state : kept) {
    const Matrix<float> ended = pass.finish(std::move(state), compute);
    out.differences.push_back(logit_differences(pass, ended.view(), right, wrong, compute));
  }
  return out;
}

void LensSums::add(const LensSums& more) {
  places += more.places;
  loss += more.loss;
  entropy += more.entropy;
  divergence += more.divergence;
  agreeing += more.agreeing;
  ranks.insert(ranks.end(), more.ranks.begin(), more.ranks.end());
}

LensSums lens_sums(std::span<const LensReading> readings) {
  LensSums sums{.places = std::ssize(readings)};
  for (const LensReading& reading : readings) {
    sums.entropy += reading.entropy;
    sums.divergence += reading.divergence;
    if (reading.final_rank == 1) ++sums.agreeing;
    if (!reading.loss) continue;
    sums.loss += *reading.loss;
    sums.ranks.push_back(*reading.rank);
  }
  return sums;
}

Record sums_record(const LensState& state, const LensSums& sums) {
  return {{"layer", state.layer},      {"state", std::string(state_name(state))},
          {"positions", sums.places},  {"loss", sums.loss},
          {"entropy", sums.entropy},   {"kl", sums.divergence},
          {"agreeing", sums.agreeing}, {"ranks", sums.ranks}};
}

LensState read_state(const Record& record) {
  const auto& name = expect<std::string>(record, "state");
  const auto* found = std::ranges::find(kPointNames, name);
  if (found == kPointNames.end()) refuse_field("state");
  return {.layer = expect<std::int64_t>(record, "layer"),
          .point = static_cast<StreamPoint>(found - kPointNames.begin())};
}

LensSums read_sums(const Record& record) {
  LensSums sums{.places = expect<std::int64_t>(record, "positions"),
                .loss = expect<double>(record, "loss"),
                .entropy = expect<double>(record, "entropy"),
                .divergence = expect<double>(record, "kl"),
                .agreeing = expect<std::int64_t>(record, "agreeing"),
                .ranks = expect_vector<std::int64_t>(record, "ranks")};
  if (sums.places < std::ssize(sums.ranks) || sums.places < 0) refuse_field("ranks");
  return sums;
}

std::string_view state_name(const LensState& state) {
  return kPointNames[static_cast<std::size_t>(state.point)];
}

void add_lens_means(Record& row, const LensSums& sums) {
  const auto places = static_cast<double>(sums.places);
  const auto predicted = static_cast<double>(sums.ranks.size());
  const bool asked = !sums.ranks.empty();
  double reciprocal = 0;
  for (const std::int64_t rank : sums.ranks) reciprocal += 1 / static_cast<double>(rank);
  const auto firsts = std::count(sums.ranks.begin(), sums.ranks.end(), 1);
  const auto if_asked = [&](double value) { return asked ? Value(value) : Value(); };
  row.add("loss", if_asked(sums.loss / predicted))
      .add("entropy", sums.entropy / places)
      .add("kl", sums.divergence / places)
      .add("mean_reciprocal_rank", if_asked(reciprocal / predicted))
      .add("median_rank", asked ? Value(median_of(sums.ranks)) : Value())
      .add("top1", if_asked(static_cast<double>(firsts) / predicted))
      .add("agreement", static_cast<double>(sums.agreeing) / places);
}

}  // namespace attnscope
