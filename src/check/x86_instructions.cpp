// Problem: LLVM's X86 back end does not tell which feature an instruction needs. Its assembler and
// disassembler accept all instructions, and its predicates are not in tables that programs can read.
//
// Approach: the encoding gives the family (VEX: AVX and its contemporaries, EVEX: AVX-512, ...), and the name
// of LLVM's opcode the rest. The stem of the name is the instruction, its end the operands ("Z128", "Z256": a
// short vector of AVX-512; "Y": 256 bits of AVX). An instruction that is in no list belongs to the family's
// first feature. The test compiles every intrinsic of Clang's headers and compares with the features that
// these ask for.
// Sources: Intel SDM, volume 2; AMD64 APM, volumes 3 and 4.
#include "x86_instructions.h"

#include <algorithm>
#include <map>
#include <set>

namespace xaas::check {

namespace {

using Names = std::set<std::string_view>;
using Features = std::vector<std::string>;

bool lower_case(char c) {
  return c >= 'a' && c <= 'z';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

// The name without operands: "PSHUFBrm" is "PSHUFB", "VADDPSYrr_REV" is "VADDPSY".
std::string_view stem_of(std::string_view opcode) {
  opcode = opcode.substr(0, opcode.find('_', opcode.starts_with("MMX_") ? 4 : 0));
  size_t end = opcode.size();
  while (end > 0 && (lower_case(opcode[end - 1]) || digit(opcode[end - 1])))
    --end;
  // Back to the operands, which begin at a small letter.
  while (end < opcode.size() && !lower_case(opcode[end]))
    ++end;
  return opcode.substr(0, end);
}

bool starts(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool ends(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

struct Group {
  const char* feature;
  Names exact;
  std::vector<std::string_view> prefixes;
  bool has(std::string_view stem) const {
    return exact.count(stem) || std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
             return stem.starts_with(prefix);
           });
  }
};

// --- legacy encodings, and those of VEX and EVEX for general registers

const std::vector<Group>& plain_groups() {
  static const std::vector<Group> groups = {
      {"sse3",
       {"ADDSUBPD", "ADDSUBPS", "HADDPD", "HADDPS", "HSUBPD", "HSUBPS", "LDDQU", "MOVDDUP", "MOVSHDUP",
        "MOVSLDUP", "ISTT"},
       {}},
      {"ssse3",
       {"PABSB", "PABSW", "PABSD", "PALIGNR", "PHADDD", "PHADDW", "PHADDSW", "PHSUBD", "PHSUBW", "PHSUBSW",
        "PMADDUBSW", "PMULHRSW", "PSHUFB", "PSIGNB", "PSIGNW", "PSIGND"},
       {}},
      {"sse4.1",
       {"BLENDPD",  "BLENDPS",    "BLENDVPD", "BLENDVPS", "DPPD",    "DPPS",    "EXTRACTPS", "INSERTPS",
        "MOVNTDQA", "MPSADBW",    "PACKUSDW", "PBLENDVB", "PBLENDW", "PCMPEQQ", "PEXTRB",    "PEXTRD",
        "PEXTRQ",   "PHMINPOSUW", "PINSRB",   "PINSRD",   "PINSRQ",  "PMAXSB",  "PMAXSD",    "PMAXUD",
        "PMAXUW",   "PMINSB",     "PMINSD",   "PMINUD",   "PMINUW",  "PMULDQ",  "PMULLD",    "PTEST"},
       {"PMOVSX", "PMOVZX", "ROUND"}},
      {"sse4.2", {"PCMPGTQ"}, {"PCMPESTR", "PCMPISTR"}},
      {"crc32", {}, {"CRC32"}},
      {"sse4a", {"EXTRQ", "EXTRQI", "INSERTQ", "INSERTQI", "MOVNTSD", "MOVNTSS"}, {}},
      {"popcnt", {}, {"POPCNT"}},
      {"lzcnt", {}, {"LZCNT"}},
      {"movbe", {}, {"MOVBE"}},
      {"aes", {"AESENC", "AESENCLAST", "AESDEC", "AESDECLAST", "AESIMC", "AESKEYGENASSIST"}, {}},
      {"kl", {"LOADIWKEY"}, {"AESENC128KL", "AESENC256KL", "AESDEC128KL", "AESDEC256KL", "ENCODEKEY"}},
      {"widekl", {}, {"AESENCWIDE", "AESDECWIDE"}},
      {"pclmul", {"PCLMULQDQ"}, {}},
      {"sha", {}, {"SHA1", "SHA256"}},
      {"gfni", {}, {"GF2P8"}},
      {"rdrnd", {}, {"RDRAND"}},
      {"rdseed", {}, {"RDSEED"}},
      {"adx", {}, {"ADCX", "ADOX"}},
      {"fsgsbase", {}, {"RDFSBASE", "RDGSBASE", "WRFSBASE", "WRGSBASE"}},
      {"cx16", {"CMPXCHG16B"}, {}},
      {"sahf", {"LAHF", "SAHF"}, {}},
      {"clflushopt", {"CLFLUSHOPT"}, {}},
      {"clwb", {"CLWB"}, {}},
      {"clzero", {}, {"CLZERO"}},
      {"mwaitx", {}, {"MWAITX", "MONITORX"}},
      {"rdpid", {}, {"RDPID"}},
      {"rdpru", {"RDPRU"}, {}},
      {"xsavec", {"XSAVEC", "XSAVEC64"}, {}},
      {"xsaves", {"XSAVES", "XSAVES64", "XRSTORS", "XRSTORS64"}, {}},
      {"xsaveopt", {"XSAVEOPT", "XSAVEOPT64"}, {}},
      // Without XGETBV, which asks for the system's state and only runs if CPUID allows it.
      {"xsave", {"XSAVE", "XSAVE64", "XRSTOR", "XRSTOR64"}, {}},
      {"movdir64b", {}, {"MOVDIR64B"}},
      {"movdiri", {}, {"MOVDIRI"}},
      {"movrs", {}, {"MOVRS"}},
      {"waitpkg", {}, {"UMWAIT", "UMONITOR", "TPAUSE"}},
      {"enqcmd", {}, {"ENQCMD"}},
      {"ptwrite", {}, {"PTWRITE"}},
      {"serialize", {"SERIALIZE"}, {}},
      {"pconfig", {"PCONFIG"}, {}},
      {"invpcid", {}, {"INVPCID"}},
      {"hreset", {"HRESET"}, {}},
      {"uintr", {"UIRET", "CLUI", "STUI", "TESTUI"}, {"SENDUIPI"}},
      {"usermsr", {}, {"URDMSR", "UWRMSR"}},
      {"rtm", {"XBEGIN", "XEND", "XABORT"}, {"XBEGIN"}},
      {"raoint",
       {"AADD32", "AAND32", "AOR32", "AXOR32", "AADD64", "AAND64", "AOR64", "AXOR64"},
       {"AADD", "AAND", "AOR", "AXOR"}},
      // Without INCSSP, which only runs if RDSSP, a hint on other CPUs, returned something.
      {"shstk", {"SETSSBSY", "SAVEPREVSSP", "CLRSSBSY", "RSTORSSP"}, {"WRSS", "WRUSS"}},
      // Without TZCNT: on other CPUs it is BSF with a prefix, which compilers emit for all CPUs.
      {"bmi",
       {},
       {"ANDN32", "ANDN64", "BEXTR32", "BEXTR64", "BLSI32", "BLSI64", "BLSMSK32", "BLSMSK64", "BLSR32",
        "BLSR64"}},
      {"bmi2",
       {"PDEP32", "PDEP64", "PEXT32", "PEXT64"},
       {"BZHI32", "BZHI64", "MULX32", "MULX64", "RORX32", "RORX64", "SARX32", "SARX64", "SHLX32", "SHLX64",
        "SHRX32", "SHRX64"}},
      {"cmpccxadd", {}, {"CMPCCXADD"}},
      {"amx-fp16", {}, {"TDPFP16PS"}},
      {"amx-bf16", {}, {"TDPBF16PS"}},
      {"amx-int8", {}, {"TDPBSSD", "TDPBSUD", "TDPBUSD", "TDPBUUD"}},
      {"amx-complex", {}, {"TCMM"}},
      {"amx-fp8", {}, {"TDPBF8PS", "TDPBHF8PS", "TDPHBF8PS", "TDPHF8PS"}},
      {"amx-tf32", {}, {"TMMULTF32"}},
      {"amx-avx512", {}, {"TCVTROW", "TILEMOVROW"}},
      {"amx-movrs", {}, {"TILELOADDRS"}},
      {"amx-tile", {"LDTILECFG", "STTILECFG", "TILERELEASE"}, {"TILELOADD", "TILESTORED", "TILEZERO"}},
  };
  return groups;
}

Features plain_features(std::string_view opcode) {
  std::string_view stem = stem_of(opcode);
  if (stem.starts_with("MMX_"))
    stem.remove_prefix(4);
  // Extracting a word from a vector to memory needs SSE4.1; to a register it is older.
  if (stem == "PEXTRW" && opcode.starts_with("PEXTRWmr"))
    return {"sse4.1"};
  for (const Group& group : plain_groups())
    if (group.has(stem) || group.has(opcode))
      return {group.feature};
  return {};
}

// --- VEX

// Mask registers: the last letter before the operands is the size.
Features mask_features(std::string_view stem) {
  if (starts(stem, {"KADD", "KTEST"}) && stem.ends_with('W'))
    return {"avx512dq"};
  if (stem == "KUNPCKBW")
    return {"avx512f"};
  switch (stem.back()) {
  case 'B':
    return {"avx512dq"};
  case 'D':
  case 'Q':
    return {"avx512bw"};
  default:
    return {"avx512f"};
  }
}

bool is_mask(std::string_view stem) {
  return starts(stem, {"KADD", "KAND", "KMOV", "KNOT", "KOR", "KSHIFT", "KTEST", "KUNPCK", "KXNOR", "KXOR"});
}

bool is_avx2(std::string_view stem, std::string_view opcode) {
  static const Names any_length = {
      "VPBLENDD",       "VPBROADCASTB", "VPBROADCASTW", "VPBROADCASTD", "VPBROADCASTQ", "VPSLLVD",
      "VPSLLVQ",        "VPSRLVD",      "VPSRLVQ",      "VPSRAVD",      "VPMASKMOVD",   "VPMASKMOVQ",
      "VBROADCASTI128", "VEXTRACTI128", "VINSERTI128",  "VPERM2I128",   "VPERMD",       "VPERMQ",
      "VPERMPS",        "VPERMPD",      "VMPSADBWY",    "VMOVNTDQAY"};
  std::string_view short_stem = stem;
  if (short_stem.ends_with('Y'))
    short_stem.remove_suffix(1);
  if (any_length.count(stem) || any_length.count(short_stem) || starts(stem, {"VGATHER", "VPGATHER"}))
    return true;
  if (starts(stem, {"VBROADCASTSS", "VBROADCASTSD"}))
    return opcode.find("rr") != std::string_view::npos; // from a register
  const bool of_avx = starts(stem, {"VPERMILP", "VPERM2F128", "VPTEST"});
  return stem.starts_with("VP") && stem.ends_with('Y') && !of_avx;
}

Features vex_features(std::string_view opcode) {
  const std::string_view stem = stem_of(opcode);
  if (is_mask(stem))
    return mask_features(stem);
  if (!stem.starts_with('V'))
    return plain_features(opcode);
  static const std::vector<Group> groups = {
      {"f16c", {"VCVTPH2PS", "VCVTPH2PSY", "VCVTPS2PH", "VCVTPS2PHY"}, {}},
      {"vaes", {"VAESENCY", "VAESENCLASTY", "VAESDECY", "VAESDECLASTY"}, {}},
      {"aes", {}, {"VAES"}},
      {"vpclmulqdq", {"VPCLMULQDQY"}, {}},
      {"pclmul", {"VPCLMULQDQ"}, {}},
      {"gfni", {}, {"VGF2P8"}},
      {"sha512", {}, {"VSHA512"}},
      {"sm3", {}, {"VSM3"}},
      {"sm4", {}, {"VSM4"}},
      {"avxneconvert", {}, {"VBCSTNE", "VCVTNEE", "VCVTNEO", "VCVTNEPS2BF16"}},
      {"avxifma", {}, {"VPMADD52"}},
      {"avxvnniint8", {}, {"VPDPBSSD", "VPDPBSUD", "VPDPBUUD"}},
      {"avxvnniint16", {}, {"VPDPWSUD", "VPDPWUSD", "VPDPWUUD"}},
      {"avxvnni", {}, {"VPDPBUSD", "VPDPWSSD"}},
  };
  for (const Group& group : groups)
    if (group.has(stem))
      return {group.feature};
  if (starts(stem, {"VFM", "VFNM"})) {
    const std::string_view name = opcode.substr(0, opcode.find('_'));
    const bool four = name.find("PS4") != name.npos || name.find("PD4") != name.npos ||
                      name.find("SS4") != name.npos || name.find("SD4") != name.npos;
    return {four ? "fma4" : "fma"};
  }
  return {is_avx2(stem, opcode) ? "avx2" : "avx"};
}

// --- EVEX

struct EvexName {
  std::string_view stem; // "VPADDB" of "VPADDBZ256rmk"
  bool short_vector = false;
};

EvexName split_evex(std::string_view opcode) {
  opcode = opcode.substr(0, opcode.find('_'));
  const size_t at = opcode.rfind('Z');
  if (at == std::string_view::npos || at == 0)
    return {opcode, false};
  const std::string_view rest = opcode.substr(at + 1);
  return {opcode.substr(0, at), rest.starts_with("128") || rest.starts_with("256")};
}

const char* evex_feature(std::string_view stem) {
  static const std::vector<Group> groups = {
      {"avx512bf16", {"VCVTNE2PS2BF16", "VCVTNEPS2BF16", "VDPBF16PS"}, {}},
      {"avx512bitalg", {"VPOPCNTB", "VPOPCNTW", "VPSHUFBITQMB"}, {}},
      {"avx512vpopcntdq", {"VPOPCNTD", "VPOPCNTQ"}, {}},
      {"avx512ifma", {}, {"VPMADD52"}},
      {"avx512vp2intersect", {}, {"VP2INTERSECT"}},
      {"avx512vbmi", {"VPERMB", "VPERMI2B", "VPERMT2B", "VPMULTISHIFTQB"}, {}},
      {"avx512vbmi2", {"VPCOMPRESSB", "VPCOMPRESSW", "VPEXPANDB", "VPEXPANDW"}, {"VPSHLD", "VPSHRD"}},
      {"avx512vnni", {"VPDPBUSD", "VPDPBUSDS", "VPDPWSSD", "VPDPWSSDS"}, {}},
      {"avx10.2",
       {"VMPSADBW", "VDPPHPS"},
       {"VPDPB", "VPDPW", "VMINMAX", "VCOMX", "VUCOMX", "VCVTBIASPH", "VCVTHF8", "VCVT2PH2", "VCVTPH2BF8",
        "VCVTPH2HF8", "VCVT2PS2PHX"}},
      {"gfni", {}, {"VGF2P8"}},
      {"vaes", {}, {"VAES"}},
      {"vpclmulqdq", {"VPCLMULQDQ"}, {}},
      {"sm4", {}, {"VSM4"}},
      {"movrs", {}, {"VMOVRS"}},
      {"avx512cd",
       {"VPCONFLICTD", "VPCONFLICTQ", "VPLZCNTD", "VPLZCNTQ", "VPBROADCASTMB2Q", "VPBROADCASTMW2D"},
       {}},
      {"avx512dq",
       {"VANDPS",          "VANDPD",          "VANDNPS",         "VANDNPD",         "VORPS",
        "VORPD",           "VXORPS",          "VXORPD",          "VBROADCASTF32X2", "VBROADCASTF32X8",
        "VBROADCASTF64X2", "VBROADCASTI32X2", "VBROADCASTI32X8", "VBROADCASTI64X2", "VCVTPD2QQ",
        "VCVTPD2UQQ",      "VCVTPS2QQ",       "VCVTPS2UQQ",      "VCVTQQ2PD",       "VCVTQQ2PS",
        "VCVTUQQ2PD",      "VCVTUQQ2PS",      "VCVTTPD2QQ",      "VCVTTPD2UQQ",     "VCVTTPS2QQ",
        "VCVTTPS2UQQ",     "VEXTRACTF32X8",   "VEXTRACTF64X2",   "VEXTRACTI32X8",   "VEXTRACTI64X2",
        "VINSERTF32X8",    "VINSERTF64X2",    "VINSERTI32X8",    "VINSERTI64X2",    "VFPCLASSPS",
        "VFPCLASSPD",      "VFPCLASSSS",      "VFPCLASSSD",      "VPEXTRD",         "VPEXTRQ",
        "VPINSRD",         "VPINSRQ",         "VPMOVD2M",        "VPMOVQ2M",        "VPMOVM2D",
        "VPMOVM2Q",        "VPMULLQ",         "VRANGEPS",        "VRANGEPD",        "VRANGESS",
        "VRANGESD",        "VREDUCEPS",       "VREDUCEPD",       "VREDUCESS",       "VREDUCESD"},
       {}},
      {"avx512bw",
       {"VDBPSADBW",    "VMOVDQU8",  "VMOVDQU16",  "VPABSB",    "VPABSW",    "VPACKSSDW",  "VPACKSSWB",
        "VPACKUSDW",    "VPACKUSWB", "VPADDB",     "VPADDW",    "VPADDSB",   "VPADDSW",    "VPADDUSB",
        "VPADDUSW",     "VPALIGNR",  "VPAVGB",     "VPAVGW",    "VPBLENDMB", "VPBLENDMW",  "VPBROADCASTB",
        "VPBROADCASTW", "VPCMPB",    "VPCMPUB",    "VPCMPW",    "VPCMPUW",   "VPCMPEQB",   "VPCMPEQW",
        "VPCMPGTB",     "VPCMPGTW",  "VPERMW",     "VPERMI2W",  "VPERMT2W",  "VPEXTRB",    "VPEXTRW",
        "VPINSRB",      "VPINSRW",   "VPMADDUBSW", "VPMADDWD",  "VPMAXSB",   "VPMAXSW",    "VPMAXUB",
        "VPMAXUW",      "VPMINSB",   "VPMINSW",    "VPMINUB",   "VPMINUW",   "VPMOVB2M",   "VPMOVW2M",
        "VPMOVM2B",     "VPMOVM2W",  "VPMOVSWB",   "VPMOVWB",   "VPMOVUSWB", "VPMOVSXBW",  "VPMOVZXBW",
        "VPMULHRSW",    "VPMULHUW",  "VPMULHW",    "VPMULLW",   "VPSADBW",   "VPSHUFB",    "VPSHUFHW",
        "VPSHUFLW",     "VPSLLDQ",   "VPSRLDQ",    "VPSLLW",    "VPSRAW",    "VPSRLW",     "VPSLLVW",
        "VPSRAVW",      "VPSRLVW",   "VPSUBB",     "VPSUBW",    "VPSUBSB",   "VPSUBSW",    "VPSUBUSB",
        "VPSUBUSW",     "VPTESTMB",  "VPTESTMW",   "VPTESTNMB", "VPTESTNMW", "VPUNPCKHBW", "VPUNPCKHWD",
        "VPUNPCKLBW",   "VPUNPCKLWD"},
       {}},
      {"avx512f", {"VCVTPH2PS", "VCVTPS2PH"}, {}},
  };
  for (const Group& group : groups)
    if (group.has(stem))
      return group.feature;
  const bool saturating = starts(stem, {"VCVT"}) && (ends(stem, {"IBS", "IUBS", "DQS", "QQS", "SIS"}));
  if (stem.find("BF16") != stem.npos || saturating)
    return "avx10.2";
  const bool half = ends(stem, {"PH", "SH", "PHX"}) || stem == "VMOVSH" || stem == "VMOVW" ||
                    stem.find("PH2") != stem.npos || stem.find("SH2") != stem.npos ||
                    stem.find("2SH") != stem.npos;
  return half ? "avx512fp16" : "avx512f";
}

Features evex_features(std::string_view opcode) {
  const EvexName name = split_evex(opcode);
  if (!name.stem.starts_with('V')) { // tiles; general registers: BMI and the like with more of them
    const Features plain = plain_features(opcode);
    return !plain.empty() && plain[0].starts_with("amx-") ? plain : Features{"egpr"};
  }
  Features features = {evex_feature(name.stem)};
  const bool later = features[0] == "avx10.2" || features[0] == "movrs" || features[0] == "sm4";
  if (name.short_vector && !later)
    features.emplace_back("avx512vl");
  if (features[0] == "gfni" || features[0] == "vaes" || features[0] == "vpclmulqdq")
    features.emplace_back("avx512f");
  return features;
}

Features xop_features(std::string_view opcode) {
  if (opcode.starts_with('V'))
    return {"xop"};
  return {starts(opcode, {"LWP", "LLWP", "SLWP"}) ? "lwp" : "tbm"};
}

} // namespace

Encoding encoding_of(const uint8_t* bytes, size_t size) {
  constexpr uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
  size_t at = 0;
  while (at < size && std::find(std::begin(prefixes), std::end(prefixes), bytes[at]) != std::end(prefixes))
    ++at;
  if (at + 1 >= size)
    return Encoding::legacy;
  switch (bytes[at]) {
  case 0xc4:
  case 0xc5:
    return Encoding::vex;
  case 0x62:
    return (bytes[at + 1] & 7) == 4 ? Encoding::evex_map4 : Encoding::evex;
  case 0xd5:
    return Encoding::rex2;
  case 0x8f:
    return (bytes[at + 1] & 0x1f) >= 8 ? Encoding::xop : Encoding::legacy;
  default:
    return Encoding::legacy;
  }
}

std::vector<std::string> x86_features(std::string_view opcode, Encoding encoding) {
  switch (encoding) {
  case Encoding::legacy:
    return plain_features(opcode);
  case Encoding::rex2:
  case Encoding::evex_map4:
    return {"egpr"};
  case Encoding::vex:
    return vex_features(opcode);
  case Encoding::evex:
    return evex_features(opcode);
  case Encoding::xop:
    return xop_features(opcode);
  }
  return {};
}

} // namespace xaas::check
