// `report` skips nothing silently. Each model is handled separately. For everything that the page
// lacks, there is a note, an entry with the reason, and if possible a command that computes it.
#include "tests/features/attention/attention_model.h"
#include "tests/support/report_page.h"
#include "tests/support/shell_words.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const Words kTextParts = {"attention", "attention_excluding_first", "maps"};
const std::string kLeftOutLlama = source_path("examples/shakespeare-llama");

/// A copy that tests can change.
std::string copy_of(const std::string& model, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(model, to, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(to)) {
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
  }
  return to.string();
}

TEST(ReportSkipped, RunsTheOneOfTwoModelsThatCanBeRun) {
  const TempFolder folder;
  for (const Words& text : {Words{}, Words{"--tokens", "5,7,99,3"}}) {
    std::string notes;
    const ReportPage page =
        report_page(folder, Words{tiny_model("gpt2"), kShakespeare} + text, &notes);
    EXPECT_EQ(page.models_with("attention"), Words{"shakespeare-gpt2"});
    EXPECT_EQ(page.models_with("attention_excluding_first"), Words{"shakespeare-gpt2"});
    EXPECT_EQ(page.models_with("induction"), (Words{"gpt2", "shakespeare-gpt2"}));
    EXPECT_EQ(page.models_with("circuits"), (Words{"gpt2", "shakespeare-gpt2"}));
    EXPECT_TRUE(page.left_out_of("shakespeare-gpt2").empty()) << page.results["skipped"];
    const auto skipped = page.left_out_of("gpt2");
    for (const std::string& part : kTextParts) EXPECT_TRUE(skipped.contains(part)) << part;
    EXPECT_TRUE(contains(notes, "maps of gpt2: ")) << notes;
    EXPECT_EQ(lines_of(notes).size(), 1u) << notes;
  }
}

TEST(ReportSkipped, ABrokenTokenizerAffectsOnlyItsModel) {
  const TempFolder folder;
  const std::string broken = copy_of(kShakespeare, folder.path() / "broken");
  folder.write("broken/tokenizer.json", "{\"version\": ");
  std::string notes;
  const ReportPage page = report_page(folder, {broken, kLeftOutLlama}, &notes);
  EXPECT_EQ(page.models_with("attention"), Words{"shakespeare-llama"});
  EXPECT_EQ(page.models_with("induction"), (Words{"broken", "shakespeare-llama"}));
  EXPECT_TRUE(contains(notes, "of broken: ") && contains(notes, "tokenizer.json")) << notes;
  // On its own, the model still gives a report, and the broken file does not fail the run.
  const ReportPage alone = report_page(folder, {broken}, &notes);
  EXPECT_EQ(alone.models_with("induction"), Words{"broken"});
  EXPECT_TRUE(contains(notes, "tokenizer.json")) << notes;
}

TEST(ReportSkipped, NotesWhatWasSkipped) {
  const TempFolder folder;
  TinyLlama model;
  set_element(model.attention(1, 'q'), 5, 3, std::nanf(""));
  std::string notes;
  report_page(folder, {model.write(folder, "model"), "--tokens", "1,2"}, &notes);
  EXPECT_TRUE(contains(notes, "skipped matrices or heads of model: in spectrum (")) << notes;
  EXPECT_TRUE(contains(notes, "first: q of layer 1: holds NaN or Inf")) << notes;
}

TEST(ReportSkipped, QuietPrintsNothing) {
  const TempFolder folder;
  EXPECT_EQ(output_of({"report", tiny_model("gpt2"), "--quiet", "-o",
                       (folder.path() / "report.html").string()}),
            "");
}

TEST(ReportSkipped, AnUnreadableTextIsAnError) {
  const TempFolder folder;
  const std::string out = (folder.path() / "report.html").string();
  const std::string latin = folder.write("latin.txt", "caf\xe9").string();
  const std::string shard = folder.write("no.bin", "short").string();
  expect_refusal({"report", kShakespeare, "-o", out, "--text-file", "/nowhere"}, 3, {"/nowhere"});
  expect_refusal({"report", kShakespeare, "-o", out, "--text-file", latin}, 4,
                 {"latin.txt", "UTF-8"});
  expect_refusal({"report", kShakespeare, "-o", out, "--token-file", shard}, 4, {"no.bin"});
  expect_refusal({"report", kShakespeare, kLeftOutLlama, "-o", out, "--layers", "17"}, 2,
                 {"--layers"});
  EXPECT_FALSE(fs::exists(out));
}

/// Runs every command that a report names in a shell, in a separate folder.
void expect_that_commands_run(const Words& models_and_text) {
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(folder, models_and_text, &notes);
  Words lines = {page.results["command"]};
  for (const json& part : page.results["reports"]) {
    if (!part["again"].is_null()) lines.push_back(part["again"]);
  }
  for (const json& entry : page.results["skipped"]) {
    if (!entry["command"].is_null()) lines.push_back(entry["command"]);
    EXPECT_TRUE(contains(notes, entry["why"].get<std::string>())) << notes;
  }
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    const RunResult run = run_attnscope(shell_words(line), {.folder = folder.path()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

TEST(ReportSkipped, EveryNamedCommandRuns) {
  expect_that_commands_run({tiny_model("gpt2"), kShakespeare});
}

// The same for many models, which takes a minute.

TEST(ReportCommands, EveryNamedCommandRunsForTheExamples) {
  expect_that_commands_run({kLeftOutLlama, "--layers", "1"});
  expect_that_commands_run({kShakespeare, kLeftOutLlama, "--text",
                            "To be, or \"not\" to be: $HOME `is` !", "--layers", "0"});
  std::string tokens = "1";
  for (int i = 0; i < 255; ++i) tokens += "," + std::to_string(i);
  expect_that_commands_run(
      {kShakespeare, kLeftOutLlama, "--tokens", tokens, "--maps", "0,0", "--layers", "0"});
}

TEST(ReportCommands, EveryNamedCommandRunsForUnusualModels) {
  const TempFolder folder;
  const std::string tiny = tiny_model("gpt2");  // 16 positions, no tokenizer
  for (const char* model : {"gpt2", "bert", "roberta", "opt", "daisy_gpt2", "llama-body"}) {
    expect_that_commands_run({tiny_model(model)});
  }
  expect_that_commands_run({tiny, kShakespeare, "--text", std::string(100, 'a')});
  const std::string broken = copy_of(kShakespeare, folder.path() / "broken");
  folder.write("broken/tokenizer.json", "{");
  expect_that_commands_run({broken, tiny});
  for (const char matrix : {'q', 'o'}) {  // reports treat W_K and W_V as W_Q
    TinyLlama lacking, nan;
    std::erase_if(lacking.tensors, [&](const auto& tensor) {
      return tensor.name == TinyLlama::attention_name(1, matrix);
    });
    set_element(nan.attention(1, matrix), 1, 1, std::nanf(""));
    expect_that_commands_run({lacking.write(folder, std::string("lacking-") + matrix),
                              nan.write(folder, std::string("nan-") + matrix)});
  }
  TinyLlama all_nan(1);
  for (TensorToWrite& tensor : all_nan.tensors) {
    if (contains(tensor.name, "q_proj")) set_element(tensor, 0, 0, std::nanf(""));
  }
  expect_that_commands_run({all_nan.write(folder, "all-nan"), "--tokens", "1,2"});
}

TEST(ReportCommands, QuotesFolderNamesForTheShell) {
  const TempFolder folder;
  for (const char* name :
       {"with space", "$HOME", "`id`", "it's", "a\"b", "a;b&c|d", "#x", "~root", "-dash",
        "back\\slash", "new\nline", "(a)<b>", "bang!", "*", "caf\xc3\xa9", "{a}{{b}}"}) {
    SCOPED_TRACE(name);
    copy_of(tiny_model("gpt2"), folder.path() / name);
    const std::string model = std::string("./") + name;
    EXPECT_EQ(
        run_attnscope({"report", model, "--layers", "0", "-o", "r.html"}, {.folder = folder.path()})
            .exit_code,
        0);
    const ReportPage page(read_file(folder.path() / "r.html"));
    Words lines = {page.results["command"]};
    for (const json& part : page.results["reports"]) lines.push_back(part["again"]);
    for (const json& entry : page.results["skipped"]) lines.push_back(entry["command"]);
    for (const std::string& line : lines) EXPECT_EQ(shell_words(line).at(1), model) << line;
    const RunResult again = run_attnscope(shell_words(lines.back()), {.folder = folder.path()});
    EXPECT_EQ(again.exit_code, 0) << again.err;
  }
}

TEST(ReportCommands, EveryNamedCommandRunsForTrainedModels) {
  for (const char* name :
       {"capp-gpt2", "daisy-tiny/checkpoint.pt", "rxnmapper-albert", "stories260K"}) {
    const std::string model = source_path(std::string("../shared/models/") + name);
    if (!fs::exists(model)) GTEST_SKIP() << "there are no trained models in ../shared/models";
    expect_that_commands_run({model, tiny_model("gpt2")});
  }
}

}  // namespace
}  // namespace attnscope::test
