// Work that runs models on sequences: cut into batches that are the items of a plan.
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

/// How many sequences of so many tokens are run together, at least one: products of fewer rows read
/// the weights too often, of more they gain nothing.
std::int64_t sequences_at_once(std::int64_t tokens);

/// What one model is run on: see SequenceBatch.
struct BatchInputs {
  std::span<const TokenIds> tokens = {};
  std::span<const MediaInput> media_inputs = {};
  std::span<const TokenIds> sources = {};
  std::span<const TokenIds> scored = {};
};

/// Rows of the longest sequence that a model, and the encoder of a decoder, is run on; 0 where it
/// has none. Throws as ForwardPass::length_of().
std::int64_t rows_of(const Model& model, const BatchInputs& inputs);
std::int64_t source_rows_of(const Model& model, const BatchInputs& inputs);

/// Which sequences one batch may hold.
enum class BatchOf {
  any,    // all
  alike,  // those of one length (of sources, too) whose tokens at the same positions count
};

/// Adds the items of one model: batches of sequences_at_once().
void add_batches(Plan& plan, std::size_t index, const Model& model, const BatchInputs& inputs,
                 const std::vector<std::int64_t>& layers, BatchOf of = BatchOf::any);

/// Of the sequences of all models: stores keep the rows of each text apart by it, since means of
/// several would say nothing. `sources`: of decoders; else none.
/// `scored`: which of their tokens count; none: all.
std::string tokens_hash(const std::vector<std::vector<TokenIds>>& sequences,
                        const std::vector<std::vector<TokenIds>>& sources = {},
                        const std::vector<std::vector<TokenIds>>& scored = {});
std::string media_hash(std::span<const MediaInput> media_inputs);

/// Sees the passes of a run's batches: see Context::watchers.
class PassWatcher : public BatchWatcher {
 public:
  /// The attention maps of a batch, layer by layer.
  virtual void on_maps(const WorkItem& /*batch*/, const LayerMaps& /*maps*/) {}
  /// Where routers send the batch's tokens, for each layer with experts. A batch whose routing is
  /// wanted runs through all layers.
  virtual bool wants_routing() const { return false; }
  virtual void on_routing(const WorkItem& /*batch*/, const LayerRouting& /*routing*/) {}
};

/// The model of a source, ready to run.
struct ReadyPass : SharedResources {
  std::shared_ptr<const ForwardPass> pass;
};

/// Every model made ready to run, for the items of a plan. Stacks of one model share its passes.
class ReadyModels {
 public:
  /// `foretell`: in place of an encoder that has a decoder, that decoder is made ready.
  ReadyModels(std::span<const Model> models, const Context& context, bool foretell = false);

  const ForwardPass& pass(std::size_t model) const { return *passes_[model]->pass; }
  std::vector<ModelSource> sources() const;
  /// The context, less the memory that copies of weights took.
  const Context& rest() const { return rest_; }

 private:
  /// That was made of this stack of a model with several; null where there is none.
  std::shared_ptr<const ForwardPass> pass_of(const Model* stack) const;

  Context rest_;
  std::span<const Model> models_;
  std::deque<Model> decoders_;        // in place of encoders
  std::vector<const Model*> stacks_;  // of each pass: see Model::sibling(); null: it has none
  std::vector<std::unique_ptr<ReadyPass>> passes_;
};

/// What runs an item's model: the plan's pass, or its own where the plan made none ready.
class ItemPass {
 public:
  /// The source must outlive it. `predicts_tokens`: as ReadyModels has it. Throws as ForwardPass
  /// does.
  ItemPass(const ModelSource& source, const Compute& compute, bool predicts_tokens = false);

  const ForwardPass& operator*() const { return own_ ? *own_ : *shared_; }

 private:
  const ForwardPass* shared_ = nullptr;
  std::optional<Model> decoder_;
  std::optional<ForwardPass> own_;
};

/// Throws what run_inputs() would throw for inputs that cannot be run.
void check_inputs(const ForwardPass& pass, const BatchInputs& inputs);

/// Of a decoder first its encoder. Throws as ForwardPass does.
void run_inputs(const ForwardPass& pass, const BatchInputs& inputs, const ForwardObserver& observer,
                const Compute& compute);

/// Runs an item's batch; `look` is given the maps of each of its layers, of a model that is the
/// cross attention of a decoder's layers those maps. `extend`: who else looks at the pass; may be
/// empty.
void run_batch(const WorkItem& item, const ModelSource& source, const Compute& compute,
               const std::function<void(const LayerMaps&)>& look,
               const std::function<void(const ForwardPass&, ForwardObserver&)>& extend = {});

/// How many weights the products of a token in one layer have, the largest.
double layer_parameters(const Model& model);

// What analyses of batches tell the runner:
Cost batch_cost(const WorkItem& item, const ModelSource& source);
void add_batch_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source);

/// Everything that a pass reads but its text: the config, and all tensors.
void add_whole_model(ItemInputs& inputs, const ModelSource& source);

}  // namespace attnscope
