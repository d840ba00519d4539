#!/bin/bash
# Which files get into a source image: files that .gitignore names stay out, secrets are refused with file and line, downloads
# of the spec are there, and the build on the target sees exactly these files.
source "$E2E/lib.sh"
needs jq git python3 openssl
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY CURL_CA_BUNDLE SSL_CERT_FILE
mkdir tool
echo x >tool/x
tar -C tool -cf tool.tar x
image_of_tar tools plain tool.tar
tiny_project src
build() { "$XAAS" build src --kind source --base oci:tools:plain -o "oci:app:$1" -q "${@:2}"; }
files_of() { # TAG: of the sources in the image
  local layer
  layer=$("$XAAS" inspect "oci:app:$1" --format json | jq -r '.layers[] | select(.role == "source") | .digest')
  "$ZSTD" -dc "$(blob app "$layer")" | tar -t | sed -n 's,^\(\./\)\?\.xaas/source/,,p' | grep '[^/]$' | LC_ALL=C sort | tr '\n' ' '
}
ZSTD=$(command -v zstd) || skip "zstd is not installed"

build all >/dev/null
expect_equal "sources" "$(files_of all)" "Makefile hello.c xaas.json "

# Files that a .gitignore names.
printf '*.o\n/out/\n' >src/.gitignore
mkdir -p src/out src/sub
touch src/hello.o src/out/x src/sub/y.o src/sub/out
"$XAAS" build src --kind source --base oci:tools:plain -o oci:app:ignored >/dev/null 2>log
expect_equal "sources" "$(files_of ignored)" ".gitignore Makefile hello.c sub/out xaas.json "
grep -q '^3 files that a .gitignore names are left out, including hello.o' log || fail "not said: $(cat log)"
jq '. + {include: ["out", "sub/*.o"]}' src/xaas.json >spec.new && cp spec.new src/xaas.json
build included >/dev/null
expect_equal "sources" "$(files_of included)" ".gitignore Makefile hello.c out/x sub/out sub/y.o xaas.json "
expect_error 8 "git, which reads it, is not on PATH" env PATH=/nonexistent "$XAAS" build src --kind source --base oci:tools:plain -o oci:app:x
# An image that lies among its own sources is none of them.
"$XAAS" build src --kind source --base oci:tools:plain -o oci:src/image:x -q >/dev/null
"$XAAS" build src --kind source --base oci:tools:plain -o oci:src/image:x -q >/dev/null
expect_equal "with an image among them" "$(image_digest src/image x)" "$(image_digest app included)"
rm -r src/image

# Secrets.
printf 'int a;\nconst char *token = "%s%s";\n' gh "p_$(printf 'x%.0s' {1..36})" >src/sub/token.c
{ echo; openssl genpkey -algorithm ed25519; } >src/key.pem
echo 'PASSWORD=x' >src/.env
expect_error 1 "the sources seem to contain secrets" build secret
for line in '.env: settings' 'key.pem:2: a private key' 'sub/token.c:2: a GitHub token'; do
  grep -qF "$line" stderr || fail "not said: $line: $(cat stderr)"
done
! grep -q 'xxxxxxxx' stderr || fail "the secret itself is shown"
! image_digest app secret 2>/dev/null || fail "there is an image all the same"
echo .env >>src/.gitignore
jq '. + {include: ["key.pem", "sub/token.c"]}' src/xaas.json >spec.new && cp spec.new src/xaas.json
build meant >/dev/null
expect_equal "sources" "$(files_of meant)" ".gitignore Makefile hello.c key.pem sub/out sub/token.c xaas.json "
rm src/key.pem src/sub/token.c src/.env

# Absolute links and special files, which would differ on the target machine.
ln -s /etc/hostname src/host
expect_error 1 "src/host: is a link to /etc/hostname" build link
rm src/host
mkfifo src/pipe
mv src/.gitignore rules
expect_error 1 "src/pipe: is a special file" build pipe
mv rules src/.gitignore
rm src/pipe

# Downloads.
mkdir web
echo data >web/data.bin
serve_files web
fetching() { # SHA256 PATH TO
  jq --arg url "http://127.0.0.1:$port/$2" --arg sha "$1" --arg to "$3" '.fetch = [{url: $url, sha256: $sha, to: $to}]' src/xaas.json >spec.new
  cp spec.new src/xaas.json
}
fetching "$(sha256sum <web/data.bin | cut -c1-64)" data.bin third_party/data.bin
build fetched >/dev/null
expect_equal "sources" "$(files_of fetched)" ".gitignore Makefile hello.c sub/out third_party/data.bin xaas.json "
expect_error 6 "data.bin" build offline --offline
fetching "$(printf 'a%.0s' {1..64})" data.bin data.bin
expect_error 7 "has the digest $(sha256sum <web/data.bin | cut -c1-64)" build wrong
fetching "$(sha256sum <web/data.bin | cut -c1-64)" none data.bin
expect_error 4 "the server answered 404" build none
fetching "$(sha256sum <web/data.bin | cut -c1-64)" data.bin ../data.bin
expect_error 2 "/fetch/0/to" build outside
fetching "$(sha256sum <web/data.bin | cut -c1-64)" data.bin hello.c # it is there already
expect_error 1 "hello.c" build twice
# Archives are unpacked without their top directory, and a .gitignore does not apply.
mkdir -p fmt-1/src
echo 'int a;' >fmt-1/src/a.o
printf '#!/bin/sh\n' >fmt-1/configure
chmod 755 fmt-1/configure
ln -s src/a.o fmt-1/link
tar -cJf web/fmt.tar.xz fmt-1
unpacking() { # FILE TO
  fetching "$(sha256sum <"web/$1" | cut -c1-64)" "$1" "$2"
  jq '.fetch[0].unpack = true' src/xaas.json >spec.new && cp spec.new src/xaas.json
}
unpacking fmt.tar.xz third_party/fmt
build unpacked >/dev/null
expect_equal "sources" "$(files_of unpacked)" \
  ".gitignore Makefile hello.c sub/out third_party/fmt/configure third_party/fmt/link third_party/fmt/src/a.o xaas.json "
layer=$("$XAAS" inspect oci:app:unpacked --format json | jq -r '.layers[] | select(.role == "source") | .digest')
"$ZSTD" -dc "$(blob app "$layer")" | tar -tv >listed
grep -q '^-rwxr-xr-x.*/fmt/configure$' listed && grep -q '/fmt/link -> src/a.o$' listed || fail "not as it was: $(cat listed)"
# The same sources, the same image.
build again >/dev/null
expect_equal "again" "$(image_digest app again)" "$(image_digest app unpacked)"
unpacking data.bin third_party/data
expect_error 7 "data.bin" build noarchive
hostile() { # NAME TARINFO: an archive with this, and a good file before it
  python3 - "web/$1.tar.gz" <<END
import io, tarfile, sys
with tarfile.open(sys.argv[1], "w:gz") as archive:
    good = tarfile.TarInfo("top/good")
    archive.addfile(good, io.BytesIO(b""))
    bad = tarfile.TarInfo("top/bad")
    $2
    archive.addfile(bad, io.BytesIO(b"x" * bad.size))
END
  unpacking "$1.tar.gz" third_party/bad
  expect_error 7 "http://127.0.0.1:$port/$1.tar.gz" build hostile
  ! image_digest app hostile 2>/dev/null || fail "there is an image of the archive $1"
}
hostile above 'bad.name, bad.size = "../x", 1'
hostile absolute "bad.name, bad.size = '$PWD/x', 1"
hostile leads 'bad.type, bad.linkname = tarfile.SYMTYPE, "../../Makefile"'
hostile outside 'bad.type, bad.linkname = tarfile.SYMTYPE, "/etc/hostname"'
hostile beside 'bad.type, bad.linkname = tarfile.SYMTYPE, "../hello.c"'
hostile pipe 'bad.type = tarfile.FIFOTYPE'
[ ! -e x ] && [ ! -e ../x ] || fail "an archive wrote outside"
# A redirect from https to plain HTTP.
openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 1 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null
printf 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%s/data.bin\r\nContent-Length: 0\r\n\r\n' "$port" >away
: >tls.log
openssl s_server -accept 0 -cert tls.crt -key tls.key -HTTP -no_ign_eof >>tls.log 2>&1 &
tls=$!
trap 'kill $server $tls 2>/dev/null || true' EXIT
for ((i = 0; i < 100; ++i)); do
  tls_port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' tls.log)
  [ -z "$tls_port" ] || break
  sleep 0.1
done
fetching "$(sha256sum <web/data.bin | cut -c1-64)" data.bin data.bin
sed -i "s|http://127.0.0.1:$port/data.bin|https://127.0.0.1:$tls_port/away|" src/xaas.json
expect_error 6 "redirected from https to http://127.0.0.1:$port/data.bin" env "SSL_CERT_FILE=$PWD/tls.crt" "$XAAS" build src --kind source --base oci:tools:plain -o oci:app:x
