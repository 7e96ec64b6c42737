#include "attnscope/page/chart_files.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

std::vector<ChartFile> drawn(const std::string& script) {
  ReportFile file({{"version", "1"}}, {Record{{"name", "m\n</svg>"}}});
  const float weights[] = {1, 0, 0.5F, 0.5F};
  file.add_map({"m", 0, 0}, {weights, 2, 2, 2}, /*causal=*/true);
  return chart_files(script, file, 1.5, {});
}

/// A script that draws one chart with this name.
std::string named(const std::string& name) {
  return "globalThis.attnscope_charts = () => JSON.stringify([{name: " +
         nlohmann::json(name).dump() + ", title: '', vega_lite: {}, svg: '<svg/>'}])";
}

std::string failure_of(const std::string& script) {
  try {
    drawn(script);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ChartFiles, ContainTheChartsOfTheScript) {
  const auto charts = drawn(R"(
    globalThis.attnscope_charts = (results, values, maps) => {
      const {schema, seconds, models} = JSON.parse(results);
      const data = {values: [seconds, 0.1]}, pixels = [values.byteLength, ...new Uint8Array(maps)];
      const vega_lite = {$schema: "s", mark: "line", data, a: models[0].name};
      return JSON.stringify([
        {name: "layer-0_q", title: "t", vega_lite, svg: `<svg>${schema}</svg>`},
        {name: "maps", title: "t", vega_lite: {}, svg: String(pixels)}
      ]);
    };)");
  ASSERT_EQ(charts.size(), 2u);
  EXPECT_EQ(charts[0].name, "layer-0_q");
  EXPECT_EQ(charts[0].svg, "<svg>attnscope-report/1</svg>");
  EXPECT_EQ(nlohmann::ordered_json::parse(charts[0].vega_lite).dump(),
            R"({"$schema":"s","mark":"line","data":{"values":[1.5,0.1]},"a":"m\n</svg>"})");
  EXPECT_TRUE(charts[0].vega_lite.ends_with("}\n"));
  EXPECT_EQ(charts[1].svg, "0,255,239,239");
}

TEST(ChartFiles, HaveNamesThatStayInTheirFolder) {
  EXPECT_EQ(drawn(named(std::string(80, 'a'))).size(), 1u);
  for (const std::string& name :
       {std::string(), std::string(81, 'a'), std::string("../x"), std::string("a/b"),
        std::string("."), std::string("a.svg"), std::string("a b"), std::string("a\0b", 3),
        std::string("\xC3\xA9"), std::string("a\n")}) {
    EXPECT_NE(failure_of(named(name)).find("invalid chart name"), std::string::npos) << name;
  }
  EXPECT_NE(failure_of("globalThis.attnscope_charts = () => JSON.stringify([1, 2].map("
                       "() => ({name: 'a', title: 't', vega_lite: {}, svg: ''})))")
                .find("duplicate chart name"),
            std::string::npos);
}

TEST(ChartFiles, AnInvalidResultOfTheScriptIsAnError) {
  for (const char* answer : {"", "[", "3", "[3]", "[{}]", R"([{"name": 3}])", R"([{"name": "a"}])",
                             R"([{"name": "a", "vega_lite": {}, "svg": 3}])",
                             R"([{"name": "a", "vega_lite": {}, "svg": "\ud800"}])"}) {
    const std::string script =
        "globalThis.attnscope_charts = () => " + nlohmann::json(answer).dump();
    EXPECT_NE(failure_of(script).find("invalid charts"), std::string::npos) << answer;
  }
}

TEST(ChartFiles, ABuildWithoutScriptsNamesTheFix) {
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, check_draws_charts(""), "Node 18", "rebuild");
  EXPECT_NO_THROW(check_draws_charts("globalThis"));
}

}  // namespace
}  // namespace attnscope
