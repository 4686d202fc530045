// The past of devices: uPlot draws, drag zooms, double-click shows all, a click in the legend shows one line alone.
import uPlot from "./vendor/uplot.js";
import { announce, t } from "./texts.js";

const HEIGHT = 260;
const place = document.getElementById("chart");
const { times, series } = JSON.parse(document.getElementById("chart-data").textContent);

/** The colours of the theme, as the page has them now. */
function colour(name, property = "stroke") {
  const probe = document.createElement("span"); // `stroke` is inherited by anything
  probe.className = name;
  document.body.append(probe);
  const found = getComputedStyle(probe)[property];
  probe.remove();
  return found;
}

const unitOf = (each) => each.words.length ? "words" : each.unit || "number";
const written = (each) => (value) => value == null ? "–" : each.words.length ? each.words[value] : `${+value.toFixed(2)} ${each.unit}`.trim();

let full; // how a moment is written

function draw() {
  const soft = colour("sub", "color");
  const line = colour("card", "borderTopColor");
  const units = [...new Set(series.map(unitOf))];
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px Inter Variable, system-ui, sans-serif" };
  const { lang: language, dataset: { clock: hourCycle } } = document.documentElement;
  const near = times.at(-1) - times[0] < 2 * 86_400;
  const stamp = new Intl.DateTimeFormat(language, near ? { hour: "2-digit", minute: "2-digit", hourCycle } : { month: "short", day: "numeric" });
  full = new Intl.DateTimeFormat(language, { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle });
  const chart = new uPlot({
    width: place.clientWidth,
    height: HEIGHT,
    focus: { alpha: 0.4 },
    cursor: { drag: { x: true, y: false, uni: 20 } },
    legend: { isolate: true },
    scales: Object.fromEntries(units.map((unit) => [unit, unit === "words" ? { range: [-0.1, 1.1] } : {}])),
    axes: [
      { ...axis, grid: { show: false }, space: 70, values: (_, ticks) => ticks.map((each) => stamp.format(each * 1000)) },
      ...units.map((unit, at) => ({
        ...axis, scale: unit, side: at % 2 ? 1 : 3, size: 56, grid: at ? { show: false } : axis.grid,
        ...(unit === "words" ? { splits: () => [0, 1], values: () => series.find((each) => each.words.length).words } : { values: (_, ticks) => ticks.map((each) => `${+each.toFixed(3)}`), label: undefined }),
      })),
    ],
    series: [
      { label: t("Time"), value: (_, time) => time == null ? "–" : full.format(time * 1000) },
      ...series.map((each, at) => ({
        label: each.name, scale: unitOf(each), stroke: colour(`series-${at + 1}`), width: 2, points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }), value: (_, value) => written(each)(value),
      })),
    ],
  }, [times, ...series.map((each) => each.values)]);
  place.replaceChildren(chart.root);
  return chart;
}

/** Plus looks closer at the value one is at, minus and zero at all again; a digit shows one line alone, and all when pressed again. */
function look(event) {
  event.preventDefault();
  const { min, max } = chart.scales.x;
  const at = times[chart.cursor.idx ?? times.length - 1];
  const line = chart.series[Number(event.key)];
  if (event.key === "+") chart.setScale("x", { min: Math.max(min, at - (max - min) / 4), max: Math.min(max, at + (max - min) / 4) });
  else if (event.key === "-" || event.key === "0") chart.setScale("x", { min: times[0], max: times.at(-1) });
  else if (line) {
    const alone = chart.series.slice(1).every((each) => each.show === (each === line));
    chart.series.forEach((each, index) => index && chart.setSeries(index, { show: alone || each === line }));
    announce(alone ? t("All lines") : line.label);
  }
}

let chart = draw();
document.getElementById("chart-help").hidden = false;
place.tabIndex = 0;
place.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[0-9+-]$/.test(event.key)) return look(event);
  const last = times.length - 1;
  const page = Math.max(1, Math.round(times.length / 10));
  const at = chart.cursor.idx ?? last + 1;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - page, PageDown: at + page, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const index = Math.min(Math.max(to, 0), last);
  chart.setCursor({ left: chart.valToPos(times[index], "x"), top: chart.over.clientHeight / 2 });
  announce([full.format(times[index] * 1000), ...series.map((each) => `${each.name} ${written(each)(each.values[index])}`)].join(", "));
});
new ResizeObserver(() => place.clientWidth && place.clientWidth !== chart.width && chart.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { chart.destroy(); chart = draw(); });
