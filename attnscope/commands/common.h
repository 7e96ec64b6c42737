// Parameters that several commands share, and what their values lead to.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/commands/command.h"
#include "attnscope/model/model.h"
#include "attnscope/store/store.h"

namespace attnscope {

using Parameters = std::vector<Parameter>;

Parameters joined(std::initializer_list<Parameters> groups);

/// models, layout.
Parameters model_parameters();
/// layers, threads, memory, progress, store.
Parameters work_parameters();
/// format, out, quiet: what is done with the report.
Parameters output_parameters();
/// histogram, bins, range; `usual` are the bins where none are given.
Parameters bin_parameters(const BinRule& usual);
Parameter energy_parameter(const std::vector<double>& usual);
Parameter per_head_flag();

/// Opens every model and names them apart.
std::vector<Model> open_models(const Arguments& arguments, const Session& session);

/// The same for checkpoints whose architecture is not asked for.
struct NamedCheckpoints {
  std::vector<Checkpoint> checkpoints;
  std::vector<std::string> names;
};
NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session);

/// What `threads` and `memory` allow; by default all cores, and a half of what memory is free.
Context context_of(const Arguments& arguments);

/// The session's context with the file of `store` behind it, which is made where there is none.
class StoringContext {
 public:
  StoringContext(const Arguments& arguments, const Session& session);
  StoringContext(const StoringContext&) = delete;
  StoringContext& operator=(const StoringContext&) = delete;

  operator const Context&() const { return context_; }

 private:
  std::optional<Store> store_;
  Context context_;
};

BinRule bins_of(const Arguments& arguments, const BinRule& usual);

/// A note where bins were chosen for a histogram that nobody asked for.
void note_idle_bins(const Arguments& arguments, RowSink& sink);

}  // namespace attnscope
