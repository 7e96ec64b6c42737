#include "attnscope/checkpoint/pytorch/pickle.h"

#include <gtest/gtest.h>

#include "attnscope/checkpoint/pytorch/pickle_allowlist.h"
#include "tests/support/expect_error.h"
#include "tests/support/repeated_text.h"
#include "tests/support/torch_writer.h"

namespace attnscope {
namespace {

using namespace test;

Pickle read(const std::string& bytes) {
  return read_pickle(std::as_bytes(std::span(bytes)), {"file.pt", "data.pkl"});
}

std::string of_bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}

TEST(Pickle, ReadsEveryScalar) {
  const struct {
    std::string program;
    PickleKind kind;
    std::int64_t integer;
    double real;
    std::string text;
  } scalars[] = {
      {"N", PickleKind::none, 0, 0, ""},
      {of_bytes({0x88}), PickleKind::boolean, 1, 0, ""},
      {of_bytes({0x89}), PickleKind::boolean, 0, 0, ""},
      {of_bytes({'J', 0xFE, 0xFF, 0xFF, 0xFF}), PickleKind::integer, -2, 0, ""},
      {of_bytes({'K', 0xFF}), PickleKind::integer, 255, 0, ""},
      {of_bytes({'M', 0xFF, 0xFF}), PickleKind::integer, 65535, 0, ""},
      {of_bytes({0x8a, 0}), PickleKind::integer, 0, 0, ""},
      {of_bytes({0x8a, 1, 0x80}), PickleKind::integer, -128, 0, ""},
      {of_bytes({0x8a, 2, 0x80, 0x00}), PickleKind::integer, 128, 0, ""},
      {of_bytes({0x8a, 8}) + little_endian(1ull << 63, 8), PickleKind::integer, INT64_MIN, 0, ""},
      {of_bytes({0x8b, 3, 0, 0, 0, 1, 2, 3}), PickleKind::integer, 0x030201, 0, ""},
      {of_bytes({0x8a, 9}) + "123456789", PickleKind::long_integer, 0, 0, "123456789"},
      {of_bytes({'G', 0xBF, 0xF8, 0, 0, 0, 0, 0, 0}), PickleKind::real, 0, -1.5, ""},
      {pickled("word"), PickleKind::text, 0, 0, "word"},
      {of_bytes({0x8c, 2}) + "ab", PickleKind::text, 0, 0, "ab"},
      {of_bytes({0x8d, 1, 0, 0, 0, 0, 0, 0, 0}) + "a", PickleKind::text, 0, 0, "a"},
      {of_bytes({'U', 2}) + "py", PickleKind::text, 0, 0, "py"},
      {of_bytes({'T', 2, 0, 0, 0}) + "py", PickleKind::text, 0, 0, "py"},
      {of_bytes({'C', 1, 0}), PickleKind::bytes, 0, 0, std::string(1, '\0')},
      {of_bytes({'B', 1, 0, 0, 0, 7}), PickleKind::bytes, 0, 0, "\7"},
      {of_bytes({0x8e, 1, 0, 0, 0, 0, 0, 0, 0, 7}), PickleKind::bytes, 0, 0, "\7"},
      {of_bytes({0x96, 1, 0, 0, 0, 0, 0, 0, 0, 7}), PickleKind::bytes, 0, 0, "\7"},
  };
  for (const auto& [program, kind, integer, real, text] : scalars) {
    const std::string bytes = pickle(program);
    SCOPED_TRACE(testing::PrintToString(bytes));
    const Pickle got = read(bytes);
    const PickleNode& root = got.at(got.root);
    EXPECT_EQ(root.kind, kind);
    EXPECT_EQ(root.integer, integer);
    EXPECT_EQ(root.real, real);
    EXPECT_EQ(root.text, text);
    EXPECT_EQ(got.bytes, bytes.size());
  }
}

TEST(Pickle, ReadsContainersOfEveryOpcode) {
  const std::string one = of_bytes({'K', 1}), two = of_bytes({'K', 2}), three = of_bytes({'K', 3});
  const struct {
    std::string program;
    PickleKind kind;
    std::size_t items;
  } containers[] = {
      {")", PickleKind::tuple, 0},
      {"(" + one + two + "t", PickleKind::tuple, 2},
      {one + of_bytes({0x85}), PickleKind::tuple, 1},
      {one + two + of_bytes({0x86}), PickleKind::tuple, 2},
      {one + two + three + of_bytes({0x87}), PickleKind::tuple, 3},
      {"]" + one + "a(" + two + three + "e", PickleKind::list, 3},
      {"}" + one + two + "s(" + two + three + "u", PickleKind::dict, 4},
      {of_bytes({0x8f}) + "(" + one + of_bytes({0x90}), PickleKind::set, 1},
      {"(" + one + of_bytes({0x91}), PickleKind::set, 1},
  };
  for (const auto& [program, kind, items] : containers) {
    const std::string bytes = pickle(program);
    SCOPED_TRACE(testing::PrintToString(bytes));
    const Pickle got = read(bytes);
    EXPECT_EQ(got.at(got.root).kind, kind);
    EXPECT_EQ(got.at(got.root).items.size(), items);
  }
}

TEST(Pickle, StoresAndLoadsMemoEntries) {
  for (const std::string& program :
       {pickled("a") + of_bytes({'q', 7, 'h', 7, 0x86}),
        pickled("a") + of_bytes({'r', 0, 0, 0, 0xFF, 'j', 0, 0, 0, 0xFF, 0x86}),
        pickled("a") + of_bytes({0x94, 'h', 0, 0x86})}) {
    const std::string bytes = pickle(program);
    const Pickle got = read(bytes);
    const PickleNode& root = got.at(got.root);
    ASSERT_EQ(root.items.size(), 2u);
    EXPECT_EQ(root.items[0], root.items[1]);
  }
}

TEST(Pickle, AllowsAListThatContainsItself) {
  const std::string bytes = pickle(of_bytes({']', 'q', 0, 'h', 0, 'a'}));
  const Pickle got = read(bytes);
  EXPECT_EQ(got.at(got.root).items, std::vector{got.root});
}

TEST(Pickle, RecordsCallsWithoutMakingThem) {
  const std::string made = pickled_global("__main__", "Config") + ")" + of_bytes({0x81}) + "}" +
                           pickled("lr") + of_bytes({'K', 3}) + "sb";
  const std::string bytes = pickle(made);
  const Pickle got = read(bytes);
  const PickleNode& root = got.at(got.root);
  EXPECT_EQ(root.kind, PickleKind::object);
  EXPECT_EQ(got.at(root.callee).text, "__main__.Config");
  EXPECT_EQ(got.at(root.arguments).items.size(), 0u);
  EXPECT_EQ(got.at(root.state).items.size(), 2u);

  const std::string stacked = pickle(pickled("__main__") + pickled("Outer.Inner") +
                                     of_bytes({0x93}) + pickled_tuple({"N"}) + "R");
  const Pickle called = read(stacked);
  EXPECT_EQ(called.at(called.at(called.root).callee).text, "__main__.Outer.Inner");
}

TEST(Pickle, RejectsGlobalsThatNoCheckpointNeeds) {
  const struct {
    const char *module, *name;
  } globals[] = {
      {"posix", "system"},
      {"nt", "system"},
      {"os", "system"},
      {"os.path", "join"},
      {"subprocess", "Popen"},
      {"builtins", "eval"},
      {"builtins", "exec"},
      {"builtins", "getattr"},
      {"__builtin__", "eval"},
      {"__builtin__", "__import__"},
      {"importlib", "reload"},
      {"runpy", "_run_code"},
      {"sys", "exit"},
      {"socket", "socket"},
      {"shutil", "rmtree"},
      {"pickle", "loads"},
      {"_pickle", "loads"},
      {"webbrowser", "open"},
      {"pty", "spawn"},
      {"ctypes", "CDLL"},
      {"torch.storage", "_load_from_bytes"},
      {"torch.serialization", "load"},
      {"torch.jit", "load"},
      {"torch", "hub.load"},
      {"torch._utils", "_rebuild_wrapper_subclass"},
      {"collections", "OrderedDict.__class__"},
      {"collections", "namedtuple"},
      {"functools", "reduce"},
      {"operator", "attrgetter"},
      {"codecs", "decode"},
  };
  for (const auto& [module, name] : globals) {
    const std::string whole = std::string(module) + "." + name;
    EXPECT_FALSE(may_be_named(module, name)) << whole;
    for (const std::string& program :
         {pickled_global(module, name) + pickled_tuple({pickled("echo harm")}) + "R",
          pickled(module) + pickled(name) + of_bytes({0x93})}) {
      EXPECT_ERROR_SAYING(ErrorKind::format, read(pickle(program)), "file.pt: data.pkl: the pickle",
                          "names '" + whole + "'", "no code of the file was run");
    }
  }
}

TEST(Pickle, AllowsGlobalsOfTrainingPrograms) {
  const struct {
    const char *module, *name;
  } globals[] = {
      {"argparse", "Namespace"},
      {"collections", "defaultdict"},
      {"pathlib", "PosixPath"},
      {"pathlib._local", "PosixPath"},
      {"datetime", "datetime"},
      {"__builtin__", "set"},
      {"builtins", "complex"},
      {"numpy._core.multiarray", "scalar"},
      {"numpy.core.multiarray", "_reconstruct"},
      {"numpy", "dtype"},
      {"numpy", "ndarray"},
      {"__main__", "TrainingArguments"},
      {"my_project.train", "warm_up"},
      {"torch.optim.adamw", "AdamW"},
      {"torch", "device"},
      {"torch", "bfloat16"},
      {"_codecs", "encode"},
  };
  for (const auto& [module, name] : globals) {
    EXPECT_TRUE(may_be_named(module, name)) << module << "." << name;
  }
  // A name must match a whole entry of the allow-list, not a part of one.
  EXPECT_FALSE(may_be_named("torch", ""));
  EXPECT_FALSE(may_be_named("torch", "Size Tensor"));
}

TEST(Pickle, RejectsMalformedPickles) {
  const std::string audio = pickle(pickled_dict({{"a", "N"}}));
  const struct {
    std::string_view fault;
    std::string bytes;
    std::string_view said;
  } pickles[] = {
      {"empty", "", "the pickle ends early"},
      {"no STOP", "\x80\x02N", "the pickle ends early: 1 byte is needed at byte 3"},
      {"cut in a text", audio.substr(0, 8), "the pickle ends early"},
      {"protocol 6", "\x80\x06N.", "has protocol 6, expected at most 5"},
      {"text of 4 GB", pickle("X\xff\xff\xff\xff"), "ends early: 4294967295 bytes are needed"},
      {"text of 2^64 - 1 bytes", pickle("\x8d" + std::string(8, '\xff')),
       "ends early: 18446744073709551615 bytes"},
      {"bytes of 2^63", pickle("\x8e" + little_endian(1ull << 63, 8)), "ends early"},
      {"frame past the end", pickle("\x95" + little_endian(1000, 8) + "N"),
       "has a frame that exceeds the file"},
      {"global without end", "\x80\x02" + std::string("cposix"), "ends early"},
      {"nothing on the stack", pickle(""), "takes a value from an empty stack, at byte 3"},
      {"two values", pickle("NN"), "ends with more than one value"},
      {"open bracket", pickle("(N"), "ends with more than one value"},
      {"value under a bracket", pickle("N(\x85"), "takes a value from an empty stack"},
      {"bracket that was not opened", pickle("Nt"), "closes a mark that was not opened"},
      {"1001 brackets", pickle(repeated("(", 1001)), "opens more than 1000 marks"},
      {"recall of nothing", pickle("h\x05"), "recalls value 5, which is not in the memo"},
      {"recall of 2^32 - 1", pickle("j\xff\xff\xff\xff"), "recalls value 4294967295"},
      {"remembers nothing", pickle("q\x01"), "takes a value from an empty stack"},
      {"item of a tuple", pickle(")NNs"), "sets items of an object that is not a dict"},
      {"key without a value", pickle("}(Nu"), "sets a key without a value"},
      {"append to a dict", pickle("}Na"), "appends to an object that is not a list"},
      {"append to a text", pickle(pickled("a") + "Na"), "appends to an object that is not a list"},
      {"state of a list", pickle("]Nb"), "sets the state of a value that is not an object"},
      {"call with a list", pickle(pickled_global("__main__", "f") + "]R"),
       "calls a function with a value that is not a tuple"},
      {"persistent id that is no tuple", pickle(pickled("0") + "Q"),
       "calls a function with a value that is not a tuple"},
      {"global named by a number", pickle("K\x01K\x02\x93"),
       "names a global with a value that is not text"},
      {"opcode INST", pickle("(iposix\nsystem\n"), "has opcode 0x69, which is not supported"},
      {"opcode OBJ", pickle("(" + pickled_global("__main__", "f") + "o"), "opcode 0x6f"},
      {"opcode EXT1", pickle("\x82\x01"), "has opcode 0x82"},
      {"opcode PERSID", pickle("Pstorage\n"), "has opcode 0x50"},
      {"protocol 0", "(lp0\n.", "has opcode 0x6c, which is not supported, at byte 2"},
      {"no pickle", "<!DOCTYPE html>", "has opcode 0x3c"},
  };
  for (const auto& bad : pickles) {
    SCOPED_TRACE(bad.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, read(bad.bytes), "file.pt: data.pkl: the pickle",
                        bad.said);
  }
}

// Four million values of one byte each.
TEST(Pickle, StopsBeforeItFillsTheMemory) {
  EXPECT_ERROR_SAYING(ErrorKind::format, read(pickle("(" + std::string(4'000'001, 'N') + "t")),
                      "contains more than 4000000 values");
}

}  // namespace
}  // namespace attnscope
