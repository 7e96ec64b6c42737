// What a command is, and the list of them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace attnscope {

/// Declares the command's options; what it returns runs after they are parsed and gives the exit
/// code.
using SetUpCommand = std::function<int()> (*)(CLI::App&);

struct Command {
  const char* name;
  const char* summary;
  const char* examples;
  SetUpCommand set_up;
};

std::function<int()> set_up_circuits(CLI::App& app);
std::function<int()> set_up_completion(CLI::App& app);
std::function<int()> set_up_explain(CLI::App& app);
std::function<int()> set_up_export(CLI::App& app);
std::function<int()> set_up_info(CLI::App& app);
std::function<int()> set_up_matrix(CLI::App& app);
std::function<int()> set_up_similarity(CLI::App& app);
std::function<int()> set_up_spectrum(CLI::App& app);
std::function<int()> set_up_weights(CLI::App& app);

}  // namespace attnscope
