// The data of a report page, as read by tests.
#pragma once

#include <cstring>
#include <map>

#include <zlib.h>

#include "tests/support/program.h"

namespace attnscope::test {

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) throw std::runtime_error("no base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return out;
}

inline std::string from_gzip(const std::string& file) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::runtime_error("no zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  std::string out, room(1 << 20, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(room.data(), room.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("no gzip");
  return out;
}

/// A written report and the unpacked data of its page.
struct ReportPage {
  std::string html;
  json results;
  std::vector<float> values;
  std::string maps;

  explicit ReportPage(std::string text) : html(std::move(text)) {
    results = json::parse(block("results"));
    const std::string planes = block("values");
    const std::size_t count = planes.size() / 4;
    for (std::size_t at = 0; at < count; ++at) {
      char bytes[4];
      for (std::size_t plane = 0; plane < 4; ++plane) bytes[plane] = planes[plane * count + at];
      std::memcpy(&values.emplace_back(), bytes, 4);
    }
    maps = block("maps");
  }

  /// The section with this id. Fails if there is not exactly one.
  const json& part(const std::string& id) const {
    static const json none = json::object();
    const json* found = &none;
    int count = 0;
    for (const json& part : results.at("reports")) {
      if (part.at("id") != id) continue;
      found = &part;
      ++count;
    }
    EXPECT_EQ(count, 1) << id;
    return *found;
  }

  /// The names of the models that have this section.
  Words models_with(const std::string& id) const {
    Words models;
    for (const json& part : results.at("reports")) {
      if (part.at("id") == id) models.push_back(part.at("model"));
    }
    return models;
  }

  /// The skipped entries of a model, by section id.
  std::map<std::string, json> left_out_of(const std::string& model) const {
    std::map<std::string, json> entries;
    for (const json& entry : results.at("skipped")) {
      if (entry.at("model") == model) entries[entry.at("part")] = entry;
    }
    return entries;
  }

  /// The numbers that a row refers to.
  std::vector<double> numbers(const json& place) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < place.at("length"); ++i) {
      out.push_back(static_cast<double>(values.at(place.at("at").get<std::size_t>() + i)));
    }
    return out;
  }

 private:
  std::string block(const std::string& id) const {
    const std::string start = "id=\"" + id + "\">";
    const std::size_t at = html.find(start);
    if (at == std::string::npos) throw std::runtime_error("no block " + id);
    const std::size_t begin = at + start.size();
    return from_gzip(from_base64(html.substr(begin, html.find('<', begin) - begin)));
  }
};

/// Writes the report of these arguments to a file in `folder`. Without `notes`, stderr must be
/// empty. Otherwise `notes` receives stderr, which must contain only notes.
inline ReportPage report_page(const TempFolder& folder, const Words& words,
                              std::string* notes = nullptr) {
  const auto path = folder.path() / "report.html";
  const Words command = Words{"report"} + words + Words{"-o", path.string()};
  SCOPED_TRACE(command_text(command));
  const RunResult run = run_attnscope(command);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const std::string& line : lines_of(run.err)) {
    EXPECT_TRUE(line.starts_with("attnscope: note: ")) << line;
  }
  if (notes == nullptr) {
    EXPECT_EQ(run.err, "");
  } else {
    *notes = run.err;
  }
  return ReportPage(read_file(path));
}

}  // namespace attnscope::test
