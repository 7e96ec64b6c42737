#include "attnscope/inputs/text/chat_template.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <utility>

#include <nlohmann/json.hpp>

#include "attnscope/base/crate_bytes.h"
#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/inputs/text/rust_chat.h"
#include "attnscope/inputs/text/tokenizer_files.h"

namespace attnscope {
namespace {

using OrderedJson = nlohmann::ordered_json;  // templates print objects in the order of the file

constexpr std::uint64_t kTemplateLimitBytes = 1'000'000;
constexpr std::size_t kMaxChats = 100'000;

/// Names of a message's reasoning, which templates read; the first is the standard one.
constexpr std::array kReasoningKeys = {"reasoning_content", "thinking", "reasoning"};

[[noreturn]] void refuse_chat(const std::string& file, const std::string& problem,
                              const std::string& hint = "") {
  throw Error(ErrorKind::format, {.file = file, .problem = verbatim(problem), .hint = hint});
}

OrderedJson normalized_message(const OrderedJson& message, const std::string& file) {
  if (!message.is_object()) refuse_chat(file, "a message is not a JSON object");
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string()) {
    refuse_chat(file, "a message has no 'role'",
                R"(expected {"role": "user", "content": "a text"})");
  }
  OrderedJson out = OrderedJson::object();
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) out[key] = value;
  }
  for (const char* key : kReasoningKeys) {
    const auto found = out.find(key);
    if (found == out.end()) continue;
    const OrderedJson reasoning = *found;
    if (!out.contains("thinking")) out["thinking"] = reasoning;
    out["reasoning_content"] = reasoning;
    break;
  }
  return out;
}

/// The messages of a chat that is a list, or the members of a chat that is an object.
Chat normalized_chat(const OrderedJson& chat, const std::string& file) {
  OrderedJson out = OrderedJson::object();
  const OrderedJson* messages = &chat;
  out["tools"] = nullptr;
  out["documents"] = nullptr;
  if (chat.is_object()) {
    for (const auto& [key, value] : chat.items()) {
      if (key == "tools" || key == "documents") {
        if (!value.is_array() && !value.is_null()) refuse_chat(file, "'" + key + "' is not a list");
        out[key] = value;
      } else if (key == "chat_template_kwargs") {
        if (!value.is_object()) refuse_chat(file, "'" + key + "' is not an object");
      } else if (key != "messages") {
        refuse_chat(file, "unknown key '" + key + "'",
                    "expected messages, tools, documents and chat_template_kwargs");
      }
    }
    if (!chat.contains("messages")) refuse_chat(file, "missing 'messages'");
    messages = &chat["messages"];
  }
  if (!messages->is_array() || messages->empty()) refuse_chat(file, "has no list of messages");
  OrderedJson& list = out["messages"] = OrderedJson::array();
  for (const OrderedJson& message : *messages) list.push_back(normalized_message(message, file));
  if (chat.is_object() && chat.contains("chat_template_kwargs")) {
    for (const auto& [key, value] : chat["chat_template_kwargs"].items()) out[key] = value;
  }
  return {.json = out.dump(), .has_tools = !out["tools"].is_null()};
}

}  // namespace

std::vector<Chat> parse_chats(std::string_view text, const std::string& file) {
  parse_json(text, file);  // refuses invalid, duplicate and deeply nested members
  const OrderedJson parsed = OrderedJson::parse(text);
  std::vector<Chat> out;
  // A list of messages is one chat; a list of lists, or of objects with messages, are several.
  const bool several = parsed.is_array() && !parsed.empty() &&
                       (parsed.front().is_array() || parsed.front().contains("messages"));
  if (!several) return {normalized_chat(parsed, file)};
  if (parsed.size() > kMaxChats) refuse_chat(file, "has more than 100000 chats");
  for (const OrderedJson& chat : parsed) out.push_back(normalized_chat(chat, file));
  return out;
}

namespace {

/// The templates of a file, by name.
std::vector<std::pair<std::string, std::string>> named_templates(const CheckpointFolder& folder,
                                                                 const std::string& name) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!folder.has(name)) return out;
  constexpr std::uint64_t kConfigLimitBytes = 20'000'000;
  const std::string file = folder.place_of(name);
  const nlohmann::json config = parse_python_json(folder.read_text(name, kConfigLimitBytes), file);
  const auto found = config.is_object() ? config.find("chat_template") : config.end();
  if (found == config.end() || found->is_null()) return out;
  if (found->is_string()) return {{"default", found->get<std::string>()}};
  const auto refuse = [&] {
    throw Error(ErrorKind::format,
                {.file = file, .problem = "'chat_template' is neither a text nor named texts"});
  };
  if (!found->is_array()) refuse();
  for (const nlohmann::json& named : *found) {
    if (!named.is_object() || !named.contains("name") || !named["name"].is_string() ||
        !named.contains("template") || !named["template"].is_string()) {
      refuse();
    }
    out.emplace_back(named["name"].get<std::string>(), named["template"].get<std::string>());
  }
  return out;
}

}  // namespace

ChatTemplate find_chat_template(const CheckpointFolder& folder, std::string_view name,
                                bool with_tools) {
  constexpr const char* kFile = "chat_template.jinja";
  std::vector<std::pair<std::string, std::string>> found;
  std::string file = folder.place_of(kFile);
  if (folder.has(kFile)) {
    found.emplace_back("default", folder.read_text(kFile, kTemplateLimitBytes));
  }
  for (const char* config : {"tokenizer_config.json", "chat_template.json"}) {
    if (!found.empty()) break;
    found = named_templates(folder, config);
    file = folder.place_of(config);
  }
  if (found.empty()) {
    throw Error(ErrorKind::usage,
                {.file = folder.path().string(),
                 .problem = "has no chat template: no chat_template.jinja, and no 'chat_template' "
                            "in tokenizer_config.json",
                 .hint = "pass the whole text with {text}"});
  }
  std::vector<std::string> wanted = {std::string(name)};
  if (name.empty())
    wanted = with_tools ? std::vector<std::string>{"tool_use", "default"}
                        : std::vector<std::string>{"default"};
  for (const std::string& one : wanted) {
    for (auto& [own, text] : found) {
      if (own == one) return {.text = std::move(text), .file = std::move(file)};
    }
  }
  std::vector<std::string> names;
  for (const auto& [own, text] : found) names.push_back(verbatim(own));
  throw Error(ErrorKind::usage,
              {.parameter = "chat_template",
               .problem = "no template '" + verbatim(wanted.back()) + "' in " + verbatim(file),
               .hint = "it has " + join(names, ", ")});
}

namespace {

/// Writes a date as Python's strftime() does, including "%-d", which std::put_time() lacks.
std::size_t write_date(const void* context, const std::uint8_t* format, std::size_t size,
                       std::uint8_t* out, std::size_t room) {
  const auto& date = *static_cast<const std::chrono::year_month_day*>(context);
  const std::chrono::sys_days day = date;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(day);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return 0;
  const std::string text(reinterpret_cast<const char*>(format), size);
  return std::strftime(reinterpret_cast<char*>(out), room, text.c_str(), &parts);
}

std::string rendered(const ChatTemplate& with, const OrderedJson& variables,
                     const ChatSettings& settings) {
  const std::string json = variables.dump();
  const chat_clock clock{.write = write_date, .context = &settings.date};
  CrateBytes bytes;
  const int status = chat_render(bytes_of(with.text), with.text.size(), bytes_of(json), json.size(),
                                 &clock, bytes.out());
  std::string text = bytes.text();
  if (status == chat_ok) return text;
  if (status == chat_absent) {
    throw Error(ErrorKind::unsupported,
                {.file = with.file,
                 .problem = "this build of attnscope renders no chat templates",
                 .hint = "rebuild with cargo installed"});
  }
  throw Error(ErrorKind::format,
              {.file = with.file, .place = "chat template", .problem = verbatim(text)});
}

// Marks the contents of messages by characters of a private-use plane, one before and one after.

constexpr char32_t kFirstMark = 0xF0000, kLastMark = 0xFFFFD;
constexpr std::string_view kMarkBegin = "\xF3";  // the first byte of all marks in UTF-8
constexpr std::size_t kMarkBytes = 4;

std::string mark(std::size_t index) {
  const auto code = static_cast<std::uint32_t>(kFirstMark + index);
  const auto low = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  return {static_cast<char>(0xF0 | (code >> 18)), low(12), low(6), low(0)};
}

/// Puts marks around all contents, with or without the white space at their ends.
class Marker {
 public:
  explicit Marker(bool inside) : inside_(inside) {}

  /// Returns false if there are more contents than marks.
  bool mark_messages(OrderedJson& messages) {
    for (OrderedJson& message : messages) {
      const std::string role = message["role"].get<std::string>();
      mark_content(message, "content", role);
      for (const char* key : kReasoningKeys) mark_content(message, key, role);
    }
    return roles_.size() < (kLastMark - kFirstMark) / 2;
  }

  /// Removes the marks. Returns nothing if they are not in pairs.
  std::optional<RenderedChat> unmarked(const std::string& text) const {
    RenderedChat out{.text = {}, .messages = std::vector<MessageSpan>()};
    constexpr std::size_t kNone = SIZE_MAX;
    std::size_t open = kNone;
    for (std::size_t at = 0; at < text.size();) {
      if (text.compare(at, 1, kMarkBegin) != 0) {
        out.text += text[at++];
        continue;
      }
      const std::size_t index = index_of(std::string_view(text).substr(at, kMarkBytes));
      at += kMarkBytes;
      if (index / 2 >= roles_.size()) return std::nullopt;  // a character of the template
      if (index % 2 == 0 && open == kNone) {
        open = index;
        out.messages->push_back({.begin = out.text.size(), .end = 0, .role = roles_[index / 2]});
      } else if (open != kNone && index == open + 1) {
        open = kNone;
        out.messages->back().end = out.text.size();
      } else {
        return std::nullopt;
      }
    }
    return open == kNone ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  /// Marks a text, or each text of a list of parts.
  void mark_content(OrderedJson& message, const char* key, const std::string& role) {
    const auto found = message.find(key);
    if (found == message.end()) return;
    if (found->is_string()) mark_text(*found, role);
    if (!found->is_array()) return;
    for (OrderedJson& part : *found) {
      const auto text = part.is_object() ? part.find("text") : part.end();
      if (text != part.end() && text->is_string()) mark_text(*text, role);
    }
  }

  void mark_text(OrderedJson& value, const std::string& role) {
    std::string text = value.get<std::string>();
    constexpr const char* kSpace = " \t\r\n\v\f";
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string::npos) return;
    const std::size_t begin = inside_ ? first : 0;
    const std::size_t end = inside_ ? text.find_last_not_of(kSpace) + 1 : text.size();
    text.insert(end, mark(2 * roles_.size() + 1));
    text.insert(begin, mark(2 * roles_.size()));
    roles_.push_back(role);
    value = std::move(text);
  }

  static std::size_t index_of(std::string_view bytes) {
    std::uint32_t code = 0x3;
    for (const char byte : bytes.substr(1)) {
      code = (code << 6) | (static_cast<std::uint8_t>(byte) & 0x3F);
    }
    return code - kFirstMark;
  }

  bool inside_;
  std::vector<std::string> roles_;  // of each marked content
};

/// Finds the messages in a rendered chat: renders it again with marks around their contents. The
/// places are known only if the text is the same without the marks.
std::optional<std::vector<MessageSpan>> find_messages(const std::string& text,
                                                      const ChatTemplate& with,
                                                      const OrderedJson& variables,
                                                      const ChatSettings& settings) {
  if (text.find(kMarkBegin) != std::string::npos ||
      variables.dump().find(kMarkBegin) != std::string::npos) {
    return std::nullopt;  // they would be confused with marks
  }
  for (const bool inside : {false, true}) {
    OrderedJson marked = variables;
    Marker marker(inside);
    if (!marker.mark_messages(marked["messages"])) return std::nullopt;
    try {
      auto found = marker.unmarked(rendered(with, marked, settings));
      if (found && found->text == text) return std::move(found->messages);
    } catch (const Error&) {  // the template checks its contents
    }
  }
  return std::nullopt;
}

}  // namespace

RenderedChat render_chat(const Chat& chat, const ChatTemplate& with, const CheckpointFolder& folder,
                         const Tokenizer& tokenizer, const ChatSettings& settings) {
  const TokenizerConfig config = read_tokenizer_config(folder, /*of_vocabulary=*/false);
  const OrderedJson given = OrderedJson::parse(chat.json);
  OrderedJson variables = OrderedJson::object();
  for (const auto& [name, spelling] : config.special) variables[name] = spelling;
  if (config.special.empty()) {  // a GGUF file has ids of special tokens
    const SpecialTokens& special = tokenizer.special_tokens();
    for (const auto& [name, id] :
         {std::pair("bos_token", special.begin), std::pair("eos_token", special.end)}) {
      if (id) variables[name] = tokenizer.spelling(*id).value_or("");
    }
  }
  variables["add_generation_prompt"] = settings.generation_prompt;
  for (const auto& [key, value] : given.items()) variables[key] = value;
  RenderedChat out{.text = rendered(with, variables, settings), .messages = {}};
  if (out.text.empty()) {
    throw Error(ErrorKind::format,
                {.file = with.file, .place = "chat template", .problem = "renders an empty text"});
  }
  out.messages = find_messages(out.text, with, variables, settings);
  return out;
}

TokenIds encode_chat(const RenderedChat& chat, const Tokenizer& tokenizer) {
  const EncodedText encoded = tokenizer.encode_with_offsets(chat.text);
  TokenIds out(encoded.ids);
  if (!chat.messages) {
    out.roles.resize(out.size());
    return out;
  }
  std::size_t previous_end = 0;
  auto message = chat.messages->begin();
  for (const TextRange& range : encoded.offsets) {
    // Some tokenizers leave the white space before a token out of its range.
    const std::size_t first = std::min(previous_end, range.begin);
    previous_end = std::max(previous_end, range.end);
    while (message != chat.messages->end() && message->end <= first) ++message;
    const bool inside = message != chat.messages->end() && message->begin <= first;
    out.roles.push_back(inside ? message->role : "template");
  }
  return out;
}

}  // namespace attnscope
