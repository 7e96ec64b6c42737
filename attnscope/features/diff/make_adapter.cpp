// Computes a LoRA adapter from the difference of two models.
#include "attnscope/features/diff/make_adapter.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "attnscope/adapters/adapter_names.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/svd/eigenvectors.h"
#include "attnscope/numerics/vector_loops.h"
#include "attnscope/tensor/encode.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

constexpr std::string_view kWeight = ".weight";

/// A linear layer of both models: its tensors and their storage order.
struct LinearPair {
  std::string module;  // in the loaded model
  const CheckpointTensor *base = nullptr, *tuned = nullptr;
  bool transposed = false;  // files contain (inputs, outputs)
  bool finite = true;       // whether the difference is finite; otherwise it is skipped
  AdapterModule made;
};

std::string without_weight(const std::string& name) {
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : name;
}

/// ΔW = left · right from its top singular vectors; each factor gets the root of the singular
/// values.
void factor(LinearPair& pair, const AdapterRank& wanted, const Compute& compute) {
  const auto read = [&](const CheckpointTensor& tensor) {
    Matrix<double> stored = decode<double>(whole_matrix(tensor.view));
    if (!pair.transposed) return stored;
    Matrix<double> out(stored.cols(), stored.rows());
    for (std::int64_t row = 0; row < out.rows(); ++row) {
      for (std::int64_t col = 0; col < out.cols(); ++col) out(row, col) = stored(col, row);
    }
    return out;
  };
  const Matrix<double> before = read(*pair.base);
  Matrix<double> change = read(*pair.tuned);
  for (std::int64_t at = 0; at < change.rows() * change.cols(); ++at) {
    change.data()[at] -= before.data()[at];
  }
  pair.finite = all_finite(MatrixView<const double>(change.view()));
  if (!pair.finite) return;
  const bool wide = change.rows() <= change.cols();
  const Directions own = directions_of(change.view(), compute);
  std::vector<double> values;
  for (const double square : own.squares) values.push_back(std::sqrt(square));
  std::int64_t rank = wanted.rank.value_or(energy_rank(values, wanted.energy));
  rank = std::clamp<std::int64_t>(rank, 1, std::ssize(values));
  // One factor has orthonormal rows, and the other is the product of the change with them. Together
  // they are the exact projection of the change, whatever the error of small singular values.
  Matrix<double>&a = pair.made.a, &b = pair.made.b;
  const auto kept = (wide ? own.left : own.right).view().row_block(0, rank);
  Matrix<double> other =
      multiply_transposed(kept, wide ? change.view().transposed() : change.view(), compute);
  a = Matrix<double>(rank, change.cols());
  b = Matrix<double>(change.rows(), rank);
  for (std::int64_t at = 0; at < rank; ++at) {
    const double value = values[static_cast<std::size_t>(at)];
    const double root = value > 0 ? std::sqrt(value) : 1;
    for (std::int64_t col = 0; col < a.cols(); ++col) {
      a(at, col) = wide ? other(at, col) / root : kept(at, col) * root;
    }
    for (std::int64_t row = 0; row < b.rows(); ++row) {
      b(row, at) = wide ? kept(at, row) * root : other(at, row) / root;
    }
  }
}

std::vector<double> bias_of(const Model& model, const std::string& module) {
  const CheckpointTensor* bias = model.checkpoint().find(module + ".bias");
  if (bias == nullptr) return {};
  const Matrix<double> column = decode<double>({.tensor = bias->view,
                                                .rows = bias->view.element_count(),
                                                .cols = 1,
                                                .row_stride = 1,
                                                .block_rows = bias->view.element_count(),
                                                .block_stride = bias->view.element_count()});
  return {column.data(), column.data() + column.rows()};
}

/// In MoE models, dense MLPs have names that PEFT assigns to experts, so their changes are stored
/// in full.
bool is_adapted(const Model& model, Role role) {
  return !is_of_mlp(role) || model.spec().architecture.experts == nullptr;
}

std::string module_of_tensor(const std::string& name) { return name.substr(0, name.rfind('.')); }

/// Modules that contain other modules. PEFT saves a module with everything in it, so their own
/// parameters cannot be saved alone.
std::set<std::string> modules_with_parts(const Model& model) {
  std::set<std::string> out;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    std::string module = module_of_tensor(tensor.name);
    for (auto at = module.rfind('.'); at != std::string::npos; at = module.rfind('.')) {
      module.resize(at);
      out.insert(module);
    }
  }
  return out;
}

/// The unembedding: the embedding if tied; null if the files have neither.
const CheckpointTensor* logits_weight(const Model& model) {
  const auto& names = model.spec().head.rule.weight;
  const CheckpointTensor* head = model.checkpoint().find_first(names);
  if (head != nullptr || names.empty() || !model.spec().tied) return head;
  return model.checkpoint().find(model.prefix() + model.spec().stream.embedding.tokens);
}

class AdapterMaker {
 public:
  AdapterMaker(const Model& base, const Model& tuned, RowSink& notes)
      : base_(base), tuned_(tuned), notes_(notes), of_experts_(tensors_of_experts(base)) {
    for (const Model* model : {&base, &tuned}) {
      for (const CheckpointTensor& tensor : model->checkpoint().tensors()) {
        model->checkpoint().need(tensor);
      }
    }
  }

  Adapter make(const AdapterRank& rank, const Context& context) {
    out_.base = base_.checkpoint().folder().path().string();
    out_.causal = base_.spec().causal;
    find_pairs();
    std::vector<QueueItem> items;
    for (LinearPair& pair : pairs_) {
      const auto size = static_cast<double>(pair.base->view.element_count());
      items.push_back({.flops = size * std::sqrt(size),
                       .memory_bytes = static_cast<std::uint64_t>(6 * sizeof(double) * size),
                       .run = [&](const Compute& compute) { factor(pair, rank, compute); }});
    }
    run_queue(items, context, {}, {"matrix", "matrices"});
    for (LinearPair& pair : pairs_) add_module(pair);
    add_whole();
    add_head();
    note_added();
    refuse_empty();
    return std::move(out_);
  }

 private:
  void leave_out(const std::string& name, const std::string& why) {
    notes_.add_note(verbatim("'" + name + "' is not part of the adapter: " + why));
  }

  void leave_out(const CheckpointTensor& own, const CheckpointTensor* other) {
    leave_out(own.name, tuned_.name() +
                            (other == nullptr ? " does not have it" : " has it in another shape"));
  }

  const CheckpointTensor* in_tuned(const CheckpointTensor& own) const {
    return counterpart(base_, own.name, tuned_);
  }

  void find_pairs() {
    for (const LinearModule& module : linear_modules(base_)) {
      const CheckpointTensor* own = module.weight;
      LinearPair pair{.module = module.name,
                      .base = own,
                      .tuned = in_tuned(*own),
                      .transposed = module.transposed};
      out_.linear.push_back(pair.module);
      out_.transposed = out_.transposed || pair.transposed;
      if (pair.tuned == nullptr || pair.tuned->view.shape != own->view.shape) {
        taken_.insert(own->name);
        leave_out(*own, pair.tuned);
      } else if (is_adapted(base_, module.role) && !same_elements(own->view, pair.tuned->view)) {
        taken_.insert(own->name);
        pairs_.push_back(std::move(pair));
      }
    }
  }

  void add_module(LinearPair& pair) {
    if (!pair.finite) {
      leave_out(pair.base->name, "the difference contains NaN or Inf");
      return;
    }
    const std::string module = without_weight(pair.base->name);
    const std::vector<double> own = bias_of(base_, module);
    pair.made.bias = bias_of(tuned_, without_weight(pair.tuned->name));
    if (pair.made.bias.size() != own.size()) {
      leave_out(module + ".bias", "it exists in only one model, or in different shapes");
      pair.made.bias = own;
    }
    if (pair.made.bias != own) out_.with_biases = true;
    taken_.insert(module + ".bias");
    out_.modules.emplace(pair.module, std::move(pair.made));
  }

  /// Modules are saved in full: the bias together with the weight.
  void add_whole() {
    std::set<std::string> changed;  // modules with a changed tensor that is not an adapted matrix
    const std::set<std::string> with_parts = modules_with_parts(base_);
    const CheckpointTensor* head = base_.checkpoint().find_first(base_.spec().head.rule.weight);
    for (const CheckpointTensor& tensor : base_.checkpoint().tensors()) {
      if (taken_.contains(tensor.name) || &tensor == head) continue;
      const CheckpointTensor* other = in_tuned(tensor);
      if (other != nullptr && same_elements(tensor.view, other->view)) continue;
      const std::string module = module_of_tensor(tensor.name);
      if (other == nullptr || other->view.shape != tensor.view.shape) {
        leave_out(tensor, other);
      } else if (of_experts_.contains(tensor.name)) {
        throw Error(ErrorKind::unsupported,
                    {.place = tuned_.name(),
                     .problem = "'" + verbatim(tensor.name) +
                                "' changed, but PEFT has no adapters for experts and routers"});
      } else if (module == tensor.name || with_parts.contains(module)) {
        leave_out(tensor.name, "PEFT saves whole modules, and its module contains other modules");
      } else {
        changed.insert(module);
      }
    }
    for (const CheckpointTensor& tensor : base_.checkpoint().tensors()) {
      const CheckpointTensor* other = in_tuned(tensor);
      if (other == nullptr || !changed.contains(module_of_tensor(tensor.name))) continue;
      if (!taken_.contains(tensor.name)) out_.whole[loaded_name(base_, tensor.name)] = other->view;
    }
  }

  /// The LM head, compared by its effective weight because it may be tied in one of the models.
  /// PEFT unties a saved head.
  void add_head() {
    const CheckpointTensor *before = logits_weight(base_), *after = logits_weight(tuned_);
    if (before == nullptr || after == nullptr) return;
    if (same_elements(before->view, after->view)) return;
    if (before->view.shape != after->view.shape) {
      leave_out(*before, after);
      return;
    }
    const CheckpointTensor* stored = base_.checkpoint().find_first(base_.spec().head.rule.weight);
    const std::string name =
        stored != nullptr ? stored->name : base_.spec().head.rule.weight.front();
    out_.whole[name] = after->view;
    const CheckpointTensor* bias = base_.checkpoint().find(module_of_tensor(name) + ".bias");
    if (bias == nullptr) return;
    const CheckpointTensor* other = in_tuned(*bias);
    out_.whole[bias->name] = (other != nullptr ? other : bias)->view;
  }

  void note_added() {
    std::vector<std::string> added;
    const CheckpointTensor* head = logits_weight(tuned_);
    for (const CheckpointTensor& tensor : tuned_.checkpoint().tensors()) {
      if (&tensor == head && logits_weight(base_) != nullptr) continue;
      if (counterpart(tuned_, tensor.name, base_) == nullptr)
        added.push_back("'" + tensor.name + "'");
    }
    if (added.empty()) return;
    constexpr std::size_t kShown = 4;
    const std::string count = counted(added.size(), "tensor");
    const bool more = added.size() > kShown;
    added.resize(std::min(added.size(), kShown));
    notes_.add_note(verbatim("the adapter does not contain " + count + " of " + tuned_.name() +
                             " that " + base_.name() + " does not have: " + join(added) +
                             (more ? ", …" : "")));
  }

  void refuse_empty() const {
    if (out_.modules.empty() && out_.whole.empty()) {
      const bool all_finite = std::ranges::all_of(pairs_, &LinearPair::finite);
      throw Error(ErrorKind::numerical,
                  {.place = tuned_.name(),
                   .problem = std::string("nothing changed") +
                              (all_finite ? "" : " except matrices with NaN or Inf") +
                              ": there is no adapter to write"});
    }
    if (out_.modules.empty()) {
      throw Error(ErrorKind::unsupported,
                  {.place = tuned_.name(),
                   .problem = "no linear layer changed, and PEFT has no adapters without one"});
    }
  }

  const Model &base_, &tuned_;
  RowSink& notes_;
  std::set<std::string> of_experts_;
  std::vector<LinearPair> pairs_;
  std::set<std::string> taken_;  // tensors of the base that are part of an adapted module
  Adapter out_;
};

}  // namespace

Adapter make_adapter(const Model& base, const Model& tuned, const AdapterRank& rank,
                     const Context& context, RowSink& notes) {
  return AdapterMaker(base, tuned, notes).make(rank, context);
}

}  // namespace attnscope
