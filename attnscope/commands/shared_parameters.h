// Parameters that several commands share, and what commands do with their values.
#pragma once

#include <filesystem>
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
std::vector<Exclusion> joined_exclusions(std::vector<Exclusion> some,
                                         const std::vector<Exclusion>& more);

/// models, layout.
Parameters model_parameters();
/// Of commands that read a model's weights once: `remote` too.
Parameters remote_model_parameters();
/// threads, memory, progress.
Parameters run_parameters();
/// layers, those, store.
Parameters work_parameters();
/// format, out, quiet: where the report goes, and how. `more_endings`: of files that the command
/// can write beside those of formats().
Parameters output_parameters(const std::vector<std::string>& more_endings = {});
/// By which a store is known.
std::vector<std::string> store_endings();
/// histogram, bins, range; `usual` are the bins where none are given.
Parameters bin_parameters(const BinRule& usual);
Parameter energy_parameter(const std::vector<double>& usual);
Parameter per_head_flag();

/// Opens every model, in the order of named_models(), and names them apart.
std::vector<Model> open_models(const Arguments& arguments, const Session& session);

/// The session, in which commands find these models open, under the names that they have: those
/// that open_models() gave for the same arguments.
Session with_open_models(const Session& session, const Arguments& arguments,
                         const std::vector<Model>& models);

/// Checkpoints and their names, for work that needs no known architecture.
struct NamedCheckpoints {
  std::vector<std::shared_ptr<const Checkpoint>> checkpoints;
  std::vector<std::string> names;
};
NamedCheckpoints open_checkpoints(const Arguments& arguments, const Session& session);

/// With the values of `threads` and `memory`; by default all cores, and a half of the free memory.
Context context_of(const Arguments& arguments);

/// The session's context, and where `store` was given that file as its store, which is made where
/// there is none.
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

/// The file that a parameter names, for what a command writes beside its report. It appears when
/// the report does, whole or not at all; the stream is valid until the command's run() returns.
/// Throws Error(io), and so does writing to it where there is no room.
std::ostream& open_output(const Arguments& arguments, const Session& session,
                          std::string_view parameter);

BinRule bins_of(const Arguments& arguments, const BinRule& usual);

/// Adds a note where bins or a range were given without `histogram`.
void note_idle_bins(const Arguments& arguments, RowSink& sink);

}  // namespace attnscope
