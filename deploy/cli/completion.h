#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H
/*
 * What the shells' scripts ask for: `muster __complete WORD...`.
 */
struct command_line;

/* Prints the words that the last argument may be, one a line. */
int completion_words(const struct command_line *line);

#endif
