// Hidden-size pruning: rotates the residual stream into its principal directions and drops the last
// ones. One rotation for all layers, so that no rotation remains between layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/family_support.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/products/second_moments.h"
#include "attnscope/numerics/svd/eigenvectors.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

/// The input that a norm precedes: attention or MLP of a layer, or the unembedding.
struct NormLocation {
  std::int64_t layer = 0;
  Role reader = Role::query;  // query, up, or output for the unembedding

  auto operator<=>(const NormLocation&) const = default;
};

struct NormGain {
  std::string tensor;
  std::vector<double> values;  // the gain of the norm
  double offset = 0;           // difference between the gain and the stored value
};

NormGain gain_of(const Model& model, const NormSpec& norm, std::optional<std::int64_t> layer) {
  const std::int64_t width = model.dimensions().width;
  const Site site = model.norm_gain(norm, layer, {width});
  if (site.tensor == nullptr) {
    throw Error(ErrorKind::format, {.file = model.checkpoint().main_file().string(),
                                    .problem = verbatim(site.missing)});
  }
  NormGain out{.tensor = site.tensor->name,
               .values = std::vector<double>(static_cast<std::size_t>(width)),
               .offset = norm.gain_offset};
  decode_elements(site.tensor->view, 0, 1, width, out.values.data());
  for (double& value : out.values) value += norm.gain_offset;
  return out;
}

std::map<NormLocation, NormGain> gains_of(const Model& model) {
  std::map<NormLocation, NormGain> out;
  const ModelSpec& spec = model.spec();
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
    out[{layer, Role::query}] = gain_of(model, *own.attention_input, layer);
    out[{layer, Role::up}] = gain_of(model, *own.mlp_input, layer);
  }
  out[{spec.dimensions.layers, Role::output}] = gain_of(model, *spec.stream.last_norm, 0);
  return out;
}

/// The norm output before its gain; zero if the gain is zero.
Matrix<float> without_gain(MatrixView<const float> rows, const std::vector<double>& gain) {
  Matrix<float> out(rows.rows, rows.cols);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      const double factor = gain[static_cast<std::size_t>(col)];
      out(row, col) =
          factor == 0 ? 0 : static_cast<float>(static_cast<double>(rows(row, col)) / factor);
    }
  }
  return out;
}

using SeeNormed = std::function<void(const NormLocation&, MatrixView<const float>)>;

/// Passes the output of every norm on the text, before its gain, to `see`.
void for_normed(const Model& model, const std::map<NormLocation, NormGain>& gains,
                const TextStatistics& text, const SeeNormed& see) {
  const std::int64_t layers = model.dimensions().layers;
  const auto show = [&](const NormLocation& location, MatrixView<const float> rows) {
    see(location, without_gain(rows, gains.at(location).values).view());
  };
  text.rerun({.on_hidden_states =
                  [&](std::int64_t index, MatrixView<const float> states) {
                    if (index == layers) show({layers, Role::output}, states);
                  },
              .on_inputs =
                  [&](std::int64_t layer, Role role, MatrixView<const float> input) {
                    show({layer, role}, input);
                  },
              .wants_inputs = [](std::int64_t,
                                 Role role) { return role == Role::query || role == Role::up; }});
}

/// (D', D): the leading principal directions of the residual stream.
Matrix<double> stream_directions(const Model& model, const std::map<NormLocation, NormGain>& gains,
                                 std::int64_t width, const TextStatistics& text,
                                 const Compute& compute) {
  const std::int64_t whole = model.dimensions().width;
  Matrix<double> moments = zero_matrix(whole, whole);
  for_normed(model, gains, text, [&](const NormLocation&, MatrixView<const float> rows) {
    add_second_moments(rows, rows, moments.view(), compute);
  });
  const Eigenvectors own = eigenvectors(moments.view());
  Matrix<double> out(width, whole);
  std::copy_n(own.vectors.data(), width * whole, out.data());
  return out;
}

/// The moments for refitting the input projections after a norm.
struct Reading {
  Matrix<double> crossed, among;  // Σ x̂ zᵀ and Σ z zᵀ; z: output of the smaller norm
};

std::map<NormLocation, Reading> readings(const Model& model,
                                         const std::map<NormLocation, NormGain>& gains,
                                         const Matrix<double>& directions,
                                         const TextStatistics& text, const Compute& compute) {
  const std::int64_t width = directions.rows(), whole = directions.cols();
  Matrix<float> narrow(width, whole);
  for (std::int64_t at = 0; at < width * whole; ++at) {
    narrow.data()[at] = static_cast<float>(directions.data()[at]);
  }
  std::map<NormLocation, Reading> out;
  for (const auto& [place, gain] : gains) {
    out[place] = {zero_matrix(whole, width), zero_matrix(width, width)};
  }
  for_normed(model, gains, text, [&](const NormLocation& location, MatrixView<const float> rows) {
    Matrix<float> cut;
    multiply_rows(rows, std::as_const(narrow).view(), cut, compute);
    for (std::int64_t row = 0; row < cut.rows(); ++row) {
      double squares = 0;
      for (std::int64_t col = 0; col < width; ++col) {
        squares += static_cast<double>(cut(row, col)) * static_cast<double>(cut(row, col));
      }
      const double factor = squares > 0 ? std::sqrt(static_cast<double>(width) / squares) : 0;
      for (std::int64_t col = 0; col < width; ++col) {
        cut(row, col) = static_cast<float>(factor * static_cast<double>(cut(row, col)));
      }
    }
    Reading& own = out.at(location);
    add_second_moments(rows, std::as_const(cut).view(), own.crossed.view(), compute);
    add_second_moments(std::as_const(cut).view(), std::as_const(cut).view(), own.among.view(),
                       compute);
  });
  return out;
}

/// diag(gain) times the matrix that maps the smaller norm's output back, (D, D'). Input projections
/// become W' = W · this matrix.
Matrix<double> reader_of(const NormGain& gain, const Matrix<double>& directions,
                         const Reading* reading) {
  const std::int64_t width = directions.rows(), whole = directions.cols();
  Matrix<double> back(whole, width);
  if (reading == nullptr) {
    for (std::int64_t row = 0; row < whole; ++row) {
      for (std::int64_t col = 0; col < width; ++col) back(row, col) = directions(col, row);
    }
  } else {
    Matrix<double> among(width, width);
    for (std::int64_t row = 0; row < width; ++row) {
      for (std::int64_t col = 0; col <= row; ++col) {
        among(row, col) = among(col, row) = reading->among(row, col);
      }
    }
    constexpr double kRidge = 1e-4;
    std::copy_n(reading->crossed.data(), whole * width, back.data());
    back = solve_ridged(std::move(among), kRidge, std::move(back));
  }
  for (std::int64_t row = 0; row < whole; ++row) {
    const double factor = gain.values[static_cast<std::size_t>(row)];
    for (std::int64_t col = 0; col < width; ++col) back(row, col) *= factor;
  }
  return back;
}

/// Writes factor · table · right, (V, D'), in row blocks because vocabularies are large.
void put_table(ChangedModel& changed, const std::string& name, const TensorView& table,
               MatrixView<const double> right, double factor, const Compute& compute) {
  constexpr std::int64_t kRows = 4096;
  const std::int64_t rows = table.shape[0];
  const TensorMatrix stored = whole_matrix(table);
  std::vector<std::byte> bytes;
  for (std::int64_t first = 0; first < rows; first += kRows) {
    compute.check_stop();
    Matrix<double> block(std::min(kRows, rows - first), table.shape[1]);
    decode_block<double>(stored, first, 0, block.view());
    Matrix<double> own = product(std::as_const(block).view(), right, compute);
    for (std::int64_t at = 0; at < own.rows() * own.cols(); ++at) own.data()[at] *= factor;
    const std::vector<std::byte> encoded =
        encode({own.data(), static_cast<std::size_t>(own.rows() * own.cols())}, changed.dtype());
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }
  changed.put(name, {rows, right.cols}, std::move(bytes));
}

void put_layer_of_width(ChangedModel& changed, std::int64_t layer, const Matrix<double>& directions,
                        const std::function<Matrix<double>(const NormLocation&)>& reader,
                        const Compute& compute) {
  const Model& model = changed.source();
  LayerMatrices own;
  for (const Role role : stored_projections(model, layer)) {
    const Matrix<double> matrix = canonical_matrix(model, layer, role);
    if (role == Role::output || role == Role::down) {
      own.weights.emplace(role, product(directions.view(), matrix.view(), compute));
      const std::vector<double> bias = canonical_bias(model, layer, role);
      if (bias.empty()) continue;
      std::vector<double> turned(static_cast<std::size_t>(directions.rows()), 0.0);
      for (std::int64_t row = 0; row < directions.rows(); ++row) {
        for (std::int64_t col = 0; col < directions.cols(); ++col) {
          turned[static_cast<std::size_t>(row)] +=
              directions(row, col) * bias[static_cast<std::size_t>(col)];
        }
      }
      own.biases.emplace(role, std::move(turned));
    } else {
      const bool of_mlp = role == Role::up || role == Role::gate;
      const Matrix<double> read = reader({layer, of_mlp ? Role::up : Role::query});
      own.weights.emplace(role, product(matrix.view(), read.view(), compute));
    }
  }
  changed.set_layer(layer, own);
}

ChangedModel cut_residual_stream(const Model& model, const Choice& choice,
                                 const TextStatistics& text, const Compute& compute) {
  const std::int64_t width = choice.size;
  const ModelSpec& spec = model.spec();
  const Dimensions& dimensions = spec.dimensions;
  if (width < 1 || width > dimensions.width || width % dimensions.heads.heads != 0) {
    throw Error(ErrorKind::format, "hidden-size",
                "expected a multiple of " + std::to_string(dimensions.heads.heads) +
                    " (the number of heads), at most " + std::to_string(dimensions.width));
  }
  const auto gains = gains_of(model);
  const Matrix<double> directions = stream_directions(model, gains, width, text, compute);
  std::map<NormLocation, Reading> fitted;
  if (width < dimensions.width) fitted = readings(model, gains, directions, text, compute);
  const auto reader = [&](const NormLocation& location) {
    const auto own = fitted.find(location);
    return reader_of(gains.at(location), directions, own == fitted.end() ? nullptr : &own->second);
  };

  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = spec.architecture.keys;
  changed.set_config(changed.key_of(keys.width), width);
  changed.set_config(changed.key_of(keys.head_dim), dimensions.heads.head_dim);
  changed.set_config(changed.key_of(keys.kv_heads), dimensions.heads.kv_heads);
  changed.set_config("tie_word_embeddings", "false");
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    put_layer_of_width(changed, layer, directions, reader, compute);
  });
  for (const auto& [place, gain] : gains) {
    changed.put(gain.tensor, std::vector<double>(static_cast<std::size_t>(width), 1 - gain.offset));
  }
  const CheckpointTensor* embedding =
      model.checkpoint().find(model.prefix() + spec.stream.embedding.tokens);
  const CheckpointTensor* head = model.checkpoint().find_first(spec.head.rule.weight);
  if (embedding == nullptr) embedding = head;
  if (head == nullptr) head = embedding;
  if (embedding == nullptr) {
    throw Error(ErrorKind::format, model.name(), "the files contain no token embedding");
  }
  const double grown =
      spec.architecture.embedding.times_sqrt_width.fallback
          ? std::sqrt(static_cast<double>(dimensions.width) / static_cast<double>(width))
          : 1;
  const Matrix<double> last = reader({dimensions.layers, Role::output});
  put_table(changed, spec.head.rule.weight.front(), head->view, last.view(), 1, compute);
  put_table(changed, model.prefix() + spec.stream.embedding.tokens, embedding->view,
            directions.view().transposed(), grown, compute);
  return changed;
}

/// Elements per dimension of the residual stream. Each matrix has one side in the residual stream,
/// and so do both norms.
std::int64_t stream_elements(const Model& model, std::int64_t layer, Counted counted) {
  std::int64_t sum = 0;
  for (const Role role : stored_projections(model, layer)) {
    const bool writes = role == Role::output || role == Role::down;
    sum += writes ? row_elements(model, layer, role, counted) : column_elements(model, layer, role);
  }
  return sum + (counted == Counted::parameters ? 2 : 0);
}

ModelSize size_of_narrower_stream(const Model& model, const ModelSize& before,
                                  const Choice& choice) {
  const std::int64_t width = model.dimensions().width, removed = width - choice.size;
  const CheckpointTensor* head = model.checkpoint().find_first(model.spec().head.rule.weight);
  const CheckpointTensor* embedding =
      model.checkpoint().find(model.prefix() + model.spec().stream.embedding.tokens);
  const std::int64_t vocabulary =
      embedding == nullptr ? 0 : embedding->view.element_count() / width;
  const bool tied = model.spec().tied || head == nullptr;
  ModelSize out = without_units(model, before, removed, stream_elements);
  // The final norm, the embedding and the LM head, which is untied afterwards.
  out.parameters -= (1 + (tied ? 1 : 2) * vocabulary) * removed;
  if (tied) out.parameters += vocabulary * choice.size;
  out.flops_per_token -=
      2 * static_cast<double>(model.dimensions().vocabulary.value_or(0) * removed);
  return out;
}

/// Source: transformers, models/*/configuration_*.py and modeling_*.py; tests load each.
constexpr std::array<std::string_view, 6> kNarrowerStream = {"llama", "mistral", "qwen2",
                                                             "qwen3", "phi3",    "gemma"};

std::string why_not_hidden_size(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (!is_dense_of(model, kNarrowerStream)) {
    return "transformers cannot load " + spec.architecture.name + " with a smaller hidden size";
  }
  return spec.multimodal ? "other stacks of this multimodal model depend on its hidden size" : "";
}

}  // namespace

Method hidden_size_method() {
  static const MethodInfo info = {
      .name = "hidden-size",
      .set_example = "hidden-size=144",
      .remark = "LM head untied",
      .is_rounded = true,
      .whole = [](const Dimensions& dimensions) { return dimensions.width; },
      .cut = [](Dimensions& dimensions, std::int64_t size) { dimensions.width = size; },
      .why_not = why_not_hidden_size,
      .sizes =
          [](const Model& model) {
            const Dimensions& dimensions = model.dimensions();
            return descending_sizes(dimensions.width,
                                    std::lcm(dimensions.heads.heads, std::int64_t{2}));
          },
      .make = cut_residual_stream,
      .size_after = size_of_narrower_stream,
      .changed_elements =
          [](const Model& model) { return static_cast<std::uint64_t>(size_of(model).parameters); },
      .fitting_bytes = attention_fitting_bytes,
  };
  return &info;
}

}  // namespace attnscope
