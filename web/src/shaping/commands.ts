// Shell commands, one per line. Their quoted arguments may contain line breaks.

/** The commands of a text. A line break within single quotes, as in an input text, does not end a command. */
export const commands_in = (text: string): string[] => text.match(/(?:'[^']*'|\\.|[^\n])+/g) ?? [];
