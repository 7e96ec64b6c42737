// From the difference of two models to a LoRA adapter.
#include <algorithm>
#include <cmath>
#include <set>

#include "attnscope/analyses/diff.h"
#include "attnscope/analysis/spectrum.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/numerics/all_finite.h"
#include "attnscope/numerics/factors/vectors.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/rewrite/adapter_names.h"
#include "attnscope/rewrite/encode.h"
#include "attnscope/run/work_queue.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

constexpr std::string_view kWeight = ".weight";

/// A linear layer of both models: the tensor, and how the files hold it.
struct LinearPair {
  std::string module;  // in the loaded model
  const CheckpointTensor *base = nullptr, *tuned = nullptr;
  bool turned = false;  // files hold (inputs, outputs)
  bool finite = true;   // the difference; else it is left out
  AdapterModule made;
};

std::string without_weight(const std::string& name) {
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : name;
}

/// ΔW = left · right by its leading directions, each half with the root of their values.
void factor(LinearPair& pair, const AdapterRank& wanted, const Compute& compute) {
  const auto read = [&](const CheckpointTensor& tensor) {
    Matrix<double> stored = decode<double>(whole_matrix(tensor.view));
    if (!pair.turned) return stored;
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
  // One half is orthonormal, the other what the change makes of it: together they are the change's
  // projection, whatever the error of small values.
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

/// Of families with experts, dense MLPs have names that PEFT takes for those of experts: what
/// changed of them is held whole.
bool is_adapted(const Model& model, Role role) {
  return !is_of_mlp(role) || model.spec().architecture.experts == nullptr;
}

bool is_tied_to_head(const Model& model, const std::string& name) {
  return model.spec().tied && name == model.prefix() + model.spec().stream.embedding.tokens;
}

}  // namespace

Adapter make_adapter(const Model& base, const Model& tuned, const AdapterRank& rank,
                     const Context& context, RowSink& notes) {
  Adapter out{.base = base.checkpoint().folder().path().string(), .causal = base.spec().causal};
  std::vector<LinearPair> pairs;
  std::set<std::string> taken;  // tensors that are part of an adapted module
  const std::set<std::string> of_experts = tensors_of_experts(base);
  for (const LinearModule& module : linear_modules(base)) {
    const CheckpointTensor* own = module.weight;
    taken.insert(own->name);
    LinearPair pair{.module = module.name,
                    .base = own,
                    .tuned = tuned.checkpoint().find(own->name),
                    .turned = module.turned};
    out.linear.push_back(pair.module);
    out.transposed = out.transposed || pair.turned;
    if (pair.tuned == nullptr || pair.tuned->view.shape != own->view.shape) {
      notes.add_note(verbatim("'" + own->name + "' is not part of the adapter: " + tuned.name() +
                              (pair.tuned == nullptr ? " lacks it" : " has another shape of it")));
    } else if (is_adapted(base, module.role) && !same_elements(own->view, pair.tuned->view)) {
      pairs.push_back(std::move(pair));
    } else {
      taken.erase(own->name);
    }
  }
  std::vector<QueueItem> items;
  for (LinearPair& pair : pairs) {
    const auto size = static_cast<double>(pair.base->view.element_count());
    items.push_back({.flops = size * std::sqrt(size),
                     .memory_bytes = static_cast<std::uint64_t>(6 * sizeof(double) * size),
                     .run = [&](const Compute& compute) { factor(pair, rank, compute); }});
  }
  run_queue(items, context, {}, {"matrix", "matrices"});
  for (LinearPair& pair : pairs) {
    if (!pair.finite) {
      notes.add_note(verbatim("'" + pair.base->name +
                              "' is not part of the adapter: the difference holds NaN or Inf"));
      continue;
    }
    const std::string module = without_weight(pair.base->name);
    pair.made.bias = bias_of(tuned, module);
    if (pair.made.bias != bias_of(base, module)) out.with_biases = true;
    taken.insert(module + ".bias");
    out.modules.emplace(pair.module, std::move(pair.made));
  }
  std::set<std::string> changed;  // modules of which a tensor changed that is no adapted matrix
  for (const CheckpointTensor& tensor : base.checkpoint().tensors()) {
    if (taken.contains(tensor.name)) continue;
    const CheckpointTensor* other = tuned.checkpoint().find(tensor.name);
    if (other != nullptr && same_elements(tensor.view, other->view)) continue;
    if (other == nullptr || other->view.shape != tensor.view.shape) {
      notes.add_note(verbatim("'" + tensor.name + "' is not part of the adapter: " + tuned.name() +
                              (other == nullptr ? " lacks it" : " has another shape of it")));
      continue;
    }
    if (of_experts.contains(tensor.name)) {
      throw Error(ErrorKind::unsupported,
                  {.place = tuned.name(),
                   .problem = "'" + verbatim(tensor.name) +
                              "' changed, and PEFT keeps no adapter of experts and their routers"});
    }
    changed.insert(tensor.name.substr(0, tensor.name.rfind('.')));
  }
  for (const CheckpointTensor& tensor : tuned.checkpoint().tensors()) {
    // A module is saved whole: its bias with its weight.
    if (!changed.contains(tensor.name.substr(0, tensor.name.rfind('.')))) continue;
    if (taken.contains(tensor.name)) continue;
    out.whole[loaded_name(base, tensor.name)] = tensor.view;
    if (is_tied_to_head(base, tensor.name)) {
      out.whole[base.spec().head.rule.weight.front()] = tensor.view;  // PEFT unties what it saves
    }
  }
  if (out.modules.empty() && out.whole.empty()) {
    const bool all_finite = std::ranges::all_of(pairs, &LinearPair::finite);
    throw Error(ErrorKind::numerical, {.place = tuned.name(),
                                       .problem = std::string("nothing changed") +
                                                  (all_finite ? "" : " but what holds NaN or Inf") +
                                                  ": there is no adapter to write"});
  }
  if (out.modules.empty()) {
    throw Error(ErrorKind::unsupported,
                {.place = tuned.name(),
                 .problem = "no linear layer changed, and PEFT keeps no adapter without one"});
  }
  return out;
}

}  // namespace attnscope
