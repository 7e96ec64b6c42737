// What a run of a command works with, as its arguments say: threads, memory, a store, files.
#pragma once

#include <optional>
#include <ostream>
#include <string_view>

#include "attnscope/engine/store/store.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

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

}  // namespace attnscope
