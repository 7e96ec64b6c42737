#include "attnscope/checkpoint/pytorch/pytorch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "attnscope/base/text.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/torch_writer.h"

namespace attnscope {
namespace {

using namespace test;

const std::filesystem::path kFiles =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/pytorch";

FileContents parse_saved(const std::string& bytes) {
  return parse_pytorch(std::as_bytes(std::span(bytes)), "model.pt");
}

std::vector<std::string> names_of(const FileContents& contents) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : contents.tensors) names.push_back(tensor.name);
  return names;
}

TEST(PyTorch, KeepsTheStridesOfViews) {
  const struct {
    TorchTensor tensor;
    Shape strides;  // empty: row-major
    std::size_t first, bytes;
  } views[] = {
      {{}, {}, 0, 24},
      {{.shape = {3, 2}, .strides = {1, 3}}, {1, 3}, 0, 24},
      {{.offset = 1, .shape = {2}, .strides = {3}}, {3}, 4, 16},
      {{.offset = 5, .shape = {}, .strides = {}}, {}, 20, 4},
      {{.offset = 2, .shape = {3, 1}, .strides = {1, 77}}, {}, 8, 12},
      {{.offset = 1, .shape = {4, 2}, .strides = {0, 1}}, {0, 1}, 4, 8},
      {{.offset = 9, .shape = {0, 3}, .strides = {3, 1}}, {}, 0, 0},
  };
  for (const auto& [tensor, strides, first, bytes] : views) {
    const std::string file = archive_of(tensor);
    const FileContents contents = parse_saved(file);
    ASSERT_EQ(contents.tensors.size(), 1u);
    const TensorView& view = contents.tensors[0].view;
    EXPECT_EQ(view.shape, tensor.shape);
    EXPECT_EQ(view.strides, strides);
    EXPECT_EQ(view.bytes.size(), bytes);
    if (bytes > 0) {
      const std::string expected = six_floats().substr(first, bytes);
      EXPECT_EQ(std::memcmp(view.bytes.data(), expected.data(), bytes), 0);
      EXPECT_GE(view.bytes.data(), std::as_bytes(std::span(file)).data());  // not a copy
    }
    EXPECT_TRUE(contents.memory.empty());
  }
}

TEST(PyTorch, FindsTheStateDictInTrainingCheckpoints) {
  int next = 0;
  const auto tensor = [&] { return pickled(TorchTensor{.key = std::to_string(next++)}); };
  const auto dict = [&](const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::string>> items;
    for (const std::string& name : names) items.push_back({name, tensor()});
    return pickled_dict(items);
  };
  const auto in = [](const std::string& key, const std::string& value) {
    return pickled_dict({{key, value}});
  };
  const struct {
    std::string object;
    std::vector<std::string> names;
  } files[] = {
      {dict({"a", "b.weight"}), {"a", "b.weight"}},
      {in("model", dict({"a", "b"})), {"a", "b"}},
      {in("state_dict", dict({"a"})), {"a"}},
      {in("module", dict({"a"})), {"a"}},
      {in("model", in("module", dict({"a"}))), {"a"}},
      {in("state_dict", in("model", dict({"a"}))), {"a"}},
      {pickled_dict({{"optimizer", dict({"a"})}, {"model", dict({"b"})}, {"rng_state", tensor()}}),
       {"b"}},
      {pickled_dict(
           {{"encoder", dict({"a"})}, {"optimizer_state", dict({"m"})}, {"decoder", dict({"b"})}}),
       {"encoder.a", "decoder.b"}},
      {dict({"module.a", "module.b"}), {"a", "b"}},
      {dict({"module.module.a"}), {"a"}},
      {dict({"module.a", "b"}), {"module.a", "b"}},
      {dict({"_orig_mod.a", "layers._orig_mod.b", "my_orig_mod.c"}),
       {"a", "layers.b", "my_orig_mod.c"}},
      {in("model", dict({"module._orig_mod.a"})), {"a"}},
      {pickled_list({tensor(), tensor()}), {"0", "1"}},
      // Python 2 passes its items to OrderedDict() as an argument.
      {pickled_call(pickled_global("collections", "OrderedDict"),
                    {pickled_list({pickled_list({pickled("a"), tensor()})})}),
       {"a"}},
      {in("model",
          pickled_dict({{"a", tensor()}, {"steps", pickled(3)}, {"version", pickled("1")}})),
       {"a"}},
  };
  std::map<std::string, std::string> storages;
  for (int key = 0; key < next; ++key) storages[std::to_string(key)] = six_floats();
  for (const auto& [object, names] : files) {
    const std::string file = torch_archive(pickle(object), storages);
    std::vector<std::string> got = names_of(parse_saved(file)), expected = names;
    std::sort(got.begin(), got.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(got, expected);
  }
}

TEST(PyTorch, ConvertsHyperparametersToAConfig) {
  const std::string tensor = pickled(TorchTensor());
  const auto config_of = [&](const std::string& hparams) {
    return parse_saved(torch_archive(pickle(pickled_dict({{"model", pickled_dict({{"t", tensor}})},
                                                          {"hparams", hparams}})),
                                     {{"0", six_floats()}}))
        .config;
  };
  const std::string infinite = std::string("G\x7f\xf0", 3) + std::string(6, '\0');
  EXPECT_EQ(nlohmann::json::parse(
                config_of(pickled_dict({{"model_class", pickled("a.b.GPT2Core")},
                                        {"num_layers", pickled(4)},
                                        {"best", infinite},
                                        {"none", "N"},
                                        {"on", "\x88"},
                                        {"sizes", pickled_list({pickled(1), pickled("x")})}}))
                    .value()),
            nlohmann::json::parse(
                R"({"architectures": ["GPT2Core"], "model_class": "a.b.GPT2Core", "num_layers": 4,
              "best": null, "none": null, "on": true, "sizes": [1, "x"]})"));
  EXPECT_EQ(config_of(pickled_dict({{"num_layers", pickled(4)}})), std::nullopt);
  EXPECT_EQ(config_of(pickled(4)), std::nullopt);
  // Conversion ends at a value that contains itself.
  EXPECT_TRUE(
      config_of("}q\1(" + pickled("model_class") + pickled("A") + pickled("self") + "h\1u"));
}

// Network reads are slow: the bytes of a tensor are fetched only when a command needs them.
TEST(PyTorch, RequestsLittleMoreThanThePickle) {
  const TorchTensor large = {.count = 1 << 20, .shape = {1 << 20}, .strides = {1}};
  const std::string object = pickle(pickled_dict({{"t", pickled(large)}}));
  const std::map<std::string, std::string> storages = {{"0", std::string(4 << 20, '\1')}};
  for (const std::string& file :
       {torch_archive(object, storages), torch_stream(object, storages)}) {
    std::size_t asked = 0;
    const auto count = [&](std::span<const std::byte> part) { asked += part.size(); };
    parse_pytorch(std::as_bytes(std::span(file)), "model.pt", count);
    EXPECT_GT(asked, object.size());
    EXPECT_LT(asked, std::size_t{400'000});  // a pickle is requested in steps of 64 kB
  }
}

// ---- Files written by torch: tools/make_pytorch_files.py

/// Name, dtype, shape and the bytes of the elements in row-major order.
std::map<std::string, std::string> rows_of(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> rows;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const TensorView& view = tensor.view;
    const auto element_bytes = static_cast<std::size_t>(dtype_info(view.dtype).bits / 8);
    std::string text = std::string(dtype_name(view.dtype)) + shape_text(view.shape) + " ";
    for (std::int64_t index = 0; index < view.element_count(); ++index) {
      std::int64_t rest = index, place = 0;
      for (std::size_t axis = view.shape.size(); axis-- > 0; rest /= view.shape[axis]) {
        place += rest % view.shape[axis] * view.stride(axis);
      }
      const auto element =
          view.bytes.subspan(static_cast<std::size_t>(place) * element_bytes, element_bytes);
      text.append(reinterpret_cast<const char*>(element.data()), element.size());
    }
    rows.emplace(tensor.name, text);
  }
  return rows;
}

TEST(PyTorch, EveryFormatHasTheSameTensors) {
  const auto expected = rows_of(Checkpoint::open(kFiles / "reference"));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFiles)) {
    const std::string name = entry.path().filename().string();
    if (name == "reference" || name.starts_with("dtypes")) continue;
    SCOPED_TRACE(name);
    ++files;
    const Checkpoint checkpoint = Checkpoint::open(entry.path());
    EXPECT_EQ(rows_of(checkpoint), expected);
    EXPECT_TRUE(checkpoint.warnings().empty());
    for (const auto& [alias, kept] : checkpoint.aliases()) {
      EXPECT_EQ(alias + " " + kept, "lm_head.weight model.embed_tokens.weight");
    }
  }
  EXPECT_EQ(files, 14);
}

TEST(PyTorch, ReadsEveryDTypeAndNotesOthers) {
  const Checkpoint checkpoint = Checkpoint::open(kFiles / "dtypes.pt");
  EXPECT_EQ(rows_of(checkpoint), rows_of(Checkpoint::open(kFiles / "dtypes.safetensors")));
  std::vector<std::string> notes;
  for (const ErrorParts& warning : checkpoint.warnings()) notes.push_back(warning.problem);
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "tensor 'complex128' is skipped: its element type is not supported",
                       "tensor 'sparse' is skipped: it is sparse",
                       "tensor 'meta' is skipped: the file contains its shape but no values",
                       "tensor 'negated' is skipped: it is a negated or conjugated view"}));
}

}  // namespace
}  // namespace attnscope
