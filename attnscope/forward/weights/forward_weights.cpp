#include "attnscope/forward/weights/forward_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/audio_embedding.h"
#include "attnscope/forward/patch_embedding.h"
#include "attnscope/forward/pooled_head.h"
#include "attnscope/forward/weights/layer_reader.h"
#include "attnscope/forward/weights/mixer_weights.h"
#include "attnscope/forward/weights/tensor_reader.h"
#include "attnscope/numerics/vector_loops.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

class Reader : public TensorReader {
 public:
  using TensorReader::TensorReader;

  ForwardWeights read(const Model* cross) {
    if (!spec_.not_run.empty()) {
      throw Error(ErrorKind::unsupported, {.file = spec_.source, .problem = spec_.not_run});
    }
    const bool describes_mlp = model_.describes(Role::up) || model_.describes(Role::down) ||
                               model_.describes_of_expert(Role::up);
    if (spec_.architecture.has_mlp && !describes_mlp) {
      throw Error(ErrorKind::format, {.file = spec_.source,
                                      .problem = "describes no MLP",
                                      .hint = "set \"mlp\": false if its layers have no MLP"});
    }
    ForwardWeights out{.checkpoint = &model_.checkpoint()};
    read_stream(out);
    read_streams(out);
    LayerReader layers(model_, copy_, out.tokens.rows, compute_);
    std::optional<LayerReader> across;
    if (cross != nullptr) across.emplace(*cross, copy_, 0, compute_);
    for (std::int64_t layer = 0; layer < spec_.dimensions.layers; ++layer) {
      compute_.check_stop();
      out.layers.push_back(layers.read(layer));
      if (across) out.layers.back().cross = across->read_cross(layer);
    }
    if (cross != nullptr) out.source_projection = read_source_projection(*cross);
    out.last_norm = norm(spec_.stream.last_norm, 0, spec_.dimensions.width);
    if (spec_.labels) {
      out.no_head = "its head predicts labels, not tokens";
      read_label_head(out);
    } else if (spec_.head.rule.pooling == Pooling::none) {
      read_head(out);
    } else {
      out.no_head = "its head pools the whole sequence";
      out.pooled = read_pooled_head(*this);
    }
    return out;
  }

 private:
  void read_stream(ForwardWeights& out) {
    const StreamSpec& stream = spec_.stream;
    const EmbeddingRule& rule = stream.embedding;
    const std::int64_t width = spec_.dimensions.width, own_width = stream.embedding_width;
    // OPT adds positions after the projection, ALBERT before it.
    const std::int64_t sum_width = rule.projects_tokens ? width : own_width;
    if (stream.audio) {
      out.audio = read_audio_weights(*this, *stream.audio);
      out.embedding_norm = norm(stream.embedding_norm, 0, width);
      return;
    }
    if (stream.patches) {
      out.patches = read_patch_weights(*this, *stream.patches);
      out.embedding_norm = norm(stream.embedding_norm, 0, spec_.dimensions_of(0).width);
      return;
    }
    if (rule.tokens.empty()) {
      throw Error(
          ErrorKind::unsupported,
          {.file = spec_.source, .problem = "does not name the tensor of the token embedding"});
    }
    out.tokens = token_table(own_width);
    if (out.tokens.rows == 0) {
      refuse("'" + out.tokens.tensor->name + "' has no rows", std::nullopt);
    }
    const bool computed =
        rule.waves && model_.checkpoint().find(model_.prefix() + rule.positions) == nullptr;
    if (!computed) out.positions = table_under_prefix(rule.positions, sum_width);
    out.types = table_under_prefix(rule.types, sum_width);
    if (out.types.tensor != nullptr && out.types.rows == 0) {
      refuse("'" + out.types.tensor->name + "' has no rows", std::nullopt);
    }
    for (const std::string& name : rule.added) {
      const RowTable& table = out.added.emplace_back(table_under_prefix(name, sum_width));
      if (table.rows == 0) refuse("'" + table.tensor->name + "' has no rows", std::nullopt);
    }
    read_joined(rule, sum_width, out);
    const std::int64_t normed = rule.norms_projected && stream.has_projection ? width : sum_width;
    out.embedding_norm = norm(stream.embedding_norm, 0, normed);
    if (!stream.has_projection) return;
    out.projection = linear(model_.prefix() + rule.projection, width, own_width);
    if (!rule.last_projection.empty()) {
      out.last_projection = linear(model_.prefix() + rule.last_projection, own_width, width);
    }
  }

  /// Reads tables that are added side by side.
  void read_joined(const EmbeddingRule& rule, std::int64_t width, ForwardWeights& out) const {
    std::int64_t columns = 0;
    for (const std::string& name : rule.joined) {
      const std::string full = model_.prefix() + name;
      const Shape& shape = need(model_.find(full)).view.shape;
      if (shape.size() != 2 || shape[0] == 0 || shape[1] > width - columns) {
        refuse("'" + full + "' does not fit among the " + std::to_string(width) + " columns",
               std::nullopt);
      }
      out.joined.push_back(table(full, shape[1]));
      columns += shape[1];
    }
    if (columns != width && !rule.joined.empty()) {
      refuse("the tables from '" + rule.joined.front() + "' to '" + rule.joined.back() + "' have " +
                 std::to_string(columns) + " columns, expected " + std::to_string(width),
             std::nullopt);
    }
  }

  /// Reads the projections of AltUp's streams.
  void read_streams(ForwardWeights& out) const {
    if (!spec_.stream.altup) return;
    const AltUpSpec& altup = *spec_.stream.altup;
    const std::int64_t width = spec_.dimensions.width;
    const auto read = [&](std::string pattern, std::int64_t number) {
      pattern.replace(pattern.find('*'), 1, std::to_string(number));
      return linear(model_.prefix() + pattern, width, width);
    };
    for (std::int64_t number = 0; number + 1 < altup.streams; ++number) {
      out.streams.push_back(read(altup.projection, number));
      out.last_streams.push_back(read(altup.last_projection, number));
    }
  }

  SharedLinear read_source_projection(const Model& cross) const {
    const std::string& name = cross.spec().architecture.source_projection;
    // The model of one stack knows the other stacks, but they do not know each other.
    const Model* encoder = model_.sibling("encoder");
    if (encoder == nullptr) encoder = cross.sibling("encoder");
    if (name.empty() || encoder == nullptr) return nullptr;
    return linear(name + ".weight", spec_.dimensions.width, encoder->dimensions().width);
  }

  /// If both are tied and only the LM head is stored, it serves as the embedding.
  RowTable token_table(std::int64_t width) const {
    const std::string name = model_.prefix() + spec_.stream.embedding.tokens;
    if (model_.checkpoint().find(name) != nullptr || !spec_.tied) return table(name, width);
    const CheckpointTensor* head = model_.checkpoint().find_first(spec_.head.rule.weight);
    return table(head == nullptr ? name : head->name, width);
  }

  /// Reads the transform before the LM head of masked-language models. Returns why it is missing,
  /// or an empty string.
  std::string head_transform(HeadWeights& head, std::int64_t width) {
    const HeadRule& rule = spec_.head.rule;
    if (rule.dense.empty()) {
      head.norm = norm(spec_.head.norm, std::nullopt, width);
      return "";
    }
    std::string name = rule.dense;
    NormSpec norm_spec = *spec_.head.norm;
    if (model_.find(name).tensor == nullptr && !rule.other_dense.empty() &&
        model_.find(rule.other_dense).tensor != nullptr) {
      name = rule.other_dense;
      norm_spec.tensor = rule.other_norm;
    }
    const Site dense = model_.find(name);
    if (dense.tensor == nullptr) return dense.missing;
    const std::int64_t outputs = spec_.head.width;
    head.dense = linear(name, outputs, width);
    const Site gain = model_.norm_gain(norm_spec, std::nullopt, {outputs});
    if (gain.tensor == nullptr) return gain.missing;
    head.norm = norm(norm_spec, std::nullopt, outputs);
    return "";
  }

  void read_head(ForwardWeights& out) {
    const HeadRule& rule = spec_.head.rule;
    out.no_head = rule.none;
    if (!out.no_head.empty()) return;
    const CheckpointTensor* weight = model_.checkpoint().find_first(rule.weight);
    if (weight == nullptr && spec_.tied) weight = out.tokens.tensor;
    HeadWeights head;
    if (weight == nullptr && rule.needed && !rule.weight.empty()) {
      out.no_head = model_.find(rule.weight.front()).missing;
    } else if (weight == nullptr) {
      out.no_head = "the files contain no LM head, and it is not tied to the embedding";
    } else {
      out.no_head = head_transform(head, spec_.dimensions.width);
    }
    if (!out.no_head.empty()) return;

    // The LM head has E inputs with OPT's last projection and with ALBERT's transform.
    const bool narrow = head.dense != nullptr || out.last_projection != nullptr;
    std::int64_t inputs = narrow ? spec_.stream.embedding_width : spec_.dimensions.width;
    if (head.dense != nullptr) inputs = spec_.head.width;
    RowTable rows = table(weight->name, inputs);
    check_dtype(*weight);
    if (rows.rows == 0) {
      out.no_head = "'" + weight->name + "' has no rows";
      return;
    }
    TensorMatrix matrix = whole_matrix(weight->view);
    // Some LM heads are padded to more rows than there are tokens.
    matrix.rows = std::min(rows.rows, spec_.dimensions.vocabulary.value_or(rows.rows));
    matrix.block_rows = matrix.rows;
    // Few passes need logits, so the LM head is decoded only when it is used.
    auto bias = head_bias(matrix.rows, out.no_head);
    if (!out.no_head.empty()) return;
    rows.rows = matrix.rows;
    head.rows = rows;
    head.vocabulary = make_linear({matrix}, std::move(bias), /*copied=*/false);
    out.head = std::move(head);
  }

  /// Reads the head of a classifier, or why it cannot be read.
  void read_label_head(ForwardWeights& out) const {
    const LabelHeadSpec& labels = *spec_.labels;
    const auto choice =
        std::find_if(labels.heads.begin(), labels.heads.end(), [&](const LabelHeadChoice& one) {
          return model_.checkpoint().find(one.rule.weight) != nullptr;
        });
    if (choice == labels.heads.end()) {
      out.no_labels = model_.find(labels.heads.front().rule.weight).missing;
      return;
    }
    const LabelHeadRule& rule = choice->rule;
    LabelHeadWeights head{.task = rule.task, .pooling = rule.pooling};
    const std::int64_t width =
        out.last_projection == nullptr ? spec_.dimensions.width : spec_.stream.embedding_width;
    if (!rule.dense.empty()) {
      const std::string name = rule.dense_under_prefix ? model_.prefix() + rule.dense : rule.dense;
      const Site dense = model_.find(name);
      out.no_labels = dense.missing;
      if (dense.tensor == nullptr) return;
      head.dense = linear(name, width, width);
      head.activation = choice->activation;
    }
    if (!rule.norm.empty()) {
      const Site gain = model_.norm_gain(*choice->norm, std::nullopt, {width});
      out.no_labels = gain.missing;
      if (gain.tensor == nullptr) return;
      head.norm = norm(choice->norm, std::nullopt, width);
    }
    head.rows = table(rule.weight, width);
    // Without labels, a classifier still has attention maps and hidden states.
    const std::string rows = "'" + rule.weight + "' has " + counted(head.rows.rows, "row");
    const bool spans = rule.task == LabelTask::span;
    if (head.rows.rows == 0 || (spans && head.rows.rows != 2)) {
      out.no_labels = rows + ", expected " +
                      (spans ? "2: the first and the last token of an answer" : "one per label");
      return;
    }
    const std::size_t names = labels.names.size();
    if (!spans && names != 0 && static_cast<std::int64_t>(names) != head.rows.rows) {
      out.no_labels = rows + ", but id2label has " + counted(names, "label");
      return;
    }
    head.weight = linear(rule.weight, head.rows.rows, width);
    out.labels = std::move(head);
  }

  /// Reads the bias of the LM head. `missing`: receives the reason if a required bias is missing.
  std::vector<float> head_bias(std::int64_t rows, std::string& missing) const {
    const HeadRule& rule = spec_.head.rule;
    if (const CheckpointTensor* bias = model_.checkpoint().find_first(rule.bias)) {
      if (bias->view.shape == Shape{1, rows}) return values(need(model_.find(bias->name)));
      return values(need(model_.find(bias->name, Shape{rows})));
    }
    if (rule.needs_bias) missing = model_.find(rule.bias.back()).missing;
    return {};
  }
};

}  // namespace

NormedRow normed_row(const NormSpec& norm, std::span<const float> row) {
  const auto width = static_cast<double>(row.size());
  double mean = 0;
  if (norm.kind == NormKind::layer) {
    mean =
        sum_over(row.size(), [&](std::size_t at) { return static_cast<double>(row[at]); }) / width;
  }
  const double squares = sum_over(row.size(), [&](std::size_t at) {
    const double off = static_cast<double>(row[at]) - mean;
    return off * off;
  });
  return {.mean = mean, .scale = std::sqrt(squares / width + norm.epsilon)};
}

std::vector<double> gains_of(const NormWeights& norm) {
  std::vector<double> gains;
  for (const float gain : norm.gain) {
    gains.push_back(norm.spec.gain_offset + static_cast<double>(gain));
  }
  return gains;
}

void RowTable::read(std::int64_t row, std::span<float> out) const {
  TensorMatrix matrix = whole_matrix(tensor->view);
  matrix.first = matrix.row_start(row) + first_col * matrix.col_stride;
  matrix.rows = 1;
  matrix.cols = cols;
  checkpoint->need(byte_ranges(matrix));
  decode_block<float>(matrix, 0, 0, {out.data(), 1, cols, cols, 1});
}

ForwardWeights ForwardWeights::read(const Model& model, bool copy_weights, const Compute& compute,
                                    const Model* cross) {
  return Reader(model, copy_weights, compute).read(cross);
}

std::uint64_t forward_weights_bytes(const Model& model) {
  std::map<std::pair<const CheckpointTensor*, Role>, std::uint64_t> bytes_of;  // shared: once
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : kProjections) {
      const Weight& weight = model.weight(layer, role);
      if (weight.tensor == nullptr) continue;
      const DType dtype = weight.tensor->view.dtype;
      if (dtype != DType::f32 && dtype != DType::f64) continue;
      bytes_of[{weight.tensor, role}] =
          static_cast<std::uint64_t>(weight.matrix.rows * weight.matrix.cols) * sizeof(float);
    }
  }
  std::uint64_t total = mixer_weights_bytes(model);
  for (const auto& [tensor, bytes] : bytes_of) total += bytes;
  return total;
}

}  // namespace attnscope
