// Rows of the report of a plan.
#pragma once

#include <vector>

#include "attnscope/features/plan/search.h"

namespace attnscope {

/// A model and the choices applied to it, each to the output of the previous one.
struct PlannedModel {
  std::vector<Choice> choices;
  std::vector<std::string> words;  // per choice: see choice_words()
  ModelSize before, after;
  double nll_before = 0, nll_after = 0;  // mean negative log-likelihood, nats
  double predicted_kl = 0;
  std::vector<Record> rows;
  std::vector<Skipped> skipped;  // matrices left unchanged because they contain NaN or infinity
};

/// One row per layer or matrix, or one for the whole model.
std::vector<Record> plan_rows(Planner& planner, const Choice& choice);

/// Model info. For a stack, parameters and KV cache are those of the whole model, as in plans.
Record planned_facts(const Model& model);

/// Names of the methods: "hidden-size,mlp".
std::string methods_text(const std::vector<Method>& methods);

/// Description of the choice: "6 → 5 (without 2)".
std::string choice_words(const Model& model, const Choice& choice);

void send_comparison(const Model& model, const PlanRequest& request,
                     const std::vector<Candidate>& comparison, const PlannedModel& planned,
                     RowSink& sink);
void send_plan(const Model& model, const PlanRequest& request, const PlannedModel& planned,
               RowSink& sink);

}  // namespace attnscope
