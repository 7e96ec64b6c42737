#include "attnscope/features/info/run.h"

#include <sys/utsname.h>

#include <fstream>
#include <map>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/system_memory.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope {
namespace {

/// The CPU's name if the system provides it, else its architecture.
std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system;
  return uname(&system) == 0 ? system.machine : "unknown";
}

std::string operating_system() {
  utsname system;
  if (uname(&system) != 0) return "unknown";
  return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

/// The memory available to runs; by default they use half of it.
std::string available_memory_text() {
  const auto free = available_memory();
  return free ? std::to_string(*free >> 20) + " MiB free" : "unknown";
}

std::string layers_text(const std::vector<std::int64_t>& layers) {
  std::vector<std::string> numbers;
  for (const std::int64_t layer : layers) numbers.push_back(std::to_string(layer));
  return (layers.size() == 1 ? "layer " : "layers ") + join(numbers);
}

/// Notes on layers that reuse keys and values of other layers, and on layers whose heads or MLP
/// differ in shape from the model metadata.
std::vector<std::string> notes_of_shapes(const ModelSpec& spec) {
  std::map<std::int64_t, std::vector<std::int64_t>> takers;
  std::map<std::string, std::vector<std::int64_t>> shaped;
  const HeadShape& usual = spec.dimensions.heads;
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    if (const auto from = spec.sharing_of(layer).from) takers[*from].push_back(layer);
    const Dimensions& own = spec.dimensions_of(layer);
    if (own.width != spec.dimensions.width) {
      shaped["hidden size " + std::to_string(own.width) + ", " + counted(own.heads.heads, "head") +
             ", an MLP with intermediate size " + std::to_string(own.mlp_width)]
          .push_back(layer);
      continue;
    }
    if (own.heads.head_dim != usual.head_dim || own.heads.kv_heads != usual.kv_heads) {
      shaped[counted(own.heads.kv_heads, "key/value head") + ", heads of " +
             counted(own.heads.head_dim, "dimension")]
          .push_back(layer);
    }
    if (own.mlp_width != spec.dimensions.mlp_width) {
      shaped["an MLP with intermediate size " + std::to_string(own.mlp_width)].push_back(layer);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [shape, layers] : shaped) {
    notes.push_back(layers_text(layers) + (layers.size() == 1 ? " has " : " have ") + shape);
  }
  for (const auto& [from, layers] : takers) {
    notes.push_back(layers_text(layers) + (layers.size() == 1 ? " reuses the" : " reuse the") +
                    " keys and values of layer " + std::to_string(from));
  }
  return notes;
}

/// For each model, the tensors that duplicate others byte for byte.
std::vector<std::vector<TensorPair>> copies_of(std::span<const Model> models,
                                               const Context& context) {
  struct Comparison {
    std::size_t model;
    TensorPair pair;
    bool same = false;
  };
  std::vector<Comparison> comparisons;
  for (std::size_t index = 0; index < models.size(); ++index) {
    for (const TensorPair& pair : possible_copies(models[index])) {
      comparisons.push_back({index, pair});
    }
  }
  std::vector<QueueItem> items;
  for (Comparison& comparison : comparisons) {
    items.push_back(
        {.bytes = 2 * comparison.pair.copy->view.bytes.size(), .run = [&](const Compute&) {
           comparison.same = has_same_bytes(models[comparison.model], comparison.pair);
         }});
  }
  run_queue(items, context, {}, {"tensor", "tensors"});
  std::vector<std::vector<TensorPair>> copies(models.size());
  for (const Comparison& comparison : comparisons) {
    if (comparison.same) copies[comparison.model].push_back(comparison.pair);
  }
  return copies;
}

}  // namespace

void run_info(std::span<const Model> models, const Context& context, RowSink& sink,
              std::span<const std::string> notes) {
  const auto copies = copies_of(models, context);
  ReportHead head{.command = "info"};
  std::vector<Inventory> inventories;
  for (std::size_t index = 0; index < models.size(); ++index) {
    inventories.push_back(take_inventory(models[index], copies[index]));
    head.models.push_back(facts_record(inventories.back().summary));
  }
  sink.begin(head);
  for (const std::string& note : notes) sink.add_note(note);
  for (const Model& model : models) {
    for (const std::string& note : notes_of_shapes(model.spec())) {
      sink.add_note(model.name() + ": " + note);
    }
  }
  for (const Inventory& inventory : inventories) {
    for (const TensorSummary& tensor : inventory.tensors) {
      Record row = {{"model", inventory.summary.name}, {"name", tensor.name},
                    {"dtype", tensor.dtype},           {"shape", tensor.shape},
                    {"bytes", tensor.bytes},           {"role", tensor.role},
                    {"layer", tensor.layer},           {"tied_to", tensor.tied_to}};
      if (tensor.expert) row.add("expert", *tensor.expert);
      sink.add_row(std::move(row));
    }
  }
  sink.end();
}

void run_tensor_list(const UndescribedCheckpoint& of, std::span<const std::string> notes,
                     RowSink& sink) {
  sink.begin(
      {.command = "info", .models = {{{"name", of.name}, {"bytes", of.checkpoint.file_bytes()}}}});
  for (const std::string& note : notes) sink.add_note(note);
  for (const CheckpointTensor& tensor : of.checkpoint.tensors()) {
    sink.add_row({{"model", of.name},
                  {"name", tensor.name},
                  {"dtype", dtype_info(tensor.view.dtype).name},
                  {"shape", tensor.view.shape},
                  {"bytes", stored_bytes(tensor.view)},
                  {"role", "other"},
                  {"layer", Value()},
                  {"tied_to", Value()}});
  }
  sink.end();
}

void run_system_info(std::string_view version, const Kernels& kernels, RowSink& sink) {
  sink.begin({.command = "info", .parameters = {{"system", true}}});
  const auto add = [&](const char* item, std::string value) {
    sink.add_row({{"item", item}, {"value", std::move(value)}});
  };
  add("attnscope", std::string(version));
  add("system", operating_system());
  add("cpu", cpu_name());
  add("cores", std::to_string(default_threads()));
  add("memory", available_memory_text());
  add("kernels", kernels.available() ? std::string(kernels.instruction_set()) + " (attnscope)"
                                     : "none for this CPU; LAPACK is used instead");
  add("blas", blas_description());
  sink.end();
}

}  // namespace attnscope
