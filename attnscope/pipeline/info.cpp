#include "attnscope/pipeline/info.h"

#include <sys/utsname.h>

#include <fstream>
#include <string>

#include "attnscope/numerics/libraries.h"
#include "attnscope/pipeline/context.h"
#include "attnscope/pipeline/free_memory.h"

namespace attnscope {
namespace {

/// The CPU's name where the system tells it, else its kind.
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

/// What runs may count on; half of it is what runs take by themselves.
std::string memory_text() {
  const auto free = free_memory();
  return free ? std::to_string(*free >> 20) + " MiB free" : "unknown";
}

}  // namespace

Record facts_record(const ModelFacts& facts) {
  return {{"name", facts.name},
          {"architecture", facts.architecture},
          {"parameters", facts.parameters},
          {"attention_parameters", facts.attention_parameters},
          {"layers", facts.layers},
          {"heads", facts.heads},
          {"kv_heads", facts.kv_heads},
          {"head_dim", facts.head_dim},
          {"width", facts.width},
          {"mlp_width", facts.mlp_width},
          {"vocabulary", facts.vocabulary},
          {"context", facts.context},
          {"dtype", facts.dtype},
          {"bytes", facts.bytes},
          {"kv_cache_bytes_per_token", facts.kv_cache_bytes_per_token},
          {"tied_embedding", facts.tied_embedding}};
}

void run_info(std::span<const Model> models, RowSink& sink) {
  ReportHead head{.command = "info"};
  std::vector<Inventory> inventories;
  for (const Model& model : models) {
    std::vector<TensorPair> copies = possible_copies(model);
    std::erase_if(copies, [&](const TensorPair& pair) { return !holds_same_bytes(model, pair); });
    inventories.push_back(take_inventory(model, copies));
    head.models.push_back(facts_record(inventories.back().facts));
  }
  sink.begin(head);
  for (const Inventory& inventory : inventories) {
    for (const TensorFacts& tensor : inventory.tensors) {
      sink.add_row({{"model", inventory.facts.name},
                    {"name", tensor.name},
                    {"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"bytes", tensor.bytes},
                    {"role", tensor.role},
                    {"layer", tensor.layer},
                    {"tied_to", tensor.tied_to}});
    }
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
  add("memory", memory_text());
  add("kernels", kernels.available() ? std::string(kernels.instruction_set()) + " (own)"
                                     : "none of its own for this CPU; LAPACK does the work");
  add("blas", blas_description());
  sink.end();
}

}  // namespace attnscope
