// Work that runs models on sequences: cut into batches that are the items of a plan.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/run/analysis.h"
#include "attnscope/run/context.h"
#include "attnscope/run/runner.h"

namespace attnscope {

/// How many sequences of so many tokens are run together, at least one: products of fewer rows read
/// the weights too often, of more they gain nothing.
std::int64_t sequences_at_once(std::int64_t tokens);

/// Adds the items of one model: batches of sequences_at_once().
void add_batches(Plan& plan, std::size_t model, std::span<const TokenIds> sequences,
                 const std::vector<std::int64_t>& layers);

/// The same of images, which are `length` rows each.
void add_batches(Plan& plan, std::size_t model, std::span<const Signal> images, std::int64_t length,
                 const std::vector<std::int64_t>& layers);

/// Of the sequences of all models: stores keep the rows of each text apart by it, since means of
/// several would say nothing.
std::string tokens_hash(const std::vector<std::vector<TokenIds>>& sequences);
std::string signals_hash(std::span<const Signal> signals);

/// Every model made ready to run, for the items of a plan.
class ReadyModels {
 public:
  ReadyModels(std::span<const Model> models, const Context& context);

  const ForwardPass& pass(std::size_t model) const { return passes_[model]; }
  std::vector<ModelSource> sources() const;
  /// The context, less the memory that copies of weights took.
  const Context& rest() const { return rest_; }

 private:
  std::span<const Model> models_;
  Context rest_;
  std::deque<ForwardPass> passes_;
};

/// Runs an item's batch; `look` is given the maps of each of its layers.
void run_batch(const WorkItem& item, const ModelSource& source, const Compute& compute,
               const std::function<void(const LayerMaps&)>& look);

// What analyses of batches tell the runner:
Cost batch_cost(const WorkItem& item, const ModelSource& source);
void add_batch_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source);

}  // namespace attnscope
