// Options that several commands share, and the parsing of their values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/cli/progress_line.h"
#include "attnscope/core/role.h"
#include "attnscope/model/model.h"
#include "attnscope/pipeline/context.h"
#include "attnscope/results/sink.h"
#include "attnscope/store/store.h"

namespace CLI {
class App;
}

namespace attnscope {

/// As typed; empty where not given.
struct CommonArguments {
  std::vector<std::string> models;
  std::string layout;
  std::string format;
  std::string out;
  std::string layers;
  std::string threads;
  std::string memory;
  std::string progress;
  std::string store;
  bool quiet = false;
};

/// --format, --out, --quiet.
void add_output_arguments(CLI::App& app, CommonArguments& arguments);
/// MODEL…, --layout, and the output arguments.
void add_common_arguments(CLI::App& app, CommonArguments& arguments);
/// --layers, --threads, --memory, --progress, --store.
void add_work_arguments(CLI::App& app, CommonArguments& arguments);

/// Opens every model, names them apart, and tells on stderr where an index and its shards disagree.
/// Throws Error(usage) where none is given.
std::vector<Model> open_models(const CommonArguments& arguments);

/// The same for checkpoints whose architecture is not asked for.
struct NamedCheckpoints {
  std::vector<Checkpoint> checkpoints;
  std::vector<std::string> names;
};
NamedCheckpoints open_checkpoints(const CommonArguments& arguments);

/// The file of --store, made where there is none; nothing where none was asked for.
std::optional<Store> open_store(const CommonArguments& arguments);

/// Makes the report and prints it in the asked format to stdout or --out. Returns the exit code:
/// 0 if there is any row or nothing was skipped, else 6.
int print_report(const CommonArguments& arguments, const std::function<void(RowSink&)>& run);

/// What --threads and --memory allow; by default all cores, and a half of what memory is free.
/// ATTNSCOPE_KERNELS holds the kernels down, for tests and comparisons.
Kernels kernels_of_environment();
Context context_for(const CommonArguments& arguments);
ProgressMode progress_mode(const CommonArguments& arguments);

/// A whole number from `least` to `most`. All throw Error(usage) naming the option.
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most);
/// Ascending, each once, strictly between 0 and 1.
std::vector<double> parse_thresholds(const std::string& option, const std::string& text);
Role parse_role(const std::string& option, const std::string& text);
std::vector<Role> parse_roles(const std::string& option, const std::string& text);

}  // namespace attnscope
