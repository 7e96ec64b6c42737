// Resources of a run, as requested by its arguments: threads, memory, store, files.
#pragma once

#include <optional>
#include <ostream>
#include <string_view>

#include "attnscope/engine/store/store.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// The context with `threads` and `memory` applied; by default all cores and half of the free
/// memory.
Context context_of(const Arguments& arguments);

/// The session's context, with the file given as `store` as its store, which is created if it does
/// not exist.
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

/// Opens an additional output file that a parameter names. It appears together with the report,
/// atomically; the stream is valid until the command's run() returns. Throws Error(io), also from
/// writes if the disk is full.
std::ostream& open_output(const Arguments& arguments, const Session& session,
                          std::string_view parameter);

}  // namespace attnscope
