#include "attnscope/cli/own_commands.h"

#include <fcntl.h>
#include <spawn.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "attnscope/base/error.h"
#include "attnscope/page/template.h"
#include "attnscope/serve/api.h"
#include "attnscope/serve/serve.h"

extern char** environ;

namespace attnscope {
namespace {

using enum ParameterType;

/// Starts the browser without waiting for it to exit.
void open_browser(const std::string& address, const Session& session) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int descriptor : {0, 1, 2}) {
    posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  }
  std::string program = "xdg-open", argument = address;
  const std::array<char*, 3> words = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  const int error = posix_spawnp(&process, program.c_str(), &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0 || !session.on_note) return;
  session.on_note(std::string("could not open a browser: xdg-open: ") +
                  verbatim(std::strerror(error)));
}

/// Prints the address immediately, bypassing the output that appears only when a command has
/// finished: whoever started the server needs it at once.
void serve_models(const Arguments& arguments, const Session& session, std::ostream& out) {
  if (arguments.flag("openapi")) {
    out << openapi_text();
    return;
  }
  if (page_template().empty() && session.on_note) {
    session.on_note(
        "this build has no page because it was built without Node. Only the API is served");
  }
  serve(arguments, session, [&](const std::string& address) {
    std::printf("%s\n", address.c_str());
    std::fflush(stdout);
    if (arguments.flag("open")) open_browser(address, session);
  });
}

Parameters own_parameters() {
  return {{.name = "open", .type = flag, .help = "open the page in a browser"},
          {.name = "store",
           .type = file,
           .group = OptionGroup::output,
           .help = "cache results in this SQLite file and show cached results immediately",
           .metavariable = "FILE",
           .use = FileUse::store,
           .endings = store_endings()},
          {.name = "quiet",
           .type = flag,
           .group = OptionGroup::output,
           .help = "suppress warnings and notes"},
          {.name = "openapi",
           .type = flag,
           .group = OptionGroup::mode,
           .help = "print the OpenAPI description of the API"}};
}

Parameters all_parameters() {
  Parameters models = model_parameters(), runs = run_parameters();
  models.front().not_needed_with = "openapi";
  std::erase_if(runs, [](const Parameter& parameter) { return parameter.name == "progress"; });
  return joined({models, serve_parameters(), own_parameters(), runs});
}

}  // namespace

Command serve_command() {
  return {.name = "serve",
          .summary = "Serve a live report in the browser",
          .examples = {{{"models", "examples/shakespeare-gpt2"}, {"open", ""}},
                       {{"models", "MODEL"}, {"store", "rows.sqlite"}, {"port", "0"}},
                       {{"openapi", ""}}},
          .parameters = all_parameters(),
          .write = serve_models};
}

}  // namespace attnscope
