// Merges an adapter into its base, as PEFT does.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/peft/adapter_files.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/features/diff/adapter.h"
#include "attnscope/features/diff/adapter_config.h"
#include "attnscope/features/diff/adapter_initialization.h"
#include "attnscope/features/diff/adapter_names.h"
#include "attnscope/features/diff/adapter_parts.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

constexpr std::string_view kWeightOf = ".weight", kBiasOf = ".bias";

Matrix<double> transpose_of(const Matrix<double>& matrix) {
  Matrix<double> out(matrix.cols(), matrix.rows());
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t col = 0; col < out.cols(); ++col) out(row, col) = matrix(col, row);
  }
  return out;
}

class AdapterMerger {
 public:
  AdapterMerger(const Model& base, const Checkpoint& files, AdapterConfig config,
                const Compute& compute)
      : base_(base),
        files_(files),
        config_(std::move(config)),
        parts_(read_adapter_parts(files, config_)),
        changed_(base, DType::f64),
        compute_(compute) {
    for (LinearModule& module : linear_modules(base)) {
      linear_.emplace(module.weight, std::move(module));
    }
  }

  MergedAdapter merge(std::string name) {
    for (const auto& [target, tensor] : parts_.whole) replace(target, *tensor);
    for (const auto& [module, factors] : parts_.factors) add_change(module, factors);
    for (const auto& [target, tensor] : parts_.token_rows) replace_rows(target, *tensor);
    check_all_adapted();
    check_all_saved();
    for (const auto& [tensor, matrix] : merged_) changed_.put(tensor, matrix.view());
    return {.model = changed_.open().named(std::move(name)), .notes = std::move(config_.notes)};
  }

 private:
  [[noreturn]] void refuse(const CheckpointTensor& tensor, const std::string& problem) const {
    throw Error(ErrorKind::format, files_.parts_of(tensor, verbatim(problem)));
  }

  /// A tensor of the base, decoded as real numbers.
  const CheckpointTensor& needed(const CheckpointTensor& tensor) const {
    if (const auto problem = why_not_analyzed(base_.checkpoint(), tensor)) {
      throw Error(ErrorKind::format, base_.checkpoint().parts_of(tensor, verbatim(*problem)));
    }
    base_.checkpoint().need(tensor);
    return tensor;
  }

  bool is_head(const std::string& name) const {
    const auto& heads = base_.spec().head.rule.weight;
    return std::find(heads.begin(), heads.end(), name) != heads.end();
  }

  const CheckpointTensor* embedding() const {
    return base_.checkpoint().find(base_.prefix() + base_.spec().stream.embedding.tokens);
  }

  /// The base's tensor; for a tied LM head the embedding, because PEFT treats them as one.
  const CheckpointTensor* own_tensor(const std::string& name) const {
    const CheckpointTensor* own = tensor_in_base(base_, name);
    return own == nullptr && base_.spec().tied && is_head(name) ? embedding() : own;
  }

  [[noreturn]] void refuse_unknown(const CheckpointTensor& tensor, const std::string& name) const {
    refuse(tensor, "changes '" + name + "', which the base does not have");
  }

  void expect_shape(const CheckpointTensor& tensor, const Shape& own) const {
    if (tensor.view.shape == own) return;
    refuse(tensor,
           "has shape " + shape_text(tensor.view.shape) + ", but the base has " + shape_text(own));
  }

  void put(const std::string& name, const CheckpointTensor& tensor) {
    changed_.put(name, tensor.view.shape, encoded_elements(tensor.view, DType::f64));
  }

  /// Replaces a tensor that is saved in full. With a tied base, it replaces only the embedding or
  /// only the LM head, unless the module is adapted or the config keeps the tie.
  void replace(const std::string& target, const CheckpointTensor& tensor) {
    const std::string module = target.substr(0, target.rfind('.'));
    const CheckpointTensor* own = tensor_in_base(base_, target);
    const bool adapted = parts_.factors.contains(module);
    const bool unties = base_.spec().tied && !adapted && !config_.keeps_ties;
    if (own == nullptr && base_.spec().tied && is_head(target)) {
      if (embedding() == nullptr) refuse_unknown(tensor, target);
      expect_shape(tensor, embedding()->view.shape);
      if (!unties) {
        put(embedding()->name, tensor);
        return;
      }
      put(target, tensor);
      changed_.set_config("tie_word_embeddings", "false");
      return;
    }
    if (own == nullptr) {
      // A head added in fine-tuning, such as a classification head.
      if (!config_.saves(module)) refuse_unknown(tensor, target);
      put(target, tensor);
      return;
    }
    expect_shape(tensor, own->view.shape);
    put(own->name, tensor);
    if (unties && own == embedding() && !base_.spec().head.rule.weight.empty()) {
      const std::string& head = base_.spec().head.rule.weight.front();
      if (tensor_in_base(base_, head) != nullptr || parts_.whole.contains(head)) return;
      changed_.put(head, needed(*own).view);
      changed_.set_config("tie_word_embeddings", "false");
    }
  }

  /// W before the change: from the adapter file if present, otherwise from the base. For some
  /// initializations, loading the adapter subtracts a component from it.
  Matrix<double>& weight_of(const std::string& module, const AdapterFactors& factors,
                            const CheckpointTensor& own, bool transposed) {
    const auto [found, is_new] = merged_.try_emplace(own.name);
    Matrix<double>& weight = found->second;
    const auto whole = parts_.whole.find(module + std::string(kWeightOf));
    if (whole != parts_.whole.end()) {
      if (is_new) weight = decode<double>(whole_matrix(whole->second->view));
      return weight;
    }
    if (is_new) weight = decode<double>(whole_matrix(needed(own).view));
    if (factors.of_embedding || config_.init == AdapterInit::keeps_base) return weight;
    const std::int64_t rank = factors.a->view.shape[0];
    if (config_.init == AdapterInit::olora) {  // of the weight as stored
      if (!take_orthonormal_part(weight, rank, config_.scale_of(module))) {
        refuse(*factors.a, "belongs to an OLoRA adapter, but the first columns of '" + own.name +
                               "' are linearly dependent");
      }
      return weight;
    }
    if (transposed) weight = transpose_of(weight);
    take_principal_part(weight, rank, compute_);
    if (transposed) weight = transpose_of(weight);
    return weight;
  }

  void check_rank(const std::string& module, const AdapterFactors& factors) const {
    const Shape &down = factors.a->view.shape, &up = factors.b->view.shape;
    if (down.size() != 2 || up.size() != 2) {
      refuse(*factors.b, "and its lora_A have shapes " + shape_text(up) + " and " +
                             shape_text(down) + ", expected two matrices");
    }
    if (down[0] != up[1]) {
      refuse(*factors.b, "has shape " + shape_text(up) + ", but its lora_A has " +
                             shape_text(down) + ": their ranks differ");
    }
    double rank = config_.rank_of(module);
    if (config_.init != AdapterInit::keeps_base && !factors.of_embedding) {
      // Initializations that decompose the weight have at most as many directions as the weight.
      rank = std::min(rank, static_cast<double>(std::min(up[0], down[1])));
    }
    if (static_cast<double>(down[0]) == rank) return;
    refuse(*factors.a, "has rank " + std::to_string(down[0]) + ", but adapter_config.json has " +
                           shortest_decimal(rank) + " (r, rank_pattern)");
  }

  /// W + scale · B A, in the orientation of the base's tensor.
  void add_change(const std::string& module, const AdapterFactors& factors) {
    check_rank(module, factors);
    const std::string target = module + std::string(kWeightOf);
    const CheckpointTensor* own = own_tensor(target);
    if (own == nullptr) refuse_unknown(*factors.b, target);
    const auto linear = linear_.find(own);
    const bool transposed =
        factors.of_embedding || (linear != linear_.end() && linear->second.transposed);
    const Shape &down = factors.a->view.shape, &up = factors.b->view.shape;
    const Shape made = transposed ? Shape{down[1], up[0]} : Shape{up[0], down[1]};
    if (own->view.shape != made) {
      refuse(*factors.b, "produces a matrix " + shape_text(made) + ", but the base has " +
                             shape_text(own->view.shape));
    }
    Matrix<double>& weight = weight_of(module, factors, *own, transposed);
    const Matrix<double> a = decode<double>(whole_matrix(factors.a->view));
    const Matrix<double> b = decode<double>(whole_matrix(factors.b->view));
    const double scale = config_.scale_of(module);
    for (std::int64_t row = 0; row < up[0]; ++row) {
      for (std::int64_t col = 0; col < down[1]; ++col) {
        double sum = 0;
        for (std::int64_t at = 0; at < down[0]; ++at) sum += b(row, at) * a(at, col);
        (transposed ? weight(col, row) : weight(row, col)) += scale * sum;
      }
    }
    adapted_.insert(own);
    if (factors.bias != nullptr) add_bias(module, *factors.bias, scale);
  }

  void add_bias(const std::string& module, const CheckpointTensor& change, double scale) {
    const std::string target = module + std::string(kBiasOf);
    const CheckpointTensor* own = tensor_in_base(base_, target);
    if (own == nullptr) refuse_unknown(change, target);
    expect_shape(change, own->view.shape);
    const auto whole = parts_.whole.find(target);
    const TensorView& before =
        whole == parts_.whole.end() ? needed(*own).view : whole->second->view;
    Matrix<double> bias = decode<double>(column_view(before));
    const Matrix<double> more = decode<double>(column_view(change.view));
    for (std::int64_t at = 0; at < bias.rows(); ++at) bias(at, 0) += scale * more(at, 0);
    changed_.put(own->name,
                 std::span<const double>(bias.data(), static_cast<std::size_t>(bias.rows())));
  }

  static TensorMatrix column_view(const TensorView& vector) {
    const std::int64_t count = vector.element_count();
    return {.tensor = vector,
            .rows = count,
            .cols = 1,
            .row_stride = 1,
            .block_rows = count,
            .block_stride = count};
  }

  /// Rows of an embedding that were trained separately.
  void replace_rows(const std::string& target, const CheckpointTensor& rows) {
    const CheckpointTensor* own = own_tensor(target);
    if (own == nullptr) refuse_unknown(rows, target);
    const std::vector<std::int64_t>* indices = nullptr;
    for (const auto& [module, found] : config_.token_rows) {
      const std::string whole_name = module + std::string(kWeightOf);
      const bool named = target == whole_name || target.ends_with("." + whole_name);
      if (module.empty() || named) indices = &found;
    }
    if (indices == nullptr) {
      refuse(rows, "contains rows of '" + target +
                       "', which is not in trainable_token_indices of adapter_config.json");
    }
    const Shape& shape = own->view.shape;
    if (shape.size() != 2) refuse(rows, "contains rows of '" + target + "', which is not a matrix");
    expect_shape(rows, {std::ssize(*indices), shape[1]});
    const auto [found, is_new] = merged_.try_emplace(own->name);
    if (is_new) {
      const auto whole = parts_.whole.find(target);
      found->second = decode<double>(
          whole_matrix(whole == parts_.whole.end() ? needed(*own).view : whole->second->view));
    }
    const Matrix<double> values = decode<double>(whole_matrix(rows.view));
    for (std::int64_t row = 0; row < values.rows(); ++row) {
      const std::int64_t at = (*indices)[static_cast<std::size_t>(row)];
      if (at >= shape[0]) {
        refuse(rows, "replaces row " + std::to_string(at) + " of '" + target + "', which has " +
                         std::to_string(shape[0]));
      }
      for (std::int64_t col = 0; col < values.cols(); ++col) {
        found->second(at, col) = values(row, col);
      }
    }
  }

  /// A module that the config adapts but the file does not contain is a lost part.
  void check_all_adapted() const {
    if (!parts_.token_rows.empty() != !config_.token_rows.empty()) {
      throw Error(ErrorKind::format,
                  {.file = files_.main_file().string(),
                   .problem = "has no tensor for trainable_token_indices of adapter_config.json"});
    }
    for (const auto& [tensor, module] : linear_) {
      const bool dense = base_.spec().architecture.experts == nullptr || !is_of_mlp(module.role);
      if (!dense || adapted_.contains(tensor)) continue;
      if (!config_.is_target(module.name).value_or(false)) continue;
      throw Error(ErrorKind::format,
                  {.file = files_.main_file().string(),
                   .problem = verbatim("tensor 'base_model.model." + module.name +
                                       ".lora_A.weight' is missing, but adapter_config.json adapts "
                                       "its module")});
    }
  }

  [[noreturn]] void refuse_unsaved(const std::string& name) const {
    throw Error(ErrorKind::format,
                {.file = files_.main_file().string(),
                 .problem = verbatim("tensor 'base_model.model." + name +
                                     "' is missing, but modules_to_save of adapter_config.json "
                                     "names its module")});
  }

  /// A module of the base that modules_to_save lists must have its weights in the file.
  void check_all_saved() const {
    std::set<const CheckpointTensor*> saved;
    for (const auto& [target, tensor] : parts_.whole) saved.insert(tensor_in_base(base_, target));
    const std::set<std::string> of_experts = tensors_of_experts(base_);
    const auto names = [&](const std::string& tensor) {
      return tensor.ends_with(kWeightOf) && config_.saves(tensor.substr(0, tensor.rfind('.')));
    };
    for (const CheckpointTensor& own : base_.checkpoint().tensors()) {
      const std::string name = loaded_name(base_, own.name);
      if (!names(name) || saved.contains(&own) || of_experts.contains(own.name)) continue;
      // A kept tie is stored as a single tensor.
      const bool kept_tie = config_.keeps_ties && base_.spec().tied && &own == embedding();
      const auto& heads = base_.spec().head.rule.weight;
      const bool as_head = std::any_of(heads.begin(), heads.end(), [&](const std::string& head) {
        return parts_.whole.contains(head);
      });
      if (!kept_tie || !as_head) refuse_unsaved(name);
    }
    check_tied_head_saved(names, saved);
  }

  /// The LM head of a tied base, which has no tensor of its own in the base.
  template <class Names>
  void check_tied_head_saved(const Names& names,
                             const std::set<const CheckpointTensor*>& saved) const {
    if (!base_.spec().tied || (config_.keeps_ties && saved.contains(embedding()))) return;
    const auto& heads = base_.spec().head.rule.weight;
    const auto wanted = std::find_if(heads.begin(), heads.end(), names);
    const bool found = std::any_of(heads.begin(), heads.end(), [&](const std::string& head) {
      return tensor_in_base(base_, head) != nullptr || parts_.whole.contains(head);
    });
    if (wanted != heads.end() && !found) refuse_unsaved(*wanted);
  }

  const Model& base_;
  const Checkpoint& files_;
  AdapterConfig config_;
  AdapterParts parts_;
  ChangedModel changed_;
  const Compute& compute_;
  std::map<const CheckpointTensor*, LinearModule> linear_;
  std::map<std::string, Matrix<double>> merged_;  // by name in the base
  std::set<const CheckpointTensor*> adapted_;
};

}  // namespace

MergedAdapter with_adapter(const Model& base, const std::filesystem::path& path, std::string name,
                           const Compute& compute) {
  const CheckpointFolder folder(path);
  AdapterConfig config = read_adapter_config(folder);
  const std::string weights = adapter_weights(folder);
  if (weights.empty()) {
    throw Error(ErrorKind::io, {.file = path.string(),
                                .problem = "contains no adapter weights, expected "
                                           "adapter_model.safetensors or adapter_model.bin"});
  }
  const Checkpoint files = Checkpoint::open(folder, weights);
  return AdapterMerger(base, files, std::move(config), compute).merge(std::move(name));
}

}  // namespace attnscope
