#!/bin/bash
# Meson asks compilers for all macros of a level. That alone does not make its projects different at other levels; a question of
# the project does.
source "$E2E/lib.sh"
needs jq clang-22 meson

# Other builds of an application with this name at the same time would take the name of the build directory.
mkdir src tmp
export TMPDIR=$PWD/tmp
cat >src/meson.build <<'END'
project('app', 'c')
cc = meson.get_compiler('c')
threads = dependency('threads')
configuration = configuration_data()
configuration.set('HAVE_STDIO', cc.has_header('stdio.h'))
configuration.set('HAVE_NONE', cc.has_function('none_such'))
configuration.set('LANGUAGE', cc.get_define('__STDC_VERSION__'))
configure_file(output: 'config.h', configuration: configuration)
executable('app', 'main.c', dependencies: threads, install: true)
END
cat >src/main.c <<'END'
#include "config.h"
#include <stdio.h>
int main(void) { return printf("app %ld\n", (long)LANGUAGE) < 0; }
END
echo '{"name": "app", "build": {"system": "meson"}, "image": {"entrypoint": ["/usr/local/bin/app"]}}' >src/xaas.json

build() { # TAG OPTION...
  "$XAAS" build src -o "oci:app:$1" -q --format json "${@:2}" >"$1.json"
}
expect_same_as() { # TAG SAME_AS: the levels that are not built
  expect_equal "levels of $1" "$(jq -c '[.configurations[] | .same_as]' "$1.json")" "$2"
}

build plain
expect_same_as plain '[null,"isa=x86-64","isa=x86-64","isa=x86-64"]'
build checked --check-sharing
expect_equal "digest" "$(image_digest app plain)" "$(image_digest app checked)"

two=(--config isa=x86-64 --config isa=x86-64-v3)
# The project reads the macros itself: by a command of Meson, and in a script.
cp src/meson.build meson.build
cat >>src/meson.build <<'END'
macros = run_command(cc, '-E', '-dM', '-', check: true).stdout()
if macros.contains('__AVX2__')
  install_data('meson.build', install_dir: '/usr/local/share/avx2')
endif
END
build command "${two[@]}"
expect_same_as command '[null,null]'
cp meson.build src/meson.build
cat >>src/meson.build <<'END'
custom_target('level', output: 'level.txt', command: [files('ask.sh'), cc.cmd_array()], install: true,
              install_dir: '/usr/local/share')
END
cat >src/ask.sh <<'END'
#!/bin/sh
"$@" -E -dM - </dev/null | grep -c __AVX512F__ >level.txt || :
END
chmod +x src/ask.sh
build script "${two[@]}"
expect_same_as script '[null,null]'
