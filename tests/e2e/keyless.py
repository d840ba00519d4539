#!/usr/bin/env python3
"""Makes keyless Sigstore bundles of our own, for tests: a certificate authority, a certificate transparency log,
a transparency log like Rekor and a timestamp authority, all in one directory. Needs only `openssl`, for keys and signatures.

  keyless.py make DIR
      Makes the keys, the certificates and DIR/trusted_root.json.
  keyless.py sign DIR DIGEST IDENTITY ISSUER [OPTION...] > bundle.json
      A bundle v0.3 as `cosign sign` of version 3 attaches it to the image whose manifest has DIGEST (sha256:HEX).
      IDENTITY is an email address or a URI. Every call adds an entry to the log in DIR, so not two at once.
  keyless.py attach HOST:PORT/REPOSITORY DIGEST BUNDLE
      Adds the bundle to a registry over plain HTTP, as a referrer of the image.

What the bundle has:
  --time T          Unix time of the signature; the default is an hour ago, so that the certificate, which is valid for ten
                    minutes, has expired today
  --at SECONDS      the entry's (and the timestamp's) time, in seconds since the start of the certificate's validity
  --timestamp       also an RFC 3161 timestamp of the signature
  --no-tlog         no entry of the log
  --rekor-v2        an entry as Rekor v2 makes it: without a time or a promise, so --timestamp is needed too
  --no-set          no promise of inclusion (SET)
  --no-proof        no inclusion proof
  --no-sct          no SCT in the certificate
What is wrong with it:
  --expired --early             as --at 700 and --at -60
  --other-ca                    another authority with the same names issued the certificate
  --other-log --other-ct-log --other-tsa    another key signed the entry, the SCT, the timestamp
  --other-entry                 the entry is of another signature
  --other-entry-payload         the entry has another hash of the payload
  --other-entry-certificate     the entry has another certificate
  --other-digest --other-predicate          the statement is of another image, or of another type
  --no-eku --other-eku          the certificate has no purpose, or is for servers instead of code signing
  --bad-signature --bad-certificate --bad-set --bad-proof --bad-checkpoint --bad-sct --bad-timestamp
                                that signature or hash is damaged
"""

import argparse
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
STATEMENT_TYPE = "application/vnd.in-toto+json"
PREDICATE = "https://sigstore.dev/cosign/sign/v1"
LOG_HOST = "rekor.example.org"
LOG_ORIGIN = LOG_HOST + " - 1234567890123456789"
LOG_HOST_V2 = "log2026.rekor.example.org"
FIRST_INDEX = 4000  # of the log's entries: Rekor counts on from its older trees, and a proof counts within one tree
VALID_FROM, VALID_TO = 1577836800, 2208988800  # 2020-01-01, 2040-01-01: of all authorities and logs
TSA_SERIAL = 4711


# DER

def der(tag, *parts):
    body = b"".join(parts)
    if len(body) < 128:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def sequence(*parts):
    return der(0x30, *parts)


def set_of(*parts):
    return der(0x31, *sorted(parts))


def octets(data):
    return der(0x04, data)


def integer(value):
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def utf8(text):
    return der(0x0C, text.encode())


def oid(text):
    first, second, *rest = map(int, text.split("."))
    out = bytes([first * 40 + second])
    for value in rest:
        part = [value & 127]
        while value := value >> 7:
            part.insert(0, value & 127 | 128)
        out += bytes(part)
    return der(0x06, out)


def generalized_time(when):
    return der(0x18, time.strftime("%Y%m%d%H%M%SZ", time.gmtime(when)).encode())


def utc_time(when):
    return der(0x17, time.strftime("%y%m%d%H%M%SZ", time.gmtime(when)).encode())


SHA256 = sequence(oid("2.16.840.1.101.3.4.2.1"))
ECDSA = {"sha256": sequence(oid("1.2.840.10045.4.3.2")), "sha384": sequence(oid("1.2.840.10045.4.3.3"))}
SERVER_AUTHENTICATION, CODE_SIGNING, TIME_STAMPING = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.3", "1.3.6.1.5.5.7.3.8"


# Keys

class Key:
    def __init__(self, path, kind=None):
        self.path = path
        if kind == "Ed25519":
            run("openssl", "genpkey", "-algorithm", kind, "-out", path)
        elif kind:
            run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + kind, "-out", path)
        self.public = run("openssl", "pkey", "-in", path, "-pubout", "-outform", "DER")
        self.hash = {44: None, 91: "sha256", 120: "sha384"}[len(self.public)]
        self.id = sha256(self.public)

    def sign(self, message):
        if self.hash:
            return run("openssl", "dgst", "-" + self.hash, "-sign", self.path, data=message)
        with tempfile.NamedTemporaryFile() as file:  # Ed25519 has no digest of the message, so openssl wants its size
            file.write(message)
            file.flush()
            return run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.path, "-in", file.name)


def run(*command, data=b""):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def sha256(data):
    return hashlib.sha256(data).digest()


def b64(data):
    return base64.b64encode(data).decode()


def canonical(value):  # as RFC 8785, for texts in ASCII and integers
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def damaged(data):
    return data[:-1] + bytes([data[-1] ^ 1])


# Certificates

def name(text):
    return sequence(set_of(sequence(oid("2.5.4.10"), utf8("example.org"))), set_of(sequence(oid("2.5.4.3"), utf8(text))))


def extension(number, value, critical=False):
    return sequence(oid(number), *([der(0x01, b"\xff")] if critical else []), octets(value))


def key_usage(bits, unused):
    return extension("2.5.29.15", der(0x03, bytes([unused, bits])), True)


def extended_key_usage(purpose, critical=False):
    return extension("2.5.29.37", sequence(oid(purpose)), critical)


def key_id(public):
    return hashlib.sha1(public).digest()


def key_ids(key, issuer):
    return [extension("2.5.29.14", octets(key_id(key.public))),
            extension("2.5.29.35", sequence(der(0x80, key_id(issuer.public))))]


def authority_extensions(key, issuer, path_length=None, purpose=None):
    constraints = sequence(der(0x01, b"\xff"), *([integer(path_length)] if path_length is not None else []))
    return [key_usage(0x06, 1), *([extended_key_usage(purpose)] if purpose else []),
            extension("2.5.29.19", constraints, True), *key_ids(key, issuer)]


def to_be_signed(issuer_name, issuer, subject, key, serial, start, end, extensions):
    return sequence(der(0xA0, integer(2)), integer(serial), ECDSA[issuer.hash], issuer_name,
                    sequence(utc_time(start), utc_time(end)), subject, key.public,
                    der(0xA3, sequence(*extensions)))


def certificate(body, issuer):
    return sequence(body, ECDSA[issuer.hash], der(0x03, b"\x00", issuer.sign(body)))


def pem(data):
    text = b64(data)
    lines = [text[i:i + 64] for i in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""]).encode()


def random_serial():
    return int.from_bytes(os.urandom(19), "big") | 1


def signed_certificate_timestamp(log, issuer, body, when, bad):
    stamp = (when * 1000).to_bytes(8, "big")
    # RFC 6962, section 3.2: version 1, certificate_timestamp, time, precert_entry, issuer's key, certificate, no extensions
    entry = b"\0\0" + stamp + b"\0\1" + issuer.id + len(body).to_bytes(3, "big") + body + b"\0\0"
    signature = log.sign(entry)
    if bad:
        signature = damaged(signature)
    sct = b"\0" + log.id + stamp + b"\0\0" + b"\4\3" + len(signature).to_bytes(2, "big") + signature
    listed = len(sct).to_bytes(2, "big") + sct
    return extension("1.3.6.1.4.1.11129.2.4.2", octets(len(listed).to_bytes(2, "big") + listed))


def leaf_certificate(key, issuer, log, identity, oidc_issuer, when, options):
    kind = 0x86 if "://" in identity else 0x81  # a URI, or an email address
    purpose = SERVER_AUTHENTICATION if options.other_eku else CODE_SIGNING
    extensions = [key_usage(0x80, 7), *([] if options.no_eku else [extended_key_usage(purpose)]),
                  *key_ids(key, issuer),
                  extension("2.5.29.17", sequence(der(kind, identity.encode())), True),
                  extension("1.3.6.1.4.1.57264.1.1", oidc_issuer.encode()),
                  extension("1.3.6.1.4.1.57264.1.8", utf8(oidc_issuer))]
    fields = (name("example-intermediate"), issuer, sequence(), key, random_serial(), when, when + 600)
    if not options.no_sct:
        body = to_be_signed(*fields, extensions)
        extensions.append(signed_certificate_timestamp(log, issuer, body, when, options.bad_sct))
    result = certificate(to_be_signed(*fields, extensions), issuer)
    return damaged(result) if options.bad_certificate else result


# The transparency logs: Merkle trees, RFC 6962, section 2.1. DIR/log.leaves has the hash of one leaf in each line.

def split(leaves):
    return 1 << (len(leaves) - 1).bit_length() - 1


def tree_root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    k = split(leaves)
    return sha256(b"\1" + tree_root(leaves[:k]) + tree_root(leaves[k:]))


def audit_path(index, leaves):
    if len(leaves) == 1:
        return []
    k = split(leaves)
    if index < k:
        return audit_path(index, leaves[:k]) + [tree_root(leaves[k:])]
    return audit_path(index - k, leaves[k:]) + [tree_root(leaves[:k])]


def leaf_hash(body):
    return sha256(b"\0" + body)


def append_to_log(file, body):
    with open(file, "a+") as file:
        file.seek(0)
        leaves = [bytes.fromhex(line) for line in file.read().split()]
        leaves.append(leaf_hash(body))
        file.write(leaves[-1].hex() + "\n")
    return leaves


def checkpoint(log, leaves, origin, host, hint, bad):
    text = f"{origin}\n{len(leaves)}\n{b64(tree_root(leaves))}\n"
    signature = log.sign(text.encode())
    if bad:
        signature = damaged(signature)
    return f"{text}\n\u2014 {host} {b64(hint + signature)}\n"


def log_id_v2(key):  # as signed notes name keys of Ed25519
    return sha256(LOG_HOST_V2.encode() + b"\n\1" + key.public[-32:])


def log_entry(file, log, log_id, envelope, message, signature, leaf, when, options):
    payload_hash = sha256(base64.b64decode(envelope["payload"])).hex()
    if options.other_entry_payload:
        payload_hash = sha256(b"other").hex()
    if options.rekor_v2:
        kind, version, origin, host = "hashedrekord", "0.0.2", LOG_HOST_V2, LOG_HOST_V2
        spec = {"hashedRekordV002": {
            "data": {"algorithm": "SHA2_256", "digest": b64(sha256(message))},
            "signature": {"content": b64(signature), "verifier": {
                "keyDetails": "PKIX_ECDSA_P256_SHA_256", "x509Certificate": {"rawBytes": b64(leaf)}}}}}
    else:
        kind, version, origin, host = "dsse", "0.0.1", LOG_ORIGIN, LOG_HOST
        spec = {"envelopeHash": {"algorithm": "sha256", "value": sha256(json.dumps(envelope).encode()).hex()},
                "payloadHash": {"algorithm": "sha256", "value": payload_hash},
                "signatures": [{"signature": b64(signature), "verifier": b64(pem(leaf))}]}
    body = canonical({"apiVersion": version, "kind": kind, "spec": spec})
    leaves = append_to_log(file, body)
    index = len(leaves) - 1
    entry = {"logIndex": str(index if options.rekor_v2 else FIRST_INDEX + index), "logId": {"keyId": b64(log_id)},
             "kindVersion": {"kind": kind, "version": version}}
    if not options.rekor_v2:
        entry["integratedTime"] = str(when)
        promised = canonical({"body": b64(body), "integratedTime": when, "logID": log_id.hex(),
                              "logIndex": FIRST_INDEX + index})
        promise = log.sign(promised)
        if options.bad_set:
            promise = damaged(promise)
        if not options.no_set:
            entry["inclusionPromise"] = {"signedEntryTimestamp": b64(promise)}
    if not options.no_proof:
        path = audit_path(index, leaves)
        if options.bad_proof:
            path[0] = damaged(path[0])
        entry["inclusionProof"] = {
            "logIndex": str(index), "rootHash": b64(tree_root(leaves)), "treeSize": str(len(leaves)),
            "hashes": [b64(hash) for hash in path],
            "checkpoint": {"envelope": checkpoint(log, leaves, origin, host, log_id[:4], options.bad_checkpoint)}}
    entry["canonicalizedBody"] = b64(body)
    return entry


# RFC 3161

def timestamp(key, own_certificate, serial, data, when, bad):
    info = sequence(integer(1), oid("1.3.6.1.4.1.57264.2"), sequence(SHA256, octets(sha256(data))),
                    integer(random_serial()), generalized_time(when))
    attribute = lambda number, value: sequence(oid(number), set_of(value))
    attributes = sorted([
        attribute("1.2.840.113549.1.9.3", oid("1.2.840.113549.1.9.16.1.4")),
        attribute("1.2.840.113549.1.9.4", octets(sha256(info))),
        attribute("1.2.840.113549.1.9.5", utc_time(when)),
        attribute("1.2.840.113549.1.9.16.2.47", sequence(sequence(sequence(octets(sha256(own_certificate))))))])
    signature = key.sign(set_of(*attributes))
    if bad:
        signature = damaged(signature)
    signer = sequence(integer(1), sequence(name("example-tsa-root"), integer(serial)), SHA256, der(0xA0, *attributes),
                      ECDSA["sha256"], octets(signature))
    content = sequence(oid("1.2.840.113549.1.9.16.1.4"), der(0xA0, octets(info)))
    signed = sequence(integer(3), set_of(SHA256), content, der(0xA0, own_certificate), set_of(signer))
    return sequence(sequence(integer(0)), sequence(oid("1.2.840.113549.1.7.2"), der(0xA0, signed)))


# Commands

def make(options):
    directory = options.directory
    os.makedirs(directory, exist_ok=True)

    def key(file, curve):
        return Key(os.path.join(directory, file + ".key"), curve)

    def put(file, data):
        with open(os.path.join(directory, file), "wb") as out:
            out.write(data)

    def authority(prefix):
        root, intermediate = key(prefix + "root", "P-384"), key(prefix + "intermediate", "P-384")
        root_certificate = certificate(
            to_be_signed(name("example-root"), root, name("example-root"), root, random_serial(), VALID_FROM, VALID_TO,
                         authority_extensions(root, root, 1)), root)
        intermediate_certificate = certificate(
            to_be_signed(name("example-root"), root, name("example-intermediate"), intermediate, random_serial(),
                         VALID_FROM, VALID_TO, authority_extensions(intermediate, root, 0, CODE_SIGNING)), root)
        return [intermediate_certificate, root_certificate]

    def timestamp_authority(prefix):
        root, own = key(prefix + "tsa-root", "P-256"), key(prefix + "tsa", "P-256")
        root_certificate = certificate(
            to_be_signed(name("example-tsa-root"), root, name("example-tsa-root"), root, random_serial(), VALID_FROM,
                         VALID_TO, authority_extensions(root, root, 0)), root)
        own_certificate = certificate(
            to_be_signed(name("example-tsa-root"), root, name("example-tsa"), own, TSA_SERIAL, VALID_FROM, VALID_TO,
                         [key_usage(0x80, 7), extended_key_usage(TIME_STAMPING, True), *key_ids(own, root)]), root)
        put(prefix + "tsa.crt", own_certificate)
        return [own_certificate, root_certificate]

    chain = authority("")
    authority("other-")
    tsa_chain = timestamp_authority("")
    timestamp_authority("other-")
    log, log_v2, ct_log = key("log", "P-256"), key("log-v2", "Ed25519"), key("ct-log", "P-256")
    for other, kind in (("log", "P-256"), ("log-v2", "Ed25519"), ("ct-log", "P-256")):
        key("other-" + other, kind)
    for file in ("log", "log-v2"):
        put(file + ".leaves", b"".join(leaf_hash(b"entry %d" % i).hex().encode() + b"\n" for i in range(5)))

    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(VALID_FROM))
    subject = lambda text: {"organization": "example.org", "commonName": text}
    certificates = lambda chain: {"certificates": [{"rawBytes": b64(c)} for c in chain]}
    instance = lambda url, key, log_id: {
        "baseUrl": url, "hashAlgorithm": "SHA2_256",
        "publicKey": {"rawBytes": b64(key.public), "validFor": {"start": start},
                      "keyDetails": "PKIX_ECDSA_P256_SHA_256" if key.hash else "PKIX_ED25519"},
        "logId": {"keyId": b64(log_id)}}
    root = {
        "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        "tlogs": [instance("https://" + LOG_HOST, log, log.id),
                  instance("https://" + LOG_HOST_V2, log_v2, log_id_v2(log_v2))],
        "certificateAuthorities": [{"subject": subject("example-root"), "uri": "https://fulcio.example.org",
                                    "certChain": certificates(chain), "validFor": {"start": start}}],
        "ctlogs": [instance("https://ctfe.example.org", ct_log, ct_log.id)],
        "timestampAuthorities": [{"subject": subject("example-tsa-root"), "uri": "https://tsa.example.org",
                                  "certChain": certificates(tsa_chain), "validFor": {"start": start}}]}
    put("trusted_root.json", json.dumps(root, indent=1).encode() + b"\n")


def sign(options):
    def key(file, other):
        return Key(os.path.join(options.directory, ("other-" if other else "") + file + ".key"))

    # An issuer of certificates puts the time of the SCT and the start of the validity shortly before the signature.
    start = options.time or int(time.time()) - 3600
    when = start + (700 if options.expired else -60 if options.early else options.at)
    digest = sha256(b"other").hex() if options.other_digest else options.digest.removeprefix("sha256:")
    with tempfile.TemporaryDirectory() as temporary:
        own = Key(os.path.join(temporary, "key"), "P-256")
        leaf = leaf_certificate(own, key("intermediate", options.other_ca), key("ct-log", options.other_ct_log),
                                options.identity, options.issuer, start, options)
        payload = json.dumps({
            "_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {"sha256": digest}, "annotations": {}}],
            "predicateType": "https://slsa.dev/provenance/v1" if options.other_predicate else PREDICATE,
            "predicate": {}}, separators=(",", ":")).encode()
        message = b"DSSEv1 %d %s %d %s" % (len(STATEMENT_TYPE), STATEMENT_TYPE.encode(), len(payload), payload)
        signature = own.sign(message)
        if options.bad_signature:
            signature = damaged(signature)
        logged = own.sign(message) if options.other_entry else signature
        logged_leaf = leaf
        if options.other_entry_certificate:
            logged_leaf = leaf_certificate(own, key("intermediate", False), key("ct-log", False), "other@example.org",
                                           options.issuer, start, options)
    envelope = {"payload": b64(payload), "payloadType": STATEMENT_TYPE, "signatures": [{"sig": b64(signature)}]}
    material = {"certificate": {"rawBytes": b64(leaf)}}
    if not options.no_tlog:
        log = "log-v2" if options.rekor_v2 else "log"
        known = key(log, False)
        log_id = log_id_v2(known) if options.rekor_v2 else known.id
        material["tlogEntries"] = [log_entry(os.path.join(options.directory, log + ".leaves"), key(log, options.other_log),
                                             log_id, envelope, message, logged, logged_leaf, when, options)]
    if options.timestamp:
        prefix = "other-" if options.other_tsa else ""
        with open(os.path.join(options.directory, prefix + "tsa.crt"), "rb") as file:
            own_certificate = file.read()
        response = timestamp(key("tsa", options.other_tsa), own_certificate, TSA_SERIAL, signature, when,
                             options.bad_timestamp)
        material["timestampVerificationData"] = {"rfc3161Timestamps": [{"signedTimestamp": b64(response)}]}
    print(json.dumps({"mediaType": BUNDLE_TYPE, "verificationMaterial": material, "dsseEnvelope": envelope},
                     separators=(",", ":")))


def attach(options):
    host, repository = options.repository.split("/", 1)
    base = f"http://{host}/v2/{repository}"
    manifest_type, index_type = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json")

    def request(method, url, data=None, **headers):
        sent = urllib.request.Request(url, data, {k.replace("_", "-"): v for k, v in headers.items()}, method=method)
        with urllib.request.urlopen(sent) as answer:
            return answer.read(), answer.headers

    def put_blob(data, media_type):
        digest = "sha256:" + sha256(data).hex()
        where = request("POST", base + "/blobs/uploads/", b"")[1]["Location"]
        where = where if "://" in where else f"http://{host}{where}"
        request("PUT", where + ("&" if "?" in where else "?") + "digest=" + digest, data,
                Content_Type="application/octet-stream")
        return {"mediaType": media_type, "size": len(data), "digest": digest}

    image, headers = request("GET", f"{base}/manifests/{options.digest}", Accept=f"{manifest_type}, {index_type}")
    with open(options.bundle, "rb") as file:
        bundle = put_blob(file.read(), BUNDLE_TYPE)
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": manifest_type, "artifactType": BUNDLE_TYPE,
        "config": put_blob(b"{}", "application/vnd.oci.empty.v1+json"), "layers": [bundle],
        "subject": {"mediaType": headers["Content-Type"], "size": len(image), "digest": options.digest},
        "annotations": {"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": PREDICATE,
                        "org.opencontainers.image.created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}).encode()
    digest = "sha256:" + sha256(manifest).hex()
    if "OCI-Subject" in request("PUT", f"{base}/manifests/{digest}", manifest, Content_Type=manifest_type)[1]:
        return
    tag = f"{base}/manifests/{options.digest.replace(':', '-')}"  # a registry without the API of referrers
    try:
        index = json.loads(request("GET", tag, Accept=index_type)[0])
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        index = {"schemaVersion": 2, "mediaType": index_type, "manifests": []}
    index["manifests"].append({"mediaType": manifest_type, "size": len(manifest), "digest": digest,
                               "artifactType": BUNDLE_TYPE})
    request("PUT", tag, json.dumps(index).encode(), Content_Type=index_type)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make")
    command.add_argument("directory")
    command.set_defaults(run=make)
    command = commands.add_parser("sign")
    for argument in ("directory", "digest", "identity", "issuer"):
        command.add_argument(argument)
    command.add_argument("--time", type=int)
    command.add_argument("--at", type=int, default=5)
    for flag in ("timestamp no-tlog rekor-v2 no-set no-proof no-sct expired early other-ca other-log other-ct-log other-tsa "
                 "other-entry other-entry-payload other-entry-certificate other-digest other-predicate no-eku other-eku "
                 "bad-signature bad-certificate bad-set bad-proof bad-checkpoint bad-sct bad-timestamp").split():
        command.add_argument("--" + flag, action="store_true")
    command.set_defaults(run=sign)
    command = commands.add_parser("attach")
    for argument in ("repository", "digest", "bundle"):
        command.add_argument(argument)
    command.set_defaults(run=attach)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    sys.exit(main())
