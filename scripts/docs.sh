#!/usr/bin/env bash
# Makes a static site of README and docs/, with a search, in build/docs. A link that leads to no page is an error.
# VitePress comes from npm, pinned by docs/site/package-lock.json. Look at the site: npx vitepress preview, or any web server.
#
#   scripts/docs.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v npm >/dev/null || die "docs.sh: the site is made by VitePress: install npm"

site=$PWD/build/docs-site
source_folder=$site/pages
rm -rf "$source_folder" build/docs
mkdir -p "$source_folder/docs" "$site/.vitepress"
cp README.md CHANGELOG.md CONTRIBUTING.md "$source_folder/"
cp -r docs/guide docs/reference docs/design docs/images "$source_folder/docs/"
# The folder of decisions is a page, too.
decisions=$source_folder/docs/design/decisions
{
  printf '# Decisions\n\n'
  for page in "$decisions"/0*.md; do
    printf '* [%s](%s)\n' "$(sed -n '1s/^# //p' "$page")" "$(basename "$page")"
  done
} >"$decisions/index.md"
cp docs/site/package.json docs/site/package-lock.json "$site/"
cp docs/site/config.mjs "$site/.vitepress/"

say "Installing VitePress"
if ! cmp -s "$site/package-lock.json" "$site/node_modules/of-lock.json"; then
  (cd "$site" && npm ci --no-audit --no-fund --loglevel=error)
  cp "$site/package-lock.json" "$site/node_modules/of-lock.json"
fi

say "Making build/docs"
(cd "$site" && STEPSCOPE_DOCS_SOURCE=$source_folder STEPSCOPE_DOCS_OUTPUT=$PWD/../docs npx vitepress build)
note "$(find build/docs -name '*.html' | wc -l) pages in build/docs"
