// flang's driver passes one list of options to its front end, which also drives the back end. For a unit, the
// list has two parts: options that are used up once there is IR, and options for lowering. The second part
// has the same names as in Clang's cc1, because both share LLVM's option table. So it goes through Clang's
// own parser, and a Fortran unit has the options of a C unit. If an option is in neither part (-mllvm,
// profiles, plugins, offloading), the object is left to flang. This is an allow list, because options that a
// later flang adds may concern lowering.
#include "fortran/options.h"

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Options/OptionUtils.h>
#include <clang/Options/Options.h>
#include <llvm/Option/ArgList.h>
#include <llvm/Option/OptTable.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

using namespace clang::options;

bool is_back_end_option(unsigned id) {
  switch (id) {
  case OPT_triple:
  case OPT_target_cpu:
  case OPT_tune_cpu:
  case OPT_target_feature:
  case OPT_mabi_EQ:
  case OPT_mrelocation_model:
  case OPT_pic_level:
  case OPT_pic_is_pie:
  case OPT_mcmodel_EQ:
  case OPT_mlarge_data_threshold_EQ:
  case OPT_O:
  case OPT_O0:
  case OPT_vectorize_loops:
  case OPT_vectorize_slp:
  case OPT_funroll_loops:
  case OPT_fno_unroll_loops:
  case OPT_floop_interchange:
  case OPT_fno_loop_interchange:
  case OPT_fexperimental_loop_fusion:
  case OPT_fno_experimental_loop_fusion:
  case OPT_fveclib:
    return true;
  default:
    return false;
  }
}

// True for options that affect only IR, messages and module files. Floating-point options, frame pointers,
// preferred vector widths and the kind of debug information are among them: the IR carries them as flags,
// attributes and metadata.
bool is_front_end_option(unsigned id) {
  switch (id) {
  // source form and preprocessing
  case OPT_x:
  case OPT_std_EQ:
  case OPT_cpp:
  case OPT_nocpp:
  case OPT_D:
  case OPT_U:
  case OPT_I:
  case OPT_J:
  case OPT_module_dir:
  case OPT_module_suffix:
  case OPT_fintrinsic_modules_path:
  case OPT_fintrinsic_modules_path_EQ:
  case OPT_resource_dir:
  case OPT_ffixed_form:
  case OPT_ffree_form:
  case OPT_ffixed_line_length_EQ:
  case OPT_ffixed_line_length_VALUE:
  case OPT_fd_lines_as_code:
  case OPT_fno_d_lines_as_code:
  case OPT_fd_lines_as_comments:
  case OPT_fno_d_lines_as_comments:
  case OPT_finput_charset_EQ:
  case OPT_fpreprocess_include_lines:
  case OPT_fhermetic_module_files:
  // language
  case OPT_falternative_parameter_statement:
  case OPT_fbackslash:
  case OPT_fno_backslash:
  case OPT_flogical_abbreviations:
  case OPT_fno_logical_abbreviations:
  case OPT_fxor_operator:
  case OPT_fno_xor_operator:
  case OPT_fimplicit_none:
  case OPT_fno_implicit_none:
  case OPT_fimplicit_none_ext:
  case OPT_fno_implicit_none_ext:
  case OPT_funsigned:
  case OPT_fno_unsigned:
  case OPT_fdefault_double_8:
  case OPT_fdefault_integer_4:
  case OPT_fdefault_integer_8:
  case OPT_fdefault_real_4:
  case OPT_fdefault_real_8:
  case OPT_flarge_sizes:
  case OPT_fconvert_EQ:
  case OPT_fno_automatic:
  case OPT_fsave_main_program:
  case OPT_fno_save_main_program:
  case OPT_frealloc_lhs:
  case OPT_fno_realloc_lhs:
  case OPT_finit_global_zero:
  case OPT_fno_init_global_zero:
  case OPT_funderscoring:
  case OPT_fno_underscoring:
  case OPT_fopenmp:
  case OPT_fno_openmp:
  case OPT_fopenmp_EQ:
  case OPT_fopenmp_simd:
  case OPT_fno_openmp_simd:
  case OPT_fopenmp_version_EQ:
  case OPT_fdo_concurrent_to_openmp_EQ:
  case OPT_pthread:
  case OPT_no_pthread:
  // lowering to LLVM's IR
  case OPT_fstack_arrays:
  case OPT_fno_stack_arrays:
  case OPT_floop_versioning:
  case OPT_fno_loop_versioning:
  case OPT_frepack_arrays:
  case OPT_fno_repack_arrays:
  case OPT_frepack_arrays_contiguity_EQ:
  case OPT_fstack_repack_arrays:
  case OPT_fno_stack_repack_arrays:
  case OPT_funsafe_cray_pointers:
  case OPT_fno_unsafe_cray_pointers:
  case OPT_ffast_math:
  case OPT_fno_fast_math:
  case OPT_ffast_real_mod:
  case OPT_fno_fast_real_mod:
  case OPT_fapprox_func:
  case OPT_fno_approx_func:
  case OPT_menable_no_infs:
  case OPT_menable_no_nans:
  case OPT_mreassociate:
  case OPT_freciprocal_math:
  case OPT_fno_reciprocal_math:
  case OPT_fsigned_zeros:
  case OPT_fno_signed_zeros:
  case OPT_ffp_contract:
  case OPT_fcomplex_arithmetic_EQ:
  case OPT_complex_range_EQ:
  case OPT_fwrapv:
  case OPT_fwrapv_pointer:
  case OPT_mrecip:
  case OPT_mrecip_EQ:
  case OPT_mprefer_vector_width_EQ:
  case OPT_mframe_pointer_EQ:
  case OPT_fno_builtin:
  case OPT_debug_info_kind_EQ:
  case OPT_dwarf_version_EQ:
  // messages
  case OPT_fcolor_diagnostics:
  case OPT_pedantic:
  case OPT_W_Joined:
  case OPT_w:
  case OPT__no_warnings:
    return true;
  default:
    return false;
  }
}

std::shared_ptr<clang::CompilerInvocation> parse_back_end(std::vector<const char*> arguments) {
  // A command needs an input, which is not read. For debuggers, Clang tracks assignments through its passes;
  // flang does not.
  arguments.insert(arguments.end(),
                   {"-fexperimental-assignment-tracking=disabled", "-emit-obj", "-x", "c", "-o", "-", "-"});
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions options;
  auto* messages = new clang::TextDiagnosticBuffer;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options, messages);
  return clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics) ? invocation
                                                                                        : nullptr;
}

std::string refusal_of(const llvm::opt::Arg& argument) {
  const unsigned id = argument.getOption().getID();
  if (id == OPT_mllvm || id == OPT_mmlir)
    return "-mllvm options";
  return "flang's " + argument.getSpelling().str();
}

} // namespace

std::optional<FortranCommand> parse_fortran_command(const std::vector<std::string>& command) {
  std::vector<const char*> texts;
  for (const std::string& text : command)
    texts.push_back(text.c_str());
  unsigned missing_index = 0, missing_count = 0;
  const llvm::opt::InputArgList arguments = clang::getDriverOptTable().ParseArgs(
      texts, missing_index, missing_count, llvm::opt::Visibility(FC1Option));
  const std::vector<std::string> inputs = arguments.getAllArgValues(OPT_INPUT);
  const llvm::StringRef kind = arguments.getLastArgValue(OPT_x);
  if (missing_count > 0 || !arguments.hasArg(OPT_emit_obj) || inputs.size() != 1 ||
      !kind.starts_with("f95") || !arguments.hasArg(OPT_o) || arguments.getLastArgValue(OPT_o) == "-")
    return std::nullopt;

  FortranCommand result;
  result.source = inputs[0];
  result.output = arguments.getLastArgValue(OPT_o).str();
  if (result.source == "-")
    result.refusal = "a source from standard input";
  llvm::opt::ArgStringList back_end;
  for (const llvm::opt::Arg* argument : arguments) {
    const unsigned id = argument->getOption().getID();
    llvm::opt::ArgStringList rendered;
    argument->render(arguments, rendered);
    if (id == OPT_emit_obj || id == OPT_o)
      continue;
    result.front_end.insert(result.front_end.end(), rendered.begin(), rendered.end());
    if (is_back_end_option(id))
      back_end.append(rendered.begin(), rendered.end());
    else if (id != OPT_INPUT && !is_front_end_option(id) && result.refusal.empty())
      result.refusal = refusal_of(*argument);
  }
  result.back_end = parse_back_end({back_end.begin(), back_end.end()});
  if (!result.back_end && result.refusal.empty())
    result.refusal = "options of lowering that Clang does not know";
  return result;
}

} // namespace xaas::frontdoor
