#!/usr/bin/env bash
# Makes a static site of README and docs/, with a search. A link that leads to no page is an error.
# VitePress comes from npm, pinned by docs/site/package-lock.json. Look at the site: npx vitepress preview, or any web server.
#
#   scripts/docs.sh             into build/docs
#   scripts/docs.sh FOLDER      into a new or empty folder
set -euo pipefail
output=${1:+$(realpath -m "$1")}
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v npm >/dev/null || die "docs.sh: the site is made by VitePress: install npm"

output=${output:-$PWD/build/docs}
if (($# == 0)); then rm -rf "$output"; fi
[[ -z $(ls -A "$output" 2>/dev/null) ]] || die "docs.sh: $output is not empty"

# Two runs at a time share the packages of npm and nothing else.
site=$PWD/build/docs-site
mkdir -p "$site"
work=$(mktemp -d "$site/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
pages=$work/pages
mkdir -p "$pages/docs" "$pages/public" "$work/.vitepress"
cp docs/site/config.mjs "$work/.vitepress/"
cp README.md CHANGELOG.md CONTRIBUTING.md "$pages/"
cp -r docs/guide docs/reference docs/design docs/images "$pages/docs/"

# file_page FILE: shows the file as code on the page FILE.md, which also offers it as a download.
file_page() {
  local name=${1##*/} language
  case $name in
    *.sbatch) language="sh" ;;
    *.*) language=${name##*.} ;;
    *) language=txt ;;
  esac
  mkdir -p "$pages/${1%"$name"}" "$pages/public/${1%"$name"}"
  cp "$1" "$pages/public/$1"
  {
    printf -- '---\nprev: false\nnext: false\n---\n# %s\n\n' "$name"
    printf '`%s` of the repository: [download](%s){download}\n\n````%s\n' "$1" "$name" "$language"
    cat "$1"
    printf '````\n'
  } >"$pages/$1.md"
}

# The documents link to these folders and files, too.
decisions=$pages/docs/design/decisions
{
  printf '# Decisions\n\n'
  for page in "$decisions"/0*.md; do
    printf '* [%s](%s)\n' "$(sed -n '1s/^# //p' "$page")" "$(basename "$page")"
  done
} >"$decisions/index.md"
mkdir "$pages/examples"
for folder in examples/*/; do
  folder=${folder%/}
  printf '# %s\n\n' "${folder#examples/}" >"$pages/$folder.md"
  for file in "$folder"/*; do
    if [[ -d $file || $file == */CMakeLists.txt || $file == */test_* ]]; then continue; fi
    file_page "$file"
    printf '* [%s](%s)\n' "${file##*/}" "${file#examples/}" >>"$pages/$folder.md"
  done
done
for file in LICENSE docs/reference/*.json; do file_page "$file"; done

cp docs/site/package.json docs/site/package-lock.json "$site/"
if ! cmp -s "$site/package-lock.json" "$site/node_modules/of-lock.json"; then
  say "Installing VitePress"
  (cd "$site" && npm ci --no-audit --no-fund --loglevel=error)
  cp "$site/package-lock.json" "$site/node_modules/of-lock.json"
fi

say "Making $output"
(cd "$site" && STEPSCOPE_DOCS_SOURCE=$pages STEPSCOPE_DOCS_OUTPUT=$output npx vitepress build "$work")
note "$(find "$output" -name '*.html' | wc -l) pages in $output"
