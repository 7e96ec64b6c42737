#include "attnscope/cli/app.h"

int main(int argc, char** argv) { return attnscope::run_command_line(argc, argv); }
