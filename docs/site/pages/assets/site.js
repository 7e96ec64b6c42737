// Fixes the theme's accessibility for keyboards and screen readers.
const all = (selector) => [...document.querySelectorAll(selector)];
const fix = () => {
  // Make boxes that scroll horizontally focusable.
  for (const box of all(".md-typeset__scrollwrap, .md-typeset pre > code")) box.tabIndex = 0;
  // Give each landmark and the search dialog a unique name.
  all(".md-nav .md-nav").forEach((part, at) => {
    const words = document.getElementById(part.getAttribute("aria-labelledby") ?? "")?.textContent.trim();
    if (words) part.setAttribute("aria-label", `${at + 1}: ${words}`);
    part.removeAttribute("aria-labelledby");
  });
  all(".md-code__nav").forEach((part, at) => part.setAttribute("aria-label", `Block ${at + 1}`));
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // An empty corner cell of a table is not a heading.
  for (const corner of all(".md-typeset th:empty")) corner.replaceWith(document.createElement("td"));
};
fix();
new MutationObserver(fix).observe(document.body, { childList: true, subtree: true });
