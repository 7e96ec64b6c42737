// Chats: lists of messages, and the templates that turn them into text as transformers'
// `apply_chat_template` does.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// The limit for a file of chats.
inline constexpr std::uint64_t kChatLimitBytes = 50'000'000;

/// A chat, checked and normalized as transformers does: messages have no null values, and reasoning
/// is under all of its names.
struct Chat {
  std::string json;  // an object: "messages", and "tools", "documents" and template variables
  bool has_tools = false;
};

/// Reads one chat, or a list of chats. A chat is a list of messages, or an object with "messages",
/// and optionally "tools", "documents" and "chat_template_kwargs". Each message has a "role", and
/// usually a "content". Throws Error(format) that names `file`.
std::vector<Chat> parse_chats(std::string_view text, const std::string& file);

struct ChatTemplate {
  std::string text;  // Jinja
  std::string file;  // for messages
};

/// The template of a checkpoint: chat_template.jinja, else `chat_template` of
/// tokenizer_config.json or of chat_template.json. `name`: if there are several; empty: "tool_use"
/// with tools, else "default". Throws Error(usage) if there is none, or none of that name.
ChatTemplate find_chat_template(const CheckpointFolder& folder, std::string_view name,
                                bool with_tools);

/// Bytes of a rendered chat that come from a message.
struct MessageSpan {
  std::size_t begin = 0, end = 0;
  std::string role;
};

struct RenderedChat {
  std::string text;
  /// Ascending; all other bytes belong to the template. Empty if the template changes messages, so
  /// that their places are unknown.
  std::optional<std::vector<MessageSpan>> messages;
};

struct ChatSettings {
  bool generation_prompt = true;       // whether the text ends with the start of an answer
  std::chrono::year_month_day date{};  // of the template's `strftime_now`, at midnight
};

/// Renders a chat with the special tokens of the tokenizer. Throws Error(format) if the template
/// fails or refuses the chat, and Error(unsupported) in a build without templates.
RenderedChat render_chat(const Chat& chat, const ChatTemplate& with, const CheckpointFolder& folder,
                         const Tokenizer& tokenizer, const ChatSettings& settings);

/// The tokens of a rendered chat, without added special tokens: the template writes its own. Each
/// token has the role of the message in which its first byte lies, or "template"; an empty role if
/// it is unknown.
TokenIds encode_chat(const RenderedChat& chat, const Tokenizer& tokenizer);

}  // namespace attnscope
