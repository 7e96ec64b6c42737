// `explain` with words of the field: the command, option or field that answers a task is among the
// first hits.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

struct Task {
  const char *query, *answer;
};

/// Tasks in the words of papers and of TransformerLens, with what answers them.
constexpr Task kTasks[] = {
    {"effective rank", "effective_rank"},
    {"attention sink", "sink_mass"},
    {"path patching", "ablate MODEL --prompts FILE --sender"},
    {"direct-path ablation", "ablate MODEL --induction --receiver"},
    {"logit lens", "lens MODEL"},
    {"activation patching", "ablate MODEL --prompts"},
    {"causal tracing", "ablate MODEL --prompts"},
    {"direct logit attribution", "predict MODEL --attribution"},
    {"mean ablation", "ablate MODEL"},
    {"head importance", "ablate MODEL"},
    {"induction heads", "attention MODEL --induction"},
    {"previous-token head", "previous_token"},
    {"copy suppression", "copying_score"},
    {"OV circuit", "circuits MODEL"},
    {"W_QK", "circuits MODEL"},
    {"composition score", "circuits MODEL --composition"},
    {"singular values", "spectrum MODEL --values"},
    {"explained variance", "energy_rank"},
    {"Marchenko-Pastur", "random_energy_rank"},
    {"stable rank", "stable_rank"},
    {"attention entropy", "entropy"},
    {"rank collapse", "attention MODEL"},
    {"massive activations", "max_activation"},
    {"perplexity", "--perplexity"},
    {"fill-mask", "predict MODEL"},
    {"hidden states", "predict MODEL --text TEXT --save"},
    {"LoRA", "diff BASE FINETUNED"},
    {"task vector", "diff BASE FINETUNED"},
    {"head pruning", "plan MODEL --method heads"},
    {"low-rank factorization", "plan MODEL --method low-rank"},
    {"KV cache", "kv-heads"},
    {"multi-head latent attention", "mla"},
    {"router load balancing", "experts MODEL"},
    {"LayerNorm folding", "circuits MODEL --fold-norm"},
    {"null space", "rank_drop"},
    {"attention pattern", "attention MODEL --text TEXT --heatmap"},
    {"full QK circuit", "directions MODEL --matrix qk"},
    {"sliding window perplexity", "--perplexity"},
    {"masked language modeling", "predict MODEL"},
    {"run_with_cache", "--save"},
    {"unembed singular vectors", "directions MODEL"},
    {"LoRA adapter", "diff BASE FINETUNED"},
    {"SVD low-rank approximation", "low-rank"},
    {"d_model n_heads", "info MODEL"},
    {"dump W_O to numpy", "matrix MODEL"},
    {"zero ablation", "--ablation zero"},
    {"effective rank of W_Q", "effective_rank"},
    {"stable rank of W_OV", "spectrum MODEL --matrix"},
    {"prune heads", "plan MODEL --method heads"},
    {"convert MHA to GQA", "plan MODEL --method kv-heads"},
    {"convert to MLA", "plan MODEL --method mla"},
    {"tuned lens", "not supported"},
    {"attribution patching", "not supported"},
    {"int8 quantization error", "not supported"},
    {"CKA between heads", "not supported"},
    {"tokenize a prompt", "predict MODEL --text"},
    {"name mover heads", "predict MODEL --attribution"},
    {"center_writing_weights", "circuits MODEL --fold-norm=centered"},
    {"download from hub", "spectrum ORG/NAME@REVISION"},
    {"server port", "serve --port"},
    {"residual stream norm", "predict MODEL --text TEXT --save"},
    {"limit memory", "--memory"},
    {"QK circuit singular values", "spectrum MODEL --values"},
    {"weightwatcher alpha", "not supported"},
    {"LASER", "plan MODEL --method low-rank"},
    {"wanda", "not supported"},
    {"exit code", "exit codes of all commands"},
    {"run on GPU", "not supported"},
    {"merge similar experts", "plan MODEL --method experts"},
    {"load PEFT adapter", "diff BASE FINETUNED"},
    {"merge_and_unload", "diff BASE FINETUNED"},
    {"HF_TOKEN", "spectrum ORG/NAME@REVISION"},
    {"num_key_value_heads", "info MODEL"},
    {"prepend_bos", "--no-special-tokens"},
    {"hook_resid_post", "predict MODEL --text TEXT --save"},
    {"linear CKA between layers", "CKA: not supported"},
    {"truncated SVD keep 90% energy", "plan MODEL --method low-rank"},
    {"ablate single head L5H1", "ablate MODEL --text-file FILE"},
    {"top-k next-token probabilities", "predict MODEL --text TEXT --top"},
    {"MLP neurons", "neurons: not supported"},
    {"bnb 4-bit", "quantization: not supported"},
    {"save attention patterns npz", "attention MODEL --text TEXT --maps"},
    {"interactive attention visualization html", "report MODEL"},
    {"perplexity of a text file", "predict MODEL --text-file FILE --perplexity"},
    {"checkpoint trajectory", "spectrum ORG/NAME@step*"},
};

class ExplainSearch : public ::testing::TestWithParam<Task> {};

TEST_P(ExplainSearch, FindsTheAnswerAmongTheFirstThreeHits) {
  const auto& [query, answer] = GetParam();
  const std::string text = output_of({"explain", query});
  std::string first;  // names of hits are not indented
  int names = 0;
  for (const std::string& line : lines_of(text)) {
    if (line.empty() || line.front() == ' ') continue;
    if (++names > 3) continue;
    first += line + "\n";
  }
  EXPECT_TRUE(contains(first, answer)) << query << "\n" << text;
}

INSTANTIATE_TEST_SUITE_P(Tasks, ExplainSearch, ::testing::ValuesIn(kTasks));

TEST(CliExplainSearch, IgnoresCaseHyphensAndPlurals) {
  const std::string one = output_of({"explain", "induction head"});
  EXPECT_EQ(output_of({"explain", "Induction-Heads"}), one);
}

TEST(CliExplainSearch, JoinsWords) {
  EXPECT_EQ(output_of({"explain", "induction", "head"}), output_of({"explain", "induction head"}));
}

TEST(CliExplainSearch, NamesTheWordsThatHaveNoEntry) {
  const std::string text = output_of({"explain", "attention xyzzy"});
  EXPECT_TRUE(text.starts_with("no entry for: xyzzy. Entries for the other words:\n")) << text;
  EXPECT_LE(lines_of(text).size(), 10u) << text;
  const json hits = json::parse(output_of({"explain", "attention xyzzy", "--format", "json"}));
  EXPECT_EQ(hits["unknown"], json::array({"xyzzy"}));
}

TEST(CliExplainSearch, EscapesUnknownWords) {
  EXPECT_TRUE(
      output_of({"explain", "\x9b\xff attention"}).starts_with("no entry for: \\x9b\\xff."));
  const json hits = json::parse(output_of({"explain", "\xff attention", "--format", "json"}));
  EXPECT_EQ(hits["unknown"], json::array({"\\xff"}));
}

TEST(CliExplainSearch, HitsCanBeJson) {
  const json hits = json::parse(output_of({"explain", "path patching", "--format", "json"}));
  ASSERT_FALSE(hits["matches"].empty());
  EXPECT_TRUE(contains(hits["matches"][0]["name"].get<std::string>(), "--receiver"));
  EXPECT_FALSE(hits["matches"][0]["meaning"].get<std::string>().empty());
}

}  // namespace
}  // namespace attnscope::test
