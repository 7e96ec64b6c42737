#include "attnscope/core/error.h"

#include "attnscope/core/text.h"

namespace attnscope {

Error::Error(ErrorKind kind, std::string_view where, std::string_view problem)
    : std::runtime_error(printable(where) + ": " + printable(problem)), kind_(kind) {}

}  // namespace attnscope
