#include "certificate.h"

#include <openssl/pem.h>

namespace xaas::provenance {

namespace {

constexpr const char* issuer_oid = "1.3.6.1.4.1.57264.1.8";     // a UTF8String in DER
constexpr const char* old_issuer_oid = "1.3.6.1.4.1.57264.1.1"; // the same as plain bytes
constexpr const char* user_name_oid = "1.3.6.1.4.1.57264.1.7";  // in SubjectAltName

using Object = std::unique_ptr<ASN1_OBJECT, Frees<ASN1_OBJECT_free>>;

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

std::optional<std::string> extension_of(X509* certificate, const char* oid) {
  const Object object(OBJ_txt2obj(oid, 1));
  const int at = X509_get_ext_by_OBJ(certificate, object.get(), -1);
  if (at < 0)
    return std::nullopt;
  if (X509_get_ext_by_OBJ(certificate, object.get(), at) >= 0) // which one counts?
    return std::string();
  return text_of(X509_EXTENSION_get_data(X509_get_ext(certificate, at)));
}

std::string issuer_of(X509* certificate) {
  if (const std::optional<std::string> der = extension_of(certificate, issuer_oid)) {
    const unsigned char* at = bytes_of(*der);
    const std::unique_ptr<ASN1_UTF8STRING, Frees<ASN1_UTF8STRING_free>> text(
        d2i_ASN1_UTF8STRING(nullptr, &at, static_cast<long>(der->size())));
    return text && at == bytes_of(*der) + der->size() ? text_of(text.get()) : std::string();
  }
  return extension_of(certificate, old_issuer_oid).value_or("");
}

bool is_within(const Certificate& certificate, int64_t time) {
  time_t seconds = time;
  return X509_cmp_time(X509_get0_notBefore(certificate.get()), &seconds) < 0 && // or equal; 0 is an error
         X509_cmp_time(X509_get0_notAfter(certificate.get()), &seconds) > 0;
}

// The certificate that signed this one, if the chain to a trusted one is valid at that time.
Certificate signer_of(const Certificate& certificate, const Authority& authority, int64_t time) {
  const std::unique_ptr<X509_STORE, Frees<X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, Frees<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  if (!store || !context)
    return nullptr;
  for (const Certificate& each : authority.chain)
    X509_STORE_add_cert(store.get(), each.get());
  if (X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr) != 1)
    return nullptr;
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, time);
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  if (X509_verify_cert(context.get()) != 1)
    return nullptr;
  STACK_OF(X509)* const chain = X509_STORE_CTX_get0_chain(context.get());
  if (sk_X509_num(chain) < 2) // the authority's own certificate signs nothing else
    return nullptr;
  X509* const issuer = sk_X509_value(chain, 1);
  X509_up_ref(issuer);
  return Certificate(issuer, X509_free);
}

bool is_logged(const Certificate& certificate, const Certificate& issuer, const std::vector<Log>& logs,
               int64_t time) {
  const std::unique_ptr<STACK_OF(SCT), Frees<SCT_LIST_free>> promises(static_cast<STACK_OF(SCT)*>(
      X509_get_ext_d2i(certificate.get(), NID_ct_precert_scts, nullptr, nullptr)));
  const std::unique_ptr<CT_POLICY_EVAL_CTX, Frees<CT_POLICY_EVAL_CTX_free>> policy(CT_POLICY_EVAL_CTX_new());
  if (!promises || !policy)
    return false;
  constexpr uint64_t milliseconds = 1000;
  CT_POLICY_EVAL_CTX_set1_cert(policy.get(), certificate.get());
  CT_POLICY_EVAL_CTX_set1_issuer(policy.get(), issuer.get());
  CT_POLICY_EVAL_CTX_set_time(policy.get(), (static_cast<uint64_t>(time) + 600) * milliseconds);
  for (int i = 0; i < sk_SCT_num(promises.get()); ++i) {
    SCT* const promise = sk_SCT_value(promises.get(), i);
    SCT_set_source(promise, SCT_SOURCE_X509V3_EXTENSION);
    unsigned char* id = nullptr;
    const size_t size = SCT_get0_log_id(promise, &id);
    const std::string wanted(reinterpret_cast<const char*>(id), size);
    const auto seconds = static_cast<int64_t>(SCT_get_timestamp(promise) / milliseconds);
    for (const Log& log : logs) {
      if (log.id != wanted || !log.valid.contains(seconds))
        continue;
      CT_POLICY_EVAL_CTX_set_shared_CTLOG_STORE(policy.get(), log.store.get());
      if (SCT_validate(promise, policy.get()) == 1)
        return true;
    }
  }
  return false;
}

} // namespace

Identified identities_of(const Certificate& certificate) {
  const CleanErrors clean;
  Identified identified;
  identified.issuer = issuer_of(certificate.get());
  const std::unique_ptr<GENERAL_NAMES, Frees<GENERAL_NAMES_free>> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  const Object user_name(OBJ_txt2obj(user_name_oid, 1));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_EMAIL || name->type == GEN_URI)
      identified.identities.push_back(text_of(name->d.ia5));
    else if (name->type == GEN_OTHERNAME && OBJ_cmp(name->d.otherName->type_id, user_name.get()) == 0 &&
             name->d.otherName->value->type == V_ASN1_UTF8STRING)
      identified.identities.push_back(text_of(name->d.otherName->value->value.utf8string));
  }
  return identified;
}

std::string why_not_certified(const Certificate& certificate, const TrustedRoot::Content& root,
                              int64_t time) {
  const CleanErrors clean;
  if (!is_within(certificate, time))
    return "made when its certificate was not valid";
  // Without an extension, OpenSSL's answer is that all bits are set.
  const uint32_t purposes = X509_get_extended_key_usage(certificate.get()),
                 usage = X509_get_key_usage(certificate.get());
  if (X509_check_ca(certificate.get()) != 0 || (X509_get_extension_flags(certificate.get()) & EXFLAG_CA) ||
      purposes == UINT32_MAX || !(purposes & XKU_CODE_SIGN) || usage == UINT32_MAX ||
      !(usage & KU_DIGITAL_SIGNATURE))
    return "with a certificate that is not for signing";
  for (const Authority& authority : root.certificate_authorities) {
    if (!authority.valid.contains(time))
      continue;
    const Certificate issuer = signer_of(certificate, authority, time);
    if (!issuer)
      continue;
    if (!root.wants_certificate_logs || is_logged(certificate, issuer, root.certificate_logs, time))
      return {};
    return "with a certificate that none of the trusted logs of certificates has";
  }
  return "with a certificate of an authority that is not trusted";
}

Result<PublicKey> key_of(const Certificate& certificate) {
  const CleanErrors clean;
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate.get()), &der);
  if (size <= 0)
    return make_error(ErrorKind::integrity, "the certificate has no key");
  const std::string key(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return PublicKey::parse_der(key, "the certificate's key");
}

} // namespace xaas::provenance
