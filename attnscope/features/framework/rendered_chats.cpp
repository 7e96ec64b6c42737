#include "attnscope/features/framework/rendered_chats.h"

#include <utility>

#include <fmt/format.h>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {

void check_chat_options(const Arguments& arguments) {
  if (arguments.given("chat")) return;
  for (const char* option : {"chat_template", "no_generation_prompt", "chat_date"}) {
    if (arguments.given(option)) {
      throw Error(ErrorKind::usage, {.parameter = option, .problem = "requires {chat}"});
    }
  }
}

void RenderedChats::add(const std::string& model, std::chrono::year_month_day date,
                        std::vector<RenderedChat> chats) {
  date_ = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  of_model_[model] = std::move(chats);
}

void RenderedChats::describe(ReportHead& head, const Arguments& arguments) const {
  for (Record& model : head.models) {
    const auto found = of_model_.find(expect<std::string>(model, "name"));
    if (found == of_model_.end() || found->second.size() != 1) continue;
    model.add("text", found->second.front().text);
  }
  if (of_model_.empty()) return;
  head.parameters.add("chat_date", date_);
  if (arguments.given("chat_template")) {
    head.parameters.add("chat_template", arguments.text("chat_template"));
  }
  if (arguments.flag("no_generation_prompt")) head.parameters.add("no_generation_prompt", true);
}

std::string RenderedChats::note() const {
  std::vector<std::string> names;
  for (const auto& [model, chats] : of_model_) {
    for (const RenderedChat& chat : chats) {
      if (chat.messages) continue;
      names.push_back(verbatim(model));
      break;
    }
  }
  if (names.empty()) return "";
  return join(names, ", ") +
         ": tokens have no message role, because the chat template changes the messages";
}

void ChatRows::begin(const ReportHead& head) {
  ReportHead described = head;
  chats_.describe(described, arguments_);
  sink_.begin(described);
  if (std::string note = chats_.note(); !note.empty()) sink_.add_note(std::move(note));
}

}  // namespace attnscope
