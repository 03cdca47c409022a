// What axe asks of the theme: captions of the contents have a level, and what scrolls is reached with the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll("[role=heading]:not([aria-level])")) caption.setAttribute("aria-level", "2");
  for (const text of document.querySelectorAll("pre")) text.tabIndex = 0;
});
