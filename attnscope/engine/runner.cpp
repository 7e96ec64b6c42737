#include "attnscope/engine/runner.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "attnscope/base/text.h"
#include "attnscope/engine/outcome_buffer.h"
#include "attnscope/engine/store/stored_items.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

/// A unit that is computed once: one item, or several items that read the same tensors in the same
/// way.
struct Job {
  const WorkItem* item = nullptr;
  ItemInputs inputs;
  std::vector<StoredPlace> places;  // places of all its items
  std::size_t uses = 0;             // items whose rows are not written yet
};

class Run {
 public:
  Run(const Plan& plan, std::span<const ModelSource> sources, const ReportHead& head,
      const Context& context, RowSink& sink)
      : plan_(plan), sources_(sources), context_(context), sink_(sink) {
    make_jobs();
    if (context.store == nullptr) return;
    StoredRun run{.analysis = {.name = std::string(plan.analysis->name),
                               .revision = revision_of(plan.analysis->name),
                               .command = std::string(plan.analysis->command),
                               .parameters = plan.parameters},
                  .parameters = head.parameters};
    for (const ModelSource& source : sources) run.models.push_back(stored_model(source));
    stored_.emplace(*context.store, run);
  }

  void run() {
    const RowMaker rows = plan_.analysis->make_rows(sink_);
    std::vector<QueueItem> queue;
    for (std::size_t index = 0; index < jobs_.size(); ++index) queue.push_back(queue_item(index));
    if (!context_.compute_elsewhere) note_large_items(queue);
    run_queue(
        queue, context_, [&](std::size_t) { give_on(rows); }, plan_.analysis->items);
    rows.finish();
    if (stored_) stored_->finish();
  }

 private:
  const ModelSource& source_of(const WorkItem& item) const { return sources_[item.model]; }

  void make_jobs() {
    std::map<std::string, std::size_t> job_of_inputs;
    const WorkItem* previous = nullptr;
    std::int64_t position = 0;  // index among the items of one layer
    for (const WorkItem& item : plan_.items) {
      const bool same_layer =
          previous != nullptr && previous->model == item.model && previous->layer == item.layer;
      position = same_layer ? position + 1 : 0;
      previous = &item;
      ItemInputs inputs;
      plan_.analysis->add_inputs(inputs, item, source_of(item));
      const auto [found, fresh] = job_of_inputs.emplace(inputs.identity(), jobs_.size());
      if (fresh) {
        for (const ItemInputs::Read& read : inputs.reads()) {
          ++readers_[read.tensor];
          if (!read.checkpoint->is_remote() || read.bytes.empty()) continue;
          const auto known = first_part_.emplace(read.tensor, read.bytes.front().data()).first;
          if (known->second != read.bytes.front().data()) shared_.insert(read.tensor);
        }
        jobs_.push_back({.item = &item, .inputs = std::move(inputs)});
      }
      Job& job = jobs_[found->second];
      job.places.push_back({.model = item.model,
                            .layer = item.layer,
                            .matrix = item.matrix_name(),
                            .position = position});
      ++job.uses;
      job_of_item_.push_back(found->second);
    }
  }

  QueueItem queue_item(std::size_t index) {
    const Job& job = jobs_[index];
    const Cost cost = plan_.analysis->cost(*job.item, source_of(*job.item));
    return {.flops = cost.flops,
            .bytes = job.inputs.bytes_read(),
            .memory_bytes = cost.memory_bytes,
            .run =
                [this, index](const Compute& compute) {
                  outcomes_.put(index, outcomes_of(jobs_[index], compute));
                  release_inputs(jobs_[index].inputs);
                },
            .prefetch =
                [this, &job] {
                  if (context_.compute_elsewhere || is_stored_elsewhere(job)) return;
                  for (const ItemInputs::Read& read : job.inputs.reads()) {
                    read.checkpoint->prefetch(bytes_of(read));
                  }
                }};
  }

  /// Returns whether the store has the outcomes of a job on remote files. Remote bytes that no item
  /// needs are not fetched.
  bool is_stored_elsewhere(const Job& job) {
    const auto& reads = job.inputs.reads();
    const bool elsewhere =
        std::any_of(reads.begin(), reads.end(),
                    [](const ItemInputs::Read& read) { return read.checkpoint->is_remote(); });
    return stored_ && elsewhere && job.inputs.complete() && stored_->holds(job.inputs);
  }

  std::vector<Outcome> outcomes_of(const Job& job, const Compute& compute) {
    const auto computed = [&] {
      if (context_.compute_elsewhere) return context_.compute_elsewhere(*job.item, compute.stop);
      for (const ItemInputs::Read& read : job.inputs.reads()) {
        if (shared_.contains(read.tensor)) read.checkpoint->need(bytes_of(read));
      }
      return plan_.analysis->compute(*job.item, source_of(*job.item), compute);
    };
    // Outcomes of an item with a missing weight are not worth storing.
    if (!stored_ || !job.inputs.complete()) return computed();
    return stored_->get(job.inputs, job.places, [&] {
      if (context_.only_stored) throw NotStored();
      return computed();
    });
  }

  /// Returns all bytes of a remote tensor if several items read parts of it, because that takes
  /// fewer requests.
  std::vector<std::span<const std::byte>> bytes_of(const ItemInputs::Read& read) const {
    return shared_.contains(read.tensor) ? all_bytes(read.tensor->view) : read.bytes;
  }

  /// Releases remote bytes after the last item that reads them, because they occupy memory.
  void release_inputs(const ItemInputs& inputs) {
    const std::scoped_lock lock(readers_mutex_);
    for (const ItemInputs::Read& read : inputs.reads()) {
      const bool last = --readers_[read.tensor] == 0;
      if (last && read.checkpoint->is_remote()) read.checkpoint->release(*read.tensor);
    }
  }

  /// Adds a note if items need more memory than the budget.
  void note_large_items(const std::vector<QueueItem>& queue) {
    std::size_t count = 0, largest = 0;
    for (std::size_t index = 0; index < queue.size(); ++index) {
      if (queue[index].memory_bytes <= context_.memory_bytes) continue;
      ++count;
      if (count == 1 || queue[index].memory_bytes > queue[largest].memory_bytes) largest = index;
    }
    if (count == 0) return;
    const WorkItem& item = *jobs_[largest].item;
    std::string text = source_of(item).name + ": ";
    if (item.earlier_layer) {
      text +=
          "layers " + std::to_string(*item.earlier_layer) + " and " + std::to_string(*item.layer);
    } else if (item.layer) {
      const std::string matrix = item.matrix_name();
      text += (matrix.empty() ? "" : matrix + " of ") + "layer " + std::to_string(*item.layer);
    } else {
      text += item.matrix_name();
    }
    text += " needs about " + memory_text(queue[largest].memory_bytes) + ", more than the " +
            memory_text(context_.memory_bytes) + " of {memory}";
    if (count > 1) text += (count == 2 ? "; so does " : "; so do ") + counted(count - 1, "other");
    sink_.add_note(text + "; such items run one at a time");
  }

  /// Makes rows of finished items, up to the first unfinished item.
  void give_on(const RowMaker& rows) {
    for (; next_ < plan_.items.size() && outcomes_.has(job_of_item_[next_]); ++next_) {
      const WorkItem& item = plan_.items[next_];
      const std::size_t index = job_of_item_[next_];
      rows.add({source_of(item).name, item.layer, item.matrix_name()}, outcomes_.get(index));
      if (--jobs_[index].uses == 0) outcomes_.drop(index);
    }
  }

  const Plan& plan_;
  std::span<const ModelSource> sources_;
  const Context& context_;
  RowSink& sink_;
  std::vector<Job> jobs_;
  std::mutex readers_mutex_;
  std::map<const CheckpointTensor*, std::size_t> readers_;          // jobs that are not finished
  std::map<const CheckpointTensor*, const std::byte*> first_part_;  // of a remote tensor
  std::set<const CheckpointTensor*> shared_;  // remote tensors of which several parts are read
  std::vector<std::size_t> job_of_item_;
  std::optional<StoredItems> stored_;
  OutcomeBuffer outcomes_;
  std::size_t next_ = 0;  // first item of the plan whose rows are not written yet
};

}  // namespace

WorkItem& Plan::add(std::size_t model, std::optional<std::int64_t> layer) {
  return items.emplace_back(WorkItem{.analysis = std::string(analysis->name),
                                     .parameters = parameters,
                                     .model = model,
                                     .layer = layer});
}

void run_plan(const Plan& plan, std::span<const ModelSource> sources, ReportHead head,
              const Context& context, RowSink& sink) {
  for (const ModelSource& source : sources) {
    Record facts = source.facts;
    if (plan.analysis->add_model_facts != nullptr) plan.analysis->add_model_facts(facts);
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  Run(plan, sources, head, context, sink).run();
  sink.end();
}

}  // namespace attnscope
