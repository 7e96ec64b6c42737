// Parameters that several commands share.
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
/// Of commands that read a model's weights once: `remote` too.
Parameters remote_model_parameters();
/// threads, memory, progress.
Parameters run_parameters();
/// layers, those, store.
Parameters work_parameters();
Parameter store_parameter();
/// format, out, quiet: where the report goes, and how. `more_endings`: of files that the command
/// can write beside those of formats().
Parameters output_parameters(const std::vector<std::string>& more_endings = {});
/// By which a store is known.
std::vector<std::string> store_endings();
/// histogram, bins, range; `usual` are the bins where none are given.
Parameters bin_parameters(const BinRule& usual);
Parameter energy_parameter(const std::vector<double>& usual);
Parameter per_head_flag();
/// Which experts of a layer are looked at; see ExpertSelection.
Parameter experts_parameter();

/// histogram; with it bins and range, as bins_of(options) reads them.
void add_bin_options(Record& options, const Arguments& arguments, const BinRule& usual);

/// The rule of "bins" (a number, or "fd") and "range" (two numbers, or null); nothing where
/// "histogram" is false.
std::optional<BinRule> bins_of(const Record& options);

/// Adds a note where bins or a range were given without `histogram`.
void note_idle_bins(const Arguments& arguments, RowSink& sink);

}  // namespace attnscope
