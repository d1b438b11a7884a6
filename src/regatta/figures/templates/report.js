// Draw the figures of the report: visible ones first, folded ones when they are opened, all before printing.
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

  // Expose the state of the page to tests and scripts.
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

  // Return a copy of a figure with colours instead of colour slots. Only attributes that hold colours change.
  function coloured(value, key) {
    if (typeof value === "string") { return /colors?$/.test(key) ? colour(value) : value; }
    if (Array.isArray(value)) { return value.map(function (item) { return coloured(item, key); }); }
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
      // Scrolling with a finger must not drag a plot.
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

  // Draw one figure at a time, so that the page stays responsive.
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

  // A section that a link opens begins below the bar of sections, which needs more lines on a narrower screen.
  var bar = document.querySelector("nav");
  function leaveRoom() { root.style.scrollPaddingTop = bar.offsetHeight + 12 + "px"; }
  leaveRoom();
  new ResizeObserver(leaveRoom).observe(bar);

  // Redraw a figure when the width of its container changes (rotated phone, resized window).
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

  // For print, open everything in the light scheme at the width of a sheet.
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
