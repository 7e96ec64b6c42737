// What the theme leaves out for those who read with a keyboard or a screen reader.
const all = (selector) => [...document.querySelectorAll(selector)];
const mend = () => {
  // What scrolls sideways can be reached.
  for (const box of all(".md-typeset__scrollwrap, .md-typeset pre > code")) box.tabIndex = 0;
  // Landmarks have names of their own; so has the dialogue of the search.
  all(".md-nav .md-nav").forEach((part, at) => {
    const words = document.getElementById(part.getAttribute("aria-labelledby") ?? "")?.textContent.trim();
    if (words) part.setAttribute("aria-label", `${at + 1}: ${words}`);
    part.removeAttribute("aria-labelledby");
  });
  all(".md-code__nav").forEach((part, at) => part.setAttribute("aria-label", `Block ${at + 1}`));
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // A corner of a table is no heading.
  for (const corner of all(".md-typeset th:empty")) corner.replaceWith(document.createElement("td"));
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
