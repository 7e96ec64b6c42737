#include "attnscope/model/config/label_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/text.h"
#include "attnscope/model/config/embedding_and_norm_config.h"

namespace attnscope {
namespace {

constexpr std::array kClasses = {std::pair{"ForSequenceClassification", LabelTask::sequence},
                                 std::pair{"ForTokenClassification", LabelTask::token},
                                 std::pair{"ForQuestionAnswering", LabelTask::span}};

std::optional<LabelTask> task_of(const ConfigReader& config) {
  const nlohmann::json* classes = config.find("architectures");
  if (classes == nullptr || !classes->is_array() || classes->size() != 1) return std::nullopt;
  if (!classes->front().is_string()) return std::nullopt;
  const auto name = classes->front().get<std::string>();
  for (const auto& [ending, task] : kClasses) {
    if (name.ends_with(ending)) return task;
  }
  return std::nullopt;
}

/// Heads that transformers gives to decoders: GenericForSequenceClassification and the classes of
/// GPT-2. They have no activation, and read the last token.
std::vector<LabelHeadRule> usual_label_heads() {
  return {{.task = LabelTask::sequence, .weight = "score.weight", .pooling = LabelPooling::last},
          {.task = LabelTask::token, .weight = "score.weight"},
          {.task = LabelTask::token, .weight = "classifier.weight"},
          {.task = LabelTask::span, .weight = "qa_outputs.weight"}};
}

/// The padding token. Files write -1 for none.
std::optional<std::int64_t> padding_of(const ConfigReader& config) {
  const nlohmann::json* id = config.find("pad_token_id");
  if (id != nullptr && id->is_number_integer() && *id < 0) return std::nullopt;
  return config.number({"pad_token_id"}, /*least=*/0);
}

/// The head of this rule. `unknown`: receives why it cannot be run.
LabelHeadChoice choice_of(LabelHeadRule rule, const Architecture& architecture,
                          const ConfigReader& config, std::string& unknown) {
  LabelHeadChoice out{.norm = norm_at(*architecture.norm, config, rule.norm)};
  std::string activation = config.text(rule.activation_key);
  if (activation.empty()) activation = rule.activation;
  if (!activation.empty()) {
    const auto found = activation_from_name(activation);
    if (found) out.activation = *found;
    if (!found) unknown = "activation '" + printable(activation) + "' is not known";
  }
  const std::string pooling = config.text(rule.pooling_key);
  if (pooling == "mean") rule.pooling = LabelPooling::mean;
  if (!pooling.empty() && pooling != "mean" && pooling != "cls") {
    unknown = "'" + rule.pooling_key + "': '" + printable(pooling) + "' is not known";
  }
  out.rule = std::move(rule);
  return out;
}

}  // namespace

std::vector<std::string> label_names(const ConfigReader& config) {
  const nlohmann::json* labels = config.find("id2label");
  if (labels == nullptr || !labels->is_object()) return {};
  std::vector<std::string> names;
  for (std::size_t id = 0; id < labels->size(); ++id) {
    const auto name = labels->find(std::to_string(id));
    if (name == labels->end() || !name->is_string()) return {};
    names.push_back(name->get<std::string>());
  }
  return names;
}

std::optional<LabelHeadSpec> label_head_of(const Architecture& architecture,
                                           const ConfigReader& config, std::string& unknown) {
  const auto task = task_of(config);
  if (!task) return std::nullopt;
  std::vector<LabelHeadRule> all = architecture.label_heads;
  if (all.empty() && architecture.stack.empty() && architecture.causal.fallback) {
    all = usual_label_heads();
  }
  LabelHeadSpec out{.task = *task};
  for (LabelHeadRule& rule : all) {
    if (rule.task != *task) continue;
    out.heads.push_back(choice_of(std::move(rule), architecture, config, unknown));
  }
  if (out.heads.empty()) return std::nullopt;
  out.names = label_names(config);
  out.problem_type = config.text("problem_type");
  out.padding_token = padding_of(config);
  return out;
}

}  // namespace attnscope
