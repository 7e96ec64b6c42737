#include "attnscope/features/attention/live.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "attnscope/base/content_hash.h"
#include "attnscope/engine/store/store.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/attention/external_maps.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

constexpr std::string_view kAnalysis = "attention";

std::uint64_t bytes_of(const UserMaps& maps) { return maps.maps.bytes.size(); }

/// Model info for a model that was not read; values that require weights are null. `layers`:
/// minimum number of layers.
Record facts_of(const LiveModel& model, std::int64_t layers, std::int64_t heads, bool causal) {
  Record facts = {{"name", model.name},
                  {"architecture", model.architecture},
                  {"parameters", model.parameters},
                  {"attention_parameters", Value()},
                  {"layers", std::max(model.layers.value_or(0), layers)},
                  {"heads", heads},
                  {"kv_heads", Value()},
                  {"head_dim", Value()},
                  {"hidden_size", model.width},
                  {"intermediate_size", Value()},
                  {"vocab_size", Value()},
                  {"context_length", Value()},
                  {"dtype", Value()},
                  {"bytes", Value()},
                  {"kv_cache_bytes_per_token", Value()},
                  {"tied_embedding", Value()},
                  {"causal", causal},
                  {"rotary", Value()}};
  if (!model.stack.empty()) facts.add("stack", model.stack);
  return facts;
}

/// The inputs of the outcomes of maps: the maps themselves.
std::string inputs_of(const UserMaps& user_maps) {
  const auto lists = [](const std::vector<std::vector<std::int64_t>>& kept) {
    Value::List all;
    for (const auto& of_sequence : kept) all.emplace_back(of_sequence);
    return all;
  };
  return record_text({{"given_maps", content_hash(user_maps.maps.bytes)},
                      {"layer", user_maps.layer},
                      {"storage", storage_text(user_maps.maps)},
                      {"shape", user_maps.maps.shape},
                      {"strides", user_maps.maps.strides},
                      {"cross", user_maps.cross},
                      {"sinks", user_maps.sinks},
                      {"queries", lists(user_maps.queries)},
                      {"keys", lists(user_maps.keys)}});
}

}  // namespace

class LiveAttention::Worker {
 public:
  Worker(LiveRequest request, const Context& context)
      : request_(std::move(request)), context_(context) {
    context_.stop = stop_.get_token();
    parameters_ = {{"energy", request_.measures.energy},
                   {"exclude_first_token", request_.measures.exclude_first_token},
                   {"layers", request_.layers.parameter()},
                   {"tokens_hash", request_.tokens_hash}};
    thread_ = std::thread([this] { work(); });
  }

  ~Worker() {
    stop_.request_stop();
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::size_t add_model(LiveModel model) {
    Known known;
    if (!request_.layers.ranges.empty()) {
      known.wanted = request_.layers.resolve(model.layers.value_or(0), model.name);
    }
    known.told = std::move(model);
    const std::scoped_lock lock(mutex_);
    models_.push_back(std::move(known));
    return models_.size() - 1;
  }

  bool wants(std::size_t model, std::int64_t layer) {
    const std::scoped_lock lock(mutex_);
    const auto& wanted = models_[model].wanted;
    return !wanted || std::binary_search(wanted->begin(), wanted->end(), layer);
  }

  bool put(UserMaps& maps, std::uint64_t layer_bytes, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    const std::uint64_t room = std::max(layer_bytes, bytes_of(maps));
    changed_.wait_for(lock, most, [&] {
      return failure_ || buffered_bytes_ == 0 || buffered_bytes_ + bytes_of(maps) <= room;
    });
    rethrow();
    if (buffered_bytes_ != 0 && buffered_bytes_ + bytes_of(maps) > room) return false;
    buffered_bytes_ += bytes_of(maps);
    queue_.push_back(std::move(maps));
    changed_.notify_all();
    return true;
  }

  bool wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [&] { return failure_ || buffered_bytes_ == 0; });
    rethrow();
    return buffered_bytes_ == 0;
  }

  void give(RowSink& sink) {
    ReportHead head{.command = std::string(kAnalysis), .parameters = request_.text};
    for (const auto& [name, value] : parameters_.fields()) head.parameters.add(name, value);
    for (const Known& model : models_) head.models.push_back(model.facts());
    sink.begin(head);
    const RowMaker rows = attention_row_maker(sink);
    for (const Known& model : models_) {
      for (const auto& [layer, outcomes] : model.outcomes) {
        rows.add({model.told.name, layer, ""}, outcomes);
      }
    }
    rows.finish();
    sink.end();
    if (context_.store == nullptr || !begun_) return;
    context_.store->begin(stored_run());  // with the info known so far
    context_.store->finish();
  }

 private:
  struct Known {
    LiveModel told = {};
    std::optional<std::vector<std::int64_t>> wanted = {};  // layers; empty: all
    std::map<std::int64_t, std::vector<Outcome>> outcomes = {};
    std::map<std::int64_t, std::int64_t> sequences = {};  // number of measured sequences per layer
    std::int64_t heads = 0;                               // of the layer with most
    bool causal = true;

    Record facts() const {
      const std::int64_t layers = outcomes.empty() ? 0 : outcomes.rbegin()->first + 1;
      return facts_of(told, layers, heads, causal);
    }
  };

  void rethrow() {
    if (failure_) std::rethrow_exception(failure_);
  }

  void work() {
    try {
      LentTeam team(context_);
      while (measure_next(team.compute())) {
      }
    } catch (...) {
      std::deque<UserMaps>
          dropped;  // destroyed without the mutex, because their owners may wait for another lock
      const std::scoped_lock lock(mutex_);
      failure_ = std::current_exception();
      dropped.swap(queue_);
      changed_.notify_all();
    }
  }

  /// Returns false if the run is over.
  bool measure_next(const Compute& compute) {
    UserMaps maps;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over_ || !queue_.empty(); });
      if (over_) return false;
      maps = std::move(queue_.front());
      queue_.pop_front();
    }
    const std::uint64_t bytes = bytes_of(maps);
    measure(maps, compute);
    maps = {};  // frees the memory before others may use it
    const std::scoped_lock lock(mutex_);
    buffered_bytes_ -= bytes;
    changed_.notify_all();
    return true;
  }

  void measure(const UserMaps& maps, const Compute& compute) {
    Known& model = model_of(maps.model);
    const std::int64_t first = model.sequences[maps.layer];
    std::vector<Outcome> outcomes;
    if (context_.store == nullptr) {
      outcomes = measure_user_maps(maps, request_.measures, compute);
    } else {
      begin_storing();
      const std::string inputs = inputs_of(maps);
      const StoredPlace place{.model = maps.model,
                              .layer = maps.layer,
                              .matrix = "sequences " + std::to_string(first) + "-" +
                                        std::to_string(first + maps.sequences() - 1),
                              .position = first};
      if (auto found = context_.store->find(inputs, std::span(&place, 1))) {
        outcomes = *std::move(found);
      } else {
        outcomes = measure_user_maps(maps, request_.measures, compute);
        context_.store->save(inputs, outcomes, std::span(&place, 1));
      }
    }
    const std::scoped_lock lock(mutex_);
    for (const Outcome& outcome : outcomes) {
      model.causal = model.causal && expect<bool>(outcome.fields, "causal");
      model.outcomes[maps.layer].push_back(outcome);
    }
    model.sequences[maps.layer] = first + maps.sequences();
    model.heads = std::max(model.heads, maps.heads());
  }

  Known& model_of(std::size_t index) {
    const std::scoped_lock lock(mutex_);
    return models_[index];
  }

  StoredRun stored_run() const {
    StoredRun run{.analysis = {.name = std::string(kAnalysis),
                               .revision = revision_of(kAnalysis),
                               .command = std::string(kAnalysis),
                               .parameters = parameters_},
                  .parameters = request_.text,
                  .models = {}};
    for (const auto& [name, value] : parameters_.fields()) run.parameters.add(name, value);
    for (const Known& model : models_) {
      run.models.push_back({.path = "live " + model.told.name,
                            .description = "",
                            .described = "",
                            .name = model.told.name,
                            .facts = model.facts(),
                            .files = {}});
    }
    return run;
  }

  /// A run of the store has the models that are known when it begins.
  void begin_storing() {
    const std::scoped_lock lock(mutex_);
    if (begun_ == models_.size()) return;
    begun_ = models_.size();
    context_.store->begin(stored_run());
  }

  const LiveRequest request_;
  Context context_;
  Record parameters_;
  std::stop_source stop_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::deque<Known> models_;
  std::deque<UserMaps> queue_;
  std::uint64_t buffered_bytes_ = 0;  // bytes of maps that wait or are being measured
  std::size_t begun_ = 0;             // number of models that the store knows
  std::exception_ptr failure_;
  bool over_ = false;
  std::thread thread_;
};

LiveAttention::LiveAttention(LiveRequest request, const Context& context)
    : worker_(std::make_unique<Worker>(std::move(request), context)) {}
LiveAttention::~LiveAttention() = default;

std::size_t LiveAttention::add_model(LiveModel model) {
  return worker_->add_model(std::move(model));
}

bool LiveAttention::wants(std::size_t model, std::int64_t layer) const {
  return worker_->wants(model, layer);
}

bool LiveAttention::put(UserMaps& maps, std::uint64_t layer_bytes, std::chrono::milliseconds most) {
  return worker_->put(maps, layer_bytes, most);
}

bool LiveAttention::wait(std::chrono::milliseconds most) { return worker_->wait(most); }

void LiveAttention::give(RowSink& sink) { worker_->give(sink); }

}  // namespace attnscope
