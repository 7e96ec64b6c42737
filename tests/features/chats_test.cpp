// Chats as input texts of commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/json.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using namespace test;

constexpr const char* kTemplate =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}reply:{% endif %}{{ strftime_now('%Y') if tools }}";

/// A small trained GPT-2 with a chat template, and files with chats.
class CliChats : public ::testing::Test {
 protected:
  CliChats() {
    const std::filesystem::path own = folder_.path() / "model";
    std::filesystem::create_directory(own);
    for (const auto& file :
         std::filesystem::directory_iterator(source_path("examples/shakespeare-gpt2"))) {
      std::filesystem::create_symlink(file.path(), own / file.path().filename());
    }
    folder_.write("model/chat_template.jinja", kTemplate);
    folder_.write("chat.json", R"([{"role": "king", "content": "Who is there"},
                                   {"role": "queen", "content": "I"}])");
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  json report(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, path("model"));
    words.push_back("--quiet");
    return report_of(words);
  }
  std::string error_of(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, path("model"));
    const RunResult run = run_attnscope(words);
    EXPECT_NE(run.exit_code, 0);
    return run.err;
  }

  TempFolder folder_;
};

constexpr const char* kText = "[king]Who is there\n[queen]I\nreply:";

/// Rows without the message roles and the attention to them, which a text does not have.
json without_roles(json rows) {
  for (json& row : rows) {
    row.erase("message_role");
    for (const char* role : {"system", "user", "assistant", "tool", "template"}) {
      const std::string mass = std::string(role) + "_mass";
      for (const std::string& name : {mass, mass + "_error", "uniform_" + mass}) row.erase(name);
      row.erase(std::string(role) + "_effect");
    }
  }
  return rows;
}

TEST_F(CliChats, GiveTheRowsOfTheirText) {
  const std::vector<std::vector<std::string>> commands = {{"lens", "--grid"},
                                                          {"lens"},
                                                          {"attention"},
                                                          {"predict"},
                                                          {"predict", "--perplexity"},
                                                          {"ablate", "--components", "layers"},
                                                          {"predict", "--attribution"},
                                                          {"lens", "--score-positions", "last"}};
  for (std::vector<std::string> words : commands) {
    SCOPED_TRACE(testing::PrintToString(words));
    std::vector<std::string> text = words;
    text.insert(text.end(), {"--text", kText, "--no-special-tokens"});
    words.insert(words.end(), {"--chat", path("chat.json"), "--chat-date", "2026-07-06"});
    const json chat = report(words);
    EXPECT_EQ(chat["models"][0]["text"], kText);
    EXPECT_EQ(chat["parameters"]["source"], "chat.json");
    EXPECT_EQ(chat["parameters"]["chat_date"], "2026-07-06");
    EXPECT_EQ(without_roles(chat["rows"]), report(text)["rows"]);
  }
}

TEST_F(CliChats, TellTheRoleOfEachToken) {
  const json rows = report({"lens", "--grid", "--chat", path("chat.json")})["rows"];
  std::map<std::string, std::string> texts;
  for (const json& row : rows) {
    if (row["state"] != "resid_pre" || row["layer"] != 0) continue;
    texts[row["message_role"].get<std::string>()] += row["text"].get<std::string>();
  }
  EXPECT_EQ(texts["king"], "Who is there");
  EXPECT_EQ(texts["queen"], "I");
  EXPECT_EQ(texts["template"], "[king]\\n[queen]\\nreply:");
  const json tokens = report({"predict", "--chat", path("chat.json")})["models"][0]["tokens"];
  for (const json& token : tokens) EXPECT_TRUE(texts.contains(token["message_role"]));
}

/// The sums of the printed weights over the keys of each role, as means over queries.
TEST_F(CliChats, AttentionIsSummedByRole) {
  folder_.write("roles.json", R"([{"role": "developer", "content": "Be brief"},
                                  {"role": "user", "content": "Who is there"},
                                  {"role": "assistant", "content": "I"}])");
  const std::vector<std::string> chat = {"--chat", path("roles.json")};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.end(), chat.begin(), chat.end());
    words.insert(words.end(), more.begin(), more.end());
    return report(words)["rows"];
  };
  const json map = with({"attention", "--heatmap", "L2H3"});
  const std::map<std::string, std::string> roles = {{"developer", "system"},
                                                    {"user", "user"},
                                                    {"assistant", "assistant"},
                                                    {"template", "template"}};
  for (const bool last : {false, true}) {
    SCOPED_TRACE(last);
    const json rows =
        last ? with({"attention"}, {"--score-positions", "last"}) : with({"attention"});
    const auto row = std::ranges::find_if(
        rows, [](const json& each) { return each["layer"] == 2 && each["head"] == 3; });
    ASSERT_NE(row, rows.end());
    // The last token has no next one, so its query is never scored.
    const std::size_t first = last ? map.size() - 2 : 0, end = last ? map.size() - 1 : map.size();
    std::map<std::string, double> mass, uniform;
    for (std::size_t query = first; query < end; ++query) {
      for (std::size_t key = 0; key <= query; ++key) {
        const std::string& role = roles.at(map[key]["message_role"]);
        mass[role] += map[query]["weights"][key].get<double>() / static_cast<double>(end - first);
        uniform[role] += 1 / static_cast<double>((query + 1) * (end - first));
      }
    }
    double sum = 0;
    for (const auto& [role, found] : mass) {
      EXPECT_NEAR((*row)[role + "_mass"].get<double>(), found, 1e-6) << role;
      EXPECT_NEAR((*row)["uniform_" + role + "_mass"].get<double>(), uniform[role], 1e-12) << role;
      EXPECT_TRUE((*row)[role + "_mass_error"].is_null());
      sum += found;
    }
    EXPECT_EQ(mass.size(), 4);
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_FALSE(row->contains("tool_mass"));
  }
}

/// An edit that sets the weights of all keys but those of a role to zero leaves the effect of this
/// role. The edited layer is the last one, so that later heads and the norm do not depend on it.
TEST_F(CliChats, AttributionIsSummedByRole) {
  folder_.write("roles.json", R"([{"role": "system", "content": "Be brief"},
                                  {"role": "user", "content": "Who is there"}])");
  const auto rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict",          "--attribution", "--chat",
                                      path("roles.json"), "--token",       "17"};
    words.insert(words.end(), more.begin(), more.end());
    return report(words)["rows"];
  };
  const json map = report({"attention", "--heatmap", "L5H2", "--chat", path("roles.json")})["rows"];
  const json plain = rows({});
  const auto found = [](const json& all) {
    return *std::ranges::find_if(
        all, [](const json& row) { return row["layer"] == 5 && row["head"] == 2; });
  };
  for (const json& row : plain) {
    if (row["head"].is_null()) {
      EXPECT_TRUE(row["user_effect"].is_null());
      continue;
    }
    double sum = 0;
    for (const char* role : {"system", "user", "assistant", "tool", "template"}) {
      sum += row[std::string(role) + "_effect"].get<double>();
    }
    EXPECT_NEAR(sum, row["direct_effect"].get<double>(), 1e-5);
  }
  EXPECT_EQ(found(plain)["tool_effect"], 0);
  json weights = map.back()["weights"];
  for (std::size_t key = 0; key < weights.size(); ++key) {
    if (map[key]["message_role"] != "user") weights[key] = 0;
  }
  json edit = {{"name", "pattern"}, {"layer", 5}, {"head", 2}, {"positions", "last"}};
  edit["set"] = json::array({weights});
  folder_.write("edits.json", json::array({edit}).dump());
  const json edited = rows({"--edits", path("edits.json")});
  EXPECT_GT(std::abs(found(plain)["direct_effect"].get<double>() -
                     found(plain)["user_effect"].get<double>()),
            1e-3);
  // The edit also changes the scale of the final norm, by the same factor for all components.
  const auto embedding = [](const json& all) { return all[0]["direct_effect"].get<double>(); };
  EXPECT_NEAR(found(edited)["direct_effect"].get<double>() / embedding(edited),
              found(plain)["user_effect"].get<double>() / embedding(plain), 2e-4);
}

TEST_F(CliChats, UnknownRolesHaveNoEffects) {
  folder_.write("model/chat_template.jinja",
                "{% for m in messages %}{{ m.content[:4] }}{% endfor %}");
  const json rows = report({"predict", "--attribution", "--chat", path("chat.json")})["rows"];
  for (const json& row : rows) EXPECT_TRUE(row["template_effect"].is_null()) << row;
  for (const json& row : report({"attention", "--chat", path("chat.json")})["rows"]) {
    EXPECT_FALSE(row.contains("template_mass")) << row;
  }
}

TEST_F(CliChats, StoredRowsDependOnTheRoles) {
  folder_.write("a.json", R"([{"role": "user", "content": "Who is there"}])");
  folder_.write("b.json", R"([{"role": "tool", "content": "Who is there"}])");
  folder_.write("model/chat_template.jinja",
                "{% for m in messages %}{{ m.content }}{% endfor %} reply:");
  const auto rows = [&](const std::string& name) {
    return report({"attention", "--chat", path(name), "--store", path("rows.sqlite")})["rows"];
  };
  const json of_user = rows("a.json"), of_tool = rows("b.json");
  EXPECT_TRUE(of_user[0].contains("user_mass"));
  EXPECT_FALSE(of_tool[0].contains("user_mass"));
  EXPECT_EQ(of_user[0]["user_mass"], of_tool[0]["tool_mass"]);
  EXPECT_EQ(rows("a.json"), of_user);
}

TEST_F(CliChats, OptionsChangeTheText) {
  const auto text_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"lens", "--grid", "--chat"});
    return report(words)["models"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text_of({path("chat.json"), "--no-generation-prompt"}),
            "[king]Who is there\n[queen]I\n");
  folder_.write("tools.json",
                R"({"messages": [{"role": "a", "content": "b"}], "tools": [{"name": "c"}]})");
  EXPECT_EQ(text_of({path("tools.json"), "--chat-date", "2019-12-31"}), "[a]b\nreply:2019");
}

TEST_F(CliChats, SeveralChatsAreSeveralTexts) {
  folder_.write("chats.json", R"([[{"role": "a", "content": "one"}], [{"role": "b"}]])");
  const json found = report({"predict", "--chat", path("chats.json"), "--top", "1"});
  EXPECT_EQ(found["rows"].size(), 2);
  EXPECT_FALSE(found["models"][0].contains("text"));
  EXPECT_NE(error_of({"lens", "--grid", "--chat", path("chats.json")}).find("has several chats"),
            std::string::npos);
}

TEST_F(CliChats, ErrorsNameTheFileAndTheProblem) {
  const auto expect = [&](std::vector<std::string> words, const std::string& said) {
    const std::string error = error_of(words);
    EXPECT_NE(error.find(said), std::string::npos) << error;
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
  };
  expect({"lens", "--chat", path("none.json")}, "none.json");
  folder_.write("bad.json", R"([{"content": "a"}])");
  expect({"lens", "--chat", path("bad.json")}, "bad.json: a message has no 'role'");
  expect({"lens", "--chat", path("chat.json"), "--text", "a"}, "--chat");
  expect({"lens", "--text", "a", "--no-generation-prompt"}, "requires --chat");
  expect({"lens", "--chat", path("chat.json"), "--chat-date", "2026-02-30"},
         "'2026-02-30' is not a date");
  expect({"lens", "--chat", path("chat.json"), "--chat-template", "rag"}, "no template 'rag'");
  folder_.write("model/chat_template.jinja", "{{ raise_exception('no kings') }}");
  expect({"lens", "--chat", path("chat.json")},
         "chat_template.jinja: chat template: line 1: no kings");
}

}  // namespace
}  // namespace attnscope
