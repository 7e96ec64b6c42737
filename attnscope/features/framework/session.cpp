#include "attnscope/features/framework/session.h"

#include "attnscope/base/error.h"
#include "attnscope/engine/system_memory.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

Context context_of(const Arguments& arguments) {
  Context context{.threads = default_threads()};
  if (const auto threads = arguments.integer("threads")) {
    context.threads = static_cast<int>(*threads);
  }
  if (const auto* memory = arguments.find<std::uint64_t>("memory")) {
    context.memory_bytes = *memory;
  } else if (const auto free = available_memory()) {
    context.memory_bytes = *free / 2;
  }
  limit_tokenizer_memory(context.memory_bytes);
  return context;
}

StoringContext::StoringContext(const Arguments& arguments, const Session& session)
    : context_(session.context) {
  if (!arguments.given("store")) return;
  store_.emplace(Store::open(arguments.text("store"), ATTNSCOPE_VERSION));
  context_.store = &*store_;
}

std::ostream& open_output(const Arguments& arguments, const Session& session,
                          std::string_view parameter) {
  if (session.open_file) return session.open_file(arguments.text(parameter));
  throw Error(ErrorKind::unsupported, {.parameter = std::string(parameter),
                                       .problem = "writing files is not supported here"});
}

}  // namespace attnscope
