// The descriptions of fields. tools/check_fields.py compares them with the output of commands.
#include "attnscope/rows/field.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace attnscope::test {
namespace {

TEST(Field, EveryFieldIsFullyDescribed) {
  for (const FieldLocation& location : field_locations()) {
    const Field& field = *location.field;
    SCOPED_TRACE(std::string(location.part) + " " + location.path);
    EXPECT_FALSE(field.meaning.empty());
    EXPECT_EQ(field.meaning.find('\n'), std::string::npos);
    const std::string_view page = field.where.substr(0, field.where.find('#'));
    EXPECT_TRUE(page == "metrics.md" || page == "formats.md" || page == "plan.md") << field.where;
    EXPECT_EQ(field.type == FieldType::record, !field.fields.empty());
  }
}

TEST(Field, NamesAreUniqueWithinASection) {
  std::set<std::string> seen;
  for (const FieldLocation& location : field_locations()) {
    const std::string kind(location.kind == nullptr ? "" : location.kind->name);
    const std::string name = kind + " " + std::string(location.part) + " " + location.path;
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(Field, IsFoundByItsNameAndByItsPath) {
  const auto ranks = find_fields("energy_rank");
  std::set<std::string> kinds;
  for (const FieldLocation& location : ranks) kinds.emplace(location.kind->name);
  EXPECT_EQ(kinds, (std::set<std::string>{"activations", "attention", "circuits", "diff", "experts",
                                          "mla", "spectrum", "tensor"}));

  const auto half = find_fields("kv.energy_rank");
  ASSERT_EQ(half.size(), 1u);
  EXPECT_EQ(half[0].field->form, FieldForm::by_threshold);
  EXPECT_TRUE(find_fields("energy").size() > find_fields("kv.energy").size());
  EXPECT_TRUE(find_fields("no_such_field").empty());
}

TEST(Field, TheKindOfRowsFollowsFromCommandAndParameters) {
  const struct {
    const char* command;
    Record parameters;
    const char* kind;
  } cases[] = {
      {"spectrum", {{"values", false}}, "spectrum"},
      {"spectrum", {{"mla", true}}, "mla"},
      {"spectrum", {{"tensor", "wte.weight"}}, "tensor"},
      {"circuits", {{"composition", false}}, "circuits"},
      {"circuits", {{"composition", true}}, "composition"},
      // The runs of an export may have requested several heads, which gives null.
      {"similarity", {{"head_matrix", nullptr}}, "head_matrix"},
      {"similarity", {{"overlap", true}}, "head_overlap"},
      {"info", {}, "info"},
      {"info", {{"system", true}}, "system"},
  };
  for (const auto& [command, parameters, kind] : cases) {
    EXPECT_EQ(row_kind_of(command, parameters).name, kind);
  }
  EXPECT_THROW(row_kind_of("weigths", {}), std::out_of_range);
}

TEST(Field, TheFieldsOfRowsFollowFromTheParameters) {
  const auto names_of = [](const Record& parameters) {
    std::set<std::string_view> names;
    for (const Field* field : fields_of_rows(find_row_kind("spectrum"), parameters)) {
      names.insert(field->name);
    }
    return names;
  };
  const auto usual = names_of({{"values", false}});
  EXPECT_TRUE(usual.contains("energy_rank"));
  EXPECT_FALSE(usual.contains("energy_at_rank"));
  EXPECT_FALSE(usual.contains("singular_values"));
  const auto more = names_of({{"values", true}, {"rank", Value::List{"512"}}});
  EXPECT_TRUE(more.contains("energy_at_rank"));
  EXPECT_TRUE(more.contains("singular_values"));
}

TEST(Field, HeadingsEqualThoseOfTables) {
  EXPECT_EQ(heading("circuits", "head_space_rank_drop"), "in head");
  EXPECT_EQ(heading("tensor", "spectral_norm"), "spectral norm");
  EXPECT_EQ(model_fact("kv_heads").short_heading, "key/value");
  EXPECT_THROW(heading("circuits", "no_such_field"), std::out_of_range);
  EXPECT_THROW(model_fact("no_such_fact"), std::out_of_range);
}

}  // namespace
}  // namespace attnscope::test
