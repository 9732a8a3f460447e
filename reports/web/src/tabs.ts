// Shows one of several blocks at a time. The keys are those of the WAI-ARIA tabs pattern: arrows, Home and End choose.
import { element } from "./dom";

function enhance(group: HTMLElement): void {
  const panels = [...group.querySelectorAll<HTMLElement>(":scope > [data-tab]")];
  const list = element("div", { className: "tabs" });
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", group.dataset.tabs ?? "");
  const tabs = panels.map((panel) => {
    const tab = element("button", { type: "button", textContent: panel.dataset.tab ?? "", id: `${panel.id}-tab` });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    // The tab says what the title says.
    panel.querySelector(":scope > h3")?.remove();
    return tab;
  });
  const choose = (index: number) =>
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
      panels[i].hidden = i !== index;
    });
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(i));
    tab.addEventListener("keydown", (event) => {
      const last = tabs.length - 1;
      const next = { ArrowRight: i === last ? 0 : i + 1, ArrowLeft: i === 0 ? last : i - 1, Home: 0, End: last }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      choose(next);
      tabs[next].focus();
    });
  });
  list.append(...tabs);
  group.prepend(list);
  choose(0);
}

export function enhanceTabs(): void {
  for (const group of document.querySelectorAll<HTMLElement>("[data-tabs]")) enhance(group);
}
