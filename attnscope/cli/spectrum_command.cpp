#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/pipeline/mla.h"
#include "attnscope/pipeline/spectrum.h"

namespace attnscope {
namespace {

struct SpectrumArguments {
  CommonArguments common;
  std::string matrix;
  std::string energy;
  std::string tensor;
  std::string rank;
  bool per_head = false;
  bool values = false;
  bool mla = false;
};

/// In the order in which they were typed, each once.
std::vector<Rank> parse_ranks(const std::string& text) {
  std::vector<Rank> ranks;
  for (const std::string& part : split(text, ',')) {
    const Rank rank = parse_rank(part);
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
  return ranks;
}

/// Throws Error(usage) where `option` stands beside one that gives it no meaning.
void refuse_beside(const char* option, const std::string& reason,
                   std::initializer_list<std::pair<const char*, bool>> others) {
  std::vector<std::string> given;
  for (const auto& [name, is_given] : others) {
    if (is_given) given.emplace_back(name);
  }
  if (given.empty()) return;
  throw Error(ErrorKind::usage, option,
              reason + ", so " + join(given, " and ") + (given.size() > 1 ? " have" : " has") +
                  " no meaning beside it");
}

SpectrumRequest make_request(const SpectrumArguments& arguments) {
  SpectrumRequest request;
  if (!arguments.matrix.empty()) request.matrices = parse_roles("--matrix", arguments.matrix);
  if (!arguments.common.layers.empty()) request.layers = LayerSelection(arguments.common.layers);
  if (!arguments.energy.empty())
    request.thresholds = parse_thresholds("--energy", arguments.energy);
  if (!arguments.rank.empty()) request.ranks = parse_ranks(arguments.rank);
  request.per_head = arguments.per_head;
  request.with_values = arguments.values;
  return request;
}

int run(const SpectrumArguments& arguments) {
  const SpectrumRequest request = make_request(arguments);
  Context context = context_for(arguments.common);
  const ProgressMode mode = progress_mode(arguments.common);
  if (arguments.mla) {
    refuse_beside("--mla", "asks of queries, and of keys and values, at ranks of its own",
                  {{"--matrix", !arguments.matrix.empty()},
                   {"--per-head", arguments.per_head},
                   {"--values", arguments.values},
                   {"--rank", !arguments.rank.empty()},
                   {"--tensor", !arguments.tensor.empty()}});
  }
  if (arguments.tensor.empty()) {
    const std::vector<Model> models = open_models(arguments.common);
    std::optional<Store> store = open_store(arguments.common);
    context.store = store ? &*store : nullptr;
    return print_report(arguments.common, [&](RowSink& sink) {
      ProgressLine line("spectrum", mode);
      context.on_progress = [&](const Progress& progress) { line.show(progress); };
      (arguments.mla ? run_mla : run_spectrum)(models, request, context, sink);
    });
  }
  refuse_beside("--tensor", "names one tensor",
                {{"--matrix", !arguments.matrix.empty()},
                 {"--layers", !arguments.common.layers.empty()},
                 {"--per-head", arguments.per_head},
                 {"--layout", !arguments.common.layout.empty()}});
  const NamedCheckpoints opened = open_checkpoints(arguments.common);
  std::optional<Store> store = open_store(arguments.common);
  context.store = store ? &*store : nullptr;
  return print_report(arguments.common, [&](RowSink& sink) {
    ProgressLine line("spectrum", mode);
    context.on_progress = [&](const Progress& progress) { line.show(progress); };
    run_tensor_spectrum(opened.checkpoints, opened.names, arguments.tensor, request, context, sink);
  });
}

}  // namespace

std::function<int()> set_up_spectrum(CLI::App& app) {
  const auto arguments = std::make_shared<SpectrumArguments>();
  add_common_arguments(app, arguments->common);
  add_work_arguments(app, arguments->common);
  app.add_option("--matrix", arguments->matrix,
                 "of q,k,v,o,gate,up,down,qk,ov,kv (default: the projections that are there)")
      ->type_name("NAMES");
  app.add_flag("--per-head", arguments->per_head, "a row for each head too");
  app.add_option("--energy", arguments->energy, "thresholds of the energy rank (default: 0.9,0.99)")
      ->type_name("SHARES");
  app.add_option(
         "--rank", arguments->rank,
         "also the share of energy kept at these ranks: 512, or 0.1D for a share of the width")
      ->type_name("RANKS");
  app.add_flag("--mla", arguments->mla,
               "what latent attention with DeepSeek-V2's ranks (q 1536, kv 512) would keep");
  app.add_flag("--values", arguments->values,
               "in csv and json: the singular values and their cumulative energy");
  app.add_option("--tensor", arguments->tensor,
                 "any 2-D tensor by its name instead; needs no known architecture")
      ->type_name("NAME");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
