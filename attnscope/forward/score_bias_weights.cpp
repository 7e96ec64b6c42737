#include "attnscope/forward/score_bias_weights.h"

#include <algorithm>

#include "attnscope/forward/layer_run.h"
#include "attnscope/model/name_pattern.h"

namespace attnscope {

std::string ScoreBiasReader::name_of(const std::string& pattern, std::int64_t layer) const {
  return model_.prefix() + fill_pattern(pattern, layer_numbers(spec_.dimensions, layer));
}

std::vector<float> ScoreBiasReader::first_rows(const RowTable& table, std::int64_t count,
                                               std::int64_t layer) const {
  check_dtype(*table.tensor);
  if (table.rows < count) {
    refuse("'" + table.tensor->name + "' has " + std::to_string(table.rows) + " of the " +
               std::to_string(count) + " rows that " + spec_.source + " demands",
           layer);
  }
  TensorMatrix matrix = whole_matrix(table.tensor->view);
  matrix.rows = count;
  std::vector<float> rows = values(matrix);
  table.check_intact();
  return rows;
}

void ScoreBiasReader::read(std::int64_t layer, LayerWeights& out) {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  const std::int64_t heads = spec_.dimensions.heads.heads;
  if (!spec.sinks.empty()) {
    out.sinks = values(need(model_.find(name_of(spec.sinks, layer), Shape{heads}), layer));
  }
  if (spec.buckets) {
    const RowTable rows = table(name_of(spec.buckets->table, layer), heads);
    out.bucket_table = first_rows(rows, spec.buckets->count, layer);
  }
  if (spec.disentangled) read_disentangled(*spec.disentangled, layer, out);
}

void ScoreBiasReader::read_disentangled(const DisentangledSpec& spec, std::int64_t layer,
                                        LayerWeights& out) {
  const std::int64_t width = spec_.dimensions.width;
  const std::int64_t outputs = spec_.dimensions.heads.total_dim(Role::query);
  if (distances_ == nullptr) {
    const std::vector<float> rows =
        first_rows(table(model_.prefix() + spec.table, width), 2 * spec.span, layer);
    Matrix<float> embeddings(2 * spec.span, width);
    std::copy(rows.begin(), rows.end(), embeddings.data());
    if (const OptionalNorm normed = norm(spec.norm, layer, width)) {
      apply_norm(*normed, embeddings.view(), embeddings.view(), compute_);
    }
    distances_ = std::make_shared<const Matrix<float>>(std::move(embeddings));
  }
  out.distances = distances_;
  if (spec.shared) return;
  if (spec.position_to_content) {
    out.distance_query = linear(name_of(spec.query, layer), outputs, width);
  }
  if (spec.content_to_position) out.distance_key = linear(name_of(spec.key, layer), outputs, width);
}

}  // namespace attnscope
