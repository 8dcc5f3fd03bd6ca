// Draws the charts of a report page. The data stands in the page as JSON; every chart has its figures as a table too.
"use strict";

const runs = JSON.parse(document.getElementById("data").textContent);

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function color(at) {
  return style("--s" + (at % 5));
}

function shown(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1e6) return (value / 1e6).toPrecision(3) + "M";
  if (size >= 1e4) return Math.round(value / 1e3) + "k";
  if (size >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function axis(more) {
  const grid = { stroke: style("--rule"), width: 1 };
  return { stroke: style("--quiet"), grid, ticks: grid, font: "12px system-ui, sans-serif", ...more };
}

// Targets work in turns, so each has points of its own: one list of times, with gaps.
function overlaid(targets, value) {
  const tables = targets.map((t) => [t.intervals.map((p) => p.at), t.intervals.map(value)]);
  return uPlot.join(tables.length ? tables : [[[], []]]);
}

function series(targets, more) {
  return targets.map((target, at) => ({
    label: target.name, stroke: color(at), width: 2, spanGaps: true, points: { show: false }, ...more,
  }));
}

function chart(place, options, data) {
  place.textContent = "";
  const base = { width: Math.max(place.clientWidth, 200), height: 230, legend: { show: false }, cursor: { y: false } };
  return new uPlot({ ...base, ...options }, data, place);
}

function fromZero(u, min, max) {
  return [0, max > 0 ? max * 1.08 : 1];
}

function drawCurve(place, run, value) {
  chart(place, {
    scales: { x: { time: false }, y: { range: fromZero } },
    series: [{}, ...series(run.targets)],
    axes: [axis({ values: (u, v) => v.map((t) => shown(t) + " s") }), axis({ size: 56, values: (u, v) => v.map(shown) })],
  }, overlaid(run.targets, value));
}

// Percentiles by the share that is slower: 50 %, 10 %, 1 %, 0.1 %, each a decade wide.
function rarity(percent) {
  return -Math.log10(1 - Math.min(percent, 99.995) / 100);
}

function drawDistribution(place, run) {
  const tables = run.targets.map((t) => {
    const points = t.distribution.filter(([percent]) => percent < 100);
    return [points.map(([percent]) => rarity(percent)), points.map(([, ms]) => Math.max(ms, 1e-3))];
  });
  const splits = [50, 90, 99, 99.9, 99.99];
  chart(place, {
    scales: { x: { time: false, range: [0, rarity(99.99)] }, y: { distr: 3 } },
    series: [{}, ...series(run.targets)],
    axes: [
      axis({ splits: splits.map(rarity), values: () => splits.map((p) => "p" + p) }),
      axis({ size: 56, values: (u, v) => v.map((ms) => (ms === null ? "" : shown(ms))) }),
    ],
  }, uPlot.join(tables));
}

function drawRounds(place, run) {
  const compared = run.comparisons.map((c) => run.targets.findIndex((t) => t.name === c.target));
  const numbers = run.rounds.map((_, at) => at + 1);
  const data = [numbers, ...compared.map((at) => run.rounds.map((round) => round[at].tps / round[0].tps))];
  const all = data.slice(1).flat().concat(1, run.comparisons.flatMap((c) => [c.throughput.low, c.throughput.high]));
  const room = Math.max((Math.max(...all) - Math.min(...all)) * 0.1, 0.005);
  const across = (u, y) => [u.bbox.left, u.valToPos(y, "y", true), u.bbox.left + u.bbox.width];
  function bands(u) {
    const c = u.ctx;
    c.save();
    for (const { throughput } of run.comparisons) {
      const [left, top, right] = across(u, throughput.high);
      const bottom = across(u, throughput.low)[1];
      c.fillStyle = style("--band");
      c.fillRect(left, top, right - left, Math.max(bottom - top, 2));
    }
    c.restore();
  }
  function lines(u) {
    const c = u.ctx;
    c.save();
    const line = (y, stroke, dash) => {
      const [left, at, right] = across(u, y);
      c.strokeStyle = stroke;
      c.lineWidth = 1.5 * devicePixelRatio;
      c.setLineDash(dash.map((d) => d * devicePixelRatio));
      c.beginPath();
      c.moveTo(left, at);
      c.lineTo(right, at);
      c.stroke();
    };
    line(1, style("--quiet"), [4, 4]);
    run.comparisons.forEach(({ throughput }, at) => line(throughput.median, color(compared[at]), []));
    c.restore();
  }
  chart(place, {
    scales: { x: { time: false, range: [0.5, numbers.length + 0.5] }, y: { range: [Math.min(...all) - room, Math.max(...all) + room] } },
    series: [{}, ...compared.map((at) => ({
      stroke: color(at), paths: () => null, points: { show: true, size: 8, fill: color(at), stroke: color(at) },
    }))],
    axes: [axis({ incrs: [1, 2, 5, 10, 20, 50, 100], values: (u, v) => v.map(String) }), axis({ size: 56 })],
    hooks: { drawClear: [bands], draw: [lines] },
  }, data);
}

const draw = {
  tps: (place, run) => drawCurve(place, run, (p) => p.tps),
  reads: (place, run) => drawCurve(place, run, (p) => p.reads),
  writes: (place, run) => drawCurve(place, run, (p) => p.writes),
  latency: (place, run) => drawCurve(place, run, (p) => p.mean_ms),
  distribution: drawDistribution,
  rounds: drawRounds,
};

function drawAll() {
  for (const place of document.querySelectorAll(".chart")) {
    draw[place.dataset.chart](place, runs[Number(place.dataset.run)]);
  }
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) {
    width = innerWidth;
    drawAll();
  }
});
