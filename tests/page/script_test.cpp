#include "attnscope/page/script.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

/// The result of the function f(text, first, second) of `script`.
std::string called(std::string_view script, std::string_view text = "", std::string_view first = "",
                   std::string_view second = "", const ScriptLimits& limits = {}) {
  const std::string_view buffers[] = {first, second};
  return call_script(script, "f", text, buffers, {}, limits);
}

/// The error message for a script that throws.
std::string script_failure(std::string_view script) {
  try {
    called(script);
  } catch (const Error& error) {
    ADD_FAILURE() << "not the script's own fault: " << error.what();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

TEST(Script, ReturnsTheResultOfItsFunction) {
  EXPECT_EQ(called("function f(text) { return text + '!'; }", "one"), "one!");
  EXPECT_EQ(called("globalThis.f = () => ''"), "");
  // As defined by a bundle of modules.
  EXPECT_EQ(called("(function () { 'use strict'; globalThis.f = (text) => text; })()", "two"),
            "two");
}

TEST(Script, TextsKeepEveryCharacter) {
  const std::string text = std::string("a\0b", 3) + "\n\"</script>\xE2\x80\xAE \xF0\x9F\x8E\x89";
  EXPECT_EQ(called("function f(text) { return text; }", text), text);
}

TEST(Script, BuffersArriveByteForByte) {
  const char* const script = R"(
    function f(text, first, second) {
      if (!(first instanceof ArrayBuffer)) return "no buffer";
      const bytes = new Uint8Array(first);
      for (let at = 0; at < 256; ++at) if (bytes[at] !== at) return "byte " + at;
      return bytes.length + " " + new Float32Array(second).join();
    })";
  const float numbers[] = {1.5F, -2, 0.25F};
  const std::string_view second(reinterpret_cast<const char*>(numbers), sizeof numbers);
  EXPECT_EQ(called(script, "", every_byte(), second), "256 1.5,-2,0.25");
  EXPECT_EQ(called("function f(text, first) { return String(first.byteLength); }"), "0");
}

TEST(Script, SupportsModernJavaScript) {
  EXPECT_EQ(called(R"(function f() {
    const found = new Map([["a", 1n]]).get("a") ?? 0n;
    return JSON.stringify([String(found), /(?<word>\w+)/u.exec("é b").groups.word,
                           [3, 1, 2].sort((a, b) => a - b), (12.345).toFixed(2)]);
  })"),
            R"(["1","b",[1,2,3],"12.35"])");
}

TEST(Script, HasNoAccessToTheSystem) {
  for (const char* name : {"require", "process", "std", "os", "fetch", "setTimeout", "document"}) {
    EXPECT_EQ(called("function f(name) { return typeof globalThis[name]; }", name), "undefined");
  }
  EXPECT_NE(script_failure("import * as std from 'std'; function f() { return ''; }"),
            "no failure");
}

TEST(Script, ExceptionsHaveAMessageAndALocation) {
  const std::string thrown =
      script_failure("function f() {\n  throw new RangeError('too wide');\n}");
  EXPECT_NE(thrown.find("RangeError: too wide"), std::string::npos) << thrown;
  EXPECT_NE(thrown.find(":2:"), std::string::npos) << thrown;
  EXPECT_NE(script_failure("throw 'at once'").find("at once"), std::string::npos);
  EXPECT_NE(script_failure("throw null").find("of type null"), std::string::npos);
  EXPECT_NE(script_failure("function f( {").find("SyntaxError"), std::string::npos);
  EXPECT_NE(script_failure("const g = 1;").find("script failed"), std::string::npos);
  EXPECT_NE(script_failure("function f() { return 3; }").find("script failed"), std::string::npos);
  EXPECT_NE(script_failure("function f() { return '\\ud800'; }").find("script failed"),
            std::string::npos);
  EXPECT_NE(script_failure("function f() { return f(); }").find("RangeError"), std::string::npos);
}

TEST(Script, RespectsTheTimeLimit) {
  for (const char* script : {
           "while (true) {}",
           "function f() { while (true) try { while (true) {} } catch {} }",
           "function f() { return /(a+)+$/.test('a'.repeat(60) + 'b') ? 'yes' : 'no'; }",
       }) {
    EXPECT_ERROR_SAYING(ErrorKind::unsupported, called(script, "", "", "", {.seconds = 0.2}),
                        "longer than 0.2 s");
  }
}

/// A script that uses many features, so that memory limits end it at any point.
constexpr std::string_view kBusy = R"(
  function f(text, first) {
    const rows = JSON.parse(text);
    const found = new Map();
    for (const row of rows) found.set(row.name, new Float32Array(first.slice(0, 256)));
    const cells = rows.map(({name, ...rest}) => ({...rest, name: name.replace(/a(.)/g, "<$1>")}));
    class Tree {
      constructor(children) { this.children = children; }
      *each() { yield* this.children; }
    }
    const tree = new Tree(cells.map((cell) => new Tree([cell, () => tree])));
    return JSON.stringify([...tree.each()].flatMap((one) => [...one.each()])) + found.size;
  })";

TEST(Script, RespectsTheMemoryLimit) {
  const ScriptLimits small{.memory_bytes = 16 << 20};
  for (const char* script : {
           "function f() { const all = []; for (;;) all.push(new Array(1000).fill(1)); }",
           "function f() { let text = 'x'; for (;;) text += text; }",
           "function f() { return new ArrayBuffer(1 << 30).byteLength + ''; }",
       }) {
    EXPECT_ERROR_SAYING(ErrorKind::unsupported, called(script, "", "", "", small), "16 MiB");
  }
  // Its inputs count, too.
  EXPECT_ERROR_SAYING(
      ErrorKind::unsupported,
      called("function f() { return ''; }", "", std::string(32 << 20, 'x'), "", small), "16 MiB");
}

TEST(Script, RunningOutOfMemoryIsAlwaysAnError) {
  std::string rows = "[";
  for (int row = 0; row < 1000; ++row) {
    rows += (row == 0 ? "" : ",") + std::string(R"({"name":"ab)") + std::to_string(row) +
            R"(","value":[1,2,3]})";
  }
  rows += "]";
  int refused = 0, answered = 0;
  for (std::uint64_t memory = 1000; memory < 3'000'000; memory += 30'011) {
    try {
      called(kBusy, rows, std::string(1024, 'x'), "", {.memory_bytes = memory});
      ++answered;
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(answered, 10);
}

TEST(Script, StopsOnRequest) {
  std::stop_source source;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  EXPECT_THROW(call_script("while (true) {}", "f", "", {}, source.get_token()), Stopped);
}

}  // namespace
}  // namespace attnscope
