"""The documentation site. Commands, options, fields and examples come from the program when the site is built."""
