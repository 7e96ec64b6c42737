#include "attnscope/features/spectrum/mla_run.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/features/spectrum/stored_spectrum.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

constexpr MlaChoice kChoice;
constexpr std::array kHalves = {Role::query, Role::kv};  // halves of a row
constexpr const char* kLatent = "latent";                // the only field of a half before joining
constexpr std::int64_t kBytesPerElement = 2;             // as in the KV cache size of `info`

std::int64_t at_share(std::int64_t size, std::int64_t width) {
  return rank_at_share(size, kChoice.width, width);
}

/// The latent rank of DeepSeek-V2, or of the model's own latent.
std::int64_t rank_for(const Model& model, Role role) {
  const bool of_queries = role == Role::query;
  if (model.is_of_latents(role)) {
    return of_queries ? model.dimensions().mla->query : model.dimensions().mla->key_value;
  }
  return of_queries ? kChoice.query_rank : kChoice.kv_rank;
}

/// A matrix, or one with fewer columns and the same singular values, and the original shape.
struct HalfMatrix {
  WeightMatrix matrix;
  SpectrumShape shape;
};

Read<HalfMatrix> read_half(const Model& model, std::int64_t layer, Role role,
                           const Compute& compute) {
  if (!model.is_of_latents(role)) {
    auto read = read_matrix(model, layer, role);
    SpectrumShape shape;
    std::visit([&](const auto& matrix) { shape = {.rows = matrix.rows(), .cols = matrix.cols()}; },
               read.values);
    return {{std::move(read.values), shape}, std::move(read.skipped)};
  }
  auto read = read_mla(model, layer, role, SharedRows::once);
  if (!read.skipped.empty()) return {{}, read.skipped};
  const SpectrumShape shape = {.rows = read.values.up.rows(),
                               .cols = model.dimensions().width,
                               .inner = read.values.down.rows()};
  narrow(read.values, compute);
  return {{product_of(read.values, compute), shape}, ""};
}

std::vector<Outcome> compute_half(const WorkItem& item, const ModelSource& source,
                                  const Compute& compute) {
  const Model& model = *source.model;
  const Role role = *item.role;
  const auto& thresholds = expect_vector<double>(item.parameters, "energy");
  const auto read = read_half(model, *item.layer, role, compute);
  if (!read.skipped.empty()) return {{.skipped = read.skipped}};
  const std::int64_t rank = rank_for(model, role);
  const std::int64_t chosen = role == Role::query ? kChoice.query_rank : kChoice.kv_rank;
  const auto outcome_of = [&](const auto& matrix) -> Outcome {
    if (auto reason = find_not_finite(matrix.view())) return {.skipped = *reason};
    return singular_outcome(
        std::nullopt, singular_result([&] { return singular_values(matrix.view(), compute); }),
        [&](const SingularValues& found) {
          return Record{
              {kLatent, mla_fields(found.values, read.values.shape, rank,
                                   at_share(chosen, model.dimensions().width), thresholds)}};
        });
  };
  return {std::visit(outcome_of, read.values.matrix)};
}

Cost mla_cost(const WorkItem& item, const ModelSource& source) {
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  return {spectrum_flops(static_cast<double>(rows), static_cast<double>(cols)),
          matrix_spectrum_bytes(*source.model, *item.layer, *item.role)};
}

/// Cache size per token over all layers with this latent and rotary key.
std::int64_t cache_bytes(std::int64_t layers, std::int64_t latent, std::int64_t rope) {
  return kBytesPerElement * layers * (latent + rope);
}

/// A number from the model's metadata; 0 if absent.
std::int64_t fact(const Record& model, const char* name) {
  const Value* value = model.find(name);
  const auto* number = value == nullptr ? nullptr : value->get<std::int64_t>();
  return number == nullptr ? 0 : *number;
}

/// Number of layers with attention.
std::int64_t attending(const Record& model) {
  if (model.find("attention_layers") == nullptr) return fact(model, "layers");
  return std::ssize(expect_vector<std::int64_t>(model, "attention_layers"));
}

/// The cache with one latent size; bytes are null for models that are not causal.
Record cache_record(const Record& model, std::int64_t latent, std::int64_t rope) {
  Record record = {{"latent", latent}, {"rope", rope}};
  const bool has_cache = fact(model, "kv_cache_bytes_per_token") != 0;
  return record.add("bytes_per_token",
                    has_cache ? Value(cache_bytes(attending(model), latent, rope)) : Value());
}

void add_caches(Record& model) {
  const std::int64_t width = fact(model, "hidden_size");
  const bool latent = model.find("kv_lora_rank") != nullptr;
  const std::int64_t rank = latent ? fact(model, "kv_lora_rank") : kChoice.kv_rank;
  const std::int64_t rope = latent ? fact(model, "qk_rope_head_dim") : kChoice.rope_dim;
  model.add("mla_cache", cache_record(model, rank, rope))
      .add("mla_cache_at_share", cache_record(model, at_share(kChoice.kv_rank, width),
                                              at_share(kChoice.rope_dim, width)));
}

/// Joins the two consecutive halves of a layer into one row; a skipped half is null.
class HalfJoiner {
 public:
  explicit HalfJoiner(RowSink& sink) : sink_(sink) {}

  void add(const RowPlace& place, std::span<const Outcome> outcomes) {
    for (const Outcome& outcome : outcomes) {
      if (!outcome.skipped.empty()) {
        sink_.add_skipped(skipped_entry(place, outcome));
        continue;
      }
      if (!place_ || place_->model != place.model || place_->layer != place.layer) {
        finish();
        place_ = place;
      }
      Value& half = place.matrix == role_name(Role::query) ? query_ : kv_;
      half = expect<Record>(outcome.fields, kLatent);
      if (!outcome.note.empty()) sink_.add_note(note_of(place, outcome));
    }
  }

  void finish() {
    if (!place_) return;
    sink_.add_row({{"model", place_->model},
                   {"layer", place_->layer},
                   {"query", std::exchange(query_, Value())},
                   {"kv", std::exchange(kv_, Value())}});
    place_.reset();
  }

 private:
  RowSink& sink_;
  std::optional<RowPlace> place_;  // place of the halves held
  Value query_, kv_;
};

}  // namespace

const Analysis& mla_analysis() {
  static constexpr Analysis analysis = {.name = "mla",
                                        .command = "spectrum",
                                        .roles = kHalves,
                                        .compute = compute_half,
                                        .cost = mla_cost,
                                        .add_inputs = add_role_inputs,
                                        .make_rows = gathered_rows<HalfJoiner>,
                                        .add_model_facts = add_caches};
  return analysis;
}

void run_mla(std::span<const Model> models, const SpectrumRequest& request, const Context& context,
             RowSink& sink) {
  const std::vector<Role> roles(kHalves.begin(), kHalves.end());
  for (const Model& model : models) {
    for (const Role role : roles) {
      if (model.has(role)) continue;
      throw Error(ErrorKind::usage, {.parameter = "mla",
                                     .problem = model.name() + " has no matrix '" +
                                                std::string(role_name(role)) + "'"});
    }
  }
  const auto& thresholds = expect_vector<double>(request.options, "energy");
  Plan plan{.analysis = &mla_analysis(), .parameters = {{"energy", thresholds}}};
  add_layers(plan, models, std::vector(models.size(), roles), request.layers, sink);
  run_plan(plan, sources_of(models),
           {.command = "spectrum",
            .parameters = {{"mla", true},
                           {"energy", thresholds},
                           {"layers", request.layers.parameter()}}},
           context, sink);
}

}  // namespace attnscope
