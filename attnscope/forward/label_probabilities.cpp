#include "attnscope/forward/label_probabilities.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/logits.h"

namespace attnscope {
namespace {

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

LabelProbability label_probability(const LabelHeadSpec& spec, std::int64_t labels) {
  const bool of_text = spec.task == LabelTask::sequence;
  if (!of_text) return LabelProbability::softmax;
  if (spec.problem_type == "regression") return LabelProbability::none;
  if (spec.problem_type == "multi_label_classification" || labels == 1) {
    return LabelProbability::sigmoid;
  }
  return LabelProbability::softmax;
}

std::vector<std::optional<double>> label_probabilities(LabelProbability kind,
                                                       std::span<const float> logits,
                                                       const Compute& compute) {
  std::vector<std::optional<double>> out(logits.size());
  if (kind == LabelProbability::none) return out;
  const double total = kind == LabelProbability::softmax ? log_sum_exp(logits, compute) : 0;
  for (std::size_t label = 0; label < out.size(); ++label) {
    const auto logit = static_cast<double>(logits[label]);
    out[label] =
        kind == LabelProbability::softmax ? std::exp(logit - total) : 1 / (1 + std::exp(-logit));
  }
  return out;
}

std::optional<std::int64_t> top_label(LabelProbability kind, std::span<const float> logits) {
  if (kind != LabelProbability::softmax) return std::nullopt;
  return std::ranges::max_element(logits) - logits.begin();
}

std::string label_name(const LabelHeadSpec& spec, std::int64_t label) {
  const auto at = static_cast<std::size_t>(label);
  return at < spec.names.size() ? spec.names[at] : "LABEL_" + std::to_string(label);
}

std::int64_t label_of(const LabelHeadSpec& spec, std::int64_t labels, const std::string& text,
                      const std::string& parameter) {
  std::vector<std::string> names;
  for (std::int64_t label = 0; label < labels; ++label) {
    names.push_back(label_name(spec, label));
    if (names.back() == text) return label;
  }
  const auto number = number_of(text);
  if (number && *number >= 0 && *number < labels) return *number;
  constexpr std::size_t kShown = 20;
  std::string hint = "labels: ";
  for (std::size_t at = 0; at < std::min(kShown, names.size()); ++at) {
    hint += (at == 0 ? "" : ", ") + verbatim(names[at]);
  }
  if (names.size() > kShown) hint += ", …; or a number below " + std::to_string(labels);
  throw Error(ErrorKind::usage, {.parameter = parameter,
                                 .problem = "'" + verbatim(text) + "' is not a label of the model",
                                 .hint = hint});
}

std::vector<AnswerSpan> most_likely_answers(MatrixView<const float> logits, const TokenIds& ids,
                                            std::int64_t count, const Compute& compute) {
  std::vector<std::int64_t> places;  // where an answer may be
  for (std::int64_t at = 0; at < logits.rows; ++at) {
    if (ids.texts.empty() || ids.texts[static_cast<std::size_t>(at)] == 1) places.push_back(at);
  }
  if (places.empty()) return {};
  const auto column = [&](std::int64_t col) {
    std::vector<float> out;
    for (const std::int64_t at : places) out.push_back(logits(at, col));
    return out;
  };
  const std::vector<float> firsts = column(0), lasts = column(1);
  const double total = log_sum_exp(firsts, compute) + log_sum_exp(lasts, compute);
  std::vector<AnswerSpan> all;
  for (std::size_t first = 0; first < places.size(); ++first) {
    for (std::size_t last = first; last < places.size(); ++last) {
      if (places[last] - places[first] >= kLongestAnswer) break;
      const double logit = static_cast<double>(firsts[first]) + static_cast<double>(lasts[last]);
      all.push_back({.first = places[first],
                     .last = places[last],
                     .logit = logit,
                     .probability = std::exp(logit - total)});
    }
  }
  const auto kept = std::min<std::int64_t>(count, std::ssize(all));
  std::partial_sort(all.begin(), all.begin() + kept, all.end(),
                    [](const AnswerSpan& a, const AnswerSpan& b) {
                      if (a.logit != b.logit) return a.logit > b.logit;
                      return a.first != b.first ? a.first < b.first : a.last < b.last;
                    });
  all.resize(static_cast<std::size_t>(kept));
  return all;
}

}  // namespace attnscope
