// Draws the figures of the report: those in sight first, those in folded parts when they are opened, all for print.
(function () {
  "use strict";
  var body = document.body;
  var root = document.documentElement;
  var source = document.getElementById("figures");
  var figures = source ? JSON.parse(source.textContent) : {};
  var plots = Array.prototype.slice.call(document.querySelectorAll(".plot"));
  var touch = window.matchMedia("(pointer: coarse)").matches;
  var COLOURS = /^@([a-z0-9]+)(?:\/([0-9.]+))?$/;
  var errors = 0;
  var printing = false;

  // The page tells how it fares, for those who look at it without eyes.
  function tell() {
    body.dataset.errors = String(errors);
    body.dataset.figures = String(plots.length);
    body.dataset.drawn = String(plots.filter(function (plot) { return plot.dataset.drawn; }).length);
  }
  window.addEventListener("error", function () { errors += 1; tell(); });
  window.addEventListener("unhandledrejection", function () { errors += 1; tell(); });

  function colour(slot) {
    var match = COLOURS.exec(slot);
    if (!match) { return slot; }
    if (match[1] === "none") { return "rgba(0,0,0,0)"; }
    var hex = getComputedStyle(root).getPropertyValue("--" + match[1]).trim();
    if (!match[2]) { return hex; }
    var channels = [1, 3, 5].map(function (at) { return parseInt(hex.substr(at, 2), 16); });
    return "rgba(" + channels.join(",") + "," + match[2] + ")";
  }

  // A copy of a figure in which every colour slot has become a colour. Only attributes that hold colours are touched.
  function coloured(value, key) {
    if (typeof value === "string") { return /color$/.test(key) ? colour(value) : value; }
    if (Array.isArray(value)) { return value.map(function (item) { return typeof item === "object" ? coloured(item, key) : item; }); }
    if (value === null || typeof value !== "object") { return value; }
    var copy = {};
    Object.keys(value).forEach(function (name) { copy[name] = coloured(value[name], name); });
    return copy;
  }

  function draw(plot) {
    var figure = figures[plot.dataset.figure];
    var layout = coloured(figure.layout, "");
    layout.width = plot.clientWidth;
    layout.height = Number(plot.dataset.height);
    if (touch) {
      // A finger that scrolls the page must not be caught by a plot.
      layout.dragmode = false;
      layout.xaxis.fixedrange = layout.yaxis.fixedrange = true;
    }
    var config = {
      displaylogo: false,
      displayModeBar: false,
      showTips: false
    };
    plot.dataset.drawn = "";
    plot.dataset.width = String(layout.width);
    return window.Plotly.react(plot, coloured(figure.data, ""), layout, config).then(function () {
      plot.dataset.drawn = "1";
      tell();
    });
  }

  function visible(plot) { return plot.clientWidth > 0; }
  function pending() { return plots.filter(function (plot) { return visible(plot) && plot.dataset.drawn === undefined; }); }
  function redraw() { plots.forEach(function (plot) { if (visible(plot)) { draw(plot); } }); }

  // One figure at a time, so that the page can be scrolled and read meanwhile.
  function drawNext() {
    var waiting = pending();
    if (!waiting.length) { return; }
    var middle = window.innerHeight / 2;
    waiting.sort(function (a, b) {
      return Math.abs(a.getBoundingClientRect().top - middle) - Math.abs(b.getBoundingClientRect().top - middle);
    });
    draw(waiting[0]).then(function () { window.setTimeout(drawNext, 0); }, function (error) {
      errors += 1;
      tell();
      window.setTimeout(drawNext, 0);
      throw error;
    });
  }

  function openAll() {
    document.querySelectorAll("details").forEach(function (part) {
      if (!part.open) { part.open = true; part.dataset.opened = "1"; }
    });
  }

  document.querySelectorAll("details").forEach(function (part) { part.addEventListener("toggle", drawNext); });
  document.querySelectorAll("a.everything").forEach(function (link) {
    link.addEventListener("click", function (event) { event.preventDefault(); openAll(); drawNext(); });
  });
  if (window.location.hash === "#everything") { openAll(); }

  // A drawing keeps its width; when its place gets another (a turned phone, a resized window), it is made anew.
  var settle = 0;
  var places = new ResizeObserver(function () {
    window.clearTimeout(settle);
    settle = window.setTimeout(function () {
      if (printing) { return; }
      plots.forEach(function (plot) {
        if (visible(plot) && plot.dataset.width && Number(plot.dataset.width) !== plot.clientWidth) { draw(plot); }
      });
    }, 100);
  });
  plots.forEach(function (plot) { places.observe(plot); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { if (!printing) { redraw(); } });

  // Paper is white and cannot be clicked: everything opens, in the light scheme, at the width of a sheet.
  window.addEventListener("beforeprint", function () {
    printing = true;
    root.dataset.scheme = "light";
    openAll();
    plots.forEach(function (plot) { plot.style.width = plot.closest(".one") ? "660px" : "325px"; draw(plot); });
  });
  window.addEventListener("afterprint", function () {
    delete root.dataset.scheme;
    document.querySelectorAll("details[data-opened]").forEach(function (part) { part.open = false; delete part.dataset.opened; });
    plots.forEach(function (plot) { plot.style.width = ""; });
    printing = false;
    redraw();
  });

  tell();
  drawNext();
})();
