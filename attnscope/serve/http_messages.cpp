#include "attnscope/serve/http_messages.h"

#include "attnscope/rows/json.h"

namespace attnscope {

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpAnswer json_answer(const Record& record, int status) {
  return {.status = status, .body = json_text(record) + "\n"};
}

HttpAnswer refusal(int status, std::string_view kind, std::string_view message) {
  return json_answer({{"error", Record{{"kind", kind}, {"message", message}}}}, status);
}

Record error_record(const Error& error) {
  const ErrorParts& parts = error.parts();
  const auto bare = [](std::string_view name) { return std::string(name); };
  Record record = {{"kind", kErrorKinds[static_cast<std::size_t>(error.kind())].name},
                   {"message", error.what()}};
  if (!parts.parameter.empty()) record.add("parameter", parts.parameter);
  if (!parts.hint.empty()) record.add("hint", spell_parameters(parts.hint, bare));
  return record;
}

HttpAnswer error_answer(const Error& error) {
  int status = 500;
  switch (error.kind()) {
    case ErrorKind::usage:
    case ErrorKind::format: status = 400; break;
    case ErrorKind::unsupported:
    case ErrorKind::numerical: status = 422; break;
    case ErrorKind::io: break;
  }
  return json_answer({{"error", error_record(error)}}, status);
}

BodyParts shared_body(std::shared_ptr<const std::string> bytes) {
  const std::uint64_t length = bytes->size();
  return {length, [bytes = std::move(bytes)](std::uint64_t offset, std::size_t part) {
            return bytes->substr(offset, part);
          }};
}

}  // namespace attnscope
