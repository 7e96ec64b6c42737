#include "attnscope/features/common/options/chat_options.h"

#include <charconv>
#include <chrono>
#include <ctime>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/framework/rendered_chats.h"
#include "attnscope/inputs/text/chat_template.h"

namespace attnscope {
namespace {

using enum ParameterType;

std::chrono::year_month_day today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return {std::chrono::year(parts.tm_year + 1900),
          std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)),
          std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
}

/// The date of `chat_date`, such as 2026-07-26; by default today.
std::chrono::year_month_day date_of(const Arguments& arguments) {
  if (!arguments.given("chat_date")) return today();
  const std::string text = arguments.text("chat_date");
  int year = 0;
  unsigned month = 0, day = 0;
  const auto number = [&](std::size_t at, std::size_t count, auto& out) {
    const char* end = text.data() + at + count;
    const auto [stop, error] = std::from_chars(text.data() + at, end, out);
    return error == std::errc() && stop == end;
  };
  const bool parsed = text.size() == 10 && text[4] == '-' && text[7] == '-' && number(0, 4, year) &&
                      number(5, 2, month) && number(8, 2, day);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (parsed && date.ok() && year >= 1) return date;
  throw Error(ErrorKind::usage, {.parameter = "chat_date",
                                 .problem = "'" + verbatim(text) + "' is not a date",
                                 .hint = "for example: 2026-07-26"});
}

}  // namespace

Parameters chat_parameters() {
  return {{.name = "chat",
           .type = file,
           .group = OptionGroup::input,
           .help = "input chat: a JSON file with the messages that apply_chat_template of "
                   "transformers takes, rendered by the model's chat template",
           .metavariable = "FILE"},
          {.name = "chat_template",
           .type = text,
           .group = OptionGroup::input,
           .help = "name of the chat template, if the model has several",
           .metavariable = "NAME",
           .default_words = "tool_use for a chat with tools if there is one, else default"},
          {.name = "no_generation_prompt",
           .type = flag,
           .group = OptionGroup::input,
           .help = "do not end the chat with the start of an answer"},
          {.name = "chat_date",
           .type = text,
           .group = OptionGroup::input,
           .help = "date for templates that print the date",
           .metavariable = "YYYY-MM-DD",
           .default_words = "today"}};
}

std::vector<TokenIds> encoded_chats(const Arguments& arguments, const Session& session,
                                    const Model& model, const Tokenizer& tokenizer) {
  const std::string file = arguments.text("chat");
  const ChatSettings settings{.generation_prompt = !arguments.flag("no_generation_prompt"),
                              .date = date_of(arguments)};
  const CheckpointFolder& folder = model.checkpoint().folder();
  const std::string name = arguments.text("chat_template");
  std::vector<TokenIds> out;
  std::vector<RenderedChat> chats;
  for (const Chat& chat : parse_chats(session.files->read_text(file, kChatLimitBytes), file)) {
    const ChatTemplate with = find_chat_template(folder, name, chat.has_tools);
    chats.push_back(render_chat(chat, with, folder, tokenizer, settings));
    out.push_back(encode_chat(chats.back(), tokenizer));
    if (out.back().empty()) {
      throw Error(ErrorKind::format, {.file = file, .problem = "renders a text without tokens"});
    }
  }
  if (session.chats) session.chats->add(model.name(), settings.date, std::move(chats));
  return out;
}

}  // namespace attnscope
