"""The documentation site: everything that can be told by the program is asked of it when the site is built."""
