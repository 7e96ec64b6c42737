// What a plan's report says.
#pragma once

#include <vector>

#include "attnscope/features/plan/search.h"

namespace attnscope {

/// A model and what choices make of it, each of what the one before left.
struct PlannedModel {
  std::vector<Choice> choices;
  std::vector<std::string> words;  // of each: see choice_words()
  ModelSize before, after;
  double nll_before = 0, nll_after = 0;  // mean negative log likelihood, nats
  double predicted_kl = 0;
  std::vector<Record> rows;
  std::vector<Skipped> skipped;  // matrices that stay, as they hold NaN or infinity
};

/// A row for each layer, matrix, or the whole of it.
std::vector<Record> plan_rows(Planner& planner, const Choice& choice);

/// A model's facts; of a stack with parameters and cache of the whole model, as plans count them.
Record planned_facts(const Model& model);

/// "hidden,width": their names.
std::string methods_text(const std::vector<Method>& methods);

/// In words: "6 → 5 (without 2)".
std::string choice_words(const Model& model, const Choice& choice);

void send_comparison(const Model& model, const PlanRequest& request,
                     const std::vector<Candidate>& comparison, const PlannedModel& planned,
                     RowSink& sink);
void send_plan(const Model& model, const PlanRequest& request, const PlannedModel& planned,
               RowSink& sink);

}  // namespace attnscope
