#include <xaas/store/cache.h>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace xaas::store {
namespace {

// A cache that somebody filled for all to read, and one of our own.
class SharedCacheTest : public ::testing::Test {
protected:
  SharedCacheTest() {
    chmod(directory_.path().c_str(), 0755);
    fs::create_directories(root());
    chmod(root().c_str(), 0755);
    const Cache filler = *Cache::open(root());
    EXPECT_TRUE(filler.put(key_, "of the site"));
  }

  fs::path root() const { return directory_.path() / "objects"; }
  fs::path entry() const { return root() / key_.hex().substr(0, 2) / key_.hex().substr(2); }
  Result<SharedCache> open(bool vouched_for = false) const {
    return SharedCache::open(root(), owners_, vouched_for);
  }
  // What is read there, or "refused".
  std::string read(bool vouched_for = false) const {
    const Result<SharedCache> cache = open(vouched_for);
    return cache ? cache->get(key_).value_or("missing") : "refused";
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  TemporaryDirectory own_ = *TemporaryDirectory::create();
  Digest key_ = digest_of("key");
  std::vector<uid_t> owners_ = {0, geteuid()};
};

TEST_F(SharedCacheTest, IsReadAfterTheOwnAndNeverWritten) {
  Cache own = *Cache::open(own_.path() / "objects");
  own.also_read(*open());
  const auto before = fs::last_write_time(entry());
  EXPECT_EQ(own.get(key_), "of the site");
  EXPECT_EQ(own.get(digest_of("other")), std::nullopt);
  ASSERT_TRUE(own.put(key_, "own"));
  EXPECT_EQ(own.get(key_), "own");
  own.remove(key_);
  EXPECT_EQ(own.get(key_), "of the site");
  ASSERT_TRUE(own.put(digest_of("other"), "own"));
  ASSERT_TRUE(prune({own}, 0));
  EXPECT_EQ(own.get(key_), "of the site");
  EXPECT_EQ(fs::last_write_time(entry()), before);
  EXPECT_EQ(SharedCache::at(root(), false).get(digest_of("other")), std::nullopt);
}

TEST_F(SharedCacheTest, EntriesAreAsOpenAsTheDirectoryThatTheyAreKeptIn) {
  const auto bits = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions()) & 0777u;
  };
  EXPECT_EQ(bits(entry()), 0644u);
  EXPECT_EQ(bits(entry().parent_path()), 0755u);
  const Cache own = *Cache::open(own_.path() / "objects");
  ASSERT_TRUE(own.put(key_, "own"));
  EXPECT_EQ(bits(own.root()), 0700u);
  EXPECT_EQ(bits(own.root() / key_.hex().substr(0, 2)), 0700u);
  EXPECT_EQ(bits(own.root() / key_.hex().substr(0, 2) / key_.hex().substr(2)), 0600u);
}

TEST_F(SharedCacheTest, WhatOthersMayWriteIsNotRead) {
  EXPECT_EQ(read(), "of the site");
  for (const fs::path& path : {directory_.path(), root(), entry().parent_path(), entry()}) {
    const bool is_entry = path == entry();
    for (const unsigned open_for : {020u, 002u}) {
      chmod(path.c_str(), (is_entry ? 0644u : 0755u) | open_for);
      EXPECT_NE(read(), "of the site") << path << " " << open_for;
      // Root may leave a cache to a group, never to everybody.
      EXPECT_EQ(read(true) == "of the site", open_for == 020) << path << " " << open_for;
    }
    chmod(path.c_str(), is_entry ? 0644 : 0755);
  }
  EXPECT_EQ(read(), "of the site");
}

TEST_F(SharedCacheTest, AStrangersIsReadOnlyIfRootVouchesForIt) {
  owners_ = {geteuid() + 1};
  const Result<SharedCache> strange = open();
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().kind, ErrorKind::storage);
  EXPECT_EQ(read(true), "of the site");
  fs::remove_all(root());
  EXPECT_EQ(open(true).error().kind, ErrorKind::not_found);
}

TEST_F(SharedCacheTest, AStrangersEntryIsNotReadInADirectoryThatIsBelieved) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(entry().c_str(), 65534, 65534), 0);
  EXPECT_EQ(read(), "missing");
  ASSERT_EQ(chown(entry().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(entry().parent_path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(read(), "missing");
}

TEST_F(SharedCacheTest, AnEntryOfAnotherKeyIsMissing) {
  const Cache filler = *Cache::open(root());
  const Digest other = digest_of("other");
  ASSERT_TRUE(filler.put(other, "another's"));
  fs::copy_file(root() / other.hex().substr(0, 2) / other.hex().substr(2), entry(),
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(read(), "missing");
}

TEST_F(SharedCacheTest, WhatIsNoEntryIsMissing) {
  const std::string whole = *read_file(entry());
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(write_file(entry(), whole.substr(0, size)));
    EXPECT_EQ(read(), "missing") << size;
  }
  ASSERT_TRUE(write_file(entry(), whole));
  EXPECT_EQ(read(), "of the site");
  fs::rename(entry(), root() / "elsewhere");
  fs::create_symlink(root() / "elsewhere", entry()); // it could lead anywhere
  EXPECT_EQ(read(), "missing");
  fs::remove(entry());
  ASSERT_EQ(mkfifo(entry().c_str(), 0644), 0); // and nobody waits for it
  EXPECT_EQ(read(), "missing");
}

} // namespace
} // namespace xaas::store
