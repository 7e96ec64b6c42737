#include "attnscope/checkpoint/weight_files.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

TEST(WeightFiles, ReadsTheWeightMap) {
  const auto shard_of = parse_shard_index(
      R"({"metadata":{"total_size":8},"weight_map":{"a":"x.safetensors","b":"..odd name"}})",
      "file");
  EXPECT_EQ(shard_of,
            (std::map<std::string, std::string>{{"a", "x.safetensors"}, {"b", "..odd name"}}));
}

TEST(WeightFiles, RejectsMalformedIndexFiles) {
  const struct {
    std::string_view fault, text, said;
  } indices[] = {
      {"empty file", "", "not JSON"},
      {"not JSON", "weight_map", "not JSON"},
      {"a list", "[]", "has no object 'weight_map'"},
      {"a string", R"("weight_map")", "has no object 'weight_map'"},
      {"no weight_map", R"({"metadata":{}})", "has no object 'weight_map'"},
      {"weight_map is a list", R"({"weight_map":["a"]})", "has no object 'weight_map'"},
      {"weight_map is null", R"({"weight_map":null})", "has no object 'weight_map'"},
      {"weight_map is empty", R"({"weight_map":{}})", "'weight_map' is empty"},
      {"two weight_maps", R"({"weight_map":{"a":"x"},"weight_map":{"b":"x"}})",
       "duplicate key 'weight_map'"},
      {"a tensor twice", R"({"weight_map":{"a":"x","a":"y"}})", "duplicate key 'a'"},
      {"shard is a number", R"({"weight_map":{"a":1}})", "the shard of 'a' is not a string"},
      {"shard is null", R"({"weight_map":{"a":null}})", "the shard of 'a' is not a string"},
      {"shard is an object", R"({"weight_map":{"a":{}}})", "the shard of 'a' is not a string"},
      {"shard without a name", R"({"weight_map":{"a":""}})", "not a plain file name"},
      {"shard out of the folder", R"({"weight_map":{"a":"../x.safetensors"}})",
       "'../x.safetensors', which is not a plain file name"},
      {"shard in a folder below", R"({"weight_map":{"a":"b/x.safetensors"}})",
       "not a plain file name"},
      {"shard of an absolute path", R"({"weight_map":{"a":"/etc/passwd"}})",
       "not a plain file name"},
      {"shard with a backslash", R"({"weight_map":{"a":"..\\x"}})", "not a plain file name"},
      {"shard with a NUL", R"({"weight_map":{"a":"x\u0000/y"}})", "'x\\x00/y'"},
      {"shard is the folder", R"({"weight_map":{"a":"."}})", "not a plain file name"},
      {"shard is the folder above", R"({"weight_map":{"a":".."}})", "not a plain file name"},
      {"newline in a tensor name", R"({"weight_map":{"a\nb":1}})", "'a\\x0ab'"},
  };
  for (const auto& wrong : indices) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format,
                        parse_shard_index(wrong.text, "m/model.safetensors.index.json"),
                        "m/model.safetensors.index.json: ", wrong.said);
  }
}

}  // namespace
}  // namespace attnscope
