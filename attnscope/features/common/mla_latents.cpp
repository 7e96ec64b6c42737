#include "attnscope/features/common/mla_latents.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/fold_norm.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// RMS of the latent for white input, from its rows (rank, D) before its norm.
double rms_of(MatrixView<const double> rows, const Gain& input_gain) {
  double squares = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      const double gain = input_gain.empty() ? 1 : input_gain[static_cast<std::size_t>(col)];
      squares += rows(row, col) * gain * rows(row, col) * gain;
    }
  }
  return std::sqrt(squares / static_cast<double>(rows.rows));
}

/// Multiplies the rows of the latent by gain / rms; other rows stay unchanged. A zero latent stays
/// zero.
void scale_rows(MatrixView<double> rows, const Gain& gain, double rms) {
  for (std::size_t row = 0; row < gain.size(); ++row) {
    const double factor = rms > 0 ? gain[row] / rms : 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      rows(static_cast<std::int64_t>(row), col) *= factor;
    }
  }
}

void set(MatrixView<double> to, MatrixView<const double> from) {
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t col = 0; col < to.cols; ++col) to(row, col) = from(row, col);
  }
}

Matrix<double> zeros_of(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0);
  return out;
}

/// Expands the stored matrix (H (own + d_v), rank) to the rows of a role, in the coordinates of
/// `down`.
Matrix<double> up_rows(const Matrix<double>& stored, Role role, const HeadShape& heads,
                       SharedRows shared) {
  const std::int64_t rank = stored.cols(), of_key = heads.shared_key_dim;
  const std::int64_t own = heads.head_dim - of_key, of_head = own + heads.value_dim;
  const bool keys = role != Role::value, values = role != Role::key;
  const bool in_heads = shared == SharedRows::in_every_head;
  std::int64_t rows = heads.heads * ((keys ? own : 0) + (values ? heads.value_dim : 0));
  if (keys) rows += in_heads ? heads.heads * of_key : of_key;
  Matrix<double> up = zeros_of(rows, keys ? rank + of_key : rank);
  std::int64_t next = 0;
  const auto take = [&](std::int64_t first, std::int64_t count) {
    set(up.view().block(next, count, 0, rank), stored.view().row_block(first, count));
    next += count;
  };
  const auto take_shared = [&] {
    for (std::int64_t row = 0; row < of_key; ++row) up(next++, rank + row) = 1;
  };
  for (std::int64_t head = 0; keys && head < heads.heads; ++head) {
    take(head * of_head, own);
    if (in_heads) take_shared();
  }
  if (keys && !in_heads) take_shared();
  for (std::int64_t head = 0; values && head < heads.heads; ++head) {
    take(head * of_head + own, heads.value_dim);
  }
  return up;
}

/// Returns the bias as a column (m, 1); zeros if the matrix has no bias.
Read<Matrix<double>> read_bias_column(const Model& model, const Weight& weight) {
  if (weight.bias == nullptr) return {zeros_of(weight.matrix.rows, 1), ""};
  return read_weight_float64(model, {.tensor = weight.bias, .matrix = weight.bias_column});
}

}  // namespace

Read<MlaFactors> read_mla(const Model& model, std::int64_t layer, Role role, SharedRows shared,
                          const std::optional<LatentRms>& known) {
  const bool of_queries = role == Role::query;
  const Weight& up = model.weight(layer, of_queries ? Role::query_up : Role::kv_up);
  const Weight& down = model.weight(layer, of_queries ? Role::query_down : Role::kv_down);
  auto stored = read_weight_float64(model, up);
  auto rows = read_weight_float64(model, down);
  auto bias = read_bias_column(model, down);
  for (const auto* read : {&stored, &rows, &bias}) {
    if (!read->skipped.empty()) return {{}, read->skipped};
  }
  const std::int64_t rank = stored.values.cols();
  if (model.spec().layers.empty()) return {{}, "the norm of its latent is unknown"};
  const MlaSpec& spec = *model.spec().layers[static_cast<std::size_t>(layer)].attention.mla;
  const auto gain = read_gain(model, of_queries ? *spec.query_norm : spec.norm, layer, rank);
  const auto input_gain = read_input_gain(model, layer);
  if (!gain.skipped.empty()) return {{}, "the norm of its latent: " + gain.skipped};
  if (!input_gain.skipped.empty()) return {{}, input_gain.skipped};

  std::optional<double> on_text;
  if (known) on_text = of_queries ? known->queries : known->keys_and_values;
  const double rms =
      on_text ? *on_text
              : rms_of(rows.values.view().row_block(0, rank), input_gain.values.value_or(Gain{}));
  MlaFactors out{.up = of_queries ? std::move(stored.values)
                                  : up_rows(stored.values, role, model.dimensions().heads, shared),
                 .down = std::move(rows.values),
                 .bias_column = std::move(bias.values),
                 .rms = rms};
  const Gain own = gain.values.empty() ? Gain(static_cast<std::size_t>(rank), 1.0) : gain.values;
  scale_rows(out.down.view(), own, rms);
  scale_rows(out.bias_column.view(), own, rms);
  if (role == Role::value && out.down.rows() > rank) {  // values do not use the shared key
    for (Matrix<double>* whole : {&out.down, &out.bias_column}) {
      Matrix<double> latent(rank, whole->cols());
      set(latent.view(), whole->view().row_block(0, rank));
      *whole = std::move(latent);
    }
  }
  return {std::move(out), ""};
}

Matrix<double> product_of(const MlaFactors& factors, const Compute& compute) {
  return multiply_transposed(factors.up.view(), factors.down.view().transposed(), compute);
}

void narrow(MlaFactors& factors, const Compute& compute) {
  const Matrix<double> triangle = qr_r_factor(factors.down.view().transposed(), compute);
  Matrix<double> down(triangle.cols(), triangle.rows());
  set(down.view(), triangle.view().transposed());
  factors.down = std::move(down);
}

void add_latent_rms(std::vector<Outcome>& outcomes, const LatentRms& divided_by) {
  const Record rms = latent_rms_record(divided_by);
  if (rms.fields().empty()) return;
  for (Outcome& outcome : outcomes) {
    if (outcome.skipped.empty()) outcome.fields.add("latent_rms", rms);
  }
}

std::string mla_note(const Model& model, bool on_a_text) {
  return model.name() +
         ": q, k and v are MLA products; the norm of each latent divides by a constant RMS, " +
         (on_a_text ? "the mean over the text" : "the RMS for white input");
}

std::int64_t latent_inner(const Dimensions& dimensions, Role role) {
  if (role == Role::query) return dimensions.mla->query;
  return dimensions.mla->key_value + dimensions.heads.shared_key_dim;
}

std::uint64_t latent_bytes(const Dimensions& dimensions, Role role, std::int64_t cols) {
  const bool of_queries = role == Role::query;
  const std::int64_t rank = of_queries ? dimensions.mla->query : dimensions.mla->key_value;
  const std::int64_t inner = latent_inner(dimensions, role);
  const std::int64_t rows = dimensions.heads.total_dim(role);
  const std::int64_t stored = dimensions.heads.total_dim(of_queries ? Role::query_up : Role::kv_up);
  return float64_bytes(stored, rank) + float64_bytes(rows, inner) +
         2 * float64_bytes(inner, dimensions.width) + float64_bytes(rows, cols);
}

namespace {

/// Sum over all rows of the RMS that their norm divides by.
double sum_of_rms(MatrixView<const float> rows, double epsilon) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    double squares = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      const auto value = static_cast<double>(rows(row, col));
      squares += value * value;
    }
    sum += std::sqrt(squares / static_cast<double>(rows.cols) + epsilon);
  }
  return sum;
}

/// Per layer: sums over the tokens of a batch, or of all batches.
struct Sums {
  double queries = 0, keys_and_values = 0;
};

std::vector<Sums> sums_of(const ForwardPass& pass, std::span<const TokenIds> batch,
                          const Compute& compute) {
  const std::vector<LayerSpec>& layers = pass.model().spec().layers;
  std::vector<Sums> sums(layers.size());
  const ForwardObserver observer{.on_latents = [&](const LayerLatents& latents) {
    const auto layer = static_cast<std::size_t>(latents.layer);
    const MlaSpec& spec = *layers[layer].attention.mla;
    sums[layer].keys_and_values = sum_of_rms(latents.keys_and_values, spec.norm.epsilon);
    if (latents.queries.data == nullptr) return;
    sums[layer].queries = sum_of_rms(latents.queries, spec.query_norm->epsilon);
  }};
  pass.run(batch, observer, compute);
  return sums;
}

/// Means per layer. Batches are added in a fixed order, so results do not depend on which batch
/// ends first.
std::vector<LatentRms> means_of(const Model& model, std::span<const TokenIds> sequences,
                                const Context& context, RowSink& sink) {
  const ReadyModels ready({&model, 1}, context);
  const ForwardPass& pass = ready.pass(0);
  check_inputs(pass, {.tokens = sequences});
  note_past_context(pass, {.tokens = sequences}, sink);
  const std::int64_t tokens = std::ssize(sequences.front());
  const auto each = static_cast<std::size_t>(sequences_at_once(tokens));
  std::vector<std::vector<Sums>> batches((sequences.size() + each - 1) / each);
  std::vector<QueueItem> items;
  for (std::size_t at = 0; at < batches.size(); ++at) {
    const std::size_t first = at * each;
    const auto batch = sequences.subspan(first, std::min(each, sequences.size() - first));
    items.push_back({.flops = static_cast<double>(std::ssize(batch)) * static_cast<double>(tokens) *
                              static_cast<double>(forward_weights_bytes(model)),
                     .memory_bytes = run_bytes(model.spec(), std::ssize(batch), tokens),
                     .run = [&batches, &pass, at, batch](const Compute& compute) {
                       batches[at] = sums_of(pass, batch, compute);
                     }});
  }
  run_queue(items, ready.rest(), {}, {"batch", "batches"});

  const double count = static_cast<double>(sequences.size()) * static_cast<double>(tokens);
  std::vector<LatentRms> means;
  for (std::size_t layer = 0; layer < model.spec().layers.size(); ++layer) {
    Sums all;
    for (const std::vector<Sums>& batch : batches) {
      all.queries += batch[layer].queries;
      all.keys_and_values += batch[layer].keys_and_values;
    }
    LatentRms& mean = means.emplace_back();
    if (all.queries > 0) mean.queries = all.queries / count;
    if (all.keys_and_values > 0) mean.keys_and_values = all.keys_and_values / count;
  }
  return means;
}

}  // namespace

void check_mla_ranks(std::span<const Model> models) {
  if (std::any_of(models.begin(), models.end(),
                  [](const Model& model) { return model.dimensions().mla.has_value(); })) {
    return;
  }
  throw Error(ErrorKind::usage,
              {.problem = models.front().name() +
                          " is not an MLA model: its weights do not depend on a text"});
}

void add_text_parameters(Record& report, Record& of_items, const std::optional<MlaText>& text) {
  if (!text) return;
  for (const auto& [name, value] : text->parameters.fields()) report.add(name, value);
  const std::string hash = tokens_hash(text->sequences);
  report.add("tokens_hash", hash);
  of_items.add("tokens_hash", hash);
}

void measure_latents(Plan& plan, std::span<const Model> models, const std::optional<MlaText>& text,
                     const Context& context, RowSink& sink) {
  if (!text) return;
  std::vector<std::vector<LatentRms>> means(models.size());
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (!models[index].dimensions().mla) continue;
    means[index] = means_of(models[index], text->sequences[index], context, sink);
  }
  for (WorkItem& item : plan.items) {
    if (means[item.model].empty() || !item.experts.empty()) continue;
    item.latent_rms = means[item.model][static_cast<std::size_t>(*item.layer)];
  }
}

}  // namespace attnscope
