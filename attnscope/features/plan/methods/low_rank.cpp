// Low-rank factorization: matrices of lower rank, written in their original shapes.
#include "attnscope/features/plan/methods/low_rank.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

ChangedModel lower_ranks(const Model& model, const Choice& choice, const TextStatistics& text,
                         const Compute& compute) {
  for (const auto& [place, rank] : choice.ranks) {
    if (place.first < 0 || place.first >= model.dimensions().layers) {
      throw Error(ErrorKind::format, "layer",
                  "the plan contains layers that " + model.name() + " does not have");
    }
  }
  ChangedModel changed(model, text.dtype);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    std::vector<Role> roles;
    std::vector<std::int64_t> ranks;
    for (auto at = choice.ranks.lower_bound({layer, Role{}});
         at != choice.ranks.end() && at->first.first == layer; ++at) {
      roles.push_back(at->first.second);
      ranks.push_back(at->second);
    }
    const auto shares_tensor = [&](std::size_t at) {
      const auto same = [&](Role role) {
        return model.weight(layer, role).tensor == model.weight(layer, roles[at]).tensor;
      };
      return std::ranges::count_if(roles, same) > 1;
    };
    LayerMatrices together;  // matrices that share a tensor are written together
    std::mutex writing;
    for_matrices(
        model, layer, roles, text, compute,
        [&](std::size_t at, Matrix<double> weight, const MeanMoments& moments, const Compute& own) {
          if (!all_finite(std::as_const(weight).view())) {
            throw Error(ErrorKind::format,
                        std::to_string(layer) + "." + std::string(role_name(roles[at])),
                        "contains NaN or infinity and cannot be factored");
          }
          const OutputDirections directions =
              output_directions(weight.view(), moments, own, ranks[at]);
          Matrix<double> low = truncated(std::move(weight), directions, ranks[at], own);
          const std::lock_guard lock(writing);
          if (shares_tensor(at)) {
            together.weights.emplace(roles[at], std::move(low));
            return;
          }
          LayerMatrices alone;
          alone.weights.emplace(roles[at], std::move(low));
          changed.set_layer(layer, alone);
        });
    changed.set_layer(layer, together);
  });
  return changed;
}

/// Size with factors (rows, rank) and (rank, cols).
ModelSize size_of_factors(const Model& model, const ModelSize& before, const Choice& choice) {
  ModelSize out = before;
  for (const auto& [place, rank] : choice.ranks) {
    const TensorMatrix& matrix = model.weight(place.first, place.second).matrix;
    const std::int64_t more = rank * (matrix.rows + matrix.cols) - matrix.rows * matrix.cols;
    out.parameters += more;
    out.flops_per_token += 2 * static_cast<double>(more);
  }
  return out;
}

/// Layer, matrix and rank of each: "0.q:64,3.up:100".
std::optional<Choice> parse_ranks(const std::string& value, const Model& model) {
  Choice out{.method = low_rank_method()};
  for (const std::string& part : list_parts(value)) {
    const std::size_t dot = part.find('.'), colon = part.find(':');
    if (dot == std::string::npos || colon == std::string::npos || colon < dot) return std::nullopt;
    const auto role = role_from_name(part.substr(dot + 1, colon - dot - 1));
    const auto layer = whole_number(part.substr(0, dot));
    const auto rank = whole_number(part.substr(colon + 1));
    if (!role || !is_projection(*role) || !layer || *layer < 0 ||
        *layer >= model.dimensions().layers || !rank) {
      return std::nullopt;
    }
    out.ranks[{*layer, *role}] = *rank;
  }
  return out;
}

}  // namespace

std::string why_not_ranks(const Model& model, const Choice& choice) {
  for (const auto& [place, rank] : choice.ranks) {
    const std::string matrix =
        std::string(role_name(place.second)) + " in layer " + std::to_string(place.first);
    const bool is_layer = place.first >= 0 && place.first < model.dimensions().layers;
    if (!is_layer || model.weight(place.first, place.second).tensor == nullptr) {
      return verbatim(model.name()) + " has no " + matrix;
    }
    if (place.second == Role::query_up || place.second == Role::kv_up) {
      return matrix + " cannot be factored: its input is an MLA latent";
    }
    const TensorMatrix& shape = model.weight(place.first, place.second).matrix;
    const std::int64_t most = RankOptions{.rows = shape.rows, .cols = shape.cols}.break_even();
    if (rank >= 1 && rank <= most) continue;
    return "rank " + std::to_string(rank) + " of " + matrix + " is out of range, expected 1 to " +
           std::to_string(most) + ": higher ranks save no parameters";
  }
  return "";
}

Method low_rank_method() {
  static const MethodInfo info = {
      .name = "low-rank",
      .set_example = "low-rank=0.q:64,3.up:100",
      .loadable = false,
      .remark = "factors need a custom runtime",
      .combines = false,
      .rows = PlanRows::matrix,
      .why_not =
          [](const Model& model) {
            if (model.dimensions().layer_groups > 0) {
              return std::string("all layers share one set of weights");
            }
            const bool apart =
                std::ranges::any_of(model.spec().architecture.weights, &WeightRule::own_bias);
            return std::string(apart ? "fused projections have separate biases" : "");
          },
      .sizes = [](const Model&) { return std::vector<std::int64_t>(); },
      .make = lower_ranks,
      .size_after = size_of_factors,
      .changed_elements =
          [](const Model& model) { return attention_elements(model) + mlp_elements(model); },
      .fitting_bytes =
          [](const Model& model, const Context& context) {
            return bytes_at_once(spectra_bytes(model, /*with_directions=*/true), context);
          },
      .words =
          [](const Choice& choice, std::int64_t) {
            return counted(choice.ranks.size(), "matrix", "matrices") + " as factors";
          },
      .parse_set = parse_ranks,
  };
  return &info;
}

}  // namespace attnscope
