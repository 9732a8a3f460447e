// The site of the documents: the files of the repository in their own folders, so that their links work. No network, no fonts and no
// scripts of others; the search is in the pages.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = process.env.STEPSCOPE_DOCS_SOURCE;

/** Pages of a folder by their first heading. */
function pagesOf(folder) {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md") && name !== "index.md")
    .map((name) => {
      const heading = readFileSync(join(root, folder, name), "utf8").match(/^# (.*)$/m);
      return { text: (heading?.[1] ?? name).replaceAll("`", ""), link: `/${folder}/${name.replace(".md", "")}` };
    });
}

export default {
  title: "Stepscope",
  description: "Where the time and the memory of multi-GPU training go, why, and what fixing it would give",
  srcDir: root,
  outDir: process.env.STEPSCOPE_DOCS_OUTPUT,
  cacheDir: join(root, ".cache"),
  rewrites: { "README.md": "index.md" },
  // Folders of the repository that are no pages.
  ignoreDeadLinks: [/examples\//, /LICENSE/],
  markdown: { html: false },
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
      { text: "Start", items: [{ text: "Stepscope", link: "/" }] },
      { text: "Guides", items: pagesOf("docs/guide") },
      { text: "Reference", collapsed: true, items: pagesOf("docs/reference") },
      { text: "Design", collapsed: true, items: pagesOf("docs/design") },
      { text: "Decisions", collapsed: true, items: pagesOf("docs/design/decisions") },
    ],
  },
};
