// An unknown architecture with Llama's tensor names: the error holds a layout file that fits.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/model/model.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TempFolder;

/// A checkpoint of tests/data under an unknown name.
fs::path renamed_copy(const TempFolder& folder, const std::string& name, const json& changes) {
  const fs::path from = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / name;
  std::ifstream file(from / "config.json");
  json config = json::parse(file);
  config.merge_patch({{"model_type", "novel"}, {"architectures", nullptr}});
  config.merge_patch(changes);
  const fs::path path = folder.write("novel/config.json", config.dump());
  fs::copy_file(from / "model.safetensors", path.parent_path() / "model.safetensors",
                fs::copy_options::overwrite_existing);
  return path.parent_path();
}

std::string error_of_opening(const fs::path& path) {
  try {
    Model::open(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// The layout in an error's text; empty where it has none.
std::string layout_in(const std::string& said) {
  const std::size_t start = said.find(R"({"schema")");
  return start == std::string::npos ? "" : said.substr(start, said.rfind('}') + 1 - start);
}

TEST(LayoutOffer, IsTheModelThatTheNamesPromise) {
  const TempFolder folder;
  for (const std::string name : {"forward/llama", "forward/qwen3", "forward/llama-tied"}) {
    SCOPED_TRACE(name);
    const fs::path path = renamed_copy(folder, name, json::object());
    const std::string said = error_of_opening(path);
    EXPECT_NE(said.find("'novel' is not known"), std::string::npos) << said;
    const fs::path layout = folder.write("layout.json", layout_in(said));
    const Model offered = Model::open(path, layout);
    const Model known = Model::open(fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / name);
    ASSERT_EQ(offered.dimensions().layers, known.dimensions().layers);
    EXPECT_EQ(offered.dimensions().heads.kv_heads, known.dimensions().heads.kv_heads);
    EXPECT_EQ(offered.norms_queries(), known.norms_queries());
    EXPECT_EQ(offered.spec().tied, known.spec().tied);
    const auto theta = [](const Model& model) {
      return model.spec().layers[0].attention.rope->theta;
    };
    EXPECT_EQ(offered.spec().layers[0].attention_input->tensor,
              known.spec().layers[0].attention_input->tensor);
    EXPECT_EQ(offered.spec().not_run, "");
    EXPECT_GT(theta(offered), 0);
    for (const Role role : kProjections) {
      ASSERT_EQ(offered.has(role), known.has(role));
      if (!known.has(role)) continue;
      EXPECT_EQ(offered.weight(1, role).tensor->name, known.weight(1, role).tensor->name);
      EXPECT_EQ(offered.weight(1, role).matrix.rows, known.weight(1, role).matrix.rows);
    }
  }
}

TEST(LayoutOffer, IsNotMadeWhereNamesOrShapesAreOthers) {
  const TempFolder folder;
  EXPECT_EQ(layout_in(error_of_opening(renamed_copy(folder, "gpt2", json::object()))), "");
  for (const json& changes :
       {json{{"num_attention_heads", 7}}, json{{"num_attention_heads", nullptr}},
        json{{"num_attention_heads", "many"}}, json{{"hidden_act", 3}}}) {
    EXPECT_EQ(layout_in(error_of_opening(renamed_copy(folder, "forward/llama", changes))), "")
        << changes;
  }
}

}  // namespace
}  // namespace attnscope
