#include "compression.h"

#include "blob.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace xaas::oci {

namespace {

constexpr size_t zlib_input_limit = size_t(1) << 30; // zlib counts input in 32 bits
constexpr int gzip_window_bits = 15 + 16;            // the largest window, gzip wrapping

class GzipCompressor : public Compressor {
public:
  ~GzipCompressor() override { deflateEnd(&stream_); }

  bool start() {
    // Without this header, zlib would store the operating system that it was built for.
    header_.os = 255;
    return deflateInit2(&stream_, 6, Z_DEFLATED, gzip_window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK &&
           deflateSetHeader(&stream_, &header_) == Z_OK;
  }

  Result<void> write(std::string_view data) override {
    while (!data.empty()) {
      const std::string_view piece = data.substr(0, zlib_input_limit);
      XAAS_CHECK(deflate_piece(piece, Z_NO_FLUSH));
      data.remove_prefix(piece.size());
    }
    return {};
  }

  std::string take() override { return std::exchange(compressed_, {}); }

  Result<std::string> finish() override {
    XAAS_CHECK(deflate_piece({}, Z_FINISH));
    return std::move(compressed_);
  }

private:
  Result<void> deflate_piece(std::string_view piece, int flush) {
    // zlib does not write to its input; the type lacks const only because ZLIB_CONST is not defined.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR)
        return make_error(ErrorKind::failed, "compressing a layer with zlib: inconsistent state");
      compressed_.append(buffer_.data(), buffer_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return {};
  }

  z_stream stream_{};
  gz_header header_{};
  std::string compressed_;
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

class ZstdCompressor : public Compressor {
public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) {}
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }

  bool start() {
    return context_ && !ZSTD_isError(ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, 10)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1));
  }

  Result<void> write(std::string_view data) override {
    if (begun_)
      return compress(data, ZSTD_e_continue);
    waiting_ += data;
    if (waiting_.size() < small_size)
      return {};
    begun_ = true;
    XAAS_CHECK(compress(waiting_, ZSTD_e_continue));
    waiting_ = {};
    return {};
  }

  std::string take() override { return std::exchange(compressed_, {}); }

  Result<std::string> finish() override {
    XAAS_CHECK(compress(waiting_, ZSTD_e_end));
    return std::move(compressed_);
  }

private:
  // zstd knows the size of data that come in one piece with their end, and takes tables of that size. For an
  // unknown size, it first clears those of a large input.
  static constexpr size_t small_size = size_t{1} << 20;

  Result<void> compress(std::string_view data, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{data.data(), data.size(), 0};
    while (true) {
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
      const size_t left = ZSTD_compressStream2(context_, &output, &input, directive);
      if (ZSTD_isError(left))
        return make_error(ErrorKind::failed,
                          std::string("compressing a layer with zstd: ") + ZSTD_getErrorName(left));
      compressed_.append(buffer_.data(), output.pos);
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size)
        return {};
    }
  }

  ZSTD_CCtx* context_;
  bool begun_ = false;
  std::string waiting_; // until begun_
  std::string compressed_;
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

Error cut_short(const char* format) {
  return make_error(ErrorKind::integrity, std::string("the ") + format + " data is truncated");
}

class PlainSource : public Decompressor {
public:
  explicit PlainSource(BlobPtr blob) : input_(std::move(blob)) {}
  Result<std::string_view> next() override { return input_.next(); }

private:
  BlobReader input_;
};

// Any number of concatenated gzip members, which pigz and seekable formats write.
class GzipSource : public Decompressor {
public:
  explicit GzipSource(BlobPtr blob) : input_(std::move(blob)) {}
  ~GzipSource() override { inflateEnd(&stream_); }
  bool start() { return inflateInit2(&stream_, gzip_window_bits) == Z_OK; }

  Result<std::string_view> next() override {
    while (true) {
      if (rest_.empty() && !input_ended_) {
        XAAS_TRY(rest_, input_.next());
        input_ended_ = rest_.empty();
      }
      if (rest_.empty() && member_ended_)
        return std::string_view();
      if (member_ended_)
        inflateReset(&stream_);
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(rest_.size());
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      rest_.remove_prefix(rest_.size() - stream_.avail_in);
      if (status == Z_BUF_ERROR && input_ended_)
        return cut_short("gzip");
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return make_error(ErrorKind::integrity, std::string("damaged gzip data: ") +
                                                    (stream_.msg ? stream_.msg : "no reason given"));
      member_ended_ = status == Z_STREAM_END;
      const size_t count = buffer_.size() - stream_.avail_out;
      if (count > 0)
        return std::string_view(buffer_.data(), count);
    }
  }

private:
  BlobReader input_;
  std::string_view rest_; // of the current piece
  bool input_ended_ = false;
  z_stream stream_{};
  bool member_ended_ = false;
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

class ZstdSource : public Decompressor {
public:
  explicit ZstdSource(BlobPtr blob) : context_(ZSTD_createDCtx()), input_(std::move(blob)) {}
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }
  bool start() const { return context_ != nullptr; }

  Result<std::string_view> next() override {
    while (true) {
      if (rest_.pos == rest_.size && !input_ended_) {
        XAAS_TRY(const std::string_view piece, input_.next());
        rest_ = {piece.data(), piece.size(), 0};
        input_ended_ = piece.empty();
      }
      if (rest_.pos == rest_.size && frame_ended_)
        return std::string_view();
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
      const size_t left = ZSTD_decompressStream(context_, &output, &rest_);
      if (ZSTD_isError(left))
        return make_error(ErrorKind::integrity, std::string("damaged zstd data: ") + ZSTD_getErrorName(left));
      frame_ended_ = left == 0;
      if (output.pos > 0)
        return std::string_view(buffer_.data(), output.pos);
      if (rest_.pos == rest_.size && input_ended_ && !frame_ended_)
        return cut_short("zstd");
    }
  }

private:
  ZSTD_DCtx* context_;
  BlobReader input_;
  ZSTD_inBuffer rest_{}; // of the current piece
  bool input_ended_ = false;
  bool frame_ended_ = false;
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

template <typename Base, typename Made> Result<std::unique_ptr<Base>> started(std::unique_ptr<Made> made) {
  if (!made->start())
    return make_error(ErrorKind::failed, "starting a compression library: out of memory");
  return std::unique_ptr<Base>(std::move(made));
}

} // namespace

Result<std::unique_ptr<Compressor>> make_compressor(Compression compression) {
  if (compression == Compression::gzip)
    return started<Compressor>(std::make_unique<GzipCompressor>());
  return started<Compressor>(std::make_unique<ZstdCompressor>());
}

Result<std::unique_ptr<Decompressor>> make_decompressor(BlobPtr blob, const std::string& type) {
  if (type == media_type::layer_gzip || type == "application/vnd.docker.image.rootfs.diff.tar.gzip" ||
      type == "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip" ||
      type == "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")
    return started<Decompressor>(std::make_unique<GzipSource>(std::move(blob)));
  if (type == media_type::layer_zstd || type == "application/vnd.docker.image.rootfs.diff.tar.zstd" ||
      type == "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd")
    return started<Decompressor>(std::make_unique<ZstdSource>(std::move(blob)));
  if (type == media_type::layer_tar || type == "application/vnd.docker.image.rootfs.diff.tar" ||
      type == "application/vnd.oci.image.layer.nondistributable.v1.tar")
    return std::unique_ptr<Decompressor>(std::make_unique<PlainSource>(std::move(blob)));
  return make_error(ErrorKind::unsatisfied, "a layer of the unknown media type '" + type + "'");
}

} // namespace xaas::oci
