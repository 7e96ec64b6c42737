// Damaged adapters of types other than LoRA: the error names the tensor.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "attnscope/adapters/open_adapted.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

const std::filesystem::path kBase =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/adapters/base-llama";
const std::string kQuery = "base_model.model.model.layers.0.self_attn.q_proj.";

struct Damaged {
  nlohmann::json config;
  std::vector<TensorToWrite> tensors;
  std::string said;
};

void expect_refused(const Damaged& damaged) {
  const TempFolder folder;
  nlohmann::json config = damaged.config;
  config["target_modules"] = {"layers.0.self_attn.q_proj"};
  SCOPED_TRACE(config.dump() + damaged.said);
  folder.write("adapter_config.json", config.dump());
  folder.write("adapter_model.safetensors", safetensors_bytes(damaged.tensors));
  std::vector<std::string> notes;
  try {
    open_adapted_stacks(Checkpoint::open(kBase), open_adapter(folder.path()), std::nullopt, "m",
                        notes);
    ADD_FAILURE() << "is not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
    EXPECT_NE(std::string(error.what()).find(damaged.said), std::string::npos) << error.what();
  }
}

TensorToWrite of_query(const std::string& part, Shape shape) {
  return counting_tensor(kQuery + part, std::move(shape));
}

TEST(DamagedAdapter, NamesTheTensor) {
  const nlohmann::json loha = {{"peft_type", "LOHA"}, {"r", 2}, {"alpha", 2}},
                       lokr = {{"peft_type", "LOKR"}, {"r", 2}, {"alpha", 2}},
                       ia3 = {{"peft_type", "IA3"}}, boft = {{"peft_type", "BOFT"}},
                       vera = {{"peft_type", "VERA"}, {"r", 2}},
                       oft = {{"peft_type", "OFT"}, {"r", 0}, {"oft_block_size", 4}},
                       adalora = {{"peft_type", "ADALORA"}, {"init_r", 2}, {"lora_alpha", 2}};
  const Damaged cases[] = {
      {loha, {of_query("hada_w1_a", {8, 2})}, "hada_w1_b' is missing"},
      {loha,
       {of_query("hada_w1_a", {8, 3}), of_query("hada_w1_b", {3, 8}), of_query("hada_w2_a", {8, 3}),
        of_query("hada_w2_b", {3, 8})},
       "rank 3"},
      {lokr, {of_query("lokr_w1", {2, 2})}, "lokr_w2' is missing"},
      {lokr, {of_query("lokr_w1", {2, 2}), of_query("lokr_w2", {4, 3})}, "[4, 3]"},
      {lokr,
       {of_query("lokr_w1", {2, 2}), of_query("lokr_w2_a", {4, 1}), of_query("lokr_w2_b", {1, 4})},
       "rank 1"},
      {ia3, {of_query("ia3_l", {7, 1})}, "[7, 1]"},
      {ia3, {of_query("ia3_l", {1, 9})}, "[1, 9]"},
      {boft, {of_query("boft_R", {1, 2, 4, 4})}, "boft_s' is missing"},
      {boft, {of_query("boft_R", {1, 3, 4, 4}), of_query("boft_s", {8, 1})}, "[1, 3, 4, 4]"},
      {boft, {of_query("boft_R", {4, 2, 4, 4}), of_query("boft_s", {8, 1})}, "[4, 2, 4, 4]"},
      {boft, {of_query("boft_R", {59, 4, 2, 2}), of_query("boft_s", {8, 1})}, "[59, 4, 2, 2]"},
      {oft, {of_query("oft_R.weight", {2, 5})}, "[2, 5]"},
      {oft, {of_query("oft_R.weight", {3, 6})}, "[3, 6]"},
      {vera, {of_query("vera_lambda_b", {8}), of_query("vera_lambda_d", {2})}, "base_model.vera_A"},
      {vera,
       {of_query("vera_lambda_b", {8}), of_query("vera_lambda_d", {2}),
        counting_tensor("base_model.vera_A", {2, 7}), counting_tensor("base_model.vera_B", {8, 2})},
       "[2, 7]"},
      {adalora,
       {of_query("lora_A", {2, 8}), of_query("lora_B", {8, 2}), of_query("lora_E", {3, 1})},
       "[3, 1]"},
      {adalora, {of_query("lora_A", {2, 8}), of_query("lora_B", {8, 2})}, "lora_E' is missing"},
  };
  for (const Damaged& damaged : cases) expect_refused(damaged);
}

/// A VeRA adapter without projections declares their rank: nothing is drawn before it is checked.
TEST(DamagedAdapter, ChecksRanksBeforeItDrawsProjections) {
  expect_refused({{{"peft_type", "VERA"}, {"r", 1000000000}, {"save_projection", false}},
                  {of_query("vera_lambda_b", {8}), of_query("vera_lambda_d", {2})},
                  "vera_lambda_d"});
}

}  // namespace
}  // namespace attnscope::test
