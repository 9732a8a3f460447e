// When charts are drawn: all charts of a large run take seconds.

// Charts on the screen are drawn at once. The others follow one by one when the browser has nothing else to do. The first click or
// key, and printing, draw what is left, because these need the page's final heights. <html> gets data-drawn="all" at the end.
export function drawInTurn(plots: HTMLElement[], drawChart: (plot: HTMLElement) => void): void {
  // A chart that fails leaves its table, and the other charts.
  const draw = (plot: HTMLElement) => {
    try {
      drawChart(plot);
    } catch (fault) {
      console.error(fault);
    }
  };
  const isOnScreen = (plot: HTMLElement) => plot.offsetParent !== null && plot.getBoundingClientRect().top < innerHeight;
  // Asked for all before the first one is drawn, which moves the others.
  const shown = plots.filter(isOnScreen);
  const later = plots.filter((plot) => !shown.includes(plot));

  const drawOne = () => {
    const plot = later.shift();
    if (plot) draw(plot);
    if (later.length === 0) document.documentElement.dataset.drawn = "all";
  };
  const drawRest = () => {
    do drawOne();
    while (later.length > 0);
  };
  const goOn = () => {
    drawOne();
    if (later.length > 0) whenIdle(goOn);
  };

  for (const plot of shown) draw(plot);
  for (const event of ["pointerdown", "keydown", "click", "beforeprint"]) addEventListener(event, drawRest, { capture: true, once: true });
  // A link into the page leads to its place only with all heights.
  if (location.hash !== "" || later.length === 0) drawRest();
  else whenIdle(goOn);
}

function whenIdle(call: () => void): void {
  const kAtLatest = 200;
  if ("requestIdleCallback" in window) requestIdleCallback(call, { timeout: kAtLatest });
  else setTimeout(call, 0);
}
