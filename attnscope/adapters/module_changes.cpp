#include "attnscope/adapters/module_changes.h"

#include <algorithm>
#include <utility>

#include "attnscope/adapters/adapter_initialization.h"
#include "attnscope/adapters/rotation.h"
#include "attnscope/adapters/vera_projections.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

const CheckpointTensor* find(const ModuleTensors& tensors, std::string_view part) {
  const auto found = tensors.find(part);
  return found == tensors.end() ? nullptr : found->second;
}

bool is_embedding(const ModuleTensors& tensors) {
  return tensors.contains("embedding_A") || tensors.contains("embedding_rotation");
}

}  // namespace

ModuleChanges::ModuleChanges(const Checkpoint& files, const AdapterConfig& config,
                             const AdapterParts& parts)
    : files_(files), config_(config), parts_(parts) {
  if (config.type != AdapterType::vera || parts.modules.empty()) return;
  if (parts.vera_a == nullptr && parts.vera_b == nullptr && !config.saves_projection) {
    return;  // drawn when all shapes are known
  }
  if (parts.vera_a == nullptr || parts.vera_b == nullptr) {
    throw Error(ErrorKind::format,
                {.file = files.main_file().string(),
                 .problem = "has no tensors 'base_model.vera_A' and 'base_model.vera_B', but "
                            "adapter_config.json has save_projection"});
  }
  vera_a_ = parts.vera_a->view;
  vera_b_ = parts.vera_b->view;
}

void ModuleChanges::refuse(const CheckpointTensor& tensor, const std::string& problem) const {
  throw Error(ErrorKind::format, files_.parts_of(tensor, verbatim(problem)));
}

void ModuleChanges::expect(const CheckpointTensor& tensor, const Shape& shape) const {
  if (tensor.view.shape == shape) return;
  refuse(tensor, "has shape " + shape_text(tensor.view.shape) + ", expected " + shape_text(shape));
}

/// Checks that b (outputs, r) times a (r, inputs) fits the weight and has the rank of the config.
void ModuleChanges::check_product(const ModuleToChange& module, const CheckpointTensor& b,
                                  const CheckpointTensor& a, double rank) const {
  const Shape &down = a.view.shape, &up = b.view.shape;
  if (down.size() != 2 || up.size() != 2) {
    refuse(b, "and its lora_A have shapes " + shape_text(up) + " and " + shape_text(down) +
                  ", expected two matrices");
  }
  if (down[0] != up[1]) {
    refuse(b, "has shape " + shape_text(up) + ", but its lora_A has " + shape_text(down) +
                  ": their ranks differ");
  }
  if (static_cast<double>(down[0]) != rank) {
    refuse(a, "has rank " + std::to_string(down[0]) + ", but adapter_config.json has " +
                  shortest_decimal(rank) + " (r, rank_pattern)");
  }
  const Shape made = {up[0], down[1]}, own = {module.weight->rows(), module.weight->cols()};
  if (made == own) return;
  refuse(b, "produces a matrix " + shape_text(made) + ", but '" + module.of_base +
                "' of the base is " + shape_text(own));
}

MergedMatrixPtr ModuleChanges::weight(const ModuleToChange& module) const {
  switch (config_.type) {
    case AdapterType::lora: return lora(module);
    case AdapterType::adalora: return adalora(module);
    case AdapterType::ia3: return ia3(module);
    case AdapterType::vera: return vera(module);
    default: break;
  }
  if (module.is_conv1d) {
    refuse(*module.tensors.begin()->second,
           "adapts '" + module.of_base + "', a Conv1D, which " + config_.name + " does not adapt");
  }
  switch (config_.type) {
    case AdapterType::loha: return loha(module);
    case AdapterType::lokr: return lokr(module);
    case AdapterType::oft: return oft(module);
    case AdapterType::boft: return boft(module);
    default: return module.weight;
  }
}

MergedMatrixPtr ModuleChanges::lora(const ModuleToChange& module) const {
  const bool embeds = is_embedding(module.tensors);
  const CheckpointTensor& a = *module.tensors.at(embeds ? "embedding_A" : "lora_A");
  const CheckpointTensor& b = *module.tensors.at(embeds ? "embedding_B" : "lora_B");
  const bool decomposes = config_.init != AdapterInit::keeps_base && !embeds;
  const bool subtracts = decomposes && !module.is_saved;
  double rank = config_.rank_of(module.name);
  if (decomposes && b.view.shape.size() == 2 && a.view.shape.size() == 2) {
    // Initializations that decompose the weight have at most as many directions as the weight.
    rank = std::min(rank, static_cast<double>(std::min(b.view.shape[0], a.view.shape[1])));
  }
  check_product(module, b, a, rank);
  const double scale = config_.scale_of(module.name);
  const std::int64_t used = a.view.shape[0];
  MergedMatrixPtr base = module.weight;
  if (subtracts && config_.init == AdapterInit::pissa) {
    base = without_principal_part(base, used);
  } else if (subtracts) {
    const ErrorParts dependent =
        files_.parts_of(a, verbatim("belongs to an OLoRA adapter, but the first columns of '" +
                                    module.of_base + "' are linearly dependent"));
    if (module.is_conv1d) base = transposed(base);  // the weight as stored is decomposed
    base = without_orthonormal_part(base, used, scale, dependent);
    if (module.is_conv1d) base = transposed(base);
  }
  MergedMatrixPtr out = with_low_rank(
      std::move(base), {.b = whole_matrix(b.view), .a = whole_matrix(a.view), .scale = scale});
  const CheckpointTensor* norms = find(module.tensors, "magnitude");
  if (norms == nullptr) return out;
  // A vector, or a column or row of as many numbers.
  const bool fits = norms->view.element_count() == out->rows() &&
                    std::ranges::count(norms->view.shape, out->rows()) > 0;
  if (!fits) expect(*norms, {out->rows()});
  return with_row_norms(std::move(out), as_column(norms->view));
}

MergedMatrixPtr ModuleChanges::adalora(const ModuleToChange& module) const {
  const CheckpointTensor &a = *module.tensors.at("lora_A"), &b = *module.tensors.at("lora_B");
  const CheckpointTensor& middle = *module.tensors.at("lora_E");
  const auto kept = config_.kept_ranks.find(module.name);
  const double rank =
      kept == config_.kept_ranks.end() ? config_.rank : static_cast<double>(kept->second);
  check_product(module, b, a, rank);
  expect(middle, {a.view.shape[0], 1});
  // PEFT divides by the initial rank, in float32, also if fewer directions are kept.
  const double divisor = static_cast<float>(config_.rank) + 1e-5F;
  return with_low_rank(module.weight,
                       {.b = whole_matrix(b.view),
                        .a = whole_matrix(a.view),
                        .middle = as_column(middle.view),
                        .scale = (config_.alpha > 0 ? config_.alpha : rank) / divisor});
}

MergedMatrixPtr ModuleChanges::loha(const ModuleToChange& module) const {
  const auto part = [&](const char* name) -> const CheckpointTensor& {
    return *module.tensors.at(name);
  };
  const auto product = [&](const CheckpointTensor& b, const CheckpointTensor& a, double scale) {
    check_product(module, b, a, config_.rank_of(module.name));
    return LowRankProduct{.b = whole_matrix(b.view), .a = whole_matrix(a.view), .scale = scale};
  };
  return with_hadamard(module.weight,
                       product(part("w1_a"), part("w1_b"), config_.scale_of(module.name)),
                       product(part("w2_a"), part("w2_b"), 1));
}

MergedMatrixPtr ModuleChanges::lokr(const ModuleToChange& module) const {
  const auto factor = [&](const char* whole, const char* left, const char* right) {
    const CheckpointTensor* one = find(module.tensors, whole);
    if (one == nullptr) one = find(module.tensors, left);
    const CheckpointTensor* other = find(module.tensors, right);
    if (one->view.shape.size() != 2) refuse(*one, "is not a matrix");
    KroneckerFactor out{.left = whole_matrix(one->view)};
    if (other == nullptr) return out;
    if (other->view.shape.size() != 2 || other->view.shape[0] != one->view.shape[1]) {
      refuse(*other, "has shape " + shape_text(other->view.shape) + ", which does not fit " +
                         shape_text(one->view.shape));
    }
    if (static_cast<double>(out.left.cols) != config_.rank_of(module.name)) {
      refuse(*one, "has rank " + std::to_string(out.left.cols) + ", but adapter_config.json has " +
                       shortest_decimal(config_.rank_of(module.name)) + " (r, rank_pattern)");
    }
    out.right = whole_matrix(other->view);
    return out;
  };
  const KroneckerFactor outer = factor("w1", "w1_a", "w1_b"), inner = factor("w2", "w2_a", "w2_b");
  const auto fits = [](std::int64_t one, std::int64_t other, std::int64_t size) {
    return one > 0 && other > 0 && size % one == 0 && size / one == other;
  };
  if (!fits(outer.rows(), inner.rows(), module.weight->rows()) ||
      !fits(outer.cols(), inner.cols(), module.weight->cols())) {
    const auto shape = [](const KroneckerFactor& one) {
      return shape_text(Shape{one.rows(), one.cols()});
    };
    refuse(*module.tensors.begin()->second,
           "has factors " + shape(outer) + " and " + shape(inner) + ", but '" + module.of_base +
               "' of the base is " +
               shape_text(Shape{module.weight->rows(), module.weight->cols()}));
  }
  return with_kronecker(module.weight, outer, inner, config_.scale_of(module.name));
}

bool ModuleChanges::scales_outputs(const CheckpointTensor& factors) const {
  return factors.view.shape.size() == 2 && factors.view.shape[1] == 1;
}

MergedMatrixPtr ModuleChanges::ia3(const ModuleToChange& module) const {
  const CheckpointTensor& factors = *module.tensors.at("factors");
  if (scales_outputs(factors)) {
    expect(factors, {module.weight->rows(), 1});
    return with_scaled_rows(module.weight, as_column(factors.view));
  }
  expect(factors, {1, module.weight->cols()});
  return transposed(with_scaled_rows(transposed(module.weight), as_column(factors.view)));
}

MergedMatrixPtr ModuleChanges::vera(const ModuleToChange& module) const {
  const CheckpointTensor& outputs = *module.tensors.at("lambda_b");
  const CheckpointTensor& middle = *module.tensors.at("lambda_d");
  const auto rank = static_cast<std::int64_t>(config_.rank);
  const std::int64_t rows = module.weight->rows(), cols = module.weight->cols();
  expect(outputs, {rows});
  expect(middle, {rank});
  const auto check = [&](const TensorView& own, bool fits) {
    if (fits) return;
    throw Error(ErrorKind::format,
                {.file = files_.main_file().string(),
                 .problem = verbatim("the projections of VeRA have shape " + shape_text(own.shape) +
                                     ", which does not fit " + module.name)});
  };
  check(vera_a_, vera_a_.shape.size() == 2 && vera_a_.shape[0] == rank && vera_a_.shape[1] >= cols);
  check(vera_b_, vera_b_.shape.size() == 2 && vera_b_.shape[1] == rank && vera_b_.shape[0] >= rows);
  TensorMatrix a = whole_matrix(vera_a_), b = whole_matrix(vera_b_);
  a.cols = cols;
  b.rows = b.block_rows = rows;
  return with_low_rank(
      module.weight,
      {.b = b, .a = a, .middle = as_column(middle.view), .outputs = as_column(outputs.view)});
}

MergedMatrixPtr ModuleChanges::oft(const ModuleToChange& module) const {
  const bool embeds = is_embedding(module.tensors);
  const CheckpointTensor& rotation = *module.tensors.at(embeds ? "embedding_rotation" : "rotation");
  const MergedMatrixPtr base = embeds ? transposed(module.weight) : module.weight;
  const std::int64_t inputs = base->cols();
  const Shape& shape = rotation.view.shape;
  if (shape.size() != 2) refuse(rotation, "is not a matrix");
  // n blocks of size s have s (s − 1) / 2 parameters each.
  std::int64_t size = 1;
  while (size <= inputs && size * (size - 1) / 2 < shape[1]) ++size;
  const bool one = shape[0] == 1;
  const bool fits = size * (size - 1) / 2 == shape[1] && size <= inputs && inputs % size == 0 &&
                    (one || inputs / size == shape[0]);
  if (!fits) {
    refuse(rotation, "has shape " + shape_text(shape) + ", which does not fit the " +
                         std::to_string(inputs) + " inputs of '" + module.of_base + "'");
  }
  MergedMatrixPtr out = with_oft(base, whole_matrix(rotation.view), size, config_.oft, embeds);
  return embeds ? transposed(std::move(out)) : out;
}

MergedMatrixPtr ModuleChanges::boft(const ModuleToChange& module) const {
  const CheckpointTensor &rotation = *module.tensors.at("rotation"),
                         &scale = *module.tensors.at("scale");
  expect(scale, {module.weight->rows(), 1});
  const Shape& shape = rotation.view.shape;
  const std::int64_t inputs = module.weight->cols();
  bool fits = shape.size() == 4 && shape[2] == shape[3] && shape[0] >= 1 && shape[2] >= 1 &&
              inputs % shape[2] == 0 && inputs / shape[2] == shape[1];
  if (fits && shape[0] > 1) {
    fits = shape[2] % 2 == 0 && shape[0] < 60 &&
           shape[1] % (std::int64_t{1} << (shape[0] - 1)) == 0;  // inputs = shape[1] · shape[2]
  }
  if (!fits) {
    refuse(rotation, "has shape " + shape_text(shape) + ", which does not fit the " +
                         std::to_string(inputs) + " inputs of '" + module.of_base + "'");
  }
  return with_scaled_rows(with_boft(module.weight, rotation.view), as_column(scale.view));
}

bool ModuleChanges::changes_bias(const ModuleTensors& tensors) const {
  if (tensors.contains("bias")) return true;
  const CheckpointTensor* factors = find(tensors, "factors");
  return factors != nullptr && scales_outputs(*factors);
}

MergedMatrixPtr ModuleChanges::bias(const ModuleToChange& module, const TensorView& base) const {
  if (base.shape != Shape{module.weight->rows()}) {
    refuse(*module.tensors.begin()->second,
           "changes the bias of '" + module.of_base + "', which has shape " +
               shape_text(base.shape) + ", expected " + shape_text({{module.weight->rows()}}));
  }
  const MergedMatrixPtr own = stored_matrix(as_column(base));
  if (const CheckpointTensor* factors = find(module.tensors, "factors")) {
    return transposed(with_scaled_rows(own, as_column(factors->view)));
  }
  const CheckpointTensor& change = *module.tensors.at("bias");
  expect(change, base.shape);
  return transposed(with_sum(own, as_column(change.view), config_.scale_of(module.name)));
}

MergedMatrixPtr ModuleChanges::expert_weight(const ModuleToChange& module,
                                             const std::string& parameter, std::int64_t index,
                                             std::int64_t count, std::int64_t first_output) const {
  const CheckpointTensor &a = *module.tensors.at("lora_A"), &b = *module.tensors.at("lora_B");
  const double given = config_.rank_of(parameter);
  const auto rank = static_cast<std::int64_t>(given);
  const Shape &down = a.view.shape, &up = b.view.shape;
  const bool fits = down.size() == 2 && up.size() == 2 && down[0] == rank * count &&
                    up[1] == down[0] && down[1] == module.weight->cols() &&
                    up[0] >= first_output + module.weight->rows();
  if (!fits) {
    refuse(b, "and its lora_A have shapes " + shape_text(up) + " and " + shape_text(down) +
                  ", which do not fit rank " + std::to_string(rank) + " of " +
                  std::to_string(count) + " experts with " + std::to_string(module.weight->cols()) +
                  " inputs");
  }
  // The columns of lora_B are (rank, experts), the rows of lora_A are (experts, rank).
  TensorMatrix left = whole_matrix(b.view), right = whole_matrix(a.view);
  left.first = first_output * left.row_stride + index * left.col_stride;
  left.rows = left.block_rows = module.weight->rows();
  left.cols = rank;
  left.col_stride *= count;
  right.first = index * rank * right.row_stride;
  right.rows = right.block_rows = rank;
  return with_low_rank(
      module.weight,
      {.b = std::move(left), .a = std::move(right), .scale = config_.scale_of(parameter)});
}

void ModuleChanges::draw_vera_projections(std::int64_t outputs, std::int64_t inputs) {
  if (!vera_a_.shape.empty()) return;
  for (const auto& [module, tensors] : parts_.modules) {
    expect(*tensors.at("lambda_d"), {static_cast<std::int64_t>(config_.rank)});
  }
  const auto rank = static_cast<std::int64_t>(config_.rank);
  VeraProjections drawn = vera_projections(rank, outputs, inputs, config_.random_key);
  memory_.push_back(drawn.a);
  memory_.push_back(drawn.b);
  vera_a_ = {.dtype = DType::f32, .shape = {rank, inputs}, .bytes = *memory_[0]};
  vera_b_ = {.dtype = DType::f32, .shape = {outputs, rank}, .bytes = *memory_[1]};
}

}  // namespace attnscope
