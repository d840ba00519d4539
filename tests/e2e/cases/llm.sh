#!/bin/bash
# A language model may add specialization points: its answer is checked, marked and reported. A recorded answer is reused
# without a network, no answer is an error, and without --llm nothing changes.
source "$E2E/lib.sh"
needs jq python3 openssl cmake ninja clang-22

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(waves VERSION 1.4 LANGUAGES C)
option(WAVES_DOUBLE "double precision" OFF)
option(WAVES_TURBO "kernels with vectors" OFF)
add_executable(waves waves.c)
if(WAVES_TURBO)
  target_compile_definitions(waves PRIVATE TURBO)
endif()
install(TARGETS waves)
END
printf 'int main(void) { return 0; }\n' >src/waves.c

# A server with a chat endpoint, with and without TLS. It answers with a file, prints its ports and stores the requests.
cat >server.py <<'END'
import http.server, ssl, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        with open("sent", "wb") as file:
            file.write(str(self.headers).encode() + sent)
        answer = open("answer", "rb").read()
        self.send_response(int(open("status").read()))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *arguments):
        pass
plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
tls = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
tls.socket = context.wrap_socket(tls.socket, server_side=True)
threading.Thread(target=tls.serve_forever, daemon=True).start()
with open("ports.new", "w") as file:
    file.write("%d %d\n" % (plain.server_address[1], tls.server_address[1]))
import os
os.rename("ports.new", "ports")
plain.serve_forever()
END
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY CURL_CA_BUNDLE SSL_CERT_FILE
unset XAAS_LLM_KEY OPENAI_API_KEY ANTHROPIC_API_KEY
python3 server.py &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 200); do
  [ -e ports ] || sleep 0.05
done
read -r port tls_port <ports

jq -n '{points: [
  {name: "turbo", category: "cpu", reason: "Vector kernels.", default: "off",
   evidence: [{file: "CMakeLists.txt", line: 4}, {file: "../../etc/passwd", line: 1}],
   values: [{value: "off", arguments: ["-DWAVES_TURBO=OFF"]}, {value: "on", arguments: ["-DWAVES_TURBO=ON"]}]},
  {name: "magic", category: "gpu", reason: "Sounds good.", default: "off", evidence: [{file: "CMakeLists.txt", line: 4}],
   values: [{value: "off", arguments: ["-DWAVES_MAGIC=OFF"]}, {value: "on", arguments: ["-DWAVES_MAGIC=ON"]}]}]}' >points
jq -n --rawfile points points '{choices: [{finish_reason: "stop", message: {role: "assistant", content: $points}}],
  usage: {prompt_tokens: 900, completion_tokens: 80}}' >answer
echo 200 >status

"$XAAS" inspect src --format json >plain.json
export XAAS_LLM_KEY=sk-very-secret
"$XAAS" inspect src --llm "http://127.0.0.1:$port" --model tiny --llm-record record.json --format json >asked.json 2>notes
assert_json asked.json '.llm | .model == "tiny" and .style == "openai" and .prompt_tokens == 900 and .answer_tokens == 80 and
  .replayed == false and .requests == 1'
assert_json asked.json '.specializations | map({name, source}) ==
  [{name: "double", source: null}, {name: "turbo", source: "language-model"}]'
assert_json asked.json '.specializations[1] | .model == "tiny" and .option == "WAVES_TURBO" and .evidence[0].line == 4'
assert_json asked.json '.llm.rejected | map(.point) | unique == ["magic", "turbo"]'
grep -q "note: language model: left out: point magic" notes || fail "nothing is said of what was left out: $(cat notes)"
grep -q "Authorization: Bearer sk-very-secret" sent || fail "the key was not sent"
! grep -r sk-very-secret record.json asked.json notes || fail "the key is in an output"
[ "$(jq 'del(.llm, .specializations)' asked.json)" = "$(jq 'del(.specializations)' plain.json)" ] || fail "more has changed"
[ "$(jq '.specializations[0]' asked.json)" = "$(jq '.specializations[0]' plain.json)" ] || fail "a point that was read has changed"

# Without an answer there is no result.
echo 403 >status
expect_error 5 "HTTP status 403" "$XAAS" inspect src --llm "http://127.0.0.1:$port" --model tiny
grep -q "hint: .*without --llm" stderr || fail "no way out is named"
! grep sk-very-secret stderr || fail "the key is in an error"
echo 200 >status
echo nonsense >answer.bad
mv answer answer.good && mv answer.bad answer
expect_error 7 "not valid JSON" "$XAAS" init src --llm "http://127.0.0.1:$port" --model tiny
[ ! -e src/xaas.json ] || fail "a spec was written without the answer"
mv answer.good answer

# Certificates are verified against the configured authorities.
expect_error 6 "https://localhost:$tls_port" "$XAAS" inspect src --llm "https://localhost:$tls_port" --model tiny
SSL_CERT_FILE=cert.pem "$XAAS" inspect src --llm "https://localhost:$tls_port" --model tiny -q >/dev/null 2>&1
CURL_CA_BUNDLE=cert.pem "$XAAS" inspect src --llm "https://localhost:$tls_port" --model tiny -q >/dev/null 2>&1

kill $server
wait $server 2>/dev/null || true
expect_error 6 "http://127.0.0.1:$port/v1/chat/completions" "$XAAS" inspect src --llm "http://127.0.0.1:$port" --model tiny
unset XAAS_LLM_KEY

# The recorded answer needs no network.
"$XAAS" inspect src --llm-replay record.json --offline --format json >replayed.json 2>/dev/null
[ "$(jq '.llm.replayed = false' replayed.json)" = "$(cat asked.json)" ] || fail "the replay gives another answer"
"$XAAS" inspect src --llm-replay record.json 2>/dev/null >table
grep -q '^turbo\*  *cpu  *off  *off on$' table || fail "no marked row for turbo: $(cat table)"
grep -q '^request  *[0-9]* bytes, 900 tokens$' table || fail "no size of the request: $(cat table)"
"$XAAS" inspect src --llm-replay record.json --schema paper 2>notes >paper.json
grep -q "note: language model: added: point turbo, values off on" notes || fail "nothing says what was added: $(cat notes)"
assert_json paper.json '.simd_vectorization.turbo.build_flag == "-DWAVES_TURBO"'
"$XAAS" init src --llm-replay record.json --format json -q >init.json 2>/dev/null
assert_json init.json '.points == 2 and .llm.accepted[0].point == "turbo"'
grep -q '^ *// named by the language model tiny: Vector kernels. (CMakeLists.txt:4)$' src/xaas.json ||
  fail "no comment: $(cat src/xaas.json)"
"$XAAS" build src -o oci:app:ir --isa x86-64 --config turbo=on -q >/dev/null
"$XAAS" inspect oci:app:ir --format json >ir.json
assert_json ir.json '.configurations | map(.id) == ["double=off,isa=x86-64,turbo=on"]'

rm src/xaas.json
sed -i 's/kernels with vectors/kernels/' src/CMakeLists.txt
expect_error 7 "of another request" "$XAAS" inspect src --llm-replay record.json
expect_error 4 "absent.json" "$XAAS" inspect src --llm-replay absent.json

expect_error 2 "--model" "$XAAS" inspect src --llm "http://127.0.0.1:$port"
expect_error 2 "--llm URL" "$XAAS" inspect src --model tiny
expect_error 2 "offline: --llm" "$XAAS" inspect src --offline --llm "http://127.0.0.1:$port" --model tiny
expect_error 2 "source directory" "$XAAS" inspect oci:app:ir --llm "http://127.0.0.1:$port" --model tiny
expect_error 2 "neither http nor https" "$XAAS" inspect src --llm file:///etc/passwd --model tiny
expect_error 2 "--llm-replay" "$XAAS" inspect src --llm "http://127.0.0.1:$port" --model tiny --llm-replay record.json
