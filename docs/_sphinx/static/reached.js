// What axe asks of the theme: captions of the contents have a level, what scrolls is reached with the keyboard, its two sides have
// names, and the parameters of a signature are no list of definitions.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll("[role=heading]:not([aria-level])")) caption.setAttribute("aria-level", "2");
  for (const x of document.querySelectorAll("pre, .table-wrapper")) x.tabIndex = 0;
  for (const [side, name] of [[".sidebar-drawer", "pages"], [".toc-drawer", "on this page"]])
    document.querySelector(side)?.setAttribute("aria-label", name);
  for (const x of document.querySelectorAll("dt.sig > dl, dt.sig > dl > dd")) x.setAttribute("role", "presentation");
});
