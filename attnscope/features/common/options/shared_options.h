// Parameters shared by several commands.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/framework/command.h"

namespace attnscope {

using Parameters = std::vector<Parameter>;

Parameters joined(std::initializer_list<Parameters> groups);
std::vector<Exclusion> joined_exclusions(std::vector<Exclusion> some,
                                         const std::vector<Exclusion>& more);

/// models, layout, stack.
Parameters model_parameters();
/// The same and `remote`, for commands that read the weights of a model only once.
Parameters remote_model_parameters();
/// threads, memory, progress.
Parameters run_parameters();
/// layers, run_parameters(), store.
Parameters work_parameters();
Parameter store_parameter();
/// format, out, csv_escape_formulas, quiet: format and destination of the report. `more_endings`:
/// file extensions that the command can write in addition to those of formats().
Parameters output_parameters(const std::vector<std::string>& more_endings = {});
/// File extensions of stores.
std::vector<std::string> store_endings();
/// histogram, bins, range; `usual`: the default bins.
Parameters bin_parameters(const BinRule& usual);
Parameter energy_parameter(const std::vector<double>& usual);
Parameter per_head_flag();
/// Selects the experts of a layer; see ExpertSelection.
Parameter experts_parameter();

/// Adds histogram and, if it is set, bins and range in the form that bins_of() reads.
void add_bin_options(Record& options, const Arguments& arguments, const BinRule& usual);

/// The rule given by "bins" (a number or "fd") and "range" (two numbers or null); nothing if
/// "histogram" is false.
std::optional<BinRule> bins_of(const Record& options);

/// Adds a note if bins or a range were given without `histogram`.
void note_idle_bins(const Arguments& arguments, RowSink& sink);

}  // namespace attnscope
