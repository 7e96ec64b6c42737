#include "attnscope/features/predict/image_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/forward/logits.h"
#include "attnscope/model/config/label_config.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

struct ImageFindings {
  Record facts;
  std::vector<Record> rows;
  std::vector<std::string> notes;
};

double unit_product(std::span<const float> a, std::span<const float> b) {
  double product = 0, of_a = 0, of_b = 0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    const auto left = static_cast<double>(a[at]), right = static_cast<double>(b[at]);
    product += left * right;
    of_a += left * left;
    of_b += right * right;
  }
  return product / std::sqrt(of_a * of_b);
}

/// The number stored in the tensor of this name; empty if the files do not contain it.
std::optional<double> stored_number(const Model& model, const std::string& name) {
  const CheckpointTensor* tensor = name.empty() ? nullptr : model.checkpoint().find(name);
  if (tensor == nullptr || tensor->view.element_count() != 1) return std::nullopt;
  if (const auto problem = why_not_analyzed(model.checkpoint(), *tensor)) {
    throw Error(ErrorKind::format, model.checkpoint().parts_of(*tensor, verbatim(*problem)));
  }
  model.checkpoint().need(*tensor);
  float value = 0;
  decode_elements(tensor->view, 0, 1, 1, &value);
  return static_cast<double>(value);
}

class ImageRun {
 public:
  ImageRun(const Model& model, const ImageQuestion& question, const ImagePredictRequest& request,
           const Context& context, const Compute& compute)
      : model_(model),
        question_(question),
        request_(request),
        context_(context),
        compute_(compute),
        pass_(model, /*copy_weights=*/false, compute) {}

  ImageFindings run() {
    const PromptWatcher* watcher = request_.watcher;
    if (watcher != nullptr) watcher->begin(pass_, {}, pass_.length_of(question_.image));
    ForwardObserver observer = watcher == nullptr ? ForwardObserver{} : watcher->observer;
    // Layers after patch merging have fewer positions.
    const bool merges = std::ranges::any_of(pass_.weights().layers, [](const LayerWeights& layer) {
      return layer.merging.has_value();
    });
    RunEdits edits(pass_, context_.watchers, compute_, observer.hooks,
                   merges ? std::nullopt : std::optional(pass_.length_of(question_.image)));
    observer.hooks = edits.hooks();
    const Matrix<float> states = pass_.run(std::span(&question_.image, 1), observer, compute_);
    found_.facts = facts_record(summarize(model_));
    if (pass_.reads_images()) {
      const PatchGrid grid = pass_.grid_of(question_.image);
      found_.facts.add(
          "patches", Record{{"rows", grid.rows}, {"columns", grid.cols}, {"before", grid.before}});
    }
    std::vector<float> pooled;
    if (pass_.pooled_width() > 0) pooled = pass_.pooled(states.view(), {}, compute_);
    if (watcher != nullptr) {
      if (!pooled.empty()) watcher->on_logits({pooled.data(), 1, std::ssize(pooled), 0});
      if (pass_.no_logits().empty()) {
        watcher->on_logits(pass_.logits(states.view(), compute_).view());
      }
      watcher->end();
    }
    if (question_.texts != nullptr) {
      compare(pooled);
    } else if (!model_.spec().head.rule.score_scale.empty()) {
      found_.notes.push_back(verbatim(model_.name()) +
                             " compares an image with texts: pass texts with {text}, one per line");
    } else if (pass_.reads_audio()) {
      found_.notes.push_back(verbatim(model_.name()) +
                             ": audio input gives no rows. Use {save} to save hidden states, "
                             "attention maps and logits");
    } else if (pooled.empty()) {
      found_.notes.push_back(verbatim(model_.name()) +
                             ": no labels, because the files contain no classification head");
    } else {
      add_labels(pooled);
    }
    return std::move(found_);
  }

 private:
  void add_row(std::int64_t rank, std::int64_t id, Value text, double logit, double probability) {
    found_.rows.push_back({{"model", model_.name()},
                           {"rank", rank},
                           {"label_id", id},
                           {"text", std::move(text)},
                           {"logit", logit},
                           {"probability", probability}});
  }

  void add_labels(const std::vector<float>& logits) {
    const ModelSpec& spec = model_.spec();
    const nlohmann::json config = parse_python_json(spec.text, spec.source);
    const std::vector<std::string> names = label_names(ConfigReader(&config, spec.source));
    std::int64_t rank = 0;
    for (const TokenScore& score : top_tokens(logits, request_.top, compute_)) {
      const auto id = static_cast<std::size_t>(score.token);
      add_row(++rank, score.token, id < names.size() ? Value(names[id]) : Value(), score.logit,
              score.probability);
    }
  }

  void compare(const std::vector<float>& image) {
    const ForwardPass texts(*question_.texts, /*copy_weights=*/false, compute_);
    const HeadRule& rule = model_.spec().head.rule;
    const auto scale = stored_number(model_, rule.score_scale);
    if (image.empty() || texts.pooled_width() != std::ssize(image) || !scale) {
      throw Error(ErrorKind::unsupported, {.file = model_.checkpoint().main_file().string(),
                                           .problem = "cannot compare texts with an image",
                                           .hint = "run without {text}"});
    }
    const auto bias = stored_number(model_, rule.score_bias);
    std::vector<double> logits;
    double largest = -INFINITY;
    for (const Caption& caption : question_.captions) {
      const Matrix<float> states = texts.run(std::span(&caption.tokens, 1), {}, compute_);
      const std::vector<float> text = texts.pooled(states.view(), caption.tokens, compute_);
      logits.push_back(std::exp(*scale) * unit_product(image, text) + bias.value_or(0));
      largest = std::max(largest, logits.back());
    }
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - largest);
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    std::int64_t rank = 0;
    for (const std::size_t at : order) {
      const double probability =
          bias ? 1 / (1 + std::exp(-logits[at])) : std::exp(logits[at] - largest) / sum;
      add_row(++rank, static_cast<std::int64_t>(at), question_.captions[at].text, logits[at],
              probability);
    }
  }

  const Model& model_;
  const ImageQuestion& question_;
  const ImagePredictRequest& request_;
  const Context& context_;
  const Compute& compute_;
  ForwardPass pass_;
  ImageFindings found_;
};

}  // namespace

void run_image_prediction(std::span<const Model> models, const ImagePredictRequest& request,
                          const Context& context, RowSink& sink) {
  std::vector<ImageFindings> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    constexpr double kRows = 256;  // of a typical image
    items.push_back(
        {.flops = kRows * static_cast<double>(forward_weights_bytes(models[index])),
         .memory_bytes = run_bytes(models[index].spec(), /*sequences=*/1, /*tokens=*/256),
         .run = [&, index](const Compute& compute) {
           found[index] =
               ImageRun(models[index], request.questions[index], request, context, compute).run();
         }});
  }
  run_queue(items, context, {}, {"model", "models"});

  ReportHead head{.command = "predict",
                  .parameters = {{"input", request.source}, {"top", request.top}}};
  add_edits_hash(head.parameters, context, models);
  for (ImageFindings& each : found) head.models.push_back(std::move(each.facts));
  sink.begin(head);
  for (ImageFindings& each : found) {
    for (Record& row : each.rows) sink.add_row(std::move(row));
    for (std::string& note : each.notes) sink.add_note(std::move(note));
  }
  sink.end();
}

}  // namespace attnscope
