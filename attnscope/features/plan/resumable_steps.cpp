#include "attnscope/features/plan/resumable_steps.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/content_hash.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {

PlanSteps::PlanSteps(const Model& model, const Record& plan, const Context& context)
    : context_(&context), shared_(std::make_shared<Shared>()) {
  shared_->sources = sources_of(std::span(&model, 1));
  if (context.store == nullptr) return;
  StoredRun run;
  run.analysis.name = kPlanSteps;
  run.analysis.command = "plan";
  run.parameters = plan;
  run.models.push_back(stored_model(shared_->sources.front()));
  shared_->stored.emplace(*context.store, run);
}

PlanSteps PlanSteps::of_made(Record made_of, const Context& context) const {
  PlanSteps out = *this;
  out.context_ = &context;
  out.made_of_ = std::move(made_of);
  return out;
}

Context PlanSteps::counting() const {
  Context counted = *context_;
  if (!context_->on_progress) return counted;
  counted.on_progress = [this](Progress progress) {
    const std::size_t done = shared_->done;
    const std::size_t expected = std::max<std::size_t>(shared_->expected, done);
    progress.items = {"step", "steps"};
    progress.items_done = done;
    progress.items_total = std::max<std::size_t>(expected, 1);
    progress.seconds_left.reset();  // step durations differ too much for an estimate
    context_->on_progress(progress);
  };
  return counted;
}

ItemInputs PlanSteps::inputs_of(const std::string& name, const Record& facts) const {
  ItemInputs inputs;
  inputs.add("step", name).add("stack", shared_->sources.front().model->stack());
  for (const auto& [fact, value] : facts.fields()) inputs.add(fact, value);
  add_whole_model(inputs, shared_->sources.front());
  return inputs;
}

std::vector<Outcome> PlanSteps::get(const std::string& name, const Record& own_facts,
                                    const std::function<std::vector<Outcome>()>& compute) {
  Record facts = own_facts;
  for (const auto& [fact, value] : made_of_.fields()) facts.add(fact, value);
  std::vector<Outcome> outcomes;
  if (!shared_->stored) {
    outcomes = compute();
  } else {
    const ItemInputs inputs = inputs_of(name, facts);
    const StoredPlace place{.model = 0,
                            .layer = std::nullopt,
                            .matrix = name + " " + content_hash(record_text(facts)).substr(0, 16)};
    outcomes = shared_->stored->get(inputs, {place}, [&] {
      if (context_->only_stored) throw NotStored();
      return compute();
    });
  }
  ++shared_->done;
  return outcomes;
}

std::vector<double> PlanSteps::numbers(const std::string& name, const Record& facts,
                                       const std::function<std::vector<double>()>& compute) {
  const std::vector<Outcome> kept = get(name, facts, [&] {
    return std::vector{Outcome{.head = {}, .fields = {{"numbers", compute()}}}};
  });
  if (kept.size() != 1) refuse_field(name);
  return expect_vector<double>(kept.front().fields, "numbers");
}

double PlanSteps::number(const std::string& name, const Record& facts,
                         const std::function<double()>& compute) {
  const auto kept = numbers(name, facts, [&] { return std::vector{compute()}; });
  if (kept.size() != 1) refuse_field(name);
  return kept.front();
}

MomentsCache* PlanSteps::moments(const Record& text) {
  if (!shared_->stored || !made_of_.fields().empty()) return nullptr;
  if (!shared_->moments) {
    StoredItems& stored = *shared_->stored;
    shared_->moments.emplace(stored.path(), stored.hash_of(inputs_of("moments", text)));
  }
  return &*shared_->moments;
}

void PlanSteps::finish() {
  shared_->expected = shared_->done.load();
  if (shared_->moments) shared_->moments->remove();
  if (shared_->stored) shared_->stored->finish();
}

std::string windows_hash(const TextWindows& text) {
  std::string all = text.scored.empty() ? "" : "scored ";
  for (const auto& windows : {text.windows, text.sources, text.scored}) {
    for (const TokenIds& window : windows) all += content_hash(std::as_bytes(std::span(window)));
  }
  return content_hash(all);
}

std::string model_hash(const Model& model) {
  std::string text = content_hash(model.spec().text);
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    text += tensor.name + shape_text(tensor.view.shape);
    model.checkpoint().need(tensor);
    for (const auto part : all_bytes(tensor.view)) text += content_hash(part);
    model.checkpoint().check_intact(tensor);
  }
  return content_hash(text);
}

std::string choice_hash(const Choice& choice) {
  Value::List kept;
  for (const std::vector<std::int64_t>& list : choice.kept) kept.emplace_back(list);
  Value::List ranks;
  for (const auto& [place, rank] : choice.ranks) {
    ranks.emplace_back(std::to_string(place.first) + "." + std::string(role_name(place.second)) +
                       ":" + std::to_string(rank));
  }
  Record all = {{"method", choice.method->name},
                {"size", choice.size},
                {"joint", choice.joint},
                {"exact", choice.exact}};
  all.add("kept", std::move(kept)).add("ranks", std::move(ranks));
  return content_hash(record_text(all));
}

}  // namespace attnscope
