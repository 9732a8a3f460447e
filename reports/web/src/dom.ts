// Elements are made by calls, never by parsing markup: text of a trace stays text.

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export interface TipLine {
  color?: string;
  label: string;
  value?: string;
}

// A chart's tooltip as elements: a title and lines with a colour mark.
export function tip(title: string, lines: TipLine[]): HTMLElement {
  const box = element("div", { className: "tip" }, element("b", { textContent: title }));
  for (const line of lines) {
    const mark = element("i");
    if (line.color) mark.style.background = line.color;
    box.append(
      element("div", {}, mark, element("span", { textContent: line.label }), element("em", { textContent: line.value ?? "" })),
    );
  }
  return box;
}

export function select(label: string, options: [string, string][], chosen: (value: string) => void): HTMLLabelElement {
  const box = element("select");
  for (const [value, text] of options) box.append(element("option", { value, textContent: text }));
  box.addEventListener("change", () => chosen(box.value));
  return element("label", { className: "choice" }, label, box);
}
