#include <iostream>

#include "clients/cli/command.h"

int main(int argc, char** argv) { return counter::cli::Run(argc, argv, std::cout, std::cerr); }
