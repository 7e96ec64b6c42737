#include "attnscope/core/error.h"

#include "attnscope/core/text.h"

namespace attnscope {

namespace {

/// Names from files can be megabytes long; a message is a line that somebody reads.
std::string short_line(std::string_view text) {
  constexpr std::size_t kMost = 1000;
  if (text.size() <= kMost) return printable(text);
  return printable(text.substr(0, kMost / 2)) + " ... " +
         printable(text.substr(text.size() - kMost / 2));
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view where, std::string_view problem)
    : std::runtime_error(short_line(where) + ": " + short_line(problem)), kind_(kind) {}

}  // namespace attnscope
