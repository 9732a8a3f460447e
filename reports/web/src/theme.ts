// Colours come from the page's style sheet, so that bars, keys and charts agree, in light and dark.

export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Black or white, whichever reads better on a colour given as #rrggbb (relative luminance, WCAG 2).
export function inkOn(background: string): string {
  const channel = (at: number) => {
    const value = parseInt(background.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000000" : "#ffffff";
}

export const textStyle = () => ({ color: color("muted"), fontSize: 12, fontFamily: "system-ui, sans-serif" });

export const axisStyle = () => ({
  axisLine: { lineStyle: { color: color("line") } },
  axisTick: { lineStyle: { color: color("line") } },
  splitLine: { lineStyle: { color: color("line") } },
  axisLabel: textStyle(),
  nameTextStyle: textStyle(),
});

// How a chart hatches a part that is idle time: in the direction of its cause, told apart from work
// and from other causes without its hue. The page's angle is that of a gradient, which stripes
// cross; canvases turn clockwise.
export function hatchOf(part: string) {
  const angle = color(`${part}-hatch`);
  if (!angle) return undefined;
  return {
    symbol: "rect",
    dashArrayX: [1, 0],
    dashArrayY: [2, 4],
    rotation: ((parseFloat(angle) - 180) * Math.PI) / 180,
    color: color("hatch"),
  };
}

export const tooltipStyle = () => ({
  backgroundColor: color("card"),
  borderColor: color("line"),
  textStyle: { color: color("text"), fontSize: 12, fontFamily: "system-ui, sans-serif" },
  confine: true,
  transitionDuration: 0,
});
