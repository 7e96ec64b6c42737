// Writes the compressed model that a plan describes, reopens it and measures it.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "attnscope/base/content_hash.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/moments_cache.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/plan_file.h"
#include "attnscope/features/plan/resumable_steps.h"
#include "attnscope/features/plan/rows.h"
#include "attnscope/features/plan/shrink_run.h"
#include "attnscope/features/plan/writing/model_card.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

bool has_quantized(const Model& model) {
  const auto& tensors = model.checkpoint().tensors();
  return !std::ranges::all_of(
      tensors, [](const CheckpointTensor& tensor) { return plain_dtype(tensor.view).has_value(); });
}

/// One row per tensor of either model.
std::vector<Record> tensor_rows(const Model& before, const ChangedModel& after) {
  std::vector<Record> rows;
  const auto add = [&](const std::string& name, Value was, Value is, const char* change) {
    rows.push_back({{"model", before.name()},
                    {"tensor", name},
                    {"shape_before", std::move(was)},
                    {"shape_after", std::move(is)},
                    {"change", change}});
  };
  for (const auto& [name, view] : after.tensors()) {
    const CheckpointTensor* own = before.checkpoint().find(name);
    if (own == nullptr) {
      add(name, Value(), view.shape, "new");
    } else if (own->view.shape != view.shape) {
      add(name, own->view.shape, view.shape, "cut");
    } else {
      const bool same =
          own->view.bytes.data() == view.bytes.data() && own->view.source == view.source;
      add(name, own->view.shape, view.shape, same ? "kept" : "replaced");
    }
  }
  for (const CheckpointTensor& tensor : before.checkpoint().tensors()) {
    if (!after.has(tensor.name)) add(tensor.name, tensor.view.shape, Value(), "removed");
  }
  std::sort(rows.begin(), rows.end(), [](const Record& a, const Record& b) {
    return *a.find("tensor")->get<std::string>() < *b.find("tensor")->get<std::string>();
  });
  return rows;
}

void check_hash(std::string_view place, const std::string& field, const std::string& found,
                const std::string& expected, const std::string& other) {
  if (found == expected) return;
  throw Error(
      ErrorKind::format,
      {.file = std::string(place), .place = field, .problem = "belongs to " + verbatim(other)});
}

/// Adds a note if a perplexity in the plan differs from the measured one.
void note_difference(const std::string& whose, double measured, double planned, double tolerance,
                     RowSink& sink) {
  if (std::abs(measured - planned) <= tolerance) return;
  sink.add_note(whose + " perplexity is " + rounded_text(std::exp(measured), 3) +
                ", but the plan reports " + rounded_text(std::exp(planned), 3) +
                ": was the plan edited?");
}

}  // namespace

void check_plan(const PlanFile& plan, const Model& model, std::string_view place) {
  check_hash(place, "models[0].plan.model_hash", plan.model_hash, model_hash(model),
             "another model than " + model.name());
  check_plan_of_model(plan, model, place);
}

void run_shrink(const Model& model, const ShrinkRequest& request, const Context& context,
                RowSink& sink) {
  const PlanFile& plan = request.plan;
  check_hash(request.plan_place, "parameters.tokens_hash", plan.tokens_hash,
             windows_hash(request.text.fitted()), "another text");
  check_hash(request.plan_place, "parameters.eval_hash", plan.eval_hash,
             windows_hash(request.text.measured()), "another evaluation text");
  NewFolder folder(request.folder);  // fails now instead of at the end
  FinishedLayers finished(request.folder, content_hash(request.plan_text));
  std::vector<Record> rows;
  Record facts;
  double nll_before = 0, nll = 0;
  PlanWords words;
  const auto work = [&](const Compute& compute) {
    nll_before = mean_nll(model, request.text.measured(), compute);
    ChangedModel changed(model);
    Model made = model;
    for (std::size_t at = 0; at < plan.choices.size(); ++at) {
      if (at > 0) finished.begin_next();
      const Choice& choice = plan.choices[at];
      const std::string dtype(
          dtype_name(changed.dtype()));  // of the model that the earlier methods made
      MomentsCache kept(request.folder,
                        content_hash(request.plan_text + dtype + std::to_string(at)));
      Calibration calibration(made, request.text.fitted(), context.memory_bytes / 2,
                              plan.rank_allocation == "plain" ? kMostRidge : plan.ridge, &kept);
      TextStatistics text = calibration.statistics(compute);
      text.dtype = request.form.dtype;
      text.finished = &finished;
      changed = choice.method->make(made, choice, text, compute);
      const std::string method(choice.method->name);
      words.methods += (at == 0 ? "" : ",") + method;
      words.choices += (at == 0 ? "" : "; ") + (plan.choices.size() > 1 ? method + " " : "") +
                       choice_words(made, choice);
      made = changed.open();
      kept.remove();
    }
    rows = tensor_rows(model, changed);
    WrittenForm form = request.form;
    form.card =
        model_card(model, plan, words, nll_before, size_of(model), size_of(made), request.text);
    write_model(changed, model.checkpoint().folder(), form, folder, compute.stop);
  };
  std::optional<Model> written;
  try {
    run_with_all_threads(context, work, {"model", "models"});
    written = Model::open_stack(Checkpoint::open(folder.unfinished()),
                                request.folder.filename().string(), model.stack());
    run_with_all_threads(
        context,
        [&](const Compute& compute) { nll = mean_nll(*written, request.text.measured(), compute); },
        {"model", "models"});
  } catch (const Error& error) {
    // Unless the disk failed, the next run would fail in the same way, so nothing is kept for it.
    if (error.kind() != ErrorKind::io) {
      finished.remove();
      MomentsCache(request.folder, "").remove();
    }
    throw;
  }
  folder.commit();
  finished.remove();
  if (finished.taken() > 0) {
    sink.add_note("resumed an interrupted run: reused " + counted(finished.taken(), "layer"));
  }
  facts = planned_facts(model);
  Record shrunk = {{"method", words.methods}, {"description", words.choices}};
  const ModelSize after = size_of(*written);
  shrunk.add("parameters", after.parameters)
      .add("kv_cache_bytes_per_token", after.kv_cache_bytes_per_token)
      .add("flops_per_token", after.flops_per_token)
      .add("bytes", written->checkpoint().file_bytes())
      .add("planned_perplexity", std::exp(plan.mean_nll_after))
      .add("perplexity", std::exp(nll))
      .add("mean_nll", nll);
  facts.add("compressed", std::move(shrunk));
  // The plan already rounds weights as they are written, unless `--dtype` asks for another dtype.
  const double agrees = request.form.dtype ? 5e-3 : 1e-3;
  constexpr double kSame = 1e-4;  // the summation order depends on the processor
  note_difference("the original model's", nll_before, plan.mean_nll_before, kSame, sink);
  note_difference("the written model's", nll, plan.mean_nll_after, agrees, sink);
  if (plan.choices.front().method->allocates_ranks()) {
    sink.add_note(
        "low-rank matrices were written in their original shapes: this saves nothing in standard "
        "runtimes");
  }
  if (has_quantized(model)) {
    sink.add_note("quantized weights were written as " +
                  std::string(dtype_name(request.form.dtype.value_or(DType::bf16))));
  }
  sink.begin({.command = "shrink",
              .models = {facts},
              .parameters = {{"plan", request.plan_place}, {"folder", request.folder.string()}}});
  for (Record& row : rows) sink.add_row(std::move(row));
  sink.end();
}

}  // namespace attnscope
