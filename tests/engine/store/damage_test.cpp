// A damaged file gives the rows that were written, or an error.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "attnscope/base/error.h"
#include "tests/engine/store/store_fixture.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

constexpr std::size_t kPage_bytes = 4096;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DamagedStore : public StoreTest {
 protected:
  /// Sets of several analyses, parameters, models and runs, on dozens of pages.
  void write_sets() const {
    Store store = open();
    for (const double threshold : {0.5, 0.9}) {
      StoredRun asked = run(threshold);
      asked.models.push_back(asked.models[0]);
      asked.models[1].path = "/other/w.safetensors";
      for (std::int64_t layer = 0; layer < 12; ++layer) {
        if (layer % 4 == 0) {
          asked.parameters = {{"layers", layer}};
          store.begin(asked);
        }
        for (std::size_t model = 0; model < 2; ++model) {
          std::vector<StoredPlace> places = place(layer);
          places[0].model = model;
          store.save(std::to_string(layer * 2) + std::to_string(model) + std::string(300, 'i'),
                     outcomes(static_cast<double>(layer)), places);
        }
      }
    }
  }

  /// Everything that an export can print.
  static std::string text_of(Store& store) {
    std::string text;
    const auto add = [&](const Record& record) { text += record_text(record) + "\n"; };
    for (const Store::SetEntry& entry : store.sets()) {
      const ReadSet set = read_set(store, entry.id);
      text += set.analysis.name + set.analysis.command + std::to_string(entry.id);
      add(set.analysis.parameters);
      for (const Record& parameters : set.parameters) add(parameters);
      for (const StoredModel& model : set.models) {
        text += model.path + model.description + model.name;
        add(model.facts);
      }
      for (const StoredRows& rows : set.rows) {
        text += std::to_string(rows.model) + " " + std::to_string(rows.layer.value_or(-1)) + " " +
                rows.matrix + " " + std::to_string(rows.position);
        for (const Outcome& outcome : rows.outcomes) {
          add(outcome.fields);
          text += std::to_string(outcome.head.value_or(-1)) + outcome.skipped + outcome.note;
        }
      }
    }
    return text;
  }
};

/// Damage by a disk, a copy or a transfer: changed bytes, changed pages or a truncated file.
std::string damage(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const std::size_t pages = bytes.size() / kPage_bytes;
  const auto page = [&](std::size_t number) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(number * kPage_bytes);
  };
  switch (below(6)) {
    case 0:  // single bits
      for (std::size_t count = 1 + below(64); count > 0; --count) {
        char& byte = bytes[below(bytes.size())];
        byte = static_cast<char>(byte ^ (1 << below(8)));
      }
      break;
    case 1: {  // consecutive bytes
      const std::size_t at = below(bytes.size()), count = 1 + below(64);
      for (std::size_t byte = at; byte < std::min(at + count, bytes.size()); ++byte) {
        bytes[byte] = static_cast<char>(random());
      }
      break;
    }
    case 2:  // the header of a page: its type and its cell count
      bytes[below(pages) * kPage_bytes + below(16)] = static_cast<char>(random());
      break;
    case 3: std::fill_n(page(below(pages)), kPage_bytes, '\0'); break;
    case 4: bytes.resize(below(2) == 0 ? below(bytes.size()) : below(pages) * kPage_bytes); break;
    default: {
      const std::size_t one = below(pages), other = below(pages);
      if (one != other) std::swap_ranges(page(one), page(one + 1), page(other));
      break;
    }
  }
  return bytes;
}

TEST_F(DamagedStore, GivesEveryRowOrAnError) {
  write_sets();
  const std::string audio = bytes_of(path());
  std::string whole;
  {
    Store store = Store::open_to_read(path());
    ASSERT_EQ(store.sets().size(), 2u);
    whole = text_of(store);
  }
  std::mt19937_64 random(1);
  int refused = 0;
  for (int time = 0; time < 400; ++time) {
    SCOPED_TRACE(time);
    const std::string bytes = damage(audio, random);
    folder_.write("damaged", bytes);
    try {
      Store store = Store::open_to_read(path("damaged"));
      EXPECT_EQ(text_of(store), whole);
    } catch (const Error& error) {
      ++refused;
      // The error kind is unsupported if the damage hit the version number.
      EXPECT_TRUE(error.kind() == ErrorKind::format || error.kind() == ErrorKind::unsupported)
          << error.what();
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(DamagedStore, RejectsAHashThatDiffersBetweenIndexAndTable) {
  {
    Store store = open();
    store.begin(run());
    std::vector<StoredPlace> places = place(0);
    places[0].tensors[0].hash = "hash of the tensor";
    store.save("a", outcomes(), places);
  }
  // The hash is in the table and in its index, and one of the two is damaged.
  std::string bytes = bytes_of(path());
  std::size_t copies = 0;
  for (std::size_t at = 0; (at = bytes.find("hash of the tensor", at)) != std::string::npos; ++at) {
    ++copies;
    std::string damaged = bytes;
    damaged[at] = 'x';
    folder_.write("damaged", damaged);
    Store store = Store::open(path("damaged"), "1.0");
    store.begin(run());
    EXPECT_ERROR_SAYING(ErrorKind::format, store.known_tensor(file(), "w"), "damaged");
  }
  EXPECT_EQ(copies, 2u);
}

TEST_F(DamagedStore, ADamagedLogLosesOnlyTheLatestItems) {
  constexpr std::int64_t kItems = 12;
  Store store = open();
  store.begin(run());
  for (std::int64_t layer = 0; layer < kItems; ++layer) {
    store.save(std::to_string(layer), outcomes(static_cast<double>(layer)), place(layer));
  }
  const std::string log = bytes_of(path() + "-wal");
  std::mt19937_64 random(1);
  bool shorter = false;
  for (int time = 0; time < 30; ++time) {
    SCOPED_TRACE(time);
    std::string damaged = log;
    char& byte = damaged[random() % damaged.size()];
    byte = static_cast<char>(byte ^ 1);
    folder_.write("damaged", bytes_of(path()));
    folder_.write("damaged-wal", damaged);
    Store reader = Store::open_to_read(path("damaged"));
    if (reader.sets().empty()) continue;  // the damage precedes the first item
    const ReadSet set = read_set(reader, 1);
    for (std::size_t at = 0; at < set.rows.size(); ++at) {
      EXPECT_EQ(set.rows[at].layer, static_cast<std::int64_t>(at));
      expect_outcomes(set.rows[at].outcomes, outcomes(static_cast<double>(at)));
    }
    shorter = shorter || std::ssize(set.rows) < kItems;
  }
  EXPECT_TRUE(shorter);
}

}  // namespace
}  // namespace attnscope::test
