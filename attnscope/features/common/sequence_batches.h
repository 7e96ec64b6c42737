// Runs models on sequences, in batches that are the items of a plan.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/engine/runner.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Number of sequences of this length to run together, at least one. With fewer rows, products read
/// the weights too often; more rows are not faster.
std::int64_t sequences_at_once(std::int64_t tokens);

/// The inputs of one model: see SequenceBatch.
struct BatchInputs {
  std::span<const TokenIds> tokens = {};
  std::span<const MediaInput> media_inputs = {};
  std::span<const TokenIds> sources = {};
  std::span<const TokenIds> scored = {};
};

/// Number of tokens of all texts together, and of the longest one.
struct TextRows {
  std::int64_t all = 0, longest = 0;
};
TextRows text_rows(std::span<const TokenIds> texts);

/// Number of rows of the longest sequence of a model, or of its source; 0 if it has none. Throws
/// the errors of ForwardPass::length_of().
std::int64_t rows_of(const Model& model, const BatchInputs& inputs);
std::int64_t source_rows_of(const Model& model, const BatchInputs& inputs);

/// Which sequences may share a batch.
enum class BatchOf {
  any,    // all
  alike,  // equal lengths (also of sources), scored positions and texts of pairs
};

/// Adds the items of one model: batches of sequences_at_once().
void add_batches(Plan& plan, std::size_t index, const Model& model, const BatchInputs& inputs,
                 const std::vector<std::int64_t>& layers, BatchOf of = BatchOf::any);

/// Hash of the sequences of all models. Stores keep rows of different texts apart by this hash,
/// because means over several texts would be meaningless. `sources`: for decoders; otherwise empty.
/// `scored`: which tokens count; empty: all.
std::string tokens_hash(const std::vector<std::vector<TokenIds>>& sequences,
                        const std::vector<std::vector<TokenIds>>& sources = {},
                        const std::vector<std::vector<TokenIds>>& scored = {});
std::string media_hash(std::span<const MediaInput> media_inputs);

/// Observes the forward passes of a run's batches: see Context::watchers.
class PassWatcher : public BatchWatcher {
 public:
  /// Called with the attention maps of a batch, layer by layer.
  virtual void on_maps(const WorkItem& /*batch*/, const LayerMaps& /*maps*/) {}
  /// Called with the routing of a batch's tokens, per MoE layer. A batch whose routing is wanted
  /// runs all layers.
  virtual bool wants_routing() const { return false; }
  virtual void on_routing(const WorkItem& /*batch*/, const LayerRouting& /*routing*/) {}
};

/// The model of a source, ready to run.
struct ReadyPass : SharedResources {
  std::shared_ptr<const ForwardPass> pass;
};

/// All models of a plan, ready to run. Stacks of one model share their passes.
class ReadyModels {
 public:
  /// `predicts_tokens`: prepares the decoder instead of its encoder.
  ReadyModels(std::span<const Model> models, const Context& context, bool predicts_tokens = false);

  const ForwardPass& pass(std::size_t model) const { return *passes_[model]->pass; }
  std::vector<ModelSource> sources() const;
  /// The context without the memory used by copies of weights.
  const Context& rest() const { return rest_; }

 private:
  /// The pass created for this stack of a model with several stacks; null if there is none.
  std::shared_ptr<const ForwardPass> pass_of(const Model* stack) const;

  Context rest_;
  std::span<const Model> models_;
  std::deque<Model> decoders_;        // that replace encoders
  std::vector<const Model*> stacks_;  // per pass: see Model::sibling(); null: it has none
  std::vector<std::unique_ptr<ReadyPass>> passes_;
};

/// Runs an item's model: with the pass of the plan, or with its own if the plan has none.
class ItemPass {
 public:
  /// The source must outlive this object. `predicts_tokens`: see ReadyModels. Throws the errors of
  /// ForwardPass.
  ItemPass(const ModelSource& source, const Compute& compute, bool predicts_tokens = false);

  const ForwardPass& operator*() const { return own_ ? *own_ : *shared_; }

 private:
  const ForwardPass* shared_ = nullptr;
  std::optional<Model> decoder_;
  std::optional<ForwardPass> own_;
};

/// Throws the errors that run_inputs() would throw for invalid inputs.
void check_inputs(const ForwardPass& pass, const BatchInputs& inputs);

/// Runs the inputs; for a decoder, runs its encoder first. Throws the errors of ForwardPass.
void run_inputs(const ForwardPass& pass, const BatchInputs& inputs, const ForwardObserver& observer,
                const Compute& compute);

/// Runs an item's batch and calls `look` with the attention maps of each of its layers; for a
/// cross-attention stack, with the cross-attention maps. `extend`: adds further observers to the
/// pass; may be empty.
void run_batch(const WorkItem& item, const ModelSource& source, const Compute& compute,
               const std::function<void(const LayerMaps&)>& look,
               const std::function<void(const ForwardPass&, ForwardObserver&)>& extend = {});

/// Largest number of weights that one token is multiplied with in a layer.
double layer_parameters(const Model& model);

// Callbacks of analyses of batches for the runner.
Cost batch_cost(const WorkItem& item, const ModelSource& source);
void add_batch_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source);

/// Adds everything that a forward pass reads except the text: the config and all tensors.
void add_whole_model(ItemInputs& inputs, const ModelSource& source);

}  // namespace attnscope
