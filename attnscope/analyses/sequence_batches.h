// Work that runs models on sequences: cut into batches that are the items of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/run/analysis.h"
#include "attnscope/run/context.h"
#include "attnscope/run/runner.h"

namespace attnscope {

/// How many sequences of so many tokens are run together, at least one: products of fewer rows read
/// the weights too often, of more they gain nothing.
std::int64_t sequences_at_once(std::int64_t tokens);

/// Adds the items of one model: batches of sequences_at_once(). `sources`: of a decoder, what its
/// encoder runs on for each sequence, all of one length; else none.
void add_batches(Plan& plan, std::size_t model, std::span<const TokenIds> sequences,
                 const std::vector<std::int64_t>& layers, std::span<const TokenIds> sources = {});

/// The same of images, which are `length` rows each.
void add_batches(Plan& plan, std::size_t model, std::span<const Signal> images, std::int64_t length,
                 const std::vector<std::int64_t>& layers);

/// Of the sequences of all models: stores keep the rows of each text apart by it, since means of
/// several would say nothing. `sources`: of decoders; else none.
std::string tokens_hash(const std::vector<std::vector<TokenIds>>& sequences,
                        const std::vector<std::vector<TokenIds>>& sources = {});
std::string signals_hash(std::span<const Signal> signals);

/// Every model made ready to run, for the items of a plan. Stacks of one model share its passes.
class ReadyModels {
 public:
  ReadyModels(std::span<const Model> models, const Context& context);

  const ForwardPass& pass(std::size_t model) const { return *passes_[model]; }
  std::vector<ModelSource> sources() const;
  /// The context, less the memory that copies of weights took.
  const Context& rest() const { return rest_; }

 private:
  /// Of an earlier model that is such a stack of the same; null where there is none.
  std::shared_ptr<const ForwardPass> pass_of(const Model& model, std::string_view stack) const;

  std::span<const Model> models_;
  Context rest_;
  std::vector<std::shared_ptr<const ForwardPass>> passes_;
};

/// Runs an item's batch; `look` is given the maps of each of its layers, of a model that is the
/// cross attention of a decoder's layers those maps. `extend`: who else looks at the pass; may be
/// empty.
void run_batch(const WorkItem& item, const ModelSource& source, const Compute& compute,
               const std::function<void(const LayerMaps&)>& look,
               const std::function<void(const ForwardPass&, ForwardObserver&)>& extend = {});

// What analyses of batches tell the runner:
Cost batch_cost(const WorkItem& item, const ModelSource& source);
void add_batch_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source);

}  // namespace attnscope
