// EXPECT_ERROR: a statement throws attnscope::Error of one kind with a printable message.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"

namespace attnscope::test {

/// `said`: texts that the message must contain, such as the file and the problem.
template <class Statement>
void expect_error(const char* file, int line, ErrorKind kind, Statement statement,
                  std::initializer_list<std::string_view> said) {
  try {
    statement();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.kind() != kind) {
      ADD_FAILURE_AT(file, line) << "an error of kind "
                                 << kErrorKinds[static_cast<std::size_t>(error.kind())].name << ": "
                                 << message;
    }
    const bool one_line = std::none_of(message.begin(), message.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    if (!one_line) ADD_FAILURE_AT(file, line) << "control bytes in the message: " << message;
    for (const std::string_view part : said) {
      if (message.find(part) != std::string_view::npos) continue;
      ADD_FAILURE_AT(file, line) << "the message lacks '" << part << "': " << message;
    }
    return;
  } catch (const std::exception& other) {
    ADD_FAILURE_AT(file, line) << "not an attnscope::Error: " << other.what();
    return;
  }
  ADD_FAILURE_AT(file, line) << "no error";
}

}  // namespace attnscope::test

#define EXPECT_ERROR(kind, statement) \
  ::attnscope::test::expect_error(__FILE__, __LINE__, kind, [&] { statement; }, {})

/// With texts that the message must contain.
#define EXPECT_ERROR_SAYING(kind, statement, ...) \
  ::attnscope::test::expect_error(__FILE__, __LINE__, kind, [&] { statement; }, {__VA_ARGS__})
