#include "attnscope/forward/weights/tensor_reader.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/tensor_names.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {

void TensorReader::refuse(const std::string& problem, std::optional<std::int64_t> layer) const {
  throw Error(ErrorKind::format, {.file = model_.checkpoint().main_file().string(),
                                  .layer = layer,
                                  .problem = verbatim(problem),
                                  .hint = "needed to run the model"});
}

const CheckpointTensor& TensorReader::need(const Site& site,
                                           std::optional<std::int64_t> layer) const {
  if (site.tensor == nullptr) refuse(site.missing, layer);
  check_dtype(*site.tensor);
  return *site.tensor;
}

void TensorReader::check_dtype(const CheckpointTensor& tensor) const {
  if (const auto why = why_not_analyzed(model_.checkpoint(), tensor)) {
    throw Error(ErrorKind::unsupported, model_.checkpoint().parts_of(tensor, verbatim(*why)));
  }
}

std::vector<float> TensorReader::values(const TensorMatrix& column) const {
  model_.checkpoint().need(byte_ranges(column));
  const Matrix<float> matrix = decode<float>(column);
  return {matrix.data(), matrix.data() + column.rows * column.cols};
}

std::vector<float> TensorReader::values(const CheckpointTensor& tensor) const {
  model_.checkpoint().need(tensor);
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  const std::int64_t step = tensor.view.shape.size() == 1 ? tensor.view.stride(0) : 1;
  decode_elements(tensor.view, 0, step, std::ssize(out), out.data());
  model_.checkpoint().check_intact(tensor);
  return out;
}

namespace {

/// Adds the offset to the gains of a LayerNorm. rms_norm() adds the offset itself, as in Gemma, but
/// layer_norm() expects complete gains.
void whole_gain(NormWeights& norm) {
  if (norm.spec.kind != NormKind::layer) return;
  for (float& gain : norm.gain) gain += static_cast<float>(norm.spec.gain_offset);
  norm.spec.gain_offset = 0;  // the offset must not be added twice
}

}  // namespace

OptionalNorm TensorReader::norm(const std::optional<NormSpec>& norm,
                                std::optional<std::int64_t> layer, std::int64_t size) const {
  if (!norm) return std::nullopt;
  return norm_of_shape(*norm, layer, {size});
}

NormWeights TensorReader::norm_of_shape(const NormSpec& norm, std::optional<std::int64_t> layer,
                                        const Shape& shape) const {
  NormWeights out{.spec = norm};
  if (norm.has_gain()) out.gain = values(need(model_.norm_gain(norm, layer, shape), layer));
  if (norm.has_bias()) out.bias = values(need(model_.norm_bias(norm, layer, shape), layer));
  whole_gain(out);
  return out;
}

RowTable TensorReader::table(const std::string& name, std::int64_t cols) const {
  if (name.empty()) return {};
  const CheckpointTensor& tensor = need(model_.find(name));
  const Shape& shape = tensor.view.shape;
  if (shape.size() != 2 || shape[1] != cols) {
    throw Error(ErrorKind::format, model_.checkpoint().parts_of(
                                       tensor, "shape " + shape_text(shape) + " is not [any, " +
                                                   std::to_string(cols) + "]"));
  }
  return {.checkpoint = &model_.checkpoint(), .tensor = &tensor, .rows = shape[0], .cols = cols};
}

RowTable TensorReader::table_under_prefix(const std::string& name, std::int64_t cols) const {
  return name.empty() ? RowTable{} : table(model_.prefix() + name, cols);
}

float TensorReader::scalar(const ScalarSite& site) const {
  const Shape shape{5 * spec_.dimensions.layers};
  const CheckpointTensor& tensor = need(model_.find(model_.prefix() + site.tensor, shape));
  check_dtype(tensor);
  model_.checkpoint().need(tensor);
  float value = 0;
  decode_elements(tensor.view, site.index * tensor.view.stride(0), 1, 1, &value);
  return value;
}

bool TensorReader::copies(const std::vector<TensorMatrix>& parts) const {
  return copy_ && std::all_of(parts.begin(), parts.end(), [](const TensorMatrix& part) {
           const DType dtype = part.tensor.dtype;
           return part.tensor.source == nullptr && (dtype == DType::f32 || dtype == DType::f64);
         });
}

SharedLinear TensorReader::make_linear(std::vector<TensorMatrix> parts, std::vector<float> bias,
                                       bool copied) const {
  std::vector<std::span<const std::byte>> bytes;  // requested together: they may be in one tensor
  for (const TensorMatrix& part : parts) {
    const auto own = byte_ranges(part);
    bytes.insert(bytes.end(), own.begin(), own.end());
  }
  model_.checkpoint().need(bytes);
  LinearLayer layer;
  layer.bias = std::move(bias);
  layer.weights = LinearWeights(std::move(parts), copied, compute_);
  return std::make_shared<const LinearLayer>(std::move(layer));
}

SharedLinear TensorReader::linear(const std::string& name, std::int64_t outputs,
                                  std::int64_t inputs) const {
  const CheckpointTensor& tensor = need(model_.find(name, Shape{outputs, inputs}));
  return make_linear({whole_matrix(tensor.view)}, bias_of(name, outputs), /*copied=*/false);
}

std::vector<float> TensorReader::bias_of(const std::string& name, std::int64_t outputs) const {
  const CheckpointTensor* found = model_.checkpoint().find_first(bias_names(name));
  if (found == nullptr) return {};
  return values(need(model_.find(found->name, Shape{outputs})));
}

TensorMatrix TensorReader::rows_of(const CheckpointTensor& tensor) const {
  const TensorView& view = tensor.view;
  if (view.shape.size() == 2) return whole_matrix(view);
  std::int64_t cols = 1;
  for (std::size_t axis = view.shape.size(); axis-- > 1;) {
    if (view.stride(axis) != cols)
      refuse("'" + tensor.name + "' is not stored in row-major order", {});
    cols *= view.shape[axis];
  }
  return {.tensor = view,
          .rows = view.shape.front(),
          .cols = cols,
          .row_stride = view.stride(0),
          .block_rows = view.shape.front()};
}

Matrix<float> TensorReader::rows_of_width(const CheckpointTensor& tensor, std::int64_t cols) const {
  const std::int64_t count = tensor.view.element_count();
  if (count % cols != 0 || tensor.view.shape.back() != cols) {
    refuse("'" + tensor.name + "' does not consist of rows of size " + std::to_string(cols), {});
  }
  std::vector<float> all;
  if (tensor.view.shape.size() == 1) {
    all = values(tensor);
  } else {
    all = values(rows_of(tensor));
  }
  Matrix<float> out(count / cols, cols);
  std::copy(all.begin(), all.end(), out.data());
  return out;
}

}  // namespace attnscope
