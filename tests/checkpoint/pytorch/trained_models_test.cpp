// Trained torch.save checkpoints whose attention has known properties. The checkpoints are not part
// of the repository: without them the tests are skipped.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const std::string kModels = source_path("../shared/models/");

template <class T>
std::vector<T> values_of(const Checkpoint& file, const std::string& name) {
  const CheckpointTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error("no tensor " + name);
  std::vector<T> values(tensor->view.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor->view.bytes.data(), tensor->view.bytes.size());
  return values;
}

/// One field of every head's row: the heads of layer 0, then of layer 1, ...
std::vector<double> field_of(const json& report, const char* field) {
  std::vector<double> values;
  for (const json& row : report.at("rows")) {
    if (row.contains(field)) values.push_back(row.at(field).get<double>());
  }
  return values;
}

// The config comes from the checkpoint's hyperparameters. The expected values come from a notebook
// on the same model.
TEST(TrainedPyTorch, DaisyMapsHaveTheExpectedRanksAndEnergyColumns) {
  const std::string folder = kModels + "daisy-tiny/";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  const Checkpoint expected = Checkpoint::open(folder + "expected.safetensors");
  const auto report = [&](const char* sequences) {
    return report_of({"attention", folder + "checkpoint.pt", "--token-file",
                      folder + "tokens_000000.bin", "--sequences", sequences, "--length", "32",
                      "--consecutive"});
  };
  const json one = report("1"), eight = report("8");
  const auto whole = [](const std::vector<std::int64_t>& counts) {
    return std::vector<double>(counts.begin(), counts.end());
  };
  const auto mean = [](const std::vector<float>& means) {
    return std::vector<double>(means.begin(), means.end());
  };
  EXPECT_EQ(field_of(one, "energy_rank"), whole(values_of<std::int64_t>(expected, "rank90")));
  EXPECT_EQ(field_of(one, "energy_columns"), whole(values_of<std::int64_t>(expected, "columns90")));
  EXPECT_EQ(field_of(eight, "energy_rank"), mean(values_of<float>(expected, "average8.rank90")));
  EXPECT_EQ(field_of(eight, "energy_columns"),
            mean(values_of<float>(expected, "average8.columns90")));
}

/// A chemical reaction: every character is one token, except the arrow `>>`.
struct Reaction {
  Words tokens = {"[CLS]"};
  std::size_t arrow = 0;  // position of the token ">>"

  explicit Reaction(const std::string& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '>') arrow = tokens.size();
      tokens.push_back(text[at] == '>' ? ">>" : text.substr(at, 1));
      if (text[at] == '>') ++at;
    }
    tokens.push_back("[SEP]");
  }

  bool is_atom(std::size_t place) const {
    return tokens[place].size() == 1 && std::isalpha(tokens[place][0]) != 0;
  }
};

/// Token ids: line numbers of the tokens in vocab.txt.
std::string ids_of(const Words& tokens, const std::string& vocabulary) {
  const Words known = lines_of(read_file(vocabulary));
  std::string ids;
  for (const std::string& token : tokens) {
    const auto found = std::find(known.begin(), known.end(), token);
    ids += (ids.empty() ? "" : ",") + std::to_string(found - known.begin());
  }
  return ids;
}

// RXNMapper derives its atom mapping from this head. The product joins the two reactants at the
// atom that iodine was bound to. Source: Schwaller et al., "Extraction of organic chemistry grammar
// from unsupervised learning of chemical reactions", Science Advances 2021.
TEST(TrainedPyTorch, RxnmapperHeadMapsProductAtomsToReactantAtoms) {
  const std::string folder = kModels + "rxnmapper-albert/";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  const std::string iodide = "CC(C)I", amine = "Nc1cccc2c1CCO2";
  const Reaction reaction(iodide + ".CCN(CC)CC.CO." + amine + ">>CC(C)" + amine);
  const TempFolder out;
  const std::string maps_file = (out.path() / "maps.safetensors").string();
  output_of({"attention", folder, "--tokens", ids_of(reaction.tokens, folder + "vocab.txt"),
             "--layers", "10", "--maps", maps_file, "--quiet"});
  const auto maps = values_of<float>(Checkpoint::open(maps_file), "attentions");

  const std::size_t tokens = reaction.tokens.size();
  ASSERT_EQ(maps.size(), 8 * tokens * tokens);
  const float* map = maps.data() + 5 * tokens * tokens;
  const std::size_t first_of_amine = reaction.arrow - amine.size();
  int atoms = 0;
  for (std::size_t product = reaction.arrow + 1; product + 1 < tokens; ++product) {
    if (!reaction.is_atom(product)) continue;
    std::size_t most = 1;
    for (std::size_t reactant = 1; reactant < reaction.arrow; ++reactant) {
      const float* row = map + product * tokens;
      if (reaction.is_atom(reactant) && row[reactant] > row[most]) most = reactant;
    }
    const std::size_t place = product - reaction.arrow - 1;  // position within the product
    const std::size_t kept = iodide.size() - 1;              // atoms without iodine
    EXPECT_EQ(most, place < kept ? 1 + place : first_of_amine + place - kept)
        << reaction.tokens[product] << " at " << place;
    ++atoms;
  }
  EXPECT_EQ(atoms, 13);
}

}  // namespace
}  // namespace attnscope::test
