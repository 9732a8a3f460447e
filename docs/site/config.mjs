// The site of the documents: the files of the repository in their own folders, so that their links work. No network, no fonts and no
// scripts of others; the search is in the pages.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = process.env.STEPSCOPE_DOCS_SOURCE;

/** Pages of a folder by their first heading. */
function pagesOf(folder) {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md") && name !== "index.md")
    .map((name) => {
      const heading = readFileSync(join(root, folder, name), "utf8").match(/^# (.*)$/m);
      return { text: (heading?.[1] ?? name).replaceAll("`", ""), link: `/${folder}/${name}` };
    });
}

/**
 * Each link inside the site leads to a page: docs.sh shows FILE on FILE.md. VitePress takes names such as job.yaml for downloads and
 * does not check them.
 */
function linkPages(md) {
  const open = md.renderer.rules.link_open;
  md.renderer.rules.link_open = (tokens, index, options, env, self) => {
    const link = tokens[index];
    const target = link.attrGet("href");
    if (link.attrIndex("download") < 0 && !/^[a-z]+:|^#|\/$|\.md(#|$)/.test(target)) {
      const page = target.replace(/^[^#]+/, "$&.md");
      if (!existsSync(join(root, dirname(env.relativePath), page.replace(/#.*/, "")))) {
        throw new Error(`${env.relativePath}: the site has no page for ${target}`);
      }
      link.attrSet("href", page);
    }
    return open(tokens, index, options, env, self);
  };
}

/** Anchors inside tables are the only HTML of the documents; anything else in angle brackets is text. */
function allowAnchors(md) {
  md.inline.ruler.before("html_inline", "anchor", (state, silent) => {
    const found = state.src.slice(state.pos).match(/^<a id="[\w-]+"><\/a>/);
    if (!found) return false;

    if (!silent) state.push("html_inline", "", 0).content = found[0];
    state.pos += found[0].length;
    return true;
  });
}

/** The name of a heading's anchor, as on GitHub: tests/check_links.py checks the links with these names. */
function slugify(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{M}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
}

export default {
  title: "Stepscope",
  description: "Where the time and the memory of multi-GPU training go, why, and what fixing it would give",
  srcDir: root,
  outDir: process.env.STEPSCOPE_DOCS_OUTPUT,
  cacheDir: join(root, ".cache"),
  rewrites: { "README.md": "index.md" },
  // The drawings follow the system's colours, so the page does, too, and has no switch of its own.
  appearance: "force-auto",
  markdown: {
    html: false,
    anchor: { slugify },
    config(md) {
      linkPages(md);
      allowAnchors(md);
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: "deep",
    nav: [
      { text: "Guides", link: "/docs/guide/TRACES" },
      { text: "Findings", link: "/docs/reference/FINDINGS" },
      { text: "Definitions", link: "/docs/reference/DEFINITIONS" },
      { text: "Changelog", link: "/CHANGELOG" },
    ],
    sidebar: [
      { text: "Start", items: [{ text: "Stepscope", link: "/" }, { text: "License", link: "/LICENSE" }] },
      { text: "Guides", items: pagesOf("docs/guide") },
      { text: "Examples", collapsed: true, items: pagesOf("examples") },
      { text: "Reference", collapsed: true, items: pagesOf("docs/reference") },
      { text: "Design", collapsed: true, items: pagesOf("docs/design") },
      { text: "Decisions", collapsed: true, items: pagesOf("docs/design/decisions") },
    ],
  },
};
