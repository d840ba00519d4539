#include <xaas/store/cache.h>
#include <xaas/store/content_store.h>

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace xaas::store {
namespace {

TEST(ContentStore, KeepsWhatWasPutOnce) {
  const auto directory = *TemporaryDirectory::create();
  const ContentStore store(directory.path());
  const Digest digest = *store.put("hello");
  EXPECT_EQ(*store.put("hello"), digest);
  EXPECT_TRUE(store.has(digest));
  EXPECT_EQ(*store.get(digest), "hello");
  EXPECT_EQ(store.get(digest_of("other")).error().kind, ErrorKind::not_found);
}

TEST(ContentStore, DamagedContentNeverLeaves) {
  const auto directory = *TemporaryDirectory::create();
  const ContentStore store(directory.path());
  const Digest digest = *store.put("hello");
  ASSERT_TRUE(write_file(store.path_of(digest), "hellO"));
  EXPECT_EQ(store.get(digest).error().kind, ErrorKind::integrity);
}

class CacheTest : public ::testing::Test {
protected:
  fs::path root() const { return directory_.path() / "cache"; }
  Cache open() const { return *Cache::open(root()); }
  // The only file that is named by the entry's digest.
  static fs::path file_of(const Cache& cache, const Digest& key) {
    return cache.root() / key.hex().substr(0, 2) / key.hex().substr(2);
  }
  static void used(const Cache& cache, const Digest& key, int seconds_ago) {
    fs::last_write_time(file_of(cache, key),
                        fs::file_time_type::clock::now() - std::chrono::seconds(seconds_ago));
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(CacheTest, KeepsValuesUnderKeys) {
  const Cache cache = open();
  const Digest key = digest_of("key");
  EXPECT_EQ(cache.get(key), std::nullopt);
  const std::string value = std::string(100000, 'a') + std::string("\0b", 2);
  ASSERT_TRUE(cache.put(key, value));
  EXPECT_EQ(cache.get(key), value);
  ASSERT_TRUE(cache.put(key, ""));
  EXPECT_EQ(open().get(key), "");
}

TEST_F(CacheTest, WhatIsDamagedIsMissing) {
  const Cache cache = open();
  const Digest key = digest_of("key");
  ASSERT_TRUE(cache.put(key, "a value that is long enough to be cut"));
  const std::string whole = *read_file(file_of(cache, key));
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(write_file(file_of(cache, key), whole.substr(0, size)));
    EXPECT_EQ(cache.get(key), std::nullopt) << size;
    std::string flipped = whole;
    flipped[size] = static_cast<char>(flipped[size] ^ 4);
    ASSERT_TRUE(write_file(file_of(cache, key), flipped));
    EXPECT_EQ(cache.get(key), std::nullopt) << size;
  }
}

TEST_F(CacheTest, AnEntryOfAnotherKeyIsMissing) {
  const Cache cache = open();
  const Digest baseline = digest_of("for the baseline"), newer = digest_of("for a newer CPU");
  ASSERT_TRUE(cache.put(baseline, "plain code"));
  ASSERT_TRUE(cache.put(newer, "newer code"));
  fs::copy_file(file_of(cache, newer), file_of(cache, baseline), fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.get(baseline), std::nullopt);
  EXPECT_EQ(cache.get(newer), "newer code");
}

TEST_F(CacheTest, PruningTakesWhatWasNotUsedForLongest) {
  const Cache cache = open();
  std::vector<Digest> keys;
  for (int i = 0; i < 4; ++i) {
    keys.push_back(digest_of("key " + std::to_string(i)));
    ASSERT_TRUE(cache.put(keys[i], "value"));
    used(cache, keys[i], 100 - i);
  }
  const uint64_t bytes = fs::file_size(file_of(cache, keys[0]));
  ASSERT_EQ(cache.get(keys[0]), "value"); // used now
  const auto left = prune({cache}, 2 * bytes);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->entries, 2u);
  EXPECT_EQ(left->bytes, 2 * bytes);
  EXPECT_TRUE(cache.get(keys[0]));
  EXPECT_FALSE(cache.get(keys[1]));
  EXPECT_FALSE(cache.get(keys[2]));
  EXPECT_TRUE(cache.get(keys[3]));
  EXPECT_EQ(prune({cache}, 0)->entries, 0u);
}

TEST_F(CacheTest, PruningSweepsWhatKilledWritersLeft) {
  const Cache cache = open();
  const fs::path old = root() / "ab" / ".xaas-tmp-old", young = root() / "ab" / ".xaas-tmp-young";
  ASSERT_TRUE(make_directories(root() / "ab"));
  ASSERT_TRUE(write_file(old, "half"));
  ASSERT_TRUE(write_file(young, "half"));
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(prune({cache}, 1000));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(CacheTest, PruningRemovesNothingElse) {
  const Cache cache = open();
  ASSERT_TRUE(cache.put(digest_of("key"), "value"));
  for (const char* name : {"notes.txt", "ab/notes.txt", "src/capture/known.cpp"}) {
    ASSERT_TRUE(make_directories((root() / name).parent_path()));
    ASSERT_TRUE(write_file(root() / name, "mine"));
  }
  const fs::path away = directory_.path() / "away";
  ASSERT_TRUE(make_directories(away));
  ASSERT_TRUE(write_file(away / digest_of("other").hex().substr(2), "mine"));
  fs::create_directory_symlink(away, root() / "cd");
  EXPECT_EQ(prune({cache}, 0)->entries, 0u);
  EXPECT_FALSE(cache.get(digest_of("key")));
  for (const char* name : {"notes.txt", "ab/notes.txt", "src/capture/known.cpp"})
    EXPECT_TRUE(fs::exists(root() / name)) << name;
  EXPECT_FALSE(fs::is_empty(away));
}

TEST_F(CacheTest, OnlyThisUserMayAddToIt) {
  const mode_t before = umask(0002);
  const Cache cache = open();
  EXPECT_TRUE(cache.put(digest_of("key"), "value"));
  umask(before);
  for (const auto& entry : fs::recursive_directory_iterator(root()))
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none)
        << entry.path();
  fs::create_directory_symlink(root(), directory_.path() / "link");
  EXPECT_FALSE(Cache::open(directory_.path() / "link"));
}

TEST_F(CacheTest, OthersMayNotWriteIt) {
  static_cast<void>(open());
  chmod(root().c_str(), 0777);
  const auto shared = Cache::open(root());
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error().kind, ErrorKind::storage);
  chmod(root().c_str(), 0755);
  EXPECT_TRUE(Cache::open(root()));
  ASSERT_TRUE(write_file(directory_.path() / "file", ""));
  EXPECT_FALSE(Cache::open(directory_.path() / "file"));
}

} // namespace
} // namespace xaas::store
