// What the theme leaves out for those who read with a keyboard or a screen reader.
const mend = () => {
  // What scrolls sideways can be reached.
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) box.tabIndex = 0;
  // Of navigations within navigations, and of buttons at blocks of code, none is a landmark of its own.
  for (const part of document.querySelectorAll('.md-code__nav, .md-nav .md-nav')) part.setAttribute("role", "group");
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
