#include "attnscope/pipeline/mla.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/analysis/spectrum.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/numerics/singular_values.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/read_weight.h"
#include "attnscope/pipeline/singular_outcome.h"

namespace attnscope {
namespace {

constexpr int kRevision = 2;  // raised when the numbers of rows change

constexpr LatentChoice kChoice;
constexpr const char* kLatent = "latent";     // the one field of a half before halves are joined
constexpr std::int64_t kBytesPerElement = 2;  // as the KV cache of `info`

/// `size` at the same share of another width, to the nearest and at least 1.
std::int64_t at_share(std::int64_t size, std::int64_t width) {
  const double share = static_cast<double>(size) / static_cast<double>(kChoice.width);
  return std::max(std::int64_t{1},
                  static_cast<std::int64_t>(std::llround(share * static_cast<double>(width))));
}

Record latent_fields(std::span<const double> singular_values, const SpectrumShape& shape,
                     std::int64_t rank, std::int64_t share_rank,
                     std::span<const double> thresholds) {
  const NullModel null(shape);
  const SpectrumMeasures measures = measure_spectrum(singular_values, shape, thresholds);
  Record ranks, null_ranks;
  for (std::size_t index = 0; index < thresholds.size(); ++index) {
    const std::string key = shortest_decimal(thresholds[index]);
    ranks.add(key, measures.energy_ranks[index]);
    null_ranks.add(key, null.energy_rank(thresholds[index]));
  }
  return {{"possible_rank", measures.possible_rank},
          {"rank", rank},
          {"energy", energy_at_rank(singular_values, rank)},
          {"null_energy", null.energy_at(rank)},
          {"share_rank", share_rank},
          {"share_energy", energy_at_rank(singular_values, share_rank)},
          {"share_null_energy", null.energy_at(share_rank)},
          {"energy_rank", std::move(ranks)},
          {"null_energy_rank", std::move(null_ranks)}};
}

Outcome latent_outcome(const Model& model, std::int64_t layer, Role role,
                       std::span<const double> thresholds) {
  const auto read = read_matrix(model, layer, role);
  if (!read.skipped.empty()) return {.skipped = read.skipped};
  const std::int64_t rank = role == Role::query ? kChoice.query_rank : kChoice.kv_rank;
  return std::visit(
      [&](const auto& matrix) -> Outcome {
        if (auto reason = find_not_finite(matrix.view())) return {.skipped = *reason};
        return singular_outcome(
            std::nullopt, singular_result([&] { return singular_values(matrix.view()); }),
            [&](const std::vector<double>& values) {
              return Record{
                  {kLatent,
                   latent_fields(values, {.rows = matrix.rows(), .cols = matrix.cols()}, rank,
                                 at_share(rank, model.dimensions().width), thresholds)}};
            });
      },
      read.matrix);
}

/// What a token takes in the cache of all layers with that latent and that rotary key.
std::int64_t cache_bytes(std::int64_t layers, std::int64_t latent, std::int64_t rope) {
  return kBytesPerElement * layers * (latent + rope);
}

/// A number of the model's facts; 0 where there is none.
std::int64_t fact(const Record& model, const char* name) {
  const Value* value = model.find(name);
  const auto* number = value == nullptr ? nullptr : value->get<std::int64_t>();
  return number == nullptr ? 0 : *number;
}

/// The cache at one choice; null bytes for an encoder.
Record cache_record(const Record& model, std::int64_t latent, std::int64_t rope) {
  Record record = {{"latent", latent}, {"rope", rope}};
  const bool has_cache = fact(model, "kv_cache_bytes_per_token") != 0;
  return record.add("bytes_per_token",
                    has_cache ? Value(cache_bytes(fact(model, "layers"), latent, rope)) : Value());
}

void add_caches(Record& model) {
  const std::int64_t width = fact(model, "width");
  model.add("mla_cache", cache_record(model, kChoice.kv_rank, kChoice.rope_dim))
      .add("mla_cache_at_share", cache_record(model, at_share(kChoice.kv_rank, width),
                                              at_share(kChoice.rope_dim, width)));
}

/// From a row for each half, q before kv, one row for each layer; a half that was skipped is null.
std::vector<Record> join_halves(const std::vector<Record>& halves) {
  struct Layer {
    std::string model;
    std::int64_t layer = 0;
    Value query, kv;
  };
  std::vector<Layer> layers;
  for (const Record& half : halves) {
    const std::string& model = expect<std::string>(half, "model");
    const std::int64_t layer = expect<std::int64_t>(half, "layer");
    if (layers.empty() || layers.back().model != model || layers.back().layer != layer) {
      layers.push_back({.model = model, .layer = layer});
    }
    const bool is_query = expect<std::string>(half, "matrix") == role_name(Role::query);
    (is_query ? layers.back().query : layers.back().kv) = expect<Record>(half, kLatent);
  }
  std::vector<Record> rows;
  for (Layer& layer : layers) {
    rows.push_back({{"model", layer.model},
                    {"layer", layer.layer},
                    {"query", std::move(layer.query)},
                    {"kv", std::move(layer.kv)}});
  }
  return rows;
}

}  // namespace

Report run_mla(std::span<const Model> models, const SpectrumRequest& request,
               const ProgressFn& on_progress) {
  const std::vector<Role> roles = {Role::query, Role::kv};
  for (const Model& model : models) {
    for (const Role role : roles) {
      if (model.has(role)) continue;
      throw Error(ErrorKind::usage, "--mla",
                  model.name() + " has no '" + std::string(role_name(role)) + "'");
    }
  }
  LayerWork work;
  work.compute = [&](const Model& model, std::int64_t layer, Role role) {
    return std::vector<Outcome>{latent_outcome(model, layer, role, request.thresholds)};
  };
  work.flops = [](const Model& model, Role role) {
    const auto [rows, cols] = canonical_shape(model.dimensions(), role);
    return spectrum_flops(static_cast<double>(rows), static_cast<double>(cols));
  };
  work.memory_bytes = matrix_spectrum_bytes;
  work.store = request.store;
  work.analysis = {.name = "mla",
                   .revision = kRevision,
                   .command = "spectrum",
                   .parameters = {{"energy", request.thresholds}}};
  Report report{
      .command = "spectrum",
      .parameters = {
          {"mla", true},
          {"energy", request.thresholds},
          {"layers", request.layers_text.empty() ? Value() : Value(request.layers_text)}}};
  const std::vector<std::vector<Role>> same_for_all(models.size(), roles);
  run_layers(report, models, same_for_all, request.layers, work, request.resources, on_progress);
  join_mla_halves(report);
  return report;
}

void join_mla_halves(Report& report) {
  report.rows = join_halves(report.rows);
  for (Record& model : report.models) add_caches(model);
}

}  // namespace attnscope
