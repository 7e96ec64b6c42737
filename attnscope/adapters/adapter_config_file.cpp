#include "attnscope/adapters/adapter_config_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/peft/adapter_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// The keys of a top-level object in file order: PEFT uses the first match. The text must be valid
/// JSON.
class KeyOrder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit KeyOrder(std::string_view object) : object_(object) {}
  std::vector<std::string> keys;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return deeper(); }
  bool end_object() override { return higher(); }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override { return higher(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) inside_ = name == object_;
    if (depth_ == 2 && inside_) keys.push_back(name);
    return true;
  }

 private:
  bool deeper() { return ++depth_, true; }
  bool higher() { return --depth_, true; }

  std::string_view object_;
  int depth_ = 0;
  bool inside_ = false;
};

bool is_set(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.is_null() && !((value.is_object() || value.is_array()) && value.empty());
}

std::string quoted(const char* name) { return "'" + std::string(name) + "'"; }

}  // namespace

AdapterConfigFile::AdapterConfigFile(const CheckpointFolder& folder)
    : text_(folder.read_text(kAdapterConfigName, kMaxAdapterConfigBytes)),
      file_(folder.place_of(kAdapterConfigName)),
      config_(std::make_shared<const nlohmann::json>(parse_python_json(text_, file_))) {
  if (!config_->is_object()) refuse(ErrorKind::format, "is not a JSON object");
  // Even in numbers that affect no weight: a training run that wrote NaN is broken.
  for (const auto& [key, found] : config_->items()) {
    if (!found.is_number_float() || std::isfinite(found.get<double>())) continue;
    refuse(ErrorKind::format, "'" + key + "' is not a finite number");
  }
}

void AdapterConfigFile::refuse(ErrorKind kind, const std::string& problem) const {
  throw Error(kind, {.file = file_, .problem = verbatim(problem)});
}

const json& AdapterConfigFile::value(const char* name) const {
  static const nlohmann::json kNone;
  const auto found = config_->find(name);
  return found == config_->end() ? kNone : *found;
}

bool AdapterConfigFile::is_given(const char* name) const { return is_set(value(name)); }

std::vector<std::string> AdapterConfigFile::given_names() const {
  std::vector<std::string> out;
  for (const auto& [key, found] : config_->items()) {
    if (is_set(found)) out.push_back(key);
  }
  return out;
}

bool AdapterConfigFile::flag(const char* name, bool usual) const {
  const nlohmann::json& found = value(name);
  if (found.is_null()) return usual;
  if (!found.is_boolean()) refuse(ErrorKind::format, quoted(name) + " is not true or false");
  return found.get<bool>();
}

double AdapterConfigFile::number(const nlohmann::json& found, const std::string& name,
                                 bool whole) const {
  const double number = found.is_number() ? found.get<double>() : 0;
  constexpr double kMost = 1e9;
  const bool is_rank = number >= 1 && number <= kMost && number == std::floor(number);
  if (!found.is_number() || !std::isfinite(number) || (whole && !is_rank)) {
    refuse(ErrorKind::format,
           name + " is not a " + (whole ? "positive whole number" : "finite number"));
  }
  return number;
}

double AdapterConfigFile::finite(const char* name) const {
  return number(value(name), quoted(name), /*whole=*/false);
}

double AdapterConfigFile::finite(const char* name, double usual) const {
  return value(name).is_null() ? usual : finite(name);
}

std::int64_t AdapterConfigFile::positive(const char* name) const {
  return static_cast<std::int64_t>(number(value(name), quoted(name), /*whole=*/true));
}

std::int64_t AdapterConfigFile::whole(const char* name, std::int64_t usual) const {
  const nlohmann::json& found = value(name);
  return found.is_null() || found == 0 ? (found.is_null() ? usual : 0) : positive(name);
}

std::vector<PatternNumber> AdapterConfigFile::pattern_numbers(const char* name, bool whole) const {
  const nlohmann::json& found = value(name);
  if (found.is_null()) return {};
  if (!found.is_object()) refuse(ErrorKind::format, quoted(name) + " is not an object");
  KeyOrder order(name);
  nlohmann::json::sax_parse(text_, &order);
  std::vector<PatternNumber> out;
  for (const std::string& key : order.keys) {
    out.push_back({.key = key,
                   .regex = PythonRegex("(.*\\.)?(" + key + ")$", file_),
                   .number = number(found.at(key), "'" + key + "' of " + name, whole)});
  }
  return out;
}

std::vector<std::string> AdapterConfigFile::texts(const char* name) const {
  const nlohmann::json& found = value(name);
  std::vector<std::string> out;
  if (found.is_null()) return out;
  if (found.is_string()) return {found.get<std::string>()};
  const bool all = found.is_array() && std::all_of(found.begin(), found.end(),
                                                   [](const auto& one) { return one.is_string(); });
  if (!all) refuse(ErrorKind::format, quoted(name) + " is not a list of names");
  for (const nlohmann::json& one : found) out.push_back(one.get<std::string>());
  return out;
}

ModuleNames AdapterConfigFile::modules(const char* name) const {
  if (!value(name).is_string()) return {.regex = {}, .names = texts(name)};
  return {.regex = {PythonRegex(value(name).get<std::string>(), file_)}, .names = {}};
}

std::vector<std::int64_t> AdapterConfigFile::indices(const nlohmann::json& found,
                                                     const std::string& name) const {
  const auto is_index = [](const nlohmann::json& one) {
    return one.is_number_unsigned() && one.get<std::uint64_t>() < (std::uint64_t{1} << 40);
  };
  if (!found.is_array() || !std::all_of(found.begin(), found.end(), is_index)) {
    refuse(ErrorKind::format, name + " is not a list of indices");
  }
  return found.get<std::vector<std::int64_t>>();
}

}  // namespace attnscope
