#include "attnscope/inputs/text/chat_template.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/json.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

const ChatSettings kSettings{.generation_prompt = true, .date = 2026y / 7 / 6};

const Tokenizer& gpt2() {
  static const Tokenizer tokenizer = Tokenizer::open(
      std::filesystem::path(test::source_path("tests/inputs/text/tokenizers/gpt2")));
  return tokenizer;
}

std::string text_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder with a tokenizer_config.json.
void write_config(const test::TempFolder& folder, const json& config) {
  folder.write("tokenizer_config.json", config.dump());
}

RenderedChat rendered(const std::string& chat, const std::string& text_of_template,
                      const ChatSettings& settings = kSettings, const json& special = {}) {
  const test::TempFolder folder;
  json config = special.is_null() ? json::object() : special;
  config["chat_template"] = text_of_template;
  write_config(folder, config);
  const CheckpointFolder files(folder.path());
  const Chat parsed = parse_chats(chat, "chat.json").at(0);
  return render_chat(parsed, find_chat_template(files, "", parsed.has_tools), files, gpt2(),
                     settings);
}

TEST(ChatTemplate, RendersAsTransformersDoes) {
  // In the order of the file, because templates print objects.
  const auto data = nlohmann::ordered_json::parse(text_of(test::data_path("chats.json")));
  int compared = 0;
  for (const auto& one : data["cases"]) {
    SCOPED_TRACE(one["template"].get<std::string>() + ", " + one["chat"].get<std::string>());
    nlohmann::ordered_json chat = {{"messages", data["chats"][one["chat"].get<std::string>()]}};
    if (one["tools"].get<bool>()) chat["tools"] = data["tools"];
    const ChatSettings settings{.generation_prompt = one["prompt"].get<bool>(),
                                .date = 2026y / 7 / 6};
    std::optional<std::string> text;
    try {
      text = rendered(chat.dump(),
                      data["templates"][one["template"].get<std::string>()].get<std::string>(),
                      settings, json::parse(data["special"].dump()))
                 .text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
    }
    EXPECT_EQ(text.has_value(), !one["text"].is_null());
    if (text && !one["text"].is_null()) {
      EXPECT_EQ(*text, one["text"].get<std::string>());
    }
    ++compared;
  }
  EXPECT_GE(compared, 80);
}

/// "user: Hi", for each message found in the text.
std::vector<std::string> messages_of(const RenderedChat& chat) {
  std::vector<std::string> out;
  for (const MessageSpan& span : chat.messages.value()) {
    out.push_back(span.role + ": " + chat.text.substr(span.begin, span.end - span.begin));
  }
  return out;
}

constexpr const char* kTurns =
    R"([{"role": "system", "content": " Be kind.\n"}, {"role": "user", "content": "One"},
        {"role": "assistant", "content": "One"}])";
constexpr const char* kPlain =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}One";
constexpr const char* kTrimmed =
    "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}";

TEST(ChatTemplate, FindsMessagesByRenderingAgain) {
  using Texts = std::vector<std::string>;
  // Equal texts at other places are not confused.
  EXPECT_EQ(messages_of(rendered(kTurns, kPlain)),
            (Texts{"system:  Be kind.\n", "user: One", "assistant: One"}));
  EXPECT_EQ(messages_of(rendered(kTurns, kTrimmed)),
            (Texts{"system: Be kind.", "user: One", "assistant: One"}));
  // A message that the template leaves out.
  EXPECT_EQ(messages_of(rendered(kTurns, "{{ messages[1].content }}!")), (Texts{"user: One"}));
  // Parts of a message, and its reasoning.
  EXPECT_EQ(messages_of(rendered(
                R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text",
                    "text": "b"}], "reasoning": "c"}])",
                "{% for p in messages[0].content %}{{ p.text }},{% endfor %}"
                "{{ messages[0].reasoning_content }}")),
            (Texts{"user: a", "user: b", "user: c"}));
}

TEST(ChatTemplate, DoesNotGuessWhereMessagesAre) {
  for (const char* changes :
       {"{{ messages[1].content[0] }}{{ messages[1].content }}",        // a part of a message
        "{{ messages[1].content | length }}{{ messages[1].content }}",  // depends on the marks
        "{{ messages[0].content.split('.')[0] }} {{ messages[1].content }}"}) {
    const RenderedChat chat = rendered(kTurns, changes);
    EXPECT_FALSE(chat.messages) << changes;
    EXPECT_FALSE(chat.text.empty());
  }
  // A template that writes characters that are used as marks, but only next to marks.
  EXPECT_FALSE(rendered(R"([{"role": "user", "content": "a"}])",
                        "{{ messages[0].content }}{% if messages[0].content != 'a' %}"
                        "\xF3\xBF\x80\x80\xF3\x80\x80\x80{% endif %}")
                   .messages);
  // A character that is used as a mark.
  EXPECT_FALSE(rendered("[{\"role\": \"user\", \"content\": \"a\xF3\xB0\x80\x80\"}]",
                        "{{ messages[0].content }}")
                   .messages);
}

TEST(ChatTemplate, GivesTokensTheRoleOfTheirFirstByte) {
  const RenderedChat chat = rendered(R"([{"role": "user", "content": "Who is the king"}])",
                                     "<<{{ messages[0].content }}>> user");
  const TokenIds tokens = encode_chat(chat, gpt2());
  EXPECT_EQ(std::vector<std::int64_t>(tokens), gpt2().encode(chat.text, /*special=*/false));
  ASSERT_EQ(tokens.roles.size(), tokens.size());
  std::string users;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (tokens.roles[at] == "user")
      users += gpt2().bytes(tokens[at]).value();
    else
      EXPECT_EQ(tokens.roles[at], "template");
  }
  EXPECT_EQ(users, "Who is the king");
}

TEST(ChatTemplate, IsFoundInTheFilesThatTransformersReads) {
  const test::TempFolder folder;
  const CheckpointFolder files(folder.path());
  EXPECT_ERROR_SAYING(ErrorKind::usage, find_chat_template(files, "", false),
                      "has no chat template");
  write_config(folder, {{"chat_template",
                         {{{"name", "default"}, {"template", "plain"}},
                          {{"name", "tool_use"}, {"template", "with tools"}},
                          {{"name", "rag"}, {"template", "documents"}}}}});
  EXPECT_EQ(find_chat_template(files, "", false).text, "plain");
  EXPECT_EQ(find_chat_template(files, "", true).text, "with tools");
  EXPECT_EQ(find_chat_template(files, "rag", true).text, "documents");
  EXPECT_ERROR_SAYING(ErrorKind::usage, find_chat_template(files, "other", false),
                      "it has default, tool_use, rag");
  folder.write("chat_template.jinja", "own file");
  EXPECT_EQ(find_chat_template(files, "", true).text, "own file");
}

struct BadChat {
  const char* json;
  const char* problem;
};

TEST(ChatTemplate, RefusesChatsThatItDoesNotUnderstand) {
  for (const BadChat& bad : {
           BadChat{"[]", "has no list of messages"},
           BadChat{"{}", "missing 'messages'"},
           BadChat{"3", "has no list of messages"},
           BadChat{"[1]", "a message is not a JSON object"},
           BadChat{R"([{"content": "a"}])", "a message has no 'role'"},
           BadChat{R"([{"role": 3}])", "a message has no 'role'"},
           BadChat{R"({"messages": [], "tools": []})", "has no list of messages"},
           BadChat{R"({"messages": [{"role": "user"}], "tools": {}})", "'tools' is not a list"},
           BadChat{R"({"messages": [{"role": "user"}], "tool": []})", "unknown key 'tool'"},
           BadChat{R"([{"role": "user", "role": "user"}])", "duplicate key 'role'"},
           BadChat{R"([{"role": "user")", "not JSON"},
       }) {
    SCOPED_TRACE(bad.json);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_chats(bad.json, "chat.json"), bad.problem);
  }
  EXPECT_EQ(parse_chats(R"([[{"role": "user"}], [{"role": "user"}]])", "chat.json").size(), 2U);
}

TEST(ChatTemplate, RefusesTemplatesThatFail) {
  const std::string chat = R"([{"role": "user", "content": "aaaaaaaaaa"}])";
  for (const char* bad : {
           "{{ raise_exception('no') }}",
           "{% for m in messages %}",
           "{% include '/etc/passwd' %}",
           "{{ messages[0].content | unknown_filter }}",
           "{{ messages[0].content.unknown_method() }}",
           "{{ 'a'|safe + 'b' }}",
           "{{ 'a' + messages[0].content|safe }}",
           "{% set a = messages[0].content | safe %}{{ '<a>' + a }}",
           // Without limits, these would take all time or memory.
           "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
           "{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}"
           "{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
           "{{ 'aaaaaaaaaa' * 100000000000 }}",
           "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
           "{{ ''}}",
       }) {
    SCOPED_TRACE(bad);
    EXPECT_ERROR(ErrorKind::format, rendered(chat, bad));
  }
}

}  // namespace
}  // namespace attnscope
