#include "attnscope/features/predict/run.h"

#include "attnscope/engine/work_queue.h"
#include "attnscope/features/predict/prompt_run.h"
#include "attnscope/forward/weights/forward_weights.h"

namespace attnscope {

void run_predict(std::span<const Model> models, const PredictRequest& request,
                 const Context& context, RowSink& sink) {
  std::vector<Prediction> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const Prompt& prompt = request.prompts[index];
    const std::int64_t tokens = std::ssize(prompt.tokens) + request.generate.value_or(0);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(model)) * static_cast<double>(tokens),
         .memory_bytes = prompt_run_bytes(model, prompt, request, context),
         .run = [&, index](const Compute& compute) {
           found[index] =
               run_prompt(models[index], request.prompts[index], request, context, compute);
         }});
  }
  run_queue(items, context, {}, {"model", "models"});

  ReportHead head{.command = "predict", .parameters = request.text};
  head.parameters.add("top", request.top).add("generate", request.generate);
  for (Prediction& prediction : found) head.models.push_back(std::move(prediction.facts));
  sink.begin(head);
  for (Prediction& prediction : found) {
    for (Record& row : prediction.rows) sink.add_row(std::move(row));
    for (std::string& note : prediction.notes) sink.add_note(std::move(note));
  }
  sink.end();
}

}  // namespace attnscope
