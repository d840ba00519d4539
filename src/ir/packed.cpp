// Packs bitcode so that it compresses.
//
// Bitcode (LLVM Bitcode File Format, "Bitstream Format") is a stream of records. Fields are a few bits long,
// a record starts where the last one ends, at any bit, and an operand that names another value holds the
// distance to it. So two equal records are different bytes if they start at different bits, and beside them
// stand the bits of records of another kind. A compressor finds little that repeats.
//
// Example: three stores in a function,
//
//     store i32 %a, ptr %p, align 4      STORE ptr=1 value=5 align=3 volatile=0
//     store i32 %b, ptr %q, align 4      STORE ptr=2 value=5 align=3 volatile=0
//     store i32 %c, ptr %r, align 4      STORE ptr=3 value=5 align=3 volatile=0
//
// are records that start at different bits, so hardly a byte of one equals a byte of another. Packed, they
// are columns, one for each operand of this kind of record: 1 2 3 | 5 5 5 | 3 3 3 | 0 0 0, each value in
// bytes (LEB128). Which record follows which is a column of its own, for each kind of block. A column is
// stored as differences of successive values if these are distributed less evenly: for the first one, that
// is 1 1 1 (2 2 2 in zigzag encoding).
//
// Packing knows the grammar of the bitstream only: blocks, abbreviations, records. It does not know what
// records mean, so a new version of LLVM, with new records, is packed like this one. One walk over the
// grammar serves both directions: each field that it comes to is read from the bits and added to a column, or
// is taken from the column and written as bits. Which column that is depends on what the walk has seen, so
// columns have no names: they are stored in the order in which the walk first needs them.
//
//     packed := "XBC1" count { size << 1 | differences }*count { column }*count
//
// Numbers are LEB128. Fields that follow from the others are not stored: the sizes of blocks, and padding.
//
// Rejected:
// - Knowing what operands mean (values as numbers from the function's start, branches relative to the current
//   block): 1 to 10 % smaller, for tables of LLVM's records, which change.
// - Columns over all modules of a layer: 6 to 10 % smaller; but then reading one module unpacks all of them.
// - Bitcode with other abbreviations, whose fields are bytes. LLVM would read it as it is, but arrays have
//   lengths of six bits, and a module's offsets to its functions would have to be computed anew.
// - LLVM's textual form, compressed: as small as bitcode, and slow to read.
#include <xaas/ir/packed.h>

#include <llvm/Bitstream/BitCodeEnums.h>
#include <llvm/Bitstream/BitCodes.h>
#include <llvm/Bitstream/BitstreamReader.h>
#include <llvm/Bitstream/BitstreamWriter.h>
#include <llvm/Support/LEB128.h>
#include <llvm/Support/MathExtras.h>

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

namespace xaas::ir {

namespace {

constexpr std::string_view magic = "XBC1";
constexpr std::string_view bitcode_magic = "BC\xC0\xDE";
constexpr unsigned top_level_width = 2; // of abbreviation ids outside of blocks
constexpr unsigned deepest = 32;        // blocks in blocks; LLVM's own are four deep
constexpr size_t most_columns = 1 << 16;
constexpr size_t most_fields = 128; // of an abbreviation; literals cost a record nothing, but time

uint64_t zigzag(uint64_t difference) {
  return difference << 1 ^ (difference >> 63 ? ~uint64_t(0) : 0);
}
uint64_t from_zigzag(uint64_t value) {
  return value >> 1 ^ (value & 1 ? ~uint64_t(0) : 0);
}

void append(std::string& bytes, uint64_t value) {
  if (value < 128) { // nearly always
    bytes += static_cast<char>(value);
    return;
  }
  std::array<uint8_t, 10> buffer;
  const unsigned size = llvm::encodeULEB128(value, buffer.data());
  bytes.append(reinterpret_cast<const char*>(buffer.data()), size);
}

// log2(value) in 1/256, the same on every machine.
uint64_t logarithm(uint64_t value) {
  const unsigned whole = llvm::Log2_64(value);
  return uint64_t(whole) << 8 | ((value << (63 - whole)) >> 55 & 0xff);
}

// The bits, in 1/256, that coding each byte by its frequency takes.
uint64_t entropy(std::string_view bytes) {
  std::array<uint64_t, 256> counts{};
  for (const char byte : bytes)
    ++counts[static_cast<uint8_t>(byte)];
  uint64_t bits = 0;
  for (const uint64_t count : counts)
    if (count)
      bits += count * (logarithm(bytes.size()) - logarithm(count));
  return bits;
}

// The slots of a kind of record, or of a kind of block.
enum Slot : unsigned {
  structure,          // of a block: ids of abbreviations, and what introduces blocks and records
  definitions,        // of a block: its abbreviations
  sizes = 0,          // of a record: the numbers of operands of arrays and blobs
  blobs,              // of a record: contents of blobs
  first_operand,      // of a record: operands, each its own slot
  last_operands = 10, // and beyond, in turn, because longer records mostly are lists of pairs
  slots = last_operands + 2,
};
constexpr uint64_t no_code = 0xffffffff; // in place of a code: the block itself
constexpr uint64_t no_block = 1 << 16;   // outside of blocks; greater than the id of any

unsigned operand_slot(size_t operand) {
  return operand < last_operands - first_operand ? first_operand + static_cast<unsigned>(operand)
                                                 : last_operands + operand % 2;
}

// From bits to columns.
class Packer {
public:
  struct Column {
    std::string values, differences;
    uint64_t last = 0;
  };

  explicit Packer(std::string_view bitcode) : cursor_(llvm::StringRef(bitcode)) {
    take(cursor_.Read(8 * bitcode_magic.size()));
  }

  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  bool at_end(Column*&) { return cursor_.AtEndOfStream(); }

  uint64_t fixed(Column*& column, unsigned width) { return add(column, take(cursor_.Read(width))); }
  uint64_t vbr(Column*& column, unsigned width) { return add(column, take(cursor_.ReadVBR64(width))); }
  void blob(Column*& column, uint64_t size) {
    align();
    const uint64_t start = cursor_.getCurrentByteNo();
    const llvm::ArrayRef<uint8_t> all = cursor_.getBitcodeBytes();
    if (failed_ || size > all.size() - start)
      return fail();
    make(column).values.append(reinterpret_cast<const char*>(all.data() + start), size);
    if (llvm::Error error = cursor_.JumpToBit((start + size) * 8))
      drop(std::move(error));
    align();
  }
  void align() {
    if (!cursor_.AtEndOfStream())
      cursor_.SkipToFourByteBoundary();
  }
  // The size of a block, in words.
  uint64_t start_block() {
    align();
    take(cursor_.Read(32));
    return 0;
  }
  void end_block(uint64_t) { align(); }

  std::string finish() {
    std::string packed(magic);
    append(packed, columns_.size());
    for (Column& column : columns_) {
      const bool differences =
          !column.differences.empty() && entropy(column.differences) < entropy(column.values);
      if (differences)
        column.values = std::move(column.differences);
      append(packed, column.values.size() << 1 | uint64_t(differences));
    }
    for (const Column& column : columns_)
      packed += column.values;
    return packed;
  }

private:
  uint64_t take(llvm::Expected<uint64_t> value) {
    if (value)
      return *value;
    drop(value.takeError());
    return 0;
  }
  void drop(llvm::Error error) {
    llvm::consumeError(std::move(error));
    fail();
  }
  Column& make(Column*& column) {
    if (!column) {
      if (columns_.size() == most_columns)
        fail();
      column = &columns_.emplace_back();
    }
    return *column;
  }
  uint64_t add(Column*& slot, uint64_t value) {
    if (failed_)
      return 0;
    Column& column = make(slot);
    append(column.values, value);
    append(column.differences, zigzag(value - column.last));
    column.last = value;
    return value;
  }

  llvm::SimpleBitstreamCursor cursor_;
  std::deque<Column> columns_;
  bool failed_ = false;
};

// From columns to bits.
class Unpacker {
public:
  struct Column {
    const uint8_t* at = nullptr;
    const uint8_t* end = nullptr;
    bool differences = false;
    uint64_t last = 0;
  };

  Unpacker(std::string_view packed, uint64_t limit)
      : limit_(limit), bits_(bitcode_magic.begin(), bitcode_magic.end()), writer_(bits_) {
    find_columns(packed);
  }

  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  bool at_end(Column*& slot) {
    if (bits_.size() > limit_)
      fail();
    if (!slot && used_ == columns_.size())
      return true;
    const Column& column = make(slot);
    return column.at == column.end;
  }

  uint64_t fixed(Column*& column, unsigned width) {
    const uint64_t value = next(column);
    if (value >> width || bits_.size() > limit_)
      fail();
    if (failed_)
      return 0;
    writer_.Emit(static_cast<uint32_t>(value), width);
    return value;
  }
  uint64_t vbr(Column*& column, unsigned width) {
    const uint64_t value = next(column);
    if (bits_.size() > limit_)
      fail();
    if (failed_)
      return 0;
    writer_.EmitVBR64(value, width);
    return value;
  }
  void blob(Column*& slot, uint64_t size) {
    align();
    Column& column = make(slot);
    if (failed_ || size > uint64_t(column.end - column.at) || size > limit_)
      return fail();
    bits_.append(column.at, column.at + size);
    column.at += size;
    bits_.resize(llvm::alignTo(bits_.size(), 4));
  }
  void align() { writer_.FlushToWord(); }
  uint64_t start_block() {
    align();
    const uint64_t start = writer_.GetCurrentBitNo();
    writer_.Emit(0, 32);
    return start;
  }
  void end_block(uint64_t start) {
    align();
    writer_.BackpatchWord(start, static_cast<uint32_t>((writer_.GetCurrentBitNo() - start) / 32 - 1));
  }

  // Nothing if a column has something left.
  std::optional<std::string> finish() {
    writer_.FlushToWord();
    for (const Column& column : columns_)
      failed_ |= column.at != column.end;
    if (failed_)
      return std::nullopt;
    return std::string(bits_.data(), bits_.size());
  }

private:
  void find_columns(std::string_view packed) {
    const auto* at = reinterpret_cast<const uint8_t*>(packed.data());
    const uint8_t* const end = at + packed.size();
    at += magic.size();
    const uint64_t count = number(at, end);
    if (count > most_columns)
      return fail();
    columns_.resize(count);
    std::vector<uint64_t> sizes;
    for (Column& column : columns_) {
      const uint64_t size = number(at, end);
      column.differences = size & 1;
      sizes.push_back(size >> 1);
    }
    for (size_t i = 0; i < count && !failed_; ++i) {
      if (sizes[i] > uint64_t(end - at))
        return fail();
      columns_[i].at = at;
      columns_[i].end = at += sizes[i];
    }
    if (at != end)
      fail();
  }
  uint64_t number(const uint8_t*& at, const uint8_t* end) {
    if (at != end && *at < 128) // nearly always
      return *at++;
    unsigned size = 0;
    const char* error = nullptr;
    const uint64_t value = failed_ ? 0 : llvm::decodeULEB128(at, &size, end, &error);
    if (error)
      fail();
    else if (!failed_)
      at += size;
    return failed_ ? 0 : value;
  }
  Column& make(Column*& slot) {
    if (!slot) {
      if (used_ == columns_.size()) {
        slot = &nothing_;
        fail();
      } else {
        slot = &columns_[used_++];
      }
    }
    return *slot;
  }
  uint64_t next(Column*& slot) {
    Column& column = make(slot);
    const uint64_t value = number(column.at, column.end);
    return column.last = column.differences ? column.last + from_zigzag(value) : value;
  }

  uint64_t limit_;
  llvm::SmallVector<char, 0> bits_;
  llvm::BitstreamWriter writer_;
  std::vector<Column> columns_;
  Column nothing_;
  size_t used_ = 0;
  bool failed_ = false;
};

// The walk over the grammar. Every loop ends after a failure of the stream.
template <typename Stream> class Walk {
public:
  explicit Walk(Stream& stream) : stream_(stream) {}

  void file() {
    Block block{no_block, top_level_width, nullptr, 0, {}};
    Kind& kind = kind_of(no_block, no_code);
    while (!stream_.failed() && !stream_.at_end(kind[structure]))
      if (!item(block, kind))
        stream_.fail(); // the end of a block that has not begun
  }

private:
  using Kind = std::array<typename Stream::Column*, slots>;
  using Operand = llvm::BitCodeAbbrevOp;
  using Abbreviation = std::vector<Operand>;

  struct Block {
    uint64_t id;
    unsigned width; // of abbreviation ids
    // Abbreviations that every block with this id has: the first ones of a list that can grow meanwhile.
    const std::deque<Abbreviation>* common;
    size_t common_size;
    std::deque<Abbreviation> own;
    uint64_t described = no_block; // in the block of block descriptions: the id that they are about
  };

  // Untrusted codes of more than 32 bits may share columns; that is the same in both directions.
  Kind& kind_of(uint64_t block, uint64_t code) {
    if (kinds_.size() > most_columns)
      stream_.fail();
    return kinds_[block << 32 ^ code];
  }

  // Returns false at the end of the block.
  bool item(Block& block, Kind& kind) {
    const uint64_t id = stream_.fixed(kind[structure], block.width);
    if (stream_.failed())
      return true;
    switch (id) {
    case llvm::bitc::END_BLOCK:
      return false;
    case llvm::bitc::ENTER_SUBBLOCK:
      this->block(kind);
      break;
    case llvm::bitc::DEFINE_ABBREV:
      define(block, kind);
      break;
    case llvm::bitc::UNABBREV_RECORD:
      unabbreviated(block, kind);
      break;
    default:
      abbreviated(block, kind, id - llvm::bitc::FIRST_APPLICATION_ABBREV);
    }
    return true;
  }

  void block(Kind& outer) {
    const uint64_t id = stream_.vbr(outer[structure], llvm::bitc::BlockIDWidth);
    const uint64_t width = stream_.vbr(outer[structure], llvm::bitc::CodeLenWidth);
    if (id >= no_block || width < 2 || width > 32 || ++depth_ > deepest)
      return stream_.fail();
    const uint64_t start = stream_.start_block();
    const std::deque<Abbreviation>& common = common_[id];
    Block block{id, static_cast<unsigned>(width), &common, common.size(), {}};
    Kind& kind = kind_of(id, no_code);
    while (!stream_.failed() && item(block, kind)) {
    }
    if (!stream_.failed())
      stream_.end_block(start);
    --depth_;
  }

  void define(Block& block, Kind& kind) {
    auto field = [&](unsigned width) { return stream_.vbr(kind[definitions], width); };
    Abbreviation abbreviation;
    const uint64_t count = field(5);
    if (count > most_fields)
      return stream_.fail();
    for (uint64_t i = 0; i < count && !stream_.failed(); ++i) {
      if (stream_.fixed(kind[definitions], 1)) {
        abbreviation.emplace_back(field(8));
        continue;
      }
      const uint64_t encoding = stream_.fixed(kind[definitions], 3);
      if (!Operand::isValidEncoding(encoding))
        return stream_.fail();
      const auto valid = static_cast<Operand::Encoding>(encoding);
      const uint64_t width = Operand::hasEncodingData(valid) ? field(5) : 0;
      // LLVM reads a field without bits as zero. One of an array would make an array of any length from
      // nothing.
      if (Operand::hasEncodingData(valid) && width == 0)
        abbreviation.emplace_back(uint64_t(0));
      else if (width > 32 || (valid == Operand::VBR && width == 1))
        return stream_.fail();
      else
        abbreviation.emplace_back(valid, width);
    }
    if (block.id != llvm::bitc::BLOCKINFO_BLOCK_ID)
      block.own.push_back(std::move(abbreviation));
    else if (block.described < no_block)
      common_[block.described].push_back(std::move(abbreviation));
    else
      stream_.fail();
  }

  void unabbreviated(Block& block, Kind& kind) {
    const uint64_t code = stream_.vbr(kind[structure], 6);
    Kind& record = kind_of(block.id, code);
    const uint64_t count = stream_.vbr(record[sizes], 6);
    for (uint64_t i = 0; i < count && !stream_.failed(); ++i) {
      const uint64_t value = stream_.vbr(record[operand_slot(i)], 6);
      if (i == 0 && block.id == llvm::bitc::BLOCKINFO_BLOCK_ID && code == llvm::bitc::BLOCKINFO_CODE_SETBID)
        block.described = value;
    }
  }

  void abbreviated(Block& block, Kind& kind, uint64_t index) {
    const bool common = index < block.common_size;
    if (block.id == llvm::bitc::BLOCKINFO_BLOCK_ID ||
        (!common && index - block.common_size >= block.own.size()))
      return stream_.fail();
    const Abbreviation& abbreviation = common ? (*block.common)[index] : block.own[index - block.common_size];
    // The first field is the record's code.
    if (abbreviation.empty() || !is_scalar(abbreviation[0]))
      return stream_.fail();
    Kind& record = kind_of(block.id, scalar(abbreviation[0], kind[structure]));
    size_t operand = 0;
    for (size_t i = 1; i < abbreviation.size() && !stream_.failed(); ++i) {
      const Operand& field = abbreviation[i];
      if (is_scalar(field)) {
        scalar(field, record[operand_slot(operand++)]);
        continue;
      }
      const uint64_t count = stream_.vbr(record[sizes], 6);
      if (field.getEncoding() == Operand::Blob) {
        stream_.blob(record[blobs], count);
        continue;
      }
      if (++i == abbreviation.size() || !is_scalar(abbreviation[i]) || abbreviation[i].isLiteral())
        return stream_.fail();
      for (uint64_t n = 0; n < count && !stream_.failed(); ++n)
        scalar(abbreviation[i], record[operand_slot(operand++)]);
    }
  }

  static bool is_scalar(const Operand& field) {
    return field.isLiteral() ||
           (field.getEncoding() != Operand::Array && field.getEncoding() != Operand::Blob);
  }

  uint64_t scalar(const Operand& field, typename Stream::Column*& column) {
    if (field.isLiteral())
      return field.getLiteralValue();
    if (field.getEncoding() == Operand::Char6)
      return stream_.fixed(column, 6);
    const auto width = static_cast<unsigned>(field.getEncodingData());
    return field.getEncoding() == Operand::Fixed ? stream_.fixed(column, width) : stream_.vbr(column, width);
  }

  Stream& stream_;
  std::unordered_map<uint64_t, Kind> kinds_;                      // by block and code
  std::unordered_map<uint64_t, std::deque<Abbreviation>> common_; // by block
  unsigned depth_ = 0;
};

} // namespace

bool is_packed(std::string_view bytes) {
  return bytes.starts_with(magic);
}

Result<std::string> unpack(std::string_view packed, uint64_t limit) {
  if (is_packed(packed)) {
    Unpacker unpacker(packed, limit);
    Walk(unpacker).file();
    if (std::optional<std::string> bitcode = unpacker.finish())
      return *std::move(bitcode);
  }
  return make_error(ErrorKind::integrity, "packed bitcode is damaged");
}

std::optional<std::string> pack(std::string_view bitcode) {
  if (!bitcode.starts_with(bitcode_magic))
    return std::nullopt;
  Packer packer(bitcode);
  Walk(packer).file();
  if (packer.failed())
    return std::nullopt;
  std::string packed = packer.finish();
  // Bits that another writer chose (padding, longer encodings of a number) are not in the columns.
  const Result<std::string> again = unpack(packed, bitcode.size());
  if (!again || *again != bitcode)
    return std::nullopt;
  return packed;
}

} // namespace xaas::ir
