// Files that torch.save could not have written: each gives a one-line error.
#include "attnscope/checkpoint/pytorch/pytorch.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch_writer.h"

namespace attnscope {
namespace {

using namespace test;

FileContents parse_malformed(const std::string& bytes) {
  return parse_pytorch(std::as_bytes(std::span(bytes)), "model.pt");
}

TEST(MalformedPyTorch, RejectsMalformedTensors) {
  const std::string tensor = pickled(TorchTensor());
  const auto rebuilt = [](const std::string& function, const std::vector<std::string>& arguments) {
    return torch_archive(
        pickle(pickled_dict(
            {{"t", pickled_call(pickled_global("torch._utils", function), arguments)}})),
        {{"0", six_floats()}});
  };
  const auto stored = [](const std::vector<std::string>& id) { return pickled_tuple(id) + "Q"; };
  const std::string six = pickled(6), none = pickled(0), row = pickled_tuple({six}),
                    step = pickled_tuple({pickled(1)});
  const std::string storage = stored({pickled("storage"), pickled_global("torch", "FloatStorage"),
                                      pickled("0"), pickled("cpu"), six});
  const struct {
    std::string_view fault;
    std::string file;
    std::string_view said;
  } files[] = {
      {"ends past its storage", archive_of({.offset = 1}),
       "tensor 't': its elements end at 7, past the 6 of its storage"},
      {"begins past its storage", archive_of({.offset = 7, .shape = {1, 1}}), "past the 6"},
      {"strides past its storage", archive_of({.strides = {4, 1}}), "end at 7, past the 6"},
      {"stride past 2^64", archive_of({.shape = {3, 3}, .strides = {INT64_MAX, INT64_MAX}}),
       "shape [3, 3] overflows"},
      {"offset and reach past 2^64",
       archive_of({.offset = INT64_MAX, .shape = {3, 2}, .strides = {INT64_MAX / 2, INT64_MAX}}),
       "shape [3, 2] overflows"},
      // 2^32 * 2^32 elements are 0 modulo 2^64.
      {"element count wraps",
       archive_of({.shape = {std::int64_t{1} << 32, std::int64_t{1} << 32}, .strides = {0, 0}}),
       "overflows"},
      {"one element as a terabyte", archive_of({.shape = {1 << 20, 1 << 20}, .strides = {0, 0}}),
       "repeats the 6 elements of its storage too often"},
      {"negative size", archive_of({.shape = {-2, 3}}),
       "its shape is not in the form that torch writes"},
      {"negative stride", archive_of({.strides = {3, -1}}),
       "its strides is not in the form that torch writes"},
      {"negative offset", archive_of({.offset = -1}),
       "its offset is not in the form that torch writes"},
      {"another number of strides", archive_of({.strides = {1}}), "its strides is not"},
      {"17 dimensions", archive_of({.shape = std::vector<std::int64_t>(17, 1)}), "more than 16"},
      {"storage longer than its record", archive_of({.count = 7}),
       "should hold 7 elements of 4 bytes, but contains 24 bytes"},
      {"storage shorter than its record", archive_of({.count = 5}), "should hold 5 elements"},
      {"storage of 2^62 elements", archive_of({.count = std::int64_t{1} << 62}),
       "should hold 4611686018427387904 elements"},
      {"storage of another type", archive_of({.storage = "DoubleStorage"}),
       "should hold 6 elements of 8 bytes"},
      {"no such storage", archive_of({.key = "1"}),
       "contains no storage '1', which a tensor requires"},
      {"storage key that climbs", archive_of({.key = "../version"}),
       "contains no storage '../version'"},
      {"no arguments", rebuilt("_rebuild_tensor_v2", {}),
       "its storage is not in the form that torch writes"},
      {"no shape", rebuilt("_rebuild_tensor_v2", {storage, none}), "its shape is not"},
      {"shape of texts",
       rebuilt("_rebuild_tensor_v2", {storage, none, pickled_tuple({pickled("6")}), step}),
       "its shape is not"},
      {"storage that is a number", rebuilt("_rebuild_tensor_v2", {six, none, row, step}),
       "its storage is not"},
      {"storage of an unlisted class",
       rebuilt("_rebuild_tensor_v2",
               {stored({pickled("storage"), pickled_global("__main__", "Storage"), pickled("0"),
                        pickled("cpu"), six}),
                none, row, step}),
       "its storage class is not"},
      {"storage without a size",
       rebuilt("_rebuild_tensor_v2",
               {stored({pickled("storage"), pickled_global("torch", "FloatStorage"), pickled("0")}),
                none, row, step}),
       "its storage size is not"},
      {"dtype that is a text",
       rebuilt("_rebuild_tensor_v3", {storage, none, row, step, "\x89", "}", pickled("float32")}),
       "its dtype is not"},
      {"parameter of a number", rebuilt("_rebuild_parameter", {six, "\x89", "}"}),
       "its tensor is not in the form that torch writes"},
      {"parameter in itself",
       torch_archive(
           pickle(pickled_dict(
               {{"t",
                 "]" + std::string("q\1") +
                     pickled_call(pickled_global("torch._utils", "_rebuild_parameter"), {"h\1"}) +
                     "a0"}})),
           {}),
       "opcode 0x30"},
      {"name that is not UTF-8",
       torch_archive(pickle(pickled_dict({{"\xff", tensor}})), {{"0", six_floats()}}),
       "a tensor's name is not UTF-8"},
      {"name of 2000 characters",
       torch_archive(pickle(pickled_dict({{std::string(2000, 'a'), tensor}})),
                     {{"0", six_floats()}}),
       "has a key longer than 1000 characters"},
      {"two tensors of one name",
       torch_archive(pickle(pickled_dict({{"t", tensor}, {"t", tensor}})), {{"0", six_floats()}}),
       "two tensors have the name 't'"},
      {"no tensors", torch_archive(pickle(pickled_dict({{"step", six}})), {}),
       "contains no tensors of a model"},
      {"only an optimizer's",
       torch_archive(pickle(pickled_dict({{"optimizer", pickled_dict({{"m", tensor}})}})),
                     {{"0", six_floats()}}),
       "contains no tensors of a model"},
      {"a number", torch_archive(pickle(six), {}), "contains no tensors of a model"},
      {"one bare tensor", torch_archive(pickle(tensor), {{"0", six_floats()}}),
       "contains a single tensor without a name"},
  };
  for (const auto& bad : files) {
    SCOPED_TRACE(bad.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_malformed(bad.file), "model.pt: ", bad.said);
  }
}

TEST(MalformedPyTorch, RejectsMalformedFiles) {
  const std::string object = pickle(pickled_dict({{"t", pickled(TorchTensor())}}));
  const std::map<std::string, std::string> storages = {{"0", six_floats()}};
  const std::string stream = torch_stream(object, storages);
  const auto entries = torch_entries(object, storages);
  const auto without = [&](std::size_t index) {
    auto left = entries;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
    return zip_bytes(left);
  };
  const auto and_also = [&](const ZipEntryToWrite& entry) {
    auto more = entries;
    more.push_back(entry);
    return zip_bytes(more);
  };
  const auto with_version = [&](const std::string& version) {
    auto changed = entries;
    changed[1].bytes = version;
    return zip_bytes(changed);
  };
  const auto deflated_storage = [&](const std::string& packed, std::uint32_t says) {
    auto changed = entries;
    changed[2].bytes = packed;
    changed[2].method = 8;
    changed[2].declares_bytes = says;
    return zip_bytes(changed);
  };
  const std::string zeros = deflated(std::string(1'000'000, '\0'));
  const auto harm = pickled_call(pickled_global("posix", "system"), {pickled("touch harmed")});
  const struct {
    std::string_view fault;
    std::string file;
    ErrorKind kind;
    std::string_view said;
  } files[] = {
      {"empty", "", ErrorKind::format, "is not a file of torch.save"},
      {"another pickle", object, ErrorKind::format, "is not a file of torch.save"},
      {"tar of torch 0.1", std::string(257, 'x') + "ustar" + std::string(300, '\0'),
       ErrorKind::unsupported, "tar file of torch 0.1"},
      {"zip of something else", zip_bytes({{.name = "word/document.xml"}}), ErrorKind::format,
       "is a zip archive without data.pkl"},
      {"data.pkl without a folder", zip_bytes({{.name = "data.pkl"}}), ErrorKind::format,
       "without data.pkl"},
      {"two folders", and_also({.name = "other/data.pkl"}), ErrorKind::format,
       "contains two folders with a data.pkl"},
      {"TorchScript", and_also({.name = "model/constants.pkl"}), ErrorKind::unsupported,
       "is a TorchScript program, which is not supported"},
      {"no version", without(1), ErrorKind::format, "without a version"},
      {"version 11", with_version("11\n"), ErrorKind::unsupported,
       "has an unsupported version of torch.save's format"},
      {"version 0", with_version("0\n"), ErrorKind::unsupported, "has an unsupported version"},
      {"version of words", with_version("new"), ErrorKind::unsupported,
       "has an unsupported version"},
      {"version of 30 digits", with_version(std::string(30, '9')), ErrorKind::unsupported,
       "has an unsupported version"},
      {"byte order of neither kind", and_also({.name = "model/byteorder", .bytes = "middle"}),
       ErrorKind::format, "byteorder: is neither 'little' nor 'big'"},
      {"no storage", without(2), ErrorKind::format, "contains no storage '0'"},
      {"a storage that unpacks to a thousand times its promise", deflated_storage(zeros, 24),
       ErrorKind::format, "unpacks to more bytes"},
      {"a storage that promises 4 GB of nothing", deflated_storage(deflated(""), 4'294'967'294),
       ErrorKind::format, "should hold 6 elements of 4 bytes"},
      {"a pickle that promises 4 GB",
       zip_bytes(
           {{.name = "m/data.pkl", .bytes = "x", .method = 8, .declares_bytes = 4'000'000'000},
            {.name = "m/version", .bytes = "3\n"}}),
       ErrorKind::format, "exceeds the limit of 100000000 bytes"},
      {"a pickle that promises 90 MB of 1 byte",
       zip_bytes({{.name = "m/data.pkl", .bytes = "x", .method = 8, .declares_bytes = 90'000'000},
                  {.name = "m/version", .bytes = "3\n"}}),
       ErrorKind::format, "1 deflated byte cannot hold the 90000000"},
      {"os.system", torch_archive(pickle(harm), {}), ErrorKind::format,
       "data.pkl: the pickle names 'posix.system', which is not allowed in a checkpoint"},
      {"os.system beside the model",
       torch_archive(pickle(pickled_dict({{"t", pickled(TorchTensor())}, {"hook", harm}})),
                     storages),
       ErrorKind::format, "names 'posix.system'"},
      {"eval in a parameter's hooks",
       torch_archive(pickle(pickled_dict(
                         {{"t", pickled_call(pickled_global("torch._utils", "_rebuild_parameter"),
                                             {pickled(TorchTensor()), "\x89",
                                              pickled_call(pickled_global("builtins", "eval"),
                                                           {pickled("1")})})}})),
                     storages),
       ErrorKind::format, "names 'builtins.eval'"},

      {"stream cut in its magic number", stream.substr(0, 14), ErrorKind::format,
       "is not a file of torch.save"},
      {"stream that ends after its magic number", stream.substr(0, 15), ErrorKind::format,
       "version: the pickle ends early"},
      {"stream cut in a storage", stream.substr(0, stream.size() - 1), ErrorKind::format,
       "storage '0': its 6 elements reach past the end of the file (truncated download?)"},
      {"stream cut in a count", stream.substr(0, stream.size() - 25), ErrorKind::format,
       "the file ends early"},
      {"stream with bytes after its end", stream + "xx", ErrorKind::format,
       "2 bytes follow the last storage"},
      {"stream with a storage of 2^63 elements",
       torch_stream(object, {})
           .replace(torch_stream(object, {}).size() - 4, 4,
                    pickled_list({pickled("0")}) + "." + little_endian(1ull << 63, 8)),
       ErrorKind::format, "9223372036854775808 elements reach past the end"},
      {"stream with a storage nobody names",
       torch_stream(object, {{"0", six_floats()}, {"1", six_floats()}}), ErrorKind::format,
       "storage '1': no tensor refers to it"},
      {"stream without a storage", torch_stream(object, {}), ErrorKind::format,
       "contains no storage '0'"},
      {"stream with os.system", torch_stream(pickle(harm), {}), ErrorKind::format,
       "object: the pickle names 'posix.system'"},
  };
  for (const auto& bad : files) {
    SCOPED_TRACE(bad.fault);
    EXPECT_ERROR_SAYING(bad.kind, parse_malformed(bad.file), "model.pt: ", bad.said);
  }
}

TEST(MalformedPyTorch, EveryTruncationIsAnError) {
  const std::string object = pickle(pickled_dict({{"t", pickled(TorchTensor())}}));
  for (const std::string& audio : {torch_archive(object, {{"0", six_floats()}}),
                                   torch_stream(object, {{"0", six_floats()}})}) {
    EXPECT_NO_THROW(parse_malformed(audio));
    for (std::size_t length = 0; length < audio.size(); ++length) {
      EXPECT_ERROR(ErrorKind::format, parse_malformed(audio.substr(0, length)));
    }
  }
}

// Each level refers to the one below a thousand times: 10^12 values in 4,000 opcodes.
TEST(MalformedPyTorch, StopsAtExponentiallyNestedValues) {
  std::string level = pickled_list({pickled(1)});
  for (int depth = 1; depth <= 4; ++depth) {
    const std::string memo(1, static_cast<char>(depth));
    level += "q" + memo + "](";
    for (int times = 0; times < 1000; ++times) level += "h" + memo;
    level += "e\x86";  // takes the values below it on the stack as its content
  }
  EXPECT_ERROR_SAYING(ErrorKind::format, parse_malformed(torch_archive(pickle(level), {})),
                      "contains more than 4000000 nested values");
}

}  // namespace
}  // namespace attnscope
